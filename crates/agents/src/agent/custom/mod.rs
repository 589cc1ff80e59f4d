//! Agents that a user describes in the settings. One speaks the Agent Client Protocol: `client` is our side of it, and `acp`
//! reads its lines. The others take arguments and print JSON lines. What a line says, `rules` of the settings say, or a function
//! of the user's harness, which `rust` asks; `events` reads either.
//!
//! Standard output (`trace.jsonl`) has what such an agent shows. What the trial itself knows of the offer is the only line of
//! `session.jsonl`: these agents do not show it.

mod acp;
mod answer;
mod client;
mod command;
mod events;
mod offer;
mod rules;
mod rust;
mod stream_event;

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde_json::Value;

use crate::agent::agent_event::AgentEvent;
use crate::agent::assignment::Assignment;
use crate::agent::command::{AgentCommand, NextMessage};
use crate::agent::derived_file::{DerivedFile, TRACE, slimmed};
use crate::agent::interface::{Agent, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::stream::{LineReader, decoded, in_words, work_owner};
use crate::agent::trial_env::TrialEnv;
use crate::profile::custom::{CustomAgent, Protocol};
use crate::settings::ToolNames;
use crate::settings::mode::AgentKind;
use crate::trace::exposure::Reference;
use crate::trace::trouble::Trouble;
use crate::trace::{Mechanism, Step, Trace};
use acp::AcpLines;
use events::EventLines;

pub use rust::{ReadLine, read_in_rust};
pub use stream_event::StreamEvent;

/// The file with what the trial knows of the offer.
const SESSION: &str = "session.jsonl";

/// What is unknown of an agent that does not say that it shows all calls.
const MAY_HIDE_CALLS: &str =
    "calls of tools, which the agent may not show: set `shows_calls` in evals/evals.toml if it shows all";

/// What a line in the middle of a run says.
fn said(agent: &CustomAgent, line: &[u8]) -> Vec<AgentEvent> {
    let Ok(line) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
    let names = ToolNames::default();
    let said = match agent.description.protocol {
        Protocol::Acp => AcpLines::in_between(agent, &names).said(&line),
        Protocol::Jsonl | Protocol::Rust => EventLines::in_between(agent, &names).said(&line),
    };
    said.unwrap_or_default()
}

/// A line as a recording stores it; `None` if it says nothing.
fn slim(agent: &CustomAgent, line: Value) -> Option<Value> {
    match agent.description.protocol {
        Protocol::Acp => acp::slim(line),
        Protocol::Jsonl | Protocol::Rust => (!events::says_nothing(agent, &line)).then_some(line),
    }
}

/// Corrects what brought a skill's text: a tool with the server's name, if the agent does not show the input of calls.
fn note_server(trace: &mut Trace, names: &ToolNames) {
    let Trace { steps, activations, .. } = trace;
    let served = steps.iter().filter_map(|step| match step {
        Step::Tool { name, .. } if name.contains(&names.server) => Some(name.as_str()),
        _ => None,
    });
    let served: Vec<&str> = served.collect();
    let by_file = activations.iter_mut().filter(|activation| activation.how == Mechanism::ReadSkillFile);
    for activation in by_file.filter(|found| served.iter().any(|name| found.evidence.starts_with(name))) {
        activation.how = Mechanism::McpTool;
    }
}

impl Agent for CustomAgent {
    fn kind(&self) -> AgentKind {
        AgentKind::Custom(CustomAgent::of(self.description.clone()))
    }

    fn login(&self, _: &LoginSources<'_>) -> Login {
        Login::Unknown("only the agent itself knows its credentials".to_owned())
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        command::command(self, assignment)
    }

    fn keep_evidence(&self, trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
        let mut session = DerivedFile::new(directory.join(SESSION), mask);
        if let Some(line) = offer::known(trial_env) {
            session.add_line(line.to_string().as_bytes())?;
        }
        session.finish()
    }

    fn recorded_evidence(&self, directory: &Path, _: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        let trace = slimmed(&directory.join(TRACE), |bytes| match serde_json::from_slice(bytes) {
            Ok(line) => slim(self, line).map(|line| format!("{line}\n").into_bytes()),
            Err(_) => Some([bytes, b"\n"].concat()),
        })?;
        let session = slimmed(&directory.join(SESSION), |bytes| Some([bytes, b"\n"].concat()))?;
        let mut files = vec![(TRACE, trace), (SESSION, session)];
        files.retain(|(name, content)| *name == TRACE || !content.is_empty());
        Ok(files)
    }

    fn decode(&self, reference: &Reference, directory: &Path) -> io::Result<Trace> {
        let (kind, names) = (self.kind(), &reference.names);
        if self.description.protocol == Protocol::Rust {
            rust::function(&self.description.name).map_err(|trouble| io::Error::other(trouble.detail))?;
        }
        let mut trace = match self.description.protocol {
            Protocol::Acp => decoded(kind, AcpLines::new(self, names), reference, directory),
            Protocol::Jsonl | Protocol::Rust => decoded(kind, EventLines::new(self, names), reference, directory),
        }?;
        note_server(&mut trace, names);
        Ok(trace)
    }

    fn work(&self, line: &[u8]) -> WorkOwner {
        work_owner(said(self, line))
    }

    fn resumed(&self, assignment: &Assignment<'_>, _: &[OsString], message: &str) -> Option<NextMessage> {
        command::resumed(self, assignment, message)
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        in_words(said(self, line))
    }
}
