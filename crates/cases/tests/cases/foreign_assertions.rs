//! Assertions of promptfoo and AgentV mean here what they mean there. The expected results are those of promptfoo itself, except
//! where a comment says otherwise.

use serde_json::{Value, json};
use skill_evals_cases::cases::case::Case;
use skill_evals_cases::checks::pattern::{Pattern, Style};
use skill_evals_evidence::trace::{AgentProgress, Mechanism, OfferedSkills, Trace, Usage};
use skill_evals_evidence::trial::outcome::Status;

use crate::grade::{Trial, tell, trial};
use skill_evals_testing::fixture::Fixture;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;

/// The case of a file with a test that has this assertion.
fn case(path: &str, assertion: &str) -> Case {
    let assertion: Value = serde_json::from_str(assertion).unwrap_or_else(|error| panic!("{error}: {assertion}"));
    let test = json!({ "vars": { "input": "Do it", "name": "Ada" }, "assert": [assertion] });
    let file = json!({ "prompts": ["{{input}}"], "tests": [test] });
    let catalog = Fixture::new().skill("greeting").skill("other").file(path, file.to_string()).catalog();
    let case =
        catalog.cases_of("greeting").next().expect("a case").case().unwrap_or_else(|problem| panic!("{problem:?}"));
    assert!(case.unsupported.is_empty(), "{:?}", case.unsupported);
    case.clone()
}

/// The status of a case in a trial that is changed first: the worst of its checks.
fn status(case: &Case, change: impl FnOnce(&mut Trial)) -> Status {
    let mut trial = trial(case.checks.clone());
    trial.case.output_schema = None;
    trial.case.activation = Some(case.default_activation);
    trial.trace = Trace::default();
    trial.trace.progress = AgentProgress::Done;
    trial.trace.loads_by = Mechanism::ReadSkillFile;
    trial.trace.usage = Some(Usage::default());
    let native = vec!["greeting".to_owned(), "other".to_owned()];
    trial.trace.offered = Some(OfferedSkills { native, ..OfferedSkills::default() });
    let grade = trial.with(change).grade();
    let has = |status| grade.checks.iter().any(|check| check.status == status);
    assert!(!grade.checks.is_empty(), "no check");
    if has(FAIL) {
        FAIL
    } else {
        grade.checks.iter().map(|check| check.status).find(|status| *status != PASS).unwrap_or(PASS)
    }
}

