//! Counts how often subschemas are applied to an answer, without applying them. The count visits each subschema once for each
//! part of the answer, however many ways lead there.

use std::collections::HashMap;
use std::ptr;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use thiserror::Error;

/// Maximum number of applications of subschemas: seconds of work.
pub const MOST_WORK: u64 = 2_000_000;

/// Maximum number of objects in a schema.
const MOST_PARTS: usize = 20_000;

/// Maximum length of a chain of subschemas.
const MOST_DEPTH: usize = 1000;

/// How often `unevaluatedProperties` and `unevaluatedItems` apply the keywords next to them.
const UNEVALUATED: u64 = 3;

/// Why a valid schema cannot be used, as the end of a sentence that starts with its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TooMuchWork {
    /// Too many ways lead to the same subschemas.
    #[error(
        "would be applied more than {MOST_WORK} times to one answer, since its `$ref`s multiply; let `allOf`, `anyOf` \
         and `oneOf` lead to each subschema once"
    )]
    Work,
    /// It contains itself.
    #[error("has a `$ref` that leads back to itself without going into a part of the answer; take it out")]
    Loop,
    /// A chain of subschemas is too long.
    #[error("has more than {MOST_DEPTH} subschemas that lead to each other in a row; make that way shorter")]
    Depth,
    /// The search for a `pattern` with look-ahead or back-references took too many steps.
    #[error(
        "has a `pattern` whose search took too many steps; write it without look-ahead, look-behind and references"
    )]
    Pattern,
    /// It has too many objects.
    #[error("has more than {MOST_PARTS} objects; make it smaller")]
    Parts,
}

/// Checks the work of a schema, whatever the answer.
pub(super) fn check(schema: &Value) -> Result<(), TooMuchWork> {
    let mut parts = Vec::new();
    gather(schema, &mut parts);
    if parts.len() > MOST_PARTS {
        return Err(TooMuchWork::Parts);
    }
    let mut count = WorkCounter::new(schema, &parts);
    parts.iter().try_for_each(|part| count.of(part, &Value::Null, 0).map(drop))
}

/// Checks the work of a schema with this answer.
pub(super) fn check_with(schema: &Value, answer: &Value) -> Result<(), TooMuchWork> {
    let mut parts = Vec::new();
    gather(schema, &mut parts);
    WorkCounter::new(schema, &parts).of(schema, answer, 0).map(drop)
}

/// Every object that may be a subschema.
fn gather<'a>(value: &'a Value, parts: &mut Vec<&'a Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| gather(value, parts)),
        Value::Object(map) => {
            parts.push(value);
            let plain = |key: &str| ["const", "default", "enum", "examples"].contains(&key);
            map.iter().filter(|(key, _)| !plain(key)).for_each(|(_, value)| gather(value, parts));
        }
        _ => {}
    }
}

struct WorkCounter<'a> {
    /// The schema and the parts of it that have an `$id`.
    resources: Vec<(&'a str, &'a Value)>,
    anchors: Vec<(&'a str, &'a Value)>,
    /// The work by the addresses of a subschema and of a part of the answer; `None` while it is counted.
    known: HashMap<(usize, usize), Option<u64>>,
    /// The steps of the count itself, which have the same bound.
    steps: u64,
}

