//! Whether a file that no format claims holds cases after all, and of which format they nearly are.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::cases::case::document::{Document, Node, NodeEntry, NodeValue, Syntax};
use crate::cases::case::evals_json::list_keys;
use crate::cases::case::results::{is_result, plain};
use crate::cases::case::{ForeignFiles, foreign_formats};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// Keys of what an agent is asked, in lower case without `_`.
const PROMPTS: [&str; 17] = [
    "prompt",
    "prompts",
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

/// How deep in a file a list of cases is searched.
const MAX_DEPTH: usize = 3;

/// The problem of a file that holds cases which nobody reads; `None` if it holds none.
pub(super) fn unread(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
        let message = "this file looks like a case and is not read: no file next to it says what is expected";
        let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message);
        let help = "docs/formats.md lists the formats whose cases are directories; if it is no case, rename it";
        return Some(problem.help(help));
    }
    let text = String::from_utf8_lossy(bytes);
    let separator = path.extension().and_then(OsStr::to_str).and_then(separator);
    let (place, prompt, keys) = match (Syntax::named(path), separator) {
        (Some(syntax), _) => {
            let mut document = Document::new(path, bytes, syntax);
            let keys: HashSet<String> = assignments(&text).collect();
            let Some(root) = document.root() else {
                // Only a value could show that it holds no cases.
                return prompt_of(&keys).and_then(|_| document.problems.into_vec().into_iter().next());
            };
            if let Some(what) = empty_list(&root) {
                let message = format!("this file has no cases: {what} is empty");
                let place = document.place(root.range.start..root.range.start + 1);
                return Some(
                    Diagnostic::new(Code::UnreadCases, place, message).help("write cases, or remove the file"),
                );
            }
            let (case, prompt) = case_in(&root, MAX_DEPTH, false)?;
            (document.place(case.range.start..case.range.start + 1), prompt.to_owned(), keys)
        }
        (None, Some(separator)) => {
            let header = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
            let columns = header.split(separator).map(|cell| cell.trim_matches(['"', ' ', '\r']).to_owned());
            let columns: HashSet<String> = columns.collect();
            (SourceLocation::in_text(path, bytes, 0..header.len()), prompt_of(&columns)?, columns)
        }
        (None, None) => {
            let keys = assignments(&text).collect();
            (SourceLocation::file(path), prompt_of(&keys)?, keys)
        }
    };
    let (format, lacks) = nearest_format(path, &keys)?;
    let message = format!("this file looks like cases and is not read: for the nearest format, `{format}`, {lacks}");
    let help = format!("a prompt seems to be at `{prompt}`; docs/formats.md lists the keys of each format");
    Some(Diagnostic::new(Code::UnreadCases, place, message).help(help))
}

/// What separates the cells of a table with this ending.
fn separator(ending: &str) -> Option<char> {
    match ending.to_ascii_lowercase().as_str() {
        "csv" => Some(','),
        "tsv" => Some('\t'),
        _ => None,
    }
}

/// The list of cases without any that a file is or has, if its name is one of lists of cases.
fn empty_list(root: &Node) -> Option<String> {
    let lists = || list_keys().filter_map(|key| Some((key, root.get(key)?.elements()?)));
    if root.elements().is_some_and(<[Node]>::is_empty) {
        return Some("its list".to_owned());
    }
    let (key, _) = lists().next().filter(|_| lists().all(|(_, list)| list.is_empty()))?;
    Some(format!("`{key}`"))
}

/// The format that has most of these keys, and what a file lacks to be one of it. `None` if it is known to be of a format, whose reader
/// has found that it is not about skills.
fn nearest_format(path: &Path, keys: &HashSet<String>) -> Option<(&'static str, String)> {
    let shared = |of_format: &[&str]| of_format.iter().filter(|key| keys.contains(**key)).count();
    // A format whose files all have one name has no file of another.
    let may_be =
        |files: &ForeignFiles| !files.keys.is_empty() && (files.have_many_names() || files.are_nearly_named(path));
    let formats = foreign_formats().filter(|(_, files)| may_be(files));
    let (format, files) = formats.max_by_key(|(_, files)| {
        let (shared, all) = (shared(files.keys), files.keys.len());
        let is_whole = shared == all && all > 1;
        (is_whole, files.are_nearly_named(path), files.have_ending_of(path), shared, std::cmp::Reverse(all))
    })?;
    let lacks = match files.keys.iter().find(|key| !keys.contains(**key)) {
        _ if !files.have_ending_of(path) => format!("its name must end in {}", files.endings().join(" or ")),
        Some(missing) => format!("the key `{missing}` is missing"),
        None if files.keys.len() == 1 => "no known key says what is expected".to_owned(),
        None => return None,
    };
    Some((format.name, lacks))
}

/// The first object in a value that asks for something and expects something, and the key of what it asks.
fn case_in(node: &Node, depth: usize, is_in_list: bool) -> Option<(&Node, &str)> {
    if is_result(node) {
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

fn is_prompt(key: &str) -> bool {
    PROMPTS.contains(&&*plain(key))
}

fn is_expectation(key: &str) -> bool {
    let key = plain(key);
    EXPECTATIONS.iter().any(|start| key.starts_with(start))
}

/// The key of a prompt, if another one says what is expected.
fn prompt_of(keys: &HashSet<String>) -> Option<String> {
    let prompt = keys.iter().filter(|key| is_prompt(key)).min()?;
    keys.iter().any(|key| is_expectation(key)).then(|| prompt.clone())
}

/// The words before `:` or `=` at the starts of lines and of what braces, brackets and commas part, in a text of any syntax.
fn assignments(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(['\n', '\r', '{', '[', ',']).filter_map(|part| {
        let (key, _) = part.split_once([':', '='])?;
        let key = key.trim_matches(|c: char| !c.is_alphanumeric());
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        is_key.then(|| key.to_owned())
    })
}
