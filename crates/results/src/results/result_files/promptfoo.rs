//! promptfoo: the JSON of `promptfoo eval --output`. Each provider is a side; with several prompts, each provider with a prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::endings::{PROMPTFOO, is_of_agent};
use super::{ResultFormat, ResultRow, TrialResult, document, stated};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "promptfoo", keys: &["evalId", "results"], with: None, mean_of_cases: false, read };

/// The longest name of a case that is shown whole, in characters.
const LONGEST: usize = 60;

/// The `failureReason` of a test that did not fail, of one whose assertion failed, and of a provider or an assertion that threw.
const NONE: u64 = 0;
const FAILED: u64 = 1;
const THREW: u64 = 2;

#[derive(Deserialize)]
struct Output {
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    results: Vec<TestResult>,
    #[serde(default)]
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Stats {
    successes: u64,
    failures: u64,
    #[serde(default)]
    errors: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TestResult {
    success: bool,
    #[serde(default)]
    failure_reason: Option<u64>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    grading_result: Option<GradingResult>,
    provider: Provider,
    #[serde(default)]
    prompt_idx: u64,
    #[serde(default)]
    vars: Vars,
    #[serde(default)]
    test_case: TestCase,
}

#[derive(Deserialize)]
struct GradingResult {
    #[serde(default)]
    pass: Option<bool>,
}

#[derive(Deserialize)]
struct Provider {
    id: String,
    #[serde(default)]
    label: Option<String>,
}

#[derive(Default, Deserialize)]
struct TestCase {
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    vars: Vars,
}

/// Sorted: the order of keys makes no other test.
type Vars = Option<BTreeMap<String, Value>>;

impl TestResult {
    fn provider(&self) -> &str {
        self.provider.label.as_deref().filter(|label| !label.is_empty()).unwrap_or(&self.provider.id)
    }

    fn vars(&self) -> String {
        let vars = self.test_case.vars.as_ref().or(self.vars.as_ref()).filter(|vars| !vars.is_empty());
        vars.map(|vars| serde_json::json!(vars).to_string()).unwrap_or_default()
    }

    fn description(&self) -> &str {
        self.test_case.description.as_deref().unwrap_or_default()
    }

    fn result(&self, case: &str) -> Result<TrialResult, String> {
        let is_own = self.error.as_deref().is_some_and(|error| is_of_agent(error, PROMPTFOO));
        let is_graded = self.grading_result.as_ref().is_some_and(|graded| graded.pass == Some(false));
        match (self.success, self.failure_reason) {
            (success, Some(THREW)) => Ok(if is_own { TrialResult::of(success) } else { TrialResult::Error }),
            (true, None | Some(NONE | FAILED)) => Ok(TrialResult::Pass),
            (false, Some(FAILED)) => Ok(TrialResult::Fail),
            // Older versions say no reason. Without a grade, nothing shows that the test came to one.
            (false, None | Some(NONE)) => Ok(if is_graded || is_own { TrialResult::Fail } else { TrialResult::Error }),
            (_, Some(reason)) => {
                Err(format!("{case} has the `failureReason` {reason}, which is not known; known: 0, 1, 2"))
            }
        }
    }
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let Results { results: mut tests, stats } = document::<Output>(bytes)?.results;
    stated("results", stats.map(|stats| stats.successes + stats.failures + stats.errors), tests.len())?;
    // The results are in the order in which they came.
    tests.sort_by_key(|test| test.prompt_idx);
    // A repeated test has the same description and variables. A description may stand for several tests.
    let mut vars: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut prompts: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for test in &tests {
        vars.entry(test.description()).or_default().insert(test.vars());
        prompts.entry(test.provider()).or_default().insert(test.prompt_idx);
    }
    let row = |test: &TestResult| {
        let described = test.description();
        let case = match (described.is_empty(), vars[described].len()) {
            (true, _) => test.vars(),
            (false, 1) => described.to_owned(),
            (false, _) => format!("{described} {}", test.vars()),
        };
        let provider = test.provider();
        let side = match prompts[provider].len() {
            1 => provider.to_owned(),
            _ => format!("{provider} prompt {}", test.prompt_idx),
        };
        let result = test.result(&case)?;
        // The headline of promptfoo is the share that passed, of errors too.
        let score = (result == TrialResult::Error).then_some(0.0);
        Ok(ResultRow::trial(short(case), &side, result, score))
    };
    tests.iter().map(row).collect()
}

/// A name that fits a line and is no other's.
fn short(name: String) -> String {
    if name.chars().count() <= LONGEST {
        return name;
    }
    let start: String = name.chars().take(LONGEST - 10).collect();
    format!("{start}… {}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}
