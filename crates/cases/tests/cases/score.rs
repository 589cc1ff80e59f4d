//! The score of a trial: what weights and a least score decide, whatever the unknown checks are.

use proptest::prelude::*;
use serde_json::{Value, json};
use skill_evals_cases::cases::case::Assertion;
use skill_evals_cases::checks::grading_input::{ProgramEnding, ProgramRun, WorkspaceProgram};
use skill_evals_cases::checks::{self, CaseCheck};
use skill_evals_cases::grade::rubric::stale;
use skill_evals_cases::grade::verdict::settle;
use skill_evals_evidence::text::diagnostic::SourceLocation;
use skill_evals_evidence::text::name::RelativePath;
use skill_evals_evidence::trial::outcome::{Grade, Judged, Metrics, Status, Verdict, Weight};

use crate::grade::trial;

/// The amounts of the parts.
const AMOUNTS: [u32; 5] = [1, 3, 2, 5, 0];

/// A check: its part, if it has a weight, and its status.
type Made = (Option<usize>, Status);

/// A least score of 1 is this many.
const WHOLE: u32 = 4_000_000_000;

fn graded(checks: &[Made], least: Option<u32>) -> Grade {
    graded_as("text", checks, least)
}

/// The grade of checks with this id.
fn graded_as(id: &str, checks: &[Made], least: Option<u32>) -> Grade {
    let check = |(part, status): &Made| {
        let mut check = json!({ "id": id, "goal": "outcome", "status": status, "expected": "a", "found": "b" });
        if let Some(part) = part {
            check["weight"] = json!({ "amount": AMOUNTS[*part], "part": part });
        }
        check
    };
    let checks: Vec<Value> = checks.iter().map(check).collect();
    let mut score = json!({ "value": 0, "open": 1 });
    if let Some(least) = least {
        score["least"] = json!(f64::from(least) / f64::from(WHOLE));
    }
    let grade =
        json!({ "format": 1, "verdict": "pass", "checks": checks, "score": score, "metrics": Metrics::default() });
    settle(serde_json::from_value(grade).expect("a grade"))
}

/// Whether a trial passes whose checks are all known, in whole numbers.
fn passes(checks: &[(Option<usize>, bool)], least: Option<u32>) -> bool {
    let part = |part: usize| checks.iter().filter(move |(of, _)| *of == Some(part));
    let parts = || (0..AMOUNTS.len()).filter(|at| part(*at).next().is_some());
    let all: u32 = parts().map(|at| AMOUNTS[at]).sum();
    let passed: u32 = parts().filter(|at| part(*at).all(|(_, passed)| *passed)).map(|at| AMOUNTS[at]).sum();
    let is_enough = match least {
        Some(least) if all > 0 => u64::from(WHOLE) * u64::from(passed) >= u64::from(least) * u64::from(all),
        Some(_) => true,
        None => passed == all,
    };
    is_enough && checks.iter().all(|(part, passed)| part.is_some() || *passed)
}

/// The verdict by every value that the unknown checks may have.
fn by_all_values(checks: &[Made], least: Option<u32>) -> Verdict {
    let unknown: Vec<usize> = (0..checks.len()).filter(|at| checks[*at].1 == Status::Unknown).collect();
    let mut seen = [false; 2];
    for values in 0..1_u32 << unknown.len() {
        let value = |at: usize| match unknown.iter().position(|of| *of == at) {
            Some(bit) => values >> bit & 1 == 1,
            None => checks[at].1 == Status::Pass,
        };
        let known: Vec<_> = checks.iter().enumerate().map(|(at, (part, _))| (*part, value(at))).collect();
        seen[usize::from(passes(&known, least))] = true;
    }
    match seen {
        [false, true] => Verdict::Pass,
        [true, false] => Verdict::Fail,
        _ => Verdict::Error,
    }
}

fn made() -> impl Strategy<Value = Made> {
    let status = prop::sample::select(vec![Status::Pass, Status::Fail, Status::Unknown]);
    (prop::option::weighted(0.8, 0..AMOUNTS.len()), status)
}

fn least_score() -> impl Strategy<Value = u32> {
    prop_oneof![(0..=100_u32).prop_map(|percent| percent * (WHOLE / 100)), 1..4_u32]
}

