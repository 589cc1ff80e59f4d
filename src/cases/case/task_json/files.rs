//! An object in `evalConfig.files`: `{ "path": "orders.csv", "content": "…" }`, or with `source`, a file or directory next to
//! the task file.

use super::field_value;
use crate::cases::case::document::{Document, Node};
use crate::checks::{CASE_DIRECTORY, FieldForm, FieldValue};
use crate::text::diagnostic::Code;
use crate::trial::input_file::{InputContent, InputFile};

/// The path of the object of a file.
const PREFIX: &str = "evalConfig.files.";

/// Reads the object of a file.
pub(super) fn input_file(file: &mut Document<'_>, object: &Node) -> Option<InputFile> {
    file.unknown_keys(object, &["path", "content", "source"]);
    let mut path = |key: &str, base| {
        let form = FieldForm::Path { base };
        match field_value(file, &[PREFIX, key].concat(), form, object.get(key)?) {
            Some(FieldValue::Path(path)) => Some(path),
            _ => None,
        }
    };
    let (at, source) = (path("path", "the workspace"), path("source", CASE_DIRECTORY));
    let content = file.text(object, &[PREFIX, "content"].concat());
    let is_one = object.get("content").is_some() != object.get("source").is_some();
    if !is_one {
        let start = object.range.start;
        file.problem(Code::MissingKey, start..start + 1, "a file has one of `content`, `source`");
        return None;
    }
    if object.get("source").is_some() {
        let copy = InputFile::copy_of(source?);
        return Some(InputFile { path: at.unwrap_or_else(|| copy.path.clone()), ..copy });
    }
    file.required(object, &[PREFIX, "path"].concat());
    Some(InputFile { path: at?, content: InputContent::Text(content?.to_owned()) })
}
