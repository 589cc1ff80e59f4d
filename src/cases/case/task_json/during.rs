//! `evalConfig.during`: changes to the skills in mid-session.
//!
//! ```json
//! "during": [ { "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true },
//!             { "afterTurn": 1, "edit": "evals/changes/greeting" },
//!             { "afterTurn": 2, "remove": "parting" } ]
//! ```

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;

use super::{TaskParser, value};
use crate::checks::{self, FieldForm};
use crate::settings::limits::MOST_TURNS;
use crate::skill::slug;
use crate::text::diagnostic::{Code, SourceLocation, shorten};
use crate::text::relative_path::RelativePath;
use crate::trace::change::{ChangeKind, MOST_CHANGES, SkillChange};

/// The key that says when.
const AFTER: &str = "afterTurn";

/// The key that asks whether it came before the model.
const SEEN: &str = "expectSeen";

/// What a change is called before the name of its key.
const PREFIX: &str = "evalConfig.during.";

const HELP: &str = "name the directory of a skill, from the repository's root";

impl TaskParser<'_> {
    /// The changes that `evalConfig` asks for.
    pub(super) fn during(&mut self, config: &Object<'_>, shift: usize) -> Vec<SkillChange> {
        value(config, "during").map(|list| self.change_list(list, shift)).unwrap_or_default()
    }

    /// A list of changes.
    pub(super) fn change_list(&mut self, list: &Value<'_>, shift: usize) -> Vec<SkillChange> {
        let Value::Array(list) = list else {
            let range = list.start() + shift..list.end() + shift;
            self.wrong_type(range, "`evalConfig.during`", "a list of changes", list);
            return Vec::new();
        };
        if list.elements.len() > MOST_CHANGES {
            let range = list.start() + shift..list.start() + shift + 1;
            self.problem(Code::BadNumber, range, format!("`evalConfig.during` has more than {MOST_CHANGES} changes"));
            return Vec::new();
        }
        list.elements.iter().filter_map(|element| self.change(element, shift)).collect()
    }

    fn change(&mut self, element: &Value<'_>, shift: usize) -> Option<SkillChange> {
        let range = element.start() + shift..element.end() + shift;
        let Value::Object(change) = element else {
            self.wrong_type(range, "a change", "an object", element);
            return None;
        };
        let kinds = ChangeKind::ALL.map(ChangeKind::as_str);
        let [add, edit, remove] = kinds;
        self.unknown_keys(change, &[AFTER, add, edit, remove, SEEN], shift);
        let named: Vec<ChangeKind> =
            ChangeKind::ALL.into_iter().filter(|kind| value(change, kind.as_str()).is_some()).collect();
        let turns = FieldForm::Number { least: 1, most: MOST_TURNS };
        let after_turn = match self.one(change, [PREFIX, AFTER], turns, shift) {
            Some(checks::FieldValue::Number(turn)) => Some(turn),
            _ => None,
        };
        let seen = self.one(change, [PREFIX, SEEN], FieldForm::Flag, shift);
        let expect_seen = seen == Some(checks::FieldValue::Flag(true));
        if value(change, AFTER).is_none() {
            self.missing(range.clone(), &[PREFIX, AFTER].concat());
        }
        let [kind] = named[..] else {
            let message = format!("a change says one of `{}`", kinds.join("`, `"));
            self.problem(Code::JsonMissingKey, range.start..range.start + 1, message);
            return None;
        };
        let text = self.required_string(change, kind.as_str(), PREFIX, shift)?;
        let at = value(change, kind.as_str()).map_or(range, |value| value.start() + shift..value.end() + shift);
        let folder = match kind {
            ChangeKind::Remove => None,
            ChangeKind::Add | ChangeKind::Edit => match RelativePath::parse(text.trim()) {
                Ok(folder) => Some(folder),
                Err(why) => {
                    self.problem(Code::BadPath, at, format!("`{}` {why}", shorten(&text))).help = Some(HELP.to_owned());
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
