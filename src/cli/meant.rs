//! What is meant by an option that there is not: clap compares letters, and other programs call the same thing otherwise.

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

/// The error of an unknown option, with the one that is meant in place of the one that looks like it, if the command has it.
pub fn suggested(mut error: Error) -> Error {
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
