//! promptfoo: the JSON of `promptfoo eval --output`. Each provider is a side; with several prompts, each provider with a prompt.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::TrialResult::{self, Error};
use super::document::Part::{self, Any, Count, Flag, Name, Text};
use super::document::{Need, flag, part, said, text};
use super::{FORMAT, ResultFormat};

pub const PROMPTFOO: ResultFormat = ResultFormat {
    name: "promptfoo",
    keys: &["evalId", "results"],
    document: part!({ Must results {
        Must results [{
            Must success Flag, May failureReason Count, May error Text, May gradingResult { May pass Flag },
            Must provider { Must id Text, May label Name }, NotNull promptIdx Count, May vars (Must Any),
            NotNull testCase { May description Text, May vars (Must Any) }
        }],
        May stats { Must successes Count, Must failures Count, NotNull errors Count }
    } }),
    prepare: promptfoo,
    stated: Some((
        "results",
        &["/results/stats/successes", "/results/stats/failures", "/results/stats/errors"],
        "/results/results",
    )),
    trials: &[("", "/results/results/*")],
    // The headline of promptfoo is the share that passed, of errors too.
    scores_errors: true,
    result: |test| Ok(Some(promptfoo_result(test))),
    ..FORMAT
};

/// The `failureReason` of a test that did not fail, of one whose assertion failed, and of a provider or an assertion that threw. Older
/// versions say none: without a grade, nothing shows that the test came to one. A provider's own timeout is another error.
fn promptfoo_result(test: &Value) -> TrialResult {
    let (success, graded) = (flag(test, "/success") == Some(true), flag(test, "/gradingResult/pass"));
    let is_own = said(test, "/error").is_some_and(|error| error.starts_with("Evaluation timed out after "));
    match test["failureReason"].as_u64() {
        Some(2) if !is_own => Error,
        None | Some(0) if !success && !is_own && graded != Some(false) => Error,
        _ => TrialResult::of(success),
    }
}

/// Names the test and the side of each result. A repeated test has the same description and variables; a description may stand for
/// several tests.
fn promptfoo(document: &mut Value) -> Result<(), String> {
    let prompt_of = |test: &Value| test["promptIdx"].as_u64().unwrap_or_default();
    let names = |test: &Value| {
        let of_test = test.pointer("/testCase/vars").filter(|vars| vars.is_object()).unwrap_or(&test["vars"]);
        let vars = of_test.as_object().filter(|vars| !vars.is_empty()).map(|_| of_test.to_string()).unwrap_or_default();
        let described = text(&[test], &["/testCase/description"]);
        [described, vars, text(&[test], &["/provider/label", "/provider/id"]), prompt_of(test).to_string()]
    };
    let Some(tests) = document.pointer_mut("/results/results").and_then(Value::as_array_mut) else { return Ok(()) };
    // They are in the order in which they came.
    tests.sort_by_key(prompt_of);
    let (mut vars_of, mut prompts_of) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for [described, vars, provider, prompt] in tests.iter().map(names) {
        vars_of.entry(described).or_default().insert(vars);
        prompts_of.entry(provider).or_default().insert(prompt);
    }
    for test in tests {
        let [described, vars, provider, prompt] = names(test);
        let case = match vars_of[&described].len() {
            _ if described.is_empty() => vars,
            1 => described,
            _ => format!("{described} {vars}"),
        };
        if let Some(reason) = test["failureReason"].as_u64().filter(|reason| *reason > 2) {
            return Err(format!("{case} has the `failureReason` {reason}, which is not known; known: 0, 1, 2"));
        }
        let side = if prompts_of[&provider].len() == 1 { provider } else { format!("{provider} prompt {prompt}") };
        (test["case"], test["side"]) = (short(case).into(), side.into());
    }
    Ok(())
}

/// A name of at most 60 characters that is no other's.
fn short(name: String) -> String {
    if name.chars().count() <= 60 {
        return name;
    }
    let start: String = name.chars().take(50).collect();
    format!("{start}… {}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}
