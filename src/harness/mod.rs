//! The test harness: every case in every mode as a test that cargo test, nextest and IDEs understand.
//!
//! A `tests/skill_evals.rs` with `harness = false` needs one line:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     skill_evals::harness::main()
//! }
//! ```
//!
//! By default, tests replay recordings; `SKILL_EVALS_LIVE=1` runs the agents. [`Harness`] sets another root or other skill
//! directories, and adds cases and custom checks.

#[doc(hidden)]
pub mod args;
mod context;
#[doc(hidden)]
mod trials;

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;

use crate::agent;
use crate::cases::catalog::Catalog;
use crate::cases::repository::{Repository, Scope};
use crate::mcp;
use crate::process::{close_inherited_files, interrupt, watchdog};
use crate::report::diagnostics;
use crate::report::paint::Paint;
use crate::report::trial_text::RerunCommand;
use crate::run::custom_check::{self, CustomChecks};
use crate::run::plan::{self, PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::{preflight, recorded_modes};
use crate::settings::load::{self, ConfigError};
use crate::settings::{BuiltIn, Settings, TestSelection, Trust};
use crate::text::name::Filters;
use crate::text::name::RelativePath;
use crate::text::problem::Problem;

#[doc(inline)]
pub use crate::agent::StreamEvent;
#[doc(inline)]
pub use crate::run::custom_check::{
    Check, CheckError, Finding, ReadError, Recording, RecordingError, Trial, TrialSample,
};
#[doc(inline)]
pub use crate::trace::Usage;
pub use trials::CaseBuilder;
pub use trials::{HarnessError, TrialResult};

use args::{HarnessRequest, HarnessRoot, ParsedArgs};
use context::{Audience, Watch, say};
use context::{ProcessTally, TestContext};
use trials::PrintError;

/// Runs the evals of the repository that contains this crate, with the arguments of this process.
#[must_use]
#[track_caller]
pub fn main() -> ExitCode {
    Harness::new().main()
}

/// A harness with its own options.
///
/// ```no_run
/// use skill_evals::harness::{Check, Finding, Harness};
///
/// fn main() -> std::process::ExitCode {
///     Harness::new()
///         .root("../..")
///         .skill_root("plugins/office/skills")
///         .case("greeting", "says-ahoy", |case| case.prompt("Greet the captain.").must_include("Ahoy"))
///         .check(Check::new("few-commands", |trial| {
///             let commands = trial.trace().commands;
///             Ok(Finding::of(commands < 20, format!("{commands} commands")))
///         }))
///         .check(Check::new("report-is-short", |trial| {
///             let report = trial.read_text("report.md")?;
///             Ok(Finding::of(report.len() < 2_000, format!("{} bytes", report.len())))
///         }).skill("report"))
///         .main()
/// }
/// ```
#[derive(Debug, Default)]
pub struct Harness {
    root: HarnessRoot,
    skill_roots: Vec<String>,
    cases: Vec<CaseBuilder>,
    /// The names of the agents whose lines it reads.
    agents: Vec<String>,
    custom_checks: CustomChecks,
    /// Whether this process can be started once more to run its checks.
    is_main: bool,
    rerun_command: RerunCommand,
    trust: Option<Trust>,
}

impl Harness {
    /// The harness that [`main`] runs.
    #[must_use]
    #[track_caller]
    pub fn new() -> Self {
        Self { root: HarnessRoot { source: Location::caller().file(), ..HarnessRoot::default() }, ..Self::default() }
    }

    /// Sets the repository's root, from the crate's directory. The default is the nearest directory around the crate that has
    /// `evals` or `skills`. `SKILL_EVALS_ROOT` overrides both.
    ///
    /// Do not take the crate's directory from `env!`: checkouts that share a target directory share the program too, and it
    /// would test the skills of the checkout that built it.
    #[must_use]
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root.path = Some(root.into());
        self
    }

    /// Sets the repository's root that the user chose: `SKILL_EVALS_ROOT` does not override it.
    #[doc(hidden)]
    #[must_use]
    pub fn chosen_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root.is_final = true;
        let root = root.into();
        self.root(std::path::absolute(&root).unwrap_or(root))
    }

    /// Says whether the repository is believed. The default is what the environment says.
    #[doc(hidden)]
    #[must_use]
    pub fn trusting(mut self, trust: Trust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// Adds a directory with skills, from the repository's root. These directories replace those in `evals/evals.toml`.
    #[must_use]
    pub fn skill_root(mut self, folder: impl Into<String>) -> Self {
        self.skill_roots.push(folder.into());
        self
    }

    /// Adds a case of the skill with this slug to those in files. Only `cargo test` runs it: the program `skill-evals` reads files.
    /// `write` says what it asks and expects. What is wrong with it fails its trials.
    #[must_use]
    #[track_caller]
    pub fn case(
        mut self,
        skill: impl Into<String>,
        id: impl Into<String>,
        write: impl FnOnce(CaseBuilder) -> CaseBuilder,
    ) -> Self {
        self.cases.push(write(CaseBuilder::new(skill.into(), id.into(), Location::caller())));
        self
    }

    /// Reads what an agent prints: `read` says what a line of JSON says. The agent is a table in evals/evals.toml, which says how
    /// its program is started: `[agents.NAME]` with `protocol = "rust"`. So every command knows its modes; trials of it run and
    /// are read by this harness only.
    ///
    /// If `read` fails or panics, the trial is an error that shows the line, and so is a trial that never says
    /// [`StreamEvent::Done`]. Lines are read several times and one by one, so that `read` should remember nothing.
    ///
    /// ```no_run
    /// use skill_evals::harness::{Harness, StreamEvent};
    ///
    /// fn main() -> std::process::ExitCode {
    ///     let text = |line: &serde_json::Value| line["text"].as_str().map(str::to_owned).ok_or("no text");
    ///     Harness::new()
    ///         .agent("mine", move |line| match line["type"].as_str() {
    ///             Some("says") => Ok(vec![StreamEvent::Message { text: text(line)?, is_piece: false }]),
    ///             Some("end") => Ok(vec![StreamEvent::Done]),
    ///             Some("debug") => Ok(vec![]),
    ///             _ => Ok(vec![StreamEvent::Unknown]),
    ///         })
    ///         .main()
    /// }
    /// ```
    #[must_use]
    pub fn agent<R>(mut self, name: impl Into<String>, read: R) -> Self
    where
        R: Fn(&Value) -> Result<Vec<StreamEvent>, Box<dyn Error + Send + Sync>> + Send + Sync + 'static,
    {
        let name = name.into();
        agent::read_in_rust(name.clone(), Arc::new(read));
        self.agents.push(name);
        self
    }

    /// Opens a stored trial, to try a check with, as [`Recording::open`] does. Trials of the agents that this harness reads can only
    /// be opened so.
    ///
    /// # Errors
    ///
    /// As [`Recording::open`].
    pub fn recording(&self, path: impl AsRef<Path>) -> Result<Recording, RecordingError> {
        // Its agents are known to this process since they were added.
        Recording::open(path)
    }

    /// Adds a custom check.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.custom_checks.add(check);
        self
    }

    /// Runs with the arguments of this process.
    #[must_use]
    pub fn main(self) -> ExitCode {
        if watchdog::take_over() {
            return ExitCode::SUCCESS;
        }
        if let Some(code) = agent::take_over() {
            return code;
        }
        if let Some(skills) = asked_to_serve(std::env::args_os().skip(1)) {
            return done(serve(skills));
        }
        let is_checked = std::env::args_os().skip(1).eq([custom_check::ARGUMENT, custom_check::CHECKED]);
        if is_checked || std::env::args_os().skip(1).eq([custom_check::ARGUMENT]) {
            return match self.root.find() {
                Ok(root) => done(self.answer_about_checks(root, is_checked)),
                Err(why) => refuse(&why),
            };
        }
        let mut harness = self;
        (harness.is_main, harness.rerun_command) = (true, own_rerun_command());
        harness.run(std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()))
    }

    fn answer_about_checks(&self, root: PathBuf, is_checked: bool) -> io::Result<()> {
        let problems = if is_checked { Vec::new() } else { context::problems_at(self, &root) };
        custom_check::serve(&self.custom_checks, root, problems)
    }

    /// Adds all of these checks.
    #[doc(hidden)]
    #[must_use]
    pub fn with_checks(mut self, checks: CustomChecks) -> Self {
        self.custom_checks.extend(checks);
        self
    }

    /// Runs with these arguments, as libtest takes them.
    #[must_use]
    pub fn run(mut self, arguments: impl IntoIterator<Item = String>) -> ExitCode {
        close_inherited_files();
        if self.rerun_command == RerunCommand::default() {
            self.rerun_command = RerunCommand::Harness("skill-evals harness".to_owned());
        }
        match args::parse(arguments, |name| std::env::var(name).ok()) {
            Ok(HarnessRequest::Trials(parsed)) => match self.root.find() {
                Ok(root) => run(self, root, *parsed),
                Err(why) => refuse(&why),
            },
            Ok(HarnessRequest::Help) => match trials::write_text(&args::help()) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    PrintError::Error(error.to_string()).exit_code(true)
                }
                _ => ExitCode::SUCCESS,
            },
            Err(why) => refuse(&why),
        }
    }

    fn trust(&self) -> Trust {
        self.trust.or_else(Trust::of_environment).unwrap_or_default()
    }

    /// `None` if no skill root was added.
    fn skill_roots(&self) -> Result<Option<Vec<RelativePath>>, Problem> {
        let mut roots = Vec::new();
        for root in &self.skill_roots {
            let path = RelativePath::parse(root).map_err(|why| format!("the harness's skill root {root:?} {why}"))?;
            roots.push(path);
        }
        Ok(Some(roots).filter(|roots| !roots.is_empty()))
    }
}

