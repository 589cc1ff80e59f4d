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

/// A word that a text or a file has or has not, and how that is written.
#[derive(Clone, Debug)]
struct Wanted {
    word: String,
    negated: bool,
    /// Whether Vally says so by an option.
    by_option: bool,
    kind: u8,
}

/// The name of a program and a grader in its words.
type Grader = (&'static str, Value);

fn waza(kind: &str, config: &Value) -> Grader {
    ("waza", json!({ "type": kind, "config": config }))
}

impl Wanted {
    fn infix(&self, name: &str, sign: &str) -> Value {
        json!(if self.negated { name.replacen(sign, &format!("{sign}not{sign}"), 1) } else { name.to_owned() })
    }

    fn before(&self, name: &str, sign: &str) -> Value {
        json!(if self.negated { format!("not{sign}{name}") } else { name.to_owned() })
    }

    fn one_of<'a>(&self, positive: &'a str, negative: &'a str) -> &'a str {
        if self.negated { negative } else { positive }
    }

    fn vally(&self, name: &str, mut config: Value) -> Grader {
        if self.negated && self.by_option {
            config["negate"] = json!(true);
        }
        ("vally", json!({ "type": if self.by_option { json!(name) } else { self.infix(name, "-") }, "config": config }))
    }

    /// The graders of texts, in the words of each program that has some.
    fn of_text(&self) -> Vec<Grader> {
        let (word, not) = (&self.word, self.negated);
        match self.kind {
            0 => vec![
                ("ours", json!({ "text": "final", "contains": word, "ignoreCase": true, "not": not })),
                self.vally("output-contains", json!({ "substring": word })),
                ("scenario", json!({ "type": self.infix("output_contains", "_"), "value": word })),
                ("promptfoo", json!({ "type": self.before("icontains", "-"), "value": word })),
                ("evals.json", json!({ "type": self.before("icontains", "_"), "value": word })),
            ],
            1 => vec![
                ("ours", json!({ "text": "final", "contains": word, "not": not })),
                self.vally("output-contains", json!({ "substring": word, "case_sensitive": true })),
                ("promptfoo", json!({ "type": self.before("contains", "-"), "value": word })),
                ("evals.json", json!({ "type": self.before("contains", "_"), "phrase": word })),
            ],
            2 => vec![
                ("ours", json!({ "text": "final", "matches": word, "not": not })),
                self.vally("output-matches", json!({ "pattern": word })),
                ("evals.json", json!({ "type": self.before("regex", "_"), "pattern": word })),
            ],
            3 => vec![
                self.vally("transcript-contains", json!({ "substring": word })),
                waza("text", &json!({ self.one_of("contains", "not_contains"): [word] })),
            ],
            _ => vec![
                self.vally("transcript-matches", json!({ "pattern": word })),
                waza("text", &json!({ self.one_of("regex_match", "regex_not_match"): [word] })),
            ],
        }
    }

    /// The same of files.
    fn of_file(&self) -> Vec<Grader> {
        let (word, not) = (&self.word, self.negated);
        match self.kind {
            5 => vec![
                ("ours", json!({ "file": "a.txt", "contains": word, "not": not })),
                self.vally("file-contains", json!({ "path": "a.txt", "value": word })),
                ("scenario", json!({ "type": self.infix("file_contains", "_"), "path": "a.txt", "value": word })),
                ("evals.json", json!({ "type": self.before("file_contains", "_"), "file": "a.txt", "value": word })),
            ],
            6 => vec![
                ("ours", json!({ "file": "a.txt", "matches": word, "not": not })),
                self.vally("file-matches", json!({ "path": "./a.txt", "pattern": word })),
                waza(
                    "file",
                    &json!({ "content_patterns": [{ "path": "a.txt", self.one_of("must_match", "must_not_match"): [word] }] }),
                ),
                ("evals.json", json!({ "type": self.before("file_matches", "_"), "path": "a.txt", "pattern": word })),
            ],
            _ => vec![
                ("ours", json!({ "file": "a.txt", "exists": !not })),
                self.vally("file-exists", json!({ "path": "a.txt" })),
                ("scenario", json!({ "type": self.infix("file_exists", "_"), "path": "a.txt" })),
                waza("file", &json!({ self.one_of("must_exist", "must_not_exist"): ["a.txt"] })),
                ("evals.json", json!({ "type": self.before("file_exists", "_"), "path": "a.txt" })),
            ],
        }
    }
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let all = ("[a-z]{1,8}", any::<bool>(), any::<bool>(), 0_u8..8);
    all.prop_map(|(word, negated, by_option, kind)| Wanted { word, negated, by_option, kind })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn graders_that_ask_for_the_same_are_the_same_check(wanted in wanted()) {
        let graders = if wanted.kind < 5 { wanted.of_text() } else { wanted.of_file() };
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
