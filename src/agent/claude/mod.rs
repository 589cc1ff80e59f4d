//! Claude Code, as seen with 2.1.197: by itself (`claude -p`) and under the Agent SDK, which is a launcher that speaks
//! JSON lines with the same program.
//!
//! Standard output (`trace.jsonl`) begins with what was offered: the skills, the MCP servers and their tools. What it
//! hides is a skill that the prompt itself called as `/name`; the session file (`session.jsonl`) has that, and times. It also
//! hides what the sub-agents of sub-agents do, and a skill that the prompt had run as a sub-agent; each sub-agent has a file
//! of its own, which are kept as one (`subagents.jsonl`).

mod call;
mod cli;
mod ending;
mod events;
mod evidence;
mod forks;
mod home;
mod listing;
mod live;
mod login;
mod sdk;
mod session;
mod slim;
mod sub_agents;
mod wire;

use std::fs::File;
use std::io;
use std::path::Path;

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::interface::{Agent, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::settings::mode::AgentKind;
use crate::skill::{SKILL_FILE, Skill};
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;
pub use listing::LISTINGS;

/// The events on standard output.
const TRACE: &str = "trace.jsonl";

/// The session file's name in a trial's folder.
const SESSION: &str = AgentKind::ClaudeCli.profile().session;

/// `claude -p`.
#[derive(Debug)]
pub struct ClaudeCli;

/// `claude`, spoken to as the Agent SDK does.
#[derive(Debug)]
pub struct ClaudeSdk;

/// Implements [`Agent`] for both: one program, started in two ways.
macro_rules! claude {
    ($kind:ident, $start:path) => {
        impl Agent for $kind {
            fn kind(&self) -> AgentKind {
                AgentKind::$kind
            }

            fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
                $start(assignment, self.find(assignment.settings)?)
            }

            fn withholds(&self, skill: &Skill, _: &Path, prompt: &str) -> Option<(&'static str, &'static str)> {
                (skill.model_only && calls(prompt, &skill.name)).then_some((
                    SKILL_FILE,
                    "`user-invocable: false` keeps users from calling the skill: Claude Code asks no model where a prompt \
                     begins with `/name`",
                ))
            }

            fn login(&self, around: &LoginSources<'_>) -> Login {
                login::find(around)
            }

            fn keep_evidence(&self, room: &TrialEnv, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
                evidence::keep(room, folder, mask)
            }

            fn recorded_evidence(&self, folder: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
                evidence::recorded(folder, skills)
            }

            fn decode(&self, reference: &Reference, folder: &Path) -> io::Result<Trace> {
                evidence::decode(reference, folder)
            }

            fn work(&self, line: &[u8]) -> WorkOwner {
                live::work(line)
            }

            fn session(&self, room: &TrialEnv) -> Option<File> {
                evidence::session(room)
            }

            fn signs(&self, line: &[u8]) -> Vec<TurnSign> {
                session::signs(line)
            }

            fn describe(&self, line: &[u8]) -> Option<String> {
                live::describe(line)
            }
        }
    };
}

/// Whether a prompt calls the skill of this name as users do: it begins with `/name`.
fn calls(prompt: &str, name: &str) -> bool {
    let rest = prompt.strip_prefix('/').and_then(|prompt| prompt.strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}

claude!(ClaudeCli, cli::command);
claude!(ClaudeSdk, sdk::command);
