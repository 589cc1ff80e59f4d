//! `run --agent`: agents are chosen by name, and each gets the skills natively. What nobody measured of one is not believed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use skill_evals_evidence::profile::PROFILES;

use crate::support::fixture::Fixture;
use crate::support::one_agent::names_no_other;
use crate::support::stub::Stub;

/// A repository in which `sh` stands for codex, and a PATH without any agent.
fn dry_run(args: &[&str]) -> (String, String) {
    let fixture = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,true,Tidy up\n").file(
        "evals/evals.toml",
        "[agents.codex]\ncommand = \"sh\"\n[agents.mine]\nprotocol = \"acp\"\ncommand = \"sh\"\n",
    );
    let output = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["run", "--dry-run"])
        .args(args)
        .current_dir(fixture.root())
        .env("PATH", "/bin")
        .output()
        .expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn an_agent_runs_the_cases_in_one_mode_unless_more_are_asked_for() {
    let (claude, _) = dry_run(&["--agent", "claude"]);
    assert!(claude.starts_with("tidy/a/cli-native\n1 trial"), "{claude}");
    let (both, _) = dry_run(&["--agent", "claude", "--agent", "claude-sdk"]);
    assert!(both.contains("tidy/a/native\n") && both.contains("tidy/a/cli-native\n"), "{both}");
    let (several, _) = dry_run(&["--agent", "claude-cli", "--agent", "codex", "--mode", "codex"]);
    assert!(several.starts_with("tidy/a/codex\ntidy/a/cli-native\n2 trials"), "{several}");
}

#[test]
fn installed_agents_run_and_the_others_are_named() {
    let (planned, left_out) = dry_run(&["--agent", "installed"]);
    assert!(planned.starts_with("tidy/a/codex\ntidy/a/mine\n2 trials"), "{planned}{left_out}");
    assert!(left_out.contains("left out: claude-cli cannot run: `claude` is not on the PATH"), "{left_out}");
    let (replayed, left_out) = dry_run(&["--agent", "installed", "--replay"]);
    assert!(
        replayed.contains("tidy/a/cli-native\n") && !replayed.contains("tidy/a/native\n") && left_out.is_empty(),
        "a replay starts none: {replayed}{left_out}"
    );
}

#[test]
fn an_unknown_agent_is_an_error_that_names_a_known_one() {
    let (_, error) = dry_run(&["--agent", "coplot"]);
    assert!(error.contains("unknown agent `coplot`; did you mean `copilot`?"), "{error}");
}

#[test]
fn a_version_that_nobody_measured_shows_nothing_that_did_not_happen_and_its_trials_keep_that() {
    let meta = r#"{"type":"session_meta","payload":{"cli_version":"9.9.9"}}"#;
    let said =
        r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"Done."}]}}"#;
    let stub = Stub::new(1, &format!("printf '%s\\n' '{meta}' '{said}' >> \"$CODEX_HOME/sessions/rollout-1.jsonl\""));
    let why = "nobody measured whether codex 9.9.9 is read rightly: run `skill-evals doctor --calibrate --agent codex`";
    stub.run("run --run-id r").exits(3).prints(why);
    stub.run("grade r").exits(3).prints(why);
    // A program without a version is the user's own.
    stub.body("");
    stub.run("run --run-id s").exits(0);
}

/// Somebody has one agent: what the program proposes and writes names no other.
#[test]
fn whoever_has_one_agent_reads_of_no_other() {
    for profile in PROFILES {
        let fixture = Fixture::new()
            .skill("tidy")
            .skill("sort")
            .prompts("tidy", "id,should_trigger,prompt\na,true,Tidy up\n")
            .file(".git/HEAD", "ref: refs/heads/main\n")
            .file(&format!("bin/{}", profile.program), format!("#!/bin/sh\necho {}\n", profile.measured[0]));
        // Which one of them needs.
        let fixture = fixture.file("bin/rg", "#!/bin/sh\n");
        for program in [profile.program, "rg"] {
            let program = fixture.root().join("bin").join(program);
            fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("a program");
        }
        let keys = if profile.ci_variables.is_empty() { &["MISTRAL_API_KEY"] } else { profile.ci_variables };
        let mut said = String::new();
        for line in [
            "list",
            "lint",
            "run --dry-run",
            "run --replay",
            "generate",
            "tune tidy",
            "init --ci github --git https://example.org/it.git",
            "init --ci gitlab --git https://example.org/it.git",
        ] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
            command.args(line.split(' ')).current_dir(fixture.root()).env_clear();
            command.env("PATH", format!("{}:/usr/bin:/bin", fixture.root().join("bin").display()));
            command.env("HOME", fixture.root().join("home")).envs(keys.iter().map(|name| (name, "key")));
            let output = command.output().expect("the program starts");
            let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
            said.extend(["$ ", line, "\n", &out, &err]);
        }
        for path in [
            ".github/workflows/skill-evals.yml",
            ".github/workflows/skill-evals-nightly.yml",
            ".gitlab/skill-evals.yml",
        ] {
            let written = fs::read_to_string(fixture.root().join(path)).unwrap_or_default();
            assert_eq!(written.is_empty(), profile.ci_variables.is_empty(), "{} {path}", profile.name);
            said += &written;
        }
        let mode = profile.modes.iter().find(|mode| mode.0.contains("cli")).unwrap_or(&profile.modes[0]);
        assert!(said.contains(&format!("tidy/a/{}", mode.0)), "{}: {said}", profile.name);
        names_no_other(profile, &said);
    }
}
