//! `evals/tasks/<name>.json`: one case a file.
//!
//! ```json
//! { "prompt": "…", "systemPrompt": "…",
//!   "evalConfig": { "expectedSkillName": "greeting", "expectedOutput": "…",
//!                   "expectedOutputPattern": "…", "expectResourceLoad": true,
//!                   "expectDescribed": true, "trials": 5, "threshold": 0.8,
//!                   "timeoutS": 60, "maxTurns": 10,
//!                   "during": [ … ] } }
//! ```
//!
//! `expectedOutput` is a substring of the final message in any case, `expectedOutputPattern` a regular expression
//! taken as written. A key that is `null` counts as absent. The file's name is the case's id.

mod during;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{ParseOptions, parse_to_ast};

use crate::cases::case::repetition::{self, A_SHARE, TRIALS, Trials};
use crate::cases::case::{
    Case, Change, Expectation, Format, LONGEST_TIMEOUT, MOST_TURNS, Pattern, Repetition, Sandbox, Source,
};
use crate::cases::name;
use crate::cases::repo_files::Tree;
use crate::cases::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, Place, shorten, suggest};

/// Tasks run under the Agent SDK with our MCP server unless chosen otherwise: the format was made for it.
pub static FORMAT: Format = Format { name: "task", default_mode: "mcp", is_task: true, curated: true };

const KEYS: [&str; 3] = ["prompt", "systemPrompt", "evalConfig"];
const EVAL_KEYS: [&str; 10] = [
    "expectedSkillName",
    "expectedOutput",
    "expectedOutputPattern",
    "expectResourceLoad",
    "expectDescribed",
    "trials",
    "threshold",
    "timeoutS",
    "maxTurns",
    "during",
];

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
///
/// # Errors
/// Every problem of the file, each at its key or value.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<Case, Vec<Diagnostic>> {
    let mut reader = TaskParser { path, bytes, problems: Vec::new() };
    match reader.read() {
        Some(case) if reader.problems.is_empty() => Ok(case),
        _ => Err(reader.problems),
    }
}

/// A task file, read at once since it says which skill it is for.
#[derive(Debug)]
pub struct Task {
    /// The file, relative to the repository's root.
    pub file: PathBuf,
    /// What it says.
    pub case: Result<Case, Vec<Diagnostic>>,
}

impl Source for Task {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn case(&self, _skill: &str) -> Result<Case, Vec<Diagnostic>> {
        self.case.clone()
    }

    fn should_trigger(&self) -> Option<bool> {
        self.case.as_ref().ok().map(|case| case.should_trigger)
    }

    fn repetition(&self) -> Repetition {
        self.case.as_ref().map(|case| case.repetition).unwrap_or_default()
    }

    fn place(&self, key: &str, _text: Option<&str>, tree: &dyn Tree) -> Option<Place> {
        place_of(&self.file, &tree.read(&self.file).ok()?, key)
    }
}

