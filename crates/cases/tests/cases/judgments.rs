//! A judge's votes, and what they make of the grade of a trial.

use std::path::Path;

use serde_json::json;
use skill_evals_cases::cases::case::Assertion;
use skill_evals_cases::checks;
use skill_evals_cases::grade::rubric::{
    self, Attempt, BUILT_IN_SCHEMA, BUILT_IN_TEMPLATE, JudgeAnswer, JudgeSubject, Judgment, Rubric, RubricPoint, Vote,
};
use skill_evals_evidence::text::diagnostic::SourceLocation;
use skill_evals_evidence::trace::Usage;
use skill_evals_evidence::trace::trouble::Trouble;
use skill_evals_evidence::trial::evidence::{Inputs, digest};
use skill_evals_evidence::trial::outcome::{Grade, Judged, Status, TroubleKind, Verdict, Weight};

use crate::grade::trial;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// A vote whose answer has these points.
fn vote(points: &[(&str, bool, &str)]) -> Vote {
    let checks: Vec<RubricPoint> = points
        .iter()
        .map(|(id, pass, notes)| RubricPoint { id: (*id).to_owned(), pass: *pass, notes: (*notes).to_owned() })
        .collect();
    let overall_pass = checks.iter().all(|point| point.pass);
    Vote { answer: Some(JudgeAnswer { overall_pass, score: None, checks }), attempts: Vec::new() }
}

/// A vote without an answer, after this attempt.
fn no_vote(attempt: Attempt) -> Vote {
    Vote { answer: None, attempts: vec![attempt] }
}

fn unusable() -> Vote {
    no_vote(Attempt { unusable: Some("is missing".to_owned()), ..Attempt::default() })
}

fn judgment(votes: Vec<Vote>) -> Judgment {
    let agent = serde_json::from_value(json!({ "kind": "codex" })).expect("an agent");
    Judgment::new(agent, None, String::new(), Inputs::default(), votes)
}

fn rubric(template: &str) -> Rubric {
    Rubric::new((Path::new("judge.md"), template), (Path::new("schema.json"), BUILT_IN_SCHEMA)).expect("a rubric")
}

fn assertions(weights: &[Option<Weight>]) -> Vec<Assertion> {
    let place = SourceLocation::default;
    let assertion = |(number, weight): (usize, &Option<Weight>)| Assertion {
        text: format!("It holds {}.", number + 1),
        place: place(),
        weight: *weight,
    };
    weights.iter().enumerate().map(assertion).collect()
}

/// The checks of a judge in a grade, with their expectation and finding.
fn judged(grade: &Grade) -> Vec<(&str, Status, &str, &str)> {
    let is_judged = |id: &str| id == "assertion" || id.starts_with("rubric-");
    let checks = grade.checks.iter().filter(|check| is_judged(&check.id));
    checks.map(|check| (check.id.as_str(), check.status, check.expected.as_str(), check.found.as_str())).collect()
}

#[test]
fn more_than_half_of_all_votes_decide() {
    let (yes, no) = (|| vote(&[("tone", true, "kind")]), || vote(&[("tone", false, "rude")]));
    for (votes, verdict, tally, agreement) in [
        (vec![yes()], Verdict::Pass, "1 for, 0 against", Some(1.0)),
        (vec![no()], Verdict::Fail, "0 for, 1 against", Some(1.0)),
        (vec![yes(), no(), no()], Verdict::Fail, "1 for, 2 against", Some(2.0 / 3.0)),
        (vec![yes(), yes(), yes(), no()], Verdict::Pass, "3 for, 1 against", Some(0.75)),
        (vec![yes(), no()], Verdict::Unscored, "1 for, 1 against", None),
        (vec![yes(), unusable()], Verdict::Unscored, "1 for, 0 against, 1 without a usable answer", None),
        (
            vec![yes(), no(), unusable(), unusable()],
            Verdict::Unscored,
            "1 for, 1 against, 2 without a usable answer",
            None,
        ),
    ] {
        let judgment = judgment(votes);
        assert_eq!((judgment.verdict, judgment.tally().as_str(), judgment.agreement), (verdict, tally, agreement));
        assert_eq!(judgment.trouble.is_some(), verdict == Verdict::Unscored, "{tally}");
    }
}

