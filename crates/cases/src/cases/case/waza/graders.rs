//! The graders of waza, and the code in them: regular expressions of Go, and assertions in Python.

use std::time::Duration;

use super::{CONFIG, CONTEXT_DIR, GRADERS};
use crate::cases::case::Case;
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_graders::KnownTool;
use crate::cases::case::foreign_reader::Meaning::{
    By, Content, Each, EachBy, Files, Judged, Known, Must, Number, Only, Said, Tools,
};
use crate::cases::case::foreign_reader::{ForeignReader, KeyTable, Meaning, said, words};
use crate::checks::call_count::CallCount;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::TextTest;
use crate::checks::{self, CaseCheck, FileWant, TextPlace};
use crate::skill::slug;
use crate::text::diagnostic::Code;
use crate::text::relative_path::RelativePath;

/// The graders that are read, each with the keys of its configuration, and the others that waza has.
static KINDS: [(&str, KeyTable); 10] = [
    ("behavior", BEHAVIOR),
    ("code", KeyTable::of(&[("assertions", Known), ("language", Known)])),
    ("diff", KeyTable::of(&[("expected_files", By(differences)), (CONTEXT_DIR, Known)])),
    (
        "file",
        KeyTable::of(&[
            ("must_exist", Files(true)),
            ("must_not_exist", Files(false)),
            ("content_patterns", Each(&CONTENT)),
        ]),
    ),
    (
        "prompt",
        KeyTable::of(&[("mode", Only("independent", "a judge that compares two answers")), ("prompt", Judged)])
            .and_notes("model continue_session"),
    ),
    // Further skills lower only the score.
    (
        "skill_invocation",
        KeyTable::of(&[("required_skills", By(skills)), ("forbidden_skills", Known), ("mode", Known)])
            .and_notes("allow_extra"),
    ),
    (
        "text",
        KeyTable::of(&[
            ("contains", Said(TextPlace::Messages, Style::Literal, false)),
            ("not_contains", Said(TextPlace::Messages, Style::Literal, true)),
            ("contains_cs", Said(TextPlace::Messages, Style::Verbatim, false)),
            ("not_contains_cs", Said(TextPlace::Messages, Style::Verbatim, true)),
            ("regex_match", Said(TextPlace::Messages, Style::Exact, false)),
            ("regex_not_match", Said(TextPlace::Messages, Style::Exact, true)),
        ]),
    ),
    (
        "tool_calls",
        KeyTable::of(&[
            ("required_tools", Tools(true)),
            ("forbidden_tools", Tools(false)),
            ("min_calls", By(number_of_calls)),
            ("max_calls", Known),
        ]),
    ),
    (
        "tool_constraint",
        KeyTable::of(&[
            ("expect_tools", EachBy(|reader, call| constraint(reader, call, true))),
            ("reject_tools", EachBy(|reader, call| constraint(reader, call, false))),
        ]),
    ),
    ("trigger", KeyTable::of(&[("skill_path", Known), ("mode", Known), ("threshold", Known)])),
];
const OTHERS: &str = "action_sequence json_schema program";

/// A grader. The weight is that of a score, by which no run passes or fails.
static GRADER: KeyTable =
    KeyTable::of(&[(CONFIG, Known), ("assertions", Known)]).and_notes("type name description weight model");

static CONTENT: KeyTable =
    KeyTable::of(&[("path", Must), ("must_match", Content(false)), ("must_not_match", Content(true))]);

pub(super) const BEHAVIOR: KeyTable = KeyTable::of(&[
    ("required_tools", Tools(true)),
    ("forbidden_tools", Tools(false)),
    (
        "max_tool_calls",
        at_most(|case, most| add_limit(case, most, checks::any_tool(CallCount { least: 0, most: Some(most) }).ok())),
    ),
    ("max_tokens", at_most(|case, most| add_limit(case, most, Some(checks::max_total_tokens(most))))),
    // The keys of a time differ between an expectation and a grader.
    ("max_duration_ms", MOST_TIME),
    ("max_response_time_ms", MOST_TIME),
]);

