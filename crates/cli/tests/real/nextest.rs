//! cargo-nextest over the real test target `skill_evals`, with the configuration in `.config/nextest.toml`.

use crate::support::repository;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use crate::support::fixture::Fixture;
use crate::support::harness::{clean, harness, listed, run_folders, scratch, with_stub_agent};
use crate::support::live::{processes_with, wait_until};
use crate::tests;
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    let found = crate::support::real::starts("cargo", &["nextest", "--version"]);
    let how_to_get = "get it with `cargo install cargo-nextest`, as .ci/run does";
    crate::support::real::all_needing(
        "cargo-nextest",
        found,
        how_to_get,
        tests![
            every_trial_is_listed_and_nothing_else,
            verdicts_are_those_of_cargo_test,
            filter_expressions_choose_trials,
            partitions_are_the_whole_together,
            ignored_trials_that_are_run_fail_with_the_reason,
            junit_has_the_failure_text,
            wrong_settings_fail_every_trial_and_break_no_list,
            live_trials_share_one_run_folder,
            a_slow_trial_is_ended_with_its_agents,
            a_failed_trial_is_not_retried,
        ],
    )
}

/// nextest in a repository, with its files in a directory of their own.
struct Nextest<'a> {
    fixture: &'a Fixture,
    store: tempfile::TempDir,
    config: String,
}

impl<'a> Nextest<'a> {
    fn over(fixture: &'a Fixture) -> Self {
        let shipped = repository().join(".config/nextest.toml");
        let config = fs::read_to_string(shipped).expect("the shipped configuration");
        Self { fixture, store: tempfile::tempdir().expect("a directory"), config }
    }

    fn command(&self, args: &[&str]) -> Command {
        let config = format!("[store]\ndir = \"{}/store\"\n{}", self.store.path().display(), self.config);
        let path = self.store.path().join("nextest.toml");
        fs::write(&path, config).expect("a configuration");
        let mut command = clean(Command::new("cargo"));
        command.arg("nextest").args(args).args(["--test", "skill_evals", "--config-file"]).arg(path);
        command.current_dir(repository()).env("SKILL_EVALS_ROOT", self.fixture.root());
        command.env("SKILL_EVALS_SCRATCH", scratch());
        command
    }

    fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("cargo starts")
    }

    /// The names that are listed.
    fn names(&self, args: &[&str]) -> Vec<String> {
        let output = self.output(&[&["list", "--message-format", "json"], args].concat());
        let list: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let cases = list["rust-suites"]["skill-evals::skill_evals"]["testcases"].as_object().expect("cases").clone();
        let wanted = |case: &serde_json::Value| case["filter-match"]["status"] == "matches";
        cases.into_iter().filter(|(_, case)| wanted(case)).map(|(name, _)| name).collect()
    }

    /// Runs with the profile `ci`; the exit status, the verdicts and the `JUnit` of what ran.
    fn run(&self, args: &[&str], variables: &[(&str, &str)]) -> (i32, BTreeMap<String, &'static str>, String) {
        let mut command = self.command(&[&["run", "--profile", "ci"], args].concat());
        let output = command.envs(variables.iter().copied()).output().expect("cargo starts");
        let junit = fs::read_to_string(self.store.path().join("store/ci/junit.xml"));
        let junit = junit.unwrap_or_else(|_| panic!("no JUnit: {}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().expect("an exit status"), verdicts(&junit), junit)
    }
}

/// Pass, fail or ignored, by the trial's name.
fn verdicts(junit: &str) -> BTreeMap<String, &'static str> {
    let case = |part: &str| {
        let (name, rest) = part.split_once('"').expect("a name");
        let rest = rest.split("<testcase").next().unwrap_or_default();
        let verdict = match () {
            () if rest.contains("<failure") || rest.contains("<error") => "fail",
            () if rest.contains("<skipped") => "ignored",
            () => "pass",
        };
        (name.to_owned(), verdict)
    };
    junit.split("<testcase name=\"").skip(1).map(case).collect()
}

