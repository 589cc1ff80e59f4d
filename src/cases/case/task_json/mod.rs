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
//! Every field of a case can be written here ([`fields`]), in camel case. `expectedOutput` is a substring of the final message in any case, `expectedOutputPattern` a regular expression
//! taken as written. A key that is `null` counts as absent. The file's name is the case's id.

mod during;

use std::path::{Path, PathBuf};

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{ParseOptions, parse_to_ast};

use crate::cases::case::fields::{self, CaseDraft, CaseField};
use crate::cases::case::{Case, CaseFormat, CaseSource, FileCases, Files, FoundCase};
use crate::cases::repo_files::RepoFiles;
use crate::checks::{self, Field, FieldForm, InvalidField};
use crate::settings::ActivationRule;
use crate::settings::trials::{Repetition, TRIALS};
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, ends_line, shorten, suggest};
use crate::text::name;
use crate::trace::change::SkillChange;

/// Tasks run under the Agent SDK with our MCP server unless chosen otherwise: the format was made for it.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "task",
    default_mode: "mcp",
    files: Some(Files {
        path: "evals/tasks/<case>.json",
        endings: &[".json", ".yaml", ".yml", ".toml"],
        marks: &[CONFIG],
        parse: |file, bytes, _| {
            let case = parse(&file.path, &bytes);
            let named = case.as_ref().ok().map(|case| case.skill.clone()).or_else(|| skill_named(&bytes));
            let task = Task { file: file.path.clone(), case };
            let found = FoundCase::new(file.name.clone(), named.unwrap_or_default(), file.path.clone(), 1, task);
            FileCases { cases: vec![found], problems: Vec::new() }
        },
    }),
};

/// The keys at the root; all others are in `evalConfig`.
const ROOT: [&str; 3] = ["prompt", "systemPrompt", CONFIG];

/// The key of what is expected.
const CONFIG: &str = "evalConfig";

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

/// Reads `bytes`, the content of `path`.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Case, Vec<Diagnostic>> {
    let mut reader = TaskParser { path, bytes, problems: Vec::new() };
    match reader.read() {
        Some(case) if reader.problems.is_empty() => Ok(case),
        _ => Err(reader.problems),
    }
}

/// Reads a list of changes during a session as `evalConfig.during` has it.
pub fn changes(text: &str) -> Result<Vec<SkillChange>, Vec<Diagnostic>> {
    let mut parser = TaskParser { path: Path::new(""), bytes: text.as_bytes(), problems: Vec::new() };
    let changes = match parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT) {
        Ok(parsed) => parsed.value.map(|list| parser.change_list(&list, 0)).unwrap_or_default(),
        Err(error) => {
            let problem = format!("this is not JSON: {}", error.kind());
            parser.problem(Code::JsonSyntax, error.range().start..error.range().end, problem);
            Vec::new()
        }
    };
    if parser.problems.is_empty() { Ok(changes) } else { Err(parser.problems) }
}

/// A task file, read at once since it says which skill it is for.
#[derive(Debug)]
pub struct Task {
    /// The file, relative to the repository's root.
    pub file: PathBuf,
    /// What it says.
    pub case: Result<Case, Vec<Diagnostic>>,
}

impl CaseSource for Task {
    fn format(&self) -> &'static CaseFormat {
        &FORMAT
    }

    fn case(&self, _skill: &str) -> Result<Case, Vec<Diagnostic>> {
        self.case.clone()
    }

    fn file_problems(&self) -> &[Diagnostic] {
        self.case.as_ref().err().map_or(&[], Vec::as_slice)
    }

    fn should_trigger(&self) -> Option<bool> {
        self.case.as_ref().ok().map(|case| case.should_trigger)
    }

    fn repetition(&self) -> Repetition {
        self.case.as_ref().map(|case| case.repetition).unwrap_or_default()
    }

    fn place(&self, key: &str, _text: Option<&str>, tree: &dyn RepoFiles) -> Option<SourceLocation> {
        place_of(&self.file, &tree.read(&self.file).ok()?, key)
    }
}

/// Where a field's value stands in a task file that parses, by its name in any format.
pub fn place_of(path: &Path, bytes: &[u8], key: &str) -> Option<SourceLocation> {
    let key = fields::named(key).map_or(key, |field| field.key);
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = bytes.len() - text.len();
    let parsed = parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT).ok()?;
    let Some(Value::Object(root)) = parsed.value else { return None };
    let property = root.get(key).or_else(|| match root.get("evalConfig").map(|property| &property.value) {
        Some(Value::Object(config)) => config.get(key),
        _ => None,
    })?;
    Some(SourceLocation::in_text(path, bytes, property.value.start() + shift..property.value.end() + shift))
}