const MOST_TIME: Meaning =
    at_most(|case, most| add_limit(case, most, Some(checks::max_duration(Duration::from_millis(most)))));

const fn at_most(say: fn(&mut Case, u64)) -> Meaning {
    Number(0, u64::MAX, "a whole number", say)
}

/// A limit of 0 is none.
fn add_limit(case: &mut Case, most: u64, check: Option<CaseCheck>) {
    case.checks.extend(check.filter(|_| most > 0));
}

pub(super) fn grader(reader: &mut ForeignReader<'_>, node: &Node) {
    let Some(kind) = reader.required_text(node, "type") else { return };
    let nothing = Node { value: NodeValue::Map(Vec::new()), range: node.range.clone() };
    let config = reader.map(node, CONFIG).unwrap_or(&nothing);
    let before = reader.case.checks.len();
    reader.read(node, &GRADER);
    if let Some((_, keys)) = KINDS.iter().find(|(known, _)| *known == kind) {
        reader.read(config, keys);
    } else {
        let known = KINDS.iter().map(|(name, _)| *name).chain(words(OTHERS));
        reader.unknown_grader("grader", kind, node, &known.collect::<Vec<_>>());
    }
    match kind {
        "code" => code(reader, node, config),
        "trigger" => trigger(reader, node, config),
        _ => {}
    }
    reader.locate_checks(GRADERS, node, before);
}

/// The assertions may be in the grader, too.
fn code(reader: &mut ForeignReader<'_>, node: &Node, config: &Node) {
    let is_python = reader.text(config, "language").is_none_or(|language| language == "python");
    for object in [node, config] {
        for written in reader.list(object, "assertions").unwrap_or_default() {
            match written.text().filter(|_| is_python).and_then(python_checks) {
                Some(checks) => reader.case.checks.extend(checks),
                None => reader.not_done(written, "an assertion that is code"),
            }
        }
    }
}

fn differences(reader: &mut ForeignReader<'_>, config: &Node, key: &'static str) {
    let folder = reader.text(config, CONTEXT_DIR).map(|folder| format!("{folder}/")).unwrap_or_default();
    for expected in reader.list(config, key).unwrap_or_default() {
        reader.only_keys(expected, &["path", "snapshot", "contains"], "");
        let Some(path) = reader.required(expected, "path") else { continue };
        reader.file_check(path, FileWant::Exists(true));
        if let Some(snapshot) = reader.text(expected, "snapshot") {
            match RelativePath::parse(&format!("{folder}{snapshot}")) {
                Ok(snapshot) => reader.file_check(path, FileWant::Snapshot(reader.file.named_file(&snapshot))),
                Err(why) => reader.problem_at(Code::BadPath, expected, "snapshot", format!("`snapshot` {why}")),
            }
        }
        for line in reader.text_list(expected, "contains") {
            let part = line.strip_prefix(['+', '-']).unwrap_or(&line).trim();
            let pattern = Pattern { text: part.to_owned(), style: Style::Verbatim };
            let test = TextTest { negated: line.starts_with('-'), ..pattern.into() };
            reader.file_check(path, FileWant::Content(test));
        }
    }
}

fn number_of_calls(reader: &mut ForeignReader<'_>, object: &Node, key: &'static str) {
    let [least, most] = [key, "max_calls"].map(|key| reader.count(object, key, 0..=u64::MAX, "a whole number"));
    if least.is_some() || most.is_some() {
        reader.add(object, checks::any_tool(CallCount { least: least.unwrap_or_default(), most }));
    }
}

fn constraint(reader: &mut ForeignReader<'_>, call: &Node, is_required: bool) {
    let Some(tool) = reader.required_text(call, "tool") else { return };
    if call.get("tool").is_some_and(|tool| read_pattern(reader, "tool", tool).is_none()) {
        return;
    }
    let others = "skill_pattern path_pattern args";
    reader.only_keys(call, &["tool", "command_pattern"], others);
    // All its patterns ignore case.
    let known = KnownTool::of(&format!("(?i){}", tool.trim()));
    match (known, call.get("command_pattern")) {
        _ if words(others).iter().any(|key| call.get(key).is_some()) => {}
        (Some(known), None) => return reader.case.checks.push(known.called(is_required)),
        (Some(KnownTool::Shell), Some(command)) => {
            let pattern = read_pattern(reader, "command_pattern", command);
            let ignoring_case = pattern.map(|pattern| Pattern { text: format!("(?i){}", pattern.text), ..pattern });
            let checks = ignoring_case.map(|pattern| checks::script_command(pattern, is_required));
            return reader.case.checks.extend(checks);
        }
        _ => {}
    }
    reader.other_tool(call, tool);
}

