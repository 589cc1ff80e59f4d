//! What both protocols leave open: when the model is asked, when its answer begins, and what its text is if it comes in pieces.

use serde_json::Value;

use crate::agent::refusal::Refusal;
use crate::agent::said::Said;
use crate::settings::ToolNames;
use crate::trace::trouble::Trouble;
use crate::trace::{Usage, excerpt};

/// The answer of the model so far.
#[derive(Default)]
pub(super) struct AnswerSoFar {
    /// Whether the model got the user's message.
    is_asked: bool,
    is_answering: bool,
    /// Whether the tokens of this answer are known.
    is_counted: bool,
    /// The last message, if it is the program's about its provider.
    refusal: Option<String>,
    /// The pieces of the message and of the thought that are not complete.
    text: String,
    thought: String,
}

impl AnswerSoFar {
    /// One whose beginning is known already.
    pub(super) fn begun() -> Self {
        Self { is_asked: true, is_answering: false, ..Self::default() }
    }

    fn asked(&mut self, said: &mut Vec<Said>) {
        if !std::mem::replace(&mut self.is_asked, true) {
            said.push(Said::Asks);
        }
    }

    /// Notes that the model says something.
    pub(super) fn begin(&mut self, said: &mut Vec<Said>) {
        self.asked(said);
        if !std::mem::replace(&mut self.is_answering, true) {
            self.is_counted = false;
            said.push(Said::Answers(None));
        }
    }

    /// Notes a message or a thought, or a piece of it.
    pub(super) fn says(&mut self, text: &str, is_thought: bool, is_piece: bool, said: &mut Vec<Said>) {
        self.begin(said);
        if is_thought || !is_piece {
            self.end_text(said);
        }
        if !is_thought || !is_piece {
            self.end_thought(said);
        }
        (if is_thought { &mut self.thought } else { &mut self.text }).push_str(text);
        if !is_piece {
            self.end_pieces(said);
        }
    }

    /// Notes a message that begins as one of `errors`, which the program itself writes if its provider refuses. A later
    /// message takes that back.
    pub(super) fn may_be_refusal(&mut self, text: &str, errors: &[String]) {
        if !text.trim().is_empty() {
            let is_refusal = errors.iter().any(|start| text.starts_with(start.as_str()));
            self.refusal = is_refusal.then(|| text.to_owned());
        }
    }

    /// Notes the tokens of a request.
    pub(super) fn costs(&mut self, usage: Usage, said: &mut Vec<Said>) {
        self.asked(said);
        let is_of_this = self.is_answering && !self.is_counted;
        (self.is_answering, self.is_counted) = (true, true);
        said.push(if is_of_this { Said::Spent(usage) } else { Said::Answers(Some(usage)) });
    }

    /// Notes that the model calls a tool.
    pub(super) fn calls(&mut self, said: &mut Vec<Said>) {
        self.begin(said);
        self.end_pieces(said);
    }

    /// Notes that a tool has answered: what the model says next is another answer.
    pub(super) fn tool_answered(&mut self) {
        self.is_answering = false;
    }

    /// Notes that the agent is done with the user's message. Returns whether it is, and its provider did not refuse.
    pub(super) fn done(&mut self, said: &mut Vec<Said>) -> bool {
        self.end_pieces(said);
        self.asked(said);
        (self.is_asked, self.is_answering) = (false, false);
        let refusal = self.refusal.take();
        let trouble = refusal.as_deref().map(|message| {
            let refusal = Refusal { message, ..Refusal::default() };
            Trouble::new(refusal.kind(), excerpt(message))
        });
        let is_done = trouble.is_none();
        said.extend(trouble.map(Said::Refused));
        is_done
    }

    /// Says what is complete, because something else follows.
    pub(super) fn end_pieces(&mut self, said: &mut Vec<Said>) {
        self.end_thought(said);
        self.end_text(said);
    }

    fn end_text(&mut self, said: &mut Vec<Said>) {
        let text = std::mem::take(&mut self.text);
        said.extend(Some(text).filter(|text| !text.trim().is_empty()).map(Said::Message));
    }

    fn end_thought(&mut self, said: &mut Vec<Said>) {
        let thought = std::mem::take(&mut self.thought);
        said.extend(Some(thought).filter(|thought| !thought.is_empty()).map(Said::Thought));
    }
}

/// The tool of the skills' MCP server that an agent calls by this name, as every agent names it: agents put the server's name
/// in the tool's name or title in many ways. Without the name of a skill in the input, only the answer can tell.
pub(super) fn served(tool: &str, input: &Value, names: &ToolNames) -> Option<String> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let rest = plain(tool).replacen(&plain(&names.server), "", 1);
    let has_skill = ["name", "skill"].iter().any(|key| input.get(key).is_some_and(Value::is_string));
    if rest.len() == tool.len() || !has_skill {
        return None;
    }
    let found = [(&names.resource, names.resource_tool()), (&names.skill, names.skill_tool())];
    found.into_iter().find(|(name, _)| rest.contains(&plain(name))).map(|(_, whole)| whole)
}
