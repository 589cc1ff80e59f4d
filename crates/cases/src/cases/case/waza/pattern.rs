//! Regular expressions of Go, in which `\d`, `\w`, `\s` and `\b` are about ASCII, in the syntax of the others.

use super::Document;
use crate::cases::case::Case;
use crate::cases::case::document::{Node, NodeValue};
use crate::checks::pattern::Pattern;

/// The pattern at a key. One that Go refuses fails every run of waza.
pub(super) fn read(document: &mut Document<'_>, key: &str, written: &Node, case: &mut Case) -> Option<Pattern> {
    let Some(text) = written.text() else { return document.pattern(key, written) };
    let Some(translated) = translated(text) else {
        document.pattern(key, written)?;
        case.unsupported.push(document.unsupported("a pattern that Go refuses or reads in another way", written));
        return None;
    };
    document.pattern(key, &Node { value: NodeValue::Text(translated), range: written.range.clone() })
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
