//! Suggestions for unknown options and commands. clap compares letters; other programs use other words.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::Cli;
use crate::text::diagnostic::nearest;

/// Options, each with its names in other programs.
const OPTIONS: [(&str, &[&str]); 9] = [
    ("--trials", &["--repeat", "--repeats", "--repetitions", "--runs", "--times", "--count", "--epochs", "--samples"]),
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
        && let Some(option) = translated(&OPTIONS, word).filter(|option| command_has(option))
    {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(option.to_owned()));
    }
    error
}

fn translated(words: &[(&'static str, &[&str])], word: &str) -> Option<&'static str> {
    words.iter().find(|(_, others)| others.contains(&word)).map(|(own, _)| *own)
}

fn command_has(option: &str) -> bool {
    let program = Cli::command();
    let command = std::env::args().skip(1).find_map(|word| program.find_subcommand(word));
    command
        .is_some_and(|command| command.get_arguments().any(|argument| argument.get_long() == option.strip_prefix("--")))
}
