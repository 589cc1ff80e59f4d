//! The command line: one file for each subcommand. The only files that print.

mod archive;
mod cluster;
mod color;
mod compare;
mod default_agent;
mod detached;
mod diagnose;
mod doctor;
mod empty_value;
mod exit_code;
mod explicit_args;
mod export;
mod export_args;
mod fork;
mod gate;
mod generate;
mod github;
mod grade;
mod harness;
mod help;
mod history;
mod import;
mod init;
mod judge;
mod lint;
mod list;
mod mcp;
mod merge;
mod named_runs;
mod next_step;
mod output;
mod record;
mod report;
mod run;
mod select;
mod session;
mod shard;
mod shell;
mod show;
mod start;
mod status;
mod stop;
mod stubs;
mod suggestions;
mod summary;
mod terminal;
mod trial_list;
mod tune;
mod variants;
mod verify;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::agent;
use crate::cases::catalog::Catalog;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cli::exit_code::Exit;
use crate::cli::output::Stream;
use crate::files::inside;
use crate::lint::unknown_plugins;
use crate::process::{git, open_files, watchdog};
use crate::report::diagnostics;
use crate::report::paint::{Paint, Tone};
use crate::run::custom_check::CustomChecks;
use crate::run::custom_check::host;
use crate::settings::load::{self, ConfigError};
use crate::settings::{FILE, Settings, Trust, ignored_keys};
use crate::store::{self, RunFolder};
use crate::text::diagnostic::{Code, Diagnostic, Severity, grouped, once};
use crate::text::escape;

/// Evals of agent skills: does a skill activate when it should, and is it followed?
#[derive(Parser)]
#[command(name = "skill-evals", version)]
struct Cli {
    /// When to color output; `auto` follows the terminal, `NO_COLOR`, `CLICOLOR` and `CLICOLOR_FORCE`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: clap::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List trials: test name, expectation, and where the case is defined
    List(list::ListArgs),
    /// Check skills and their cases.
    Lint(lint::LintArgs),
    /// Check the checks of cases, without an agent
    Verify(verify::VerifyArgs),
    /// Run cases with their agents, or replay their recordings.
    Run(Box<run::RunArgs>),
    /// Compare skills with another version, run or mode, or with no skill
    Compare(Box<compare::CompareArgs>),
    /// Find what keeps a skill from helping: body, description, neighbors
    Diagnose(Box<diagnose::DiagnoseArgs>),
    /// Compare other descriptions of a skill with the current one
    Tune(Box<tune::TuneArgs>),
    /// Check a change: lint, replay, compare what changed with the base
    Gate(Box<gate::GateArgs>),
    /// Show the state of a run, running or not
    Status(status::StatusArgs),
    /// Stop a run and its agents
    Stop(stop::StopArgs),
    /// List stored runs
    Runs(status::RunsArgs),
    /// Measure how far judges agree with each other and with people
    Judge(judge::JudgeArgs),
    /// Show how often cases passed, run by run.
    History(history::HistoryArgs),
    /// Remove old runs.
    Clean(stop::CleanArgs),
    /// Print cluster jobs for shards: Slurm, GitHub or Kubernetes
    Cluster(cluster::ClusterArgs),
    /// Merge the shards of a run into one stored run
    Merge(merge::MergeArgs),
    /// Summarize stored runs
    Summary(summary::SummaryArgs),
    /// Show one trial: failed checks and their evidence, then the session
    Show(show::ShowArgs),
    /// Write runs as one HTML file: results, sessions, evidence of checks
    Report(report::ReportArgs),
    /// Write runs in the formats of other tools
    Export(export::ExportCommandArgs),
    /// Grade stored trials again, without an agent
    Grade(grade::GradeArgs),
    /// Make cases of other programs' files, or of a session of your own
    Import(import::ImportArgs),
    /// Check whether evals can run here, and say how to fix it
    Doctor(doctor::DoctorArgs),
    /// Run the test harness of a repository without a crate
    #[command(hide = true)]
    Harness(harness::HarnessArgs),
    /// Add evals to a repository. Overwrites nothing
    Init(init::InitArgs),
    /// Write stub tests, by which IDEs show trials
    #[command(hide = true)]
    Stubs(stubs::StubsArgs),
    /// Write starter cases for skills that have none
    Generate(generate::GenerateArgs),
    /// Record the trials of a run for replay
    Record(record::RecordArgs),
    /// Print a shell completion script
    Completions(shell::CompletionsArgs),
    /// Print the manual page, or write those of all commands
    #[command(hide = true)]
    Man(shell::ManArgs),
    /// Serve skills by MCP on standard input and output
    Mcp(mcp::McpArgs),
}

