//! Graders of a spec or a task as checks and assertions.

use super::messages::message;
use super::trigger_claim::TriggerClaim;
use super::{Document, assertion, behavior, pattern};
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::{Assertion, Case, ForeignFile};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{TextTest, TextWant};
use crate::checks::{self, FileWant};
use crate::skill::slug;
use crate::text::diagnostic::Code;
use crate::text::relative_path::RelativePath;

/// The key of the list.
pub(super) const KEY: &str = "graders";

/// The graders that waza has.
const KNOWN: [&str; 13] = [
    "action_sequence",
    "behavior",
    "code",
    "diff",
    "file",
    "json_schema",
    "program",
    "prompt",
    "skill_invocation",
    "text",
    "tool_calls",
    "tool_constraint",
    "trigger",
];

/// The keys of the grader `text`: the meaning of each text, and whether it must not be there.
const TEXTS: [(&str, Style, bool); 6] = [
    ("contains", Style::Literal, false),
    ("not_contains", Style::Literal, true),
    ("contains_cs", Style::Verbatim, false),
    ("not_contains_cs", Style::Verbatim, true),
    ("regex_match", Style::Exact, false),
    ("regex_not_match", Style::Exact, true),
];

/// A grader while it is read.
struct GraderEntry<'n> {
    node: &'n Node,
    config: &'n Node,
}

/// Adds the checks.
pub(super) fn read(
    document: &mut Document<'_>,
    object: &Node,
    file: &ForeignFile<'_>,
    case: &mut Case,
    triggering: &mut TriggerClaim,
) {
    for node in document.list(object, KEY).unwrap_or_default() {
        let Some(kind) = document.required_text(node, "type") else { continue };
        let nothing = Node { value: NodeValue::Map(Vec::new()), range: node.range.clone() };
        let grader = GraderEntry { node, config: document.map(node, "config").unwrap_or(&nothing) };
        let before = case.checks.len();
        // The weight is that of a score, by which no run passes or fails.
        let notes = ["type", "name", "description", "weight", "model"];
        case.unsupported.extend(document.unsupported_keys(node, &["config", "assertions"], &notes));
        match kind {
            "text" => texts_of(document, &grader, case),
            "file" => files(document, &grader, case),
            "diff" => differences(document, &grader, file, case),
            "code" => assertions(document, &grader, case),
            "behavior" => behavior::read(document, grader.config, case),
            "tool_calls" => behavior::read_calls(document, grader.config, case),
            "tool_constraint" => behavior::read_constraints(document, grader.config, case),
            "skill_invocation" => skills(document, &grader, case, triggering),
            "trigger" => trigger(document, &grader, file, case, triggering),
            "prompt" => prompt(document, &grader, case),
            _ => {
                let written = node.get("type").unwrap_or(node);
                case.unsupported.extend(document.unsupported_grader("grader", kind, written, &KNOWN));
            }
        }
        document.locate(KEY, node, &mut case.checks[before..]);
    }
}

fn texts_of(document: &mut Document<'_>, grader: &GraderEntry<'_>, case: &mut Case) {
    case.unsupported.extend(document.unsupported_keys(grader.config, &TEXTS.map(|(key, ..)| key), &[]));
    for (key, style, negated) in TEXTS {
        for written in document.list(grader.config, key).unwrap_or_default() {
            let pattern = text_or_pattern(document, key, style, written, case);
            case.checks.extend(pattern.map(|pattern| message(pattern, negated)));
        }
    }
}

fn text_or_pattern(
    document: &mut Document<'_>,
    key: &str,
    style: Style,
    written: &Node,
    case: &mut Case,
) -> Option<Pattern> {
    match style {
        Style::Exact => pattern::read(document, key, written, case),
        _ if written.text().is_none() => {
            document.wrong_type(&format!("an element of `{key}`"), "a string", written);
            None
        }
        _ => Some(Pattern { text: written.text()?.to_owned(), style }),
    }
}

fn files(document: &mut Document<'_>, grader: &GraderEntry<'_>, case: &mut Case) {
    let known = ["must_exist", "must_not_exist", "content_patterns"];
    case.unsupported.extend(document.unsupported_keys(grader.config, &known, &[]));
    for (key, should) in [("must_exist", true), ("must_not_exist", false)] {
        for path in document.list(grader.config, key).unwrap_or_default() {
            file(document, path, FileWant::Exists(should), case);
        }
    }
    for content in document.list(grader.config, "content_patterns").unwrap_or_default() {
        let keys = [("must_match", false), ("must_not_match", true)];
        case.unsupported.extend(document.unsupported_keys(content, &["path", keys[0].0, keys[1].0], &[]));
        let Some(path) = document.required(content, "path") else { continue };
        for (key, negated) in keys {
            for written in document.list(content, key).unwrap_or_default() {
                let Some(pattern) = pattern::read(document, key, written, case) else { continue };
                let test = TextTest { negated, ..TextTest::new(TextWant::Pattern(pattern)) };
                file(document, path, FileWant::Content(test), case);
            }
        }
    }
}

/// Adds a check of the file at a path, which is never a glob there.
fn file(document: &mut Document<'_>, path: &Node, want: FileWant, case: &mut Case) {
    match path.text() {
        Some(text) if text.contains(['*', '?', '[', '{']) => {
            case.unsupported.push(document.unsupported("a path with a sign of globs", path));
        }
        Some(text) => {
            let check = checks::file(text, want);
            case.checks.extend(document.check(path, check));
        }
        None => document.wrong_type("a path", "a string", path),
    }
}

