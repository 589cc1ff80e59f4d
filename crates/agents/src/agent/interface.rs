//! What every agent can do. The rest of the program knows nothing else about an agent.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage, program};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::agent::user_session::UserSession;
use crate::lint::SkillList;
use crate::settings::mode::AgentKind;
use crate::settings::{Home, Settings};
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
    /// The program waits this long before it asks its provider again.
    Waits(Duration),
    /// The program could not reach its provider at all, and waits this long before it tries again, if it says so.
    Unreachable(Duration),
    /// A tool or the program itself. While the agent is being ended, such lines are about calls that it drops.
    Other,
}

/// A program under test: how to find and start it, what it leaves, and how to read that.
pub trait Agent: Sync {
    /// Its name in settings and artifacts.
    fn kind(&self) -> AgentKind;

    /// The file of the skill in `directory` that keeps the agent from offering the skill to this prompt, and its reason.
    fn withholds(&self, _skill: &Skill, _directory: &Path, _prompt: &str) -> Option<(&'static str, &'static str)> {
        None
    }

    /// The credentials that it would use.
    fn login(&self, around: &LoginSources<'_>) -> Login;

    /// How to start it for a trial. Writes what it needs into its home.
    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble>;

    /// What of the user's setup reaches it: the names of variables that choose a provider, and the configuration in its home,
    /// which is whole if the home is the user's. No secret is in either.
    fn users_setup(&self, _setup: Home) -> Result<(Vec<String>, String), Trouble> {
        Ok((Vec::new(), String::new()))
    }

    /// Copies the evidence in its home into the trial's directory. All content passes through `mask`.
    fn keep_evidence(&self, trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()>;

    /// The evidence in a trial's directory as a recording stores it: smaller, and without paths of this machine. Lists of
    /// skills have only the descriptions of skills with these slugs.
    fn recorded_evidence(&self, directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>>;

    /// Reads the evidence in a trial's directory. `reference` has the names of the skills' MCP server, and the texts of the
    /// skills.
    fn decode(&self, reference: &Reference, directory: &Path) -> io::Result<Trace>;

    /// The user's own session in these lines of a session file and of its sub-agents' files, as far as the prompt with this
    /// number goes. `None` if another program wrote them.
    fn user_session(&self, _lines: &[Value], _sub_agents: &[Value], _turn: Option<usize>) -> Option<UserSession> {
        None
    }

    /// Whose work a line of its output shows.
    fn work(&self, line: &[u8]) -> WorkOwner;

    /// The file of its running session, as soon as it exists.
    fn session(&self, _trial_env: &TrialEnv) -> Option<File> {
        None
    }

    /// What a line of that file says about the model's calls.
    fn signs(&self, _line: &[u8]) -> Vec<TurnSign> {
        Vec::new()
    }

    /// What the agent does by a line of its output, in a few words; `None` for uninteresting lines.
    fn describe(&self, line: &[u8]) -> Option<String>;

    /// How its program sends one more message to the session that a process with the arguments `args` began; `None` if it
    /// cannot. An agent with a dialogue gets its messages there.
    fn resumed(&self, _assignment: &Assignment<'_>, _args: &[OsString], _message: &str) -> Option<NextMessage> {
        None
    }

    /// The arguments with which its program runs a shell command in its own sandbox; `None` if it has no sandbox.
    fn in_sandbox(&self, _script: &str) -> Option<Vec<OsString>> {
        None
    }

    /// How much of the skills it shows its models, where that was measured.
    fn listings(&self) -> &'static [SkillList] {
        &[]
    }

    /// Runs as the agent if this process was started as that.
    fn take_over(&self) -> Option<ExitCode> {
        None
    }

    /// Its program.
    fn find(&self, settings: &Settings) -> Result<PathBuf, Trouble> {
        program(settings, self.kind())
    }
}
