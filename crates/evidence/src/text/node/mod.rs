//! A value in a JSON or YAML file, and where it is written.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag, options};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Number, Value as Json};

/// Why a text has no value.
#[derive(Debug)]
pub struct SyntaxProblem {
    /// Its bytes.
    pub range: Range<usize>,
    /// What is wrong there.
    pub message: String,
    pub help: Option<&'static str>,
}

impl SyntaxProblem {
    /// A problem of these bytes that needs no help.
    pub fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, message: message.into(), help: None }
    }
}

/// The value of a text; none if the text is empty.
pub type Parsed = Result<Option<Node>, SyntaxProblem>;

/// A value and its bytes in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub value: NodeValue,
    /// Its bytes in the file. An alias in YAML has the bytes of the alias, its parts those of the anchor.
    pub range: Range<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeValue {
    /// `null`, or nothing.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number, as it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Keys and their values, in the order of the file.
    Map(Vec<NodeEntry>),
}

/// From this number on, a float has no fraction, and not every whole number is one: 2^53.
const EXACT_FLOATS: f64 = 9_007_199_254_740_992.0;

/// A number by the core schema of YAML 1.2, which has those of JSON, and `+1`, `.5`, `1.`, `007`, `0o17`, `0x1F`. `None` if it is not
/// finite.
fn number(written: &str) -> Option<Number> {
    let based = |prefix: &str, base| {
        written.strip_prefix(prefix).and_then(|digits| u64::from_str_radix(digits, base).ok()).map(Number::from)
    };
    let whole = || written.parse::<i64>().ok();
    let json = serde_json::from_str(written).ok();
    let based = json.or_else(|| based("0x", 16)).or_else(|| based("0o", 8));
    based.or_else(|| whole().map(Number::from)).or_else(|| Number::from_f64(written.parse().ok()?))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    pub key: String,
    /// The bytes of the key in the file.
    pub key_range: Range<usize>,
    pub value: Node,
}

impl Node {
    /// The kind of value, with its article.
    pub fn kind(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "null",
            NodeValue::Flag(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::Text(_) => "a string",
            NodeValue::List(_) => "an array",
            NodeValue::Map(_) => "an object",
        }
    }

    /// The keys and values; none if this is not a map.
    pub fn entries(&self) -> &[NodeEntry] {
        if let NodeValue::Map(entries) = &self.value { entries } else { &[] }
    }

    pub fn elements(&self) -> Option<&[Node]> {
        if let NodeValue::List(elements) = &self.value { Some(elements) } else { None }
    }

    /// The elements of a list, or the value itself as the only one; none for `null`.
    pub fn each(&self) -> &[Node] {
        match &self.value {
            NodeValue::Null => &[],
            _ => self.elements().unwrap_or(std::slice::from_ref(self)),
        }
    }

    pub fn is_map(&self) -> bool {
        matches!(self.value, NodeValue::Map(_))
    }

