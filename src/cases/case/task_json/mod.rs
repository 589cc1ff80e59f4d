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

mod during;

use std::ops::Range;
use std::path::Path;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::cases::case::fields::{self, CaseDraft, CaseField};
use crate::cases::case::{Case, CaseFormat, FileCases, Files, FoundCase, ReadCase};
use crate::checks::{Field, FieldForm, FieldValue, InvalidField};
use crate::settings::ActivationRule;
use crate::settings::trials::TRIALS;
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, ends_line, shorten, suggest};
use crate::text::name;
use crate::trace::change::SkillChange;

/// By default, tasks run under the Agent SDK with our MCP server: the format was made for it.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "task",
    default_mode: "mcp",
    files: Some(Files {
        path: "evals/tasks/<case>.json",
        endings: &[".json", ".yaml", ".yml", ".toml"],
        marks: &[CONFIG],
        parse: |file, bytes, _| {
            let case = parse(&file.path, &bytes);
            let skill = case.as_ref().ok().map(|case| case.skill.clone()).or_else(|| skill_named(&bytes));
            let task = ReadCase { format: &FORMAT, case };
            let found = FoundCase::new(file.name.clone(), skill.unwrap_or_default(), file.path.clone(), 1, task);
            FileCases { cases: vec![found], problems: Vec::new() }
        },
        place: place_of,
    }),
};

/// The keys at the root; all others are in `evalConfig`.
const ROOT: [&str; 3] = ["prompt", "systemPrompt", CONFIG];

/// The key of what is expected.
const CONFIG: &str = "evalConfig";

/// The path of the object at that key.
const PREFIX: &str = "evalConfig.";

/// The key of the skill under test.
const SKILL: &str = "expectedSkillName";

/// The key of the changes during the session.
const DURING: &str = "during";

/// Standard JSON and nothing else.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The case in `bytes`, the content of `path`, or every problem of the file.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Case, Vec<Diagnostic>> {
    let mut parser = TaskParser::new(path, bytes);
    match parser.read() {
        Some(case) if parser.problems.is_empty() => Ok(case),
        _ => Err(parser.problems),
    }
}

/// A list of changes during a session, as `evalConfig.during` has it, or every problem of the list.
pub fn changes(text: &str) -> Result<Vec<SkillChange>, Vec<Diagnostic>> {
    let mut parser = TaskParser::new(Path::new(""), text.as_bytes());
    let changes = match json(text) {
        Ok(list) => list.map(|list| parser.change_list(&list)).unwrap_or_default(),
        Err(error) => {
            parser.not_json(&error);
            Vec::new()
        }
    };
    if parser.problems.is_empty() { Ok(changes) } else { Err(parser.problems) }
}

/// The place of a field's value in a task file that parses. The field's name may be that of any format.
pub fn place_of(path: &Path, bytes: &[u8], key: &str) -> Option<SourceLocation> {
    let key = fields::named(key).map_or(key, |field| field.key);
    let parser = TaskParser::new(path, bytes);
    let Value::Object(root) = json(text(bytes)?).ok()?? else { return None };
    let property = root.get(key).or_else(|| match root.get(CONFIG).map(|property| &property.value) {
        Some(Value::Object(config)) => config.get(key),
        _ => None,
    })?;
    Some(SourceLocation::in_text(path, bytes, parser.range(&property.value)))
}

/// The slug of the skill that a task file names, whatever else is wrong with the file.
fn skill_named(bytes: &[u8]) -> Option<String> {
    let Value::Object(root) = json(text(bytes)?).ok()?? else { return None };
    let Some(Value::Object(config)) = value(&root, CONFIG) else { return None };
    let Some(Value::StringLit(name)) = value(config, SKILL) else { return None };
    Some(slug(&name.value))
}

/// The text of a file without its byte order mark.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok()
}

