//! What is read of a JSON document. All else in it is passed over, whatever it is.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// What a value has to be.
#[derive(Debug)]
pub enum Part {
    Text,
    /// Text that names nothing if it is empty.
    Name,
    Count,
    Number,
    Flag,
    /// A name or a number, as text.
    Label,
    Any,
    /// Whatever it is, that it is there.
    Presence,
    List(&'static Part),
    /// An object whose keys are names, in their order.
    Map(Need, &'static Part),
    Object(&'static [Key]),
    /// A list of these, or one in each line.
    Lines(&'static Part),
}

/// A key of an object.
pub type Key = (&'static str, Need, Part);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Must,
    /// It may be absent, or null.
    May,
    /// It may be absent, and is not null.
    NotNull,
}

/// A [`Part`]: `{ Need key part, … }` is an object, `[part]` a list, `(Need part)` a map, `lines part` a list of lines.
macro_rules! part {
    ({ $($need:ident $key:ident $part:tt),* }) => {
        Part::Object(&[$((stringify!($key), Need::$need, part!($part))),*])
    };
    ([$part:tt]) => { Part::List(&part!($part)) };
    (($need:ident $part:tt)) => { Part::Map(Need::$need, &part!($part)) };
    (lines $part:tt) => { Part::Lines(&part!($part)) };
    ($part:ident) => { $part };
}
pub(super) use part;

impl Part {
    pub fn read(&'static self, bytes: &[u8]) -> Result<Value, String> {
        let mut text = serde_json::Deserializer::from_slice(bytes);
        let read = |text: &mut _| Seed(Need::Must, self).deserialize(text);
        let document = match self {
            Self::Lines(part) if !bytes.trim_ascii_start().starts_with(b"[") => {
                let (mut lines, line) = (Vec::new(), Seed(Need::Must, part));
                while text.end().is_err() {
                    lines.push(line.deserialize(&mut text).map_err(|error| error.to_string())?);
                }
                Ok(Value::Array(lines))
            }
            _ => read(&mut text).and_then(|document| text.end().map(|()| document)),
        };
        document.map_err(|error| error.to_string())
    }
}

/// Reads a value, of which only what a [`Part`] has is kept.
#[derive(Clone, Copy)]
struct Seed(Need, &'static Part);

impl<'de> DeserializeSeed<'de> for Seed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        let Self(need, part) = self;
        if need == Need::May {
            return from.deserialize_option(self);
        }
        Ok(match part {
            Part::Text => String::deserialize(from)?.into(),
            Part::Name => Some(String::deserialize(from)?).filter(|name| !name.is_empty()).into(),
            Part::Count => u64::deserialize(from)?.into(),
            Part::Number => f64::deserialize(from)?.into(),
            Part::Flag => bool::deserialize(from)?.into(),
            Part::Label => plain(&Value::deserialize(from)?).into(),
            Part::Any => Value::deserialize(from)?,
            Part::Presence => IgnoredAny::deserialize(from).map(|_| Value::Bool(true))?,
            Part::List(_) | Part::Lines(_) => from.deserialize_seq(self)?,
            Part::Map(..) | Part::Object(_) => from.deserialize_map(self)?,
        })
    }
}

impl<'de> Visitor<'de> for Seed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.1 {
            Part::List(_) | Part::Lines(_) => "a sequence",
            Part::Map(..) => "a map",
            _ => "an object",
        })
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        Self(Need::Must, self.1).deserialize(from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let (Part::List(item) | Part::Lines(item)) = self.1 else { return Ok(Value::Null) };
        let mut items = Vec::new();
        while let Some(item) = from.next_element_seed(Self(Need::Must, item))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        let keys = match self.1 {
            Part::Object(keys) => keys,
            Part::Map(need, item) => {
                let mut items = BTreeMap::new();
                while let Some(name) = from.next_key::<String>()? {
                    items.insert(name, from.next_value_seed(Self(*need, item))?);
                }
                return Ok(items.into_iter().collect());
            }
            _ => return Ok(Value::Null),
        };
        let mut object = Map::new();
        while let Some(name) = from.next_key::<String>()? {
            let Some((key, need, part)) = keys.iter().find(|(key, ..)| *key == name) else {
                from.next_value::<IgnoredAny>()?;
                continue;
            };
            if object.contains_key(*key) {
                return Err(A::Error::duplicate_field(key));
            }
            object.insert(name, from.next_value_seed(Self(*need, part))?);
        }
        let missing = keys.iter().find(|(key, need, _)| *need == Need::Must && !object.contains_key(*key));
        missing.map_or(Ok(Value::Object(object)), |(key, ..)| Err(A::Error::missing_field(key)))
    }
}

/// What is at a JSON pointer in which `*` is each item of a list or an object. Before it, the objects around it, from the document on.
pub fn each<'v>(document: &'v Value, path: &str) -> Vec<Vec<&'v Value>> {
    let mut found = vec![vec![document]];
    let mut steps: Vec<&str> = path.split("/*").collect();
    steps.pop();
    for step in steps {
        let items = |around: Vec<&'v Value>| {
            let list = around.last().and_then(|object| object.pointer(step));
            let items: Vec<&Value> = match list {
                Some(Value::Array(items)) => items.iter().collect(),
                Some(Value::Object(items)) => items.values().collect(),
                _ => Vec::new(),
            };
            items.into_iter().map(move |item| around.iter().copied().chain([item]).collect())
        };
        found = found.into_iter().flat_map(items).collect();
    }
    found
}

/// The first of these pointers that leads to text in the innermost of these objects.
pub fn text(around: &[&Value], pointers: &[&str]) -> String {
    let within = |pointer: &&str| around.iter().rev().find_map(|object| object.pointer(pointer)?.as_str());
    pointers.iter().find_map(within).unwrap_or_default().to_owned()
}

pub fn number(object: &Value, pointer: &str) -> Option<f64> {
    object.pointer(pointer)?.as_f64()
}

pub fn flag(object: &Value, pointer: &str) -> Option<bool> {
    object.pointer(pointer)?.as_bool()
}

pub fn said<'v>(object: &'v Value, pointer: &str) -> Option<&'v str> {
    object.pointer(pointer)?.as_str()
}

/// The items of a list.
pub fn items<'v>(document: &'v mut Value, pointer: &str) -> impl Iterator<Item = &'v mut Value> {
    document.pointer_mut(pointer).and_then(Value::as_array_mut).into_iter().flatten()
}

/// A name, or a number as text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
