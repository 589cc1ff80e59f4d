//! Calls of tools between their beginning and their answer, of an agent and of those that it starts.

use super::{Moment, TraceBuilder, WaitingFor};

/// Most calls that are followed at a time.
const MAX_OPEN: usize = 1_000;

/// A call without an answer yet.
#[derive(Debug)]
pub struct OpenCall<T = ()> {
    /// The sub-agent that made it; empty for the agent itself. Ids are unique among the calls of one.
    pub by: String,
    /// The agent's own id for it.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its input, as the trace is to have it.
    pub input: String,
    /// Whether it waits for sub-agents, and so for their models.
    pub waits_for_agents: bool,
    /// What the decoder needs of it beside that.
    pub more: T,
}

/// The calls without an answer, in the order in which they were made, and when that was.
#[derive(Debug)]
pub struct OpenCalls<T = ()>(Vec<(OpenCall<T>, Moment)>);

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> OpenCalls<T> {
    /// The call was made, now, in place of one that has its id. One that cannot be followed any more is a gap of the trace.
    pub fn made(&mut self, trace: &mut TraceBuilder, call: OpenCall<T>) {
        if let Some(at) = self.position(&call.by, &call.id) {
            self.0.remove(at);
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

    /// The call was answered, now: what is pushed next began when it was made.
    pub fn answered(&mut self, trace: &mut TraceBuilder, by: &str, id: &str) -> Option<OpenCall<T>> {
        let (call, made) = self.0.remove(self.position(by, id)?);
        trace.now.began = made.ended;
        Some(call)
    }

    /// Takes the first of those that nobody will answer any more: what is pushed next began when it was made, and has no end.
    pub fn given_up(&mut self, trace: &mut TraceBuilder) -> Option<OpenCall<T>> {
        if self.0.is_empty() {
            trace.now = Moment::default();
            return None;
        }
        let (call, made) = self.0.remove(0);
        trace.now = Moment { began: made.ended, ended: None, depth: made.depth };
        Some(call)
    }

    /// The last one without an answer for which this holds.
    pub fn last(&self, is_it: impl Fn(&OpenCall<T>) -> bool) -> Option<&OpenCall<T>> {
        self.0.iter().rev().map(|(call, _)| call).find(|call| is_it(call))
    }

    /// What a sub-agent waits for, or with an empty name the agent: the answer to its last call, else the model.
    #[must_use]
    pub fn waiting(&self, by: &str) -> WaitingFor {
        match self.last(|call| call.by == by) {
            Some(call) if !call.waits_for_agents => WaitingFor::Tool(call.tool.clone()),
            _ => WaitingFor::Model,
        }
    }
}
