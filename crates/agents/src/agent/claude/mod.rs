//! Claude Code: by itself (`claude -p`) and under the Agent SDK, which starts the same program
//! and exchanges JSON lines with it.
//!
//! Standard output (`trace.jsonl`) starts with what claude offered: the skills, the MCP servers and their tools. It hides a
//! skill that the prompt called as `/name`; the session file (`session.jsonl`) shows it, and times. Standard output also hides
//! nested sub-agents, and a skill that the prompt started as a sub-agent. Each sub-agent has a file of its own;
//! `subagents.jsonl` has all of them.

mod events;
mod evidence;
mod session;
mod start;
mod wire;

use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::agent::command::{AgentCommand, Assignment};
use crate::agent::interface::{Agent, TurnSign, UserSession, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
use crate::lint::SkillList;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::skill::{SKILL_FILE, Skill};
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;

pub use ClaudeCode::{Cli as ClaudeCli, Sdk as ClaudeSdk};

/// The name of the session file in a trial's directory.
const SESSION: &str = AgentKind::ClaudeCli.profile().session;

/// `claude`, by the way in which it is started.
#[derive(Debug)]
pub enum ClaudeCode {
    Cli,
    /// With the dialogue of the Agent SDK.
    Sdk,
}

impl Agent for ClaudeCode {
    fn kind(&self) -> AgentKind {
        match self {
            ClaudeCode::Cli => AgentKind::ClaudeCli,
            ClaudeCode::Sdk => AgentKind::ClaudeSdk,
        }
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        let program = self.find(assignment.settings)?;
        match self {
            ClaudeCode::Cli => start::cli_command(assignment, program),
            ClaudeCode::Sdk => start::sdk_command(assignment, program),
        }
    }

    fn withholds(&self, skill: &Skill, _: &Path, prompt: &str) -> Option<(&'static str, &'static str)> {
        (skill.model_only && calls_skill(prompt, &skill.name)).then_some((
            SKILL_FILE,
            "`user-invocable: false` keeps users from calling the skill: Claude Code asks no model where a prompt \
             begins with `/name`",
        ))
    }

    fn listings(&self) -> &'static [SkillList] {
        &session::LISTINGS
    }

    fn users_setup(&self, setup: Home) -> Result<(Vec<String>, String), Trouble> {
        start::users_setup(setup)
    }

    fn login(&self, around: &LoginSources<'_>) -> Login {
        start::find_login(around)
    }

    fn keep_evidence(&self, trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
        evidence::store(trial_env, directory, mask)
    }

    fn recorded_evidence(&self, directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        evidence::recorded(directory, skills)
    }

    fn decode(&self, reference: &Reference, directory: &Path) -> io::Result<Trace> {
        evidence::decode(reference, directory)
    }

    fn user_session(&self, lines: &[Value], sub_agents: &[Value], turn: Option<usize>) -> Option<UserSession> {
        evidence::read(lines, sub_agents, turn)
    }

    fn work(&self, line: &[u8]) -> WorkOwner {
        events::work_owner(line)
    }

    fn session(&self, trial_env: &TrialEnv) -> Option<File> {
        evidence::open_session(trial_env)
    }

    fn signs(&self, line: &[u8]) -> Vec<TurnSign> {
        session::turn_signs(line)
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        events::describe(line)
    }
}

/// Whether a prompt calls the skill of this name as users do: it begins with `/name`.
fn calls_skill(prompt: &str, name: &str) -> bool {
    let rest = prompt.strip_prefix('/').and_then(|prompt| prompt.strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
}