fn refuse(why: &dyn Display) -> ExitCode {
    say(&format!("error: {why}"));
    ExitCode::from(args::EXIT_BAD_ARGUMENTS)
}

/// How a reader runs a trial of this test again.
fn own_rerun_command() -> RerunCommand {
    RerunCommand::Harness(format!("cargo test --test {} --", own_name()))
}

/// The name of this test for cargo: that of the program, without the hash that cargo adds.
fn own_name() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or(OsStr::new("skill_evals")).to_string_lossy().into_owned();
    match stem.rsplit_once('-') {
        Some((name, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => name.to_owned(),
        _ => stem,
    }
}

/// A run whose trials are known, and the problem of its setup, which fails every trial.
struct HarnessPlan {
    run: PlannedRun,
    plan: RunPlan,
    setup_problem: Option<String>,
}

/// Plans the whole run, or the part that `parsed` needs.
fn planned(harness: Harness, root: PathBuf, parsed: &ParsedArgs) -> HarnessPlan {
    // An invalid setup fails every trial: without a list of trials nobody would see it.
    let mut setup_problem = None;
    let mut settings = load::read(&root, harness.trust()).unwrap_or_else(|error| {
        setup_problem = Some(match &error {
            ConfigError::File(problems) => diagnostics::render(problems, Paint::Plain),
            other => other.to_string(),
        });
        Settings::default()
    });
    match harness.skill_roots() {
        Ok(roots) => settings.skill_roots = roots.or(settings.skill_roots),
        Err(why) => setup_problem = Some(why.to_string()),
    }
    // A test runs its trial to the end.
    settings.stop = None;
    let (mut catalog, is_whole) = read_catalog(&root, &settings, parsed);
    catalog.add_rust_cases(&root, harness.cases.iter().cloned().map(CaseBuilder::into_case));
    let problems = context::problems(&harness, &settings, is_whole.then_some(&catalog));
    setup_problem = setup_problem.or(Some(problems.join("\n")).filter(|problems| !problems.is_empty()));
    let no_filters = Filters::default();
    settings.default_modes = recorded_modes::of_recordings(&root, &settings, &catalog);
    let plan = plan::plan(&root, &settings, &catalog, &no_filters).unwrap_or_else(|problem| {
        setup_problem.get_or_insert_with(|| problem.to_string());
        settings.selection = TestSelection::default();
        plan::plan(&root, &settings, &catalog, &no_filters).unwrap_or_default()
    });
    settings.jobs = parsed.threads.map(|threads| threads.max(1)).or(settings.jobs);
    let mut run = PlannedRun::new(root, settings, catalog);
    run.rerun_command = harness.rerun_command;
    run.custom_checks = if harness.is_main {
        context::in_own_process(harness.custom_checks, &run.root, &mut setup_problem)
    } else {
        harness.custom_checks
    };
    if !parsed.args.list {
        (run.plan, run.chosen.trials_by_name) = select(parsed, &plan);
    }
    HarnessPlan { run, plan, setup_problem }
}

fn run(harness: Harness, root: PathBuf, mut parsed: ParsedArgs) -> ExitCode {
    let nextest = std::env::var_os("NEXTEST").is_some();
    let is_main = harness.is_main;
    let HarnessPlan { mut run, plan, setup_problem } = planned(harness, root, &parsed);
    // More threads than tests would only be started.
    let jobs = run.settings.jobs().min(plan.entries.len() + run.catalog.skills.len() + 1);
    parsed.args.test_threads = Some(jobs);
    run.shared_id = std::env::var("NEXTEST_RUN_ID").ok().filter(|_| nextest);
    let unnamed = if is_main { context::unnamed(&run, &own_name()) } else { None };
    let tally = ProcessTally::default();
    let context = Arc::new(TestContext { run: run.start(), parsed, setup_problem, unnamed, nextest, tally });
    let parsed = &context.parsed;
    let tests = trials::all(&context, plan);
    if parsed.args.list {
        let listed =
            tests.iter().filter(|test| parsed.wants(&test.name) && (!parsed.args.ignored || test.ignored.is_some()));
        let listed = trials::list(&parsed.args, listed);
        // Freeing a hundred thousand cases takes half as long as reading them, and the process ends anyway.
        std::mem::forget((tests, Arc::clone(&context)));
        return listed.map_or_else(|error| error.exit_code(false), |()| ExitCode::SUCCESS);
    }
    let mut trials: Vec<_> = tests.into_iter().map(|test| test.trial(&context)).collect();
    prepare(parsed, &mut trials, context.silent());
    let audience = match Audience::of_stderr() {
        _ if context.silent() => Audience::Nobody,
        // With one thread libtest-mimic begins a line before its trial runs, and nothing can be drawn there.
        Audience::Terminal if jobs == 1 => Audience::Reader,
        audience => audience,
    };
    context.watch(Watch::new(audience, context.run.plan.len(), jobs));
    let conclusion = trials::run_tests(&parsed.args, trials);
    context.close();
    match conclusion {
        _ if interrupt::raised() => ExitCode::from(130),
        Ok(conclusion) => conclusion.exit_code(),
        // Trials after the first line that could not be printed may not have run.
        Err(error) => error.exit_code(true),
    }
}

/// The directory in `mcp --skills DIR`: an agent under test starts this program as its MCP server of skills, so that nothing
/// must be built or installed first. Test filters are never like that.
fn asked_to_serve(mut args: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let matches = args.next()? == "mcp" && args.next()? == "--skills";
    args.next().filter(|_| matches).map(PathBuf::from)
}

fn serve(skills: PathBuf) -> Result<(), Problem> {
    let how = BuiltIn::from_env(|name| std::env::var(name).ok())?;
    Ok(mcp::serve(&[skills], how)?)
}

fn done(result: Result<(), impl Display>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// The selected part of the plan, and the names of its trials unless all are selected: a resumed run starts no others.
fn select(parsed: &ParsedArgs, plan: &RunPlan) -> (RunPlan, Vec<String>) {
    let entries = plan.entries.iter().filter(|entry| parsed.wants(&entry.planned.test_name()));
    let entries: Vec<PlannedCase> = entries.cloned().collect();
    let names = if entries.len() == plan.entries.len() {
        Vec::new()
    } else {
        entries.iter().map(|entry| entry.planned.trial(1).to_string()).collect()
    };
    (RunPlan { entries }, names)
}

/// Filters and shuffles trials, handles signals, and prints notes for the user.
fn prepare(parsed: &ParsedArgs, trials: &mut Vec<libtest_mimic::Trial>, silent: bool) {
    if parsed.filters.len() > 1 {
        // libtest-mimic has only one filter, and counts only what that leaves out.
        let before = trials.len();
        trials.retain(|trial| parsed.wants(trial.name()));
        if !silent {
            say(&format!("skill-evals: {} filters leave {} of {before} trials", parsed.filters.len(), trials.len()));
        }
    }
    // On Ctrl-C agents must end first.
    if let Err(error) = interrupt::listen(false) {
        say(&format!("skill-evals: Ctrl-C will not end running agents: {error}"));
    }
    for note in &parsed.notes {
        say(&format!("skill-evals: {note}"));
    }
    if let Some(shuffle) = parsed.shuffle {
        let seed = match shuffle {
            args::ShuffleOrder::Seed(seed) => seed,
            args::ShuffleOrder::Any => fastrand::u64(..),
        };
        fastrand::Rng::with_seed(seed).shuffle(trials);
        say(&format!("skill-evals: shuffle seed: {seed}"));
    }
}

/// The catalog, or only the part that the one selected trial needs; and whether it is whole.
fn read_catalog(root: &Path, settings: &Settings, parsed: &ParsedArgs) -> (Catalog, bool) {
    let repository = Repository::new(root.to_path_buf());
    let scope = match parsed.only() {
        // A selection depends on all cases, and so does the repository's lint.
        Some((skill, case, rest)) if settings.selection.is_all() && (rest.is_some() || skill != "repository") => {
            Scope::Test { skill, case }
        }
        _ => Scope::All,
    };
    let is_whole = matches!(scope, Scope::All);
    (repository.catalog(preflight::layout(settings), scope), is_whole)
}