fn json(text: &str) -> Result<Option<Value<'_>>, ParseError> {
    Ok(parse_to_ast(text, &CollectOptions::default(), &STRICT)?.value)
}

/// The value of `key`. Programs write `null` for a value that nobody chose.
fn value<'a>(object: &'a Object<'a>, key: &str) -> Option<&'a Value<'a>> {
    object.get(key).map(|property| &property.value).filter(|value| !matches!(value, Value::NullKeyword(_)))
}

struct TaskParser<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// The length of the byte order mark: the JSON parser counts from behind it.
    shift: usize,
    problems: Vec<Diagnostic>,
}

impl<'a> TaskParser<'a> {
    fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        let shift = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { path, bytes, shift, problems: Vec::new() }
    }

    fn range(&self, node: &dyn Ranged) -> Range<usize> {
        node.start() + self.shift..node.end() + self.shift
    }

    fn problem(&mut self, code: Code, range: Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.push(Diagnostic::new(code, SourceLocation::in_text(self.path, self.bytes, range), message));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    fn not_json(&mut self, error: &ParseError) {
        let range = self.range(&error.range());
        self.problem(Code::JsonSyntax, range, format!("this is not JSON: {}", error.kind()));
    }

    fn read(&mut self) -> Option<Case> {
        let Some(text) = text(self.bytes) else {
            let at = std::str::from_utf8(self.bytes).map_or_else(|error| error.valid_up_to(), str::len);
            self.problem(Code::NotUtf8, at..at + 1, "this is not UTF-8 text").help =
                Some("save the file as UTF-8".to_owned());
            return None;
        };
        let root = match json(text) {
            Ok(Some(Value::Object(root))) => root,
            Ok(Some(other)) => {
                self.wrong_type(self.range(&other), "the file", "an object", &other);
                return None;
            }
            Ok(None) => {
                self.problem(Code::JsonSyntax, 0..0, "the file is empty; expected a JSON object");
                return None;
            }
            Err(error) => {
                self.not_json(&error);
                return None;
            }
        };
        self.unknown_keys(&root, &ROOT);
        let config = match value(&root, CONFIG) {
            Some(Value::Object(config)) => config,
            Some(other) => {
                self.wrong_type(self.range(other), "`evalConfig`", "an object", other);
                return None;
            }
            None => {
                self.missing(self.range(&root).start, CONFIG);
                return None;
            }
        };
        let in_config = fields::all().map(|field| field.field().key).filter(|key| !ROOT.contains(key));
        self.unknown_keys(config, &[SKILL, DURING].into_iter().chain(in_config).collect::<Vec<_>>());
        let skill = self.required_string(config, SKILL, PREFIX);
        let origin = root.get("prompt").map_or(0..0, |property| self.range(&property.name));
        let origin = SourceLocation::in_text(self.path, self.bytes, origin);
        self.required_string(&root, "prompt", "");
        let mut draft = CaseDraft::new(&slug(&skill?), self.id(), origin);
        draft.case.default_activation = ActivationRule::Tool;
        for field in fields::all() {
            let key = field.field().key;
            let (object, prefix) = if ROOT.contains(&key) { (&root, "") } else { (config, PREFIX) };
            let line = object.get(key).map_or(0, |property| self.line_of(self.range(&property.name).start));
            for value in self.values(field, object, prefix) {
                draft.set(field, key, line, value);
            }
        }
        draft.case.during = value(config, DURING).map(|list| self.change_list(list)).unwrap_or_default();
        Some(draft.finish())
    }

    /// The line of a byte of the file, from 1.
    fn line_of(&self, at: usize) -> usize {
        1 + (0..at.min(self.bytes.len())).filter(|at| ends_line(self.bytes, *at)).count()
    }

    /// The name of the file.
    fn id(&mut self) -> String {
        let id = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if let Err(why) = name::check_case_id(&id) {
            self.problems.push(name::id_problem(&id, &why, SourceLocation::file(self.path)));
        }
        id
    }

    /// The values of a field: one, or a list of them.
    fn values(&mut self, field: CaseField, object: &Object<'_>, prefix: &str) -> Vec<FieldValue> {
        let Field { key, form, .. } = *field.field();
        let Some(Value::Array(list)) = value(object, key).filter(|_| form.is_list()) else {
            return self.optional(object, prefix, key, form).into_iter().collect();
        };
        let name = format!("{prefix}{key}");
        list.elements.iter().filter_map(|element| self.field_value(&name, form, element)).collect()
    }

    /// The value of a key that may be absent.
    fn optional(&mut self, object: &Object<'_>, prefix: &str, key: &str, form: FieldForm) -> Option<FieldValue> {
        self.field_value(&format!("{prefix}{key}"), form, value(object, key)?)
    }

    fn field_value(&mut self, name: &str, form: FieldForm, written: &Value<'_>) -> Option<FieldValue> {
        let range = self.range(written);
        let text = match (form, written) {
            (FieldForm::Flag, Value::BooleanLit(flag)) => flag.value.to_string(),
            (FieldForm::Number { .. } | FieldForm::Share | FieldForm::Trials, Value::NumberLit(number)) => {
                number.value.to_owned()
            }
            (form, Value::StringLit(text))
                if !matches!(form, FieldForm::Flag | FieldForm::Number { .. } | FieldForm::Share) =>
            {
                text.value.clone().into_owned()
            }
            _ => {
                let expected = match form {
                    FieldForm::Flag => "true or false",
                    FieldForm::Number { .. } | FieldForm::Share => "a number",
                    FieldForm::Trials => TRIALS,
                    _ if form.is_list() => "a string or a list of strings",
                    _ => "a string",
                };
                self.wrong_type(range, &format!("`{name}`"), expected, written);
                return None;
            }
        };
        form.read(name, &text, shorten(&text).as_ref())
            .map_err(|InvalidField { code, message, help }| self.problem(code, range, message).help = Some(help))
            .ok()
    }

    fn unknown_keys(&mut self, object: &Object<'_>, known: &[&str]) {
        let mut seen: Vec<&str> = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let range = self.range(&property.name);
            if !known.contains(&name) {
                self.problem(Code::JsonUnknownKey, range, format!("unknown key `{name}`")).help =
                    Some(suggest(name, known));
            } else if seen.contains(&name) {
                self.problem(Code::JsonUnknownKey, range, format!("the key `{name}` stands here a second time"));
            }
            seen.push(name);
        }
    }

    fn required_string(&mut self, object: &Object<'_>, key: &str, prefix: &str) -> Option<String> {
        match value(object, key) {
            Some(Value::StringLit(text)) if !text.value.trim().is_empty() => Some(text.value.clone().into_owned()),
            Some(text @ Value::StringLit(_)) => {
                self.problem(Code::EmptyValue, self.range(text), format!("`{prefix}{key}` is empty"));
                None
            }
            Some(other) => {
                self.wrong_type(self.range(other), &format!("`{prefix}{key}`"), "a string", other);
                None
            }
            None => {
                self.missing(self.range(object).start, &format!("{prefix}{key}"));
                None
            }
        }
    }

    /// Reports a missing key at the brace that opens its object.
    fn missing(&mut self, brace: usize, key: &str) {
        self.problem(Code::JsonMissingKey, brace..brace + 1, format!("the key `{key}` is missing"));
    }

    fn wrong_type(&mut self, range: Range<usize>, what: &str, expected: &str, value: &Value<'_>) {
        let kind = match value {
            Value::StringLit(_) => "a string",
            Value::NumberLit(_) => "a number",
            Value::BooleanLit(_) => "a boolean",
            Value::Object(_) => "an object",
            Value::Array(_) => "an array",
            Value::NullKeyword(_) => "null",
        };
        self.problem(Code::JsonType, range, format!("{what} is {kind}; expected {expected}"));
    }
}
