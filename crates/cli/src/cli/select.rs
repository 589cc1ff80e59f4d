//! Options that choose which cases run, and how; options that a command refuses, and those that it does not have.

use std::collections::{BTreeSet, HashMap};
use std::error::Error as _;
use std::fs::File;
use std::io;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgGroup, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Id};

use super::{Cli, one_of};
use crate::cases::catalog::Catalog;
use crate::cases::selection;
use crate::files::bounded;
use crate::settings::trials::{self, A_SHARE};
use crate::settings::{MOST_VOTES, Settings, Stop, Suite, TestSelection, VARIABLES, Variable};
use crate::store::RunFolder;
use crate::text::diagnostic::{nearest, nearest_few};
use crate::text::name::{as_test_name, segment};
use crate::text::problem::{About, Problem};
use crate::trial::run_record::{Overrides, RunChoices};

/// Options that choose cases by name.
#[derive(Args, Default)]
pub struct NameArgs {
    /// Only this skill, by name (repeatable).
    #[arg(long, value_name = "NAME", group = CASES)]
    skill: Vec<String>,
    /// Only this task, by file name without `.json` (repeatable).
    #[arg(long, value_name = "NAME", group = CASES)]
    task: Vec<String>,
    /// Only this case, as `id`, `skill/id` or `skill/id/mode` (repeatable).
    #[arg(long, value_name = "ID", allow_hyphen_values = true, group = CASES)]
    case: Vec<String>,
    #[command(flatten)]
    pub tags: TagArgs,
}

/// The option that chooses cases by their tags.
#[derive(Args, Clone, Default)]
pub struct TagArgs {
    /// Only cases with this tag, or with `!TAG` without it (repeatable).
    #[arg(long, value_name = "TAG", group = CASES)]
    pub tag: Vec<String>,
}

impl TagArgs {
    /// Puts the tags into a selection. Fails if no case has one of them.
    pub fn select(&self, selection: &mut TestSelection, catalog: &Catalog) -> Result<(), Problem> {
        if !self.tag.is_empty() {
            selection.tags.clone_from(&self.tag);
        }
        selection::unknown_tags(selection, catalog).into_iter().next().map_or(Ok(()), |why| Err(why.into()))
    }
}

/// Options that decide what is measured.
#[derive(Args, Default)]
pub struct SelectArgs {
    /// Part of each skill's cases [default: smoke, which is all of them]
    #[arg(long, value_parser = Suite::WORDS, group = STARTS)]
    suite: Option<String>,
    #[command(flatten)]
    pub names: NameArgs,
    /// Maximum number of skills
    #[arg(long, value_name = "N", hide = true, group = STARTS)]
    max_skills: Option<usize>,
    /// Maximum number of cases for each skill
    #[arg(long, value_name = "N", group = STARTS)]
    max_cases: Option<usize>,
    /// Model that the agent uses
    #[arg(long, group = STARTS)]
    model: Option<String>,
    /// Timeout in seconds for cases that set none
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400), group = STARTS)]
    timeout_s: Option<u64>,
    /// When a trial ends: `settled` as soon as nothing that follows can change its verdict [default: end]
    #[arg(long, value_name = "WHEN", value_parser = one_of::<Stop>(Stop::WORDS), group = STARTS)]
    trial_end: Option<Stop>,
    /// Judge every trial by the rubric, whatever its case says
    #[arg(long, conflicts_with = "no_judge", group = STARTS)]
    judge: bool,
    /// Judge no trial
    #[arg(long, group = STARTS)]
    no_judge: bool,
    /// Votes for each trial; more than half have to agree
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VOTES)), group = STARTS)]
    judge_votes: Option<u32>,
}

