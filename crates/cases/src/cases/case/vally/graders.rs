//! Graders of a stimulus as checks and statements for the judge, and how they decide together.
//!
//! Vally averages the scores of graders of a type, and then those of the types that a stimulus has. If a file has no weights,
//! each grader counts the same.

use std::path::Path;

use super::{ForeignReader, SCENARIOS, SCORING, duration_at};
use crate::cases::case::document::{Node, NodeEntry, NodeValue};
use crate::cases::case::foreign_reader::KeyTable;
use crate::cases::case::foreign_reader::Meaning::{By, Judged, Known, Not, Only, Part};
use crate::cases::case::graders::{Asks, Graders, KnownTool, quoted};
use crate::cases::repo_files::FileKind;
use crate::checks::pattern::{Pattern, PatternSearch, Style};
use crate::checks::text_test::TextTest;
use crate::checks::{self, TextPlace};
use crate::skill::SKILL_FILE;
use crate::trial::outcome::Weight;

/// The key of the list.
pub(super) const KEY: &str = "graders";

/// The graders. `-not-` in the name is the same as `negate: true`.
pub(super) static GRADERS: Graders = Graders::of(
    "grader",
    &[
        ("output-contains", Asks::Text(TextPlace::Final, "substring", Style::Literal)),
        ("output-matches", Asks::Text(TextPlace::Final, "pattern", Style::Exact)),
        ("transcript-contains", Asks::Text(TextPlace::Messages, "substring", Style::Literal)),
        ("transcript-matches", Asks::Text(TextPlace::Messages, "pattern", Style::Exact)),
        ("file-exists", Asks::File),
        ("file-contains", Asks::FileText("value", Style::Verbatim)),
        ("file-matches", Asks::FileText("pattern", Style::Exact)),
        ("skill-invocation", Asks::By(&SKILLS, skills)),
        ("tool-calls", Asks::By(&CALLS, |reader, node, config| tools(reader, node, config, false))),
        ("shell-command-invoked", Asks::By(&CALLS, |reader, node, config| tools(reader, node, config, true))),
        ("run-command", Asks::Keys(&COMMAND)),
        ("completed exit-success", Asks::Done),
        (PROMPT, Asks::Keys(&JUDGE)),
    ],
)
.and_opposites(["-", "-not-"]);

/// The same of scenarios.
pub(super) static OF_SCENARIOS: Graders = Graders::of(
    "assertion",
    &[
        ("output_contains", Asks::Text(TextPlace::Final, "value", Style::Literal)),
        ("output_matches", Asks::Text(TextPlace::Final, "pattern", Style::Exact)),
        ("file_exists", Asks::File),
        ("file_contains", Asks::FileText("value", Style::Verbatim)),
        ("exit_success", Asks::Done),
    ],
)
.and_opposites(["_", "_not_"]);

static SKILLS: KeyTable = KeyTable::of(&[("required disallowed", Known)]);

static CALLS: KeyTable =
    KeyTable::of(&[("sequence", Not("a sequence of tool calls")), ("required disallowed type config name", Known)]);

static COMMAND: KeyTable = KeyTable::of(&[
    // A check has only the end of it.
    ("stderr_contains", Not("the key `stderr_contains`")),
    ("command", By(command)),
    ("args expected_exit_code sub_path timeout stdout_contains stdout_matches stdout_not_matches", Known),
]);

/// A judge's pass is the whole score, so no threshold of a binary score asks for more.
static JUDGE: KeyTable = KeyTable::of(&[
    ("scoring", Only("binary", "a judge's score that is not pass or fail")),
    ("threshold", Part(|_, config, key| config.get(key).filter(|_| config.get("scoring").is_none()), JUDGED_SCORE)),
    ("prompt", Judged(false)),
    ("model", Known),
]);

/// What is not done of a judge whose score is a number.
const JUDGED_SCORE: &str = "a threshold of a judge's score";

/// The options of a command's standard output, each with its style and whether it is negated.
const STDOUT: [(&str, Style, bool); 3] = [
    ("stdout_contains", Style::Verbatim, false),
    ("stdout_matches", Style::Exact, false),
    ("stdout_not_matches", Style::Exact, true),
];

/// The grader that asks a judge.
const PROMPT: &str = "prompt";

/// The first skill that graders of a stimulus require, or its constraints.
pub(super) fn required_skill(stimulus: &Node) -> Option<&str> {
    let graders = stimulus.get(KEY).and_then(Node::elements).unwrap_or_default();
    let required = graders.iter().filter_map(|grader| grader.get("config")?.get("required")?.elements());
    let expected = stimulus.get("constraints").and_then(|constraints| constraints.get("expect_skills")?.elements());
    required.chain(expected).flatten().find_map(Node::text)
}

