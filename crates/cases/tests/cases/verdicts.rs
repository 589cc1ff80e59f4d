//! The verdict that follows from the checks of a trial.

use serde_json::{Value, json};
use skill_evals_cases::cases::case::Assertion;
use skill_evals_cases::grade::verdict::{settle, without_the_skill};
use skill_evals_evidence::text::diagnostic::SourceLocation;
use skill_evals_evidence::trial::outcome::{Grade, Metrics, Status, TroubleKind, Verdict, Weight};

use crate::grade::trial;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// The grade of checks, each with the amount of its weight if it has one. A part has one check.
fn graded(checks: &[(&str, Status, Option<f64>)], least: Option<f64>) -> Grade {
    let result = |(part, (id, status, amount)): (usize, &(&str, Status, Option<f64>))| {
        let weight = amount.map(|amount| json!({ "amount": amount, "part": part }));
        json!({ "id": id, "goal": "outcome", "status": status, "expected": "a", "found": "b", "weight": weight })
    };
    let checks: Vec<Value> = checks.iter().enumerate().map(result).collect();
    let score = json!({ "value": 0, "open": 1, "least": least });
    let grade =
        json!({ "format": 1, "verdict": "pass", "checks": checks, "score": score, "metrics": Metrics::default() });
    settle(serde_json::from_value(grade).expect("a grade"))
}

fn assertion(weight: Option<Weight>) -> Assertion {
    Assertion { text: "It greets.".to_owned(), place: SourceLocation::default(), weight }
}

#[test]
fn what_the_evidence_leaves_open_comes_before_what_a_judge_leaves_open() {
    for (checks, verdict, kind) in [
        (&[("assertion", UNKNOWN, None), ("text", UNKNOWN, None)][..], Verdict::Error, TroubleKind::Unobservable),
        (&[("text", UNKNOWN, None), ("assertion", UNKNOWN, None)], Verdict::Error, TroubleKind::Unobservable),
        (&[("rubric-tone", UNKNOWN, None), ("text", PASS, None)], Verdict::Unscored, TroubleKind::NotJudged),
    ] {
        let grade = graded(checks, None);
        assert_eq!((grade.verdict, grade.trouble.map(|trouble| trouble.kind)), (verdict, Some(kind)), "{checks:?}");
    }
}

#[test]
fn a_failure_that_is_not_of_the_skills_checks_stays_without_them() {
    for (verdict, checks, without) in [
        (Verdict::Fail, &[][..], Verdict::Fail),
        (Verdict::Fail, &[("triggered", FAIL)], Verdict::Pass),
        (Verdict::Fail, &[("triggered", FAIL), ("text", PASS)], Verdict::Pass),
        (Verdict::Fail, &[("triggered", FAIL), ("text", FAIL)], Verdict::Fail),
        (Verdict::Fail, &[("triggered", FAIL), ("text", UNKNOWN)], Verdict::Error),
        (Verdict::Fail, &[("triggered", UNKNOWN), ("text", FAIL)], Verdict::Fail),
        (Verdict::Pass, &[("triggered", PASS), ("text", PASS)], Verdict::Pass),
        (Verdict::Error, &[("triggered", FAIL), ("text", PASS)], Verdict::Error),
    ] {
        let checks: Vec<_> = checks.iter().map(|(id, status)| ((*id).to_owned(), *status)).collect();
        assert_eq!(without_the_skill(verdict, &checks, None), without, "{verdict} {checks:?}");
        assert_eq!(without_the_skill(verdict, &checks, Some(Verdict::Unscored)), Verdict::Unscored, "a score decides");
    }
}

#[test]
fn without_the_skills_checks_an_open_score_is_an_error_or_waits_for_the_judge() {
    for (open, without) in [("text", Verdict::Error), ("assertion", Verdict::Unscored)] {
        let grade = graded(&[("triggered", FAIL, Some(3.0)), (open, UNKNOWN, Some(1.0))], Some(0.5));
        assert_eq!(grade.verdict, Verdict::Fail);
        assert_eq!(grade.score.and_then(|score| score.without_skill), Some(without), "{open}");
    }
}

#[test]
fn a_check_with_a_weight_of_zero_decides_nothing() {
    for least in [None, Some(0.5)] {
        for status in [FAIL, UNKNOWN] {
            let grade = graded(&[("text", status, Some(0.0)), ("file", PASS, Some(1.0))], least);
            assert_eq!((grade.verdict, grade.score.map(|score| score.value)), (Verdict::Pass, Some(1.0)), "{least:?}");
        }
    }
}

#[test]
fn assertions_with_weights_wait_for_a_judge_one_by_one() {
    let graded = |weight| trial(Vec::new()).with(|trial| trial.case.assertions = vec![assertion(weight)]).grade();
    let weight = Some(Weight::new(2.0, 0));
    let weighed = graded(weight);
    let pending = weighed.checks.iter().find(|check| check.id == "assertion").expect("the assertion");
    assert_eq!((pending.status, pending.weight), (UNKNOWN, weight));
    let texts = (pending.expected.as_str(), pending.found.as_str());
    assert_eq!(texts, ("It greets.", "no judge was asked about it"));
    assert_eq!(weighed.verdict, Verdict::Unscored);
    let plain = graded(None);
    assert!(plain.checks.iter().all(|check| check.id != "assertion"), "a judge says it of all of them");
    assert_eq!(plain.verdict, Verdict::Pass);
}