/// Where a key's value stands in a task file that parses; `evalConfig`'s own keys by their bare names.
#[must_use]
pub fn place_of(path: &Path, bytes: &[u8], key: &str) -> Option<Place> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = bytes.len() - text.len();
    let parsed = parse_to_ast(text, &jsonc_parser::CollectOptions::default(), &STRICT).ok()?;
    let Some(Value::Object(root)) = parsed.value else { return None };
    let property = root.get(key).or_else(|| match root.get("evalConfig").map(|property| &property.value) {
        Some(Value::Object(config)) => config.get(key),
        _ => None,
    })?;
    Some(Place::in_text(path, bytes, property.value.start() + shift..property.value.end() + shift))
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
        self.problems.push(Diagnostic::new(code, Place::in_text(self.path, self.bytes, range), message));
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
        self.unknown_keys(root, &KEYS, shift);
        let prompt = self.required_string(root, "prompt", "", shift);
        let system_prompt = self.string(root, "systemPrompt", "", shift);
        let config = self.eval_config(root, shift)?;
        self.unknown_keys(config, &EVAL_KEYS, shift);
        let skill = self.required_string(config, "expectedSkillName", "evalConfig.", shift);
        let during = self.during(config, shift);
        let expectations = self.expectations(config, &during, shift);
        let repetition = self.repetition(config, shift);
        let timeout =
            self.count(config, ["evalConfig.", "timeoutS"], LONGEST_TIMEOUT.as_secs(), shift).map(Duration::from_secs);
        let max_turns = self.count(config, ["evalConfig.", "maxTurns"], MOST_TURNS, shift);
        let origin = root.get("prompt").map_or(0..0, |property| range(&property.name));
        Some(Case {
            id: self.id(),
            skill: slug(&skill?),
            origin: Place::in_text(self.path, self.bytes, origin),
            should_trigger: true,
            prompt: prompt?,
            system_prompt,
            sandbox: Sandbox::default(),
            timeout,
            max_turns,
            fixture: None,
            output_schema: None,
            judge: false,
            repetition,
            during,
            expectations,
        })
    }

    /// The file's name.
    fn id(&mut self) -> String {
        let id = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if let Err(why) = name::check_case_id(&id) {
            self.problems.push(name::id_problem(&id, &why, Place::file(self.path)));
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

    /// What `evalConfig` expects, with these changes in mid-session.
    fn expectations(&mut self, config: &Object<'_>, during: &[Change], shift: usize) -> Vec<Expectation> {
        let range = |node: &dyn Ranged| node.start() + shift..node.end() + shift;
        let mut expectations = vec![Expectation::Trigger(true)];
        if let Some(text) = self.string(config, "expectedOutput", "evalConfig.", shift) {
            expectations.push(Expectation::OutputContains(text));
        }
        if let Some(text) = self.string(config, "expectedOutputPattern", "evalConfig.", shift) {
            let pattern = Pattern(text);
            if let Err(error) = pattern.compile_exact() {
                let at = config.get("expectedOutputPattern").map_or(0..0, |property| range(&property.value));
                let (message, help) = pattern.problem("expectedOutputPattern", &error);
                self.problem(Code::BadRegex, at, message).help = Some(help);
            }
            expectations.push(Expectation::OutputMatches(pattern));
        }
        let asked = [("expectResourceLoad", Expectation::ResourceLoaded), ("expectDescribed", Expectation::Described)];
        for (key, expectation) in asked {
            if self.flag(config, ["evalConfig.", key], shift) {
                expectations.push(expectation);
            }
        }
        expectations.extend(during.iter().any(|change| change.expect_seen).then_some(Expectation::ChangesSeen));
        expectations
    }

    /// Whether this key is true.
    fn flag(&mut self, object: &Object<'_>, key: [&str; 2], shift: usize) -> bool {
        match value(object, key[1]) {
            Some(Value::BooleanLit(flag)) => flag.value,
            Some(other) => {
                let range = other.start() + shift..other.end() + shift;
                self.wrong_type(range, &format!("`{}`", key.concat()), "true or false", other);
                false
            }
            None => false,
        }
    }

    /// What `evalConfig` says of the case's repeats.
    fn repetition(&mut self, config: &Object<'_>, shift: usize) -> Repetition {
        let threshold = |text: &str| text.parse().ok().and_then(repetition::threshold);
        let trials = |text: &str| text.parse::<Trials>().ok();
        Repetition {
            trials: self.number(config, ["evalConfig.", "trials"], shift, true, TRIALS, trials),
            threshold: self.number(config, ["evalConfig.", "threshold"], shift, false, A_SHARE, threshold),
        }
    }

    /// The whole number of this key, from 1 up to `most`.
    fn count(&mut self, object: &Object<'_>, key: [&str; 2], most: u64, shift: usize) -> Option<u64> {
        let expected = format!("a whole number, 1 to {most}");
        let read = |text: &str| text.parse().ok().filter(|number| (1..=most).contains(number));
        self.number(object, key, shift, false, &expected, read)
    }

    /// What `parse` makes of the number of this key, or of words where these are fine as well. Before the key stands what its
    /// object is called.
    fn number<A>(
        &mut self,
        object: &Object<'_>,
        key: [&str; 2],
        shift: usize,
        words: bool,
        expected: &str,
        parse: impl Fn(&str) -> Option<A>,
    ) -> Option<A> {
        let value = value(object, key[1])?;
        let key = key.concat();
        let range = value.start() + shift..value.end() + shift;
        let text = match value {
            Value::NumberLit(number) => number.value,
            Value::StringLit(text) if words => text.value.as_ref(),
            _ => {
                let expected = if words { expected } else { "a number" };
                self.wrong_type(range, &format!("`{key}`"), expected, value);
                return None;
            }
        };
        let read = parse(text);
        if read.is_none() {
            let message = format!("`{key}` is {}; expected {expected}", shorten(text));
            self.problem(Code::BadNumber, range, message);
        }
        read
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
