//! JSON and YAML files as one tree of values with their places.

use std::path::Path;

use proptest::prelude::*;
use skill_evals_cases::cases::case::ForeignFile;
use skill_evals_cases::cases::case::document::{Document, Node, NodeValue, Syntax};
use skill_evals_evidence::text::diagnostic::SourceLocation;

use crate::parsers::{Nothing, bytes};

fn yaml(text: &str) -> Result<Node, String> {
    read(text, Syntax::Yaml)
}

fn read(text: &str, syntax: Syntax) -> Result<Node, String> {
    let mut file = Document::new(Path::new("a.yaml"), text.as_bytes(), syntax);
    file.root().ok_or_else(|| file.problems.as_slice().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// What the bytes of each scalar in `node` say.
fn sources<'a>(text: &'a str, node: &Node, found: &mut Vec<&'a str>) {
    match &node.value {
        NodeValue::List(elements) => elements.iter().for_each(|element| sources(text, element, found)),
        NodeValue::Map(entries) => {
            for entry in entries {
                found.push(&text[entry.key_range.clone()]);
                sources(text, &entry.value, found);
            }
        }
        _ => found.push(&text[node.range.clone()]),
    }
}

#[test]
fn each_value_has_its_place_in_json_and_in_yaml() {
    let json = "\u{feff}{ \"é\": [1, true], \"b\": { \"c\": \"x y\" } }";
    let yaml = "é:\n  - 1\n  - true\nb:\n  c: x y\n";
    let expected = [["\"é\"", "é"], ["1", "1"], ["true", "true"], ["\"b\"", "b"], ["\"c\"", "c"], ["\"x y\"", "x y"]];
    for (at, (text, syntax)) in [(json, Syntax::Json), (yaml, Syntax::Yaml)].into_iter().enumerate() {
        let mut found = Vec::new();
        sources(text, &read(text, syntax).expect("a value"), &mut found);
        assert_eq!(found, expected.map(|both| both[at]));
    }
}

#[test]
fn words_without_quotes_have_the_types_of_yaml_1_2() {
    for (written, value) in [
        ("off", NodeValue::Text("off".into())),
        ("yes", NodeValue::Text("yes".into())),
        ("2026-01-02", NodeValue::Text("2026-01-02".into())),
        ("1_000", NodeValue::Text("1_000".into())),
        ("nan", NodeValue::Text("nan".into())),
        ("1.2.3", NodeValue::Text("1.2.3".into())),
        ("\"true\"", NodeValue::Text("true".into())),
        ("!!str 5", NodeValue::Text("5".into())),
        ("! 5", NodeValue::Text("5".into())),
        ("True", NodeValue::Flag(true)),
        ("~", NodeValue::Null),
        ("", NodeValue::Null),
        ("0x1F", NodeValue::Number("0x1F".into())),
        ("-1.5e3", NodeValue::Number("-1.5e3".into())),
        (".inf", NodeValue::Number(".inf".into())),
        ("|\n  two\n  lines\n", NodeValue::Text("two\nlines\n".into())),
        (">-\n  one\n  line\n", NodeValue::Text("one line".into())),
    ] {
        let root = yaml(&format!("id: {written}")).expect(written);
        assert_eq!(root.entry("id").expect("the key").value.value, value, "{written}");
    }
}

#[test]
fn numbers_are_those_of_the_core_schema_of_yaml_1_2() {
    for (written, count, amount, json) in [
        ("7", Some(7), Some(7.0), "7"),
        ("+1", Some(1), Some(1.0), "1"),
        ("007", Some(7), Some(7.0), "7"),
        ("0o17", Some(15), Some(15.0), "15"),
        ("0x1F", Some(31), Some(31.0), "31"),
        ("1e3", Some(1000), Some(1000.0), "1000.0"),
        ("3.0", Some(3), Some(3.0), "3.0"),
        ("1.", Some(1), Some(1.0), "1.0"),
        (".5", None, Some(0.5), "0.5"),
        ("+.5e1", Some(5), Some(5.0), "5.0"),
        ("-0", Some(0), Some(-0.0), "-0.0"),
        ("-3", None, Some(-3.0), "-3"),
        ("18446744073709551615", Some(u64::MAX), Some(18_446_744_073_709_551_615.0), "18446744073709551615"),
        ("1e300", None, Some(1e300), "1e+300"),
        (".inf", None, None, "\".inf\""),
        ("-.Inf", None, None, "\"-.Inf\""),
        (".nan", None, None, "\".nan\""),
        // Texts, as there: readers of YAML 1.1 differ.
        ("1_000", None, None, "\"1_000\""),
        ("0b11", None, None, "\"0b11\""),
        ("-0x1F", None, None, "\"-0x1F\""),
    ] {
        let root = yaml(&format!("n: {written}")).expect(written);
        let node = root.get("n").expect("the key");
        assert_eq!(
            (node.count(), node.amount(), node.json().to_string()),
            (count, amount, json.to_owned()),
            "{written}"
        );
    }
}

#[test]
fn aliases_and_merge_keys_stand_for_their_values() {
    let text = "base: &base { model: small, runs: 2 }\nmore: &more { runs: 5, mode: fast }\n\
                one: *base\ntwo:\n  runs: 3\n  <<: [*base, *more]\n";
    let root = yaml(text).expect("a value");
    let texts = |key: &str| {
        let map = root.get(key).expect(key);
        map.entries().iter().map(|entry| format!("{}={:?}", entry.key, entry.value.value)).collect::<Vec<_>>()
    };
    assert_eq!(texts("one"), [r#"model=Text("small")"#, r#"runs=Number("2")"#]);
    assert_eq!(texts("two"), [r#"runs=Number("3")"#, r#"model=Text("small")"#, r#"mode=Text("fast")"#]);
}

#[test]
fn yaml_that_people_often_get_wrong_says_what_to_do() {
    let quotes = "put quotes around a text that begins with a symbol such as `@` or holds `: `, close quotes and brackets, \
                  and indent the keys of an object alike";
    for (text, help) in [
        ("a: Use when: asked", quotes),
        ("a: `b` c", quotes),
        ("a: @b", quotes),
        ("a: *b* c", quotes),
        ("a: [b] c", quotes),
        ("a: 'it's'", quotes),
        ("a: \"b", quotes),
        ("a: [", quotes),
        ("a: {{b}}", quotes),
        (r#"a: "\d+""#, "write `\\\\` for a backslash, or use single quotes, in which it stands for itself"),
        ("a: !important b", "put quotes around a text that begins with `!`"),
        ("a:\n\tb: c", "indent with spaces; YAML allows no tabs"),
        ("a: &b\n  c: *b", "write the value out"),
    ] {
        let mut file = Document::new(Path::new("a.yaml"), text.as_bytes(), Syntax::Yaml);
        assert_eq!(file.root(), None, "{text}");
        assert_eq!(file.problems.as_slice()[0].help.as_deref(), Some(help), "{text}");
    }
}

#[test]
fn what_is_no_single_yaml_value_says_where() {
    let many = |count: usize| {
        let lists = (1..count).map(|at| format!("l{at}: &l{at} [{}]\n", vec![format!("*l{}", at - 1); 10].join(", ")));
        std::iter::once("l0: &l0 lol\n".to_owned()).chain(lists).collect::<String>()
    };
    let open = (0..50).map(|at| format!("&b{at} [")).collect::<Vec<_>>().concat();
    let nested = format!("a: {open}{}{}", "x".repeat(100_000), "]".repeat(50));
    let deep = "[".repeat(100_000);
    for (text, problem) in [
        ("a: 1\n---\nb: 2\n", "a.yaml:3:1: [yaml-syntax] a second YAML document begins here"),
        ("a: [1", "[yaml-syntax] this is not YAML"),
        ("a: *b", "a.yaml:1:4: [yaml-syntax] this is not YAML"),
        ("a: &a [*a]", "a.yaml:1:8: [yaml-syntax] this alias is inside the value that it stands for"),
        ("a: !secret b", "[yaml-syntax] unknown YAML tag `!secret`"),
        ("? [a]\n: b\n", "[yaml-syntax] a key is an array; expected a string"),
        ("a:\n  <<: 5\n", "a.yaml:2:3: [yaml-syntax] `<<` is a number; expected an object or an array of objects"),
        ("# nothing\n", "[yaml-syntax] the file is empty; expected a YAML object"),
        ("a: b: c", "[yaml-syntax] this is not YAML"),
        (&deep, "[yaml-syntax] this is not YAML"),
        (&many(12), "[yaml-syntax] the anchors and aliases of this file stand for too much text"),
        (&nested, "[yaml-syntax] the anchors and aliases of this file stand for too much text"),
    ] {
        let found = yaml(text).expect_err(&text[..text.len().min(40)]);
        assert!(found.contains(problem), "{found}\n{problem}");
    }
    yaml(&many(4)).expect("a few aliases");
}

/// Pieces of case files, so that arbitrary bytes get deep into their readers.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\n",
    "\n  ",
    "- ",
    "&a ",
    "*a",
    "<<: ",
    "? ",
    "\"",
    "|\n",
    "\u{feff}",
    "\0",
    "é",
    "null",
    "true",
    "5",
    "\"evals\"",
    "\"prompt\"",
    "\"query\"",
    "\"should_trigger\"",
    "\"expectations\"",
    "\"files\"",
    "\"a\"",
    "\"../b\"",
    "{\"prompt\":\"a\"}",
    "{\"query\":\"a\",\"should_trigger\":true}",
    "{\"evals\":[",
    "]}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_document_or_say_why_not(bytes in bytes(PIECES)) {
        for syntax in [Syntax::Json, Syntax::Yaml] {
            let mut file = Document::new(Path::new("a"), &bytes, syntax);
            let root = file.root();
            prop_assert!(root.is_some() == file.problems.is_empty());
        }
    }

    #[test]
    fn places_are_those_of_the_whole_text_in_whatever_order_they_are_asked_for(
        bytes in bytes(PIECES),
        ranges in prop::collection::vec((0usize..200, 0usize..200), 1..8),
    ) {
        let text = String::from_utf8_lossy(&bytes).repeat(3);
        let file = Document::new(Path::new("a"), text.as_bytes(), Syntax::Json);
        for (start, length) in ranges {
            let range = start..start + length;
            prop_assert_eq!(file.place(range.clone()), SourceLocation::in_text("a", text.as_bytes(), range));
        }
    }

    #[test]
    fn any_bytes_in_a_foreign_file_are_cases_or_say_why_not(bytes in bytes(PIECES)) {
        let read = |path| {
            let path = Path::new(path);
            let (skill, skills) = (Some("a"), &["a"][..]);
            let file = ForeignFile { skill, skills, ..ForeignFile::at(path, &Nothing) };
            file.read(&bytes).map(|(_, cases)| cases)
        };
        if let Some(cases) = read("evals/evals.json") {
            prop_assert!(!cases.cases.is_empty() || !cases.problems.is_empty(), "a file of cases has cases or says why not");
            // As many as the list has, whatever is in them.
            let counted = serde_json::from_slice::<serde_json::Value>(&bytes).ok().and_then(|value| match value {
                serde_json::Value::Array(list) => Some(list.len()),
                serde_json::Value::Object(map) => Some(map.get("evals")?.as_array()?.len()),
                _ => None,
            });
            prop_assert!(counted.is_none_or(|counted| cases.cases.len() >= counted), "{} of {counted:?}", cases.cases.len());
        }
        for path in ["evals/a.json", "evals/eval.yaml", "evals/promptfooconfig.yaml", "evals/tasks.yaml", "evals/prompts.csv"] {
            let _ = read(path);
        }
    }
}
