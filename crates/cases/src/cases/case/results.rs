//! What programs store of trials, which has the prompts of cases and is none.

use crate::cases::case::document::{Node, NodeEntry, NodeValue};

/// The keys of results, in lower case without what separates their words.
const RESULTS: [&str; 9] =
    ["actual", "actualoutput", "durationms", "grading", "passed", "response", "runid", "totaltokens", "transcript"];

/// Whether an object is the result of a case, by its keys.
pub fn is_result(node: &Node) -> bool {
    let is_verdict = |entry: &NodeEntry| entry.key == "pass" && matches!(entry.value.value, NodeValue::Flag(_));
    node.entries().iter().any(|entry| RESULTS.contains(&&*plain(&entry.key)) || is_verdict(entry))
}

/// A key in lower case without what separates its words.
pub fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
