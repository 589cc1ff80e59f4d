//! Eval specs of Vally: `eval.yaml` with `stimuli`; and of the program before it, with `scenarios`.
//!
//! ```yaml
//! defaults: { runs: 5, timeout: 10m }
//! stimuli:
//!   - name: greets
//!     prompt: Greet Ada
//!     graders:
//!       - { type: output-contains, config: { substring: Ada } }
//!       - { type: skill-invocation, config: { required: [greeting] } }
//! ```
//!
//! Other programs have files of this name. A file without `stimuli` is none of ours. A grader that this program does not have
//! makes its case unsupported.

mod graders;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::foreign_reader::Meaning::{self, By, EachBy, Field, Known, Number, Object, Part, Skills, Tools};
use super::foreign_reader::{ForeignReader, KeyTable, word};
use crate::cases::case::document::{Node, NodeEntry};
use crate::cases::case::foreign_reader::words;
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFiles, FoundCase};
use crate::cases::repo_files::FileKind;
use crate::checks;
use crate::settings::limits::{LONGEST_TIMEOUT, MOST_TURNS};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, nearest, shorten};
use crate::text::name::{RelativePath, resolved};
use crate::trial::input_file::InputContent;

/// Stimuli and how their trials are graded.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "stimulus",
    ForeignFiles {
        names: NAMES,
        possible_names: POSSIBLE_NAMES,
        mark: STIMULI,
        keys: &[STIMULI, "prompt", "graders"],
        about: "[eval specs of Vally](#what-a-stimulus-of-vally-asks-for)",
        all_keys: || FileKeys::of(&[&SPEC, &STIMULUS, &ENVIRONMENT_KEYS]).with_graders(&graders::GRADERS),
        parse,
    },
);

/// Scenarios: each stands for a stimulus.
pub static SCENARIOS: CaseFormat = CaseFormat::foreign(
    "scenario",
    ForeignFiles {
        names: NAMES,
        possible_names: POSSIBLE_NAMES,
        mark: SCENARIO_KEY,
        keys: &[SCENARIO_KEY, "prompt"],
        about: "[the same of dotnet/skills](#what-a-scenario-of-dotnetskills-asks-for) before Vally",
        all_keys: || FileKeys::of(&[&SCENARIO]).with_graders(&graders::OF_SCENARIOS),
        parse: parse_scenarios,
    },
);

const NAMES: &[&str] =
    &["evals/eval.yaml", "evals/eval.yml", "*.eval.yaml", "*.eval.yml", "*.vally.yaml", "*.vally.yml"];
const POSSIBLE_NAMES: &[&str] = &["*eval.yaml", "*eval.yml"];

/// The key of the cases.
const STIMULI: &str = "stimuli";

/// The key of how graders decide together.
const SCORING: &str = "scoring";

/// The key of what the workspace holds at the start, and of the commands that prepare it; of a file or of a stimulus.
const ENVIRONMENT: &str = "environment";

/// Public files have `config` or `defaults`.
static SPEC: KeyTable =
    KeyTable::of(&[("stimuli environment", Known), ("config defaults", Object(&RUNS)), (SCORING, Object(&SCORES))])
        .and_notes(NOTES);

const NOTES: &str = "name description version type tags executionShard owner";

/// With a threshold of the weighted score a trial passes from that on, without one if all graders pass.
static SCORES: KeyTable = KeyTable::of(&[("threshold", By(threshold)), ("weights", By(weights))]);

static RUNS: KeyTable =
    KeyTable::of(&[("runs", Part(runs, NO_RUNS)), ("timeout", By(timeout)), ("model judge_model executor", Known)]);

static STIMULUS: KeyTable = KeyTable::of(&[
    ("name description turns", Known),
    ("prompt", Part(prompt, "`prompt` next to `turns`")),
    ("tags", By(tags)),
    (ENVIRONMENT, By(environments)),
    ("config", Object(&RUNS)),
    ("runs", Part(runs, NO_RUNS)),
    ("timeout", By(timeout)),
    ("constraints", Object(&CONSTRAINTS)),
    ("rubric", Field("assertions")),
    ("expect_activation", Field("should_trigger")),
    (graders::KEY, By(graders::read)),
]);

static ENVIRONMENT_KEYS: KeyTable = KeyTable::of(&[
    ("skills", Part(offered_skills, ONLY_SOME)),
    ("files", EachBy(|reader, written| file(reader, written, ["src", "dest"], false))),
    ("commands", Field("setup")),
]);

static CONSTRAINTS: KeyTable = KeyTable::of(&[
    MOST_TURNS_KEY,
    MOST_TOKENS,
    ("expect_skills", Skills(true)),
    ("reject_skills", Skills(false)),
    ("expect_tools", Tools(true)),
    ("reject_tools", Tools(false)),
]);

