//! What libtest of Rust 1.95 takes.

use std::collections::BTreeSet;
use std::process::Command;

use skill_evals::harness::args::{self, HarnessRequest, ParsedArgs, ShuffleOrder};

use super::fixture;
use crate::support::fixture::Fixture;
use crate::support::harness::{events, harness, listed};

fn asked(given: &[&str], variables: &[(&str, &str)]) -> Result<HarnessRequest, String> {
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    args::parse(given.iter().map(|argument| (*argument).to_owned()), variable)
}

fn front(given: &[&str]) -> ParsedArgs {
    with_variables(given, &[])
}

fn with_variables(given: &[&str], variables: &[(&str, &str)]) -> ParsedArgs {
    match asked(given, variables) {
        Ok(HarnessRequest::Trials(front)) => *front,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn refused(given: &[&str], words: &str) {
    match asked(given, &[]) {
        Err(why) => assert!(why.starts_with(words), "{why}"),
        Ok(taken) => panic!("{taken:?}"),
    }
}

/// The options that this machine's libtest says it has.
fn options_of_libtest() -> BTreeSet<String> {
    // Any test program of this package knows; the one that runs is at hand.
    let help = Command::new(std::env::current_exe().expect("this program")).arg("--help").output().expect("it starts");
    let help = String::from_utf8(help.stdout).expect("UTF-8");
    help.lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .filter(|_| help.contains("Options:"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_option_of_libtest_is_taken() {
    let options = options_of_libtest();
    assert!(options.contains("--shuffle-seed") && options.contains("--fail-fast"), "{options:?}");
    for option in options {
        let value = match option.as_str() {
            "--test-threads" | "--shuffle-seed" => "3",
            "--format" => "json",
            "--color" => "never",
            "--logfile" | "--skip" => "x",
            _ => "",
        };
        let given = [option.as_str(), value];
        let given = if value.is_empty() { &given[..1] } else { &given[..] };
        assert!(asked(given, &[]).is_ok(), "{option}: {:?}", asked(given, &[]));
    }
}

#[test]
fn wrong_arguments_are_refused_in_libtests_words() {
    refused(&["--foo"], "Unrecognized option: 'foo'");
    refused(&["--nocaptur"], "Unrecognized option: 'nocaptur'; did you mean --nocapture?");
    refused(&["-x"], "Unrecognized option: 'x'");
    refused(&["--q"], "Unrecognized option: 'q'");
    refused(&["--skip"], "Argument to option 'skip' missing");
    refused(&["--exact=1"], "Option 'exact' does not take an argument");
    refused(&["--test-threads", "0"], "argument for --test-threads must not be 0");
    refused(&["--test-threads=x"], "argument for --test-threads must be a number > 0");
    refused(&["--shuffle-seed", "x"], "argument for --shuffle-seed must be a number");
    refused(&["--format", "xml"], "argument for --format must be");
    refused(&["--color", "blue"], "argument for --color must be");
    refused(&["--ignored", "--include-ignored"], "the options --include-ignored and --ignored are mutually exclusive");
    refused(&["-Z", "other"], "Unrecognized option to `Z`");
}

#[test]
fn the_program_exits_as_libtest_does_on_wrong_arguments() {
    let ran = harness(&fixture(), &["--foo"]).run();
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (101, "", "error: Unrecognized option: 'foo'\n"));
    let ran = harness(&fixture(), &["--test-threads", "0"]).run();
    assert_eq!((ran.code, ran.stderr.as_str()), (101, "error: argument for --test-threads must not be 0\n"));
    let ran = harness(&fixture(), &[]).env("RUST_TEST_THREADS", "0").run();
    assert_eq!((ran.code, ran.stderr.as_str()), (101, "error: RUST_TEST_THREADS must not be 0\n"));
}

#[test]
fn short_options_may_hang_together() {
    assert!(front(&["-qZunstable-options"]).args.quiet);
    assert!(front(&["-q", "-Z", "unstable-options"]).args.quiet);
    assert!(matches!(asked(&["-qh"], &[]), Ok(HarnessRequest::Help)));
    assert!(!front(&["-q", "--format", "pretty"]).args.quiet, "--format speaks louder");
}

#[test]
fn what_follows_two_dashes_is_a_filter() {
    assert_eq!(front(&["--", "--foo"]).filters, ["__foo"]);
}

#[test]
fn variables_of_libtest_are_read_when_trials_run() {
    let threads = |given: &[&str], variables| with_variables(given, variables).threads;
    assert_eq!(threads(&[], &[("RUST_TEST_THREADS", "3")]), Some(3));
    assert_eq!(threads(&["--test-threads", "5"], &[("RUST_TEST_THREADS", "3")]), Some(5));
    assert_eq!(threads(&[], &[("RUST_TEST_THREADS", "3"), ("SKILL_EVALS_JOBS", "4")]), None, "ours is meant");
    assert_eq!(threads(&["--list"], &[("RUST_TEST_THREADS", "0")]), None, "a list needs none");
    let shuffle = |variables| with_variables(&[], variables).shuffle;
    assert_eq!(shuffle(&[("RUST_TEST_SHUFFLE", "1")]), Some(ShuffleOrder::Any));
    assert_eq!(shuffle(&[("RUST_TEST_SHUFFLE", "0")]), None);
    assert_eq!(shuffle(&[("RUST_TEST_SHUFFLE_SEED", "7")]), Some(ShuffleOrder::Seed(7)));
    assert!(asked(&[], &[("RUST_TEST_SHUFFLE_SEED", "x")]).is_err());
}

#[test]
fn dashes_plus_and_slashes_count_as_they_stand_in_names() {
    for filter in ["sweep-up", "sweep_up", "sweep+up", "sweep-up/first-one", "sweep_up::first.one"] {
        let names = listed(&harness(&fixture(), &["--list", filter]).run());
        assert!(names.contains(&"sweep_up::first_one::codex".to_owned()), "{filter}: {names:?}");
        assert!(names.iter().all(|name| name.starts_with("sweep_up")), "{filter}: {names:?}");
    }
    let names = listed(&harness(&fixture(), &["--list", "--exact", "sweep-up/first-one/codex"]).run());
    assert_eq!(names, ["sweep_up::first_one::codex"]);
    let names = listed(&harness(&fixture(), &["--list", "--skip", "first-one", "--skip", "lint"]).run());
    assert_eq!(names, ["sweep_up::last::codex", "tidy::bad::codex", "tidy::last::codex"]);
}

#[test]
fn several_filters_take_what_matches_one_of_them() {
    let names = listed(&harness(&fixture(), &["--list", "tidy::last", "sweep-up::first"]).run());
    assert_eq!(names, ["sweep_up::first_one::codex", "tidy::last::codex"]);
    let ran = harness(&fixture(), &["tidy::last", "sweep-up::first"]).run();
    ran.prints("running 2 tests").warns("2 filters leave 2 of 8 trials");
    let names = listed(&harness(&fixture(), &["--list", "--exact", "tidy::last::codex", "tidy::lint"]).run());
    assert_eq!(names, ["tidy::lint", "tidy::last::codex"]);
}

#[test]
fn an_empty_filter_takes_all() {
    // As rust-analyzer gives it for a whole file.
    assert_eq!(listed(&harness(&fixture(), &["--list", ""]).run()).len(), 8);
}

#[test]
fn a_seed_makes_an_order_and_the_same_seed_the_same() {
    let fixture = Fixture::copy_of_sample();
    let order = |args: &[&str]| -> (Vec<String>, String) {
        let ran = harness(&fixture, &[&["--format", "json", "--test-threads", "1"], args].concat()).run();
        let started = events(&ran).into_iter().filter(|event| event["event"] == "started" && event["type"] == "test");
        (started.map(|event| event["name"].to_string()).collect(), ran.stderr)
    };
    let (usual, _) = order(&[]);
    let (first, said) = order(&["--shuffle-seed", "5"]);
    assert!(said.contains("shuffle seed: 5"), "{said}");
    assert_eq!(first, order(&["--shuffle-seed", "5"]).0);
    assert_ne!(first, usual);
    assert_ne!(first, order(&["--shuffle-seed", "6"]).0);
    let (any, said) = order(&["--shuffle"]);
    let seed =
        said.lines().find_map(|line| line.strip_prefix("skill-evals: shuffle seed: ")).expect("the seed is said");
    assert_eq!(any, order(&["--shuffle-seed", seed]).0);
    let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<String>>();
    assert_eq!(set(&any), set(&usual), "nothing is lost");
}

#[test]
fn fail_fast_starts_nothing_after_the_first_failure() {
    let ran = harness(&fixture(), &["--fail-fast", "--test-threads", "1"]).run();
    // In order: three lints, sweep_up's two cases without a recording, then tidy's broken row.
    ran.exits(101);
    let line = |name: &str| ran.stdout.lines().find(|line| line.contains(name)).expect("a line").to_owned();
    assert!(line("test tidy::bad::codex").ends_with("... FAILED"), "{}", ran.stdout);
    assert!(line("test tidy::last::codex").contains("not run: --fail-fast"), "{}", ran.stdout);
    let all = harness(&fixture(), &["--test-threads", "1"]).run();
    assert!(!all.stdout.contains("not run"), "{}", all.stdout);
}

#[test]
fn no_more_threads_are_started_than_there_are_tests() {
    // No machine starts this many.
    let ran = harness(&fixture(), &["--test-threads", "100000000"]).run();
    ran.exits(101).prints("3 passed; 1 failed; 4 ignored");
}

#[test]
fn times_are_reported_where_they_are_asked_for() {
    let ran = harness(&fixture(), &["--report-time", "tidy::lint"]).run();
    assert!(ran.stderr.lines().any(|line| line.starts_with("tidy::lint: ") && line.ends_with(" s")), "{}", ran.stderr);
    assert!(!harness(&fixture(), &["tidy::lint"]).run().stderr.contains("tidy::lint"));
}

#[test]
fn show_output_shows_the_checks_of_passed_trials() {
    let name = "greeting::explicit::codex";
    let sample = Fixture::copy_of_sample();
    let ran = harness(&sample, &["--show-output", "--exact", name]).run();
    ran.warns("greeting/explicit/codex: pass\n  passed ");
    assert!(!harness(&sample, &["--exact", name]).run().stderr.contains("passed"));
}

#[test]
fn what_has_no_effect_is_said() {
    let ran = harness(&fixture(), &["--ensure-time", "tidy::lint"]).run();
    ran.exits(0).warns("--ensure-time has no effect");
}

#[test]
fn a_logfile_takes_the_results() {
    let fixture = fixture();
    let path = fixture.root().join("log.txt");
    let ran = harness(&fixture, &["--logfile", path.to_str().expect("UTF-8"), "tidy::lint"]).run();
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(std::fs::read_to_string(path).expect("the log").contains("test tidy::lint ... ok"));
}
