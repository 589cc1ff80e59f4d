//! A line of output of any length in bounded memory. A line that is too long loses the ends of its long strings, so that it stays
//! the JSON that it was: what decides something may stand behind them.

/// Maximum length of a line that is kept whole, in bytes, and of what is kept of a longer one.
const LONGEST_LINE: usize = 1 << 20;

/// Maximum length of a string in a line that is too long, in bytes.
const LONGEST_STRING: usize = 4 << 10;

#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    /// Cuts a line that is too long.
    cutter: Option<StringCutter>,
}

impl LineBuffer {
    pub(super) fn push(&mut self, part: &[u8]) {
        if self.cutter.is_none() {
            if self.bytes.len() + part.len() <= LONGEST_LINE {
                return self.bytes.extend_from_slice(part);
            }
            let start = std::mem::take(&mut self.bytes);
            let cutter = self.cutter.insert(StringCutter::default());
            cutter.copy(&start, &mut self.bytes);
        }
        if let Some(cutter) = &mut self.cutter {
            cutter.copy(part, &mut self.bytes);
        }
    }

    /// What is kept, without white space at its end.
    pub(super) fn line(&self) -> &[u8] {
        self.bytes.trim_ascii_end()
    }

    /// Whether the line was too long, and is not whole.
    pub(super) fn is_cut(&self) -> bool {
        self.cutter.is_some()
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.cutter = None;
    }
}

/// Copies JSON except for what is too long of its strings.
#[derive(Debug, Default)]
struct StringCutter {
    in_string: bool,
    /// How long the string is, in bytes.
    length: usize,
    escape: Escape,
    /// Whether the rest of the string is left out.
    is_cut: bool,
}

/// What of an escape in a string is still to come.
#[derive(Clone, Copy, Debug, Default)]
enum Escape {
    #[default]
    Nothing,
    Kind,
    Digits(u8),
}

impl StringCutter {
    fn copy(&mut self, part: &[u8], to: &mut Vec<u8>) {
        for &byte in part {
            if self.keeps(byte) && to.len() < LONGEST_LINE {
                to.push(byte);
            }
        }
    }

    fn keeps(&mut self, byte: u8) -> bool {
        if !self.in_string {
            if byte == b'"' {
                *self = Self { in_string: true, ..Self::default() };
            }
            return true;
        }
        let is_continued = byte & 0b1100_0000 == 0b1000_0000;
        if matches!(self.escape, Escape::Nothing) && !is_continued {
            if byte == b'"' {
                self.in_string = false;
                return true;
            }
            self.is_cut |= self.length >= LONGEST_STRING;
        }
        self.length += 1;
        self.escape = match (self.escape, byte) {
            (Escape::Nothing, b'\\') => Escape::Kind,
            (Escape::Kind, b'u') => Escape::Digits(4),
            (Escape::Digits(left), _) if left > 1 => Escape::Digits(left - 1),
            _ => Escape::Nothing,
        };
        !self.is_cut
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// What is kept of a line that comes in pieces of this size.
    fn kept(line: &[u8], size: usize) -> LineBuffer {
        let mut buffer = LineBuffer::default();
        line.chunks(size).for_each(|piece| buffer.push(piece));
        buffer
    }

    #[test]
    fn a_long_line_stays_json_with_the_starts_of_its_long_strings_wherever_the_pieces_and_characters_end() {
        for text in ["x", "é", "\u{1F600}", "\"\\", "\u{1}", "a\u{1}é\\"] {
            let line =
                json!({ "result": text.repeat(LONGEST_LINE), "type": "result", "n": [1, { "a": "b" }] }).to_string();
            for size in [1 << 20, 16 << 10, 4097] {
                let buffer = kept(line.as_bytes(), size);
                let value: Value = serde_json::from_slice(buffer.line()).expect("JSON");
                assert!(buffer.is_cut() && value["type"] == "result" && value["n"][1]["a"] == "b", "{text:?} {size}");
                let start = value["result"].as_str().expect("a string");
                assert!((LONGEST_STRING / 6..LONGEST_STRING + 6).contains(&start.len()), "{text:?}: {}", start.len());
                assert!(text.repeat(LONGEST_STRING).starts_with(start), "{text:?}");
            }
        }
    }

    #[test]
    fn a_line_of_the_longest_length_is_whole_and_what_is_no_json_is_bounded() {
        let line = vec![b'x'; LONGEST_LINE];
        assert!(!kept(&line, 1000).is_cut() && kept(&line, 1000).line() == line);
        for text in ["x", "\"x\" "] {
            let mut buffer = kept(text.repeat(2 * LONGEST_LINE).as_bytes(), 1000);
            assert!(buffer.is_cut() && buffer.line().len() <= LONGEST_LINE);
            buffer.clear();
            buffer.push(b"{}\n");
            assert!(!buffer.is_cut() && buffer.line() == b"{}");
        }
    }
}
