//! Standard output that nobody reads, or that cannot be written; options that other programs call otherwise; cases without a
//! recording.

use std::process::{Command, Stdio};

use crate::support::fixture::{Fixture, Ran, ran};
use crate::support::harness::clean;

const SHEET: &str = "id,should_trigger,prompt\na,true,Do it\nb,false,Rest\n";

fn fixture() -> Fixture {
    Fixture::new().skill("tidy").prompts("tidy", SHEET)
}

/// `skill-evals ARGUMENTS`, in a shell, with this behind it.
fn in_shell(fixture: &Fixture, args: &[&str], behind: &str) -> Ran {
    let mut command = clean(Command::new("bash"));
    let script = format!("set -o pipefail; \"$0\" \"$@\" {behind}");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_skill-evals")]).args(args).current_dir(fixture.root());
    ran(command.stdin(Stdio::null()))
}

/// Commands that print, and the code that they exit with where they can.
const COMMANDS: [(&[&str], i32); 6] = [
    (&["list"], 0),
    (&["lint"], 0),
    (&["run", "--replay"], 3),
    (&["generate"], 0),
    (&["harness", "--list"], 0),
    (&["--help"], 0),
];

#[test]
fn a_reader_that_is_gone_is_no_failure_and_hides_none() {
    let fixture = fixture();
    for (args, code) in COMMANDS {
        for behind in ["| true", ">&-"] {
            let ran = in_shell(&fixture, args, behind);
            assert_eq!(ran.code, code, "{args:?} {behind}: {}", ran.stderr);
            assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("error"), "{args:?}: {}", ran.stderr);
        }
    }
    let failing = Fixture::new().skill("tidy").prompts("tidy", "id,should_trigger,prompt\na,maybe,Do it\n");
    assert_eq!(in_shell(&failing, &["run", "--replay"], "| true").code, 2);
    // Which trials ran nobody knows then.
    let ran = in_shell(&fixture, &["harness"], "| true");
    assert!(ran.code == 101 && !ran.stderr.contains("panicked"), "{}", ran.stderr);
    assert_eq!(in_shell(&fixture, &["harness"], ">&-").code, 0);
}

#[test]
fn output_that_cannot_be_written_is_an_error_without_a_panic() {
    let fixture = fixture();
    for args in COMMANDS.map(|(args, _)| args).into_iter().chain([&["harness"][..]]) {
        let ran = in_shell(&fixture, args, "> /dev/full");
        assert!(ran.code == 2 || ran.code == 101, "{args:?}: {} {}", ran.code, ran.stderr);
        assert!(!ran.stderr.contains("panicked") && ran.stderr.contains("No space left"), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn an_option_of_other_programs_is_taken_for_ours_of_that_meaning() {
    let fixture = fixture();
    for (given, meant) in [("--repeat", "--trials"), ("--parallel", "--jobs"), ("--trails", "--trials")] {
        fixture.run(&["run", given, "3"]).exits(2).warns(format!("'{meant}'"));
    }
    fixture.run("rn").exits(2).warns("subcommand exists: 'run'");
    // A command that has no such option is not told of it.
    assert!(!fixture.run(&["lint", "--repeat", "3"]).stderr.contains("--trials"));
}

/// The sample with a case more, which is not recorded.
fn not_all_recorded() -> Fixture {
    let fixture = Fixture::copy_of_sample();
    let text = "{ \"prompt\": \"Hello\", \"evalConfig\": { \"expectedSkillName\": \"greeting\" } }";
    fixture.task("new", text)
}

fn with(fixture: &Fixture, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = clean(Command::new(env!("CARGO_BIN_EXE_skill-evals")));
    ran(command.args(args).envs(variables.iter().copied()).current_dir(fixture.root()))
}

#[test]
fn a_replay_says_last_how_many_cases_were_not_run_and_fails_for_them_where_recordings_are_required() {
    let fixture = not_all_recorded();
    let replay = ["run", "--replay", "--skill", "greeting"];
    let ran = with(&fixture, &replay, &[]);
    let last = ran.stdout.lines().last().unwrap_or_default();
    assert!(ran.code == 0 && last.starts_with("not run: 1 of "), "{} {last}", ran.code);
    assert_eq!(with(&fixture, &[&replay[..], &["--require-recordings"]].concat(), &[]).code, 3);
    assert_eq!(with(&fixture, &replay, &[("CI", "true")]).code, 3);
    for not_ci in ["", "0", "false"] {
        assert_eq!(with(&fixture, &replay, &[("CI", not_ci)]).code, 0, "CI={not_ci}");
    }
    let lowered = [("CI", "true"), ("SKILL_EVALS_REQUIRE_RECORDINGS", "0")];
    assert_eq!(with(&fixture, &replay, &lowered).code, 0);
    let fixture = fixture.file("evals/evals.toml", "require_recordings = false\n");
    assert_eq!(with(&fixture, &replay, &[("CI", "true")]).code, 0);
    let fixture = fixture.file("evals/evals.toml", "require_recordings = true\n");
    assert_eq!(with(&fixture, &replay, &[]).code, 3);
}

#[test]
fn a_missing_recording_is_a_failing_test_where_recordings_are_required() {
    let fixture = not_all_recorded();
    let ran = with(&fixture, &["harness", "greeting::new"], &[]);
    ran.exits(0).warns("not run: 1 case");
    for nextest in [&[][..], &[("NEXTEST", "1")]] {
        let variables = [&[("CI", "1")][..], nextest].concat();
        let ran = with(&fixture, &["harness", "greeting::new"], &variables);
        ran.exits(101).prints("SKILL_EVALS_RECORD=1");
        let ignored = with(&fixture, &["harness", "--list", "--ignored"], &variables);
        assert_eq!(ignored.stdout, "");
    }
}
