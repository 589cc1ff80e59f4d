//! `evals/tasks/<name>.json`: one case a file.
//!
//! ```json
//! { "prompt": "…", "systemPrompt": "…",
//!   "evalConfig": { "expectedSkillName": "greeting", "expectedOutput": "…",
//!                   "expectedOutputPattern": "…", "expectResourceLoad": true,
//!                   "expectDescribed": true, "trials": 5, "threshold": 0.8,
//!                   "timeoutS": 60, "maxTurns": 10, "during": [ … ] } }
//! ```
//!
//! A task file can have every field of a case ([`fields`]), in camel case. A key that is `null` counts as absent. The name of
//! the file is the id of the case.
//!
//! With `skill` instead of `expectedSkillName`, the skill under test is named and not expected: without `shouldTrigger`,
//! triggering is not checked. Then the mode and the rule of activation are by default those of all other formats.

use std::path::Path;

use serde_json::{Map, Value, Value as Json, json};

use crate::cases::case::document::{Document, Syntax};
use crate::cases::case::fields::{self, CaseDraft, CaseField, WrittenField};
use crate::cases::case::{Case, CaseFormat, FileCases, Files, FoundCase, ReadCase, lists};
use crate::cases::case_places::CasePlaces;
use crate::checks::field::listed;
use crate::checks::{FieldForm, SOURCES};
use crate::profile::DEFAULT_MODE;
use crate::settings::ActivationRule;
use crate::settings::trials::TRIALS;
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name;
use crate::trial::quarantine::QUARANTINE;

/// By default, tasks run under the Agent SDK with our MCP server: the format was made for it.
pub static FORMAT: CaseFormat = format("mcp");

/// The same for a task with `skill`.
pub static NEUTRAL: CaseFormat = format(DEFAULT_MODE);

const fn format(default_mode: &'static str) -> CaseFormat {
    CaseFormat {
        name: "task",
        default_mode,
        files: Some(Files {
            path: "evals/tasks/<case>.json",
            endings: &[".json", ".yaml", ".yml", ".toml"],
            marks: &[CONFIG],
            parse: |file, bytes, layout| {
                let case = parse_without(&file.root, &file.path, &bytes, layout.own_keys);
                let skill = case.as_ref().ok().map(|case| case.skill.clone()).or_else(|| skill_named(&bytes));
                let neutral = default_activation(true);
                let is_neutral = case.as_ref().is_ok_and(|case| case.default_activation == neutral);
                let format = if is_neutral { &NEUTRAL } else { &FORMAT };
                let task = ReadCase::new(format, case);
                let found = FoundCase::new(file.name.clone(), skill.unwrap_or_default(), file.path.clone(), 1, task);
                FileCases { cases: vec![found], ..FileCases::default() }
            },
            place: place_of,
        }),
        foreign: None,
    }
}

/// The keys at the root; all others are in `evalConfig`. Editors read `$schema`.
pub(in crate::cases) const ROOT: [&str; 4] = ["$schema", "prompt", "systemPrompt", CONFIG];

/// The key of what is expected.
pub(in crate::cases) const CONFIG: &str = "evalConfig";

/// The path of the object at that key.
const PREFIX: &str = "evalConfig.";

/// The keys of the skill under test: one that is expected to activate, and one of which nothing is expected.
pub(super) const SKILL: [&str; 2] = ["expectedSkillName", "skill"];

/// The case in `bytes`, the content of `path` in the repository at `root`, or every problem of the file.
pub fn parse(root: &Path, path: &Path, bytes: &[u8]) -> Result<Case, Vec<Diagnostic>> {
    parse_without(root, path, bytes, &[])
}

/// The same without the keys that only label.
fn parse_without(root: &Path, path: &Path, bytes: &[u8], own: &[String]) -> Result<Case, Vec<Diagnostic>> {
    let mut file = document(path, bytes);
    match read(root, &mut file, own) {
        Some(case) if file.problems.is_empty() => Ok(case),
        _ => Err(file.problems.into_vec()),
    }
}

