//! An object in the list `files`: `{ "path": "orders.csv", "content": "…" }`, or with `source`, a file or directory of the
//! repository.

use super::{Document, Node};
use crate::checks::{FieldForm, FieldValue};
use crate::text::diagnostic::Code;
use crate::trial::input_file::{InputContent, InputFile};

impl Document<'_> {
    /// Reads the object of a file in the field `name`.
    pub(super) fn input_file(&mut self, name: &str, object: &Node) -> Option<InputFile> {
        self.unknown_keys(object, &["path", "content", "source"]);
        let mut value = |key: &str, form| {
            let name = format!("{name}.{key}");
            self.text(object, &name).and(object.get(key)).and_then(|node| self.field_value(&name, form, node))
        };
        let at = value("path", FieldForm::Path);
        let copy = value("source", FieldForm::Files);
        let content = self.text(object, &format!("{name}.content"));
        let is_one = object.get("content").is_some() != object.get("source").is_some();
        if !is_one {
            let start = object.range.start;
            self.problem(Code::MissingKey, start..start + 1, "a file has one of `content`, `source`");
            return None;
        }
        if object.get("source").is_some() {
            let Some(FieldValue::File(copy)) = copy else { return None };
            let Some(FieldValue::Path(path)) = at else { return Some(copy) };
            return Some(InputFile { path, ..copy });
        }
        self.required(object, &format!("{name}.path"));
        let Some(FieldValue::Path(path)) = at else { return None };
        Some(InputFile { path, content: InputContent::Text(content?.to_owned()) })
    }
}
