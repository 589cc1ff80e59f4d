//! A value in a JSON or YAML file, and where it is written.

pub mod json;
pub mod yaml;

use std::collections::HashSet;
use std::ops::Range;

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
