//! The answer of a tool of an MCP server, from its file and the input.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use crate::checks::pattern::PatternSearch;
use crate::mcp::NotAnswered;
use crate::trial::input_file::{Expected, MockServer, MockTool};

/// What an answer inserts: a part of the input, or a text whose path may have parts of the input.
static PLACES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\{\{\s*(?:input\.([^{}\s]+)|file:((?:[^{}]|\{[^{}]*\})*?))\s*\}\}").ok());

/// A part of the input in such a path.
static PARTS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{input\.([^{}]+)\}").ok());

/// The part of an input at a path with dots.
fn part<'v>(input: &'v Map<String, Value>, path: &str) -> Option<&'v Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let mut value = input.get(first)?;
    for name in rest.into_iter().flat_map(|rest| rest.split('.')) {
        value = match value {
            Value::Array(list) => list.get(name.parse::<usize>().ok()?)?,
            value => value.get(name)?,
        };
    }
    Some(value)
}

/// How the input is not as expected, if so.
pub(super) fn violation(tool: &MockTool, input: &Map<String, Value>) -> Option<String> {
    tool.expect.iter().find_map(|(path, expected)| {
        let value = part(input, path);
        let shown = value.map_or_else(|| "(missing)".to_owned(), Value::to_string);
        let (holds, what) = match expected {
            Expected::Type(kind) => (value.is_some_and(|value| type_of(value) == kind), format!("a {kind}")),
            Expected::Pattern(pattern) => {
                let text = value.map(text_of).unwrap_or_default();
                let search = PatternSearch::javascript(pattern, "").ok();
                let found = search.and_then(|search| search.matches(&text, 1).ok()).unwrap_or_default();
                (value.is_some() && !found.is_empty(), format!("matched by /{pattern}/"))
            }
            Expected::OneOf(values) => {
                let list: Vec<String> = values.iter().map(Value::to_string).collect();
                (value.is_some_and(|value| values.contains(value)), list.join(" or "))
            }
        };
        (!holds).then(|| format!("{path} = {shown} is not {what}"))
    })
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A text as it is, and other values as JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The answer of a tool. What is inserted is not looked into again.
pub(super) fn answer(tool: &MockTool, server: &MockServer, input: &Map<String, Value>) -> Result<String, NotAnswered> {
    let Some(places) = &*PLACES else { return Ok(tool.body.clone()) };
    let mut failed = None;
    let text = places.replace_all(&tool.body, |found: &Captures<'_>| match (found.get(1), found.get(2)) {
        (Some(path), _) => part(input, path.as_str()).map(text_of).unwrap_or_default(),
        (_, Some(path)) => inserted(path.as_str(), server, input).unwrap_or_else(|why| failed.insert(why).0.clone()),
        _ => String::new(),
    });
    match (failed, tool.is_error) {
        (Some(why), _) => Err(why),
        (None, true) => Err(NotAnswered(text.into_owned())),
        (None, false) => Ok(text.into_owned()),
    }
}

/// The text of a fixture.
fn inserted(path: &str, server: &MockServer, input: &Map<String, Value>) -> Result<String, NotAnswered> {
    let mut failed = None;
    let filled = match &*PARTS {
        None => path.into(),
        Some(parts) => parts.replace_all(path, |found: &Captures<'_>| {
            let value = part(input, &found[1]);
            let text = value.map(text_of).unwrap_or_default();
            let is_plain = !matches!(&*text, "" | "." | "..") && !text.contains(['/', '\\', '\0']);
            if !is_plain {
                let shown = value.map_or_else(|| "(missing)".to_owned(), Value::to_string);
                failed.get_or_insert(NotAnswered(format!("{} = {shown} is not a plain file-name segment", &found[0])));
            }
            text
        }),
    };
    if let Some(why) = failed {
        return Err(why);
    }
    let missing = || format!("{{{{file:{filled}}}}}: no such fixture").into();
    server.fixtures.get(&*filled).cloned().ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> MockServer {
        let fixtures = [("fixtures/a.json".to_owned(), "{\"a\": \"{{input.id}}\"}\n".to_owned())];
        MockServer { name: "shop".to_owned(), tools: Vec::new(), fixtures: fixtures.into() }
    }

    fn answered(body: &str, input: &Value) -> Result<String, NotAnswered> {
        let tool = MockTool { body: body.to_owned(), ..MockTool::default() };
        answer(&tool, &server(), input.as_object().expect("an object"))
    }

    /// Claude Code 2.1.332 answered so.
    #[test]
    fn parts_of_the_input_and_texts_are_inserted_as_the_real_program_does() {
        let input = json!({ "what": "x", "n": 3, "obj": { "a": 1 }, "list": [1, "é"], "id": "a" });
        let body = "Bought {{input.what}} {{input.n}} {{input.obj}} {{input.list}} {{input.missing}}|{{ input.what }}|{{input}}.";
        assert_eq!(answered(body, &input).expect("an answer"), "Bought x 3 {\"a\":1} [1,\"é\"] |x|{{input}}.");
        assert_eq!(answered("{{input.obj.a}} {{input.list.1}}", &input).expect("an answer"), "1 é");
        let body = "{{file:fixtures/{input.id}.json}} {{file:fixtures/a.json}}";
        let expected = "{\"a\": \"{{input.id}}\"}\n {\"a\": \"{{input.id}}\"}\n";
        assert_eq!(answered(body, &input).expect("an answer"), expected);
        for (id, why) in [
            (json!("../x"), "{input.id} = \"../x\" is not a plain file-name segment"),
            (json!(".."), "{input.id} = \"..\" is not a plain file-name segment"),
            (json!("none"), "{{file:fixtures/none.json}}: no such fixture"),
        ] {
            assert_eq!(answered(body, &json!({ "id": id })), Err(why.into()));
        }
        let inserted = answered("{{input.what}}", &json!({ "what": "{{file:fixtures/a.json}}" }));
        assert_eq!(inserted.expect("an answer"), "{{file:fixtures/a.json}}", "what is inserted is not looked into");
        let tool = MockTool { body: "It failed".to_owned(), is_error: true, ..MockTool::default() };
        assert_eq!(answer(&tool, &server(), &Map::new()), Err("It failed".into()));
    }

    #[test]
    fn an_input_is_as_expected_or_the_first_part_that_is_not_is_named() {
        let expect = |path: &str, expected| (path.to_owned(), expected);
        let tool = MockTool {
            expect: vec![
                expect("what", Expected::Type("string".to_owned())),
                expect("team.name", Expected::Pattern("^gr".to_owned())),
                expect("kind", Expected::OneOf(vec![json!("a"), json!(2)])),
            ],
            ..MockTool::default()
        };
        let violation = |input: Value| violation(&tool, input.as_object().expect("an object"));
        assert_eq!(violation(json!({ "what": "x", "team": { "name": "green" }, "kind": 2 })), None);
        assert_eq!(violation(json!({})).expect("one"), "what = (missing) is not a string");
        assert_eq!(violation(json!({ "what": 3 })).expect("one"), "what = 3 is not a string");
        let of_team = violation(json!({ "what": "x", "team": { "name": "red" } }));
        assert_eq!(of_team.expect("one"), "team.name = \"red\" is not matched by /^gr/");
        let of_kind = violation(json!({ "what": "x", "team": { "name": "gr" }, "kind": "c" }));
        assert_eq!(of_kind.expect("one"), "kind = \"c\" is not \"a\" or 2");
    }
}