/// This repository's sample, with a row that has no recording, one that is broken, and a skill changed since.
fn mixed() -> Fixture {
    let fixture = Fixture::copy_of_sample();
    let sheet = fixture.root().join("evals/skills/greeting/prompts.csv");
    let mut text = fs::read_to_string(&sheet).expect("the sample's sheet");
    text.push_str("unrecorded,true,Hello!\nbroken,perhaps,Hello!\n");
    fs::write(sheet, text).expect("a file");
    let skill = fixture.root().join("skills/code-style/SKILL.md");
    let mut text = fs::read_to_string(&skill).expect("the sample's skill");
    text.push_str("\nOne more line.\n");
    fs::write(skill, text).expect("a file");
    fixture
}

fn every_trial_is_listed_and_nothing_else() {
    let fixture = mixed();
    let mut names = listed(&harness(&fixture, &["--list"]).run());
    names.sort();
    let ours = Nextest::over(&fixture).names(&["--run-ignored", "all"]);
    assert_eq!(ours, names);
}

fn verdicts_are_those_of_cargo_test() {
    let fixture = mixed();
    let (code, nextest, _) = Nextest::over(&fixture).run(&[], &[]);
    assert_eq!(code, 100, "some failed");
    let mut command = clean(Command::new("cargo"));
    command.args(["test", "--test", "skill_evals", "--", "--format", "json", "-Z", "unstable-options"]);
    command.current_dir(repository()).env("SKILL_EVALS_ROOT", fixture.root());
    let output = command.output().expect("cargo starts");
    assert_eq!(output.status.code(), Some(101));
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let events = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let cargo: BTreeMap<String, &str> = events
        .filter(|event| event["type"] == "test" && event["event"] != "started")
        .map(|event| {
            let verdict = match event["event"].as_str() {
                Some("ok") => "pass",
                Some("failed") => "fail",
                Some("ignored") => "ignored",
                other => panic!("{other:?}"),
            };
            (event["name"].as_str().expect("a name").to_owned(), verdict)
        })
        .collect();
    assert_eq!(nextest, cargo);
    for verdict in ["pass", "fail", "ignored"] {
        assert!(cargo.values().any(|known| *known == verdict), "{verdict} is among them");
    }
    assert_eq!(cargo["greeting::unrecorded::codex"], "ignored");
    assert_eq!(cargo["greeting::broken::codex"], "fail");
}

/// How many recordings of this repository have a path with this part.
fn recorded(part: &str) -> usize {
    Fixture::recordings().iter().filter(|path| path.contains(part)).count()
}

fn filter_expressions_choose_trials() {
    let fixture = Fixture::copy_of_sample();
    let nextest = Nextest::over(&fixture);
    assert_eq!(nextest.names(&["-E", "test(=greeting::explicit::codex)"]), ["greeting::explicit::codex"]);
    let negatives = nextest.names(&["-E", "test(/::negative::/)"]);
    assert_eq!(negatives.len(), recorded("/negative/"), "{negatives:?}");
}

fn partitions_are_the_whole_together() {
    let fixture = Fixture::copy_of_sample();
    let nextest = Nextest::over(&fixture);
    let whole = nextest.names(&[]);
    for kind in ["hash", "slice"] {
        let part = |number: u32| nextest.names(&["--partition", &format!("{kind}:{number}/3")]);
        let mut together = [part(1), part(2), part(3)].concat();
        together.sort();
        assert_eq!(together, whole, "{kind}");
    }
}

fn ignored_trials_that_are_run_fail_with_the_reason() {
    let fixture = mixed();
    let (code, verdicts, junit) = Nextest::over(&fixture).run(&["--run-ignored", "only"], &[]);
    assert_eq!(code, 100);
    assert_eq!(verdicts["greeting::unrecorded::codex"], "fail");
    assert!(junit.contains("no recording; SKILL_EVALS_LIVE=1 runs the agent"), "{junit}");
}

