//! Checks of a repository's own.

use std::time::Duration;

use skill_evals::harness::{Check, CheckError, Finding, ReadError, Recording, Trial, TrialSample};
use skill_evals::run::custom_check::CustomChecks;
use skill_evals::run::plan;
use skill_evals::run::planned::PlannedRun;
use skill_evals::run::preflight;
use skill_evals::run::trial;
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trial::evidence::Evidence;
use skill_evals_evidence::trial::outcome::{Outcome, Status, Verdict};

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::repository;

type Found = fn(&Trial<'_>) -> Result<Finding, CheckError>;

/// The outcome of the sample's `greeting/explicit`, replayed with this check.
fn replayed(check: Found) -> Outcome {
    let fixture = Fixture::copy_of_sample();
    let mut run = PlannedRun::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog());
    run.custom_checks.add(Check::new("own", check));
    let found = run.catalog.cases.iter().find(|found| &*found.skill == "greeting" && found.id == "explicit");
    let planned = plan::planned(&run.settings, found.expect("the case"), &[]).next().expect("a mode");
    let ready = preflight::ready(&run, &planned).expect("a case without errors");
    trial::replay(&run, &ready, 1, &|_| ()).expect("an outcome")
}

#[test]
fn a_check_takes_part_in_the_verdict() {
    let passed = replayed(|trial| {
        let it = (trial.skill(), trial.case(), trial.mode(), trial.should_trigger());
        let expected = ("greeting", "explicit", "codex", Some(true));
        let said = trial.trace().final_message.is_some() && trial.final_text().is_some();
        Ok(Finding::of(it == expected && said && !trial.prompt().is_empty(), format!("{it:?}")))
    });
    assert_eq!(passed.grade.verdict, Verdict::Pass, "{:#?}", passed.grade);
    assert!(passed.grade.checks.iter().any(|check| check.id == "own" && check.status == Status::Pass));
    assert_eq!(replayed(|_| Ok(Finding::Fail("no".to_owned()))).grade.verdict, Verdict::Fail);
    let unknown = replayed(|_| Ok(Finding::Unknown("dark".to_owned())));
    assert_eq!(unknown.grade.verdict, Verdict::Error, "a pass with a hole in it would be a guess");
    let not_asked = replayed(|_| Ok(Finding::NotAsked));
    assert!(not_asked.grade.verdict == Verdict::Pass && not_asked.grade.checks.iter().all(|check| check.id != "own"));
}

#[test]
fn a_check_that_panics_has_failed_with_its_words() {
    let grade = replayed(|trial| {
        assert!(trial.has("never.txt"), "never.txt is missing");
        Ok(Finding::Pass(String::new()))
    })
    .grade;
    let check = grade.checks.iter().find(|check| check.id == "own").expect("the check");
    assert_eq!((grade.verdict, check.status), (Verdict::Fail, Status::Fail));
    assert!(check.found.contains("never.txt is missing"), "{}", check.found);
}

#[test]
fn a_failure_speaks_louder_than_what_cannot_be_seen() {
    let grade = replayed(|_| Ok(Finding::Unknown("dark".to_owned()))).grade;
    let fixture = Fixture::new();
    let mut checks = CustomChecks::default();
    checks.add(Check::new("second", |_| Ok(Finding::Fail("no".to_owned()))));
    let sample = Fixture::copy_of_sample();
    let folder = skill_evals_results::store::recording(
        sample.root(),
        &skill_evals_evidence::trial::id::TrialId {
            skill: "greeting".to_owned(),
            case: "explicit".to_owned(),
            mode: "codex".to_owned(),
            number: 1,
        },
    );
    let (meta, trace) = (folder.meta().expect("facts"), Trace::default());
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: None };
    let grade = checks.applied(grade, &evidence, &folder, Duration::MAX, &|_| ()).expect("custom checks");
    assert_eq!((grade.verdict, grade.trouble), (Verdict::Fail, None));
    drop(fixture);
}

#[test]
fn the_error_of_a_check_fails_it_unless_a_content_was_not_kept() {
    let read = |trial: &Trial<'_>| Ok(Finding::Pass(trial.read_text("report.md")?));
    let parsed = |trial: &Trial<'_>| Ok(Finding::Pass(trial.read_text("number")?.parse::<u32>()?.to_string()));
    let sample = TrialSample::new("report", "Count").file("report.md", "three").file("number", "3");
    assert_eq!(Check::new("read", read).finding(&sample.trial()), Finding::Pass("three".to_owned()));
    assert_eq!(Check::new("parsed", parsed).finding(&sample.trial()), Finding::Pass("3".to_owned()));
    let words = TrialSample::new("report", "Count").file("number", "three");
    assert_eq!(Check::new("read", read).finding(&words.trial()), Finding::Fail("`report.md` is not there".to_owned()));
    let failed = Check::new("parsed", parsed).finding(&words.trial());
    assert_eq!(failed, Finding::Fail("invalid digit found in string".to_owned()));
    assert!(matches!(sample.trial().read("../meta.json"), Err(ReadError::BadPath { .. })));
}

#[test]
fn a_check_of_one_skill_case_or_tag_is_not_asked_elsewhere() {
    let check = || Check::new("own", |_| Ok(Finding::Pass(String::new())));
    let sample = TrialSample::new("report", "Count").case("implicit").tag("docs");
    for mine in
        [check().skill("report"), check().case("implicit"), check().tag("docs"), check().skill("report").tag("docs")]
    {
        assert_eq!(mine.finding(&sample.trial()), Finding::Pass(String::new()), "{mine:?}");
    }
    for other in
        [check().skill("tidy"), check().case("explicit"), check().tag("slow"), check().skill("report").tag("slow")]
    {
        assert_eq!(other.finding(&sample.trial()), Finding::NotAsked, "{other:?}");
    }
}

#[test]
fn a_check_that_is_about_nothing_is_named_with_what_is_near() {
    let fixture = Fixture::copy_of_sample();
    let mut checks = CustomChecks::default();
    let check = |name: &str| Check::new(name, |_| Ok(Finding::NotAsked));
    checks.add(check("a").skill("greeting").case("explicit"));
    checks.add(check("b").skill("greting"));
    checks.add(check("c").skill("greeting").case("explict"));
    checks.add(check("d").tag("nobody-has-it"));
    let problems = checks.without_effect(&fixture.catalog());
    assert_eq!(problems.len(), 3, "{problems:#?}");
    assert!(problems[0].contains("the skill `greting`, which is not here; did you mean `greeting`?"), "{problems:#?}");
    assert!(problems[1].contains("the case `explict`, which is not here; did you mean `explicit`?"), "{problems:#?}");
    assert!(problems[2].contains("the check `d` is about the tag `nobody-has-it`"), "{problems:#?}");
}

#[test]
fn a_unit_test_can_open_a_recording() {
    let recordings = repository().join("evals/recordings");
    let recording = Recording::open(recordings.join("greeting/explicit/codex/1")).expect("a recording");
    let trial = recording.trial();
    assert_eq!((trial.skill(), trial.case(), trial.mode()), ("greeting", "explicit", "codex"));
    assert!(trial.final_text().is_some() && !trial.trace().steps.is_empty());
    assert!(matches!(trial.read("gone.txt"), Err(ReadError::Missing(_))));
    let why = Recording::open(recordings.join("greeting")).expect_err("no trial").to_string();
    assert!(why.contains("no trial is stored there; one below it is `"), "{why}");
    assert!(why.ends_with("greeting/explicit/chat/1`"), "{why}");
}
