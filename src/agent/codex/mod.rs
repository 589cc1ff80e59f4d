//! `codex exec`, as seen with 0.169: how it is started, and what its event stream and rollout file say.
//!
//! Two streams tell of a run. Standard output (`trace.jsonl`) has the messages, the token usage and the failures. The
//! rollout file (`rollout.jsonl`) has what standard output hides: the skills that were offered, the skills injected
//! for a `$name` in the prompt, and commands that the sandbox stopped. Each sub-agent has a rollout of its own, which are
//! kept as one (`subagents.jsonl`): standard output tells neither what they did nor what they took.

mod code;
mod command;
mod events;
mod evidence;
mod home;
mod item;
mod listing;
mod login;
mod rollout;
mod slim;
mod tokens;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::interface::{Agent, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::files::bounded;
use crate::settings::mode::AgentKind;
use crate::skill::Skill;
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;
pub use listing::LISTINGS;

/// The events on standard output.
const TRACE: &str = "trace.jsonl";

/// The rollout file's name in a trial's folder.
const ROLLOUT: &str = AgentKind::Codex.profile().session;

/// Where `--output-last-message` goes, in the room.
const LAST_MESSAGE: &str = "last-message.txt";

/// The file in a skill's folder that is codex's own.
const OWN_FILE: &str = "agents/openai.yaml";

/// Variables with a login.
const LOGIN_VARIABLES: [&str; 3] = ["OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"];

/// `codex exec`.
#[derive(Debug)]
pub struct Codex;

impl Agent for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn withholds(&self, skill: &Skill, folder: &Path, prompt: &str) -> Option<(&'static str, &'static str)> {
        let text = bounded::read_text(&folder.join(OWN_FILE)).ok()?;
        let own: serde_json::Value = serde_saphyr::from_str(&text).ok()?;
        let kept = own["policy"]["allow_implicit_invocation"] == false && !mentions(prompt, &skill.name);
        kept.then_some((
            OWN_FILE,
            "`allow_implicit_invocation: false` keeps codex from offering the skill to a prompt that does not call it as `$name`",
        ))
    }

    fn login(&self, around: &LoginSources<'_>) -> Login {
        login::find(around)
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        command::command(assignment)
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
        events::work(line)
    }

    fn session(&self, room: &TrialEnv) -> Option<File> {
        evidence::session(room)
    }

    fn signs(&self, line: &[u8]) -> Vec<TurnSign> {
        rollout::signs(line)
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        events::describe(line)
    }

    /// In the sandbox that codex gives to read-only cases.
    fn in_sandbox(&self, script: &str) -> Option<Vec<OsString>> {
        Some(["sandbox", "--", "/bin/sh", "-c", script].map(OsString::from).to_vec())
    }
}

/// Whether a prompt calls the skill of this name as users do, so that codex loads it: `$name`.
fn mentions(prompt: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let behind = |(at, call): (usize, &str)| prompt[at + call.len()..].chars().next();
    prompt.match_indices(&format!("${name}")).any(|hit| !behind(hit).is_some_and(goes_on))
}
