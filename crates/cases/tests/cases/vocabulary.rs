//! Graders of several programs are one vocabulary: what asks for the same is the same check, in whatever words.

use proptest::prelude::*;
use serde_json::{Value, json};
use skill_evals_cases::cases::case::Case;
use skill_evals_testing::fixture::Fixture;

/// The checks of a case without their places, and what is unsupported.
fn asked(case: &Case) -> String {
    let checks = case.checks.iter().map(|check| format!("{} {:?}", check.kind.id, check.ask));
    let unsupported = case.unsupported.iter().map(|part| format!("unsupported: {}", part.what));
    checks.chain(unsupported).collect::<Vec<_>>().join(", ")
}

/// What a text or a file must be, as a grader of Vally, as an assertion of a scenario if there is one, and as a check of a task file.
fn graders() -> impl Strategy<Value = (Value, Option<Value>, Value)> {
    ("[a-z]{1,8}", any::<bool>(), any::<bool>(), 0..5).prop_map(|(word, negated, by_option, kind)| {
        let negative = if negated && !by_option { "not-" } else { "" };
        let name = |place: &str, how: &str| format!("{place}-{negative}{how}");
        let (vally, assertion, check) = match kind {
            0 => (
                json!({ "type": name("output", "contains"), "config": { "substring": word } }),
                Some(json!({ "type": "output_contains", "value": word })),
                json!({ "text": "final", "contains": word, "ignoreCase": true, "not": negated }),
            ),
            1 => (
                json!({ "type": name("output", "matches"), "config": { "pattern": word } }),
                None,
                json!({ "text": "final", "matches": word, "not": negated }),
            ),
            2 => (
                json!({ "type": name("file", "contains"), "config": { "path": "a.txt", "value": word } }),
                Some(json!({ "type": "file_contains", "path": "a.txt", "value": word })),
                json!({ "file": "a.txt", "contains": word, "not": negated }),
            ),
            3 => (
                json!({ "type": name("file", "matches"), "config": { "path": "./a.txt", "pattern": word } }),
                None,
                json!({ "file": "a.txt", "matches": word, "not": negated }),
            ),
            _ => (
                json!({ "type": name("file", "exists"), "config": { "path": "a.txt" } }),
                Some(json!({ "type": "file_exists", "path": "a.txt" })),
                json!({ "file": "a.txt", "exists": !negated }),
            ),
        };
        let mut vally = vally;
        if negated && by_option {
            vally["config"]["negate"] = json!(true);
        }
        let not = |kind: &str| if negated { kind.replacen('_', "_not_", 1) } else { kind.to_owned() };
        let assertion = assertion.map(|mut assertion| {
            assertion["type"] = json!(not(assertion["type"].as_str().unwrap_or_default()));
            assertion
        });
        (vally, assertion, check)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graders_that_ask_for_the_same_are_the_same_check((grader, assertion, check) in graders()) {
        let task = json!({ "prompt": "Tidy", "evalConfig": { "skill": "tidy", "shouldTrigger": true, "checks": [check] } });
        let stimulus = json!({ "name": "a", "prompt": "Tidy", "expect_activation": true, "graders": [grader] });
        let mut fixture = Fixture::new()
            .skill("tidy")
            .file("evals/tasks/ours.json", task.to_string())
            .file("evals/tidy/a.vally.yaml", json!({ "stimuli": [stimulus] }).to_string());
        let words = 2 + usize::from(assertion.is_some());
        if let Some(assertion) = assertion {
            let scenario = json!({ "name": "a", "prompt": "Tidy", "assertions": [assertion] });
            fixture = fixture.file("evals/tidy/b.eval.yaml", json!({ "scenarios": [scenario] }).to_string());
        }
        let catalog = fixture.catalog();
        let said: Vec<_> = catalog.cases_of("tidy").map(|found| asked(found.case().expect("a good case"))).collect();
        prop_assert_eq!(said.len(), words, "{:?}", said);
        prop_assert!(said.iter().all(|one| *one == said[0]), "{:?}", said);
    }
}
