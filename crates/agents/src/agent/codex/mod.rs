//! `codex exec`: how to start it, and how to read its event stream and rollout file.
//!
//! Two streams describe a run. Standard output (`trace.jsonl`) has the messages, the tokens and the failures. The rollout file
//! (`rollout.jsonl`) has what standard output hides: the skills that codex offered, the skills that it injected for a `$name`
//! in the prompt, and commands that the sandbox stopped. Each sub-agent has a rollout of its own; `subagents.jsonl` has all
//! of them. Standard output shows neither what sub-agents did nor what they took.

mod code;
mod command;
mod events;
mod evidence;
mod history;
mod home;
mod listing;
mod login;
mod rollout;
mod slim;
mod user_session;
mod wire;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage};
use crate::agent::interface::{Agent, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::agent::user_session::UserSession;
use crate::files::bounded;
use crate::lint::SkillList;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::skill::Skill;
use crate::text::node::yaml;
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;

/// The name of the rollout file in a trial's directory.
const ROLLOUT: &str = AgentKind::Codex.profile().session;

/// The file for `--output-last-message` in the room.
const LAST_MESSAGE: &str = "last-message.txt";

/// codex's own file in a skill's directory.
const SKILL_SETTINGS: &str = "agents/openai.yaml";

/// Variables that hold credentials.
const LOGIN_VARIABLES: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];

/// Variables that choose the provider.
const PROVIDER_VARIABLES: [&str; 3] = ["OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT"];

#[derive(Debug)]
pub struct Codex;

impl Agent for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn withholds(&self, skill: &Skill, directory: &Path, prompt: &str) -> Option<(&'static str, &'static str)> {
        let text = bounded::read_text(&directory.join(SKILL_SETTINGS)).ok()?;
        let settings = yaml::parse(&text).ok()??.json();
        let is_withheld = settings["policy"]["allow_implicit_invocation"] == false && !calls_skill(prompt, &skill.name);
        is_withheld.then_some((
            SKILL_SETTINGS,
            "`allow_implicit_invocation: false` keeps codex from offering the skill to a prompt that does not call it as `$name`",
        ))
    }

    fn login(&self, around: &LoginSources<'_>) -> Login {
        login::find(around)
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        command::command(assignment)
    }

    fn listings(&self) -> &'static [SkillList] {
        &listing::LISTINGS
    }

    fn users_setup(&self, setup: Home) -> Result<(Vec<String>, String), Trouble> {
        home::users_setup(setup)
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

    fn user_session(&self, lines: &[Value], _: &[Value], turn: Option<usize>) -> Option<UserSession> {
        user_session::read(lines, turn)
    }

    fn work(&self, line: &[u8]) -> WorkOwner {
        events::work_owner(line)
    }

    fn session(&self, trial_env: &TrialEnv) -> Option<File> {
        evidence::session(trial_env)
    }

    fn signs(&self, line: &[u8]) -> Vec<TurnSign> {
        rollout::turn_sign(line).into_iter().collect()
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        events::describe(line)
    }

    fn resumed(&self, assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
        // The answer to an earlier message is not the answer to this one.
        let _ = assignment.trial_env.tmp().join(LAST_MESSAGE).remove();
        command::resumed(args, &evidence::session_id(assignment.trial_env)?, message)
    }

    /// Runs the script in the sandbox that codex uses for read-only cases.
    fn in_sandbox(&self, script: &str) -> Option<Vec<OsString>> {
        Some(["sandbox", "--", "/bin/sh", "-c", script].map(OsString::from).to_vec())
    }
}

/// Whether a prompt calls the skill of this name as users do, with `$name`.
fn calls_skill(prompt: &str, name: &str) -> bool {
    let call = format!("${name}");
    prompt.match_indices(&call).any(|(at, _)| {
        let next = prompt[at + call.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    })
}
