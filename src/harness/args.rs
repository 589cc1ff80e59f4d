//! The harness's arguments, which are those of libtest in Rust 1.95: some are for the harness, some for libtest-mimic, and
//! `--help` explains the rest. Unstable options do not need `-Z unstable-options`.
#![allow(clippy::must_use_candidate, reason = "hidden from users")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, ColorSetting, FormatSetting};

use crate::cases::repository::Repository;
use crate::files::look;
use crate::settings::PREFIX;
use crate::text::diagnostic::nearest;
use crate::text::name::as_test_name;
use crate::text::problem::Problem;

/// The exit code for invalid arguments, as with libtest.
pub const EXIT_BAD_ARGUMENTS: u8 = 101;

#[derive(Debug)]
pub enum HarnessRequest {
    Help,
    /// List or run trials.
    Trials(Box<ParsedArgs>),
}

#[derive(Debug, Default)]
pub struct ParsedArgs {
    /// For libtest-mimic. Its filter is set if there is only one.
    pub args: Arguments,
    /// A trial runs if its name matches one of them, or if there are none. With `_` as in names.
    pub filters: Vec<String>,
    /// How many trials run at once, from `--test-threads`.
    pub threads: Option<usize>,
    pub shuffle: Option<ShuffleOrder>,
    pub fail_fast: bool,
    pub report_time: bool,
    pub show_output: bool,
    /// Printed on standard error before the trials run.
    pub notes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShuffleOrder {
    /// With a random seed, which is printed.
    Any,
    Seed(u64),
}

/// An option, the name of its value if it has one, its help, and what it sets.
type HarnessOption = (&'static str, &'static str, &'static str, fn(&mut ParsedArgs, &str) -> Result<(), String>);

/// Declares the options: what one sets is an expression. One that sets nothing is taken as libtest takes it.
macro_rules! options {
    (@) => { |_, _| Ok(()) };
    (@ |$to:ident, $given:pat_param| $set:expr) => {
        |$to, $given| {
            let () = $set;
            Ok(())
        }
    };
    ($($name:literal $value:literal: $help:literal $(, |$to:ident, $given:pat_param| $set:expr)?;)*) => {
        const OPTIONS: [HarnessOption; [$($name),*].len()] =
            [$(($name, $value, $help, options!(@ $(|$to, $given| $set)?))),*];
    };
}

options! {
    "list" "": "List all trials", |to, _| to.args.list = true;
    "exact" "": "Match filters to whole names", |to, _| to.args.exact = true;
    "skip" "FILTER": "Leave out trials whose names contain FILTER (repeatable)",
        |to, filter| to.args.skip.push(filter.to_owned());
    "ignored" "": "Run only ignored trials: those without a recording, which then fail unless agents run",
        |to, _| to.args.ignored = true;
    "include-ignored" "": "Run ignored trials too", |to, _| to.args.include_ignored = true;
    "test-threads" "N": "Trials to run at once [default: `jobs`, or by cores and free memory]",
        |to, number| to.threads = Some(threads("argument for --test-threads", number)?);
    "fail-fast" "": "Start no trial after the first failure; those not run are reported as ignored",
        |to, _| to.fail_fast = true;
    "shuffle" "": "Run in random order; the seed is printed",
        |to, _| to.shuffle = to.shuffle.or(Some(ShuffleOrder::Any));
    "shuffle-seed" "SEED": "Run in the random order of SEED",
        |to, number| to.shuffle = Some(seed("argument for --shuffle-seed", number)?);
    "format" "pretty|terse|json": "How results are printed", |to, value| to.args.format = Some(match value {
        "pretty" => FormatSetting::Pretty,
        "terse" => FormatSetting::Terse,
        "json" => FormatSetting::Json,
        "junit" => return Err("--format junit is not for trials; cargo-nextest writes JUnit".to_owned()),
        _ => return Err(format!("argument for --format must be pretty, terse or json (was {value})")),
    });
    // As with libtest, --format overrides it: it is settled when all options are read.
    "quiet" "": "One character for each trial; -q", |to, _| to.args.quiet = true;
    "color" "auto|always|never": "When to color the output", |to, value| to.args.color = Some(match value {
        "auto" => ColorSetting::Auto,
        "always" => ColorSetting::Always,
        "never" => ColorSetting::Never,
        _ => return Err(format!("argument for --color must be auto, always, or never (was {value})")),
    });
    "logfile" "PATH": "Print results to a file", |to, path| to.args.logfile = Some(path.to_owned());
    "show-output" "": "Print the checks of passed trials too, on standard error", |to, _| to.show_output = true;
    "report-time" "": "Print how long each trial took, on standard error", |to, _| to.report_time = true;
    "ensure-time" "": "Taken, without effect: the case's timeout_s bounds a trial",
        |to, _| to.notes.push("--ensure-time has no effect: a case's timeout_s bounds its trial".to_owned());
    "no-capture" "": "Taken: nothing is captured";
    "nocapture" "": "As --no-capture";
    "force-run-in-process" "": "Taken: trials run in this process";
    "exclude-should-panic" "": "Taken: no trial should panic";
    "test" "": "Taken: trials are tests", |to, _| to.args.test = true;
    "bench" "": "Benchmarks only, of which there are none: every trial is ignored", |to, _| to.args.bench = true;
    "help" "": "Print this; -h";
    "Z" "unstable-options": "Taken: what libtest calls unstable is stable here", |_to, value| if value != "unstable-options" {
        return Err("Unrecognized option to `Z`".to_owned());
    };
}

pub fn help() -> String {
    let mut text = String::from("Usage: [OPTIONS] [FILTERS...]\n\nOptions:\n");
    for (name, value, does, _) in OPTIONS {
        let dashes = if name.len() == 1 { "-" } else { "--" };
        let option = format!("{dashes}{name} {value}");
        let _ = writeln!(text, "    {option:<28}{does}");
    }
    text.push_str(
        "\nA trial runs if its name contains one of the FILTERS; `-`, `+` and `_` count as one. Trials are called\n\
         skill::case::mode, and skill::lint. Recordings are replayed; SKILL_EVALS_LIVE=1 runs the agents.\n",
    );
    text
}

/// Parses the arguments; `variable` reads the environment. Errors have the words of libtest.
pub fn parse(
    arguments: impl IntoIterator<Item = String>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<HarnessRequest, String> {
    let mut parsed = ParsedArgs::default();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            parsed.filters.extend(rest.by_ref());
            break;
        }
        let options = options(&argument)?;
        if options.is_empty() {
            parsed.filters.push(argument);
            continue;
        }
        for (name, value) in options {
            let Some((_, expected, _, set)) = OPTIONS.iter().find(|option| option.0 == name) else {
                return Err(unknown(&name));
            };
            let takes_value = !expected.is_empty();
            let value = match (takes_value, value) {
                (false, Some(_)) => return Err(format!("Option '{name}' does not take an argument")),
                (true, None) => rest.next().ok_or_else(|| format!("Argument to option '{name}' missing"))?,
                (_, value) => value.unwrap_or_default(),
            };
            if name == "help" {
                return Ok(HarnessRequest::Help);
            }
            set(&mut parsed, &value)?;
        }
    }
    if parsed.args.ignored && parsed.args.include_ignored {
        return Err("the options --include-ignored and --ignored are mutually exclusive".to_owned());
    }
    if parsed.args.test && parsed.args.bench {
        return Err("the options --test and --bench are mutually exclusive".to_owned());
    }
    parsed.args.quiet &= parsed.args.format.is_none();
    parsed.read_environment(&variable)?;
    parsed.settle();
    Ok(HarnessRequest::Trials(Box::new(parsed)))
}

/// An argument as options, each with the value attached to it. Empty if the argument is a filter.
fn options(argument: &str) -> Result<Vec<(String, Option<String>)>, String> {
    if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value.to_owned())));
        let known = name.len() > 1 && OPTIONS.iter().any(|(known, ..)| *known == name);
        return if known { Ok(vec![(name.to_owned(), value)]) } else { Err(unknown(name)) };
    }
    let Some(mut short) = argument.strip_prefix('-').filter(|short| !short.is_empty()) else { return Ok(Vec::new()) };
    let mut options = Vec::new();
    while let Some(letter) = short.chars().next() {
        short = &short[letter.len_utf8()..];
        match letter {
            'q' => options.push(("quiet".to_owned(), None)),
            'h' => options.push(("help".to_owned(), None)),
            'Z' => {
                let value = (!short.is_empty()).then(|| short.to_owned());
                options.push(("Z".to_owned(), value));
                break;
            }
            other => return Err(unknown(&other.to_string())),
        }
    }
    Ok(options)
}

