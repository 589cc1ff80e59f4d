//! What both protocols leave open: when the model is asked, when its answer begins, and what its text is if it comes in pieces.

use serde_json::Value;

use crate::agent::agent_event::AgentEvent;
use crate::agent::refusal::Refusal;
use crate::settings::ToolNames;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Usage, excerpt, spoken};

/// What the model has said since it was asked.
#[derive(Clone, Copy, Default, PartialEq)]
enum Answers {
    #[default]
    Nothing,
    /// It is in an answer.
    Begun,
    /// A tool has answered, and the next answer has not begun.
    Between,
}

/// The answer of the model so far.
#[derive(Default)]
pub(super) struct AnswerSoFar {
    /// Whether the model got the user's message.
    is_asked: bool,
    answers: Answers,
    /// Whether the tokens of this answer are known.
    is_counted: bool,
    /// The last message, if it is the program's about its provider.
    refusal: Option<String>,
    /// The pieces of the message and of the thought that are not complete.
    text: String,
    thought: String,
}

impl AnswerSoFar {
    /// One whose model has said something already.
    pub(super) fn begun() -> Self {
        Self { is_asked: true, answers: Answers::Between, ..Self::default() }
    }

    fn asked(&mut self, said: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.is_asked, true) {
            said.push(AgentEvent::Asks);
        }
    }

    /// Notes that the model says something.
    pub(super) fn begin(&mut self, said: &mut Vec<AgentEvent>) {
        self.asked(said);
        if std::mem::replace(&mut self.answers, Answers::Begun) != Answers::Begun {
            self.is_counted = false;
            said.push(AgentEvent::Answers(None));
        }
    }

    /// Notes a message or a thought, or a piece of it. Blanks alone are no word of the model.
    pub(super) fn says(&mut self, text: &str, is_thought: bool, is_piece: bool, said: &mut Vec<AgentEvent>) {
        if !text.trim().is_empty() {
            self.begin(said);
        }
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

    /// Notes a message that begins as one of `errors`, which the program itself writes if its provider refuses. A later message
    /// takes that back. Of a piece nobody knows whether it begins a message or belongs to the one before.
    pub(super) fn may_be_refusal(&mut self, text: &str, is_piece: bool, errors: &[String]) {
        let before = if is_piece { self.text.as_str() } else { "" };
        let whole = || before.chars().chain(text.chars()).skip_while(|character| character.is_whitespace());
        let begins = |start: &String| {
            text.trim_start().starts_with(start) || whole().take(start.chars().count()).eq(start.chars())
        };
        if !text.trim().is_empty() {
            self.refusal = errors.iter().any(begins).then(|| whole().collect());
        }
    }

    /// Notes the tokens of a request.
    pub(super) fn costs(&mut self, usage: Usage, said: &mut Vec<AgentEvent>) {
        self.asked(said);
        let is_of_this = self.answers == Answers::Begun && !self.is_counted;
        (self.answers, self.is_counted) = (Answers::Begun, true);
        said.push(if is_of_this { AgentEvent::Spent(usage) } else { AgentEvent::Answers(Some(usage)) });
    }

    /// Notes that the model calls a tool.
    pub(super) fn calls(&mut self, said: &mut Vec<AgentEvent>) {
        self.begin(said);
        self.end_pieces(said);
    }

    /// Notes that a tool has answered: what the model says next is another answer.
    pub(super) fn tool_answered(&mut self) {
        self.answers = Answers::Between;
    }

    /// Notes that the agent is done with the user's message; `has_reason` says whether it gave a reason to end without a word.
    /// Returns whether it is, and its provider did not refuse.
    pub(super) fn done(&mut self, has_reason: bool, said: &mut Vec<AgentEvent>) -> bool {
        self.end_pieces(said);
        self.asked(said);
        self.is_asked = false;
        let refusal = self.refusal.take();
        let refused = refusal.as_deref().map(|message| {
            let refusal = Refusal { message, ..Refusal::default() };
            Trouble::new(refusal.kind(), excerpt(message))
        });
        // Some agents end so if their provider fails.
        let is_silent = std::mem::take(&mut self.answers) == Answers::Nothing && !has_reason;
        let silent =
            is_silent.then(|| Trouble::new(TroubleKind::Provider, "it ended its turn without a word of its model"));
        let trouble = refused.or(silent);
        let is_done = trouble.is_none();
        said.extend(trouble.map(AgentEvent::Refused));
        is_done
    }

    /// Says what is complete, because something else follows.
    pub(super) fn end_pieces(&mut self, said: &mut Vec<AgentEvent>) {
        self.end_thought(said);
        self.end_text(said);
    }

    fn end_text(&mut self, said: &mut Vec<AgentEvent>) {
        let text = std::mem::take(&mut self.text);
        said.extend(spoken(text).map(AgentEvent::Message));
    }

    fn end_thought(&mut self, said: &mut Vec<AgentEvent>) {
        let thought = std::mem::take(&mut self.thought);
        said.extend(Some(thought).filter(|thought| !thought.is_empty()).map(AgentEvent::Thought));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether an agent whose model says these pieces is done without trouble.
    fn is_done(pieces: &[&str]) -> bool {
        let (mut answer, mut said) = (AnswerSoFar::default(), Vec::new());
        for piece in pieces {
            answer.may_be_refusal(piece, true, &["Error: ".to_owned()]);
            answer.says(piece, false, true, &mut said);
        }
        answer.done(false, &mut said)
    }

    #[test]
    fn a_refusal_in_pieces_is_one_and_so_is_a_turn_without_a_word() {
        assert!(!is_done(&["Error", ": 401", " refused"]) && !is_done(&["\n", "Error: 401"]) && !is_done(&[]));
        assert!(is_done(&["An ", "Error: x", " was there"]) && is_done(&["Hello"]));
    }

    #[test]
    fn a_blank_message_is_no_word() {
        for text in ["", "  \n"] {
            let (mut answer, mut said) = (AnswerSoFar::default(), Vec::new());
            answer.says(text, false, false, &mut said);
            assert!(!answer.done(false, &mut said) && !is_done(&[text, text]), "{text:?}");
            assert!(is_done(&[text, "Hello", text]), "{text:?}");
        }
    }
}