#[test]
fn votes_that_decide_nothing_say_what_the_judge_lacked() {
    let refused =
        || no_vote(Attempt { trouble: Some(Trouble::new(TroubleKind::RateLimit, "429")), ..Attempt::default() });
    let (yes, no) = (|| vote(&[("tone", true, "kind")]), || vote(&[("tone", false, "rude")]));
    for (votes, kind, detail) in [
        (vec![unusable()], TroubleKind::NotJudged, "the judge's answer is missing"),
        (vec![yes(), unusable()], TroubleKind::NotJudged, "1 for, 0 against of 2 votes; the judge's answer is missing"),
        (vec![refused()], TroubleKind::RateLimit, "the judge: 429"),
        (vec![yes(), no(), refused()], TroubleKind::RateLimit, "the judge: 1 for, 1 against of 3 votes; 429"),
        (vec![yes(), no()], TroubleKind::NotJudged, "1 votes for, 1 against: no majority"),
    ] {
        let trouble = judgment(votes).trouble.expect("trouble");
        assert_eq!((trouble.kind, trouble.detail.as_str()), (kind, detail));
    }
}

#[test]
fn the_usage_of_a_judgment_is_that_of_all_attempts() {
    let usage = |factor: u64, cost: Option<f64>| -> Usage {
        let usage = json!({
            "input_tokens": 100 * factor, "cached_input_tokens": 10 * factor, "cache_write_input_tokens": 5 * factor,
            "output_tokens": 30 * factor, "reasoning_output_tokens": 7 * factor, "cost_usd": cost,
        });
        serde_json::from_value(usage).expect("usage")
    };
    let sum = |costs: [Option<f64>; 2]| {
        let [first, second] = costs;
        let attempt = |usage| Attempt { usage: Some(usage), ..Attempt::default() };
        let mut both = vote(&[("tone", true, "kind")]);
        both.attempts = vec![attempt(usage(1, first)), Attempt::default(), attempt(usage(3, second))];
        judgment(vec![both]).usage
    };
    assert_eq!(sum([Some(0.25), Some(0.5)]), Some(usage(4, Some(0.75))));
    assert_eq!(sum([None, Some(0.5)]), Some(usage(4, Some(0.5))));
    assert_eq!(sum([None, None]), Some(usage(4, None)));
}

#[test]
fn each_point_of_the_votes_is_a_check_with_the_evidence_of_its_majority() {
    let rubric = rubric(BUILT_IN_TEMPLATE);
    let grade = trial(Vec::new()).grade();
    let join = |votes, assertions: &[Assertion]| {
        rubric::join(grade.clone(), &judgment(votes), rubric.question(true, assertions))
    };
    let votes = vec![
        vote(&[("tone", false, "rude"), ("assertion-2", true, "yes"), ("length", false, "long")]),
        vote(&[("tone", true, " kind "), ("assertion-2", false, "no"), ("length", true, "short")]),
        vote(&[("tone", true, "very kind"), ("assertion-2", false, "none"), ("assertion-1", true, "holds")]),
    ];
    let grade = join(votes, &assertions(&[None, None]));
    assert_eq!(grade.verdict, Verdict::Fail);
    assert_eq!(
        judged(&grade),
        [
            ("assertion", PASS, "It holds 1.", "1 of 1: holds"),
            ("assertion", FAIL, "It holds 2.", "1 of 3: no"),
            ("rubric-tone", PASS, "the judge passes `tone`", "2 of 3: kind"),
            ("rubric-length", UNKNOWN, "the judge passes `length`", "1 of 2: long"),
            ("rubric-overall", FAIL, "the judge passes the trial", "0 for, 3 against"),
        ]
    );
    assert!(grade.checks.iter().all(|check| check.weight.is_none()), "no assertion has a weight");
    let alone = join(vec![vote(&[("tone", true, "kind")])], &[]);
    let overall = ("rubric-overall", PASS, "the judge passes the trial", "1 for, 0 against");
    assert_eq!(judged(&alone), [("rubric-tone", PASS, "the judge passes `tone`", "kind"), overall]);
}

#[test]
fn a_judgment_changes_only_the_verdict_of_a_trial_that_passed() {
    let rubric = rubric(BUILT_IN_TEMPLATE);
    let grades = [
        trial(Vec::new()).grade(),
        trial(vec![checks::triggers(false)]).grade(),
        trial(Vec::new()).with(|trial| trial.trace.offered = None).grade(),
    ];
    for (vote, verdicts) in [
        (vote(&[("tone", true, "kind")]), [Verdict::Pass, Verdict::Fail, Verdict::Error]),
        (vote(&[("tone", false, "rude")]), [Verdict::Fail, Verdict::Fail, Verdict::Error]),
        (unusable(), [Verdict::Unscored, Verdict::Fail, Verdict::Error]),
    ] {
        let judgment = judgment(vec![vote]);
        for (grade, verdict) in grades.iter().zip(verdicts) {
            let joined = rubric::join(grade.clone(), &judgment, rubric.question(true, &[]));
            assert_eq!(joined.verdict, verdict, "{} with {}", grade.verdict, judgment.verdict);
            assert_eq!(joined.judged.is_some(), verdict != Verdict::Error);
            assert_eq!(joined.trouble.is_some(), [Verdict::Unscored, Verdict::Error].contains(&verdict));
        }
    }
}