fn skills(reader: &mut ForeignReader<'_>, config: &Node, key: &'static str) {
    let [required, forbidden] = [key, "forbidden_skills"].map(|key| reader.text_list(config, key));
    let is_own = |names: &[String], skill: &str| matches!(names, [only] if slug(only) == skill);
    let is_twice = required.iter().enumerate().any(|(at, name)| required[..at].contains(name));
    match reader.text(config, "mode") {
        _ if required.is_empty() && forbidden.is_empty() => reader.missing(config, key),
        _ if required.is_empty() => {}
        Some("any_order") if is_twice => reader.not_done(config, "a skill that is activated several times"),
        Some("any_order" | "in_order") if is_own(&required, &reader.case.skill) && reader.agrees(true) => {}
        Some(mode @ ("any_order" | "in_order")) => {
            reader.case.checks.push(checks::activates(required, mode == "in_order"));
        }
        Some("exact_match") => reader.not_done(config, "that these skills are activated and no others"),
        Some(_) => {
            let written = config.get("mode").unwrap_or(config);
            reader.wrong_type("`mode`", "`any_order`, `in_order` or `exact_match`", written);
        }
        None => reader.missing(config, "mode"),
    }
    if !(is_own(&forbidden, &reader.case.skill) && reader.agrees(false)) {
        reader.names_skills(forbidden, false);
    }
}

/// Waza compares words of the prompt with those of the skill, which says whether the skill should trigger. Here the agent shows it.
fn trigger(reader: &mut ForeignReader<'_>, node: &Node, config: &Node) {
    let Some(path) = reader.required_text(config, "skill_path") else { return };
    let Some(mode) = reader.required_text(config, "mode") else { return };
    let folder = path.trim_end_matches('/').trim_end_matches("SKILL.md").trim_end_matches('/');
    let is_own = reader.file.skill_slug(folder.rsplit('/').next().unwrap_or(folder)) == reader.case.skill;
    match mode.trim().to_ascii_lowercase().as_str() {
        mode @ ("positive" | "negative") if is_own && reader.agrees(mode == "positive") => {}
        "positive" | "negative" => {
            reader.not_done(node, "that another skill triggers, or the opposite of what the case says elsewhere");
        }
        _ => {
            let written = config.get("mode").unwrap_or(config);
            reader.wrong_type("`mode`", "`positive` or `negative`", written);
        }
    }
}

/// The regular expression of Go at a key, in which `\d`, `\w`, `\s` and `\b` are about ASCII, in the syntax of the others. One that Go
/// refuses fails every run of waza.
pub(super) fn read_pattern(reader: &mut ForeignReader<'_>, key: &str, written: &Node) -> Option<Pattern> {
    let Some(text) = written.text() else { return reader.pattern(key, written) };
    let Some(translated) = translated(text) else {
        reader.pattern(key, written)?;
        reader.not_done(written, "a pattern that Go refuses or reads in another way");
        return None;
    };
    reader.pattern(key, &Node { value: NodeValue::Text(translated), range: written.range.clone() })
}