/// The place of a field's value in a task file that parses. The field's name may be that of any format.
pub fn place_of(path: &Path, bytes: &[u8], key: &str) -> Option<SourceLocation> {
    let key = fields::named(key).map_or(key, |field| field.key);
    let mut file = document(path, bytes);
    let root = file.root()?;
    let entry = root.entry(key).or_else(|| root.get(CONFIG)?.entry(key))?;
    Some(file.place(entry.value.range.clone()))
}

/// The slug of the skill that a task file names, whatever else is wrong with the file.
fn skill_named(bytes: &[u8]) -> Option<String> {
    let root = document(Path::new(""), bytes).root()?;
    let config = root.get(CONFIG)?;
    Some(slug(SKILL.iter().find_map(|key| config.get(key))?.text()?))
}

fn document<'a>(path: &'a Path, bytes: &'a [u8]) -> Document<'a> {
    Document::new(path, bytes, Syntax::Json)
}

/// What counts as an activation by default in a task that names its skill with `skill`, or not.
pub(super) fn default_activation(is_neutral: bool) -> ActivationRule {
    if is_neutral { ActivationRule::default() } else { ActivationRule::Tool }
}

fn read(repository: &Path, file: &mut Document<'_>, own: &[String]) -> Option<Case> {
    let own = || own.iter().map(String::as_str);
    let root = file.root()?;
    if !root.is_map() {
        file.wrong_type("the file", "an object", &root);
        return None;
    }
    file.duplicate_keys(&root, &[]);
    file.unknown_keys(&root, &own().chain(ROOT).collect::<Vec<_>>());
    file.required(&root, CONFIG)?;
    let config = file.map(&root, CONFIG)?;
    let in_config = fields::all().map(|field| field.field().key).filter(|key| !ROOT.contains(key));
    file.unknown_keys(config, &own().chain(SKILL).chain(in_config).collect::<Vec<_>>());
    let [expected, neutral] = SKILL.map(|key| config.entry(key).filter(|_| config.get(key).is_some()));
    if let (Some(_), Some(second)) = (expected, neutral) {
        let message = format!("`{PREFIX}{}` and `{PREFIX}{}` both name the skill", SKILL[0], SKILL[1]);
        file.problem_with_help(Code::UnknownKey, second.key_range.clone(), message, "remove one of the two");
    }
    let is_neutral = expected.is_none() && neutral.is_some();
    let skill = file.required_text(config, &[PREFIX, SKILL[usize::from(is_neutral)]].concat());
    let origin = file.place(root.entry("prompt").map_or(0..0, |entry| entry.key_range.clone()));
    file.required_text(&root, "prompt");
    let mut draft = CaseDraft::new(&slug(skill?), id(file), origin);
    file.places = Some(CasePlaces::of(repository, file.path, &draft.skill));
    draft.default_activation = default_activation(is_neutral);
    if is_neutral {
        draft.should_trigger = None;
    }
    for field in fields::all() {
        let key = field.field().key;
        let (object, prefix) = if ROOT.contains(&key) { (&root, "") } else { (config, PREFIX) };
        let Some(entry) = object.entry(key).filter(|_| object.get(key).is_some()) else { continue };
        let name = [prefix, key].concat();
        let line = file.line_of(entry.key_range.start);
        draft.read(file, field, WrittenField { name: &name, key, line, node: &entry.value });
    }
    Some(draft.finish())
}

/// The name of the file.
fn id(file: &mut Document<'_>) -> String {
    let id = file.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if let Err(why) = name::check_case_id(&id) {
        file.problems.push(name::id_problem(&id, &why, SourceLocation::file(file.path)));
    }
    id
}

