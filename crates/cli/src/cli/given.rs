//! Options that the command line gives, for commands that refuse some of them. What an option means is a mark on it.

use clap::parser::ValueSource;
use clap::{ArgGroup, ArgMatches, Args, Command, FromArgMatches, Id};

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
