//! Files in an agent's home, such as copied credentials.

use std::io;
use std::path::Path;

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value};

use crate::files::bounded;
use crate::files::rooted::{PRIVATE, RootedPath};
use crate::text::diagnostic::SourceLocation;
use crate::trace::trouble::{Trouble, TroubleKind};

/// The content of a file, if it exists.
pub(super) fn read_if_exists(path: &Path) -> Result<Option<String>, Trouble> {
    match bounded::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(file_trouble(path, &error)),
    }
}

/// The object in a JSON file, which may have comments; empty without the file.
pub(super) fn read_jsonc(path: &Path) -> Result<Map<String, Value>, Trouble> {
    let Some(text) = read_if_exists(path)? else { return Ok(Map::new()) };
    jsonc_parser::parse_to_serde_value(&text, &ParseOptions::default())
        .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {error}", path.display())))
}

/// The table in a TOML file; empty without the file.
pub(super) fn read_toml(path: &Path) -> Result<toml::Table, Trouble> {
    let text = read_if_exists(path)?.unwrap_or_default();
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let place = SourceLocation::in_text(path, text.as_bytes(), error.span().unwrap_or_default());
        Trouble::new(TroubleKind::Files, format!("{place}: {}", error.message()))
    })
}

/// A value on a line of its own.
pub(super) fn json_line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Adds `more` to `value`: tables key by key.
pub(super) fn merge(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(table), Value::Object(more)) => {
            for (key, value) in more {
                merge(table.entry(key).or_insert(Value::Null), value);
            }
        }
        (value, more) => *value = more,
    }
}

/// Writes a file of a room that only its owner can read, and its directory.
pub(super) fn write_private(path: &RootedPath, content: &[u8]) -> Result<(), Trouble> {
    Ok(path.write(content, PRIVATE)?)
}

pub(super) fn file_trouble(path: &Path, error: &io::Error) -> Trouble {
    Trouble::new(TroubleKind::Files, format!("{}: {error}", path.display()))
}