/// Limits of a run that starts agents. They are not kept from an earlier part of the run. Each is a variable that is an option
/// too, with its value.
pub struct LimitArgs(Vec<(&'static Variable, String)>);

/// The variables that are options, each with the name of the option and of its value.
pub fn limits() -> impl Iterator<Item = (&'static Variable, &'static str, &'static str)> {
    VARIABLES.iter().flat_map(|variable| variable.option.iter().map(move |(name, value)| (variable, *name, *value)))
}

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        command.args(limits().map(|(variable, name, value)| {
            let (first, rest) = variable.about.split_at(1);
            let help = format!("{}{rest}", first.to_uppercase());
            Arg::new(name).long(name).value_name(value).help(help).group(STARTS).value_parser(move |text: &str| {
                variable.apply(&mut Settings::default(), name, text).map(|()| text.to_owned())
            })
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values =
            limits().filter_map(|(variable, name, _)| Some((variable, matches.get_one::<String>(name)?.clone())));
        Ok(Self(values.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl LimitArgs {
    /// Puts the values into the settings.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), Problem> {
        Ok(self.0.iter().try_for_each(|(variable, value)| variable.apply(settings, variable.name, value))?)
    }
}

impl NameArgs {
    pub fn selection(&self) -> TestSelection {
        let (skills, tasks, tags) = (self.skill.clone(), self.task.clone(), self.tags.tag.clone());
        // The values of `--case` without modes.
        let cases = self.case.iter().map(|name| split_mode(name).0.to_owned()).collect();
        TestSelection { skills, tasks, cases, tags, ..TestSelection::default() }
    }

    /// `modes`, then the modes in values of `--case`.
    pub fn with_modes(&self, modes: &[String]) -> Vec<String> {
        let of_cases = self.case.iter().filter_map(|name| split_mode(name).1);
        let mut all: Vec<String> = Vec::new();
        for mode in modes.iter().map(String::as_str).chain(of_cases) {
            if !all.iter().any(|known| known == mode) {
                all.push(mode.to_owned());
            }
        }
        all
    }
}

/// Splits `skill/case/mode` into the case and the mode. `skill/case` has no mode.
fn split_mode(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('/') {
        Some((case, mode)) if case.contains('/') => (case, Some(mode)),
        _ => (name, None),
    }
}

impl SelectArgs {
    pub fn chosen(&self) -> RunChoices {
        let (suite, max_skills, max_cases) = (self.suite.clone(), self.max_skills, self.max_cases);
        RunChoices {
            selection: TestSelection { suite, max_skills, max_cases, ..self.names.selection() },
            overrides: Overrides {
                model: self.model.clone(),
                timeout_s: self.timeout_s,
                stop: self.trial_end,
                judge: (self.judge || self.no_judge).then_some(self.judge),
                judge_votes: self.judge_votes,
                ..Overrides::default()
            },
            ..RunChoices::default()
        }
    }
}

/// Uses the threshold that a stored run was started with, unless a variable sets one.
pub fn apply_threshold_of(run: &RunFolder, settings: &mut Settings) {
    let record = run.run_record().ok().flatten();
    let threshold = &mut settings.repetition.asked.threshold;
    *threshold = threshold.or(record.and_then(|record| record.chosen.overrides.threshold));
}

pub fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().and_then(trials::threshold).ok_or_else(|| format!("expected {A_SHARE}"))
}

// Options that the command line gives, for commands that refuse some of them. What an option means is a mark on it.

/// It says how trials run: it means nothing where trials are only read.
pub const STARTS: &str = "starts-trials";
/// It chooses cases.
pub const CASES: &str = "chooses-cases";
/// It chooses modes.
pub const MODES: &str = "chooses-modes";
/// It says what a side of a comparison is.
pub const SIDES: &str = "chooses-sides";
/// It says when a comparison decides.
pub const RULE: &str = "decides";
/// It is for one process, and not for each shard on a cluster.
pub const ALONE: &str = "for-one-process";

const MARKS: [&str; 6] = [STARTS, CASES, MODES, SIDES, RULE, ALONE];

/// The same with the marks. Any number of options may have one.
pub fn marked(command: Command) -> Command {
    let declared = |command: Command| {
        MARKS.iter().fold(command, |command, mark| command.group(ArgGroup::new(*mark).multiple(true)))
    };
    command.mut_subcommands(declared)
}

/// The options that are given, each with a mark.
#[derive(Default)]
pub struct Given(Vec<(&'static str, String)>);

impl Given {
    /// The first with one of these marks, as users write it.
    pub fn first(&self, marks: &[&str]) -> Option<&str> {
        self.0.iter().find(|(mark, _)| marks.contains(mark)).map(|(_, option)| option.as_str())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let of_mark = |mark: &'static str| {
            let ids = matches.try_get_many::<Id>(mark).ok().flatten().into_iter().flatten();
            let given = ids.filter(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine));
            given.map(move |id| (mark, format!("--{}", id.as_str().replace('_', "-"))))
        };
        Ok(Self(MARKS.into_iter().flat_map(of_mark).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

// The option that chooses trials by a list.

/// Chooses the trials of a list.
#[derive(Args)]
pub struct TrialListArgs {
    /// Only the trials in this file, one on each line, as `list` prints them; `-` is stdin
    #[arg(long, alias = "ids", value_name = "FILE|-", conflicts_with_all = ["case", "mode", "agent", "failed", "stale", "aged", "max_skills", "max_cases", "background"])]
    cases_from: Option<PathBuf>,
}

impl TrialListArgs {
    /// Adds the trials and their modes to the choices.
    pub fn choose(&self, chosen: &mut RunChoices, settings: &Settings, catalog: &Catalog) -> Result<(), Problem> {
        let Some(path) = &self.cases_from else { return Ok(()) };
        let is_stdin = path.as_os_str() == "-";
        let file = if is_stdin { "stdin".to_owned() } else { path.display().to_string() };
        // Not only regular files: a shell names a pipe in `--cases-from <(skill-evals list)`.
        let text =
            if is_stdin { bounded::read_stream(io::stdin()) } else { File::open(path).and_then(bounded::read_stream) };
        let text = text.about(format_args!("--cases-from {file}"))?;
        let known = KnownIds::new(settings, catalog);
        let (mut ids, mut modes) = (BTreeSet::new(), BTreeSet::new());
        let text = text.trim_start_matches('\u{feff}');
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            // `list` prints columns after the id.
            let id = line.split('\t').next().unwrap_or_default();
            let (case, mode) = known.find(id).about(format_args!("{file}:{}", index + 1))?;
            ids.insert(format!("{case}/{mode}"));
            modes.insert(mode.to_owned());
        }
        if ids.is_empty() {
            return Err(format!("--cases-from {file} has no ids: expected the lines of `skill-evals list`").into());
        }
        chosen.modes = modes.into_iter().collect();
        chosen.trials_by_name = ids.into_iter().collect();
        Ok(())
    }
}

/// The cases as `skill/case` and the modes, by their part of a test's name: `list --json` prints that too.
struct KnownIds<'a> {
    settings: &'a Settings,
    cases: HashMap<String, String>,
    modes: HashMap<String, &'a str>,
}

impl<'a> KnownIds<'a> {
    fn new(settings: &'a Settings, catalog: &Catalog) -> Self {
        let cases = catalog.cases.iter().map(|found| format!("{}/{}", found.skill, found.id));
        Self {
            settings,
            cases: cases.map(|case| (as_test_name(&case, true), case)).collect(),
            modes: settings.modes.iter().map(|mode| (segment(&mode.name), mode.name.as_str())).collect(),
        }
    }

    /// The case and the mode of an id.
    fn find(&self, id: &str) -> Result<(&str, &'a str), Problem> {
        let name = as_test_name(id, true);
        let Some((case, mode)) = name.rsplit_once("::").filter(|(case, _)| case.contains("::")) else {
            return Err(format!("`{id}`: expected skill/case/mode, as `skill-evals list` prints it").into());
        };
        let found = self.cases.get(case).ok_or_else(|| {
            let nearest = nearest_few(id, self.cases.values().map(String::as_str), 3).join(", ");
            format!("unknown trial `{id}`; nearest cases: {nearest}")
        })?;
        let mode = self.modes.get(mode).ok_or_else(|| {
            let mode = id.rsplit(['/', ':']).next().unwrap_or_default();
            format!("unknown trial `{id}`: {}", self.settings.unknown_mode(mode))
        })?;
        Ok((found, mode))
    }
}

// Suggestions for unknown options and commands. clap compares letters; other programs use other words.

/// Options, each with its names in other programs.
const OPTIONS: [(&str, &[&str]); 10] = [
    ("--trials", &["--repeat", "--repeats", "--repetitions", "--runs", "--times", "--count", "--epochs", "--samples"]),
    ("--json", &["--format", "--output-format", "--reporter"]),
    ("--jobs", &["--parallel", "--concurrency", "--threads", "--workers", "--test-threads"]),
    ("--case", &["--filter", "--only", "--grep", "--test", "--id"]),
    ("--root", &["--dir", "--directory", "--cwd", "--path", "--repo"]),
    ("--failed", &["--rerun", "--rerun-failed", "--last-failed"]),
    ("--shard", &["--partition", "--split"]),
    ("--trial-end", &["--stop", "--early-stop"]),
    ("--fail-on", &["--gate", "--fail"]),
    ("--max-cost-usd", &["--budget", "--cost", "--max-cost", "--max-budget-usd"]),
];

/// Commands, each with its names in other programs.
const COMMANDS: [(&str, &[&str]); 9] = [
    ("run", &["test", "tests", "eval", "evals", "execute", "start"]),
    ("run --replay", &["replay"]),
    ("run --watch", &["watch"]),
    ("run --stale", &["rerun"]),
    ("lint", &["check", "validate", "verify"]),
    ("compare", &["diff", "bench", "benchmark"]),
    ("show", &["view", "inspect", "trace"]),
    ("merge", &["join", "combine"]),
    ("init", &["new", "setup", "create"]),
];

/// The error, with the command or option that the user means as its suggestion.
pub fn suggested(mut error: Error) -> Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
        if let Some(command) = translated(&COMMANDS, word) {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![command.to_owned()]));
        } else if let Some(near) = nearest(word, Cli::command().get_subcommands().map(clap::Command::get_name)) {
            // clap counts letters in common: of `rn`, `harness` has more than `run`.
            let near = near.to_owned();
            let is_known = matches!(error.get(ContextKind::SuggestedSubcommand), Some(ContextValue::Strings(known)) if known.contains(&near));
            if !is_known {
                error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near]));
            }
        }
    } else if let (ErrorKind::UnknownArgument, Some(ContextValue::String(word))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    {
        let word = word.clone();
        if let Some(option) = translated(&OPTIONS, &word).filter(|option| command_has(option)) {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(option.to_owned()));
            return error;
        }
        // A name without its option: a service of CI, or a skill.
        let named = ["--ci", "--skill"].into_iter().find(|option| command_has(option));
        if let Some(option) = named.filter(|_| !word.starts_with('-')) {
            error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("{option} {word}")));
            return error;
        }
        // To clap, `--output` is like `--untrusted`; and nobody means an option as a value.
        let is_meant = |near: &str| nearest(&word, [near]).is_some() || word.split('-').all(|part| near.contains(part));
        let near = error.get(ContextKind::SuggestedArg).map(ToString::to_string);
        if near.is_some_and(|near| !is_meant(&near)) {
            error.remove(ContextKind::SuggestedArg);
            // It has the option that was suggested.
            error.remove(ContextKind::Usage);
        }
        error.remove(ContextKind::Suggested);
    } else if error.kind() == ErrorKind::ValueValidation
        && let Some(why) = error.source().map(ToString::to_string)
        && let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg)
        && why.contains("invalid digit")
    {
        let argument = argument.clone();
        let value = error.get(ContextKind::InvalidValue).map(ToString::to_string).unwrap_or_default();
        return Error::raw(
            ErrorKind::ValueValidation,
            format!("invalid value '{value}' for '{argument}': expected a whole number, in digits alone\n"),
        );
    }
    error
}

fn translated(words: &[(&'static str, &[&str])], word: &str) -> Option<&'static str> {
    words.iter().find(|(_, others)| others.contains(&word)).map(|(own, _)| *own)
}

fn command_has(option: &str) -> bool {
    let program = Cli::command();
    let mut words = std::env::args_os().skip(1);
    let command = words.find_map(|word| program.find_subcommand(word));
    command
        .is_some_and(|command| command.get_arguments().any(|argument| argument.get_long() == option.strip_prefix("--")))
}
