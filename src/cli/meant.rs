//! What is meant by an option or a command that does not exist: clap compares letters, and other programs call the same thing otherwise.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::Cli;

/// Names that other programs have for options of ours.
const SYNONYMS: [(&str, &[&str]); 6] = [
    ("--trials", &["--repeat", "--repeats", "--repetitions", "--runs", "--times", "--count", "--epochs", "--samples"]),
    ("--jobs", &["--parallel", "--concurrency", "--threads", "--workers", "--test-threads"]),
    ("--case", &["--filter", "--only", "--grep", "--test", "--id"]),
    ("--root", &["--dir", "--directory", "--cwd", "--path", "--repo"]),
    ("--failed", &["--rerun", "--rerun-failed", "--last-failed"]),
    ("--max-cost-usd", &["--budget", "--cost", "--max-cost", "--max-budget-usd"]),
];

/// What other programs call commands of ours.
const COMMANDS: [(&str, &[&str]); 7] = [
    ("run", &["test", "tests", "eval", "evals", "execute", "start", "watch"]),
    ("run --replay", &["replay"]),
    ("run --stale", &["rerun"]),
    ("lint", &["check", "validate", "verify"]),
    ("compare", &["diff", "bench", "benchmark"]),
    ("show", &["view", "inspect", "trace"]),
    ("init", &["new", "setup", "create"]),
];

/// The error of an unknown option or command, with the one that is meant in place of the one that looks like it, if the command has it.
pub fn suggested(mut error: Error) -> Error {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) {
        let meant = COMMANDS.iter().find(|(_, others)| others.contains(&given.as_str()));
        if let Some((ours, _)) = meant {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![(*ours).to_owned()]));
        }
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return error };
    let is_it = |(_, others): &&(&str, &[&str])| others.contains(&given.as_str());
    let meant = SYNONYMS.iter().find(is_it).map(|(ours, _)| *ours);
    if let (ErrorKind::UnknownArgument, Some(meant)) = (error.kind(), meant.filter(|meant| has(meant))) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(meant.to_owned()));
    }
    error
}

/// Whether the command that was given has this option.
fn has(option: &str) -> bool {
    let program = Cli::command();
    let mut words = std::env::args().skip(1);
    let command = words.find_map(|word| program.find_subcommand(word));
    command
        .is_some_and(|command| command.get_arguments().any(|argument| argument.get_long() == option.strip_prefix("--")))
}
