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

mod environment;
mod graders;
mod scenario;
mod scoring;
mod stimulus;
mod tools;

use std::path::Path;
use std::time::Duration;

use crate::cases::case::document::{Document, Node, NodeEntry};
use crate::cases::case::{CaseFormat, FileCases, ForeignFile, ForeignFiles, Unsupported};
use crate::profile::DEFAULT_MODE;
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::settings::trials::Trials;
use crate::text::diagnostic::{Code, nearest};

pub(super) use graders::quoted;
use scoring::Scoring;
use stimulus::{AsStimulus, StimulusReader};

/// Stimuli and how their trials are graded.
pub static FORMAT: CaseFormat = format("stimulus", STIMULI, &[STIMULI, "prompt", "graders"], parse);

/// Scenarios: each stands for a stimulus.
pub static SCENARIOS: CaseFormat = format("scenario", scenario::KEY, &[scenario::KEY, "prompt"], parse_scenarios);

const fn format(
    name: &'static str,
    mark: &'static str,
    keys: &'static [&'static str],
    parse: for<'a> fn(&'a ForeignFile<'a>, Document<'a>, &'a Node) -> Option<FileCases>,
) -> CaseFormat {
    let foreign = ForeignFiles {
        names: &["evals/eval.yaml", "evals/eval.yml", "*.eval.yaml", "*.eval.yml", "*.vally.yaml", "*.vally.yml"],
        possible_names: &["*eval.yaml", "*eval.yml"],
        mark,
        keys,
        parse,
    };
    CaseFormat { name, default_mode: DEFAULT_MODE, files: None, foreign: Some(foreign) }
}

/// The key of the cases.
const STIMULI: &str = "stimuli";

/// The keys of what holds for every stimulus; public files have either.
const DEFAULTS: [&str; 2] = ["config", "defaults"];

/// Keys of a file that ask for nothing of a trial.
const NOTES: [&str; 7] = ["name", "description", "version", "type", "tags", "executionShard", "owner"];

/// What a file or a stimulus says about its runs.
#[derive(Clone, Debug, Default)]
struct RunSettings {
    trials: Option<Trials>,
    timeout: Option<Duration>,
    unsupported: Vec<Unsupported>,
}

fn parse(file: &ForeignFile<'_>, mut document: Document<'_>, root: &Node) -> Option<FileCases> {
    let known = [STIMULI, environment::KEY, scoring::KEY, DEFAULTS[0], DEFAULTS[1]];
    let mut shared = document.unsupported_keys(root, &known, &NOTES);
    document.duplicate_keys(root, &[STIMULI]);
    let Some(stimuli) = stimuli(&mut document, root) else {
        // A file of another program has keys that no spec has, and none that is nearly `stimuli`.
        let other = |entry: &NodeEntry| entry.value.elements().is_some() && nearest(&entry.key, [STIMULI]).is_none();
        let has_list = root.entries().iter().any(|entry| !NOTES.contains(&&*entry.key) && other(entry));
        let may_be_ours = root.entry(STIMULI).is_some()
            || file.is_in_evals_of_skill() && !has_list && (shared.is_empty() || document.problems.found() > 1);
        return may_be_ours.then(|| FileCases { problems: document.problems.into_vec(), ..FileCases::default() });
    };
    let mut settings = RunSettings::default();
    for key in DEFAULTS {
        settings = run_settings(&mut document, root, key, settings);
    }
    shared.append(&mut settings.unsupported);
    let scoring = Scoring::read(&mut document, root, &mut shared);
    let format = &FORMAT;
    let reader = StimulusReader { format, as_stimulus: None, file, document, root, shared, settings, scoring };
    Some(reader.file_cases(stimuli))
}

fn parse_scenarios(file: &ForeignFile<'_>, mut document: Document<'_>, root: &Node) -> Option<FileCases> {
    let scenarios = scenario::list(root)?;
    let shared = document.unsupported_keys(root, &[scenario::KEY], &NOTES);
    document.duplicate_keys(root, &[scenario::KEY]);
    let (format, as_stimulus) = (&SCENARIOS, Some(scenario::stimulus as AsStimulus));
    let (settings, scoring) = (RunSettings::default(), Scoring::default());
    let reader = StimulusReader { format, as_stimulus, file, document, root, shared, settings, scoring };
    Some(reader.file_cases(scenarios))
}

/// The stimuli, or the problem of their list.
fn stimuli<'n>(document: &mut Document<'_>, root: &'n Node) -> Option<&'n [Node]> {
    let Some(list) = root.entry(STIMULI).map(|entry| &entry.value) else {
        let (start, message) = (root.range.start, format!("the key `{STIMULI}` is missing"));
        let help = format!("the cases of a Vally spec are a list at `{STIMULI}`");
        document.problem_with_help(Code::MissingKey, start..start + 1, message, help);
        return None;
    };
    match list.elements() {
        Some([]) => {
            document.problem(Code::EmptyValue, list.range.clone(), format!("`{STIMULI}` is empty"));
            None
        }
        None => {
            document.wrong_type(&format!("`{STIMULI}`"), "an array", list);
            None
        }
        stimuli => stimuli,
    }
}

/// What the object at `key` says about runs, over what `outer` says.
fn run_settings(document: &mut Document<'_>, object: &Node, key: &str, outer: RunSettings) -> RunSettings {
    let mut settings = outer;
    let Some(config) = document.map(object, key) else { return settings };
    let known = ["runs", "timeout", "model", "judge_model", "executor"];
    let unknown = document.unsupported_keys(config, &known, &[]);
    settings.unsupported.extend(unknown);
    read_runs(document, config, &mut settings);
    settings
}

/// Reads `runs` and `timeout`.
fn read_runs(document: &mut Document<'_>, object: &Node, settings: &mut RunSettings) {
    match object.get("runs").filter(|runs| runs.count() == Some(0)) {
        Some(none) => settings.unsupported.push(document.unsupported("`runs: 0`, which runs nothing", none)),
        None => settings.trials = document.trials(object, "runs").or(settings.trials),
    }
    settings.timeout = timeout(document, object).or(settings.timeout);
}

/// The duration at `timeout`, which may be absent.
fn timeout(document: &mut Document<'_>, object: &Node) -> Option<Duration> {
    let written = object.get("timeout")?;
    let timeout = duration(written).filter(|timeout| (Duration::from_secs(1)..=LONGEST_TIMEOUT).contains(timeout));
    if timeout.is_none() {
        document.wrong_type("`timeout`", "a duration like `90s`, `2m` or `1h`, up to a day", written);
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

/// Whether `path` names a spec, by its name alone.
fn is_spec(path: &Path) -> bool {
    FORMAT.foreign.as_ref().is_some_and(|files| files.match_path(path).is_some())
}
