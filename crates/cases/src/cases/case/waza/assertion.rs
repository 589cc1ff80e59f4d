//! Assertions in Python about the output, as far as they ask what a check asks: how long it is, and what it contains.

use crate::checks::Check;
use crate::checks::pattern::{Pattern, Style};

use super::messages::message;

/// The output as an assertion names it, and in lowercase.
const OUTPUT: [&str; 2] = ["output", "output.lower()"];

/// A text that the output contains, or does not.
struct Contained<'a> {
    text: &'a str,
    ignores_case: bool,
    negated: bool,
}

/// The checks that are equal to an assertion, if there are any.
pub(super) fn checks(assertion: &str) -> Option<Vec<Check>> {
    let assertion = assertion.trim();
    if let Some(least) = assertion.strip_prefix("len(output) > ") {
        let least: u32 = least.parse().ok()?;
        // A longer pattern takes too much memory.
        let text = format!("(?s)^.{{{}}}", least.checked_add(1).filter(|least| *least <= 1000)?);
        return Some(vec![message(Pattern { text, style: Style::Exact }, false)]);
    }
    if assertion.contains(" or ") {
        let texts = assertion.split(" or ").map(contained).collect::<Option<Vec<_>>>()?;
        if texts.iter().any(|part| part.negated) {
            return None;
        }
        return Some(vec![message(Pattern::one_of(texts.iter().map(|part| (part.text, part.ignores_case))), false)]);
    }
    let texts = assertion.split(" and ").map(contained).collect::<Option<Vec<_>>>()?;
    let checks = texts.into_iter().map(|Contained { text, ignores_case, negated }| {
        let style = if ignores_case { Style::Literal } else { Style::Verbatim };
        message(Pattern { text: text.to_owned(), style }, negated)
    });
    Some(checks.collect())
}

/// `'text' in output`, with `not`, or of the output in lowercase.
fn contained(part: &str) -> Option<Contained<'_>> {
    let (quoted, rest) = part.trim().strip_prefix('\'')?.split_once('\'')?;
    let (negated, place) = match rest.strip_prefix(" not in ") {
        Some(place) => (true, place),
        None => (false, rest.strip_prefix(" in ")?),
    };
    let ignores_case = place == OUTPUT[1];
    // Python finds no capital in lowercase, and a backslash means something else to it.
    let is_special = quoted.is_empty() || quoted.contains('\\') || ignores_case && quoted.to_lowercase() != quoted;
    (OUTPUT.contains(&place) && !is_special).then_some(Contained { text: quoted, ignores_case, negated })
}