const NO_RUNS: &str = "`runs: 0`, which runs nothing";

const ONLY_SOME: &str = "that only some skills are offered";

/// Some agents have no such limit.
const MOST_TURNS_KEY: (&str, Meaning) = (
    "max_turns",
    Number(1, MOST_TURNS, "a number of turns", |case, most| {
        case.max_turns = Some(most);
        case.checks.push(checks::max_turns(most));
    }),
);

const MOST_TOKENS: (&str, Meaning) = (
    "max_tokens",
    Number(0, u64::MAX, "a number of tokens", |case, most| case.checks.push(checks::max_total_tokens(most))),
);

fn parse(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let root = reader.root;
    reader.check_keys(root, &SPEC);
    reader.duplicate_keys(root, &[STIMULI]);
    let Some(stimuli) = stimuli(&mut reader) else {
        // A file of another program has keys that no spec has, and none that is nearly `stimuli`.
        let other = |entry: &NodeEntry| entry.value.elements().is_some() && nearest(&entry.key, [STIMULI]).is_none();
        let has_list = root.entries().iter().any(|entry| !words(NOTES).contains(&&*entry.key) && other(entry));
        let has_slips = reader.case.unsupported.is_empty() || reader.problems.found() > 1;
        let may_be_ours = root.entry(STIMULI).is_some() || reader.file.is_in_evals_of_skill() && !has_list && has_slips;
        return may_be_ours.then(|| reader.no_cases());
    };
    reader.read_keys(root, &SPEC);
    Some(reader.cases(stimuli, found))
}

fn parse_scenarios(mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let root = reader.root;
    let scenarios = scenarios(root)?;
    reader.only_keys(root, &[SCENARIO_KEY], NOTES);
    reader.duplicate_keys(root, &[SCENARIO_KEY]);
    reader.read_pattern = graders::ignoring_case;
    Some(reader.cases(scenarios, found))
}

/// The stimuli, or the problem of their list.
fn stimuli<'a>(reader: &mut ForeignReader<'a>) -> Option<&'a [Node]> {
    let root = reader.root;
    let Some(list) = root.entry(STIMULI).map(|entry| &entry.value) else {
        let (start, message) = (root.range.start, format!("the key `{STIMULI}` is missing"));
        let help = format!("the cases of a Vally spec are a list at `{STIMULI}`");
        reader.problem_with_help(Code::MissingKey, start..start + 1, message, help);
        return None;
    };
    match list.elements() {
        Some([]) => reader.problem(Code::EmptyValue, list.range.clone(), format!("`{STIMULI}` is empty")),
        None => reader.wrong_type(&format!("`{STIMULI}`"), "an array", list),
        stimuli => return stimuli,
    }
    None
}

/// The stimulus or scenario with this number, from 1.
fn found(reader: &mut ForeignReader<'_>, node: &Node, number: usize) -> FoundCase {
    let name = node.get("name").and_then(Node::text).map_or_else(|| number.to_string(), str::to_owned);
    let id = reader.free_id(&name, || format!("{number}-{name}"));
    reader.start(id, node);
    reader.case.skill = skill(reader, node);
    reader.locate_value("prompt", node.get("prompt"));
    reader.duplicate_keys(node, &[]);
    if node.is_map() {
        reader.read(node, if reader.format.name == SCENARIOS.name { &SCENARIO } else { &STIMULUS });
    } else {
        let what = format!("a {}", reader.format.name);
        reader.wrong_type(&what, "an object", node);
    }
    reader.finish()
}

/// The skill under test: the one that the tags name, or that the file's place stands for, or that must be activated. Of these,
/// the first that is here.
fn skill(reader: &ForeignReader<'_>, node: &Node) -> String {
    fn of_tags(node: &Node) -> Option<&str> {
        node.get("tags")?.get("skill")?.text()
    }
    let named = [of_tags(node), of_tags(reader.root), reader.file.skill, graders::required_skill(node)];
    reader.file.first_here(named.into_iter().flatten())
}

fn threshold(reader: &mut ForeignReader<'_>, scoring: &Node, key: &'static str) {
    reader.case.least_score = reader.amount(scoring, key, 0.0..=1.0, "a number from 0 to 1");
}

fn weights(reader: &mut ForeignReader<'_>, scoring: &Node, key: &'static str) {
    for entry in reader.map(scoring, key).map(Node::entries).unwrap_or_default() {
        if entry.value.amount().is_none_or(|weight| weight < 0.0) {
            reader.wrong_type(&format!("`{}`", entry.key), "a weight, 0 or more", &entry.value);
        }
    }
}