/// The exit code of a command, or why it could not run.
type CliResult = CliResultOf<Exit>;

type CliResultOf<T> = Result<T, Box<dyn Error>>;

/// The parser of an option that takes one of these words.
fn one_of<T>(words: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}

/// The error for runs without trials of their own.
fn no_trials(name: &str, runs: &[RunFolder]) -> String {
    if runs.iter().any(named_runs::is_replay) {
        return format!("{name} replayed recordings and has no trials of its own: name {} instead", store::RECORDINGS);
    }
    let places: Vec<String> = runs.iter().map(|run| run.path().display().to_string()).collect();
    format!(
        "no stored trials found in {name}: no meta.json in {}; no trial started, or they were removed; skill-evals status \
         says what ended",
        places.join(", ")
    )
}

pub fn main() -> ExitCode {
    if watchdog::take_over() {
        return ExitCode::SUCCESS;
    }
    if let Some(code) = agent::take_over() {
        return code;
    }
    open_files::close_inherited();
    // clap prints help and usage errors before it returns the arguments.
    let mut program = help::grouped(Cli::command()).color(color::requested(std::env::args_os()));
    let matches = program.try_get_matches_from_mut(std::env::args_os());
    let filled = matches.and_then(|matches| empty_value::refuse(&program, &matches).map(|()| matches));
    let cli = match filled.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return print_clap_error(&suggestions::suggested(error)),
    };
    color::choose(cli.color);
    let result = match cli.command {
        Command::List(args) => list::list(&args),
        Command::Lint(args) => lint::lint(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Diagnose(args) => diagnose::diagnose(&args),
        Command::Gate(args) => gate::gate(*args),
        Command::Status(args) => status::status(&args),
        Command::Stop(args) => stop::stop(&args),
        Command::Runs(args) => status::runs(&args),
        Command::Judge(args) => judge::judge(&args),
        Command::History(args) => history::history(&args),
        Command::Clean(args) => stop::clean(&args),
        Command::Cluster(args) => cluster::cluster(&args),
        Command::Merge(args) => merge::merge(&args),
        Command::Summary(args) => summary::summary(&args),
        Command::Report(args) => report::report(&args),
        Command::Export(args) => export::export(&args),
        Command::Grade(args) => grade::grade(&args),
        Command::Import(args) => import::import(&args),
        Command::Show(args) => show::show(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Generate(args) => generate::generate(&args),
        Command::Record(args) => record::record(&args),
        Command::Mcp(args) => mcp::mcp(&args),
        Command::Completions(args) => shell::completions(&args, Cli::command()),
        Command::Man(args) => shell::man(&args, Cli::command()),
        Command::Harness(args) => return harness::harness(args),
        Command::Init(args) => init::init(&args),
        Command::Stubs(args) => stubs::stubs(&args),
    };
    // Buffered text may still meet a full disk.
    let result = result.and_then(|exit| Ok(output::document_stdout().flush().map(|()| exit)?));
    let exit = result.unwrap_or_else(|error| {
        print_error(error.as_ref());
        Exit::CouldNotRun
    });
    exit.into()
}

fn print_error(error: &(dyn Error + 'static)) {
    let paint = color::paint(Stream::Errors);
    // If standard error is closed too, only the exit code is left.
    let _ = match error.downcast_ref::<ConfigError>() {
        Some(ConfigError::File(problems)) => write!(output::stderr(), "{}", diagnostics::render(problems, paint)),
        _ => match escape::block(&error.to_string()) {
            // A problem of a file, drawn with its own prefix.
            drawn if drawn.starts_with("error[") => writeln!(output::stderr(), "{}", drawn.trim_end()),
            text => writeln!(output::stderr(), "{} {text}", paint.on(Tone::Bad, "error:")),
        },
    };
}

/// Prints help, the version, or the problem with the arguments.
fn print_clap_error(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let _ = writeln!(output::stderr(), "error: {error}");
            Exit::CouldNotRun.into()
        }
        _ if error.use_stderr() => Exit::CouldNotRun.into(),
        _ => Exit::Clean.into(),
    }
}

