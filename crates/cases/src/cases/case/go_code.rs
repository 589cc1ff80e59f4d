//! Code in the files of waza: regular expressions of Go, and assertions in Python.

use super::document::{Node, NodeValue};
use super::foreign_reader::{ForeignReader, said};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{Check, TextPlace};

/// The regular expression of Go at a key, in which `\d`, `\w`, `\s` and `\b` are about ASCII, in the syntax of the others. One that Go
/// refuses fails every run of waza.
pub(super) fn read_pattern(reader: &mut ForeignReader<'_>, key: &str, written: &Node) -> Option<Pattern> {
    let Some(text) = written.text() else { return reader.pattern(key, written) };
    let Some(translated) = translated(text) else {
        reader.pattern(key, written)?;
        reader.not_done(written, "a pattern that Go refuses or reads in another way");
        return None;
    };
    reader.pattern(key, &Node { value: NodeValue::Text(translated), range: written.range.clone() })
}

fn translated(pattern: &str) -> Option<String> {
    let (mut out, mut rest, mut in_class, mut signs) = (String::new(), pattern, false, 0);
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let before = std::mem::take(&mut signs);
        match c {
            '\\' => {
                let c = rest.chars().next()?;
                rest = &rest[c.len_utf8()..];
                match class(c) {
                    // Case does not matter to it: U+017F is not a word's character.
                    Some(class) if !in_class => out.extend(["(?-i:", class, ")"]),
                    Some(class) => out.push_str(class),
                    None if c == 'b' && !in_class && !rest.starts_with('{') => out.push_str(r"(?-u:\b)"),
                    None => {
                        let is_place = matches!(c, 'A' | 'z') && !in_class;
                        let is_sign = c.is_ascii_punctuation() && !matches!(c, '<' | '>');
                        (is_place || is_sign || "afnpPrtvx".contains(c)).then(|| out.extend(['\\', c]))?;
                    }
                }
            }
            // In a class, these are operators in the other syntax.
            '[' if in_class && rest.starts_with(':') => {
                let (name, after) = rest.split_once(']')?;
                out.extend(["[", name, "]"]);
                rest = after;
            }
            '[' | '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && rest.starts_with('-') => return None,
            '[' => {
                in_class = true;
                out.push('[');
                for first in ['^', ']'] {
                    if let Some(after) = rest.strip_prefix(first) {
                        out.extend((first == ']').then_some('\\').into_iter().chain([first]));
                        rest = after;
                    }
                }
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '(' if !in_class && rest.starts_with('?') => {
                let is_name = ["?P<", "?<"].iter().any(|start| rest.starts_with(start)) && !rest.starts_with("?<=");
                let flags = &rest[1..rest.find([':', ')'])?.max(1)];
                let is_flags = flags.chars().all(|flag| "imsU-".contains(flag));
                (is_flags || is_name && !rest.starts_with("?<!")).then(|| out.push_str("(?"))?;
                rest = &rest[1..];
            }
            // A repetition of a repetition, which Go refuses.
            '*' | '+' | '?' if !in_class => {
                signs = before + 1;
                (signs == 1 || signs == 2 && c == '?').then(|| out.push(c))?;
            }
            _ => out.push(c),
        }
    }
    Some(out)
}

/// The class that this letter stands for after a backslash.
fn class(letter: char) -> Option<&'static str> {
    Some(match letter {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => r"[\t\n\x0C\r ]",
        'S' => r"[^\t\n\x0C\r ]",
        'w' => "[0-9A-Za-z_]",
        'W' => "[^0-9A-Za-z_]",
        _ => return None,
    })
}

/// The checks that are equal to an assertion in Python about the output, if there are any: how long it is, and what it contains.
pub(super) fn python_checks(assertion: &str) -> Option<Vec<Check>> {
    let message = |pattern, negated| said(TextPlace::Messages, pattern, negated);
    let assertion = assertion.trim();
    if let Some(least) = assertion.strip_prefix("len(output) > ") {
        let least: u32 = least.parse().ok()?;
        // A longer pattern takes too much memory.
        let text = format!("(?s)^.{{{}}}", least.checked_add(1).filter(|least| *least <= 1000)?);
        return Some(vec![message(Pattern { text, style: Style::Exact }, false)]);
    }
    if assertion.contains(" or ") {
        let texts = assertion.split(" or ").map(contained).collect::<Option<Vec<_>>>()?;
        let is_any_negated = texts.iter().any(|(.., negated)| *negated);
        let pattern = || Pattern::one_of(texts.iter().map(|(text, ignores_case, _)| (*text, *ignores_case)));
        return (!is_any_negated).then(|| vec![message(pattern(), false)]);
    }
    let texts = assertion.split(" and ").map(contained).collect::<Option<Vec<_>>>()?;
    let checks = texts.into_iter().map(|(text, ignores_case, negated)| {
        let style = if ignores_case { Style::Literal } else { Style::Verbatim };
        message(Pattern { text: text.to_owned(), style }, negated)
    });
    Some(checks.collect())
}

/// The text of `'text' in output`, whether the output is in lower case, and whether there is a `not`.
fn contained(part: &str) -> Option<(&str, bool, bool)> {
    let (quoted, rest) = part.trim().strip_prefix('\'')?.split_once('\'')?;
    let (negated, place) = match rest.strip_prefix(" not in ") {
        Some(place) => (true, place),
        None => (false, rest.strip_prefix(" in ")?),
    };
    let ignores_case = place == "output.lower()";
    // Python finds no capital in lowercase, and a backslash means something else to it.
    let is_special = quoted.is_empty() || quoted.contains('\\') || ignores_case && quoted.to_lowercase() != quoted;
    ((ignores_case || place == "output") && !is_special).then_some((quoted, ignores_case, negated))
}