fn runs<'n>(reader: &mut ForeignReader<'_>, object: &'n Node, key: &'static str) -> Option<&'n Node> {
    let none = object.get(key).filter(|runs| runs.count() == Some(0));
    if none.is_none() {
        reader.case.repetition.trials = reader.trials(object, key).or(reader.case.repetition.trials);
    }
    none
}

fn timeout(reader: &mut ForeignReader<'_>, object: &Node, key: &'static str) {
    reader.case.timeout = duration_at(reader, object, key).or(reader.case.timeout);
}

/// The duration at a key, which may be absent.
fn duration_at(reader: &mut ForeignReader<'_>, object: &Node, key: &str) -> Option<Duration> {
    let written = object.get(key)?;
    let timeout = duration(written).filter(|timeout| (Duration::from_secs(1)..=LONGEST_TIMEOUT).contains(timeout));
    if timeout.is_none() {
        reader.wrong_type("`timeout`", "a duration like `90s`, `2m` or `1h`, up to a day", written);
    }
    timeout
}

/// A duration with its unit. A bare number counts seconds.
fn duration(node: &Node) -> Option<Duration> {
    if let Some(seconds) = node.count() {
        return Some(Duration::from_secs(seconds));
    }
    let text = node.text()?.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let amount: f64 = text[..at].parse().ok()?;
    let unit = match text[at..].trim() {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(amount * unit).ok()
}

fn prompt<'n>(reader: &mut ForeignReader<'_>, node: &'n Node, key: &'static str) -> Option<&'n Node> {
    let Some(written) = node.get("turns") else {
        reader.literal_prompt(node, key);
        return None;
    };
    let mut turns = reader.texts(node, "turns");
    if turns.is_empty() || turns.iter().any(|turn| turn.trim().is_empty()) {
        reader.problem(Code::EmptyValue, written.range.clone(), "`turns` holds no text");
    } else {
        reader.case.prompt = turns.remove(0);
        reader.case.follow_ups = turns;
    }
    node.get(key)
}

/// The tags of the file and of the stimulus as words: those of a map as `key=value`.
fn tags(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    for tags in [reader.root, node].into_iter().filter_map(|object| object.get(key)) {
        reader.case.tags.extend(tags.elements().unwrap_or_default().iter().filter_map(word));
        for entry in tags.entries() {
            let words = entry.value.elements().unwrap_or(std::slice::from_ref(&entry.value)).iter().filter_map(word);
            reader.case.tags.extend(words.map(|word| format!("{}={word}", entry.key)));
        }
    }
}

/// Adds what the environments of the file and of the stimulus ask for.
fn environments(reader: &mut ForeignReader<'_>, node: &Node, key: &'static str) {
    for object in [reader.root, node] {
        match object.get(key) {
            Some(written) if written.text().is_some() => {
                let name = shorten(written.text().unwrap_or_default());
                reader.not_done(written, format!("the environment `{name}` of another file"));
            }
            _ => {
                if let Some(environment) = reader.map(object, key) {
                    reader.read(environment, &ENVIRONMENT_KEYS);
                }
            }
        }
    }
}

/// The skill under test is offered in any case.
fn offered_skills<'n>(reader: &mut ForeignReader<'_>, environment: &'n Node, key: &'static str) -> Option<&'n Node> {
    let folder = reader.folder();
    let under_test = reader.file.skill.and_then(|slug| reader.file.directory_of(slug));
    let is_under_test = |path: &Node| {
        let path = path.text().and_then(|path| resolved(&folder.join(path)));
        path.is_some_and(|path| under_test.is_some_and(|skill| skill == path || skill.join(SKILL_FILE) == path))
    };
    environment.get(key).filter(|skills| !skills.each().iter().all(is_under_test))
}

/// A file of the workspace: its content, or a file or directory whose path, at the first key, is relative to the directory of the
/// skill, or to that of the spec.
fn file(reader: &mut ForeignReader<'_>, written: &Node, [src, dest]: [&str; 2], is_of_skill: bool) {
    if !written.is_map() {
        return reader.wrong_type(
            "an element of `files`",
            &format!("an object with `{dest}`, and `{src}` or `content`"),
            written,
        );
    }
    reader.only_keys(written, &[src, dest, "content"], "");
    if let Some(content) = reader.text(written, "content") {
        let Some(dest) = reader.required_text(written, dest) else { return };
        reader.input_file(written, dest, Some(content), |path| path);
    } else if let Some(from) = reader.required_text(written, src) {
        let to =
            if is_of_skill { reader.required_text(written, dest) } else { reader.text(written, dest).or(Some(from)) };
        let of_skill = || reader.file.skill.and_then(|skill| reader.file.directory_of(skill)).unwrap_or(Path::new(""));
        let folder = if is_of_skill { of_skill() } else { reader.folder() };
        if let Some(to) = to {
            copy(reader, written, folder, [from, to]);
        }
    }
}

