//! The command line: a file for each subcommand, or for a few related ones. The only files that print.

mod archive;
mod cluster;
mod compare;
mod diagnose;
mod doctor;
mod documents;
mod exit_code;
mod export;
mod export_args;
mod fork;
mod gate;
mod generate;
mod grade;
mod help;
mod import;
mod init;
mod judge;
mod lint;
mod list;
mod mcp;
mod named_runs;
mod next_step;
mod output;
mod record;
mod report;
mod repository;
mod run;
mod select;
mod shard;
mod shell;
mod show;
mod start;
mod stored_runs;
mod stubs;
mod summary;
mod terminal;
mod tune;
mod variants;
mod verify;

use std::io::Write;
use std::process::ExitCode;
use std::str::FromStr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::agent;
use crate::cli::exit_code::Exit;
use crate::process::{close_inherited_files, interrupt, watchdog};
use crate::text::problem::Problem;
use output::{print_answer, print_clap_error, print_error, print_error_document, print_json, print_sorted_json};
use repository::{RepositoryArgs, custom_checks, file_problems, problem_line, ways_out};

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
    Status(stored_runs::StatusArgs),
    /// Stop a run and its agents
    Stop(stored_runs::StopArgs),
    /// List stored runs
    Runs(stored_runs::RunsArgs),
    /// Measure how far judges agree with each other and with people
    Judge(judge::JudgeArgs),
    /// Show how often cases passed, run by run.
    History(summary::HistoryArgs),
    /// Remove old runs.
    Clean(stored_runs::CleanArgs),
    /// Print cluster jobs for shards: Slurm, GitHub or Kubernetes
    Cluster(cluster::ClusterArgs),
    /// Merge the shards of a run into one stored run
    Merge(shard::MergeArgs),
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
    Harness(mcp::HarnessArgs),
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

/// The program's arguments.
fn command() -> clap::Command {
    select::marked(Cli::command())
}

/// The exit code of a command, or why it could not run.
type CliResult = CliResultOf<Exit>;

type CliResultOf<T> = Result<T, Problem>;

/// The parser of an option that takes one of these words.
fn one_of<T>(words: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| word.parse::<T>())
}

pub fn main() -> ExitCode {
    if watchdog::take_over() {
        return ExitCode::SUCCESS;
    }
    if let Some(code) = agent::take_over() {
        return code;
    }
    close_inherited_files();
    // clap prints help and usage errors before it returns the arguments.
    let mut program = help::grouped(command()).color(output::requested_color(std::env::args_os()));
    let matches = program.try_get_matches_from_mut(std::env::args_os());
    let filled = matches.and_then(|matches| output::refuse_empty_value(&program, &matches).map(|()| matches));
    let wants_json = filled.as_ref().is_ok_and(asks_for_json);
    let cli = match filled.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return print_clap_error(&select::suggested(error)),
    };
    output::choose_color(cli.color);
    let result = match cli.command {
        Command::List(args) => list::list(&args),
        Command::Lint(args) => lint::lint(&args),
        Command::Verify(args) => verify::verify(&args),
        Command::Run(args) => run::run(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Diagnose(args) => diagnose::diagnose(&args),
        Command::Gate(args) => gate::gate(*args),
        Command::Status(args) => stored_runs::status(&args),
        Command::Stop(args) => stored_runs::stop(&args),
        Command::Runs(args) => stored_runs::runs(&args),
        Command::Judge(args) => judge::judge(&args),
        Command::History(args) => summary::history(&args),
        Command::Clean(args) => stored_runs::clean(&args),
        Command::Cluster(args) => cluster::cluster(&args),
        Command::Merge(args) => shard::merge(&args),
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
        Command::Completions(args) => shell::completions(&args, command()),
        Command::Man(args) => shell::man(&args, command()),
        Command::Harness(args) => return mcp::harness(args),
        Command::Init(args) => init::init(&args),
        Command::Stubs(args) => stubs::stubs(&args),
    };
    // Buffered text may still meet a full disk.
    let result = result.and_then(|exit| Ok(output::document_stdout().flush().map(|()| exit)?));
    let exit = result.unwrap_or_else(|error| {
        print_error(&error);
        if wants_json {
            // Nobody reads it if standard output is closed.
            let _ = print_error_document(&error);
        }
        if interrupt::raised() { Exit::Interrupted } else { Exit::CouldNotRun }
    });
    exit.into()
}
/// Whether a command is to print one JSON document.
fn asks_for_json(matches: &clap::ArgMatches) -> bool {
    let command = matches.subcommand().map(|(_, command)| command);
    command.is_some_and(|command| command.try_get_one::<bool>("json").ok().flatten().is_some_and(|json| *json))
}
