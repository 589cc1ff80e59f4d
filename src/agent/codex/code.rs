//! What a model's code did: models of today write JavaScript that calls the tools, and only what it prints comes before
//! them.

use std::collections::HashMap;

use super::item::McpCall;
use crate::agent::skill_calls::SkillCalls;
use crate::trial::trace::{Step, Trace, cut, excerpt};

/// The tool with which a model runs its own code.
pub(super) const CODE: &str = "functions__exec";

/// What is known of the code of a model and its sub-agents.
#[derive(Debug, Default)]
pub(super) struct Code {
    /// Calls that were answered, by their ids.
    answered: HashMap<String, Answered>,
    /// Calls of MCP servers' tools, each with the step of the code.
    asked: Vec<(McpCall, usize)>,
}

/// A call that was answered.
#[derive(Debug)]
struct Answered {
    /// The call, in words.
    how: String,
    /// Its step.
    step: usize,
}

impl Code {
    /// The call with this id was answered; its step is the next one.
    pub(super) fn answered(&mut self, trace: &Trace, call: String, input: &str) {
        let how = format!("{CODE} {}", excerpt(input));
        self.answered.insert(call, Answered { how, step: trace.steps.len() });
    }

    /// The code said something with `notify`: that comes before the model beside its answer, each time in a line of its own with
    /// the id of the same call.
    pub(super) fn said(&self, trace: &mut Trace, skills: &mut SkillCalls<'_>, call: &str, text: &str) {
        let Some(Answered { how, step }) = self.answered.get(call) else { return };
        trace.at = Some(*step);
        skills.shown(trace, text, how);
        trace.at = None;
        if let Some(Step::Tool { output, .. }) = trace.steps.get_mut(*step) {
            *output = cut(format!("{output}\n{text}"));
        }
    }

    /// The code called an MCP server's tool.
    pub(super) fn asked(&mut self, trace: &Trace, call: McpCall) {
        self.asked.push((call, trace.steps.len()));
    }

    /// Notes which skills it asked for, now that all is known that it printed.
    pub(super) fn finish(self, trace: &mut Trace, skills: &mut SkillCalls<'_>) {
        for (McpCall { tool, input, failed }, step) in self.asked {
            trace.at = Some(step);
            skills.asked_by_code(trace, &tool, &input, failed);
            trace.at = None;
        }
    }
}
