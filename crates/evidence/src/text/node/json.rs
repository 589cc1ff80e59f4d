//! JSON text as nodes.

use std::ops::Range;

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Node, NodeEntry, NodeValue, Parsed, SyntaxProblem};

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
pub fn parse(text: &str) -> Parsed {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT)
        .map_err(|error| SyntaxProblem::new(range(&error.range()), format!("this is not JSON: {}", error.kind())))?;
    Ok(parsed.value.map(node))
}

/// The list of the values on the lines of a text; none if the text is empty.
pub fn parse_lines(text: &str) -> Parsed {
    let (mut values, mut at) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let parsed = parse(line)
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
    let range = range(&value);
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
                    key_range: self::range(&property.name),
                    key: property.name.into_string(),
                    value: node(property.value),
                })
                .collect(),
        ),
    };
    Node { value, range }
}

fn range(node: &dyn Ranged) -> Range<usize> {
    node.start()..node.end()
}
