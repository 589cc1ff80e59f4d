//! Whether a file that no format claims holds cases after all, and of which format they nearly are.

use std::path::Path;

use crate::cases::case::document::{Document, Node, NodeEntry, NodeValue, Syntax};
use crate::cases::case::{foreign_formats, has_key};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// Keys of what an agent is asked, in lower case without `_`.
const PROMPTS: [&str; 16] = [
    "prompt",
    "userprompt",
    "query",
    "question",
    "input",
    "userinput",
    "task",
    "instruction",
    "instructions",
    "message",
    "usermessage",
    "messages",
    "request",
    "scenario",
    "text",
    "utterance",
];

/// Those of them that are prompts only in a list of cases.
const WEAK: [&str; 5] = ["message", "messages", "request", "scenario", "text"];

/// How the keys of what is expected of it begin.
const EXPECTATIONS: [&str; 20] = [
    "accept",
    "answer",
    "assert",
    "check",
    "criteria",
    "expect",
    "forbid",
    "golden",
    "grad",
    "groundtruth",
    "ideal",
    "judge",
    "must",
    "mustnot",
    "pass",
    "reference",
    "rubric",
    "should",
    "success",
    "trigger",
];

/// The keys of results, which have prompts too.
const RESULTS: [&str; 10] = [
    "actual",
    "actualoutput",
    "durationms",
    "grading",
    "passed",
    "response",
    "runid",
    "score",
    "totaltokens",
    "transcript",
];

/// How deep in a file a list of cases is searched.
const MAX_DEPTH: usize = 3;

/// The problem of a file that holds cases which nobody reads; `None` if it holds none.
pub(super) fn unread(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
        let message = "this file looks like a case and is not read: no file next to it says what is expected";
        let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message);
        return Some(problem.help("docs/formats.md lists the formats whose cases are directories"));
    }
    let text = String::from_utf8_lossy(bytes);
    let (place, key) = match Syntax::named(path) {
        Some(syntax) => {
            let mut document = Document::new(path, bytes, syntax);
            let Some(root) = document.root() else {
                // Only a value could show that it holds no cases.
                return looks_like_cases(&text).then(|| document.problems.into_vec().into_iter().next()).flatten();
            };
            let (case, key) = case_in(&root, MAX_DEPTH, false)?;
            (document.place(case.range.start..case.range.start + 1), key.to_owned())
        }
        None if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) => {
            let header = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
            let columns: Vec<&str> = header.split(',').map(|cell| cell.trim_matches(['"', ' ', '\r'])).collect();
            let prompt = columns.iter().find(|column| is_prompt(column))?;
            columns.iter().find(|column| is_expectation(column))?;
            (SourceLocation::in_text(path, bytes, 0..header.len()), (*prompt).to_owned())
        }
        None => (
            SourceLocation::file(path),
            assignments(&text).find(|key| is_prompt(key)).filter(|_| looks_like_cases(&text))?,
        ),
    };
    let (format, missing) = nearest_format(path, &text)?;
    let lacks = match missing {
        Some(missing) => format!("the key `{missing}` is missing"),
        None => "no known key says what is expected".to_owned(),
    };
    let message = format!("this file looks like cases and is not read: for the nearest format, `{format}`, {lacks}");
    let help = format!("a prompt seems to be at `{key}`; docs/formats.md lists the keys of each format");
    Some(Diagnostic::new(Code::UnreadCases, place, message).help(help))
}

/// The format with most keys of `text`, and the first key of it that the text lacks. `None` if it is known to be of a format, whose
/// reader has found that it is not about skills.
fn nearest_format(path: &Path, text: &str) -> Option<(&'static str, Option<&'static str>)> {
    let shared = |keys: &[&str]| keys.iter().filter(|key| has_key(text, key)).count();
    let formats = foreign_formats().filter(|(_, files)| !files.keys.is_empty());
    let nearest = formats
        .max_by_key(|(_, files)| (files.have_ending_of(path), shared(files.keys), std::cmp::Reverse(files.keys.len())));
    let (format, files) = nearest?;
    let missing = files.keys.iter().copied().find(|key| !has_key(text, key));
    (missing.is_some() || files.keys.len() == 1).then_some((format.name, missing))
}

/// The first object in a value that asks for something and expects something, and the key of what it asks.
fn case_in(node: &Node, depth: usize, is_in_list: bool) -> Option<(&Node, &str)> {
    if node.entries().iter().any(|entry| RESULTS.contains(&&*plain(&entry.key))) {
        return None;
    }
    // Some formats have the prompt in an object of its own.
    let inner = node.entries().iter().filter(|entry| entry.value.is_map()).flat_map(|entry| entry.value.entries());
    let prompt = node.entries().iter().chain(inner).find(|entry| {
        is_prompt(&entry.key) && is_filled(&entry.value) && (is_in_list || !WEAK.contains(&&*plain(&entry.key)))
    });
    let is_other = |prompt: &NodeEntry, entry: &NodeEntry| {
        entry.key != prompt.key && is_expectation(&entry.key) && is_filled(&entry.value)
    };
    if let Some(prompt) = prompt.filter(|prompt| node.entries().iter().any(|entry| is_other(prompt, entry))) {
        return Some((node, &prompt.key));
    }
    if depth == 0 {
        return None;
    }
    let in_lists = node.elements().unwrap_or_default().iter().map(|inner| (inner, true));
    let inner = in_lists.chain(node.entries().iter().map(|entry| (&entry.value, false)));
    inner.take(100).find_map(|(inner, is_in_list)| case_in(inner, depth - 1, is_in_list))
}

/// Whether a value says something.
fn is_filled(node: &Node) -> bool {
    match &node.value {
        NodeValue::Null => false,
        NodeValue::Flag(_) | NodeValue::Number(_) => true,
        NodeValue::Text(text) => !text.trim().is_empty(),
        NodeValue::List(elements) => !elements.is_empty(),
        NodeValue::Map(entries) => !entries.is_empty(),
    }
}

/// A key in lower case without what separates its words.
fn plain(key: &str) -> String {
    key.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn is_prompt(key: &str) -> bool {
    PROMPTS.contains(&&*plain(key))
}

fn is_expectation(key: &str) -> bool {
    let key = plain(key);
    EXPECTATIONS.iter().any(|start| key.starts_with(start))
}

/// Whether a text that may be broken has a key of a prompt and one of what is expected.
fn looks_like_cases(text: &str) -> bool {
    let has = |is: fn(&str) -> bool| assignments(text).any(|key| is(&key));
    has(is_prompt) && has(is_expectation)
}

/// The words before `:` or `=` at the starts of lines.
fn assignments(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().filter_map(|line| {
        let (key, _) = line.split_once([':', '='])?;
        let key = key.trim_matches(|c: char| !c.is_alphanumeric());
        key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)).then(|| key.to_owned())
    })
}
