//! Tool calls that have no answer yet, of an agent and its sub-agents.

use super::{Moment, TraceBuilder, WaitingFor};

/// Maximum number of open calls.
const MAX_OPEN: usize = 1_000;

/// A call without an answer.
#[derive(Debug)]
pub struct OpenCall<T = ()> {
    /// The sub-agent that made the call. Empty for the agent itself. Ids are unique per sub-agent.
    pub by: String,
    /// The agent's id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The input, as the trace stores it.
    pub input: String,
    /// Whether the call waits for sub-agents, and so for their models.
    pub waits_for_agents: bool,
    /// Further data of the decoder.
    pub more: T,
}

/// The open calls in order, each with the moment when it was made.
#[derive(Debug)]
pub struct OpenCalls<T = ()>(Vec<(OpenCall<T>, Moment)>);

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> OpenCalls<T> {
    /// Adds a call that is made now. Replaces a call with the same id. If there are too many calls, the trace has a gap.
    pub fn made(&mut self, trace: &mut TraceBuilder, call: OpenCall<T>) {
        if let Some(position) = self.position(&call.by, &call.id) {
            self.0.remove(position);
        }
        if self.0.len() < MAX_OPEN {
            self.0.push((call, trace.now.clone()));
        } else {
            trace.steps_dropped += 1;
            trace.lose("more calls at once than are followed");
        }
    }

    fn position(&self, by: &str, id: &str) -> Option<usize> {
        self.0.iter().rposition(|(call, _)| call.id == id && call.by == by)
    }

    /// Removes a call that is answered now. The next step of the trace begins when the call was made.
    pub fn answered(&mut self, trace: &mut TraceBuilder, by: &str, id: &str) -> Option<OpenCall<T>> {
        let (call, made) = self.0.remove(self.position(by, id)?);
        trace.now.began = made.ended;
        Some(call)
    }

    /// Removes the first call, which will not be answered. The next step of the trace begins when the call was made, and has
    /// no end.
    pub fn take_unanswered(&mut self, trace: &mut TraceBuilder) -> Option<OpenCall<T>> {
        if self.0.is_empty() {
            trace.now = Moment::default();
            return None;
        }
        let (call, made) = self.0.remove(0);
        trace.now = Moment { began: made.ended, ended: None, depth: made.depth, ..Moment::default() };
        Some(call)
    }

    /// The last open call for which `is_match` is true.
    pub fn last(&self, is_match: impl Fn(&OpenCall<T>) -> bool) -> Option<&OpenCall<T>> {
        self.0.iter().rev().map(|(call, _)| call).find(|call| is_match(call))
    }

    /// What a sub-agent, or the agent if `by` is empty, waits for: the answer to its last call, else the model.
    pub fn waiting(&self, by: &str) -> WaitingFor {
        match self.last(|call| call.by == by) {
            Some(call) if !call.waits_for_agents => WaitingFor::Tool(call.tool.clone()),
            _ => WaitingFor::Model,
        }
    }
}
