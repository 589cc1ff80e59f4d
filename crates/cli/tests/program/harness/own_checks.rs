//! Checks of a repository's own.

use skill_evals::harness::Finding;
use skill_evals::run::context::RunContext;
use skill_evals::run::own_check::{OwnChecks, Workspace};
use skill_evals::run::plan;
use skill_evals::run::ready;
use skill_evals::run::trial;
use skill_evals_evidence::settings::Settings;
use skill_evals_evidence::trace::Trace;
use skill_evals_evidence::trial::evidence::Evidence;
use skill_evals_evidence::trial::outcome::{Status, Verdict};

use crate::support::fixture::Fixture;

type Found = fn(&Trace, &Workspace<'_>) -> Finding;

/// The outcome of the sample's `greeting/explicit`, replayed with this check.
fn replayed(check: Found) -> skill_evals_evidence::trial::outcome::Outcome {
    let fixture = Fixture::copy_of_sample();
    let mut run = RunContext::new(fixture.root().to_path_buf(), Settings::default(), fixture.catalog());
    run.own_checks.add("own", None, check);
    let found = run.catalog.cases.iter().find(|found| &*found.skill == "greeting" && found.id == "explicit");
    let planned = plan::planned(&run.settings, found.expect("the case"), &[]).next().expect("a mode");
    let ready = ready::ready(&run, &planned).expect("a case without errors");
    trial::replay(&run, &ready, 1).expect("an outcome")
}

#[test]
fn a_check_takes_part_in_the_verdict() {
    let passed = replayed(|trace, workspace| {
        let it = (workspace.skill(), workspace.case(), workspace.mode());
        Finding::of(it == ("greeting", "explicit", "codex") && trace.final_message.is_some(), "looked")
    });
    assert_eq!(passed.grade.verdict, Verdict::Pass, "{:#?}", passed.grade);
    assert!(passed.grade.checks.iter().any(|check| check.id == "own" && check.status == Status::Pass));
    assert_eq!(replayed(|_, _| Finding::Fail("no".to_owned())).grade.verdict, Verdict::Fail);
    let unknown = replayed(|_, _| Finding::Unknown("dark".to_owned()));
    assert_eq!(unknown.grade.verdict, Verdict::Error, "a pass with a hole in it would be a guess");
    let not_asked = replayed(|_, _| Finding::NotAsked);
    assert!(not_asked.grade.verdict == Verdict::Pass && not_asked.grade.checks.iter().all(|check| check.id != "own"));
}

#[test]
fn a_check_that_panics_has_failed_with_its_words() {
    let grade = replayed(|_, workspace| {
        assert!(workspace.has("never.txt"), "never.txt is missing");
        Finding::Pass(String::new())
    })
    .grade;
    let check = grade.checks.iter().find(|check| check.id == "own").expect("the check");
    assert_eq!((grade.verdict, check.status), (Verdict::Fail, Status::Fail));
    assert!(check.found.contains("never.txt is missing"), "{}", check.found);
}

#[test]
fn a_failure_speaks_louder_than_what_cannot_be_seen() {
    let grade = replayed(|_, _| Finding::Unknown("dark".to_owned())).grade;
    let fixture = Fixture::new();
    let mut checks = OwnChecks::default();
    checks.add("second", None, |_, _| Finding::Fail("no".to_owned()));
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
    let grade = checks.applied(grade, &evidence, &folder).expect("own checks");
    assert_eq!((grade.verdict, grade.trouble), (Verdict::Fail, None));
    drop(fixture);
}

#[test]
fn files_are_known_in_replay_and_their_contents_are_not() {
    let found = replayed(|_, workspace| {
        assert_eq!(workspace.read("../meta.json").expect_err("outside").kind(), std::io::ErrorKind::InvalidInput);
        let kind = workspace.read("gone.txt").expect_err("not kept").kind();
        Finding::of(kind == std::io::ErrorKind::NotFound, format!("{kind}"))
    });
    assert_eq!(found.grade.verdict, Verdict::Pass, "{:#?}", found.grade);
}
