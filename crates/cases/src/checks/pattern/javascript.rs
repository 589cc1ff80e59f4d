//! Regular expressions of JavaScript without flags, in the syntax of the others. A part that both accept may mean something else:
//! in JavaScript, `\d` is an ASCII digit, `\A` is the letter A, and `.` matches no carriage return.

use std::iter::Peekable;
use std::str::Chars;

/// What `\w` matches, as a part of a class.
const WORD: &str = "0-9A-Za-z_";

/// What `\s` matches, as a part of a class.
const SPACE: &str = r"\t\n\x0B\x0C\r \u{A0}\u{1680}\u{2000}-\u{200A}\u{2028}\u{2029}\u{202F}\u{205F}\u{3000}\u{FEFF}";

/// What a group may begin with after `(?`.
const GROUPS: [&str; 4] = [":", "=", "!", "<"];

/// The pattern in the syntax of the others; `None` if JavaScript does not know a group or a repetition in it. `looks_around` says that the pattern may
/// have look-ahead and look-behind anyway.
pub(super) fn translated(pattern: &str, looks_around: bool) -> Option<String> {
    let (rest, out) = (pattern.chars().peekable(), String::new());
    let mut translation = Translation { rest, out, is_in_class: false, looks_around, repetition: Sign::None };
    while let Some(c) = translation.rest.next() {
        translation.push(c)?;
    }
    Some(translation.out)
}

struct Translation<'a> {
    rest: Peekable<Chars<'a>>,
    out: String,
    is_in_class: bool,
    looks_around: bool,
    /// How the translation ends.
    repetition: Sign,
}

/// A sign of a repetition.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    Repeats,
    /// As seldom as possible.
    Lazy,
}

impl Translation<'_> {
    fn starts_with(&self, text: &str) -> bool {
        let mut rest = self.rest.clone();
        text.chars().all(|c| rest.next() == Some(c))
    }

    fn skip(&mut self, characters: usize) {
        self.rest.by_ref().take(characters).for_each(drop);
    }

    fn push(&mut self, c: char) -> Option<()> {
        let before = std::mem::replace(&mut self.repetition, Sign::None);
        match (c, self.is_in_class) {
            ('*' | '+' | '?', false) => {
                self.repetition = match before {
                    Sign::None => Sign::Repeats,
                    Sign::Repeats if c == '?' => Sign::Lazy,
                    _ => return None,
                };
                self.out.push(c);
            }
            ('{', false) if self.is_count() => {
                self.repetition = (before == Sign::None).then_some(Sign::Repeats)?;
                self.out.push('{');
                while let Some(part) = self.rest.next_if(|part| *part != '}') {
                    self.out.push(part);
                }
                self.skip(1);
                self.out.push('}');
            }
            ('\\', _) => self.escape(),
            ('[', false) if self.starts_with("^]") => {
                self.skip(2);
                self.out.push_str("(?s:.)");
            }
            ('[', false) if self.starts_with("]") => {
                self.skip(1);
                self.out.push_str(r"[^\s\S]");
            }
            ('[', false) => {
                self.is_in_class = true;
                self.out.push('[');
                if self.rest.next_if_eq(&'^').is_some() {
                    self.out.push('^');
                }
            }
            (']', true) => {
                self.is_in_class = false;
                self.out.push(']');
            }
            ('.', false) => self.out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
            // In a class, these are operators in the other syntax.
            ('{', false) | ('[' | '&' | '~', true) => self.literal(c),
            ('-', true) if self.starts_with("-") => self.literal(c),
            ('(', false) if self.starts_with("?") => {
                let is_known = GROUPS.iter().any(|group| self.starts_with(&format!("?{group}")));
                is_known.then(|| self.out.push_str("(?"))?;
                self.skip(1);
            }
            _ => self.out.push(c),
        }
        Some(())
    }

    fn literal(&mut self, c: char) {
        self.out.push('\\');
        self.out.push(c);
    }

    /// Whether what follows `{` makes it a repetition, and not a plain character.
    fn is_count(&self) -> bool {
        let count: String = self.rest.clone().take_while(|c| c.is_ascii_digit() || *c == ',').collect();
        let (least, most) = count.split_once(',').unwrap_or((&count, ""));
        !least.is_empty() && !most.contains(',') && self.rest.clone().nth(count.len()) == Some('}')
    }

    fn escape(&mut self) {
        let Some(c) = self.rest.next() else { return self.out.push('\\') };
        match c {
            'd' => self.class("0-9", false),
            'D' => self.class("0-9", true),
            'w' => self.class(WORD, false),
            'W' => self.class(WORD, true),
            's' => self.class(SPACE, false),
            'S' => self.class(SPACE, true),
            'b' if self.is_in_class => self.out.push_str(r"\x08"),
            'b' if self.looks_around => {
                self.out.push_str(&at_word("(?!", "(?="));
            }
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(&at_word("(?=", "(?!")),
            '0' => self.out.push_str(r"\x00"),
            't' | 'n' | 'v' | 'f' | 'r' | 'x' | 'u' | 'k' | 'c' | '1'..='9' => self.literal(c),
            // Every other letter stands for itself.
            _ if c.is_ascii_punctuation() && !matches!(c, '<' | '>') => self.literal(c),
            _ => self.out.push(c),
        }
    }

    /// A class, which may be in a class.
    fn class(&mut self, characters: &str, is_negated: bool) {
        let [start, end] = match (is_negated, self.is_in_class) {
            (false, true) => ["", ""],
            (false, false) => ["[", "]"],
            (true, _) => ["[^", "]"],
        };
        self.out.extend([start, characters, end]);
    }
}

/// A place with a character of a word before it and a character by `after` behind it, or the opposite.
fn at_word(after: &str, opposite: &str) -> String {
    format!("(?:(?<=[{WORD}]){after}[{WORD}])|(?<![{WORD}]){opposite}[{WORD}]))")
}