fn unknown(name: &str) -> String {
    let known = OPTIONS.map(|(name, ..)| name);
    let hint = nearest(name, known).map_or_else(String::new, |near| format!("; did you mean --{near}?"));
    format!("Unrecognized option: '{name}'{hint}")
}

impl ParsedArgs {
    /// Reads libtest's variables, except for `RUST_TEST_NOCAPTURE`: nothing is captured anyway.
    fn read_environment(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
        // libtest reads them only when it runs tests.
        if self.args.list {
            return Ok(());
        }
        if let (None, Some(value)) = (self.threads, variable("RUST_TEST_THREADS")) {
            // Our own variable is more specific.
            if variable("SKILL_EVALS_JOBS").is_none() {
                self.threads = Some(threads("RUST_TEST_THREADS", &value)?);
            }
        }
        if self.shuffle.is_none() {
            self.shuffle = match variable("RUST_TEST_SHUFFLE_SEED") {
                Some(value) => Some(seed("RUST_TEST_SHUFFLE_SEED", &value)?),
                None => variable("RUST_TEST_SHUFFLE").filter(|value| value != "0").map(|_| ShuffleOrder::Any),
            };
        }
        Ok(())
    }

    /// Normalizes filters like names, and passes a single filter to libtest-mimic.
    fn settle(&mut self) {
        let exact = self.args.exact;
        for filter in self.filters.iter_mut().chain(&mut self.args.skip) {
            *filter = as_test_name(filter, exact);
        }
        if let [only] = self.filters.as_slice() {
            self.args.filter = Some(only.clone());
        }
    }