/// Copies a file or directory into the workspace, whose path is relative to this one.
fn copy(reader: &mut ForeignReader<'_>, written: &Node, base: &Path, [src, dest]: [&str; 2]) {
    let problems = reader.problems.found();
    let [from, to] = [resolved(&base.join(src)), resolved(Path::new(dest))];
    for (path, text) in [(&from, src), (&to, dest)] {
        if path.is_none() {
            reader.bad_path(text, "is absolute, or leaves its directory", written);
        }
    }
    let (Some(from), Some(to), true) = (from, to, problems == reader.problems.found()) else { return };
    let (tree, folder) = (reader.file.tree, reader.folder());
    // The directory of the spec holds the spec, which says what is expected.
    let is_parts = folder.starts_with(&from) || to.as_os_str().is_empty() && tree.kind(&from) == FileKind::Folder;
    let files: Vec<(PathBuf, PathBuf)> = match is_parts.then(|| tree.names(&from)) {
        None => vec![(from, to)],
        Some(Ok(names)) => {
            let files = names.into_iter().map(|name| (from.join(&name), to.join(&name)));
            files.filter(|(from, _)| !is_spec(from) && !folder.starts_with(from)).collect()
        }
        Some(Err(error)) => {
            let message = format!("the directory `{}` cannot be read: {error}", shorten(src));
            return reader.problem(Code::Unreadable, written.range.clone(), message);
        }
    };
    for (from, to) in files {
        let path = |path: &Path| RelativePath::parse(&path.to_string_lossy());
        match (path(&from), path(&to)) {
            (Ok(source), Ok(path)) => reader.add_file(path, InputContent::Source(source)),
            (Err(why), _) | (_, Err(why)) => reader.bad_path(src, why, written),
        }
    }
}

/// Whether `path` names a spec, by its name alone.
fn is_spec(path: &Path) -> bool {
    FORMAT.foreign.as_ref().is_some_and(|files| files.match_path(path).is_some())
}

// Eval specs of dotnet/skills before Vally: `eval.yaml` with `scenarios`.
//
// ```yaml
// scenarios:
// - name: greets
// prompt: Greet Ada
// setup: { copy_test_files: true, files: [{ path: a.txt, source: fixtures/a.txt }] }
// assertions:
// - { type: output_contains, value: Ada }
// expect_tools: [bash]
// ```

const SCENARIO_KEY: &str = "scenarios";

const ASSERTIONS: &str = "assertions";

static SCENARIO: KeyTable = KeyTable::of(&[
    ("name description turns", Known),
    ("prompt", Part(prompt, "`prompt` next to `turns`")),
    ("tags", By(tags)),
    ("setup", Object(&SETUP)),
    ("config", Object(&RUNS)),
    ("runs", Part(runs, NO_RUNS)),
    ("timeout", By(timeout)),
    MOST_TURNS_KEY,
    MOST_TOKENS,
    ("expect_tools", Tools(true)),
    ("reject_tools", Tools(false)),
    ("rubric", Field("assertions")),
    // A scenario that says nothing expects that the skill activates.
    ("expect_activation", By(|reader, node, key| reader.case.should_trigger = reader.flag(node, key).or(Some(true)))),
    (ASSERTIONS, EachBy(graders::assertion)),
]);

static SETUP: KeyTable = KeyTable::of(&[
    ("copy_test_files", By(copy_test_files)),
    ("skills", Part(offered_skills, ONLY_SOME)),
    ("files", EachBy(|reader, written| file(reader, written, ["source", "path"], true))),
    ("commands", By(commands)),
]);

/// The scenarios of a file. Other programs have lists of this name with other keys.
fn scenarios(root: &Node) -> Option<&[Node]> {
    let is_ours = |scenario: &Node| ["prompt", ASSERTIONS].into_iter().any(|key| scenario.get(key).is_some());
    root.get(SCENARIO_KEY)?.elements().filter(|scenarios| scenarios.iter().any(is_ours))
}

fn copy_test_files(reader: &mut ForeignReader<'_>, setup: &Node, key: &'static str) {
    if reader.flag(setup, key) == Some(true) {
        let here = reader.folder();
        copy(reader, setup.get(key).unwrap_or(setup), here, [".", "."]);
    }
}

/// A command may fail, as a build that is to be mended. A program that is missing is another matter.
fn commands(reader: &mut ForeignReader<'_>, setup: &Node, key: &'static str) {
    let commands = reader.texts(setup, key).into_iter().map(|command| format!("({command}\n) || test $? -lt 126"));
    reader.case.setup.extend(commands);
}
