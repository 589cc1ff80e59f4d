//! `init --ci` writes the files of a CI service once, and leaves a user's files alone.

use std::fs;
use std::path::Path;

use crate::support::fixture::Fixture;
use serde_json::Value;

const WORKFLOW: &str = ".github/workflows/skill-evals.yml";

fn repository() -> Fixture {
    Fixture::copy_of_sample().file(".git/HEAD", "ref: refs/heads/main\n")
}

fn read(fixture: &Fixture, path: &str) -> String {
    fs::read_to_string(fixture.root().join(path)).expect("a file")
}

#[test]
fn the_files_of_a_service_are_written_next_to_evals_and_nothing_else_is() {
    let fixture = repository();
    let ran = fixture.run(&["init", "--ci", "github", "--git", "https://example.org/it.git", "--rev", "0123456"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        ".github/workflows/skill-evals.yml: written\n.github/workflows/skill-evals-nightly.yml: written\n\n\
         next: commit these; add the environment `skill-evals` with the secret CODEX_API_KEY; require the job `free`\n"
    );
    let installs = "cargo install --locked --git https://example.org/it.git --rev 0123456 skill-evals\n";
    assert!(read(&fixture, WORKFLOW).contains(installs));
    assert!(!fixture.root().join("Cargo.toml").exists() && !fixture.root().join("evals/Cargo.toml").exists());
}

#[test]
fn a_users_file_is_left_alone() {
    let fixture = repository().file(".gitlab-ci.yml", "test: {script: ['true']}\n").file(WORKFLOW, "name: mine\n");
    let gitlab = fixture.run(&["init", "--ci", "gitlab"]);
    assert!(
        gitlab.stdout.contains(
            ".gitlab/skill-evals.yml: written\n.gitlab-ci.yml: is there already and was left alone; it needs `include: "
        ),
        "{}",
        gitlab.stdout
    );
    let github = fixture.run(&["init", "--ci", "github", "--yes"]);
    assert!(github.stdout.starts_with(&format!("{WORKFLOW}: is there already and was left alone; delete it first")));
    assert_eq!(read(&fixture, ".gitlab-ci.yml"), "test: {script: ['true']}\n");
    assert_eq!(read(&fixture, WORKFLOW), "name: mine\n");
    let again = fixture.run(&["init", "--ci", "gitlab"]);
    assert!(again.stdout.starts_with(".gitlab/skill-evals.yml: is there already\n"), "{}", again.stdout);
}

#[test]
fn a_program_that_ci_cannot_install_and_a_part_of_a_repository_are_refused() {
    let fixture = repository();
    let refused = |args: &[&str], words: &str| {
        let ran = fixture.run(&[&["init", "--ci", "github"], args].concat());
        assert!(ran.code == 2 && ran.stderr.contains(words), "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(!fixture.root().join(WORKFLOW).exists());
    };
    for outside in ["/opt/skill-evals", "../skill-evals"] {
        refused(&["--path", outside], "CI sees only the repository: name a relative path in it, or --git URL");
    }
    refused(&["--root", "skills"], "is not the root of a git repository");
    let ran = fixture.run(&["init", "--ci", "github", "--path", "tools/skill-evals"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let workflow = read(&fixture, WORKFLOW);
    assert!(workflow.contains("--locked --path tools/skill-evals\n"), "{workflow}");
    assert!(
        workflow.contains("skill-evals*.yml', 'tools/skill-evals/Cargo.lock', 'tools/skill-evals/src/**')"),
        "{workflow}"
    );
}

/// The gate of these files has to be one that works.
#[test]
fn the_agent_of_the_files_is_the_one_that_the_tests_run() {
    let agents = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/package.json");
    let agents: Value = serde_json::from_slice(&fs::read(agents).expect("a file")).expect("JSON");
    let codex = format!("@openai/codex@{} ", agents["dependencies"]["@openai/codex"].as_str().expect("a version"));
    let fixture = repository();
    for service in ["github", "gitlab"] {
        assert_eq!(fixture.run(&["init", "--ci", service]).code, 0);
    }
    for path in [WORKFLOW, ".github/workflows/skill-evals-nightly.yml", ".gitlab/skill-evals.yml"] {
        let text = read(&fixture, path).replace('\n', " ");
        assert!(text.contains(&codex) && text.matches("@openai/codex@").count() == 1, "{path}: {codex}");
    }
}
