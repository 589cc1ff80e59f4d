//! `evalConfig.during`: changes to the skills during a session.
//!
//! ```json
//! "during": [ { "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true },
//!             { "afterTurn": 1, "edit": "evals/changes/greeting" },
//!             { "afterTurn": 2, "remove": "parting" } ]
//! ```

use jsonc_parser::ast::Value;

use super::{TaskParser, value};
use crate::checks::{FieldForm, FieldValue};
use crate::settings::limits::MOST_TURNS;
use crate::skill::slug;
use crate::text::diagnostic::{Code, SourceLocation, shorten};
use crate::text::relative_path::RelativePath;
use crate::trace::change::{ChangeKind, MOST_CHANGES, SkillChange};

/// The key of the turn after which the change happens.
const AFTER: &str = "afterTurn";

/// The key that asks whether the change entered the model's context.
const SEEN: &str = "expectSeen";

/// The path of the object of a change.
const PREFIX: &str = "evalConfig.during.";

impl TaskParser<'_> {
    /// Reads a list of changes.
    pub(super) fn change_list(&mut self, list: &Value<'_>) -> Vec<SkillChange> {
        let range = self.range(list);
        let Value::Array(list) = list else {
            self.wrong_type(range, "`evalConfig.during`", "a list of changes", list);
            return Vec::new();
        };
        if list.elements.len() > MOST_CHANGES {
            let message = format!("`evalConfig.during` has more than {MOST_CHANGES} changes");
            self.problem(Code::BadNumber, range.start..range.start + 1, message);
            return Vec::new();
        }
        list.elements.iter().filter_map(|element| self.change(element)).collect()
    }

    fn change(&mut self, element: &Value<'_>) -> Option<SkillChange> {
        let range = self.range(element);
        let Value::Object(change) = element else {
            self.wrong_type(range, "a change", "an object", element);
            return None;
        };
        let kinds = ChangeKind::ALL.map(ChangeKind::as_str);
        let [add, edit, remove] = kinds;
        self.unknown_keys(change, &[AFTER, add, edit, remove, SEEN]);
        let turns = FieldForm::Number { least: 1, most: MOST_TURNS };
        let after_turn = match self.optional(change, PREFIX, AFTER, turns) {
            Some(FieldValue::Number(turn)) => Some(turn),
            _ => None,
        };
        let expect_seen = self.optional(change, PREFIX, SEEN, FieldForm::Flag) == Some(FieldValue::Flag(true));
        if value(change, AFTER).is_none() {
            self.missing(range.start, &[PREFIX, AFTER].concat());
        }
        let named: Vec<(ChangeKind, &Value<'_>)> =
            ChangeKind::ALL.into_iter().filter_map(|kind| Some((kind, value(change, kind.as_str())?))).collect();
        let [(kind, named)] = named[..] else {
            let message = format!("a change says one of `{}`", kinds.join("`, `"));
            self.problem(Code::JsonMissingKey, range.start..range.start + 1, message);
            return None;
        };
        let text = self.required_string(change, kind.as_str(), PREFIX)?;
        let at = self.range(named);
        let folder = match kind {
            ChangeKind::Remove => None,
            ChangeKind::Add | ChangeKind::Edit => match RelativePath::parse(text.trim()) {
                Ok(folder) => Some(folder),
                Err(why) => {
                    self.problem(Code::BadPath, at, format!("`{}` {why}", shorten(&text))).help =
                        Some("name the directory of a skill, from the repository's root".to_owned());
                    return None;
                }
            },
        };
        let name = folder.as_ref().and_then(|folder| folder.as_path().file_name());
        let skill = slug(&name.map_or(text.as_str().into(), |name| name.to_string_lossy()));
        let origin = SourceLocation::in_text(self.path, self.bytes, at);
        Some(SkillChange { after_turn: after_turn?, kind, skill, folder, expect_seen, origin })
    }
}
