//! Eval specs of waza: `eval.yaml` that names task files, each a case.
//!
//! ```yaml
//! skill: greeting
//! config: { trials_per_task: 3, timeout_seconds: 300 }
//! graders:                                   # of every case
//!   - { type: text, name: polite, config: { not_contains: [damn] } }
//! tasks: ["tasks/*.yaml"]
//! ```
//!
//! ```yaml
//! # tasks/ada.yaml
//! id: ada
//! inputs: { prompt: Greet Ada }
//! expected: { output_contains: [Ada], should_trigger: true }
//! ```
//!
//! What waza calls the output are all messages of the agent. A run passes if each of its graders passes, so no weight and no score
//! matters here. Its trigger sets are read as all others are ([`super::evals_json`]).

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::{Document, NodeEntry, Syntax};
use super::named_files::PathPatterns;
use crate::cases::case::document::{Node, NodeValue};
use crate::cases::case::foreign_reader::Meaning::{
    self, By, Content, Each, EachBy, Field, Files, Judged, Known, Number, Object, Only, Part, Said, Tools,
};
use crate::cases::case::foreign_reader::{ForeignReader, KeyTable, name, words};
use crate::cases::case::graders::{Asks, Graders, KnownTool, said};
use crate::cases::case::{Case, CaseFormat, FileCases, FileKeys, ForeignFiles, FoundCase};
use crate::cases::repo_files::FileKind;
use crate::checks::field::CallCount;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::TextTest;
use crate::checks::{self, CaseCheck, FileWant, TextPlace};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest, shorten};
use crate::text::name::{RelativePath, resolved};

/// Tasks and how their trials are graded.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "waza task",
    ForeignFiles {
        names: &[],
        possible_names: &["*eval.yaml", "*eval.yml", "eval-trigger.yaml", "eval-trigger.yml"],
        // Waza runs no file without it.
        mark: TRIALS,
        keys: &[TRIALS, TASKS],
        about: "[eval specs of waza](#what-a-task-of-waza-asks-for), and the task files that they name",
        all_keys: || FileKeys::of(&[&SPEC, &TASK, &INPUTS, &EXPECTED]).with_graders(&KINDS),
        parse,
    },
);

/// The key of the patterns of task files.
const TASKS: &str = "tasks";

/// The key of the settings of the runs.
const CONFIG: &str = "config";

/// The key of the number of trials.
const TRIALS: &str = "trials_per_task";

/// The key of the directory of a task's files.
const CONTEXT_DIR: &str = "context_dir";

static SPEC: KeyTable = KeyTable::of(&[
    ("schemaVersion", Part(version, "this version of the format")),
    ("hooks", By(hooks)),
    (CONFIG, Object(&RUNS)),
    ("skill", By(skill_under_test)),
    ("tasks graders", Known),
])
.and_notes("$schema name description version metrics baseline");

/// What else is about runs asks for nothing of a trial, or the settings of this program decide it: the agent, its model and its skills,
/// and what runs at once.
static RUNS: KeyTable = KeyTable::of(&[(TRIALS, Field("trials")), ("timeout_seconds", Field("timeout_s"))]).and_notes(
    "parallel workers \
    max_workers fail_fast executor model judge_model group_by max_attempts inject_skill_body skill_directories \
    required_skills reasoning_effort",
);

static TASK: KeyTable = KeyTable::of(&[
    ("id context_dir", Known),
    ("enabled", Part(switched_off, "a task that is switched off")),
    ("tags", By(tags)),
    ("timeout_seconds", Field("timeout_s")),
    ("inputs", By(inputs)),
    ("expected", By(expected)),
    (GRADERS, By(all_graders)),
])
.and_notes("name description golden schemaVersion");

static INPUTS: KeyTable = KeyTable::of(&[
    ("prompt_file files", Known),
    ("prompt", Part(prompt, "`prompt` next to `prompt_file`")),
    ("follow_up_prompts", Field("follow_ups")),
])
.and_notes("context");

static EXPECTED: KeyTable = KeyTable::of(&[
    ("output_contains", Said(TextPlace::Messages, Style::Literal, false)),
    ("output_not_contains", Said(TextPlace::Messages, Style::Literal, true)),
    ("output_contains_any", By(contains_any)),
    ("outcomes", EachBy(outcome)),
    ("behavior", Object(&BEHAVIOR)),
    ("should_trigger", Known),
]);

