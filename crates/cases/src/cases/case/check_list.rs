//! `checks`: a list of objects, each a check. Its main key names the kind, the other keys are options.
//!
//! ```json
//! "checks": [ { "text": "final", "contains": "Ada", "ignoreCase": true },
//!             { "file": "out/*.json", "at": "/items/0", "equals": "Ada" } ]
//! ```

use serde_json::Value as Json;

use crate::cases::case::document::{Document, Node};
use crate::checks::listed::listed;
use crate::checks::{Check, CheckKind, InvalidCheck, ListForm, ListedCheck, Origin};
use crate::text::diagnostic::{Code, suggest};

/// The key of the list.
pub(super) const CHECKS: &str = "checks";

pub(super) fn checks(file: &mut Document<'_>, list: &Node) -> Vec<Check> {
    let Some(elements) = list.elements() else {
        file.wrong_type(&format!("`{CHECKS}`"), "a list of checks", list);
        return Vec::new();
    };
    file.not_empty(CHECKS, list);
    elements.iter().filter_map(|element| check(file, element)).collect()
}

/// The list that these checks are read from, without those that it cannot have.
pub(super) fn written(checks: &[Check]) -> Json {
    checks.iter().filter_map(Check::written_object).collect()
}

fn check(file: &mut Document<'_>, written: &Node) -> Option<Check> {
    if !written.is_map() {
        file.wrong_type("a check", "an object", written);
        return None;
    }
    let (kind, form) = kind(file, written)?;
    let keys: Vec<(&'static str, _)> = form.keys().collect();
    let problems = file.problems.found();
    file.unknown_keys(written, &keys.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    let mut listed = ListedCheck::default();
    for (key, form) in keys {
        let Some(value) = written.get(key) else { continue };
        listed.values.push((key, file.field_values(key, form, value)));
    }
    if file.problems.found() > problems {
        return None;
    }
    match (form.ask)(&listed) {
        Ok(ask) => {
            let place = file.place(written.range.clone());
            let origin = Origin { key: CHECKS.into(), line: place.line, elsewhere: Some(place) };
            Some(Check { kind, origin, ask, weight: None })
        }
        Err(InvalidCheck { key, message, help }) => {
            let range = written.get(key).unwrap_or(written).range.clone();
            file.problem_with_help(Code::InvalidCheck, range, message, help);
            None
        }
    }
}

/// The kind that an object names.
fn kind(file: &mut Document<'_>, written: &Node) -> Option<(&'static CheckKind, &'static ListForm)> {
    let named: Vec<_> = listed().filter(|(_, form)| written.get(form.key).is_some()).collect();
    let known: Vec<&str> = listed().map(|(_, form)| form.key).collect();
    match named[..] {
        [only] => return Some(only),
        [] => {
            let first = written.entries().first();
            let range = first.map_or(written.range.start..written.range.start + 1, |entry| entry.key_range.clone());
            let help = first.map_or_else(|| suggest("", &known), |entry| suggest(&entry.key, &known));
            let message = format!("a check has one of the keys `{}`", known.join("`, `"));
            file.problem_with_help(Code::InvalidCheck, range, message, help);
        }
        [_, (_, second), ..] => {
            let range = written.entry(second.key).map_or(written.range.clone(), |entry| entry.key_range.clone());
            let message = format!("this object is a check of two kinds, `{}` and `{}`", named[0].1.key, second.key);
            file.problem_with_help(Code::InvalidCheck, range, message, "write two checks");
        }
    }
    None
}
