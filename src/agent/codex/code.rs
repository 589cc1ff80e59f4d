//! What a model's code did: models of today write JavaScript that calls the tools, and only what it prints comes before
//! them.

use std::collections::HashMap;

use super::item::McpCall;
use crate::agent::skill_calls::SkillCalls;
use crate::trace::{Step, TraceBuilder, cut, excerpt};

/// The tool with which a model runs its own code.
pub(super) const CODE: &str = "functions__exec";

/// The tool with which it waits for code that takes longer.
const WAIT: &str = "functions__wait";

/// The tools with which code runs shell commands.
const SHELLS: [&str; 3] = ["exec_command", "shell_command", "local_shell"];

/// What code repeats itself with, without white space.
const REPEATS: [&str; 6] = ["for(", "forawait(", "while(", "do{", "=>", "function"];

/// What is known of the code of a model and its sub-agents.
#[derive(Debug, Default)]
pub(super) struct CodeCalls {
    /// Calls that were answered, by their ids.
    answered: HashMap<String, AnsweredCall>,
    /// Calls of MCP servers' tools, each with the step of the code.
    asked: Vec<(McpCall, usize)>,
    /// The commands that it ran since it was answered last.
    ran: Vec<String>,
    /// How many commands it may have run.
    most: u64,
    /// How many codex has told of.
    told: u64,
}

/// A call that was answered.
#[derive(Debug)]
struct AnsweredCall {
    /// The code, and the commands that it ran.
    call: String,
    /// The call, in words.
    how: String,
    /// Its step.
    step: usize,
}

impl CodeCalls {
    /// Whether it is a call of code, or one that waits for it.
    pub(super) fn is(tool: &str) -> bool {
        [CODE, WAIT].contains(&tool)
    }

    /// The model wrote code.
    pub(super) fn called(&mut self, tool: &str, input: &str) {
        if tool == CODE {
            self.most = self.most.saturating_add(most_commands(input));
        }
    }

    /// The code ran a command.
    pub(super) fn ran(&mut self, command: &str) {
        self.told += 1;
        self.ran.push(command.to_owned());
    }

    /// The call with this id was answered.
    pub(super) fn answered(
        &mut self,
        trace: &mut TraceBuilder,
        skills: &mut SkillCalls<'_>,
        call: String,
        (name, input): (String, String),
        output: String,
    ) {
        let ran = std::mem::take(&mut self.ran).join("\n");
        let how = format!("{name} {}", excerpt(&input));
        let answered = AnsweredCall { call: format!("{input}\n{ran}"), how, step: trace.steps.len() };
        skills.wrote(&input);
        answered.showed(trace, skills, &output);
        self.answered.insert(call, answered);
        let failed = output.starts_with("unsupported call");
        trace.push(Step::Tool { name, input, output, failed });
    }

    /// The code said something with `notify`: that comes before the model beside its answer, each time in a line of its own with
    /// the id of the same call.
    pub(super) fn said(&self, trace: &mut TraceBuilder, skills: &mut SkillCalls<'_>, call: &str, text: &str) {
        let Some(answered) = self.answered.get(call) else { return };
        trace.at = Some(answered.step);
        answered.showed(trace, skills, text);
        trace.at = None;
        if let Some(Step::Tool { output, .. }) = trace.steps.get_mut(answered.step) {
            *output = cut(format!("{output}\n{text}"));
        }
    }

    /// The code called an MCP server's tool.
    pub(super) fn asked(&mut self, trace: &TraceBuilder, call: McpCall) {
        self.asked.push((call, trace.steps.len()));
    }

    /// Notes which skills it asked for, now that all is known that it printed.
    pub(super) fn finish(self, trace: &mut TraceBuilder, skills: &mut SkillCalls<'_>) {
        for (McpCall { tool, input, failed }, step) in self.asked {
            trace.at = Some(step);
            skills.asked_by_code(trace, &tool, &input, failed);
            trace.at = None;
        }
        trace.unreported_commands = trace.unreported_commands.saturating_add(self.most.saturating_sub(self.told));
    }
}

impl AnsweredCall {
    /// The model was shown this.
    fn showed(&self, trace: &mut TraceBuilder, skills: &mut SkillCalls<'_>, text: &str) {
        skills.shown(trace, &self.call, &self.how, text, true);
    }
}

/// The most commands that code can have run: of one that failed with words that a sandbox would say codex may tell nothing.
/// Where code repeats itself nobody knows.
fn most_commands(code: &str) -> u64 {
    let code: String = code.split_whitespace().collect();
    let straight = REPEATS.iter().filter_map(|word| code.find(word)).min().map_or(code.as_str(), |at| &code[..at]);
    let named: usize = SHELLS.iter().map(|tool| code.matches(tool).count()).sum();
    let called: usize = SHELLS.iter().map(|tool| straight.matches(&format!("tools.{tool}(")).count()).sum();
    if named == called && !code.contains("tools[") { u64::try_from(called).unwrap_or(u64::MAX) } else { u64::MAX }
}
