//! What every agent can do: all that the rest of the program knows of one.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, program};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::settings::Settings;
use crate::settings::mode::AgentKind;
use crate::skill::Skill;
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;

/// Whose work a line of an agent's output shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkOwner {
    /// The model answered.
    Model,
    /// The program said that it is done.
    End,
    /// The program waits so long before it asks its provider again.
    Waits(Duration),
    /// A tool or the program itself went on. While the agent is being ended it says such things of what it drops.
    Other,
}

/// A program under test: how it is found and started, what it leaves, and how that reads.
pub trait Agent: Sync {
    /// Which one it is, in settings and artifacts.
    fn kind(&self) -> AgentKind;

    /// The file of the skill in `folder` that keeps it from being offered where this is asked, and what it says, where one
    /// does.
    fn withholds(&self, _skill: &Skill, _folder: &Path, _prompt: &str) -> Option<(&'static str, &'static str)> {
        None
    }

    /// What it would log in with.
    fn login(&self, around: &LoginSources<'_>) -> Login;

    /// How to start it for a trial; writes what it needs into its home.
    ///
    /// # Errors
    /// When the program is missing, or its home cannot be prepared.
    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble>;

    /// Copies what it left in its home and is evidence into the trial's folder, each piece passed through `mask`.
    ///
    /// # Errors
    /// When it cannot be copied.
    fn keep_evidence(&self, room: &TrialEnv, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()>;

    /// The evidence files in a trial's folder as a recording keeps them: less bulk, no machine's paths. Of lists
    /// of skills they keep the descriptions of those with these slugs.
    ///
    /// # Errors
    /// When they cannot be read.
    fn recorded_evidence(&self, folder: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>>;

    /// Reads the event stream in a trial's folder. `reference` tells the calls of the MCP server of skills from others,
    /// and the skills' texts from others.
    ///
    /// # Errors
    /// When the files cannot be read; what they hold is never an error.
    fn decode(&self, reference: &Reference, folder: &Path) -> io::Result<Trace>;

    /// Whose work a line of its output shows.
    fn work(&self, line: &[u8]) -> WorkOwner;

    /// The file that it writes its session to while it is at work, as soon as there is one.
    fn session(&self, room: &TrialEnv) -> Option<File>;

    /// What a line of that file says of the model's calls.
    fn signs(&self, line: &[u8]) -> Vec<TurnSign>;

    /// What a line of the event stream says that the agent does, in a few words; `None` for lines of no interest.
    fn describe(&self, line: &[u8]) -> Option<String>;

    /// The arguments with which its program runs a shell command in its own sandbox; `None` where it has no sandbox.
    fn in_sandbox(&self, _script: &str) -> Option<Vec<OsString>> {
        None
    }

    /// Its program.
    ///
    /// # Errors
    /// When it is missing; says how to get it.
    fn find(&self, settings: &Settings) -> Result<PathBuf, Trouble> {
        program(settings, self.kind())
    }
}