const NO_SKILLS: &str = "go to a repository with skills, name one with --root, or start one with `skill-evals init`";

#[derive(Args)]
struct RepositoryArgs {
    /// Repository root [default: `SKILL_EVALS_ROOT`, else the nearest parent directory with `evals` or
    /// skills]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Start nothing of the repository outside a sandbox; `gate` does so for forks
    #[arg(long)]
    untrusted: bool,
    /// Whether the settings are those of a gate, and what it compares with, if that is named.
    #[arg(skip)]
    for_gate: bool,
    #[arg(skip)]
    gate_base: Option<String>,
}

/// The text of the settings file in a commit, if it has one. A checkout may have the commit without all its files: other settings must
/// not take the place of those that are not there.
fn settings_of(root: &Path, commit: &str) -> CliResultOf<Option<String>> {
    if let Some(bytes) = git::stored_file(root, commit, FILE) {
        return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
    }
    let files = git::files(root, commit)?;
    if files.iter().any(|file| file == Path::new(FILE)) {
        return Err(format!(
            "{FILE} of the base {commit} cannot be read; fetch it, without a filter such as `blob:none`"
        )
        .into());
    }
    Ok(None)
}

/// A repository as a command reads it.
pub(crate) struct LoadedRepository {
    pub repository: Repository,
    /// With what the command line says.
    pub settings: Settings,
    pub catalog: Catalog,
}

impl RepositoryArgs {
    fn open(&self) -> io::Result<Repository> {
        let variable = std::env::var_os("SKILL_EVALS_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        let Some(root) = self.root.clone().or(variable) else {
            let start = std::env::current_dir()?;
            let found = Repository::around(&start)?.ok_or_else(|| {
                not_found(format!("no skills in {} or the repository around it; {NO_SKILLS}", start.display()))
            });
            return found.and_then(with_own_recordings);
        };
        let root = std::path::absolute(root)?;
        // A typing error must not look like a repository without problems.
        let found = Repository::at(&root)?;
        let found = found.ok_or_else(|| not_found(format!("no skills found in {}; {NO_SKILLS}", root.display())));
        found.and_then(with_own_recordings)
    }

    /// Whether the repository is believed: by the option, else the environment. A gate does not believe a fork.
    fn trust(&self) -> Trust {
        if self.untrusted {
            return Trust::Untrusted;
        }
        let by_default = if self.for_gate && fork::is_checked_out() { Trust::Untrusted } else { Trust::Trusted };
        Trust::of_environment().unwrap_or(by_default)
    }

    /// The repository, its settings and its catalog. Warns of each skill and each file of cases that is not read.
    fn read(&self) -> CliResultOf<LoadedRepository> {
        let LoadedRepository { repository, settings, catalog } = self.read_quietly()?;
        let is_said = |problem: &&Diagnostic| {
            let leaves_out = matches!(problem.code, Code::SkillRoot | Code::LinkedFolder | Code::Unreadable);
            problem.is_error() || leaves_out && problem.severity != Severity::Allowed
        };
        for problem in file_problems(&settings, &catalog).iter().filter(is_said) {
            writeln!(output::stderr(), "{}", problem_line(problem))?;
        }
        // With it, there may be more skills and cases.
        match catalog.unread.as_slice() {
            [] => Ok(LoadedRepository { repository, settings, catalog }),
            [first, ..] => Err(format!("not all of the repository can be read: {first}").into()),
        }
    }