/// The key of the graders of a spec or a task.
const GRADERS: &str = "graders";

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let (file, root) = (reader.file, reader.root);
    // The word may be in the prompt of another program.
    let trials =
        |config: &&NodeEntry| config.value.entries().iter().any(|entry| nearest(&entry.key, [TRIALS]).is_some());
    root.entries().iter().filter(|entry| nearest(&entry.key, [CONFIG]).is_some()).find(trials)?;
    reader.duplicate_keys(root, &[]);
    if let Some(config) = reader.required(root, CONFIG) {
        reader.required(config, TRIALS);
    }
    reader.read_pattern = read_pattern;
    reader.read(root, &SPEC);
    let paths = tasks(&mut reader);
    let read = paths.iter().map(|path| file.tree.read(path)).collect::<Vec<_>>();
    let tasks = paths.iter().zip(&read).collect::<Vec<_>>();
    let mut reader = reader;
    let documents = tasks
        .iter()
        .map(|(path, bytes)| Document::new(path, bytes.as_ref().map(Vec::as_slice).unwrap_or_default(), Syntax::Yaml));
    reader.documents.extend(documents);
    Some(reader.cases(&tasks, |reader, (path, bytes), number| found(reader, path, bytes.as_ref().err(), number)))
}

/// The case in the file at this path, whose document has this position.
fn found(reader: &mut ForeignReader<'_>, path: &Path, error: Option<&std::io::Error>, at: usize) -> FoundCase {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    reader.at = at;
    let root = if error.is_none() { reader.documents[at].root() } else { None };
    let named = root.as_ref().and_then(|root| root.get("id").or_else(|| root.get("name")));
    let name = named.and_then(name).filter(|name| !name.trim().is_empty()).unwrap_or_else(|| stem.to_string());
    let id = reader.free_id(&name, || format!("{stem}-{name}"));
    let Some(root) = root else {
        let unreadable = error.map(|error| {
            Diagnostic::new(Code::Unreadable, SourceLocation::file(path), format!("cannot be read: {error}"))
        });
        let problems = unreadable.map_or_else(|| reader.problems.take(), |problem| vec![problem]);
        return reader.broken(id, path, problems);
    };
    reader.start(id, &root);
    reader.locate_value("prompt", root.get("inputs").and_then(|inputs| inputs.get("prompt")));
    reader.duplicate_keys(&root, &[]);
    reader.read(&root, &TASK);
    let of_spec = reader.documents[0].problems.take();
    reader.problems.extend(of_spec);
    reader.finish()
}

/// The versions that are read, by their first number, are 1 and 2.
fn version<'n>(reader: &mut ForeignReader<'_>, root: &'n Node, key: &'static str) -> Option<&'n Node> {
    let version = reader.text(root, key)?;
    root.get(key).filter(|_| !["1", "2"].iter().any(|major| version.split('.').next() == Some(major)))
}

/// Commands that waza runs around tasks.
fn hooks(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    for hook in reader.map(root, key).map(Node::entries).unwrap_or_default() {
        if hook.value.elements().is_none_or(|commands| !commands.is_empty()) {
            reader.not_done(&hook.value, format!("the hook `{}`", hook.key));
        }
    }
}

fn skill_under_test(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let name = reader.text(root, key).or(reader.file.skill);
    reader.case.skill = name.map(|name| reader.file.skill_slug(name)).unwrap_or_default();
}

/// The task files, each once. A pattern that names none is a problem.
fn tasks(reader: &mut ForeignReader<'_>) -> Vec<PathBuf> {
    let root = reader.root;
    if let Some(list) = reader.required(root, TASKS) {
        reader.not_empty(TASKS, list);
    }
    let mut tasks = Vec::new();
    for pattern in reader.list(root, TASKS).unwrap_or_default() {
        let Some(text) = pattern.text() else {
            let expected = "the path of a task file, or a pattern of such paths";
            reader.wrong_type("an element of `tasks`", expected, pattern);
            continue;
        };
        match PathPatterns::Go.files(text, reader.folder(), reader.file.tree) {
            Ok(paths) if paths.is_empty() => {
                reader.problem(Code::EmptyValue, pattern.range.clone(), format!("`{text}` names no file"));
            }
            Ok(paths) => tasks.extend(paths),
            Err(why) => reader.bad_path(text, &why, pattern),
        }
    }
    let mut seen = HashSet::new();
    tasks.retain(|path| seen.insert(path.clone()));
    tasks
}

fn tags(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let tags = reader.texts(root, key);
    reader.case.tags.extend(tags);
}