fn junit_has_the_failure_text() {
    let fixture = mixed();
    let (_, _, junit) = Nextest::over(&fixture).run(&["-E", "test(broken) or test(code_style::explicit::codex)"], &[]);
    let messages: Vec<&str> = junit.split("<failure").skip(1).collect();
    assert_eq!(messages.len(), 2, "{junit}");
    let attribute = |text: &str| text.split('>').next().unwrap_or_default().to_owned();
    assert!(messages.iter().any(|text| attribute(text).contains("message=\"Error: error[bad-boolean]")), "{junit}");
    assert!(messages.iter().any(|text| attribute(text).contains("the recording is stale")), "{junit}");
}

fn wrong_settings_fail_every_trial_and_break_no_list() {
    let fixture = Fixture::copy_of_sample().file("evals/evals.toml", "jobz = 1\n");
    let nextest = Nextest::over(&fixture);
    let lints = 6;
    assert_eq!(nextest.names(&[]).len(), recorded("") + lints);
    let (code, verdicts, junit) = nextest.run(&["-E", "test(greeting)"], &[]);
    assert_eq!(code, 100);
    let failed = verdicts.values().filter(|verdict| **verdict == "fail");
    assert_eq!(failed.count(), recorded("greeting/") + 1, "{verdicts:?}");
    assert!(junit.contains("jobz"), "{junit}");
}

fn live_trials_share_one_run_folder() {
    let rows = "one,true,Greet Ada\ntwo,true,Greet Eve\nthree,true,Greet Bob\nfour,true,Greet Kim\n";
    let fixture = with_stub_agent(rows, "");
    let live = [("SKILL_EVALS_LIVE", "1")];
    let (code, verdicts, junit) = Nextest::over(&fixture).run(&["-E", "test(::codex)"], &live);
    assert_eq!((code, verdicts.len()), (0, 4), "{junit}");
    let [folder]: [PathBuf; 1] = run_folders(fixture.root()).try_into().expect("one directory");
    for case in ["one", "two", "three", "four"] {
        assert!(folder.join("work/greeting").join(case).join("codex/1/grade.json").is_file(), "{case}");
    }
}

fn a_slow_trial_is_ended_with_its_agents() {
    let word = format!("slow-agent-{}", std::process::id());
    let first = format!("export AGENT_WORD={word}; setsid sleep 300 & sleep 301");
    let fixture = with_stub_agent("one,true,Greet Ada\n", &first);
    let mut nextest = Nextest::over(&fixture);
    let slow = r#"slow-timeout = { period = "60s", terminate-after = 15, grace-period = "15s" }"#;
    assert!(nextest.config.contains(slow), "the shipped configuration ends slow trials");
    nextest.config = nextest.config.replace(slow, &slow.replace("60s", "1s").replace("15,", "2,"));
    let (code, verdicts, junit) = nextest.run(&["-E", "test(::one::)"], &[("SKILL_EVALS_LIVE", "1")]);
    assert_eq!((code, verdicts["greeting::one::codex"]), (100, "fail"), "{junit}");
    wait_until("the agents' end", || processes_with(&word).is_empty());
    let [folder]: [PathBuf; 1] = run_folders(fixture.root()).try_into().expect("one directory");
    let trial = folder.join("work/greeting/one/codex/1");
    let meta = fs::read_to_string(trial.join("meta.json")).expect("what was done is kept");
    assert!(meta.contains("ended by Ctrl-C or SIGTERM"), "{meta}");
    assert!(!trial.join("grade.json").exists(), "and counts for nothing");
}

fn a_failed_trial_is_not_retried() {
    let fixture = with_stub_agent("one,false,Rest\n", "echo started >> \"$COUNT_FILE\"");
    let count = fixture.root().join("count.txt");
    let settings = fixture.root().join("evals/evals.toml");
    let mut text = fs::read_to_string(&settings).expect("the settings");
    text = format!("[env]\nCOUNT_FILE = \"{}\"\n{text}", count.display());
    fs::write(settings, text).expect("a file");
    let (code, _, _) = Nextest::over(&fixture).run(&["-E", "test(::one::)"], &[("SKILL_EVALS_LIVE", "1")]);
    assert_eq!((code, fs::read_to_string(count).expect("it started").as_str()), (100, "started\n"));
}
