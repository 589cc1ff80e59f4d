//! What every agent can do. The rest of the program knows nothing else about an agent.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use crate::agent::command::{AgentCommand, Assignment, NextMessage, program};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
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

// A session of the user's own machine, read from the file in which an agent keeps it.

/// What a session file shows of the chosen prompts.
#[derive(Debug, Default, PartialEq)]
pub struct UserSession {
    /// What the user asked, in order: of the whole session. `None` is a prompt that could not be read.
    pub prompts: Vec<Option<String>>,
    /// Whether a line up to the end of the chosen prompt could not be read. It may be a prompt: then the chosen one is not known.
    pub is_unclear: bool,
    /// The directory in which the agent worked.
    pub folder: Option<String>,
    /// When the first chosen prompt was written.
    pub started: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    /// The lines of the agent's own session file that count.
    pub session: Vec<Value>,
    /// The same as the events that the agent prints in a trial.
    pub events: Vec<Value>,
    /// The lines of sub-agents.
    pub sub_agents: Vec<Value>,
}

/// The text of a prompt could not be read.
#[derive(Debug, PartialEq)]
pub(super) struct UnreadPrompt;

/// Whether some of these lines are not known: of no type, or not even JSON.
pub(super) fn has_unread(lines: &[Value]) -> bool {
    lines.iter().any(|line| !line["type"].is_string())
}

/// The place of the lines of the chosen prompt, of all without a choice. `starts` has the place of each prompt's first line.
pub(super) fn chosen(starts: &[usize], end: usize, turn: Option<usize>) -> std::ops::Range<usize> {
    let Some(turn) = turn else { return starts.first().copied().unwrap_or(end)..end };
    let at = |turn: usize| starts.get(turn).copied().unwrap_or(end);
    at(turn.saturating_sub(1))..at(turn)
}

// Counts the turns of an agent's model while it works.

/// The most open calls that are followed.
const MAX_OPEN: usize = 1_000;

/// What a line of an agent's session file says about the model's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnSign {
    /// The model made a call.
    Called {
        /// The call's id.
        call: String,
        /// The id of the answer with the call, if the agent reports it.
        answer: Option<String>,
    },
    /// The call with this id was answered.
    Answered(String),
}

/// Counts turns. A turn is an answer of the model with its calls, and ends when all calls are answered. An answer without a
/// call is not a turn: it is the last one, or the model waits for what runs in the background.
#[derive(Debug, Default)]
pub struct TurnCounter {
    ended: u64,
    open: HashSet<String>,
    /// The id of the answer with the last call, if the agent reports it.
    answer: Option<String>,
    /// Whether the turn of the last call is not counted yet. An agent may report the answer to a call before the next call of
    /// the same turn.
    is_new: bool,
}

impl TurnCounter {
    /// Counts one sign.
    pub fn note(&mut self, sign: TurnSign) {
        match sign {
            TurnSign::Called { call, answer } => {
                self.is_new |= answer.is_none() || answer != self.answer;
                self.answer = answer;
                if self.open.len() < MAX_OPEN {
                    self.open.insert(call);
                }
            }
            TurnSign::Answered(call) => {
                if self.open.remove(&call) && self.open.is_empty() && std::mem::take(&mut self.is_new) {
                    self.ended += 1;
                }
            }
        }
    }

    /// How many turns have ended.
    pub fn ended(&self) -> u64 {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_answer_are_one_turn_even_if_the_first_is_answered_before_the_second_is_reported() {
        let call =
            |call: &str, answer: &str| TurnSign::Called { call: call.to_owned(), answer: Some(answer.to_owned()) };
        let answered = |call: &str| TurnSign::Answered(call.to_owned());
        let mut turns = TurnCounter::default();
        for sign in [call("a", "1"), answered("a"), call("b", "1"), answered("b"), answered("b"), answered("z")] {
            turns.note(sign);
        }
        assert_eq!(turns.ended(), 1);
    }
}