fn switched_off<'n>(reader: &mut ForeignReader<'_>, root: &'n Node, key: &'static str) -> Option<&'n Node> {
    if reader.flag(root, key) == Some(false) { root.get(key) } else { None }
}

fn inputs(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    reader.required(root, key);
    let Some(inputs) = reader.map(root, key) else { return };
    reader.read(inputs, &INPUTS);
    let folder = context_folder(reader, root);
    for written in reader.list(inputs, "files").unwrap_or_default() {
        reader.only_keys(written, &["path", "content"], "");
        let Some(text) = reader.required_text(written, "path") else { continue };
        let content = reader.text(written, "content").filter(|content| !content.is_empty());
        reader.input_file(written, text, content, |path| path.under(&folder));
    }
}

/// The directory of the files of a task. Waza starts at the directory in which it is run: mostly that of the spec, or the root.
fn context_folder(reader: &mut ForeignReader<'_>, root: &Node) -> PathBuf {
    let of_spec = reader.folder();
    let Some(text) = reader.text(root, CONTEXT_DIR) else { return of_spec.join("fixtures") };
    let places = [resolved(&of_spec.join(text)), resolved(Path::new(text))];
    let found = places.into_iter().flatten().find(|path| reader.file.tree.kind(path) == FileKind::Folder);
    if let (None, Some(written)) = (&found, root.get(CONTEXT_DIR)) {
        reader.bad_path(text, "is not a directory of the repository", written);
    }
    found.unwrap_or_default()
}

fn prompt<'n>(reader: &mut ForeignReader<'_>, inputs: &'n Node, key: &'static str) -> Option<&'n Node> {
    let Some(written) = inputs.get("prompt_file") else {
        reader.literal_prompt(inputs, key);
        return None;
    };
    if inputs.get(key).is_some() {
        return inputs.get(key);
    }
    let text = reader.required_text(inputs, "prompt_file")?;
    match resolved(&reader.path.parent().unwrap_or(Path::new("")).join(text)) {
        Some(path) => reader.case.prompt = reader.text_of(&path, written.range.clone()).unwrap_or_default(),
        None => reader.bad_path(text, "is outside the repository", written),
    }
    None
}

fn expected(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let Some(expected) = reader.map(root, key) else { return };
    reader.located(key, expected, |reader| reader.read(expected, &EXPECTED));
    if let Some(should) = reader.flag(expected, "should_trigger") {
        reader.agrees(should);
    }
}

fn contains_any(reader: &mut ForeignReader<'_>, expected: &Node, key: &'static str) {
    let texts = reader.text_list(expected, key);
    if !texts.is_empty() {
        let pattern = Pattern::one_of(texts.iter().map(|text| (text.as_str(), true)));
        reader.case.checks.push(said(TextPlace::Messages, pattern, false));
    }
}

fn outcome(reader: &mut ForeignReader<'_>, outcome: &Node) {
    let Some(kind) = reader.required_text(outcome, "type") else { return };
    match (kind, outcome.get("tool_name")) {
        ("task_completed", None) => reader.case.checks.push(checks::final_message()),
        ("tool_called", Some(tool)) => reader.calls_tool(tool, &[], true),
        _ => return reader.not_done(outcome, format!("the outcome `{}`", shorten(kind))),
    }
    reader.only_keys(outcome, &["type", "tool_name"], "");
}

/// Adds the checks of the graders of the spec, and of the task with this root.
fn all_graders(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let task = reader.at;
    for (at, object) in [(0, reader.root), (task, root)] {
        reader.at = at;
        for node in reader.list(object, key).unwrap_or_default() {
            grader(reader, node);
        }
    }
}

// The graders of waza, and the code in them: regular expressions of Go, and assertions in Python.

/// The graders.
static KINDS: Graders = Graders::of(
    "grader",
    &[
        ("behavior", Asks::Keys(&BEHAVIOR)),
        ("code", Asks::By(&CODE, code)),
        ("diff", Asks::Keys(&DIFF)),
        ("file", Asks::Keys(&FILE)),
        ("prompt", Asks::Keys(&JUDGE)),
        ("skill_invocation", Asks::Keys(&SKILLS)),
        ("text", Asks::Keys(&TEXT)),
        ("tool_calls", Asks::Keys(&TOOLS)),
        ("tool_constraint", Asks::Keys(&CONSTRAINTS)),
        ("trigger", Asks::By(&TRIGGER, trigger)),
    ],
)
.and_others("action_sequence json_schema program");