#[test]
fn assertions_with_weights_count_one_by_one_and_by_more_than_half_of_all_votes() {
    let rubric = rubric(BUILT_IN_TEMPLATE);
    let weight = |part| Some(Weight::new(1.0, part));
    let assertions = assertions(&[weight(0), weight(1)]);
    let join = |least, votes| {
        let trial = trial(Vec::new()).with(|trial| {
            (trial.case.assertions, trial.case.least_score) = (assertions.clone(), Some(least));
        });
        rubric::join(trial.grade(), &judgment(votes), rubric.question(false, &assertions))
    };
    let one = || vote(&[("assertion-1", true, "yes"), ("assertion-2", false, "no")]);
    for (least, votes, verdict, value, statuses) in [
        (0.5, vec![one()], Verdict::Pass, 0.5, [PASS, FAIL, FAIL]),
        (0.6, vec![one()], Verdict::Fail, 0.5, [PASS, FAIL, FAIL]),
        // Two of four votes are not more than half of all.
        (0.5, vec![one(), one(), unusable(), unusable()], Verdict::Unscored, 0.0, [UNKNOWN, UNKNOWN, UNKNOWN]),
        (0.5, vec![one(), one(), unusable()], Verdict::Pass, 0.5, [PASS, FAIL, FAIL]),
        (0.5, vec![unusable()], Verdict::Unscored, 0.0, [UNKNOWN, UNKNOWN, UNKNOWN]),
    ] {
        let grade = join(least, votes);
        assert_eq!((grade.verdict, grade.score.map(|score| score.value)), (verdict, Some(value)), "{grade:#?}");
        let of_judge: Vec<Status> = judged(&grade).into_iter().map(|(_, status, ..)| status).collect();
        assert_eq!(of_judge, statuses, "each once, and the whole");
        let weights: Vec<_> = grade.checks.iter().filter_map(|check| check.weight).collect();
        assert_eq!(weights, [Weight::new(1.0, 0), Weight::new(1.0, 1), Weight::new(0.0, 0)]);
        // An open verdict says what the judge lacked.
        let trouble = grade.trouble.map(|trouble| trouble.detail);
        assert_eq!(trouble.is_some_and(|detail| detail.contains("answer is missing")), verdict == Verdict::Unscored);
    }
    let pending = join(0.5, vec![unusable()]);
    assert_eq!(judged(&pending)[0], ("assertion", UNKNOWN, "It holds 1.", "the judge gave no usable answer"));
}

#[test]
fn by_the_rubric_too_few_votes_leave_a_score_open() {
    let rubric = rubric(BUILT_IN_TEMPLATE);
    let assertions = assertions(&[Some(Weight::new(1.0, 0))]);
    let join = |by_rubric, votes| {
        let trial = trial(Vec::new()).with(|trial| {
            (trial.case.assertions, trial.case.least_score) = (assertions.clone(), Some(0.0));
        });
        rubric::join(trial.grade(), &judgment(votes), rubric.question(by_rubric, &assertions)).verdict
    };
    assert_eq!((join(true, vec![unusable()]), join(false, vec![unusable()])), (Verdict::Unscored, Verdict::Pass));
    let failed = || vec![vote(&[("assertion-1", false, "no")])];
    assert_eq!((join(true, failed()), join(false, failed())), (Verdict::Pass, Verdict::Pass));
}

#[test]
fn a_trial_that_no_judge_answers_is_unscored_only_if_its_verdict_needs_one() {
    let trouble = || Trouble::new(TroubleKind::NotJudged, "no judge");
    let (plain, weighed) = (assertions(&[None]), assertions(&[Some(Weight::new(1.0, 0))]));
    let passed = || trial(Vec::new()).grade();
    let failed = || trial(vec![checks::triggers(false)]).grade();
    let open = || trial(Vec::new()).with(|trial| trial.case.assertions.clone_from(&weighed)).grade();
    for (grade, by_rubric, assertions, verdict) in [
        (passed(), false, &plain, Verdict::Unscored),
        (passed(), true, &weighed, Verdict::Unscored),
        (passed(), false, &weighed, Verdict::Pass),
        (failed(), true, &plain, Verdict::Fail),
        (open(), false, &weighed, Verdict::Unscored),
    ] {
        let grade = rubric::not_judged(grade, by_rubric, assertions, trouble());
        let detail = grade.trouble.as_ref().map(|trouble| trouble.detail.as_str());
        assert_eq!((grade.verdict, detail == Some("no judge")), (verdict, verdict == Verdict::Unscored));
    }
    assert_eq!(rubric::without_judge(passed(), &[]).verdict, Verdict::Pass);
    assert_eq!(rubric::without_judge(passed(), &plain).verdict, Verdict::Unscored);
    let unrecorded = rubric::not_recorded(passed());
    assert_eq!((unrecorded.verdict, unrecorded.judged), (Verdict::Pass, Some(Judged::NotRecorded)));
}

