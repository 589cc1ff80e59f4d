//! A trial's session in a few fields that other tools need first. Each field is there even if its value is unknown.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::settings::mode::AgentKind;
use crate::trace::Usage;
use crate::trial::evidence::Meta;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Grade, Verdict};

/// The prefix of the ids of sessions that failed or could not be measured.
pub const FAILED: &str = "FAILED__";

/// A session. What the agent does not report is null.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Session<'a> {
    /// `skill__case__mode__repeat`, with `FAILED__` before it if the verdict is `fail` or `error`.
    pub id: String,
    pub run: &'a str,
    pub verdict: Verdict,
    pub prompt: &'a str,
    pub system_prompt: Option<&'a str>,
    pub agent: SessionAgent<'a>,
    /// When the agent started, RFC 3339, UTC.
    pub started: &'a str,
    /// When the agent had ended.
    pub ended: Option<String>,
    pub timing: Timing,
    /// Turns, as the agent counts them.
    pub turns: Option<u64>,
    /// Tokens and cost.
    pub usage: Option<Usage>,
    /// Tokens and cost by model.
    pub models: Option<&'a BTreeMap<String, Usage>>,
    /// The final message.
    pub answer: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SessionAgent<'a> {
    pub kind: AgentKind,
    pub version: Option<&'a str>,
    /// The model as requested, or as the agent reports it.
    pub model: Option<&'a str>,
}

/// Durations in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Timing {
    /// From the agent's start to its end, by the clock of this program.
    pub total_ms: u64,
    /// The same by the agent's own clock.
    pub agent_ms: Option<u64>,
    /// Waiting for the model.
    pub api_ms: Option<u64>,
    /// `total_ms` minus `agent_ms`: the start and end of the program and of its MCP servers.
    pub overhead_ms: Option<u64>,
    /// `agent_ms` minus `api_ms`: the agent and its tools.
    pub agent_overhead_ms: Option<u64>,
    /// The start of the MCP server of skills before the trial, until it had listed its tools.
    pub server_start_ms: Option<u64>,
}

/// `greeting__implicit__mcp__1`, with [`FAILED`] before it if the verdict is `fail` or `error`. Valid as a file name.
pub fn id(trial: &TrialId, verdict: Verdict) -> String {
    let prefix = if matches!(verdict, Verdict::Fail | Verdict::Error) { FAILED } else { "" };
    format!("{prefix}{}__{}__{}__{}", trial.skill, trial.case, trial.mode, trial.number)
}

impl<'a> Session<'a> {
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
            // Parallel requests add up to more time than the agent took.
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
