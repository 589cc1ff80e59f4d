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

/// The JSON text `text`, in which strings spell out what acts on a terminal (`\u202e`), and the beginnings of commands to a CI service
/// (`##[group]`). It is equal JSON.
pub fn json(text: &str) -> Cow<'_, str> {
    // JSON itself escapes only some of it. Outside of strings, it has line breaks and spaces alone.
    let live = |c: char| !matches!(c, '\n' | '\t' | '\r') && is_live(c);
    if !text.contains(live) && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut units = [0; 2];
    for (at, c) in text.char_indices() {
        if live(c) || text[at..].starts_with("##[") {
            for unit in c.encode_utf16(&mut units) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
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

/// A text of ours for a terminal or the log of a CI job, whatever came into it from outside: colors, line breaks and tabs stay.
/// Other control characters and marks that reorder text are spelled out, and so are the beginnings of commands to the CI service
/// (`::add-mask::`, `##[group]`).
pub fn printed(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !(is_live(c) || matches!(c, '\u{2028}' | '\u{2029}'));
    if text.chars().all(is_plain) && !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut rest = text;
    let mut begins_line = true;
    while let Some(c) = rest.chars().next() {
        if let Some(color) = color(rest) {
            safe.push_str(color);
            rest = &rest[color.len()..];
            continue;
        }
        let is_command = (begins_line && rest.starts_with("::")) || is_bracketed_command(rest);
        if is_plain(c) && !is_command {
            safe.push(c);
        } else {
            let _ = write!(safe, "{}", c.escape_unicode());
        }
        begins_line = c == '\n' || (begins_line && c.is_whitespace());
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(safe)
}

/// The codes of colors and weights that `text` begins with. Those that hide what follows are not among them.
fn color(text: &str) -> Option<&str> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let codes = &codes[..codes.find(|c: char| !c.is_ascii_digit() && c != ';')?];
    let is_visible = |code: &str| {
        matches!(code, "" | "0" | "1" | "2" | "4" | "7" | "22" | "24" | "27" | "39")
            || code.parse().is_ok_and(|code: u32| matches!(code, 31..=36 | 91..=96))
    };
    let end = "\u{1b}[".len() + codes.len();
    (codes.split(';').all(is_visible) && text[end..].starts_with('m')).then(|| &text[..=end])
}

/// Whether `text` begins like `##[error]`, or with a name before the bracket, as other services have it.
fn is_bracketed_command(text: &str) -> bool {
    text.strip_prefix("##")
        .is_some_and(|name| name.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('['))
}

/// `text` as one word of a POSIX shell command, on one line.
pub fn word(text: &str) -> String {
    quoted(&line(text))
}

/// `text` as one word of a POSIX shell command, as it is.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:+@%=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The text that [`quoted`] made this word of, or the words of which this is a part.
pub fn unquoted(word: &str) -> String {
    let (mut text, mut is_quoted) = (String::new(), false);
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => text.extend(chars.next()),
            c => text.push(c),
        }
    }
    text
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

#[cfg(test)]
mod tests {
    use super::{json, printed};

    #[test]
    fn json_is_equal_and_spells_out_what_acts() {
        for text in ["plain", "a\u{202e}b\u{9b}2J\u{85}\u{7f}", "##[group]x ###[y", "\u{1b}\n\u{2066}\"\\ä𝕏"] {
            let written = serde_json::to_string_pretty(&[text]).expect("JSON");
            let safe = json(&written);
            assert!(!safe.contains(|c: char| c != '\n' && super::is_live(c)) && !safe.contains("##["), "{safe}");
            assert_eq!(serde_json::from_str::<[String; 1]>(&safe).expect("JSON"), [text]);
        }
    }

    #[test]
    fn what_is_printed_keeps_colors_and_spells_out_what_acts() {
        for (text, shown) in [
            ("\u{1b}[31mfail\u{1b}[0m  \t::\n", "\u{1b}[31mfail\u{1b}[0m  \t::\n"),
            ("\u{1b}[1;91mfail\u{1b}[m", "\u{1b}[1;91mfail\u{1b}[m"),
            ("\u{1b}[8mhidden\u{1b}[2J\u{1b}]52;c;aGk=\u{7}", "\\u{1b}[8mhidden\\u{1b}[2J\\u{1b}]52;c;aGk=\\u{7}"),
            ("a\rb\u{202e}c\u{9b}2J\u{2028}::x", "a\\u{d}b\\u{202e}c\\u{9b}2J\\u{2028}::x"),
            (
                "::add-mask::x\n \u{1b}[1m::stop-commands::y\na::b",
                "\\u{3a}:add-mask::x\n \u{1b}[1m\\u{3a}:stop-commands::y\na::b",
            ),
            ("a ##[group]b ##vso[c ## [d](e)", "a \\u{23}#[group]b \\u{23}#vso[c ## [d](e)"),
        ] {
            assert_eq!(printed(text), shown);
        }
    }
}
