//! YAML 1.2 text as nodes, by its core schema, with the merge keys of YAML 1.1: `id: off` is a text.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag, options};

use super::{Node, NodeEntry, NodeValue, Parsed, SyntaxProblem};

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
pub fn parse(text: &str) -> Parsed {
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
