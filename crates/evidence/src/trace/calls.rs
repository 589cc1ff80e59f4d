//! Tool calls that have no answer yet, of an agent and its sub-agents.

use std::collections::HashSet;

use super::{Moment, TraceBuilder, WaitingFor};

/// Maximum number of open calls.
const MAX_OPEN: usize = 1_000;

/// Maximum number of answered calls that are known.
const MAX_ANSWERED: usize = 200_000;

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

/// The open calls in order, each with the moment when it was made. What does not fit together is a gap of the trace: a call without
/// an answer at the agent's end, an answer without a call, two calls with one id.
#[derive(Debug)]
pub struct OpenCalls<T = ()> {
    open: Vec<(OpenCall<T>, Moment)>,
    /// The calls that were answered, by who made them and their ids.
    answered: HashSet<(String, String)>,
}

impl<T> Default for OpenCalls<T> {
    fn default() -> Self {
        Self { open: Vec::new(), answered: HashSet::new() }
    }
}

impl<T> OpenCalls<T> {
    /// Adds a call that is made now. If there are too many calls, the trace has a gap.
    pub fn made(&mut self, trace: &mut TraceBuilder, call: OpenCall<T>) {
        if let Some(position) = self.position(&call.by, &call.id) {
            let (known, _) = &self.open[position];
            // A line may come twice.
            if (&known.tool, &known.input) == (&call.tool, &call.input) {
                return;
            }
            let (known, _) = self.open.remove(position);
            trace.lose(&format!("what a call of `{}` returned: another one has its id", known.tool));
        }
        self.answered.remove(&(call.by.clone(), call.id.clone()));
        if self.open.len() < MAX_OPEN {
            self.open.push((call, trace.now.clone()));
        } else {
            trace.steps_dropped += 1;
            trace.lose("more calls at once than are followed");
        }
    }

    fn position(&self, by: &str, id: &str) -> Option<usize> {
        self.open.iter().rposition(|(call, _)| call.id == id && call.by == by)
    }

    /// Removes a call that is answered now. The next step of the trace begins when the call was made. An answer to a call that was
    /// not seen is a gap.
    pub fn answered(&mut self, trace: &mut TraceBuilder, by: &str, id: &str) -> Option<OpenCall<T>> {
        let (key, ended) = ((by.to_owned(), id.to_owned()), self.ended(trace, by, id));
        if ended.is_none() && !self.answered.contains(&key) && self.answered.len() < MAX_ANSWERED {
            trace.lose("a call of which only the answer was seen");
        } else if self.answered.len() < MAX_ANSWERED {
            self.answered.insert(key);
        }
        ended
    }

    /// Removes a call that ends now, if it was seen.
    pub fn ended(&mut self, trace: &mut TraceBuilder, by: &str, id: &str) -> Option<OpenCall<T>> {
        let (call, made) = self.open.remove(self.position(by, id)?);
        trace.now.began = made.ended;
        Some(call)
    }

    /// Removes the first call, which will not be answered. The next step of the trace begins when the call was made, and has
    /// no end.
    pub fn take_unanswered(&mut self, trace: &mut TraceBuilder) -> Option<OpenCall<T>> {
        if self.open.is_empty() {
            trace.now = Moment::default();
            return None;
        }
        let (call, made) = self.open.remove(0);
        trace.unanswered(&call.tool);
        trace.now = Moment { began: made.ended, ended: None, depth: made.depth, ..Moment::default() };
        Some(call)
    }

    /// The last open call for which `is_match` is true.
    pub fn last(&self, is_match: impl Fn(&OpenCall<T>) -> bool) -> Option<&OpenCall<T>> {
        self.open.iter().rev().map(|(call, _)| call).find(|call| is_match(call))
    }

    /// What a sub-agent, or the agent if `by` is empty, waits for: the answer to its last call, else the model.
    pub fn waiting(&self, by: &str) -> WaitingFor {
        match self.last(|call| call.by == by) {
            Some(call) if !call.waits_for_agents => WaitingFor::Tool(call.tool.clone()),
            _ => WaitingFor::Model,
        }
    }
}
