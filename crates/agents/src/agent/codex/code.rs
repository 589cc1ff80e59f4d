//! What the model's code did. Recent models write JavaScript that calls the tools, and see only what the code prints.

use std::collections::HashMap;

use super::wire::McpCall;
use crate::agent::recorder::{EndedCall, TraceRecorder};
use crate::text::redact::Masked;
use crate::trace::{Step, excerpt};

/// The tool with which a model runs its own code.
pub(super) const CODE: &str = "functions__exec";

/// The tool with which it waits for code that takes longer.
const WAIT: &str = "functions__wait";

/// The tools with which code runs shell commands.
const SHELLS: [&str; 3] = ["exec_command", "shell_command", "local_shell"];

/// How a part of the code begins that may run more than once, without white space.
const REPEATS: [&str; 6] = ["for(", "forawait(", "while(", "do{", "=>", "function"];

/// What the code of a model and its sub-agents did.
#[derive(Debug, Default)]
pub(super) struct CodeCalls {
    /// Calls with an answer, by id.
    answered: HashMap<String, AnsweredCall>,
    /// Calls of tools of MCP servers, each with the code's step.
    mcp_calls: Vec<(McpCall, usize)>,
    /// Commands since the last answer.
    new_commands: Vec<String>,
    /// How many commands the code may have run.
    possible_commands: u64,
    /// How many commands codex reported.
    reported_commands: u64,
}

#[derive(Debug)]
struct AnsweredCall {
    /// The code, and the commands that it ran.
    call: String,
    evidence: String,
    step: usize,
}

impl CodeCalls {
    /// Whether this tool runs code, or waits for code.
    pub(super) fn is_code(tool: &str) -> bool {
        [CODE, WAIT].contains(&tool)
    }

    /// The model called this tool, maybe to run code.
    pub(super) fn called(&mut self, tool: &str, input: &str) {
        if tool == CODE {
            self.possible_commands = self.possible_commands.saturating_add(possible_commands(input));
        }
    }

    /// The code ran a command.
    pub(super) fn ran(&mut self, command: &str) {
        self.reported_commands += 1;
        self.new_commands.push(command.to_owned());
    }

    /// The call with this id was answered.
    pub(super) fn answered(
        &mut self,
        recorder: &mut TraceRecorder<'_>,
        id: String,
        EndedCall { tool: name, input, output, .. }: EndedCall,
    ) {
        let output = recorder.read(&name, output);
        let call = format!("{input}\n{}", std::mem::take(&mut self.new_commands).join("\n"));
        let evidence = format!("{name} {}", excerpt(&input));
        recorder.wrote(&input);
        recorder.shown(&call, &evidence, &output, true);
        self.answered.insert(id, AnsweredCall { call, evidence, step: recorder.trace.steps.len() });
        let failed = output.starts_with("unsupported call");
        recorder.trace.push(Step::Tool { name, input, output, failed });
    }

    /// The code called `notify`: the model sees the text with the call's answer. Each text is a line with the call's id.
    pub(super) fn notified(&self, recorder: &mut TraceRecorder<'_>, id: &str, text: &str) {
        let Some(AnsweredCall { call, evidence, step }) = self.answered.get(id) else { return };
        recorder.trace.at = Some(*step);
        recorder.shown(call, evidence, text, true);
        recorder.trace.at = None;
        if let Some(Step::Tool { output, .. }) = recorder.trace.steps.get_mut(*step) {
            *output = Masked::stored(format!("{output}\n{text}")).cut();
        }
    }

    /// The code called a tool of an MCP server at this step.
    pub(super) fn called_mcp(&mut self, call: McpCall, step: usize) {
        self.mcp_calls.push((call, step));
    }

    /// Records which skills the code requested, now that everything it printed is known.
    pub(super) fn finish(self, recorder: &mut TraceRecorder<'_>) {
        for (McpCall { tool, input, failed }, step) in self.mcp_calls {
            recorder.trace.at = Some(step);
            recorder.called_by_code(&tool, &input, failed);
            recorder.trace.at = None;
        }
        let unreported = self.possible_commands.saturating_sub(self.reported_commands);
        recorder.trace.unreported_commands = recorder.trace.unreported_commands.saturating_add(unreported);
    }
}

/// The most commands that code can have run: codex may not report a command whose error looks like a sandbox's. The
/// maximum is unknown (`u64::MAX`) if a part with commands may run more than once.
fn possible_commands(code: &str) -> u64 {
    let code: String = code.split_whitespace().collect();
    let repeat = REPEATS.iter().filter_map(|word| code.find(word)).min().unwrap_or(code.len());
    let mut named = 0;
    let mut called_once = 0;
    for tool in SHELLS {
        named += code.matches(tool).count();
        called_once += code[..repeat].matches(&format!("tools.{tool}(")).count();
    }
    let is_known = named == called_once && !code.contains("tools[");
    if is_known { u64::try_from(named).unwrap_or(u64::MAX) } else { u64::MAX }
}
