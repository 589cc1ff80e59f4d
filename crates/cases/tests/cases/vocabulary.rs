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

/// A file with a case that has this grader, in the words of a program: which, where the file is, and its content.
type Words = (&'static str, &'static str, fn(&Value) -> Value);

/// The programs. Each of their cases expects that the skill triggers.
const PROGRAMS: [Words; 6] = [
    (
        "ours",
        "evals/tasks/ours.json",
        |check| json!({ "prompt": "Tidy", "evalConfig": { "skill": "tidy", "shouldTrigger": true, "checks": [check] } }),
    ),
    (
        "vally",
        "evals/tidy/a.vally.yaml",
        |grader| json!({ "stimuli": [{ "name": "a", "prompt": "Tidy", "expect_activation": true, "graders": [grader] }] }),
    ),
    (
        "scenario",
        "evals/tidy/b.eval.yaml",
        |assertion| json!({ "scenarios": [{ "name": "a", "prompt": "Tidy", "assertions": [assertion] }] }),
    ),
    (
        "waza",
        "evals/tidy/tasks/a.yaml",
        |grader| json!({ "id": "a", "inputs": { "prompt": "Tidy" }, "expected": { "should_trigger": true }, "graders": [grader] }),
    ),
    ("promptfoo", "evals/tidy/promptfooconfig.yaml", |assertion| {
        let used = json!({ "type": "skill-used", "value": "tidy" });
        json!({ "prompts": ["Tidy"], "tests": [{ "assert": [used, assertion] }] })
    }),
    (
        "evals.json",
        "evals/tidy/evals.json",
        |assertion| json!([{ "id": 1, "prompt": "Tidy", "should_trigger": true, "assertions": [assertion] }]),
    ),
];

/// What a text or a file must be, in the words of each program that has some for it.
fn graders() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    ("[a-z]{1,8}", any::<bool>(), any::<bool>(), 0..8).prop_map(|(word, negated, by_option, kind)| {
        let not = |sign: &str| if negated { format!("{sign}not{sign}") } else { sign.to_owned() };
        let infix = |name: &str, sign: &str| json!(name.replacen(sign, &not(sign), 1));
        let before = |name: &str, sign: &str| json!(if negated { format!("not{sign}{name}") } else { name.to_owned() });
        let vally = |name: &str, mut config: Value| {
            if negated && by_option {
                config["negate"] = json!(true);
            }
            ("vally", json!({ "type": if by_option { json!(name) } else { infix(name, "-") }, "config": config }))
        };
        let waza = |kind: &str, config: Value| ("waza", json!({ "type": kind, "config": config }));
        let ours = |check: Value| ("ours", check);
        match kind {
            0 => vec![
                ours(json!({ "text": "final", "contains": word, "ignoreCase": true, "not": negated })),
                vally("output-contains", json!({ "substring": word })),
                ("scenario", json!({ "type": infix("output_contains", "_"), "value": word })),
                ("promptfoo", json!({ "type": before("icontains", "-"), "value": word })),
                ("evals.json", json!({ "type": before("icontains", "_"), "value": word })),
            ],
            1 => vec![
                ours(json!({ "text": "final", "contains": word, "not": negated })),
                vally("output-contains", json!({ "substring": word, "case_sensitive": true })),
                ("promptfoo", json!({ "type": before("contains", "-"), "value": word })),
                ("evals.json", json!({ "type": before("contains", "_"), "phrase": word })),
            ],
            2 => vec![
                ours(json!({ "text": "final", "matches": word, "not": negated })),
                vally("output-matches", json!({ "pattern": word })),
                ("evals.json", json!({ "type": before("regex", "_"), "pattern": word })),
            ],
            3 => vec![
                vally("transcript-contains", json!({ "substring": word })),
                waza("text", json!({ if negated { "not_contains" } else { "contains" }: [word] })),
            ],
            4 => vec![
                vally("transcript-matches", json!({ "pattern": word })),
                waza("text", json!({ if negated { "regex_not_match" } else { "regex_match" }: [word] })),
            ],
            5 => vec![
                ours(json!({ "file": "a.txt", "contains": word, "not": negated })),
                vally("file-contains", json!({ "path": "a.txt", "value": word })),
                ("scenario", json!({ "type": infix("file_contains", "_"), "path": "a.txt", "value": word })),
                ("evals.json", json!({ "type": before("file_contains", "_"), "file": "a.txt", "value": word })),
            ],
            6 => vec![
                ours(json!({ "file": "a.txt", "matches": word, "not": negated })),
                vally("file-matches", json!({ "path": "./a.txt", "pattern": word })),
                waza("file", {
                    let pattern =
                        json!({ "path": "a.txt", if negated { "must_not_match" } else { "must_match" }: [word] });
                    json!({ "content_patterns": [pattern] })
                }),
                ("evals.json", json!({ "type": before("file_matches", "_"), "path": "a.txt", "pattern": word })),
            ],
            _ => vec![
                ours(json!({ "file": "a.txt", "exists": !negated })),
                vally("file-exists", json!({ "path": "a.txt" })),
                ("scenario", json!({ "type": infix("file_exists", "_"), "path": "a.txt" })),
                waza("file", json!({ if negated { "must_not_exist" } else { "must_exist" }: ["a.txt"] })),
                ("evals.json", json!({ "type": before("file_exists", "_"), "path": "a.txt" })),
            ],
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graders_that_ask_for_the_same_are_the_same_check(graders in graders()) {
        let spec = json!({ "config": { "trials_per_task": 1 }, "skill": "tidy", "tasks": ["tasks/*.yaml"] });
        let has = |program: &str| graders.iter().any(|(known, _)| *known == program);
        let mut fixture = Fixture::new().skill("tidy");
        if has("waza") {
            fixture = fixture.file("evals/tidy/eval.yaml", spec.to_string());
        }
        for (program, grader) in &graders {
            let (_, path, file) = PROGRAMS.iter().find(|(known, ..)| known == program).expect("a program");
            fixture = fixture.file(path, file(grader).to_string());
        }
        let catalog = fixture.catalog();
        let said: Vec<_> = catalog.cases_of("tidy").map(|found| asked(found.case().expect("a good case"))).collect();
        prop_assert_eq!(said.len(), graders.len(), "{:?}", said);
        prop_assert!(said.iter().all(|one| *one == said[0]), "{:?} {:?}", graders, said);
    }
}
