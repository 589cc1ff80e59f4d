//! Graders of waza mean here what they mean there, by a run of its own graders and by the rules of Go.

use serde_json::{Value, json};
use skill_evals_evidence::trace::{AgentProgress, Step, Trace};
use skill_evals_evidence::trial::outcome::Status;

use crate::grade::{tell, trial};
use skill_evals_testing::fixture::Fixture;

/// How a trial with this message ends by a `text` grader; `None` if the grader is unsupported.
fn passes(key: &str, value: &str, message: &'static str) -> Option<bool> {
    let spec = "name: x\nskill: greeting\nconfig:\n  trials_per_task: 1\ntasks: [a.yaml]\n";
    let config: Value = json!({ key: [value] });
    let task = json!({ "id": "a", "inputs": { "prompt": "Do it" }, "graders": [{ "type": "text", "config": config }] });
    let fixture = Fixture::new().skill("greeting").file("evals/greeting/eval.yaml", spec);
    let catalog = fixture.file("evals/greeting/a.yaml", task.to_string()).catalog();
    let case = catalog.cases_of("greeting").next().expect("a case").case().expect("no problem");
    if !case.unsupported.is_empty() {
        return None;
    }
    let mut trial = trial(case.checks.clone());
    trial.case.output_schema = None;
    trial.final_text = Some(message);
    trial.trace = Trace::default();
    trial.trace.progress = AgentProgress::Done;
    tell(&mut trial.trace, |told| told.push(Step::Message(message.to_owned())));
    Some(trial.grade().checks.iter().all(|check| check.status != Status::Fail))
}

#[test]
fn patterns_of_waza_are_regular_expressions_of_go() {
    for (pattern, message, expected) in [
        (r"\d+", "١٢", Some(false)),
        (r"\d+", "12", Some(true)),
        (r"^\w+$", "straße", Some(false)),
        (r"(?i)^\w$", "ſ", Some(false)),
        (r"\bcaf\b", "café", Some(true)),
        (r"\s", "a\u{a0}", Some(false)),
        (r"[\d-]", "١-", Some(true)),
        (r"[a&&b]", "&", Some(true)),
        (r"[a-z&&[^b]]", "c", Some(false)),
        (r"[[:alpha:]]$", "a", Some(true)),
        (r"[]a]$", "]", Some(true)),
        (r"(?i:ahoy)(?P<n>, )(?<m>a)", "Ahoy, a", Some(true)),
        (r"a+?b", "aab", Some(true)),
        (r"one$", "one\n", Some(false)),
        (r"(?=.*Ada)Ahoy", "Ahoy, Ada", None),
        (r"(?<!x)Ahoy", "Ahoy", None),
        (r"(w)\1", "ww", None),
        (r"\<", "a", None),
        (r"\b{start}A", "A", None),
        (r"(?x) a", "a", None),
        (r"a**", "a", None),
        (r"[a--b]", "a", None),
    ] {
        assert_eq!(passes("regex_match", pattern, message), expected, "{pattern} {message:?}");
        let opposite = expected.map(|passes| !passes);
        assert_eq!(passes("regex_not_match", pattern, message), opposite, "not {pattern} {message:?}");
    }
}

#[test]
fn texts_in_any_case_are_compared_in_lowercase() {
    for (text, message, expected) in [
        ("ADA", "Ahoy, Ada!", true),
        ("s", "ſ", false),
        ("ſ", "S", false),
        ("k", "\u{212a}", true),
        ("ς", "Σ", false),
        ("μ", "µ", false),
        ("i", "İ", true),
        ("a.s", "A.S", true),
        ("a.s", "axs", false),
    ] {
        assert_eq!(passes("contains", text, message), Some(expected), "{text} {message:?}");
        assert_eq!(passes("not_contains", text, message), Some(!expected), "not {text} {message:?}");
    }
}