    /// Whether a trial of this name is selected.
    pub fn wants(&self, name: &str) -> bool {
        let matches = |filter: &String| if self.args.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(matches)) && !self.args.skip.iter().any(matches)
    }

    /// The segments of the only name that can match.
    pub fn only(&self) -> Option<(&str, &str, Option<&str>)> {
        let [name] = self.filters.as_slice() else { return None };
        let mut parts = name.split("::");
        match (self.args.exact, parts.next(), parts.next()) {
            (true, Some(skill), Some(case)) => Some((skill, case, parts.next())),
            _ => None,
        }
    }

    pub fn json(&self) -> bool {
        matches!(self.args.format, Some(FormatSetting::Json))
    }
}

fn threads(what: &str, value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(0) => Err(format!("{what} must not be 0")),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{what} must be a number > 0 (error: {error})")),
    }
}

fn seed(what: &str, value: &str) -> Result<ShuffleOrder, String> {
    value.parse().map(ShuffleOrder::Seed).map_err(|error| format!("{what} must be a number (error: {error})"))
}

// The repository that a harness is for.

/// What says where the repository is.
#[derive(Debug, Default)]
pub(super) struct HarnessRoot {
    /// The root that was set, absolute or from the crate's directory.
    pub path: Option<PathBuf>,
    /// Whether the user chose it: the variable does not override it.
    pub is_final: bool,
    /// The file that made the harness, as the compiler saw it.
    pub source: &'static str,
}

impl HarnessRoot {
    /// The root, absolute if possible.
    pub fn find(&self) -> Result<PathBuf, Problem> {
        let variable = std::env::var_os(format!("{PREFIX}ROOT")).filter(|root| !root.is_empty() && !self.is_final);
        if let Some(root) = variable {
            return directory(PathBuf::from(root), "SKILL_EVALS_ROOT is");
        }
        match &self.path {
            Some(path) if path.is_absolute() => directory(path.clone(), "the harness's root is"),
            Some(path) => directory(self.package()?.join(path), "the harness's root is"),
            None => {
                let package = self.package()?;
                let start = std::path::absolute(&package).unwrap_or_else(|_| package.clone());
                let around = Repository::around(&start)?;
                Ok(around.map_or(package, |repository| repository.root))
            }
        }
    }

    /// The crate's directory: cargo names it. Without cargo it is around the working directory, if that has the harness's file.
    fn package(&self) -> Result<PathBuf, Problem> {
        let named = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        named.or_else(|| self.package_here()).ok_or_else(|| {
            format!(
                "the crate of this harness is not known: CARGO_MANIFEST_DIR is not set, and {} is not here; start it by cargo, or set \
                 SKILL_EVALS_ROOT to the repository's root",
                self.source
            )
            .into()
        })
    }

    fn package_here(&self) -> Option<PathBuf> {
        let here = std::env::current_dir().ok()?;
        let source =
            here.ancestors().map(|folder| folder.join(self.source)).find(|source| look::is_usable_file(source))?;
        let package = source.ancestors().find(|folder| look::is_usable_file(&folder.join("Cargo.toml")));
        package.map(Path::to_path_buf)
    }
}

fn directory(path: PathBuf, what: &str) -> Result<PathBuf, Problem> {
    if look::is_directory(&path)? {
        return Ok(path.canonicalize().unwrap_or(path));
    }
    Err(format!("{what} {}, which is not a directory", path.display()).into())
}