fn differences(document: &mut Document<'_>, grader: &GraderEntry<'_>, of: &ForeignFile<'_>, case: &mut Case) {
    case.unsupported.extend(document.unsupported_keys(grader.config, &["expected_files", "context_dir"], &[]));
    let folder = document.text(grader.config, "context_dir").map(|folder| format!("{folder}/")).unwrap_or_default();
    for expected in document.list(grader.config, "expected_files").unwrap_or_default() {
        case.unsupported.extend(document.unsupported_keys(expected, &["path", "snapshot", "contains"], &[]));
        let Some(path) = document.required(expected, "path") else { continue };
        file(document, path, FileWant::Exists(true), case);
        if let Some(written) = expected.get("snapshot") {
            let snapshot = document.text(expected, "snapshot").map(|text| format!("{folder}{text}"));
            match snapshot.map(|text| RelativePath::parse(&text)) {
                Some(Ok(snapshot)) => file(document, path, FileWant::Snapshot(of.named_file(&snapshot)), case),
                Some(Err(why)) => {
                    let message = format!("`snapshot` {why}");
                    document.problem(Code::BadPath, written.range.clone(), message);
                }
                None => {}
            }
        }
        for line in document.text_list(expected, "contains") {
            let part = line.strip_prefix(['+', '-']).unwrap_or(&line).trim();
            let pattern = Pattern { text: part.to_owned(), style: Style::Verbatim };
            let test = TextTest { negated: line.starts_with('-'), ..TextTest::new(TextWant::Pattern(pattern)) };
            file(document, path, FileWant::Content(test), case);
        }
    }
}

fn assertions(document: &mut Document<'_>, grader: &GraderEntry<'_>, case: &mut Case) {
    case.unsupported.extend(document.unsupported_keys(grader.config, &["assertions", "language"], &[]));
    let is_python = document.text(grader.config, "language").is_none_or(|language| language == "python");
    for object in [grader.node, grader.config] {
        for written in document.list(object, "assertions").unwrap_or_default() {
            match written.text().filter(|_| is_python).and_then(assertion::checks) {
                Some(checks) => case.checks.extend(checks),
                None => case.unsupported.push(document.unsupported("an assertion that is code", written)),
            }
        }
    }
}

fn skills(document: &mut Document<'_>, grader: &GraderEntry<'_>, case: &mut Case, triggering: &mut TriggerClaim) {
    // Further skills lower only the score.
    let known = ["required_skills", "forbidden_skills", "mode"];
    case.unsupported.extend(document.unsupported_keys(grader.config, &known, &["allow_extra"]));
    let [required, forbidden] = [known[0], known[1]].map(|key| document.text_list(grader.config, key));
    let is_own = |names: &[String], case: &Case| matches!(names, [only] if slug(only) == case.skill);
    let is_twice = required.iter().enumerate().any(|(at, name)| required[..at].contains(name));
    match document.text(grader.config, "mode") {
        _ if required.is_empty() && forbidden.is_empty() => document.missing(grader.config, known[0]),
        _ if required.is_empty() => {}
        Some("any_order") if is_twice => {
            case.unsupported.push(document.unsupported("a skill that is activated several times", grader.config));
        }
        Some("any_order" | "in_order") if is_own(&required, case) && triggering.agrees(true) => {}
        Some(mode @ ("any_order" | "in_order")) => case.checks.push(checks::activates(required, mode == "in_order")),
        Some("exact_match") => {
            let what = "that these skills are activated and no others";
            case.unsupported.push(document.unsupported(what, grader.config));
        }
        Some(_) => {
            let written = grader.config.get("mode").unwrap_or(grader.config);
            document.wrong_type("`mode`", "`any_order`, `in_order` or `exact_match`", written);
        }
        None => document.missing(grader.config, "mode"),
    }
    let is_said = forbidden.is_empty() || is_own(&forbidden, case) && triggering.agrees(false);
    case.checks.extend((!is_said).then(|| checks::rejects(forbidden)));
}

/// Waza compares words of the prompt with those of the skill, which says whether the skill should trigger. Here the agent shows it.
fn trigger(
    document: &mut Document<'_>,
    grader: &GraderEntry<'_>,
    file: &ForeignFile<'_>,
    case: &mut Case,
    triggering: &mut TriggerClaim,
) {
    case.unsupported.extend(document.unsupported_keys(grader.config, &["skill_path", "mode", "threshold"], &[]));
    let Some(path) = document.required_text(grader.config, "skill_path") else { return };
    let Some(mode) = document.required_text(grader.config, "mode") else { return };
    let folder = path.trim_end_matches('/').trim_end_matches("SKILL.md").trim_end_matches('/');
    let is_own = file.skill_slug(folder.rsplit('/').next().unwrap_or(folder)) == case.skill;
    match mode.trim().to_ascii_lowercase().as_str() {
        mode @ ("positive" | "negative") if is_own && triggering.agrees(mode == "positive") => {}
        "positive" | "negative" => {
            let what = "that another skill triggers, or the opposite of what the case says elsewhere";
            case.unsupported.push(document.unsupported(what, grader.node));
        }
        _ => {
            let written = grader.config.get("mode").unwrap_or(grader.config);
            document.wrong_type("`mode`", "`positive` or `negative`", written);
        }
    }
}

fn prompt(document: &mut Document<'_>, grader: &GraderEntry<'_>, case: &mut Case) {
    let notes = ["model", "continue_session"];
    case.unsupported.extend(document.unsupported_keys(grader.config, &["prompt", "mode"], &notes));
    if let Some(mode) = grader.config.get("mode").filter(|mode| mode.text() != Some("independent")) {
        case.unsupported.push(document.unsupported("a judge that compares two answers", mode));
    }
    let Some(text) = document.required_text(grader.config, "prompt") else { return };
    let range = grader.config.get("prompt").unwrap_or(grader.config).range.clone();
    case.assertions.push(Assertion { text: text.trim().to_owned(), place: document.place(range), weight: None });
}
