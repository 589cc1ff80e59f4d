//! `init --ci` writes the files of a CI service once, and leaves a user's files alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::compare::{BY_SKILL, git, repository as stub_repository};
use crate::support::fixture::{Fixture, Ran};
use crate::support::stub::{Stub, ran};
use serde_json::Value;

const WORKFLOW: &str = ".github/workflows/skill-evals.yml";
const NIGHTLY: &str = ".github/workflows/skill-evals-nightly.yml";

/// Where CI gets the program, and which agent. The recordings of the sample are of all agents.
const WITH: &str = "--agent codex --git https://example.org/it.git";

fn repository() -> Fixture {
    Fixture::copy_of_sample().file(".git/HEAD", "ref: refs/heads/main\n")
}

fn read(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.root().join(path)).expect("a file")
}

#[test]
fn the_files_of_a_service_are_written_next_to_evals_and_nothing_else_is() {
    let fixture = repository();
    let ran = fixture.run(&*format!("init --ci github {WITH} --rev 0123456"));
    ran.exits(0);
    assert_eq!(
        ran.stdout,
        ".github/workflows/skill-evals.yml: written\n.github/workflows/skill-evals-nightly.yml: written\n\n\
         next: commit these; add the environment `skill-evals` with the secret that they name; require the job `free`\n"
    );
    let installs = "cargo install --locked --git https://example.org/it.git --rev 0123456 skill-evals-cli\n";
    assert!(read(&fixture, WORKFLOW).contains(installs));
    assert!(!fixture.root().join("Cargo.toml").exists() && !fixture.root().join("evals/Cargo.toml").exists());
}

#[test]
fn a_users_file_is_left_alone() {
    let fixture = repository().file(".gitlab-ci.yml", "test: {script: ['true']}\n").file(WORKFLOW, "name: mine\n");
    let gitlab = fixture.run(&*format!("init --ci gitlab {WITH}"));
    assert!(
        gitlab.stdout.contains(
            ".gitlab/skill-evals.yml: written\n.gitlab-ci.yml: is there already and was left alone; it needs `include: "
        ),
        "{}",
        gitlab.stdout
    );
    let github = fixture.run(&*format!("init --ci github --yes {WITH}"));
    assert!(github.stdout.starts_with(&format!("{WORKFLOW}: is there already and was left alone; it differs")));
    assert_eq!(read(&fixture, ".gitlab-ci.yml"), "test: {script: ['true']}\n");
    assert_eq!(read(&fixture, WORKFLOW), "name: mine\n");
    let again = fixture.run(&*format!("init --ci gitlab {WITH}"));
    assert!(again.stdout.starts_with(".gitlab/skill-evals.yml: is there already\n"), "{}", again.stdout);
}

#[test]
fn a_program_that_ci_cannot_install_and_a_part_of_a_repository_are_refused() {
    let fixture = repository();
    let refused = |args: &[&str], words: &str| {
        fixture.run(&[&["init", "--ci", "github", "--agent", "codex"], args].concat()).exits(2).warns(words);
        assert!(!fixture.root().join(WORKFLOW).exists());
    };
    for outside in ["/opt/skill-evals", "../skill-evals"] {
        refused(&["--path", outside], "CI sees only the repository: name a relative path in it, or --git URL");
    }
    refused(&["--root", "skills", "--git", "https://example.org/it.git"], "is not the root of a git repository");
    refused(&["--git", "git@example.org:me/it.git"], "expected ssh://git@example.org/me/it.git");
    for page in ["https://example.org/me/it/tree/main", "https://example.org/me/it/-/blob/main/README.md"] {
        refused(&["--git", page], "this is a page of a repository; expected --git https://example.org/me/it, with");
    }
    refused(
        &[],
        "skill-evals is not published yet: say where it is from with --git URL or --path DIR; nothing was written",
    );
    fixture.run("init --ci github --agent vibe --path tools/skill-evals").exits(2).warns("npm does not have");
    fixture.run("init --ci github --agent codex --path tools/skill-evals").exits(0);
    let workflow = read(&fixture, WORKFLOW);
    assert!(workflow.contains("--locked --path tools/skill-evals/crates/cli\n"), "{workflow}");
    assert!(
        workflow.contains("skill-evals*.yml', 'tools/skill-evals/Cargo.lock', 'tools/skill-evals/src/**', 'tools/skill-evals/crates/**')"),
        "{workflow}"
    );
}

