//! Texts with variables: `Greet {{name}}`. Filters, conditions and other parts of templates are unsupported.

use crate::cases::case::document::{Node, NodeValue};
use crate::text::diagnostic::shorten;

/// How a text begins that names a file or a module in place of a value.
const REFERENCES: [&str; 2] = ["file://", "package:"];

/// The text with the values of its variables; else what of it is unsupported.
pub(super) fn render(template: &str, vars: &[(&str, Result<String, String>)]) -> Result<String, String> {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        if after.starts_with(['%', '#']) {
            return Err(format!("the template `{}`", shorten(&format!("{{{after}"))));
        }
        rest = after;
        let Some(expression) = after.strip_prefix('{') else {
            text.push('{');
            continue;
        };
        let (name, after) = expression.split_once("}}").unwrap_or((expression, ""));
        let name = name.trim();
        if !is_name(name) {
            return Err(format!("the template `{}`", shorten(&format!("{{{{{name}}}}}"))));
        }
        let value = vars.iter().find(|(known, _)| *known == name);
        let (_, value) = value.ok_or_else(|| format!("the variable `{name}`, which has no value"))?;
        text.push_str(value.as_ref().map_err(Clone::clone)?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

pub(super) fn names(template: &str) -> impl Iterator<Item = &str> {
    template.split("{{").skip(1).filter_map(|part| Some(part.split_once("}}")?.0.trim()))
}

/// Whether a text stands for the content of a file or the result of a module.
pub(super) fn is_reference(text: &str) -> bool {
    REFERENCES.iter().any(|start| text.starts_with(start))
}

/// A number as JavaScript writes it.
pub(super) fn number(written: &str) -> Option<String> {
    let value: f64 = written.parse().ok()?;
    // JavaScript writes other numbers with an exponent.
    let is_plain = value == 0.0 || (1e-6..1e21).contains(&value.abs());
    (is_plain && written.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c))).then(|| value.to_string())
}

/// The text of a variable; else what of it is unsupported.
pub(super) fn value(name: &str, value: &Node) -> Result<String, String> {
    match &value.value {
        NodeValue::Null => Ok(String::new()),
        NodeValue::Flag(flag) => Ok(flag.to_string()),
        NodeValue::Number(written) => number(written).ok_or_else(|| format!("the number `{}`", shorten(written))),
        NodeValue::Text(text) if is_reference(text) => Err(format!("the file of the variable `{name}`")),
        // Such a value is a template too.
        NodeValue::Text(text) if ["{{", "{%", "{#"].iter().any(|sign| text.contains(sign)) => {
            Err(format!("the template in the variable `{name}`"))
        }
        NodeValue::Text(text) => Ok(text.strip_suffix('\n').unwrap_or(text).to_owned()),
        NodeValue::List(_) | NodeValue::Map(_) => Err(format!("the variable `{name}`, which is {}", value.kind())),
    }
}

fn is_name(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_') && text.starts_with(|c: char| !c.is_ascii_digit())
}