    pub fn text(&self) -> Option<&str> {
        if let NodeValue::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The number, if it counts something: `1e3` and `3.0` do.
    pub fn count(&self) -> Option<u64> {
        let NodeValue::Number(written) = &self.value else { return None };
        let number = number(written)?;
        let whole = || number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..EXACT_FLOATS).contains(float));
        number.as_u64().or_else(|| whole().and_then(|float| format!("{:.0}", float.abs()).parse().ok()))
    }

    /// The number, if it is finite.
    pub fn amount(&self) -> Option<f64> {
        let NodeValue::Number(written) = &self.value else { return None };
        number(written)?.as_f64()
    }

    /// The value as JSON. A number that JSON cannot have is a text.
    pub fn json(&self) -> Json {
        match &self.value {
            NodeValue::Null => Json::Null,
            NodeValue::Flag(flag) => Json::Bool(*flag),
            NodeValue::Number(written) => number(written).map_or_else(|| Json::String(written.clone()), Json::Number),
            NodeValue::Text(text) => Json::String(text.clone()),
            NodeValue::List(elements) => elements.iter().map(Node::json).collect(),
            NodeValue::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.value.json())).collect(),
        }
    }

    /// The entries of this and all inner maps whose key the map has before. What the keys `apart` of this map hold is left out.
    pub fn repeated_keys(&self, apart: &[&str]) -> Vec<&NodeEntry> {
        let mut seen = HashSet::new();
        let mut repeated = Vec::new();
        for entry in self.entries() {
            if !seen.insert(&entry.key) {
                repeated.push(entry);
            }
            if !apart.contains(&entry.key.as_str()) {
                repeated.append(&mut entry.value.repeated_keys(&[]));
            }
        }
        for element in self.elements().unwrap_or_default() {
            repeated.append(&mut element.repeated_keys(&[]));
        }
        repeated
    }

    /// Moves all places by this number of bytes.
    pub fn shift(&mut self, by: usize) {
        if by == 0 {
            return;
        }
        self.range = self.range.start + by..self.range.end + by;
        match &mut self.value {
            NodeValue::List(elements) => elements.iter_mut().for_each(|element| element.shift(by)),
            NodeValue::Map(entries) => {
                for entry in entries {
                    entry.key_range = entry.key_range.start + by..entry.key_range.end + by;
                    entry.value.shift(by);
                }
            }
            _ => {}
        }
    }

    pub fn entry(&self, key: &str) -> Option<&NodeEntry> {
        self.entries().iter().find(|entry| entry.key == key)
    }

    /// The value of a key. Programs write `null` for a value that nobody chose: such a key counts as absent.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|entry| &entry.value).filter(|node| node.value != NodeValue::Null)
    }
}

// JSON text as nodes.

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

/// The value in a text; none if the text is empty.
pub fn parse_json(text: &str) -> Parsed {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT)
        .map_err(|error| SyntaxProblem::new(range_of(&error.range()), format!("this is not JSON: {}", error.kind())))?;
    Ok(parsed.value.map(node))
}

/// The list of the values on the lines of a text; none if the text is empty.
pub fn parse_json_lines(text: &str) -> Parsed {
    let (mut values, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let parsed = parse_json(line)
            .map_err(|problem| SyntaxProblem { range: problem.range.start + at..problem.range.end + at, ..problem })?;
        values.extend(parsed.map(|mut value| {
            value.shift(at);
            value
        }));
        at += line.len();
    }
    Ok((!values.is_empty()).then_some(Node { value: NodeValue::List(values), range: 0..text.len() }))
}

fn node(value: Value<'_>) -> Node {
    let range = range_of(&value);
    let value = match value {
        Value::NullKeyword(_) => NodeValue::Null,
        Value::BooleanLit(flag) => NodeValue::Flag(flag.value),
        Value::NumberLit(number) => NodeValue::Number(number.value.to_owned()),
        Value::StringLit(text) => NodeValue::Text(text.value.into_owned()),
        Value::Array(list) => NodeValue::List(list.elements.into_iter().map(node).collect()),
        Value::Object(object) => NodeValue::Map(
            object
                .properties
                .into_iter()
                .map(|property| NodeEntry {
                    key_range: range_of(&property.name),
                    key: property.name.into_string(),
                    value: node(property.value),
                })
                .collect(),
        ),
    };
    Node { value, range }
}

fn range_of(node: &dyn Ranged) -> Range<usize> {
    node.start()..node.end()
}

// YAML 1.2 text as nodes, by its core schema, with the merge keys of YAML 1.1: `id: off` is a text.

/// The most that all anchors and aliases together may repeat, in nodes and bytes of text. A few lines of nested aliases can stand for
/// more than any memory holds.
const MOST_REPEATED: usize = 4 << 20;

/// The key whose maps are read as if their keys were written next to it.
const MERGE: &str = "<<";

/// What helps with errors that have these words.
const HELP: [(&str, Option<&str>); 4] = [
    ("tab", Some("indent with spaces; YAML allows no tabs")),
    ("escape", Some("write `\\\\` for a backslash, or use single quotes, in which it stands for itself")),
    ("recursion", None),
    ("directive", None),
];

