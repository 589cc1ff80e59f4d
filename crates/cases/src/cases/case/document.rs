//! A JSON or YAML file as one tree of values with their places, and a reader that collects the problems of its keys.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::Path;

use crate::cases::case::Unsupported;
use crate::cases::case_places::CasePlaces;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{CaseCheck, FieldForm, FieldValue, InvalidCheck, InvalidField};
use crate::settings::trials::{MOST_TRIALS, TRIALS, Trials};
use crate::text::diagnostic::SourceText;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation, is_slip, nearest, shorten, suggest};
use crate::text::node::{self, Parsed, SyntaxProblem};
use crate::text::problem::ProblemList;
use crate::trial::input_file::{InputContent, InputFile};

pub use crate::text::node::{Node, NodeEntry, NodeValue};

/// The byte order mark.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The note that says of a format that its files have comments.
const COMMENT: &str = "_comment";

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// JSON by RFC 8259.
    Json,
    /// A JSON value on each line: the list of them.
    JsonLines,
    /// YAML 1.2.
    Yaml,
}

impl Syntax {
    /// The syntax of the file at `path`, by its name: JSON if the name says nothing.
    pub fn of(path: &Path) -> Self {
        Self::named(path).unwrap_or(Self::Json)
    }

    /// The syntax that the name of a file says.
    pub fn named(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "jsonl" => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// The value in a text without byte order mark; none if the text is empty.
    fn parse(self, text: &str) -> Parsed {
        match self {
            Self::Json => node::parse_json(text),
            Self::JsonLines => node::parse_json_lines(text),
            Self::Yaml => node::parse_yaml(text),
        }
    }

    fn problem_code(self) -> Code {
        match self {
            Self::Json | Self::JsonLines => Code::JsonSyntax,
            Self::Yaml => Code::YamlSyntax,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json | Self::JsonLines => "JSON",
            Self::Yaml => "YAML",
        }
    }
}

/// A file of values, and the problems found in it so far.
///
/// The name of a key may begin with the path of its object, which messages show: `evalConfig.trials` is the key `trials`.
#[derive(Debug)]
pub struct Document<'a> {
    /// The file, from the repository's root.
    pub path: &'a Path,
    /// Its content.
    pub bytes: &'a [u8],
    syntax: Syntax,
    text: SourceText<'a>,
    pub problems: ProblemList,
    /// Where the sources are that it names; without, they start at the repository's root.
    pub places: Option<CasePlaces>,
    /// The keys so far that no trial depends on, each with its first place.
    unread_keys: BTreeMap<String, Range<usize>>,
    /// Whether all its values are texts, as in a row of a table.
    is_row: bool,
}

impl<'a> Document<'a> {
    /// The file at `path` with this content.
    pub fn new(path: &'a Path, bytes: &'a [u8], syntax: Syntax) -> Self {
        Self {
            path,
            bytes,
            syntax,
            text: SourceText::new(path, bytes),
            problems: ProblemList::of_file(),
            places: None,
            unread_keys: BTreeMap::new(),
            is_row: false,
        }
    }

    /// The row with these bytes in the table at `path`, which begins on this line.
    pub fn of_row(path: &'a Path, bytes: &'a [u8], line: usize) -> Self {
        let text = SourceText::new(path, bytes).from_line(line);
        Self { text, is_row: true, ..Self::new(path, bytes, Syntax::Json) }
    }

    /// The value of the file; without one, the problem is that of the file.
    pub fn root(&mut self) -> Option<Node> {
        let mark = if self.bytes.starts_with(MARK) { MARK.len() } else { 0 };
        let text = match std::str::from_utf8(&self.bytes[mark..]) {
            Ok(text) => text,
            Err(error) => {
                let at = mark + error.valid_up_to();
                let help = "save the file as UTF-8";
                self.problem_with_help(Code::NotUtf8, at..at + 1, "this is not UTF-8 text", help);
                return None;
            }
        };
        match self.syntax.parse(text) {
            Ok(Some(mut root)) => {
                root.shift(mark);
                Some(root)
            }
            Ok(None) => {
                let message = format!("the file is empty; expected a {} object", self.syntax.name());
                self.problem(self.syntax.problem_code(), 0..0, message);
                None
            }
            Err(SyntaxProblem { range, message, help }) => {
                let range = range.start + mark..range.end + mark;
                let code = self.syntax.problem_code();
                match help {
                    Some(help) => self.problem_with_help(code, range, message, help),
                    None => self.problem(code, range, message),
                }
                None
            }
        }
    }

