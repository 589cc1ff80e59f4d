//! An object in the list `files`: `{ "path": "orders.csv", "content": "…" }`, or with `source`, a file or directory next to the
//! file of the case.

use super::{Document, Node};
use crate::checks::{CASE_DIRECTORY, FieldForm, FieldValue};
use crate::text::diagnostic::Code;
use crate::trial::input_file::{InputContent, InputFile};

impl Document<'_> {
    /// Reads the object of a file in the field `name`.
    pub(super) fn input_file(&mut self, name: &str, object: &Node) -> Option<InputFile> {
        self.unknown_keys(object, &["path", "content", "source"]);
        let mut path = |key: &str, base| {
            let form = FieldForm::Path { base };
            match self.field_value(&format!("{name}.{key}"), form, object.get(key)?) {
                Some(FieldValue::Path(path)) => Some(path),
                _ => None,
            }
        };
        let (at, source) = (path("path", "the workspace"), path("source", CASE_DIRECTORY));
        let content = self.text(object, &format!("{name}.content"));
        let is_one = object.get("content").is_some() != object.get("source").is_some();
        if !is_one {
            let start = object.range.start;
            self.problem(Code::MissingKey, start..start + 1, "a file has one of `content`, `source`");
            return None;
        }
        if object.get("source").is_some() {
            let copy = InputFile::copy_of(source?);
            return Some(InputFile { path: at.unwrap_or_else(|| copy.path.clone()), ..copy });
        }
        self.required(object, &format!("{name}.path"));
        Some(InputFile { path: at?, content: InputContent::Text(content?.to_owned()) })
    }
}