// The JSON Schema of a task file, made of the table of fields: editors complete keys from it and mark mistakes.

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
        FieldForm::Quarantine => {
            json!({ "description": QUARANTINE, "type": "string", "pattern": "^until [0-9]{4}-[0-9]{2}-[0-9]{2}," })
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

/// An object with these keys, and one of another form.
fn keys(forms: &[(&str, FieldForm)], more: Option<(&str, Value)>, required: &[&str]) -> Value {
    let forms = forms.iter().map(|(key, form)| (*key, value(*form))).chain(more);
    object(&forms.map(|(key, schema)| (key.to_owned(), schema)).collect(), required)
}

fn history() -> Value {
    let message = keys(&lists::MESSAGE_KEYS, None, &lists::MESSAGE_KEYS.map(|(key, _)| key));
    json!({ "type": "array", "minItems": 2, "items": message })
}

fn mocks() -> Value {
    let files = json!({ "description": "files of the repository, by the paths where the call writes them", "type": "object",
                        "additionalProperties": value(FieldForm::Source) });
    let answer = keys(&lists::ANSWER_KEYS, Some((lists::ANSWER_FILES, files)), &[lists::COMMAND]);
    json!({ "type": "array", "minItems": 1, "items": answer })
}

fn user() -> Value {
    let facts = json!({ "description": "values by names", "type": "object", "additionalProperties": { "type": ["string", "number"] } });
    keys(&lists::USER_KEYS, Some((lists::FACTS, facts)), &[lists::GOAL])
}

fn changes() -> Value {
    let [(after, _), ..] = lists::CHANGE_KEYS;
    json!({ "type": "array", "items": keys(&lists::CHANGE_KEYS, None, &[after]) })
}

// A case of any format as the text of a task file.
//
// The text is read again and compared with the case. A text that does not ask for the same is an error, so nothing is lost.

/// The task file at `path` that says the same as a case of this format; or what a task file cannot say.
pub fn written(case: &Case, format: &CaseFormat, path: &Path) -> Result<String, String> {
    let is_neutral = format.default_mode != FORMAT.default_mode;
    let (mut root, mut config) = (Map::new(), Map::new());
    config.insert(SKILL[usize::from(is_neutral)].to_owned(), case.skill.as_str().into());
    let default = default_activation(is_neutral);
    let own = Some(case.default_activation).filter(|rule| *rule != default && case.activation.is_none());
    config.extend(own.map(|rule| ("activation".to_owned(), rule.as_str().into())));
    for field in fields::all() {
        let key = field.field().key;
        let object = if ROOT.contains(&key) { &mut root } else { &mut config };
        object.extend(field.written(case).map(|value| (key.to_owned(), value)));
    }
    root.insert(CONFIG.to_owned(), config.into());
    let text = format!("{:#}\n", Json::Object(root));
    let read = parse(Path::new(""), path, text.as_bytes()).map_err(|problems| {
        let problems = problems.into_iter().map(|problem| problem.message);
        problems.collect::<Vec<_>>().join("; ")
    })?;
    match differing(case, &read) {
        Some(part) => Err(format!("a task file cannot say {part}")),
        None => Ok(text),
    }
}

/// The first part in which two cases differ.
fn differing(case: &Case, other: &Case) -> Option<String> {
    let (case, other) = (as_task(case), as_task(other));
    let (parts, others) = (case.parts(), other.parts());
    let at = (0..parts.len().max(others.len())).find(|at| {
        let [own, read] = [&parts, &others].map(|parts| parts.get(*at).map(|part| (part.name.clone(), part.written())));
        own != read
    })?;
    parts.get(at).or(others.get(at)).map(|part| match &*part.name {
        "least score" => "a score from which on its trials pass".to_owned(),
        "weights" => "a check that decides nothing".to_owned(),
        "assertion" => "an assertion".to_owned(),
        name => match name.strip_prefix("check ") {
            Some(kind) => format!("a check `{kind}` of this form"),
            None => format!("its `{name}`"),
        },
    })
}

/// A case as far as a task file has to say it: what it takes from its format is said, and what comes from elsewhere is left out.
fn as_task(case: &Case) -> Case {
    let mut case = case.clone();
    case.activation = Some(case.activation.unwrap_or(case.default_activation));
    case.default_activation = ActivationRule::default();
    // Who imports a case looks at its servers.
    case.mock_servers = None;
    case.checks.retain(|check| !check.origin.is_of_many_cases());
    // Without a score from which on a trial passes, other weights decide nothing.
    let checks = case.checks.iter_mut().map(|check| &mut check.weight);
    for weight in checks.chain(case.assertions.iter_mut().map(|assertion| &mut assertion.weight)) {
        *weight = weight.filter(|weight| weight.amount <= 0.0);
    }
    case
}
