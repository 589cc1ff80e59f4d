//! `during`: changes to the skills during a session.
//!
//! ```json
//! "during": [ { "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true },
//!             { "afterTurn": 1, "edit": "evals/changes/greeting" },
//!             { "afterTurn": 2, "remove": "parting" } ]
//! ```

use serde_json::{Value as Json, json};

use crate::cases::case::document::{Document, Node};
use crate::checks::{FieldForm, FieldValue};
use crate::settings::limits::MOST_TURNS;
use crate::skill::slug;
use crate::text::diagnostic::Code;
use crate::trace::change::{ChangeKind, MOST_CHANGES, SkillChange};

/// The key of the turn after which the change happens.
const AFTER: &str = "afterTurn";

/// The key that asks whether the change entered the model's context.
const SEEN: &str = "expectSeen";

pub(super) fn changes(file: &mut Document<'_>, name: &str, list: &Node) -> Vec<SkillChange> {
    let Some(elements) = list.elements() else {
        file.wrong_type(&format!("`{name}`"), "a list of changes", list);
        return Vec::new();
    };
    if elements.len() > MOST_CHANGES {
        let message = format!("`{name}` has more than {MOST_CHANGES} changes");
        file.problem(Code::BadNumber, list.range.start..list.range.start + 1, message);
        return Vec::new();
    }
    elements.iter().filter_map(|element| change(file, &format!("{name}."), element)).collect()
}

/// The list that these changes are read from.
pub(super) fn written(changes: &[SkillChange]) -> Json {
    let written = changes.iter().map(|SkillChange { after_turn, kind, skill, folder, expect_seen, origin: _ }| {
        let what = folder.as_ref().map_or_else(|| skill.clone(), |folder| format!("/{folder}"));
        json!({ AFTER: after_turn, kind.as_str(): what, SEEN: expect_seen })
    });
    written.collect()
}

fn change(file: &mut Document<'_>, prefix: &str, change: &Node) -> Option<SkillChange> {
    if !change.is_map() {
        file.wrong_type("a change", "an object", change);
        return None;
    }
    let kinds = ChangeKind::WORDS;
    let [add, edit, remove] = kinds;
    file.unknown_keys(change, &[AFTER, add, edit, remove, SEEN]);
    let mut optional = |key: &str, form| file.field_value(&[prefix, key].concat(), form, change.get(key)?);
    let after_turn = match optional(AFTER, FieldForm::Number { least: 1, most: MOST_TURNS }) {
        Some(FieldValue::Number(turn)) => Some(turn),
        _ => None,
    };
    let expect_seen = optional(SEEN, FieldForm::Flag) == Some(FieldValue::Flag(true));
    file.required(change, &[prefix, AFTER].concat());
    let named: Vec<(ChangeKind, &Node)> =
        kinds.iter().filter_map(|kind| Some((ChangeKind::named(kind)?, change.get(kind)?))).collect();
    let [(kind, named)] = named[..] else {
        let message = format!("a change says one of `{}`", kinds.join("`, `"));
        file.problem(Code::MissingKey, change.range.start..change.range.start + 1, message);
        return None;
    };
    let text = file.required_text(change, &[prefix, kind.as_str()].concat())?;
    let folder = match kind {
        ChangeKind::Remove => None,
        ChangeKind::Add | ChangeKind::Edit => {
            match file.field_value(&[prefix, kind.as_str()].concat(), FieldForm::Source, named)? {
                FieldValue::Path(folder) => Some(folder),
                _ => return None,
            }
        }
    };
    let name = folder.as_ref().and_then(|folder| folder.as_path().file_name());
    let skill = slug(&name.map_or(text.into(), |name| name.to_string_lossy()));
    let origin = file.place(named.range.clone());
    Some(SkillChange { after_turn: after_turn?, kind, skill, folder, expect_seen, origin })
}