fn translated(pattern: &str) -> Option<String> {
    let (mut out, mut rest, mut in_class, mut signs) = (String::new(), pattern, false, 0);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let before = std::mem::take(&mut signs);
        match c {
            '\\' => {
                let c = rest.chars().next()?;
                rest = &rest[c.len_utf8()..];
                match class(c) {
                    // Case does not matter to it: U+017F is not a word's character.
                    Some(class) if !in_class => out.extend(["(?-i:", class, ")"]),
                    Some(class) => out.push_str(class),
                    None if c == 'b' && !in_class && !rest.starts_with('{') => out.push_str(r"(?-u:\b)"),
                    None => {
                        let is_place = matches!(c, 'A' | 'z') && !in_class;
                        let is_sign = c.is_ascii_punctuation() && !matches!(c, '<' | '>');
                        (is_place || is_sign || "afnpPrtvx".contains(c)).then(|| out.extend(['\\', c]))?;
                    }
                }
            }
            // In a class, these are operators in the other syntax.
            '[' if in_class && rest.starts_with(':') => {
                let (name, after) = rest.split_once(']')?;
                out.extend(["[", name, "]"]);
                rest = after;
            }
            '[' | '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && rest.starts_with('-') => return None,
            '[' => {
                in_class = true;
                out.push('[');
                for first in ['^', ']'] {
                    if let Some(after) = rest.strip_prefix(first) {
                        out.extend((first == ']').then_some('\\').into_iter().chain([first]));
                        rest = after;
                    }
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '(' if !in_class && rest.starts_with('?') => {
                let is_name = ["?P<", "?<"].iter().any(|start| rest.starts_with(start)) && !rest.starts_with("?<=");
                let flags = &rest[1..rest.find([':', ')'])?.max(1)];
                let is_flags = flags.chars().all(|flag| "imsU-".contains(flag));
                (is_flags || is_name && !rest.starts_with("?<!")).then(|| out.push_str("(?"))?;
                rest = &rest[1..];
            }
            // A repetition of a repetition, which Go refuses.
            '*' | '+' | '?' if !in_class => {
                signs = before + 1;
                (signs == 1 || signs == 2 && c == '?').then(|| out.push(c))?;
            }
            _ => out.push(c),
        }
    }
    Some(out)
}

/// The class that this letter stands for after a backslash.
fn class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r ]",
        'S' => r"[^\t\n\x0C\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// The checks that are equal to an assertion in Python about the output, if there are any: how long it is, and what it contains.
fn python_checks(assertion: &str) -> Option<Vec<CaseCheck>> {
    let message = |pattern, negated| said(TextPlace::Messages, pattern, negated);
    let assertion = assertion.trim();
    if let Some(least) = assertion.strip_prefix("len(output) > ") {
        let least: u32 = least.parse().ok()?;
        // A longer pattern takes too much memory.
        let text = format!("(?s)^.{{{}}}", least.checked_add(1).filter(|least| *least <= 1000)?);
        return Some(vec![message(Pattern { text, style: Style::Exact }, false)]);
    }
    if assertion.contains(" or ") {
        let texts = assertion.split(" or ").map(contained).collect::<Option<Vec<_>>>()?;
        let is_any_negated = texts.iter().any(|(.., negated)| *negated);
        let pattern = || Pattern::one_of(texts.iter().map(|(text, ignores_case, _)| (*text, *ignores_case)));
        return (!is_any_negated).then(|| vec![message(pattern(), false)]);
    }
    let texts = assertion.split(" and ").map(contained).collect::<Option<Vec<_>>>()?;
    let checks = texts.into_iter().map(|(text, ignores_case, negated)| {
        let style = if ignores_case { Style::Literal } else { Style::Verbatim };
        message(Pattern { text: text.to_owned(), style }, negated)
    });
    Some(checks.collect())
}

/// The text of `'text' in output`, whether the output is in lower case, and whether there is a `not`.
fn contained(part: &str) -> Option<(&str, bool, bool)> {
    let (quoted, rest) = part.trim().strip_prefix('\'')?.split_once('\'')?;
    let (negated, place) = match rest.strip_prefix(" not in ") {
        Some(place) => (true, place),
        None => (false, rest.strip_prefix(" in ")?),
    };
    let ignores_case = place == "output.lower()";
    // Python finds no capital in lowercase, and a backslash means something else to it.
    let is_special = quoted.is_empty() || quoted.contains('\\') || ignores_case && quoted.to_lowercase() != quoted;
    ((ignores_case || place == "output") && !is_special).then_some((quoted, ignores_case, negated))
}
