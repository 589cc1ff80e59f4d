//! Makes text from outside (agents, providers, file names, skills) safe to show: it cannot move or hide anything on a
//! terminal, and adds no structure to Markdown.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal may act on this character, or draw what follows in another order.
pub fn is_live(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(text: &str, live: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&live) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if live(c) {
            let _ = write!(safe, "{}", c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// `text` on one line: line breaks and tabs become spaces; other control characters and marks that reorder text are
/// spelled out (`\u{1b}`).
pub fn line(text: &str) -> String {
    let breaks = |c: char| matches!(c, '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}');
    escaped(&text.replace("\r\n", " ").replace(breaks, " "), is_live).into_owned()
}

/// The same as [`line()`], except that line breaks and tabs stay.
pub fn block(text: &str) -> String {
    let live = |c: char| !matches!(c, '\n' | '\t') && (is_live(c) || matches!(c, '\u{2028}' | '\u{2029}'));
    escaped(&text.replace("\r\n", "\n"), live).into_owned()
}

/// `text` as one word of a POSIX shell command, on one line.
pub fn word(text: &str) -> String {
    let text = line(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+@%=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// `text` as plain text on one line of Markdown, without headings, links, HTML or table cells.
pub fn markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in line(text).chars() {
        if matches!(c, '\\' | '*' | '_' | '<' | '>' | '[' | ']' | '|' | '#' | '~' | '&') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// `text` as a code span of Markdown on one line.
pub fn code(text: &str) -> String {
    let text = line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    // A span that is empty, or begins or ends with a backtick, needs a space.
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}
//