    fn settings(&self, repository: &Repository) -> CliResultOf<Settings> {
        let (root, trust) = (&repository.root, self.trust());
        let base = if self.for_gate && trust == Trust::Untrusted {
            let (commit, _) = gate::base(repository, self.gate_base.as_deref())?;
            settings_of(root, &commit)?
        } else {
            None
        };
        let settings =
            if self.for_gate { load::read_for_gate(root, trust, base.as_deref())? } else { load::read(root, trust)? };
        let ignored = match load::text(root)?.filter(|_| trust == Trust::Untrusted) {
            Some(text) => ignored_keys(&text, base.as_deref()),
            None => Vec::new(),
        };
        if !ignored.is_empty() {
            let instead = if self.for_gate { "that of the base counts" } else { "name them on the command line" };
            let keys = ignored.join("`, `");
            output::warn(&format!("{FILE} is not trusted, and these keys of it do not count: `{keys}`; {instead}"))?;
        }
        Ok(settings)
    }

    fn read_quietly(&self) -> CliResultOf<LoadedRepository> {
        let repository = self.open()?;
        let settings = self.settings(&repository)?;
        let layout = Layout { ignored: Some(git::ignored_of), ..Layout::of(&settings) };
        let catalog = repository.catalog(layout, Scope::All);
        Ok(LoadedRepository { repository, settings, catalog })
    }
}

/// The problems of whole files of skills and cases, and of what evals.toml trusts.
fn file_problems(settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let of_cases = catalog.cases.iter().flat_map(|found| found.source.file_problems().to_vec());
    let of_files = catalog.problems.iter().cloned().chain(unknown_plugins(settings, catalog));
    grouped(once(settings.lint.judged(of_files.collect()).into_iter().chain(of_cases)))
}

fn problem_line(problem: &Diagnostic) -> String {
    let help = problem.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    escape::line(&format!("{problem}{help}"))
}

/// The custom checks of the harness that evals.toml names. Cargo may have to build it.
fn custom_checks(root: &Path, settings: &Settings) -> Result<CustomChecks, String> {
    host::custom_checks(root, settings.harness.as_ref(), |progress| {
        // If standard error is closed, nobody waits.
        let _ = writeln!(output::stderr(), "{}", escape::block(progress));
    })
}

/// The repository, unless a link leads from its recordings to other files.
fn with_own_recordings(repository: Repository) -> io::Result<Repository> {
    inside::place(&repository.root, Path::new(store::RECORDINGS)).map(|_| repository)
}

fn not_found(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, message)
}

/// The format number of documents that are a list.
const LIST_FORMAT: u32 = 1;

/// Prints `{"format": 1, name: items}`.
fn print_list<T: serde::Serialize>(name: &'static str, items: &[T]) -> io::Result<()> {
    print_document(LIST_FORMAT, &BTreeMap::from([(name, items)]))
}

/// Prints an object with its format first.
fn print_document(format: u32, content: &impl serde::Serialize) -> io::Result<()> {
    #[derive(serde::Serialize)]
    struct Document<'a, T> {
        format: u32,
        #[serde(flatten)]
        content: &'a T,
    }

    print_json(&mut output::document_stdout(), &Document { format, content })
}

/// Prints an answer: as one JSON document, as a sentence, or with its figures.
fn print_answer<T: serde::Serialize>(
    answer: &T,
    (json, quiet): (bool, bool),
    [sentence, render]: [fn(&T, Paint) -> String; 2],
) -> io::Result<()> {
    let paint = color::paint(Stream::Output);
    match (json, quiet) {
        (true, _) => print_json(&mut output::document_stdout(), answer),
        (false, true) => writeln!(output::text_stdout(), "{}", sentence(answer, paint)),
        (false, false) => output::text_stdout().write_all(render(answer, paint).as_bytes()),
    }
}

fn print_json(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    writeln!(out, "{}", escape::json(&serde_json::to_string_pretty(value)?))
}
