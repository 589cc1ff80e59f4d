//! `[formats.NAME]`: files of cases in a format of the user's own, and what their keys mean.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use toml::Spanned;

use crate::settings::problems::{Number, Problems};
use crate::text::diagnostic::{SourceLocation, suggest};

/// A format of the user's own: a table that says where its files and their cases are, and which key has which field of a case.
#[derive(Clone, Debug)]
pub struct OwnFormat {
    pub name: String,
    /// Where the settings name it.
    pub place: SourceLocation,
    /// Patterns of its files, from the repository's root.
    pub files: Vec<String>,
    /// Where the cases are in a file: a key, or a JSON pointer in which `*` stands for every element. Empty for the whole file.
    pub cases: String,
    /// What is read of each case.
    pub fields: Vec<OwnField>,
}

/// What a field of a case is made of.
#[derive(Clone, Debug)]
pub struct OwnField {
    /// The field, by its column or key in our own formats.
    pub name: String,
    pub place: SourceLocation,
    /// The keys of its value, or JSON pointers.
    pub keys: Vec<String>,
    /// What words of the file stand for.
    pub values: BTreeMap<String, Json>,
    /// The value in every case of the format.
    pub value: Option<Json>,
}

/// The tables, by their names.
pub(super) type FormatTables = BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, Number>>;

const FILES: &str = "files";
const CASES: &str = "cases";

/// The keys of a field that is a table.
const FIELD: [&str; 3] = ["key", "value", "values"];

/// The formats in these tables.
pub(super) fn read(tables: FormatTables, problems: &mut Problems<'_>) -> Vec<OwnFormat> {
    let formats = tables.into_iter().map(|(name, keys)| {
        let place = problems.place(name.span());
        let mut format = OwnFormat {
            name: name.get_ref().clone(),
            place,
            files: Vec::new(),
            cases: String::new(),
            fields: Vec::new(),
        };
        for (key, written) in keys {
            let value = serde_json::to_value(written.get_ref()).unwrap_or_default();
            match key.get_ref().as_str() {
                FILES => format.files = texts(&value).unwrap_or_default(),
                CASES if value.is_string() => value.as_str().unwrap_or_default().clone_into(&mut format.cases),
                CASES => {
                    problems.add(written.span(), "`cases` is not a text; expected a key, or a JSON pointer".to_owned());
                }
                _ => format.fields.push(field(key, &value, problems)),
            }
        }
        if format.files.iter().all(|pattern| pattern.trim().is_empty()) {
            let message = format!("the format `{}` names no files\nwrite files = \"qa/*.yaml\"", format.name);
            problems.add(name.span(), message);
        }
        format
    });
    formats.collect()
}

fn field(key: Spanned<String>, value: &Json, problems: &mut Problems<'_>) -> OwnField {
    let place = problems.place(key.span());
    let range = key.span();
    let mut field = OwnField { name: key.into_inner(), place, keys: Vec::new(), values: BTreeMap::new(), value: None };
    let Some(table) = value.as_object() else {
        field.keys = texts(value).unwrap_or_default();
        if field.keys.is_empty() {
            let message =
                format!("`{}` is not a key of your files; expected a text, a list of texts, or a table", field.name);
            problems.add(range, message);
        }
        return field;
    };
    if let Some(unknown) = table.keys().find(|key| !FIELD.contains(&key.as_str())) {
        problems
            .add(range.clone(), format!("unknown key `{unknown}` of `{}`; {}", field.name, suggest(unknown, &FIELD)));
    }
    let [keys, constant, values] = FIELD.map(|key| table.get(key));
    field.keys = keys.and_then(texts).unwrap_or_default();
    field.value = constant.cloned();
    let values = values.and_then(Json::as_object).into_iter().flatten();
    field.values = values.map(|(word, value)| (word.clone(), value.clone())).collect();
    if field.keys.is_empty() == field.value.is_none() {
        let help = "write { key = \"verdict\", values = { yes = true, no = false } }, or { value = true }";
        problems.add(range, format!("`{}` has one of `key` and `value`\n{help}", field.name));
    }
    field
}

/// A text or a list of them.
fn texts(value: &Json) -> Option<Vec<String>> {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    match value {
        Json::Array(list) => list.iter().map(text).collect(),
        one => Some(vec![text(one)?]),
    }
}