    /// The line of a byte, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        self.text.line_of(at)
    }

    /// The place of these bytes.
    pub fn place(&self, range: Range<usize>) -> SourceLocation {
        self.text.place(range)
    }

    /// Adds a problem of these bytes.
    pub fn problem(&mut self, code: Code, range: Range<usize>, message: impl Into<String>) {
        self.problems.add(code, || Diagnostic::new(code, self.text.place(range), message));
    }

    /// Adds a problem of these bytes, and what helps.
    pub fn problem_with_help(
        &mut self,
        code: Code,
        range: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.add(code, || Diagnostic::new(code, self.text.place(range), message).help(help));
    }

    /// Adds a problem of the value at a key of an object, which may be absent.
    pub fn problem_at(&mut self, code: Code, object: &Node, key: &str, message: impl Into<String>) {
        self.problem(code, object.get(key).unwrap_or(object).range.clone(), message);
    }

    /// Reports a path or a name that cannot be used, and why.
    pub fn bad_path(&mut self, text: &str, why: &str, node: &Node) {
        self.problem(Code::BadPath, node.range.clone(), format!("`{}` {why}", shorten(text)));
    }

    /// Reports a value of the wrong type.
    pub fn wrong_type(&mut self, what: &str, expected: &str, node: &Node) {
        let message = format!("{what} is {}; expected {expected}", node.kind());
        self.problem(Code::ValueType, node.range.clone(), message);
    }

    /// Reports a missing key where its object begins.
    pub fn missing(&mut self, object: &Node, key: &str) {
        let start = object.range.start;
        self.problem(Code::MissingKey, start..start + 1, format!("the key `{key}` is missing"));
    }

    /// Reports the keys of an object that are not `known`.
    pub fn unknown_keys(&mut self, object: &Node, known: &[&str]) {
        for NodeEntry { key, key_range, .. } in object.entries() {
            if !known.contains(&key.as_str()) {
                self.problems.add(Code::UnknownKey, || {
                    let place = self.text.place(key_range.clone());
                    Diagnostic::new(Code::UnknownKey, place, format!("unknown key `{key}`")).help(suggest(key, known))
                });
            }
        }
    }

    /// Reports the keys that an object in `node` has twice: one value would be ignored. What the keys `apart` of `node` itself hold is
    /// left to the reader of each case in it.
    pub fn duplicate_keys(&mut self, node: &Node, apart: &[&str]) {
        for NodeEntry { key, key_range, .. } in node.repeated_keys(apart) {
            let message = format!("duplicate key `{key}`");
            self.problem_with_help(Code::UnknownKey, key_range.clone(), message, "remove one of the two");
        }
    }

    /// The keys of another program's object that may ask for something: those that are neither `known` nor `notes`. Reports keys
    /// that are nearly known ones.
    pub fn unsupported_keys(&mut self, object: &Node, known: &[&str], notes: &[&str]) -> Vec<Unsupported> {
        let mut unsupported = Vec::new();
        for NodeEntry { key, key_range, value } in object.entries() {
            if known.iter().chain(notes).any(|known| known == key) || value.value == NodeValue::Null {
                continue;
            }
            if notes.contains(&COMMENT) && is_comment(key) {
                self.not_read(key, key_range);
                continue;
            }
            // Any two short words are nearly the same.
            let is_near = |near: &&str| near.len() > 5 || near.len() > 3 && key.len() > 3 && is_slip(key, near);
            match nearest(key, known.iter().copied()).filter(is_near) {
                Some(near) => {
                    let (message, help) = (format!("unknown key `{key}`"), format!("did you mean `{near}`?"));
                    self.problem_with_help(Code::UnknownKey, key_range.clone(), message, help);
                }
                None => unsupported
                    .push(Unsupported { what: format!("the key `{key}`"), place: self.place(key_range.clone()) }),
            }
        }
        unsupported
    }

    /// Notes a key that no trial depends on.
    pub fn not_read(&mut self, key: &str, range: &Range<usize>) {
        self.unread_keys.entry(key.to_owned()).or_insert_with(|| range.clone());
    }

    /// The warning of the keys that no trial depends on, once for the file.
    pub fn unread_keys(&self) -> Option<Diagnostic> {
        let first = self.unread_keys.values().min_by_key(|range| range.start)?;
        let keys: Vec<String> = self.unread_keys.keys().map(|key| format!("`{key}`")).collect();
        let message = format!("keys that are not read: {}; the cases run without them", keys.join(", "));
        let problem = Diagnostic::new(Code::UnknownKey, self.place(first.clone()), message);
        let help = "a trial passes or fails by its own checks, and no number for the whole file counts; name keys that only label in \
                    evals/evals.toml: `own_keys`";
        Some(Diagnostic { severity: Severity::Warning, ..problem.help(help) })
    }

    /// A part of a case that this program does not do.
    pub fn unsupported(&self, what: impl Into<String>, node: &Node) -> Unsupported {
        Unsupported { what: what.into(), place: self.place(node.range.clone()) }
    }

    /// The value of a key that must be there.
    pub fn required<'n>(&mut self, object: &'n Node, name: &str) -> Option<&'n Node> {
        let found = object.get(last(name));
        if found.is_none() {
            self.missing(object, name);
        }
        found
    }

    /// The text of a key that must be there and not be blank.
    pub fn required_text<'n>(&mut self, object: &'n Node, name: &str) -> Option<&'n str> {
        self.required(object, name)?;
        let text = self.text(object, name)?;
        if text.trim().is_empty() {
            let range = object.get(last(name)).map_or(0..0, |node| node.range.clone());
            self.problem(Code::EmptyValue, range, format!("`{name}` is empty"));
            return None;
        }
        Some(text)
    }

    /// The text of a key that may be absent.
    pub fn text<'n>(&mut self, object: &'n Node, name: &str) -> Option<&'n str> {
        self.typed(object, name, "a string", Node::text)
    }

    /// True or false, at a key that may be absent.
    pub fn flag(&mut self, object: &Node, name: &str) -> Option<bool> {
        self.typed(object, name, "true or false", |node| match node.value {
            NodeValue::Flag(flag) => Some(flag),
            _ => None,
        })
    }

    /// The number within these bounds at a key that may be absent.
    pub fn count(&mut self, object: &Node, name: &str, bounds: RangeInclusive<u64>, expected: &str) -> Option<u64> {
        self.typed(object, name, expected, |node| node.count().filter(|count| bounds.contains(count)))
    }

    /// The number of trials at a key that may be absent.
    pub fn trials(&mut self, object: &Node, name: &str) -> Option<Trials> {
        let times = self.count(object, name, 1..=MOST_TRIALS.into(), "a number of trials")?;
        u32::try_from(times).ok().map(Trials::Times)
    }

    /// The list of a key that may be absent.
    pub fn list<'n>(&mut self, object: &'n Node, name: &str) -> Option<&'n [Node]> {
        self.typed(object, name, "an array", Node::elements)
    }

    /// The object of a key that may be absent.
    pub fn map<'n>(&mut self, object: &'n Node, name: &str) -> Option<&'n Node> {
        self.typed(object, name, "an object", |node| node.is_map().then_some(node))
    }

    /// The texts of a list at a key that may be absent.
    pub fn text_list(&mut self, object: &Node, name: &str) -> Vec<String> {
        self.list(object, name).map(|_| self.texts(object, name)).unwrap_or_default()
    }

    /// The texts of a list, or one text in its place, at a key that may be absent.
    pub fn texts(&mut self, object: &Node, name: &str) -> Vec<String> {
        let Some(node) = object.get(last(name)) else { return Vec::new() };
        let mut texts = Vec::new();
        for element in node.elements().unwrap_or(std::slice::from_ref(node)) {
            match element.text() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong_type(&format!("an element of `{name}`"), "a string", element),
            }
        }
        texts
    }

    /// The number within these bounds at a key that may be absent.
    pub fn amount(&mut self, object: &Node, name: &str, bounds: RangeInclusive<f64>, expected: &str) -> Option<f64> {
        self.typed(object, name, expected, |node| node.amount().filter(|amount| bounds.contains(amount)))
    }

    fn typed<'n, T>(
        &mut self,
        object: &'n Node,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'n Node) -> Option<T>,
    ) -> Option<T> {
        let node = object.get(last(name))?;
        let value = read(node);
        if value.is_none() {
            self.wrong_type(&format!("`{name}`"), expected, node);
        }
        value
    }

    /// Reports a list that holds nothing.
    pub fn not_empty(&mut self, name: &str, list: &Node) {
        if list.elements().is_some_and(<[Node]>::is_empty) {
            let message = format!("`{name}` is an empty list");
            let help = "write what must hold, or leave the key out";
            self.problem_with_help(Code::EmptyValue, list.range.clone(), message, help);
        }
    }

    /// The regular expression in `node`, the value of `key`, if it is one that compiles.
    pub fn pattern(&mut self, key: &str, node: &Node) -> Option<Pattern> {
        let Some(text) = node.text() else {
            self.wrong_type(&format!("`{key}`"), "a string", node);
            return None;
        };
        self.compiled(key, node, Pattern { text: text.to_owned(), style: Style::Exact })
    }

    /// A pattern that is written in `node`, the value of `key`, if it compiles.
    pub fn compiled(&mut self, key: &str, node: &Node, pattern: Pattern) -> Option<Pattern> {
        let Err(error) = pattern.check() else { return Some(pattern) };
        let (message, help) = pattern.problem(key, &error);
        self.problem_with_help(Code::InvalidCheck, node.range.clone(), message, help);
        None
    }

    /// The check that is written in `node`, or the problem of values that make none.
    pub fn check(&mut self, node: &Node, check: Result<CaseCheck, InvalidCheck>) -> Option<CaseCheck> {
        check
            .map_err(|InvalidCheck { message, help, .. }| {
                self.problem_with_help(Code::InvalidCheck, node.range.clone(), message, help);
            })
            .ok()
    }

    /// The values of the field `name`: one, or a list of them.
    pub fn field_values(&mut self, name: &str, form: FieldForm, written: &Node) -> Vec<FieldValue> {
        let list = written.elements().filter(|_| form.is_list()).unwrap_or(std::slice::from_ref(written));
        // No check is made of it.
        if matches!(form, FieldForm::Patterns | FieldForm::Paths | FieldForm::Sources) {
            self.not_empty(name, written);
        }
        list.iter().filter_map(|element| self.field_value(name, form, element)).collect()
    }

    pub fn field_value(&mut self, name: &str, form: FieldForm, written: &Node) -> Option<FieldValue> {
        if form == FieldForm::Files && written.is_map() {
            return self.input_file(name, written).map(FieldValue::File);
        }
        let is_number = matches!(form, FieldForm::Number { .. } | FieldForm::Share | FieldForm::Amount);
        let text = match &written.value {
            _ if form == FieldForm::Json => return Some(FieldValue::Json(written.json())),
            NodeValue::Text(text) if self.is_row => text.clone(),
            NodeValue::Flag(flag) if form == FieldForm::Flag => flag.to_string(),
            NodeValue::Number(number) if is_number || form == FieldForm::Trials => number.clone(),
            NodeValue::Text(text) if form != FieldForm::Flag && !is_number => text.clone(),
            _ => {
                let expected = match form {
                    FieldForm::Flag => "true or false",
                    FieldForm::Trials => TRIALS,
                    FieldForm::Texts => "a list of strings",
                    FieldForm::Files => "a path, or an object with `path`, and `content` or `source`",
                    _ if is_number => "a number",
                    _ if form.is_list() => "a string or a list of strings",
                    _ => "a string",
                };
                self.wrong_type(&format!("`{name}`"), expected, written);
                return None;
            }
        };
        let shown = if self.is_row { format!("{:?}", shorten(&text)) } else { shorten(&text) };
        let value = form.read(name, &text, &shown);
        let places = self.places.as_ref();
        value
            .and_then(|value| places.map_or(Ok(value.clone()), |places| places.found(name, form, &text, value)))
            .map_err(|InvalidField { code, message, help }| {
                self.problem_with_help(code, written.range.clone(), message, help);
            })
            .ok()
    }

    /// Reads an object in the list `files`: `{ "path": "orders.csv", "content": "…" }`, or with `source`, a file or directory of the
    /// repository.
    fn input_file(&mut self, name: &str, object: &Node) -> Option<InputFile> {
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

/// Whether the name of a key says that it only comments.
fn is_comment(key: &str) -> bool {
    key.starts_with('_') || ["_note", "_notes", "_comment", "_comments"].iter().any(|end| key.ends_with(end))
}

/// The key at the end of a path of keys.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