proptest! {
    #[test]
    fn the_verdict_is_that_of_all_values_of_the_unknown_checks(
        checks in prop::collection::vec(made(), 0..8),
        least in prop::option::weighted(0.8, least_score()),
    ) {
        let decided = by_all_values(&checks, least);
        let by_program = graded(&checks, least);
        prop_assert_eq!(by_program.verdict, decided, "{:?} {:?} {:?}", checks, least, by_program.score);
        // What a judge leaves open is not scored, and a stale answer changes nothing that is decided without it.
        let decided = if decided == Verdict::Error { Verdict::Unscored } else { decided };
        let judged = graded_as("assertion", &checks, least);
        prop_assert_eq!(judged.verdict, decided, "{:?} {:?} {:?}", checks, least, judged.score);
        let weight = Some(Weight::new(1.0, 0));
        let assertions = [Assertion { text: "It greets.".to_owned(), place: SourceLocation::default(), weight }];
        let stale = stale(judged, false, &assertions, &["evidence".to_owned()]);
        prop_assert_eq!((stale.verdict, stale.judged), (decided, Some(Judged::Stale)), "{:?} {:?}", checks, least);
    }
}

#[test]
fn four_of_five_equal_weights_reach_a_least_score_of_four_fifths() {
    let mut checks: Vec<Made> = (0..4).map(|_| (None, Status::Pass)).collect();
    checks.extend([(Some(3), Status::Pass), (Some(1), Status::Pass), (Some(2), Status::Fail)]);
    let grade = graded(&checks, Some(WHOLE / 5 * 4));
    let score = grade.score.expect("a score");
    assert_eq!((grade.verdict, score.value, score.open), (Verdict::Pass, 0.8, 0.0));
    assert_eq!(graded(&checks, Some(WHOLE / 100 * 81)).verdict, Verdict::Fail);
}

#[test]
fn a_score_of_zero_reaches_no_least_score_above_zero() {
    for least in [f64::MIN_POSITIVE, 1e-12, 1e-9] {
        let mut grade = graded(&[(Some(1), Status::Fail)], Some(0));
        assert_eq!(grade.verdict, Verdict::Pass);
        grade.score.as_mut().expect("a score").least = Some(least);
        assert_eq!(settle(grade).verdict, Verdict::Fail, "{least}");
    }
}

#[test]
fn a_check_between_pass_and_fail_counts_its_share_of_its_weight() {
    let mut grade =
        graded(&[(Some(1), Status::Fail), (Some(1), Status::Pass), (Some(0), Status::Pass)], Some(WHOLE / 5 * 3));
    assert_eq!((grade.verdict, grade.score.map(|score| score.value)), (Verdict::Fail, Some(0.25)));
    grade.checks[0].score = Some(0.5);
    let grade = settle(grade);
    assert_eq!((grade.verdict, grade.score.map(|score| score.value)), (Verdict::Pass, Some(0.625)));
}

#[test]
fn the_score_that_a_script_answers_counts_if_its_check_has_a_weight() {
    let answer = r#"{"score":0.5,"checks":[{"id":"a","pass":true},{"id":"b","pass":false}]}"#;
    let path = || RelativePath::parse("checks/a.sh").expect("a path");
    let graded = |weight: Option<Weight>, least: Option<f64>| {
        let script = CaseCheck { weight, ..checks::script(path()) };
        let graded = trial(vec![script]).with(|trial| {
            trial.case.least_score = least;
            let ending = ProgramEnding { stdout: answer.to_owned(), ..ProgramEnding::default() };
            let run = ProgramRun { digest: String::new(), ending: Ok(ending) };
            trial.programs.insert(WorkspaceProgram::Script(path()), run);
        });
        graded.grade()
    };
    let weight = Some(Weight::new(2.0, 1));
    let with_score = graded(weight, Some(0.5));
    assert_eq!((with_score.verdict, with_score.score.map(|score| score.value)), (Verdict::Pass, Some(0.5)));
    assert!(with_score.checks.iter().filter(|check| check.score == Some(0.5)).count() == 2, "{with_score:#?}");
    // All its answers count once.
    let mut beside = with_score.clone();
    let mut other = with_score.checks.iter().find(|check| check.score.is_some()).expect("an answer").clone();
    (other.weight, other.score, other.status) = (Some(Weight::new(2.0, 2)), None, Status::Fail);
    beside.checks.push(other);
    assert_eq!(settle(beside).score.map(|score| score.value), Some(0.25));
    assert_eq!(graded(weight, Some(0.6)).verdict, Verdict::Fail);
    assert_eq!(graded(weight, None).verdict, Verdict::Fail, "without a least score every check must pass");
    let without = graded(None, Some(0.5));
    assert_eq!((without.verdict, without.score), (Verdict::Fail, None));
    assert!(without.checks.iter().all(|check| check.score.is_none()), "{without:#?}");
}

#[test]
fn a_least_score_is_held_against_the_other_checks_when_those_of_the_skill_are_left_out() {
    let mut grade = graded(&[(Some(1), Status::Fail), (Some(0), Status::Pass)], Some(WHOLE / 2));
    assert_eq!(grade.verdict, Verdict::Fail);
    grade.checks[0].id = "triggered".to_owned();
    let score = settle(grade).score.expect("a score");
    assert_eq!(score.without_skill, Some(Verdict::Pass));
}