/// Adds the checks, each with what it counts in the score, and what a grader says of the skill under test alone.
pub(super) fn read(reader: &mut ForeignReader<'_>, stimulus: &Node, key: &'static str) {
    let rubric = reader.case.assertions.len();
    let graders = reader.list(stimulus, key).unwrap_or_default();
    for (number, node) in (1..).zip(graders) {
        let Some(kind) = reader.required_text(node, "type") else { continue };
        reader.only_keys(node, &["type", "config", "name", "description", "weight"], "");
        let config = reader.map(node, "config").unwrap_or(node);
        let alike = graders.iter().filter(|other| other.get("type").and_then(Node::text) == Some(kind)).count();
        let weight = weight(reader, node, u32::try_from(alike).unwrap_or(u32::MAX), number);
        let (checks, judged, said) =
            (reader.case.checks.len(), reader.case.assertions.len(), reader.case.should_trigger);
        // A judge without a prompt of its own grades by the rubric, which was read with the stimulus.
        let by_rubric = kind == PROMPT && config.get("prompt").is_none();
        reader.located(KEY, node, |reader| reader.grader(node, config, kind, &GRADERS, true));
        if by_rubric && rubric == 0 {
            reader.not_done(node, "a judge without a prompt or a rubric");
        }
        if let Some(weight) = weight {
            reader.case.weigh(checks, judged, weight);
            for assertion in reader.case.assertions[..rubric].iter_mut().filter(|_| by_rubric) {
                // Several graders by the rubric give it the same score each.
                let others = assertion.weight.map_or(0.0, |weight| weight.amount);
                assertion.weight = Some(Weight::new(others + weight.amount, number));
            }
            let is_said = reader.case.should_trigger != said;
            reader.case.weight_of_trigger = reader.case.weight_of_trigger.or(Some(weight).filter(|_| is_said));
        }
    }
}

/// The weight of the grader with this number, one of the `alike` graders of its type in the stimulus. A grader whose type has
/// no weight must pass, and so must one with a `weight` of its own, whose meaning is not known.
fn weight(reader: &ForeignReader<'_>, grader: &Node, alike: u32, number: u32) -> Option<Weight> {
    if grader.get("weight").is_some() || reader.format.name == SCENARIOS.name {
        return None;
    }
    let weights = reader.root.get(SCORING).and_then(|scoring| scoring.get("weights")).map(Node::entries);
    let amount = |entry: &NodeEntry| entry.value.amount().filter(|weight| *weight >= 0.0);
    let weights = weights.unwrap_or_default().iter().rev().filter_map(|entry| Some((&*entry.key, amount(entry)?)));
    let weights = weights.collect::<Vec<_>>();
    if weights.is_empty() {
        return reader.case.least_score.map(|_| Weight::new(1.0, number));
    }
    let kind = grader.get("type").and_then(Node::text)?;
    let (_, amount) = weights.iter().find(|(known, _)| *known == kind)?;
    Some(Weight::new(amount / f64::from(alike), number))
}

/// An assertion of a scenario.
pub(super) fn assertion(reader: &mut ForeignReader<'_>, node: &Node) {
    if !node.is_map() {
        return reader.wrong_type("an assertion", "an object with `type`", node);
    }
    let Some(kind) = reader.required_text(node, "type") else { return };
    reader.located(KEY, node, |reader| reader.grader(node, node, kind, &OF_SCENARIOS, false));
}

/// Reads a pattern that ignores case.
pub(super) fn ignoring_case(reader: &mut ForeignReader<'_>, key: &str, written: &Node) -> Option<Pattern> {
    let Some(text) = written.text() else { return reader.pattern(key, written) };
    reader.pattern(key, &Node { value: NodeValue::Text(format!("(?i){text}")), range: written.range.clone() })
}

/// In a score, triggering counts for one grader.
fn skills(reader: &mut ForeignReader<'_>, node: &Node, config: &Node) {
    let is_scored = weight(reader, node, 1, 1).is_some();
    let [required, disallowed] = ["required", "disallowed"].map(|key| reader.texts(config, key));
    if required.is_empty() && disallowed.is_empty() {
        reader.missing(config, "required");
    }
    for (names, side) in [(required, true), (disallowed, false)] {
        if !reader.triggers(&names, side, !is_scored) {
            reader.names_skills(names, side);
        }
    }
}

