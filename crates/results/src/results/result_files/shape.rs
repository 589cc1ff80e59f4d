//! What a file has at its top, by which its format is known.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::IgnoredAny;
use serde_json::Deserializer;

/// Objects of a list, or lines, that are looked at: headers may come before the first result.
const FIRST: usize = 3;

/// The names at the top of a file.
pub struct Shape {
    names: BTreeSet<String>,
    kind: &'static str,
}

impl Shape {
    /// Whether it has `key`, of which `|` separates alternatives.
    pub fn has(&self, key: &str) -> bool {
        key.split('|').any(|name| self.names.contains(name))
    }

    /// `the JSON (config, results)`.
    pub fn what(&self) -> String {
        let names = self.names.iter().take(12).map(|name| name.chars().take(40).collect());
        let names: Vec<String> = names.collect();
        format!("the {} ({})", self.kind, names.join(", "))
    }
}

pub fn of(bytes: &[u8]) -> Result<Shape, String> {
    match bytes.trim_ascii_start() {
        [] => Err("the file is empty".to_owned()),
        [b'P', b'K', ..] => {
            Err("it is a ZIP file; of Inspect, write its JSON first: `inspect log dump FILE > log.json`".to_owned())
        }
        text @ [b'<', ..] => Ok(Shape { names: root(text).into_iter().collect(), kind: "XML" }),
        text @ [b'{' | b'[', ..] => {
            let items = text.strip_prefix(b"[");
            Ok(Shape { names: keys(items.unwrap_or(text), items.is_some())?, kind: "JSON" })
        }
        text => {
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let names = String::from_utf8_lossy(line);
            let names = names.split(',').map(|name| name.trim().trim_matches('"').to_owned());
            Ok(Shape { names: names.collect(), kind: "CSV" })
        }
    }
}

/// The keys of the first objects.
#[expect(clippy::zero_sized_map_values, reason = "serde reads no set of the keys of an object")]
fn keys(mut text: &[u8], is_list: bool) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for at in 0..FIRST {
        let mut objects = Deserializer::from_slice(text).into_iter::<BTreeMap<String, IgnoredAny>>();
        match objects.next() {
            Some(Ok(object)) => names.extend(object.into_keys()),
            // A later one, which is none, is the reader's to refuse.
            Some(Err(error)) if at == 0 => return Err(error.to_string()),
            _ => break,
        }
        text = text[objects.byte_offset()..].trim_ascii_start();
        if is_list {
            text = text.strip_prefix(b",").unwrap_or_default();
        }
    }
    Ok(names)
}

/// The name of the root of an XML document.
fn root(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(&text[..text.len().min(4096)]).ok()?;
    let start = text.match_indices('<').map(|(at, _)| &text[at + 1..]).find(|rest| !rest.starts_with(['?', '!']))?;
    start.split(|c: char| c.is_whitespace() || c == '>' || c == '/').next().map(str::to_owned)
}
