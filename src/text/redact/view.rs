//! What a text stands for. Texts escape a secret for JSON, addresses, HTML or a shell, and tools put line breaks, colors and
//! zero bytes between its characters. The *view* of a text has neither: escapes are decoded, insertions and backslashes are
//! dropped. A secret is in a text if its view is in the text's view.

use super::cursor::NeedsMoreBytes;

/// The most bytes that may be inserted between two characters of a secret.
pub(super) const LONGEST_INSERTION: usize = 128;

/// The most bytes of a control sequence of terminals.
const LONGEST_SEQUENCE: usize = 96;

/// The most times that text is escaped for an address or for HTML.
const DEEPEST: usize = 8;

/// The part of a text at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Where it ends.
    pub end: usize,
    /// What it stands for; nothing, if it is an insertion.
    bytes: [u8; 4],
    length: u8,
    /// Whether it breaks a line.
    pub breaks: bool,
}

impl Unit {
    fn inserted(end: usize) -> Self {
        Self { end, bytes: [0; 4], length: 0, breaks: false }
    }

    fn plain(byte: u8, end: usize) -> Self {
        Self { end, bytes: [byte, 0, 0, 0], length: 1, breaks: false }
    }

    fn character(c: char, end: usize) -> Self {
        let mut bytes = [0; 4];
        let length = u8::try_from(c.encode_utf8(&mut bytes).len()).unwrap_or(0);
        Self { end, bytes, length, breaks: false }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Whether a byte may stand for something else, or for nothing.
pub(super) const fn is_special(byte: u8) -> bool {
    byte < b' ' || matches!(byte, b'\\' | b'%' | b'&' | 0x7f)
}

/// A text, of which more may arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub bytes: &'a [u8],
    /// Whether `bytes` ends the text.
    pub last: bool,
}

impl View<'_> {
    /// The unit at `at`, which is not the end.
    pub fn unit(self, at: usize) -> Result<Unit, NeedsMoreBytes> {
        match self.bytes[at] {
            b'\\' => self.backslash(at),
            b'%' => self.percent(at),
            b'&' => self.entity(at),
            byte if is_special(byte) => self.control(byte, at + 1),
            byte => Ok(Unit::plain(byte, at + 1)),
        }
    }

    /// How else the unit at `at` can be read, if the byte `expected` comes next: whether that takes this byte, and where it
    /// ends. What looks like an escape may be text.
    pub fn plainly(
        self,
        at: usize,
        unit: Unit,
        expected: u8,
        mut take: impl FnMut(usize, usize),
    ) -> Result<(), NeedsMoreBytes> {
        let escaped: &[u8] = match self.bytes[at] {
            b'\\' if unit.end > at + 1 => {
                if self.get(at + 1)? == Some(expected) {
                    take(0, at + 1);
                }
                return Ok(());
            }
            b'%' if expected == b'%' => b"25",
            b'&' if expected == b'&' => b"amp;",
            _ => return Ok(()),
        };
        let mut end = at + 1;
        while end < unit.end {
            take(1, end);
            if !self.has(end, escaped)? {
                break;
            }
            end += escaped.len();
        }
        Ok(())
    }

    /// The first bytes from `start` on, if it is not an insertion.
    pub fn first_bytes<const COUNT: usize>(self, start: usize) -> Result<Option<[u8; COUNT]>, NeedsMoreBytes> {
        let (mut first, mut known, mut at) = ([0; COUNT], 0, start);
        while at - start < COUNT * LONGEST_INSERTION && self.get(at)?.is_some() {
            let unit = self.unit(at)?;
            if known == 0 && unit.bytes().is_empty() {
                break;
            }
            for byte in unit.bytes() {
                if let Some(place) = first.get_mut(known) {
                    *place = *byte;
                    known += 1;
                }
            }
            if known == COUNT {
                return Ok(Some(first));
            }
            at = unit.end;
        }
        Ok(None)
    }

    fn get(self, at: usize) -> Result<Option<u8>, NeedsMoreBytes> {
        match self.bytes.get(at) {
            None if !self.last => Err(NeedsMoreBytes),
            byte => Ok(byte.copied()),
        }
    }

    /// Whether `expected` is at `at`.
    fn has(self, at: usize, expected: &[u8]) -> Result<bool, NeedsMoreBytes> {
        for (offset, byte) in expected.iter().enumerate() {
            if self.get(at + offset)? != Some(*byte) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The number of this many hexadecimal digits at `at`.
    fn hex(self, at: usize, digits: usize) -> Result<Option<u32>, NeedsMoreBytes> {
        let mut value = 0;
        for offset in 0..digits {
            let Some(digit) = self.get(at + offset)?.and_then(|byte| char::from(byte).to_digit(16)) else {
                return Ok(None);
            };
            value = value << 4 | digit;
        }
        Ok(Some(value))
    }

    /// `\u00e9`, `\x1b`, `\n`. Other backslashes are dropped, because each string in a string adds some.
    fn backslash(self, at: usize) -> Result<Unit, NeedsMoreBytes> {
        match self.get(at + 1)? {
            Some(b'u') => {
                let Some(unit) = self.hex(at + 2, 4)? else { return Ok(Unit::inserted(at + 1)) };
                if (0xd800..0xdc00).contains(&unit) {
                    return self.second_half(unit, at + 6);
                }
                self.decoded(unit, at + 6)
            }
            Some(b'x') => match self.hex(at + 2, 2)? {
                Some(byte) => self.byte(byte, at + 4),
                None => Ok(Unit::inserted(at + 1)),
            },
            Some(b'n' | b'r') => self.line_break(at + 2),
            Some(b't' | b'b' | b'f') => Ok(Unit::inserted(at + 2)),
            _ => Ok(Unit::inserted(at + 1)),
        }
    }

    /// The character of a surrogate pair, whose first half is `high`.
    fn second_half(self, high: u32, mut at: usize) -> Result<Unit, NeedsMoreBytes> {
        let start = at;
        while at - start < super::cursor::MAX_BACKSLASHES && self.get(at)? == Some(b'\\') {
            at += 1;
        }
        let low = if at > start && self.has(at, b"u")? { self.hex(at + 1, 4)? } else { None };
        let c = low
            .filter(|low| (0xdc00..0xe000).contains(low))
            .and_then(|low| char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)));
        Ok(c.map_or_else(|| Unit::inserted(start), |c| Unit::character(c, at + 5)))
    }