fn hold(path: &str, rows: &[(&str, &'static str, Status)]) {
    for (assertion, text, expected) in rows {
        let found = status(&case(path, assertion), |trial| trial.final_text = Some(text));
        assert_eq!(found, *expected, "{path} {assertion} of {text:?}");
    }
}

#[test]
fn texts_of_promptfoo_are_compared_exactly() {
    hold(
        "evals/greeting/promptfooconfig.json",
        &[
            (r#"{"type": "contains", "value": "Ada"}"#, "Ahoy, Ada!", PASS),
            (r#"{"type": "contains", "value": "ada"}"#, "Ahoy, Ada!", FAIL),
            (r#"{"type": "contains", "value": "{{name}}"}"#, "Ahoy, Ada!", PASS),
            (r#"{"type": "contains", "value": 5.0}"#, "a 5", PASS),
            (r#"{"type": "icontains", "value": "STRASSE"}"#, "straße", FAIL),
            (r#"{"type": "not-icontains", "value": "ADA"}"#, "Ahoy, Ada!", FAIL),
            // In lower case, these letters differ.
            (r#"{"type": "icontains", "value": "s"}"#, "ſ", FAIL),
            (r#"{"type": "icontains-any", "value": ["s", "t"]}"#, "ſ", FAIL),
            (r#"{"type": "not-icontains-all", "value": ["s", "t"]}"#, "ſt", PASS),
            (r#"{"type": "icontains-any", "value": ["STRAẞE", "t."]}"#, "straße", PASS),
            (r#"{"type": "icontains", "value": "K"}"#, "\u{212a}", PASS),
            (r#"{"type": "icontains", "value": "λόγος"}"#, "ΛΌΓΟΣ", PASS),
            (r#"{"type": "icontains", "value": "λόγος"}"#, "ΛΌΓΟΣΑ", FAIL),
            (r#"{"type": "contains-any", "value": ["a+b", "$5"]}"#, "a+b", PASS),
            (r#"{"type": "contains-any", "value": ["a+b", "$5"]}"#, "aab", FAIL),
            (r#"{"type": "contains-any", "value": "\"a, b\", c"}"#, "a", FAIL),
            (r#"{"type": "contains-all", "value": "a,b,,c"}"#, "c b a", PASS),
            (r#"{"type": "not-contains-all", "value": ["a", "b"]}"#, "a\nc", PASS),
            (r#"{"type": "not-contains-all", "value": ["a", "b"]}"#, "b\na", FAIL),
            (r#"{"type": "not-icontains-any", "value": ["A", "B"]}"#, "b", FAIL),
            (r#"{"type": "starts-with", "value": "Ahoy"}"#, " Ahoy", FAIL),
            (r#"{"type": "starts-with", "value": "a.b"}"#, "axb", FAIL),
            (r#"{"type": "equals", "value": "Ahoy"}"#, "Ahoy\n", FAIL),
            (r#"{"type": "equals", "value": "{\"a\": 1}"}"#, "{\"a\":1}", FAIL),
            (r#"{"type": "equals", "value": {"a": 1}}"#, " {\"a\":1.0}\n", PASS),
            (r#"{"type": "not-equals", "value": {"a": 1}}"#, "no JSON", PASS),
            (r#"{"type": "equals", "value": true}"#, "true", PASS),
            (r#"{"type": "is-json"}"#, "5", PASS),
            (r#"{"type": "is-json"}"#, "x {\"a\": 1}", FAIL),
            (r#"{"type": "contains-json"}"#, "x {\"a\": 1} y", PASS),
            (r#"{"type": "contains-json"}"#, "[{\"a\": 1}]", PASS),
            (r#"{"type": "contains-json"}"#, "[1, 2]", FAIL),
            // There, this is an object of YAML.
            (r#"{"type": "contains-json"}"#, "x {a: 1} y", FAIL),
            // There, an agent without an answer passes this.
            (r#"{"type": "not-contains", "value": "a"}"#, "", FAIL),
        ],
    );
}

#[test]
fn a_match_in_lower_case_has_its_place_in_the_text_as_written() {
    for (pattern, text, expected) in [
        ("ADA", "İ Ada, ada", vec!["Ada", "ada"]),
        ("i", "İi", vec!["İ", "i"]),
        ("\u{307} ⱥ", "İ Ⱥa", vec!["İ Ⱥ"]),
        ("ada", "", vec![]),
    ] {
        let search = Pattern { text: pattern.to_owned(), style: Style::Literal }.compile().expect("plain text");
        let found = search.matches(text, 5).expect("a search");
        assert_eq!(found.into_iter().map(|range| &text[range]).collect::<Vec<_>>(), expected, "{pattern} {text}");
    }
}

#[test]
fn texts_of_agentv_are_compared_without_the_space_around_them() {
    hold(
        "evals/greeting/suite.yaml",
        &[
            (r#"{"type": "starts-with", "value": " Ahoy"}"#, "\n Ahoy, Ada", PASS),
            (r#"{"type": "ends-with", "value": "Ada "}"#, "Ahoy, Ada\n", PASS),
            (r#"{"type": "equals", "value": " Ahoy "}"#, "Ahoy\n", PASS),
            (r#"{"type": "equals", "value": "Ahoy"}"#, "Ahoy, Ada", FAIL),
            (r#"{"type": "contains", "value": " Ahoy"}"#, "Ahoy", FAIL),
        ],
    );
}

#[test]
fn patterns_are_regular_expressions_of_javascript() {
    for (pattern, text, expected) in [
        (r"\d+", "٤٥", FAIL),
        (r"\d+", "45", PASS),
        (r"^\w+$", "café", FAIL),
        (r"\bcaf\b", "café", PASS),
        (r"(?=.*\bAda\b)Ahoy", "Ahoy, Ada", PASS),
        (r"^(?!.*\bAda\b)", "Ahoy, Ada", FAIL),
        (r"line.*two", "line\rtwo", FAIL),
        (r"line[^]*two", "line\ntwo", PASS),
        (r"[]", "a", FAIL),
        (r"\s", "\u{feff}", PASS),
        (r"\s", "\u{85}", FAIL),
        (r"\A", "xA", PASS),
        (r"\z", "x", FAIL),
        (r"\h", "h", PASS),
        (r"\p{L}", "p{L}", PASS),
        (r"a{,2}", "a{,2}", PASS),
        (r"^a{1,2}$", "aa", PASS),
        (r"[[]a", "[a", PASS),
        (r"[a&&b]", "&", PASS),
        (r"[a-z&&[^b]]", "x]", PASS),
        (r"[a-z&&[^b]]", "x", FAIL),
        (r"[\w-]+$", "-", PASS),
        (r"^[^\d]$", "٤", PASS),
        (r"(?<x>a)\k<x>", "aa", PASS),
        (r"(a)\1", "aa", PASS),
        (r"\/\-\.", "/-.", PASS),
        (r"\B", "K", FAIL),
        (r"one$", "one\ntwo", FAIL),
    ] {
        let assertion = json!({ "type": "regex", "value": pattern }).to_string();
        let case = case("evals/greeting/promptfooconfig.json", &assertion);
        assert_eq!(status(&case, |trial| trial.final_text = Some(text)), expected, "{pattern} {text:?}");
    }
}

#[test]
fn skills_cost_and_latency_of_promptfoo_are_checked() {
    for (assertion, calls, expected) in [
        (r#"{"type": "skill-used", "value": "greeting"}"#, &["greeting"][..], PASS),
        (r#"{"type": "skill-used", "value": "greeting"}"#, &["other"], FAIL),
        (r#"{"type": "skill-used", "value": ["greeting", "other"]}"#, &["greeting"], FAIL),
        (r#"{"type": "not-skill-used", "value": ["greeting", "other"]}"#, &["other"], FAIL),
        (r#"{"type": "not-skill-used", "value": ["greeting", "other"]}"#, &["third"], PASS),
        (r#"{"type": "not-skill-used", "value": {"pattern": "*"}}"#, &["third"], FAIL),
        (r#"{"type": "skill-used", "value": {"name": "other", "min": 0, "max": 0}}"#, &["other"], FAIL),
    ] {
        let found = status(&case("evals/greeting/promptfooconfig.json", assertion), |trial| {
            for call in calls {
                tell(&mut trial.trace, |told| told.activate(call, Mechanism::ReadSkillFile, "cat SKILL.md"));
            }
        });
        assert_eq!(found, expected, "{assertion} {calls:?}");
    }
    for (milliseconds, expected) in [(1500, PASS), (1501, FAIL)] {
        let case = case("evals/greeting/promptfooconfig.json", r#"{"type": "latency", "threshold": 1500}"#);
        assert_eq!(status(&case, |trial| trial.meta.ending.duration_ms = milliseconds), expected, "{milliseconds}");
    }
    for (path, assertion) in [
        ("evals/greeting/promptfooconfig.json", r#"{"type": "cost", "threshold": 0.5}"#),
        ("evals/greeting/suite.yaml", r#"{"type": "cost", "budget": 0.5}"#),
    ] {
        for (cost, expected) in [(0.5, PASS), (0.51, FAIL)] {
            let found = status(&case(path, assertion), |trial| {
                trial.trace.usage = Some(Usage { cost_usd: Some(cost), ..Usage::default() });
            });
            assert_eq!(found, expected, "{path} {cost}");
        }
    }
}
