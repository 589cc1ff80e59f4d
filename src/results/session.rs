//! A trial's session in a few fields: what other tools ask for first, each there whatever is known of it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::settings::mode::AgentKind;
use crate::trace::Usage;
use crate::trial::evidence::Meta;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Grade, Verdict};

/// How the id of a session begins that failed, or in which nothing was measured.
pub const FAILED: &str = "FAILED__";

/// A session: what was asked of whom, and what it took. What cannot be seen is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Session<'a> {
    /// Skill, case, mode and repeat as one name; [`FAILED`] before it where it failed.
    pub id: String,
    /// The run it belongs to.
    pub run: &'a str,
    /// What it came to.
    pub verdict: Verdict,
    /// What was asked.
    pub prompt: &'a str,
    /// What the system prompt said besides.
    pub system_prompt: Option<&'a str>,
    /// The program.
    pub agent: SessionAgent<'a>,
    /// When the agent was started, RFC 3339, UTC.
    pub started: &'a str,
    /// When it had ended.
    pub ended: Option<String>,
    /// What took how long.
    pub timing: Timing,
    /// Turns, as the agent counts them.
    pub turns: Option<u64>,
    /// Tokens and cost.
    pub usage: Option<Usage>,
    /// The same by model.
    pub models: Option<&'a BTreeMap<String, Usage>>,
    /// The final message.
    pub answer: Option<&'a str>,
}

/// The program that was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SessionAgent<'a> {
    /// Which one.
    pub kind: AgentKind,
    /// Its version, as it says.
    pub version: Option<&'a str>,
    /// The model, as asked for or as the agent says.
    pub model: Option<&'a str>,
}

/// What took how long, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// From the agent's start to its end, by our clock.
    pub total_ms: u64,
    /// The same by the agent's own.
    pub agent_ms: Option<u64>,
    /// Waiting for the model.
    pub api_ms: Option<u64>,
    /// What `total_ms` has more than `agent_ms`: the start of the program and of its MCP servers, and its end.
    pub overhead_ms: Option<u64>,
    /// What `agent_ms` has more than `api_ms`: its tools, and itself.
    pub agent_overhead_ms: Option<u64>,
    /// The start of the MCP server of skills, as it took before the trial, until it had listed its tools.
    pub server_start_ms: Option<u64>,
}

/// `greeting__implicit__mcp__1`, with [`FAILED`] before it where the verdict is `fail` or `error`. It can name a file.
#[must_use]
pub fn id(of: &TrialId, verdict: Verdict) -> String {
    let failed = if matches!(verdict, Verdict::Fail | Verdict::Error) { FAILED } else { "" };
    format!("{failed}{}__{}__{}__{}", of.skill, of.case, of.mode, of.number)
}

impl<'a> Session<'a> {
    /// The session of a trial.
    #[must_use]
    pub fn new(meta: &'a Meta, grade: &'a Grade, answer: Option<&'a str>) -> Self {
        let metrics = &grade.metrics;
        Self {
            id: id(&meta.id(), grade.verdict),
            run: &meta.run_id,
            verdict: grade.verdict,
            prompt: &meta.case.prompt,
            system_prompt: meta.case.system_prompt.as_deref(),
            agent: SessionAgent {
                kind: meta.agent.kind,
                version: meta.agent.version.as_deref(),
                model: meta.agent.model.as_deref(),
            },
            started: &meta.started,
            ended: ended(meta),
            timing: Timing::new(meta, grade),
            turns: metrics.turns,
            usage: metrics.usage,
            models: Some(&metrics.models).filter(|models| !models.is_empty()),
            answer,
        }
    }
}

impl Timing {
    fn new(meta: &Meta, grade: &Grade) -> Self {
        let total_ms = meta.ending.duration_ms;
        let (agent_ms, api_ms) = (grade.metrics.agent_duration_ms, grade.metrics.api_duration_ms);
        Self {
            total_ms,
            agent_ms,
            api_ms,
            // Requests at a time add up to more than the agent took.
            overhead_ms: agent_ms.and_then(|agent| total_ms.checked_sub(agent)),
            agent_overhead_ms: agent_ms.zip(api_ms).and_then(|(agent, api)| agent.checked_sub(api)),
            server_start_ms: meta.server.as_ref().and_then(|server| server.start_ms),
        }
    }
}

fn ended(meta: &Meta) -> Option<String> {
    let started: jiff::Timestamp = meta.started.parse().ok()?;
    let took = std::time::Duration::from_millis(meta.ending.duration_ms);
    Some(started.checked_add(took).ok()?.to_string())
}