/// What helps with nearly every other fault that people make.
const QUOTES: &str = "put quotes around a text that begins with a symbol such as `@` or holds `: `, close quotes and \
                      brackets, and indent the keys of an object alike";

/// The value in a text; none if the text is empty.
pub fn parse_yaml(text: &str) -> Parsed {
    let options = options! { emit_comments: false };
    let mut builder = Builder {
        text,
        events: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        repeated: 0,
    };
    let mut root = None;
    while let Some((event, span)) = builder.next()? {
        match event {
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => {}
            _ if root.is_some() => {
                let message = "a second YAML document begins here, which would not be read".to_owned();
                let help = Some("put it into a file of its own, or remove the line `---` before it");
                return Err(SyntaxProblem { range: bytes(text, span), message, help });
            }
            event => root = Some(builder.node(event, span)?),
        }
    }
    Ok(root)
}

struct Builder<'a> {
    text: &'a str,
    events: Parser<'a, granit_parser::StrInput<'a>>,
    /// The values that aliases stand for, with their weight.
    anchors: HashMap<usize, (Node, usize)>,
    repeated: usize,
}

impl<'a> Builder<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, SyntaxProblem> {
        self.events.next_event().transpose().map_err(|error| self.not_yaml(&error))
    }

    fn not_yaml(&self, error: &ScanError) -> SyntaxProblem {
        let at = error.marker().byte_offset().unwrap_or_default();
        let what = error.info();
        let (_, help) = HELP.iter().find(|(word, _)| what.contains(word)).copied().unwrap_or(("", Some(QUOTES)));
        let end = at + self.text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        SyntaxProblem { range: at..end, message: format!("this is not YAML: {what}"), help }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, SyntaxProblem> {
        let range = bytes(self.text, span);
        let problem = |message: &str| SyntaxProblem::new(range.clone(), message);
        let (value, anchor) = match event {
            Event::Alias(anchor) => return self.alias(anchor, range),
            Event::Scalar(text, style, anchor, tag) => {
                let help = Some("put quotes around a text that begins with `!`");
                let value = scalar(&text, style, tag.as_deref())
                    .map_err(|message| SyntaxProblem { help, ..problem(&message) })?;
                (value, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut elements = Vec::new();
                while let Some((event, span)) = self.next()? {
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    elements.push(self.node(event, span)?);
                }
                (NodeValue::List(elements), anchor)
            }
            Event::MappingStart(_, anchor, _) => (NodeValue::Map(self.entries()?), anchor),
            _ => return Err(problem("this is not YAML: a value is missing")),
        };
        let end = match &value {
            NodeValue::List(elements) => elements.last().map(|last| last.range.end),
            NodeValue::Map(entries) => entries.last().map(|last| last.value.range.end),
            _ => None,
        };
        let node = Node { value, range: range.start..end.unwrap_or(range.end).max(range.start) };
        if anchor > 0 {
            let weight = weight(&node);
            self.repeat(weight, &node.range)?;
            self.anchors.insert(anchor, (node.clone(), weight));
        }
        Ok(node)
    }

    fn alias(&mut self, anchor: usize, range: Range<usize>) -> Result<Node, SyntaxProblem> {
        let problem = |message: &str| SyntaxProblem::new(range.clone(), message);
        let Some((node, weight)) = self.anchors.get(&anchor) else {
            let help = Some("write the value out");
            return Err(SyntaxProblem { help, ..problem("this alias is inside the value that it stands for") });
        };
        let (value, weight) = (node.value.clone(), *weight);
        self.repeat(weight, &range)?;
        Ok(Node { value, range })
    }

    /// Counts a copy of this weight.
    fn repeat(&mut self, weight: usize, range: &Range<usize>) -> Result<(), SyntaxProblem> {
        self.repeated += weight;
        let message = "the anchors and aliases of this file stand for too much text";
        if self.repeated > MOST_REPEATED { Err(SyntaxProblem::new(range.clone(), message)) } else { Ok(()) }
    }

    fn entries(&mut self) -> Result<Vec<NodeEntry>, SyntaxProblem> {
        let mut entries: Vec<NodeEntry> = Vec::new();
        let mut merged = Vec::new();
        while let Some((event, span)) = self.next()? {
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let is_plain = matches!(event, Event::Scalar(_, ScalarStyle::Plain, _, None));
            let key = self.node(event, span)?;
            let key_range = key.range.clone();
            let Some((event, span)) = self.next()? else { break };
            let value = self.node(event, span)?;
            let key = match key.value {
                NodeValue::Text(text) | NodeValue::Number(text) => text,
                NodeValue::Flag(flag) => flag.to_string(),
                NodeValue::Null => "null".to_owned(),
                NodeValue::List(_) | NodeValue::Map(_) => {
                    let message = format!("a key is {}; expected a string", key.kind());
                    return Err(SyntaxProblem { help: Some(QUOTES), ..SyntaxProblem::new(key_range, message) });
                }
            };
            if is_plain && key == MERGE {
                merged.push((key_range, value));
            } else {
                entries.push(NodeEntry { key, key_range, value });
            }
        }
        if merged.is_empty() {
            return Ok(entries);
        }
        let mut known: HashSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        for (range, value) in merged {
            let maps = match value.value {
                NodeValue::List(maps) => maps,
                _ => vec![value],
            };
            for map in maps {
                let NodeValue::Map(new) = map.value else {
                    let message = format!("`{MERGE}` is {}; expected an object or an array of objects", map.kind());
                    let help = Some("name an anchor of an object, as in `<<: *usual`, or quote the key");
                    return Err(SyntaxProblem { range, message, help });
                };
                // What is written here counts, then the first map that has the key.
                let new: Vec<NodeEntry> = new.into_iter().filter(|entry| !known.contains(&entry.key)).collect();
                known.extend(new.iter().map(|entry| entry.key.clone()));
                entries.extend(new);
            }
        }
        Ok(entries)
    }
}

/// The nodes of a value, and the bytes of its texts.
fn weight(node: &Node) -> usize {
    1 + match &node.value {
        NodeValue::Text(text) | NodeValue::Number(text) => text.len(),
        NodeValue::List(elements) => elements.iter().map(weight).sum(),
        NodeValue::Map(entries) => entries.iter().map(|entry| entry.key.len() + weight(&entry.value)).sum(),
        NodeValue::Null | NodeValue::Flag(_) => 0,
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<NodeValue, String> {
    let core = tag.and_then(Tag::core_suffix);
    if let Some(tag) = tag.filter(|tag| core.is_none() && tag.original() != "!") {
        return Err(format!("unknown YAML tag `{}`", tag.original()));
    }
    let is_text = style != ScalarStyle::Plain || tag.is_some_and(|_| core.is_none() || core == Some("str"));
    Ok(if is_text && core.is_none_or(|core| core == "str") { NodeValue::Text(text.to_owned()) } else { plain(text) })
}

/// A text without quotes, by the core schema of YAML 1.2.
fn plain(text: &str) -> NodeValue {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => NodeValue::Null,
        "true" | "True" | "TRUE" => NodeValue::Flag(true),
        "false" | "False" | "FALSE" => NodeValue::Flag(false),
        _ if is_number(text) => NodeValue::Number(text.to_owned()),
        _ => NodeValue::Text(text.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_special = [".inf", ".Inf", ".INF"].contains(&digits) || [".nan", ".NaN", ".NAN"].contains(&text);
    let is_based = |prefix: &str, base: u32| {
        let rest = text.strip_prefix(prefix);
        rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|digit| digit.is_digit(base)))
    };
    // Rust reads `inf`, `nan` and `1_000` differently, so the first character decides.
    let is_decimal =
        digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') && digits.parse::<f64>().is_ok();
    is_special || is_based("0x", 16) || is_based("0o", 8) || is_decimal
}

fn bytes(text: &str, span: Span) -> Range<usize> {
    let start = span.start.byte_offset().unwrap_or_default().min(text.len());
    let end = span.end.byte_offset().unwrap_or(start).clamp(start, text.len());
    start..end
}