fn subject<'a>() -> JudgeSubject<'a> {
    JudgeSubject {
        skill_name: "tidy",
        skill_description: "Tidies up.",
        case_id: "it",
        should_trigger: true,
        prompt: "Tidy this.",
        system_prompt: Some("Be brief."),
        final_message: Some("Done."),
    }
}

#[test]
fn a_judge_is_asked_by_the_template_unless_only_assertions_count() {
    let rubric = rubric("Own template.\n\n- `tone`: kind\n");
    let list = assertions(&[None]);
    let prompt = |by_rubric, assertions: &[Assertion]| rubric.question(by_rubric, assertions).prompt(&subject());
    assert!(prompt(true, &[]).contains("Own template."));
    assert!(prompt(false, &[]).contains("Own template."), "without assertions there is only the rubric");
    let both = prompt(true, &list);
    assert!(both.contains("Own template.") && both.contains("- `assertion-1`: It holds 1."), "{both}");
    let only = prompt(false, &list);
    assert!(!only.contains("Own template.") && only.contains("- `assertion-1`: It holds 1."), "{only}");
    assert_eq!(rubric.schema(), BUILT_IN_SCHEMA);
}

#[test]
fn each_placeholder_of_a_template_has_its_value_and_a_fence_if_others_wrote_it() {
    for (name, value, is_fenced) in [
        ("skill_name", "tidy", true),
        ("skill_description", "Tidies up.", true),
        ("case_id", "it", false),
        ("should_trigger", "true", false),
        ("prompt", "Tidy this.", true),
        ("system_prompt", "Be brief.", true),
        ("final_message", "Done.", true),
    ] {
        let prompt = rubric(&format!("Begin.\nIt is [{{{{{name}}}}}].")).question(true, &[]).prompt(&subject());
        let shown = prompt.rsplit_once("It is [").expect("the template").1;
        let (start, end) = if is_fenced { (">", "</data-") } else { ("", "].") };
        assert!(shown.contains(&format!("{start}{value}{end}")), "{name}: {shown}");
    }
}

#[test]
fn the_assertions_follow_the_last_check_of_a_template_where_its_item_ends() {
    let prompt = |template: &str| {
        let prompt = rubric(template).question(true, &assertions(&[None])).prompt(&subject());
        prompt.split_once("\n\n").expect("what is said first").1.to_owned()
    };
    for (template, expected) in [
        ("- `tone`: kind\nAnswer.", "- `tone`: kind\n- `assertion-1`: It holds 1.\nAnswer."),
        ("- `tone`: kind\n  and calm\nAnswer.", "- `tone`: kind\n  and calm\n- `assertion-1`: It holds 1.\nAnswer."),
        ("- `tone`: kind\n \n  Answer.", "- `tone`: kind\n- `assertion-1`: It holds 1.\n \n  Answer."),
    ] {
        assert_eq!(prompt(template), expected);
    }
}

#[test]
fn a_judgment_is_of_its_template_schema_prompt_skill_and_evidence() {
    let rubric = rubric("Judge it.");
    let inputs = rubric.question(true, &[]).inputs("the prompt", b"the skill", b"the evidence");
    let expected = [
        ("evidence", "the evidence"),
        ("judge's prompt", "the prompt"),
        ("judge's schema", BUILT_IN_SCHEMA),
        ("judge's template", "Judge it."),
        ("skill", "the skill"),
    ];
    let expected = expected.map(|(part, content)| (part.to_owned(), digest(content.as_bytes())));
    assert_eq!(inputs.0.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_template_may_have_32_kib() {
    let read = |bytes| {
        let template = "x".repeat(bytes);
        Rubric::new((Path::new("judge.md"), &template), (Path::new("schema.json"), BUILT_IN_SCHEMA)).map(drop)
    };
    assert!(read(32 << 10).is_ok());
    let problem = read((32 << 10) + 1).expect_err("a problem");
    assert_eq!(problem.message, "the judge's template has 32769 bytes; at most 32768");
}