/// The slug of the skill that a task file names, whatever else is wrong with it.
fn skill_named(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT).ok()?;
    let Some(Value::Object(root)) = &parsed.value else { return None };
    let Some(Value::Object(config)) = value(root, "evalConfig") else { return None };
    let Some(Value::StringLit(name)) = value(config, "expectedSkillName") else { return None };
    Some(slug(&name.value))
}

/// What stands at `key`; `null` is what programs write where nothing was chosen.
fn value<'a>(object: &'a Object<'a>, key: &str) -> Option<&'a Value<'a>> {
    object.get(key).map(|property| &property.value).filter(|value| !matches!(value, Value::NullKeyword(_)))
}

struct TaskParser<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    problems: Vec<Diagnostic>,
}

impl TaskParser<'_> {
    fn problem(&mut self, code: Code, range: std::ops::Range<usize>, message: impl Into<String>) -> &mut Diagnostic {
        self.problems.push(Diagnostic::new(code, SourceLocation::in_text(self.path, self.bytes, range), message));
        let last = self.problems.len() - 1;
        &mut self.problems[last]
    }

    fn read(&mut self) -> Option<Case> {
        let text = match std::str::from_utf8(self.bytes) {
            Ok(text) => text.strip_prefix('\u{feff}').unwrap_or(text),
            Err(error) => {
                let at = error.valid_up_to();
                self.problem(Code::NotUtf8, at..at + 1, "this is not UTF-8 text").help =
                    Some("save the file as UTF-8".to_owned());
                return None;
            }
        };
        // Ranges count from the text's start; a byte order mark shifts them.
        let shift = self.bytes.len() - text.len();
        let range = |node: &dyn Ranged| node.start() + shift..node.end() + shift;
        let value = match parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT) {
            Ok(parsed) => parsed.value,
            Err(error) => {
                let at = error.range().start + shift..error.range().end + shift;
                self.problem(Code::JsonSyntax, at, format!("this is not JSON: {}", error.kind()));
                return None;
            }
        };
        let root = match &value {
            Some(Value::Object(root)) => root,
            Some(other) => {
                self.wrong_type(range(other), "the file", "an object", other);
                return None;
            }
            None => {
                self.problem(Code::JsonSyntax, 0..0, "the file is empty; expected a JSON object");
                return None;
            }
        };
        self.unknown_keys(root, &ROOT, shift);
        let config = self.eval_config(root, shift)?;
        let in_config = || fields::all().map(|field| field.field().key).filter(|key| !ROOT.contains(key));
        self.unknown_keys(config, &[SKILL, DURING].into_iter().chain(in_config()).collect::<Vec<_>>(), shift);
        let skill = self.required_string(config, SKILL, "evalConfig.", shift);
        let origin = root.get("prompt").map_or(0..0, |property| range(&property.name));
        let origin = SourceLocation::in_text(self.path, self.bytes, origin);
        self.required_string(root, "prompt", "", shift);
        let mut draft = CaseDraft::new(&slug(&skill?), self.id(), origin);
        draft.case.default_activation = ActivationRule::Tool;
        for field in fields::all() {
            let key = field.field().key;
            let (object, prefix) = if ROOT.contains(&key) { (root, "") } else { (config, "evalConfig.") };
            let line = object.get(key).map_or(0, |property| self.line_of(property.name.start() + shift));
            for read in self.values(field, object, prefix, shift) {
                draft.set(field, key, line, read);
            }
        }
        draft.case.during = self.during(config, shift);
        Some(draft.finish())
    }

    /// The line of a byte of the file, from 1.
    fn line_of(&self, at: usize) -> usize {
        1 + (0..at.min(self.bytes.len())).filter(|at| ends_line(self.bytes, *at)).count()
    }

    /// What stands under the key of a field: a value, or a list of them.
    fn values(&mut self, field: CaseField, object: &Object<'_>, prefix: &str, shift: usize) -> Vec<checks::FieldValue> {
        let Field { key, form, .. } = field.field();
        let written = match value(object, key) {
            None => return Vec::new(),
            Some(Value::Array(list)) if form.is_list() => list.elements.iter().collect(),
            Some(one) => vec![one],
        };
        written
            .into_iter()
            .filter_map(|written| self.read_value(&format!("{prefix}{key}"), *form, written, shift))
            .collect()
    }

    fn read_value(
        &mut self,
        name: &str,
        form: FieldForm,
        written: &Value<'_>,
        shift: usize,
    ) -> Option<checks::FieldValue> {
        let range = written.start() + shift..written.end() + shift;
        let text = match (form, written) {
            (FieldForm::Flag, Value::BooleanLit(flag)) => if flag.value { "true" } else { "false" }.to_owned(),
            (FieldForm::Number { .. } | FieldForm::Share | FieldForm::Trials, Value::NumberLit(number)) => {
                number.value.to_owned()
            }
            (FieldForm::Flag | FieldForm::Number { .. } | FieldForm::Share, other) => {
                let expected = if form == FieldForm::Flag { "true or false" } else { "a number" };
                self.wrong_type(range, &format!("`{name}`"), expected, other);
                return None;
            }
            (_, Value::StringLit(text)) => text.value.clone().into_owned(),
            (FieldForm::Trials, other) => {
                self.wrong_type(range, &format!("`{name}`"), TRIALS, other);
                return None;
            }
            (_, other) => {
                let expected = if form.is_list() { "a string or a list of strings" } else { "a string" };
                self.wrong_type(range, &format!("`{name}`"), expected, other);
                return None;
            }
        };
        form.read(name, &text, shorten(&text).as_ref())
            .map_err(|InvalidField { code, message, help }| self.problem(code, range, message).help = Some(help))
            .ok()
    }

    /// The file's name.
    fn id(&mut self) -> String {
        let id = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if let Err(why) = name::check_case_id(&id) {
            self.problems.push(name::id_problem(&id, &why, SourceLocation::file(self.path)));
        }
        id
    }

    fn eval_config<'a>(&mut self, root: &'a Object<'a>, shift: usize) -> Option<&'a Object<'a>> {
        let range = |node: &dyn Ranged| node.start() + shift..node.end() + shift;
        match value(root, "evalConfig") {
            Some(Value::Object(config)) => return Some(config),
            Some(other) => self.wrong_type(range(other), "`evalConfig`", "an object", other),
            None => self.missing(range(root), "evalConfig"),
        }
        None
    }

    /// The value of this key. Before it stands what its object is called.
    fn one(
        &mut self,
        object: &Object<'_>,
        key: [&str; 2],
        form: FieldForm,
        shift: usize,
    ) -> Option<checks::FieldValue> {
        let written = value(object, key[1])?;
        self.read_value(&key.concat(), form, written, shift)
    }

    fn unknown_keys(&mut self, object: &Object<'_>, known: &[&str], shift: usize) {
        let mut seen: Vec<&str> = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            let range = property.name.start() + shift..property.name.end() + shift;
            if !known.contains(&name) {
                self.problem(Code::JsonUnknownKey, range, format!("unknown key `{name}`")).help =
                    Some(suggest(name, known));
            } else if seen.contains(&name) {
                self.problem(Code::JsonUnknownKey, range, format!("the key `{name}` stands here a second time"));
            }
            seen.push(name);
        }
    }

    fn required_string(&mut self, object: &Object<'_>, key: &str, prefix: &str, shift: usize) -> Option<String> {
        let Some(value) = value(object, key) else {
            self.missing(object.start() + shift..object.end() + shift, &format!("{prefix}{key}"));
            return None;
        };
        let text = self.string(object, key, prefix, shift)?;
        if text.trim().is_empty() {
            let range = value.start() + shift..value.end() + shift;
            self.problem(Code::EmptyValue, range, format!("`{prefix}{key}` is empty"));
            return None;
        }
        Some(text)
    }

    fn string(&mut self, object: &Object<'_>, key: &str, prefix: &str, shift: usize) -> Option<String> {
        match value(object, key)? {
            Value::StringLit(text) => Some(text.value.clone().into_owned()),
            other => {
                let range = other.start() + shift..other.end() + shift;
                self.wrong_type(range, &format!("`{prefix}{key}`"), "a string", other);
                None
            }
        }
    }

    fn missing(&mut self, range: std::ops::Range<usize>, key: &str) {
        // Mark the brace that opens the object: that is where the key would go.
        let range = range.start..range.start + 1;
        self.problem(Code::JsonMissingKey, range, format!("the key `{key}` is missing"));
    }

    fn wrong_type(&mut self, range: std::ops::Range<usize>, what: &str, expected: &str, found: &Value<'_>) {
        let found = match found {
            Value::StringLit(_) => "a string",
            Value::NumberLit(_) => "a number",
            Value::BooleanLit(_) => "a boolean",
            Value::Object(_) => "an object",
            Value::Array(_) => "an array",
            Value::NullKeyword(_) => "null",
        };
        self.problem(Code::JsonType, range, format!("{what} is {found}; expected {expected}"));
    }
}
