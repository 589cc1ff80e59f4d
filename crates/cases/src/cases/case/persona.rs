//! `user`: a user who answers the agent until it has what it wants.
//!
//! ```json
//! "user": { "persona": "A product manager in a hurry.", "goal": "A release note for version 2.",
//!           "facts": { "audience": "administrators", "date": "3 March" }, "maxTurns": 6 }
//! ```

use crate::cases::case::document::{Document, Node, NodeEntry};
use crate::checks::FieldForm;
use crate::text::diagnostic::Code;
use crate::trial::user::{Persona, has_value};

pub(super) const GOAL: &str = "goal";
const PERSONA: &str = "persona";
pub(super) const FACTS: &str = "facts";
const MAX_TURNS: &str = "maxTurns";

/// The maximum number of messages if the case sets none.
const DEFAULT_TURNS: u64 = 10;

/// The most that a case can allow.
const MOST_TURNS: u64 = 50;

/// The keys of a user, without its facts.
pub(super) const KEYS: [(&str, FieldForm); 3] = [
    (PERSONA, FieldForm::Text),
    (GOAL, FieldForm::Text),
    (MAX_TURNS, FieldForm::Number { least: 1, most: MOST_TURNS }),
];

pub(super) fn read(file: &mut Document<'_>, name: &str, user: &Node) -> Option<Persona> {
    if !user.is_map() {
        file.wrong_type(&format!("`{name}`"), "an object", user);
        return None;
    }
    file.unknown_keys(user, &[PERSONA, GOAL, FACTS, MAX_TURNS]);
    let key = |key: &str| format!("{name}.{key}");
    let goal = file.required_text(user, &key(GOAL)).unwrap_or_default().to_owned();
    let persona = file.text(user, &key(PERSONA)).map(str::to_owned);
    let expected = format!("a number from 1 to {MOST_TURNS}");
    let max_turns = file.count(user, &key(MAX_TURNS), 1..=MOST_TURNS, &expected).unwrap_or(DEFAULT_TURNS);
    let mut read = Persona { persona, goal, max_turns, ..Persona::default() };
    for NodeEntry { key: fact, value, .. } in file.map(user, &key(FACTS)).map_or(&[][..], Node::entries) {
        let name = format!("{name}.{FACTS}.{fact}");
        match value.text() {
            None => file.wrong_type(&format!("`{name}`"), "a string", value),
            // It could be in no message.
            Some(text) if !has_value(text, text) => {
                file.problem(Code::EmptyValue, value.range.clone(), format!("`{name}` has no letter and no digit"));
            }
            Some(text) => _ = read.facts.insert(fact.clone(), text.to_owned()),
        }
    }
    Some(read)
}