/// The npm package of an agent in the version that the tests run.
fn tested(package: &str) -> String {
    let agents = crate::support::repository().join("tests/agents/package.json");
    let agents: Value = serde_json::from_slice(&fs::read(agents).expect("a file")).expect("JSON");
    format!("{package}@{}", agents["dependencies"][package].as_str().expect("a version"))
}

#[test]
fn a_gate_passes_without_recordings_until_every_case_has_one_and_says_when_the_line_can_go() {
    let stub = stub_repository(2, BY_SKILL);
    let before = fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings");
    stub.run(&*format!("init --ci github {WITH}"))
        .exits(0)
        .prints("evals/evals.toml: added `require_recordings = false`");
    let settings = fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings");
    assert!(settings.starts_with(&before) && settings.contains("\nrequire_recordings = false\n"), "{settings}");
    let line = "the line `require_recordings = false` of evals/evals.toml can go";
    let gate = || stub.run("gate --free HEAD");
    assert!(!gate().stdout.contains(line));
    stub.run("run --record --accept-failing");
    gate().prints(line);
    // A second time changes nothing, and neither does a repository in which all is recorded.
    stub.run(&*format!("init --ci gitlab {WITH}")).exits(0);
    assert_eq!(fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings"), settings);
}

#[test]
fn the_agents_of_the_image_are_those_that_the_tests_run() {
    let image = crate::support::repository().join("packages/Dockerfile");
    let image = fs::read_to_string(image).expect("a Dockerfile");
    let agents = image.lines().find_map(|line| line.strip_prefix("ARG AGENTS=")).expect("the agents");
    assert_eq!(agents, format!("\"{} {}\"", tested("@anthropic-ai/claude-code"), tested("@openai/codex")));
}

/// The gate of these files has to be one that works.
#[test]
fn the_agent_of_the_files_is_the_one_that_the_tests_run() {
    let codex = format!("{} ", tested("@openai/codex"));
    let fixture = repository();
    for service in ["github", "gitlab"] {
        fixture.run(&*format!("init --ci {service} {WITH}")).exits(0);
    }
    for path in [WORKFLOW, NIGHTLY, ".gitlab/skill-evals.yml"] {
        assert!(read(&fixture, path).contains("CODEX_API_KEY"), "{path}");
        let text = read(&fixture, path).replace('\n', " ");
        assert!(text.contains(&codex) && text.matches("@openai/codex@").count() == 1, "{path}: {codex}");
    }
    // Neither chooses an agent for anybody, or names a package of this program that nobody has published.
    for path in ["action.yml", "templates/gate.yml"] {
        assert!(!own(path).contains("codex") && !own(path).contains("default: skill-evals"), "{path}");
    }
}

fn own(path: &str) -> String {
    fs::read_to_string(crate::support::repository().join(path)).expect("a file")
}

/// The scripts of the files are tested with a server that keeps comments.
#[test]
fn the_action_and_the_component_comment_as_the_files_do_and_pin_the_same_actions() {
    let fixture = repository();
    for (service, path, ours, first) in [
        ("github", WORKFLOW, "action.yml", "call() {"),
        ("gitlab", ".gitlab/skill-evals.yml", "templates/gate.yml", "- 'call() {"),
    ] {
        fixture.run(&*format!("init --ci {service} {WITH}")).exits(0);
        let script = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with(first));
            lines.take_while(|line| !line.starts_with("skill-evals-")).map(str::to_owned).collect()
        };
        let text = read(&fixture, path);
        assert!(script(&text).len() > 3, "{path}: {text}");
        assert_eq!(script(&own(ours)), script(&text), "{ours}");
        let action = own("action.yml");
        let pins = action.lines().filter_map(|line| line.split_once("uses: ")).map(|(_, action)| action);
        assert!(service != "github" || pins.into_iter().all(|pin| pin.contains('@') && text.contains(pin)), "{action}");
    }
}