impl<'a> WorkCounter<'a> {
    fn new(schema: &'a Value, parts: &[&'a Value]) -> Self {
        let with = |key: &str| {
            let named = parts.iter().filter_map(|part| Some((part.get(key)?.as_str()?, *part)));
            named.collect::<Vec<_>>()
        };
        let mut resources = with("$id");
        if !resources.iter().any(|(_, part)| ptr::eq(*part, schema)) {
            resources.push(("", schema));
        }
        let anchors = ["$anchor", "$dynamicAnchor"].into_iter().flat_map(with).collect();
        Self { resources, anchors, known: HashMap::new(), steps: 0 }
    }

    /// How often subschemas are applied when `schema` is applied to `answer`.
    fn of(&mut self, schema: &'a Value, answer: &Value, depth: usize) -> Result<u64, TooMuchWork> {
        let Value::Object(keywords) = schema else { return Ok(1) };
        if depth > MOST_DEPTH {
            return Err(TooMuchWork::Depth);
        }
        self.step(1)?;
        let key = (ptr::from_ref(schema).addr(), ptr::from_ref(answer).addr());
        match self.known.insert(key, None) {
            Some(Some(known)) => {
                self.known.insert(key, Some(known));
                return Ok(known);
            }
            Some(None) => return Err(TooMuchWork::Loop),
            None => {}
        }
        let here = self.here(keywords, answer, depth + 1)?;
        let again = ["unevaluatedProperties", "unevaluatedItems"].iter().any(|key| keywords.contains_key(*key));
        let here = here.saturating_mul(if again { UNEVALUATED } else { 1 });
        let work = 1_u64.saturating_add(here).saturating_add(self.below(keywords, answer, depth + 1)?);
        if work > MOST_WORK {
            return Err(TooMuchWork::Work);
        }
        self.known.insert(key, Some(work));
        Ok(work)
    }

    fn step(&mut self, steps: usize) -> Result<(), TooMuchWork> {
        self.steps = self.steps.saturating_add(steps as u64);
        if self.steps > MOST_WORK { Err(TooMuchWork::Work) } else { Ok(()) }
    }

    /// The work of keywords that apply subschemas to the same part of the answer.
    fn here(&mut self, keywords: &'a Map<String, Value>, answer: &Value, depth: usize) -> Result<u64, TooMuchWork> {
        let mut work = 0_u64;
        for (keyword, value) in keywords {
            let mut add = |count: &mut Self, part| {
                work = work.saturating_add(count.of(part, answer, depth)?);
                Ok(())
            };
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    list.iter().try_for_each(|part| add(self, part))?;
                }
                ("not" | "if" | "then" | "else", part) => add(self, part)?,
                ("dependentSchemas" | "dependencies", Value::Object(map)) => {
                    map.values().try_for_each(|part| add(self, part))?;
                }
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    self.step(self.resources.len())?;
                    self.targets(reference).into_iter().try_for_each(|part| add(self, part))?;
                }
                _ => {}
            }
        }
        Ok(work)
    }

    /// The work of keywords that apply subschemas to members and elements of that part.
    fn below(&mut self, keywords: &'a Map<String, Value>, answer: &Value, depth: usize) -> Result<u64, TooMuchWork> {
        let members = || answer.as_object().into_iter().flat_map(Map::values);
        let elements = || answer.as_array().into_iter().flatten();
        let mut work = 0_u64;
        for (keyword, value) in keywords {
            let mut add = |count: &mut Self, part, answer| {
                work = work.saturating_add(count.of(part, answer, depth)?);
                Ok(())
            };
            match (keyword.as_str(), value) {
                ("properties", Value::Object(map)) => {
                    let mut named = map.iter().filter_map(|(name, part)| Some((part, answer.get(name)?)));
                    named.try_for_each(|(part, member)| add(self, part, member))?;
                }
                ("patternProperties", Value::Object(map)) => {
                    let mut all = map.values().flat_map(|part| members().map(move |member| (part, member)));
                    all.try_for_each(|(part, member)| add(self, part, member))?;
                }
                ("additionalProperties" | "unevaluatedProperties", part) => {
                    members().try_for_each(|member| add(self, part, member))?;
                }
                ("propertyNames", part) => members().try_for_each(|_| add(self, part, &Value::Null))?,
                ("prefixItems" | "items", Value::Array(list)) => {
                    list.iter().zip(elements()).try_for_each(|(part, element)| add(self, part, element))?;
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", part) => {
                    elements().try_for_each(|element| add(self, part, element))?;
                }
                _ => {}
            }
        }
        Ok(work)
    }

    /// The subschemas that a reference may lead to. A reference that leads out of the file has none: the schema is invalid.
    fn targets(&self, reference: &str) -> Vec<&'a Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let named = |id: &str| id.ends_with(base) || (!id.is_empty() && base.ends_with(id));
        let resources = self.resources.iter().filter(|(id, _)| named(id)).map(|(_, part)| *part);
        if fragment.is_empty() {
            return resources.collect();
        }
        let fragment = percent_decode_str(fragment).decode_utf8_lossy();
        if fragment.starts_with('/') {
            return resources.filter_map(|part| part.pointer(&fragment)).collect();
        }
        self.anchors.iter().filter(|(name, _)| *name == fragment).map(|(_, part)| *part).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::checks::schema::Schema;

    /// `count` definitions, each made of the one before by `next`, and a schema that begins with the last.
    fn tower(count: usize, next: impl Fn(Value) -> Value) -> Value {
        let mut definitions = Map::new();
        definitions.insert("d0".to_owned(), json!({"type": "object"}));
        for number in 0..count {
            let before = json!({"$ref": format!("#/$defs/d{number}")});
            definitions.insert(format!("d{}", number + 1), next(before));
        }
        json!({"$ref": format!("#/$defs/d{count}"), "$defs": definitions})
    }

    #[test]
    fn schemas_that_would_never_end_are_refused_before_they_are_tried() {
        for keyword in ["allOf", "anyOf", "oneOf"] {
            let doubling = |count| tower(count, |before| json!({keyword: [before, before]}));
            assert_eq!(check(&doubling(64)), Err(TooMuchWork::Work), "{keyword}");
            assert_eq!(check(&doubling(8)), Ok(()), "{keyword}");
        }
        let unevaluated = |count| tower(count, |before| json!({"allOf": [before], "unevaluatedProperties": false}));
        assert_eq!(check(&unevaluated(30)), Err(TooMuchWork::Work));
        assert_eq!(check(&unevaluated(3)), Ok(()));
        assert_eq!(check(&tower(5000, |before| before)), Err(TooMuchWork::Depth));
        assert_eq!(check(&json!({"allOf": [{"$ref": "#"}]})), Err(TooMuchWork::Loop));
        assert_eq!(check(&json!({"$defs": {"a": {"$anchor": "x", "not": {"$ref": "#x"}}}})), Err(TooMuchWork::Loop));
        assert_eq!(check(&Value::Array(vec![json!({}); 30_000])), Err(TooMuchWork::Parts));
        let addresses = |number: usize| json!({"$id": format!("i{number}"), "properties": {"x": {"$ref": "#"}}});
        assert_eq!(check(&(0..6000).map(addresses).collect()), Err(TooMuchWork::Work));
        assert_eq!(check(&(0..60).map(addresses).collect()), Ok(()));
    }

    #[test]
    fn what_is_just_within_the_bounds_is_read_and_applied() {
        for schema in [
            tower(MOST_DEPTH - 10, |before| before),
            tower(MOST_DEPTH - 10, |before| json!({"properties": {"a": before}})),
            tower(6, |before| json!({"allOf": [before], "unevaluatedProperties": false})),
            tower(17, |before| json!({"allOf": [before, before]})),
        ] {
            let read = Schema::new(schema).expect("a schema");
            assert_eq!(read.problems(&json!({}), 5), Ok(Vec::new()));
            assert!(read.problems(&json!([]), 5).is_ok());
        }
    }

    /// A schema with exactly this much work, whatever the answer.
    fn of_work(work: u64) -> Value {
        let (mut definitions, mut rest) = (Map::new(), work);
        let name = |number: usize| format!("d{number}");
        for number in 0.. {
            let next = json!({"$ref": format!("#/$defs/{}", name(number + 1))});
            let (part, left) = match rest {
                1 => (json!({}), 0),
                2 => (json!({"not": {}}), 0),
                3 => (json!({"allOf": [{}, {}]}), 0),
                // This one, two that refer to the next, and the next twice.
                _ if rest % 2 == 1 => (json!({"allOf": [next, next]}), (rest - 3) / 2),
                4 => (json!({"allOf": [{}, {}, {}]}), 0),
                _ => (json!({"allOf": [next, next, {}]}), (rest - 4) / 2),
            };
            definitions.insert(name(number), part);
            if left == 0 {
                break;
            }
            rest = left;
        }
        let mut schema = definitions.remove("d0").unwrap_or_default();
        schema["$defs"] = definitions.into();
        schema
    }

    #[test]
    fn bounds_are_the_most_that_is_allowed() {
        assert_eq!((check(&of_work(MOST_WORK)), check(&of_work(MOST_WORK + 1))), (Ok(()), Err(TooMuchWork::Work)));
        let row = |length| tower(length - 1, |before| before);
        assert_eq!((check(&row(MOST_DEPTH)), check(&row(MOST_DEPTH + 1))), (Ok(()), Err(TooMuchWork::Depth)));
        let parts = |count| check(&Value::Array(vec![json!({}); count]));
        assert_eq!((parts(MOST_PARTS), parts(MOST_PARTS + 1)), (Ok(()), Err(TooMuchWork::Parts)));
        // A level of the answer is a step of the way, too.
        let nested = |levels| (0..levels).fold(json!(1), |answer, _| json!([answer]));
        let items = json!({"items": {"$ref": "#"}});
        let bounds = (check_with(&items, &nested(490)), check_with(&items, &nested(510)));
        assert_eq!(bounds, (Ok(()), Err(TooMuchWork::Depth)));
        // References are looked for in every part with an address.
        let addresses = |references: usize| {
            let parts = (0..6000).map(|number| json!({"$id": format!("i{number}")}));
            parts.chain((0..references).map(|_| json!({"$ref": "#/nothing"}))).collect::<Value>()
        };
        assert_eq!(check(&addresses(600)), Err(TooMuchWork::Work));
    }

    #[test]
    fn every_keyword_that_applies_a_subschema_is_counted() {
        let endless = tower(64, |before| json!({"allOf": [before, before]}));
        let definitions = endless["$defs"].clone();
        for (keyword, within, answer) in [
            ("allOf", "list", json!(1)),
            ("not", "part", json!(1)),
            ("if", "part", json!(1)),
            ("dependentSchemas", "named", json!({"a": 1})),
            ("dependencies", "named", json!({"a": 1})),
            ("properties", "named", json!({"a": 1})),
            ("patternProperties", "named", json!({"a": 1})),
            ("additionalProperties", "part", json!({"a": 1})),
            ("unevaluatedProperties", "part", json!({"a": 1})),
            ("propertyNames", "part", json!({"a": 1})),
            ("prefixItems", "list", json!([1])),
            ("items", "list", json!([1])),
            ("items", "part", json!([1])),
            ("additionalItems", "part", json!([1])),
            ("contains", "part", json!([1])),
        ] {
            let part = json!({"$ref": "#/$defs/d64"});
            let value = match within {
                "list" => json!([part]),
                "named" => json!({"a": part}),
                _ => part,
            };
            let schema = json!({keyword: value, "$defs": definitions});
            assert_eq!(check_with(&schema, &answer), Err(TooMuchWork::Work), "{keyword} with a {within}");
        }
        assert_eq!(check_with(&json!({"title": {"$ref": "#/$defs/d64"}, "$defs": definitions}), &json!(1)), Ok(()));
    }

    #[test]
    fn a_reference_leads_to_the_parts_with_its_address() {
        let looped = |id: Option<&str>, reference: &str| {
            let mut schema = json!({"not": {"$ref": reference}});
            if let Some(id) = id {
                schema["$id"] = json!(id);
            }
            check(&schema)
        };
        for (id, reference, result) in [
            (None, "#", Err(TooMuchWork::Loop)),
            (None, "other", Ok(())),
            (Some("https://example.com/tree"), "tree", Err(TooMuchWork::Loop)),
            (Some("tree"), "https://example.com/tree", Err(TooMuchWork::Loop)),
            (Some("tree"), "other", Ok(())),
        ] {
            assert_eq!(looped(id, reference), result, "{id:?} {reference}");
        }
    }

    #[test]
    fn an_answer_that_makes_a_schema_endless_is_not_tried_on_it() {
        // Fine by itself: each level of the answer doubles the work.
        let schema = json!({"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]});
        let read = Schema::parse(schema.to_string().as_bytes()).expect("a schema");
        let nested = |depth| (0..depth).fold(json!(1), |answer, _| json!([answer]));
        assert_eq!(read.problems(&nested(5), 5), Ok(Vec::new()));
        assert_eq!(read.problems(&nested(100), 5), Err(TooMuchWork::Work));
    }

    #[test]
    fn what_refers_to_itself_through_a_part_of_the_answer_is_a_schema() {
        let tree = json!({
            "$id": "https://example.com/tree",
            "type": "object",
            "properties": {"left": {"$ref": "#"}, "right": {"$ref": "tree#"}, "kids": {"items": {"$ref": "#node"}}},
            "$defs": {"n": {"$anchor": "node", "allOf": [{"$ref": "#/$defs/leaf"}], "enum": [{"$ref": "#/$defs/n"}]}, "leaf": {}}
        });
        assert_eq!(check(&tree), Ok(()));
        let deep = (0..100).fold(json!({}), |answer, _| json!({"left": answer, "right": {"left": {}}}));
        assert_eq!(check_with(&tree, &deep), Ok(()));
    }
}
