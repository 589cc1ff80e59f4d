//! Options that are given on the command line, for commands that refuse some of their own.

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory};

use super::Cli;
use super::select::limits;

/// Options that say how trials run, besides limits.
const OF_A_RUN: &str = "run_id dry_run background suite max_skills max_cases model timeout_s trial_end judge no_judge \
                        judge_votes max_trials plan";

/// The first of `ids`, separated by spaces, that is given to a command, as users write it.
pub fn first_in(command: &ArgMatches, ids: &str) -> Option<String> {
    let is_given = |id: &&str| {
        command.ids().any(|known| known == id) && command.value_source(id) == Some(ValueSource::CommandLine)
    };
    Some(format!("--{}", ids.split(' ').find(is_given)?.replace('_', "-")))
}

/// The same for the command of this process.
pub fn first(ids: &str) -> Option<String> {
    first_in(Cli::command().get_matches().subcommand()?.1, ids)
}

/// The first that means nothing if trials are only read.
pub fn first_of_a_run() -> Option<String> {
    let ids: Vec<&str> = limits().map(|(_, name, _)| name).chain([OF_A_RUN]).collect();
    first(&ids.join(" "))
}