fn command(reader: &mut ForeignReader<'_>, config: &Node, key: &'static str) {
    let Some(command) = reader.required_text(config, key) else { return };
    let mut line = command.to_owned();
    if config.get("args").is_some() {
        let words = reader.texts(config, "args");
        let words = std::iter::once(command).chain(words.iter().map(String::as_str));
        line = words.map(quoted).collect::<Vec<_>>().join(" ");
    }
    if let Some(folder) = reader.text(config, "sub_path") {
        line = format!("cd {} || exit\n{line}", quoted(folder));
    }
    let exits = match config.get("expected_exit_code") {
        None => 0,
        Some(written) => match written.count().and_then(|status| u8::try_from(status).ok()) {
            Some(status) => i32::from(status),
            None => return reader.wrong_type("`expected_exit_code`", "a number from 0 to 255", written),
        },
    };
    let timeout = duration_at(reader, config, "timeout");
    let mut tests = Vec::new();
    for (key, style, negated) in STDOUT {
        let pattern = match style {
            Style::Exact => config.get(key).and_then(|written| reader.pattern(key, written)),
            _ => reader.text(config, key).map(|text| Pattern { text: text.to_owned(), style }),
        };
        tests.extend(pattern.map(|pattern| Some(TextTest { negated, ..pattern.into() })));
    }
    if tests.is_empty() {
        tests.push(None);
    }
    // The command runs once for all of them.
    let checks = tests.into_iter().map(|test| checks::run(line.clone(), exits, timeout, test));
    reader.case.checks.extend(checks);
}

fn tools(reader: &mut ForeignReader<'_>, node: &Node, config: &Node, of_shell: bool) {
    if !["sequence", "required", "disallowed"].iter().any(|key| config.get(key).is_some()) {
        return reader.missing(node, "required");
    }
    for (key, is_required) in [("required", true), ("disallowed", false)] {
        let calls = reader.list(config, key).unwrap_or_default();
        for call in calls {
            if call.text().is_some() && !of_shell {
                reader.calls_tool(call, calls, is_required);
            } else {
                tool_call(reader, call, of_shell, is_required);
            }
        }
    }
}

fn tool_call(reader: &mut ForeignReader<'_>, call: &Node, of_shell: bool, is_required: bool) {
    let command = if call.text().is_some() {
        reader.pattern("command", call)
    } else if call.is_map() {
        reader.only_keys(call, &["name", "command", "description", "path", "args"], "");
        let name = reader.text(call, "name");
        let names_shell = of_shell || name.and_then(KnownTool::of) == Some(KnownTool::Shell);
        if name.is_none() && !of_shell {
            return reader.missing(call, "name");
        }
        let (path, args) = (call.get("path"), call.get("args"));
        if let (Some("view"), true, None, Some(path)) = (name, is_required, args, path) {
            let Some(path) = reader.pattern("path", path) else { return };
            if has_resource(reader, &path) {
                return reader.case.checks.push(checks::loads(path));
            }
        }
        if !names_shell || path.or(args).is_some() {
            return reader.other_tool(call, name.unwrap_or("shell"));
        }
        let Some(command) = call.get("command") else {
            return reader.case.checks.push(KnownTool::Shell.called(is_required));
        };
        reader.pattern("command", command)
    } else {
        return reader.wrong_type("a tool call", "a string or an object", call);
    };
    reader.case.checks.extend(command.map(|command| checks::script_command(command, is_required)));
}

/// Whether the skill has a file besides its SKILL.md whose path in its directory matches.
fn has_resource(reader: &ForeignReader<'_>, path: &Pattern) -> bool {
    let Ok(search) = path.compile() else { return false };
    let directory = reader.file.directory_of(&reader.case.skill);
    directory.is_some_and(|directory| has_file(reader, directory, Path::new(""), &search))
}

fn has_file(reader: &ForeignReader<'_>, root: &Path, directory: &Path, search: &PatternSearch) -> bool {
    let is_match = |text: &str| search.matches(text, 1).is_ok_and(|found| !found.is_empty());
    reader.file.tree.names(&root.join(directory)).unwrap_or_default().into_iter().any(|name| {
        let path = directory.join(name);
        match reader.file.tree.kind(&root.join(&path)) {
            FileKind::File => path != Path::new(SKILL_FILE) && is_match(&path.to_string_lossy()),
            FileKind::Folder => has_file(reader, root, &path, search),
            _ => false,
        }
    })
}
