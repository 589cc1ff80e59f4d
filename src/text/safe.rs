//! Text from outside (agents, providers, file names, skills), made safe to show: on a terminal it moves nothing and
//! hides nothing, and in Markdown it is text and no structure.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal may do something for this character, or draw what follows in another order.
#[must_use]
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
            // Writing to a string cannot fail.
            let _ = write!(safe, "{}", c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// `text` on one line: breaks and tabs become spaces; escape sequences, other control characters and marks that
/// reorder text are spelled out (`\u{1b}`).
#[must_use]
pub fn line(text: &str) -> String {
    let breaks = |c: char| matches!(c, '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}');
    escaped(&text.replace("\r\n", " ").replace(breaks, " "), is_live).into_owned()
}

/// `text` with its line breaks and tabs, everything else as in [`line`].
#[must_use]
pub fn block(text: &str) -> String {
    let live = |c: char| !matches!(c, '\n' | '\t') && (is_live(c) || matches!(c, '\u{2028}' | '\u{2029}'));
    escaped(&text.replace("\r\n", "\n"), live).into_owned()
}

/// `text` as one word of a POSIX shell's command, on one line.
#[must_use]
pub fn word(text: &str) -> String {
    let text = line(text);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+@%=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// `text` as plain text on one line of Markdown: no heading, link, HTML or cell of a table comes from it.
#[must_use]
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
#[must_use]
pub fn code(text: &str) -> String {
    let text = line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    // A span that begins or ends with a tick, or is empty, needs a space.
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}
//