/// A grader. The weight is that of a score, by which no run passes or fails.
static GRADER: KeyTable = KeyTable::of(&[("config assertions", Known)]).and_notes("type name description weight model");

static CODE: KeyTable = KeyTable::of(&[("assertions language", Known)]);

static DIFF: KeyTable = KeyTable::of(&[("expected_files", By(differences)), (CONTEXT_DIR, Known)]);

static FILE: KeyTable = KeyTable::of(&[
    ("must_exist", Files(true)),
    ("must_not_exist", Files(false)),
    ("content_patterns", Each(&CONTENT)),
]);

static JUDGE: KeyTable =
    KeyTable::of(&[("mode", Only("independent", "a judge that compares two answers")), ("prompt", Judged(true))])
        .and_notes("model continue_session");

/// Further skills lower only the score.
static SKILLS: KeyTable =
    KeyTable::of(&[("required_skills", By(skills)), ("forbidden_skills mode", Known)]).and_notes("allow_extra");

static TEXT: KeyTable = KeyTable::of(&[
    ("contains", Said(TextPlace::Messages, Style::Literal, false)),
    ("not_contains", Said(TextPlace::Messages, Style::Literal, true)),
    ("contains_cs", Said(TextPlace::Messages, Style::Verbatim, false)),
    ("not_contains_cs", Said(TextPlace::Messages, Style::Verbatim, true)),
    ("regex_match", Said(TextPlace::Messages, Style::Exact, false)),
    ("regex_not_match", Said(TextPlace::Messages, Style::Exact, true)),
]);

static TOOLS: KeyTable = KeyTable::of(&[
    ("required_tools", Tools(true)),
    ("forbidden_tools", Tools(false)),
    ("min_calls", By(number_of_calls)),
    ("max_calls", Known),
]);

static CONSTRAINTS: KeyTable = KeyTable::of(&[
    ("expect_tools", EachBy(|reader, call| constraint(reader, call, true))),
    ("reject_tools", EachBy(|reader, call| constraint(reader, call, false))),
]);

static TRIGGER: KeyTable = KeyTable::of(&[("skill_path mode threshold", Known)]);

static CONTENT: KeyTable = KeyTable::of(&[
    ("path", By(|reader, object, key| _ = reader.required(object, key))),
    ("must_match", Content(false)),
    ("must_not_match", Content(true)),
]);

static BEHAVIOR: KeyTable = KeyTable::of(&[
    ("required_tools", Tools(true)),
    ("forbidden_tools", Tools(false)),
    (
        "max_tool_calls",
        at_most(|case, most| add_limit(case, most, checks::any_tool(CallCount { least: 0, most: Some(most) }).ok())),
    ),
    ("max_tokens", at_most(|case, most| add_limit(case, most, Some(checks::max_total_tokens(most))))),
    // The keys of a time differ between an expectation and a grader.
    (
        "max_duration_ms max_response_time_ms",
        at_most(|case, most| add_limit(case, most, Some(checks::max_duration(Duration::from_millis(most))))),
    ),
]);

const fn at_most(say: fn(&mut Case, u64)) -> Meaning {
    Number(0, u64::MAX, "a whole number", say)
}

/// A limit of 0 is none.
fn add_limit(case: &mut Case, most: u64, check: Option<CaseCheck>) {
    case.checks.extend(check.filter(|_| most > 0));
}

fn grader(reader: &mut ForeignReader<'_>, node: &Node) {
    let Some(kind) = reader.required_text(node, "type") else { return };
    let nothing = Node { value: NodeValue::Map(Vec::new()), range: node.range.clone() };
    let config = reader.map(node, CONFIG).unwrap_or(&nothing);
    reader.located(GRADERS, node, |reader| {
        reader.read(node, &GRADER);
        reader.grader(node, config, kind, &KINDS, false);
    });
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
    let is_twice = required.iter().enumerate().any(|(at, name)| required[..at].contains(name));
    match reader.text(config, "mode") {
        _ if required.is_empty() && forbidden.is_empty() => reader.missing(config, key),
        _ if required.is_empty() => {}
        Some("any_order") if is_twice => reader.not_done(config, "a skill that is activated several times"),
        Some("any_order" | "in_order") if reader.triggers(&required, true, true) => {}
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
    if !reader.triggers(&forbidden, false, true) {
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
fn read_pattern(reader: &mut ForeignReader<'_>, key: &str, written: &Node) -> Option<Pattern> {
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
