//! The JSON Schema of a task file, made of the table of fields: editors complete keys from it and mark mistakes.

use serde_json::{Map, Value, json};

use crate::cases::case::fields::{self, CaseField};
use crate::cases::case::lists;
use crate::cases::case::task_json::{CONFIG, ROOT, SKILL};
use crate::checks::listed::listed;
use crate::checks::{FieldForm, SOURCES};
use crate::settings::limits::MOST_TURNS;
use crate::settings::trials::TRIALS;
use crate::trial::history::Speaker;

/// The schema, in the order of the fields.
pub fn schema() -> Value {
    let mut root = Map::new();
    let mut config = Map::new();
    for (key, description) in SKILL.into_iter().zip(["the skill that should activate", "the skill under test"]) {
        config.insert(key.to_owned(), json!({ "description": description, "type": "string", "minLength": 1 }));
    }
    for case_field in fields::all() {
        let field = case_field.field();
        let schema = match (case_field, field.key) {
            (CaseField::List(_), "during") => changes(),
            (CaseField::List(_), "checks") => checks(),
            (CaseField::List(_), "history") => history(),
            (CaseField::List(_), "mocks") => mocks(),
            (CaseField::List(_), "user") => user(),
            (CaseField::List(_), _) => value(FieldForm::Texts),
            _ => value(field.form),
        };
        let object = if ROOT.contains(&field.key) { &mut root } else { &mut config };
        object.insert(field.key.to_owned(), nullable(&schema));
    }
    let mut config = object(&config, &[]);
    config["oneOf"] = SKILL.iter().map(|key| json!({ "required": [key] })).collect();
    root.insert(CONFIG.to_owned(), config);
    root.insert("$schema".to_owned(), json!({ "type": "string" }));
    let mut schema = object(&root, &["prompt", CONFIG]);
    if let Value::Object(schema) = &mut schema {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!("evals/tasks/*.json"));
    }
    schema
}

fn object(properties: &Map<String, Value>, required: &[&str]) -> Value {
    json!({ "type": "object", "additionalProperties": false, "required": required, "properties": properties })
}

/// A key that is `null` counts as absent.
fn nullable(schema: &Value) -> Value {
    json!({ "oneOf": [schema, { "type": "null" }] })
}

fn value(form: FieldForm) -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    let path = |base: &str| json!({ "description": format!("a path under {base}"), "type": "string", "minLength": 1 });
    let one_or_list = |one: Value| json!({ "oneOf": [one, { "type": "array", "items": one }] });
    match form {
        FieldForm::Flag => json!({ "type": "boolean" }),
        FieldForm::Number { least, most: u64::MAX } => json!({ "type": "integer", "minimum": least }),
        FieldForm::Number { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        FieldForm::Choice(words) => json!({ "enum": words }),
        FieldForm::Path => path("the workspace"),
        FieldForm::Paths => one_or_list(path("the workspace")),
        FieldForm::Source => path(SOURCES),
        FieldForm::Sources => one_or_list(path(SOURCES)),
        FieldForm::Patterns | FieldForm::Tags | FieldForm::Messages | FieldForm::Commands => one_or_list(text()),
        FieldForm::Files => one_or_list(json!({ "oneOf": [text(), input_file()] })),
        FieldForm::Trials => {
            json!({ "description": TRIALS, "oneOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^until decided" }] })
        }
        FieldForm::Amount => json!({ "description": "US dollars", "type": "number", "minimum": 0 }),
        FieldForm::Texts => json!({ "type": "array", "items": text() }),
        FieldForm::Json => json!(true),
        FieldForm::Share => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        FieldForm::Text | FieldForm::Pattern(_) | FieldForm::Pointer => text(),
    }
}

/// Objects of the list `checks`: one for each kind, by the key that names it.
fn checks() -> Value {
    let kinds = listed().map(|(kind, form)| {
        let keys = form.keys().map(|(key, form)| (key.to_owned(), value(form)));
        let mut schema = object(&keys.collect(), &[form.key]);
        schema["title"] = json!(kind.id);
        schema
    });
    json!({ "type": "array", "items": { "anyOf": kinds.collect::<Vec<_>>() } })
}

fn input_file() -> Value {
    let text = || json!({ "type": "string" });
    let properties = Map::from_iter(["path", "content", "source"].map(|key| (key.to_owned(), text())));
    object(&properties, &[])
}

fn history() -> Value {
    let message = [("role", value(FieldForm::Choice(&Speaker::WORDS))), ("content", value(FieldForm::Text))];
    let message = Map::from_iter(message.map(|(key, schema)| (key.to_owned(), schema)));
    json!({ "type": "array", "minItems": 2, "items": object(&message, &["role", "content"]) })
}

fn mocks() -> Value {
    let keys = lists::ANSWER_KEYS.map(|(key, form)| (key.to_owned(), value(form)));
    json!({ "type": "array", "minItems": 1, "items": object(&Map::from_iter(keys), &[lists::COMMAND]) })
}

fn user() -> Value {
    let mut keys = Map::from_iter(lists::USER_KEYS.map(|(key, form)| (key.to_owned(), value(form))));
    let facts =
        json!({ "description": "values by names", "type": "object", "additionalProperties": value(FieldForm::Text) });
    keys.insert(lists::FACTS.to_owned(), facts);
    object(&keys, &[lists::GOAL])
}

fn changes() -> Value {
    let text = || json!({ "type": "string", "minLength": 1 });
    let change = [
        ("afterTurn", json!({ "type": "integer", "minimum": 1, "maximum": MOST_TURNS })),
        ("add", text()),
        ("edit", text()),
        ("remove", text()),
        ("expectSeen", json!({ "type": "boolean" })),
    ];
    let change = Map::from_iter(change.map(|(key, schema)| (key.to_owned(), schema)));
    json!({ "type": "array", "items": object(&change, &["afterTurn"]) })
}