/// What the agent costs, so that a limit in dollars can be kept.
const PRICES: &str = "[prices.codex]\ninput = 1.0\ncached_input = 0.1\noutput = 1.0\n";

/// The command of the step that begins with `words`, run as GitHub does it.
fn step(stub: &Stub, workflow: &str, words: &str, env: &[(&str, &str)]) -> Ran {
    let text = fs::read_to_string(stub.root().join(workflow)).expect("a workflow");
    let commands = text.lines().filter_map(|line| line.trim_start().strip_prefix("- run: "));
    let found: Vec<&str> = commands.filter(|command| command.starts_with(words)).collect();
    let [command] = found.as_slice() else { panic!("{words}: {found:?}") };
    let program = stub.command(&[]);
    let own = Path::new(program.get_program()).parent().expect("a directory").display().to_string();
    let mut bash = Command::new("bash");
    bash.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", command]).current_dir(stub.root());
    bash.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    bash.env("PATH", format!("{own}:{}", std::env::var("PATH").expect("a PATH"))).env("CI", "true");
    ran(bash.envs(env.iter().copied()))
}

#[test]
fn the_commands_of_the_nightly_run_make_one_report_of_all_shards() {
    let stub = Stub::new(7, "");
    stub.settings(PRICES);
    git(&stub, &["init", "--quiet"]);
    stub.run(&*format!("init --ci github {WITH}")).exits(0);
    let run = ("RUN", "nightly-1");
    for shard in ["1", "2", "3", "4"] {
        let ran = step(&stub, NIGHTLY, "skill-evals run --shard", &[run, ("SHARD", shard)]);
        ran.exits(0);
    }
    assert_eq!(stub.starts().len(), 7);
    for words in ["skill-evals merge", "skill-evals report", "skill-evals history", "skill-evals summary"] {
        let ran = step(&stub, NIGHTLY, words, &[run]);
        ran.exits(0);
    }
    assert_eq!(stub.json("nightly-1", "summary.json")["total"]["passed"], 7);
    assert!(stub.root().join("report.html").is_file());
}

/// GitHub checks out a merge of the change into its base, which may have gone on since.
#[test]
fn the_gate_of_the_workflow_compares_with_the_base_of_the_pull_request_and_never_with_itself() {
    let stub = stub_repository(2, BY_SKILL);
    let allowed = "[lint]\nallow = [{ rule = \"no-positive\", reason = \"the agent activates nothing\" }]\n";
    stub.settings(&format!("{allowed}{PRICES}"));
    stub.run(&*format!("init --ci github {WITH}")).exits(0);
    stub.run("run --record").exits(0);
    let commit = |message: &str| {
        git(&stub, &["add", "--all"]);
        git(&stub, &["commit", "--quiet", "--allow-empty", "--message", message]);
    };
    commit("base");
    git(&stub, &["checkout", "--quiet", "-b", "change"]);
    let skill = stub.root().join("skills/tidy/SKILL.md");
    fs::write(&skill, format!("{}\nBe brief.\n", fs::read_to_string(&skill).expect("a skill"))).expect("a skill");
    commit("change");
    git(&stub, &["checkout", "--quiet", "main"]);
    commit("meanwhile");
    let base = git(&stub, &["rev-parse", "main"]);
    git(&stub, &["checkout", "--quiet", "--detach"]);
    git(&stub, &["merge", "--quiet", "--no-edit", "change"]);
    git(&stub, &["branch", "--quiet", "--delete", "--force", "main", "change"]);
    let gate = || step(&stub, WORKFLOW, "skill-evals gate \"", &[("GITHUB_BASE_REF", "main")]);
    let lost = gate();
    lost.exits(2).warns("a value is required for '[BASE]'");
    git(&stub, &["update-ref", "refs/remotes/origin/main", &base]);
    let ran = gate();
    ran.exits(0).prints(format!("1 skill differs from {}", &base[..12]));
}