    /// An escaped character.
    fn decoded(self, code: u32, end: usize) -> Result<Unit, NeedsMoreBytes> {
        match char::from_u32(code) {
            Some('\\') => Ok(Unit::inserted(end)),
            Some(c) if !c.is_ascii_control() => Ok(Unit::character(c, end)),
            _ => self.control(u8::try_from(code).unwrap_or(0), end),
        }
    }

    /// An escaped byte, perhaps of a character of several.
    fn byte(self, byte: u32, end: usize) -> Result<Unit, NeedsMoreBytes> {
        match u8::try_from(byte) {
            Ok(byte @ 128..) => Ok(Unit::plain(byte, end)),
            _ => self.decoded(byte, end),
        }
    }

    /// `%e9`, also escaped again: `%25e9`.
    fn percent(self, at: usize) -> Result<Unit, NeedsMoreBytes> {
        let mut end = at + 1;
        for _ in 0..DEEPEST {
            match self.hex(end, 2)? {
                Some(0x25) => end += 2,
                Some(byte) => return self.byte(byte, end + 2),
                None => break,
            }
        }
        Ok(Unit::plain(b'%', end))
    }

    /// `&lt;`, `&#233;`, also escaped again: `&amp;lt;`.
    fn entity(self, at: usize) -> Result<Unit, NeedsMoreBytes> {
        let mut end = at + 1;
        for _ in 0..DEEPEST {
            if !self.has(end, b"amp;")? {
                break;
            }
            end += 4;
        }
        for (name, byte) in [(&b"lt;"[..], b'<'), (b"gt;", b'>'), (b"quot;", b'"'), (b"apos;", b'\'')] {
            if self.has(end, name)? {
                return Ok(Unit::plain(byte, end + name.len()));
            }
        }
        if self.has(end, b"#")? {
            let is_hex = matches!(self.get(end + 1)?, Some(b'x' | b'X'));
            let (start, radix) = if is_hex { (end + 2, 16) } else { (end + 1, 10) };
            let (mut digits, mut code) = (0, 0);
            while digits < 7
                && let Some(digit) = self.get(start + digits)?.and_then(|byte| char::from(byte).to_digit(radix))
            {
                (digits, code) = (digits + 1, code * radix + digit);
            }
            if digits > 0 && self.has(start + digits, b";")? {
                return self.decoded(code, start + digits + 1);
            }
        }
        Ok(Unit::plain(b'&', end))
    }

    /// What follows a control character, which ends at `end`, and belongs to it.
    fn control(self, byte: u8, end: usize) -> Result<Unit, NeedsMoreBytes> {
        match byte {
            b'\n' | b'\r' => self.line_break(end),
            0x1b => self.sequence(end),
            _ => Ok(Unit::inserted(end)),
        }
    }

    /// The indentation after a line break.
    fn line_break(self, mut end: usize) -> Result<Unit, NeedsMoreBytes> {
        let start = end;
        while end - start < LONGEST_INSERTION && matches!(self.get(end)?, Some(b' ' | b'\t')) {
            end += 1;
        }
        Ok(Unit { breaks: true, ..Unit::inserted(end) })
    }

    /// The rest of a control sequence of terminals: `[1m`, `]8;;…` up to its end, `(B`.
    fn sequence(self, start: usize) -> Result<Unit, NeedsMoreBytes> {
        let first = self.get(start)?;
        let mut end = start;
        if first == Some(b']') {
            while end - start < LONGEST_SEQUENCE {
                for terminator in [&b"\x07"[..], b"\x1b\\", b"\\u0007", b"\\u001b\\\\"] {
                    if self.has(end, terminator)? {
                        return Ok(Unit::inserted(end + terminator.len()));
                    }
                }
                end += 1;
            }
            return Ok(Unit::inserted(start));
        }
        let before_last = if first == Some(b'[') { b' '..=b'?' } else { b' '..=b'/' };
        end += usize::from(first == Some(b'['));
        while end - start < LONGEST_SEQUENCE && self.get(end)?.is_some_and(|byte| before_last.contains(&byte)) {
            end += 1;
        }
        let is_last = self.get(end)?.is_some_and(|byte| (b'0'..=b'~').contains(&byte) && byte != b'\\');
        Ok(Unit::inserted(if is_last { end + 1 } else { start }))
    }
}
