//! `history`: the conversation before the prompt.
//!
//! ```json
//! "history": [ { "role": "user", "content": "We write release notes." },
//!              { "role": "assistant", "content": "Which version?" } ]
//! ```

use crate::cases::case::document::{Document, Node};
use crate::checks::{FieldForm, FieldValue};
use crate::text::diagnostic::Code;
use crate::trial::history::{HistoryMessage, Speaker};

/// The key of the message's author.
const ROLE: &str = "role";

/// The key of its text.
const CONTENT: &str = "content";

/// Reads a conversation.
pub(super) fn messages(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<HistoryMessage> {
    let Some(elements) = list.elements() else {
        file.wrong_type(&format!("`{name}`"), "a list of messages", list);
        return Vec::new();
    };
    file.not_empty(name, list);
    let messages: Vec<HistoryMessage> =
        elements.iter().enumerate().filter_map(|(index, element)| message(file, name, index, element)).collect();
    if let Some(last) = elements.last().filter(|_| elements.len() % 2 == 1 && messages.len() == elements.len()) {
        let message = format!("the last message of `{name}` has no answer");
        let help = "add the agent's answer, or make the message the prompt";
        file.problem_with_help(Code::BadHistory, last.range.clone(), message, help);
    }
    messages
}

fn message(file: &mut Document<'_>, name: &str, index: usize, message: &Node) -> Option<HistoryMessage> {
    if !message.is_map() {
        file.wrong_type("a message", "an object", message);
        return None;
    }
    file.unknown_keys(message, &[ROLE, CONTENT]);
    let written = file.required(message, ROLE);
    let role =
        written.and_then(|role| file.field_value(&format!("{name}.{ROLE}"), FieldForm::Choice(&Speaker::WORDS), role));
    let content = file.required_text(message, &format!("{name}.{CONTENT}"));
    let (FieldValue::Text(role), written) = (role?, written?) else { return None };
    let expected = Speaker::of_message(index);
    if role != expected.as_str() {
        let message = format!("message {} of `{name}` is not of the `{}`", index + 1, expected.as_str());
        let help = "begin with the user; each message is answered by the other one";
        file.problem_with_help(Code::BadHistory, written.range.clone(), message, help);
        return None;
    }
    Some(HistoryMessage { role: expected, content: content?.to_owned() })
}
