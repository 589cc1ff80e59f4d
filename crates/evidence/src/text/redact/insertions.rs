//! What tools put between the characters of a text: line breaks with the indentation after them, control characters, and
//! sequences that color a terminal. Also as JSON has them.

use super::cursor::{ByteCursor, NeedsMoreBytes};
use super::search::{self, BytePairs};

/// The most bytes between two characters of a secret.
const LONGEST: usize = 128;

/// The most bytes of a terminal sequence.
const LONGEST_SEQUENCE: usize = 96;

/// How many bytes before an insertion may begin a secret that the insertion breaks. The text search sees longer beginnings.
const BEFORE: usize = search::LONGEST - 1;

/// Whether an insertion may begin with this byte.
pub(super) fn may_begin(byte: u8) -> bool {
    is_control(byte) || matches!(byte, b'\\' | b'=')
}

fn is_control(byte: u8) -> bool {
    byte < b' ' && byte != b'\t'
}

/// Where the insertions at the cursor end. At the cursor, if there are none, or more than are between characters of a secret.
pub(super) fn end(cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let end = end_or_limit(cursor)?;
    Ok(if end - cursor.at > LONGEST { cursor.at } else { end })
}

/// Where the insertions at the cursor end, or a place more than [`LONGEST`] bytes after it.
fn end_or_limit(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    cursor.squeezed = false;
    while cursor.at <= start + LONGEST {
        let end = one(cursor)?;
        if end == cursor.at {
            break;
        }
        cursor.at = end;
    }
    Ok(cursor.at)
}

/// Where the insertion at the cursor ends.
fn one(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let Some(byte) = cursor.peek()? else { return Ok(start) };
    match byte {
        // A soft line break of quoted-printable text.
        b'=' => {
            cursor.skip(1);
            let end = line_break(cursor)?;
            Ok(if end > cursor.at { end } else { start })
        }
        b'\n' | b'\r' => line_break(cursor),
        b'\\' => {
            let end = line_break(cursor)?;
            if end > start {
                return Ok(end);
            }
            cursor.backslashes()?;
            let control = escaped_control(&mut cursor)?;
            Ok(match control {
                Some(0x1b) => sequence(cursor)?,
                Some(_) => cursor.at,
                None => start,
            })
        }
        _ if !may_begin(byte) => Ok(start),
        _ => {
            cursor.skip(1);
            if byte == 0x1b { sequence(cursor) } else { Ok(cursor.at) }
        }
    }
}

/// The end of the line break at the cursor and the indentation after it. A shell continues a line after a backslash.
fn line_break(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let escaped = cursor.backslashes()? > 0;
    if !match cursor.peek()? {
        Some(b'\n' | b'\r') => true,
        Some(b'n' | b'r') => escaped,
        _ => false,
    } {
        return Ok(start);
    }
    cursor.skip(1);
    while cursor.at <= start + LONGEST {
        let before = cursor.at;
        let escaped = cursor.backslashes()? > 0;
        if !match cursor.peek()? {
            Some(b' ' | b'\t') => !escaped,
            Some(b't') => escaped,
            _ => false,
        } {
            return Ok(before);
        }
        cursor.skip(1);
    }
    Ok(cursor.at)
}

/// Skips the escape `u001b` of a control character, if it is here.
fn escaped_control(cursor: &mut ByteCursor<'_>) -> Result<Option<u8>, NeedsMoreBytes> {
    if !cursor.literal(b"u00")? {
        return Ok(None);
    }
    let mut value = 0;
    for _ in 0..2 {
        let Some(digit) = cursor.peek()?.and_then(|byte| char::from(byte).to_digit(16)) else { return Ok(None) };
        value = value * 16 + digit;
        cursor.skip(1);
    }
    let value = u8::try_from(value).ok();
    Ok(value.filter(|value| is_control(*value)))
}

/// The end of the terminal sequence whose escape character is before the cursor: `[1m`, `]8;;…` up to its end, `(B`.
fn sequence(mut cursor: ByteCursor<'_>) -> Result<usize, NeedsMoreBytes> {
    let start = cursor.at;
    let first = cursor.peek()?;
    if first == Some(b']') {
        while cursor.at < start + LONGEST_SEQUENCE {
            for terminator in [&b"\x07"[..], b"\x1b\\", b"\\u0007", b"\\u001b\\\\"] {
                let mut end = cursor;
                if end.literal(terminator)? {
                    return Ok(end.at);
                }
            }
            cursor.skip(1);
        }
        return Ok(start);
    }
    let before_last = if first == Some(b'[') { b' '..=b'?' } else { b' '..=b'/' };
    cursor.skip(usize::from(first == Some(b'[')));
    while cursor.at < start + LONGEST_SEQUENCE && cursor.peek()?.is_some_and(|byte| before_last.contains(&byte)) {
        cursor.skip(1);
    }
    let is_last = cursor.peek()?.is_some_and(|byte| (b'0'..=b'~').contains(&byte) && byte != b'\\');
    Ok(if is_last { cursor.at + 1 } else { start })
}

/// Finds where a secret may begin that an insertion breaks among its first bytes. The text search cannot see those.
#[derive(Debug)]
pub(super) struct BreakScanner {
    /// What is scanned next.
    at: usize,
    /// Where the last insertion ended.
    after: usize,
    /// The places of the last bytes before that insertion, the last one first, and how many they are.
    before: [usize; BEFORE],
    known: usize,
    /// Where a secret may begin, the first one last.
    found: Vec<usize>,
}

impl BreakScanner {
    pub fn new(at: usize) -> Self {
        Self { at, after: at, before: [0; BEFORE], known: 0, found: Vec::new() }
    }

    /// The first place before `limit` where a secret may begin that was not returned yet.
    pub fn next(&mut self, bytes: &[u8], last: bool, limit: usize, pairs: &BytePairs) -> Option<usize> {
        loop {
            if let Some(found) = self.found.last() {
                return Some(*found).filter(|found| *found < limit);
            }
            if self.first_open() >= limit || !self.step(bytes, last, pairs) {
                return None;
            }
        }
    }

    /// Drops the place that [`next`](Self::next) returned.
    pub fn take(&mut self) {
        self.found.pop();
    }

    /// The first place that the next insertion may decide about.
    pub fn first_open(&self) -> usize {
        let (before, known) = self.last_before(self.at);
        before[..known].last().copied().unwrap_or(self.at)
    }

    /// The places of the last bytes before `at` that are in no insertion, and how many they are.
    fn last_before(&self, at: usize) -> ([usize; BEFORE], usize) {
        let near = at.saturating_sub(self.after).min(BEFORE);
        let mut before = std::array::from_fn(|back| at.wrapping_sub(1 + back));
        before[near..].copy_from_slice(&self.before[..BEFORE - near]);
        (before, BEFORE.min(near + self.known))
    }

    /// Scans up to the next insertion. `false` if it is not known where it ends, or there is none.
    fn step(&mut self, bytes: &[u8], last: bool, pairs: &BytePairs) -> bool {
        let Some(mut start) = next_start(bytes, self.at, pairs) else {
            self.at = bytes.len();
            return false;
        };
        if start > self.after && bytes[start - 1] == b'=' {
            let is_soft = line_break(ByteCursor { bytes, at: start, last, squeezed: false });
            start -= usize::from(is_soft.is_ok_and(|end| end > start));
        }
        if start == self.after && self.known == 0 {
            let run = bytes[start..].iter().take_while(|byte| **byte == bytes[start]).count();
            self.pass(start + run);
            return true;
        }
        let whole = || end_or_limit(ByteCursor { bytes, at: start, last, squeezed: false }).ok();
        let Some(end) = simple_end(bytes, start).or_else(whole) else {
            self.at = start;
            return false;
        };
        if end > start + LONGEST {
            self.pass(end);
            return true;
        }
        if end == start {
            let backslashes = bytes[start..].iter().take_while(|byte| **byte == b'\\').count();
            self.at = start + backslashes.max(1);
            return true;
        }
        let Some(next) = bytes.get(end) else {
            self.at = if last { bytes.len() } else { start };
            return false;
        };
        let (before, known) = self.last_before(start);
        (self.at, self.after, self.before, self.known) = (end, end, before, known);
        if pairs.has(bytes[before[0]], *next) {
            let mut first = [*next; BEFORE + 1];
            for (back, at) in before[..known].iter().enumerate() {
                let start = BEFORE - 1 - back;
                first[start] = bytes[*at];
                if pairs.may_begin(&first[start..]) {
                    self.found.push(*at);
                }
            }
        }
        true
    }

    /// Passes a place that no secret extends across.
    fn pass(&mut self, at: usize) {
        (self.at, self.after, self.known) = (at, at, 0);
    }
}

/// Where a line break at `start` and the spaces after it end, if nothing else is inserted there: nearly always, and faster.
fn simple_end(bytes: &[u8], start: usize) -> Option<usize> {
    let end = match bytes[start..] {
        [b'\n', ..] => start + 1,
        [b'\\', b'n', ..] => start + 2,
        _ => return None,
    };
    let spaces = bytes[end..].iter().take(LONGEST / 2).position(|byte| *byte != b' ')?;
    let next = bytes[end + spaces];
    (!may_begin(next) && next != b'\t').then_some(end + spaces)
}

/// The next place where an insertion may begin, except a soft line break, and that may break a secret.
#[inline(never)]
fn next_start(bytes: &[u8], from: usize, pairs: &BytePairs) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let is_start = |at: usize| {
        let goes_on = at == from || pairs.goes_on_after(bytes[at - 1]) || bytes[at - 1] == b'=';
        goes_on
            && match bytes[at] {
                b'\\' => {
                    let next = bytes.get(at + 1);
                    next.is_none_or(|next| matches!(next, b'n' | b'r' | b'u' | b'\\' | b'\n' | b'\r'))
                }
                byte => is_control(byte),
            }
    };
    let (blocks, rest) = bytes.get(from..)?.as_chunks::<8>();
    for (at, block) in blocks.iter().enumerate() {
        let block = u64::from_le_bytes(*block);
        let backslashes = block ^ (ONES * u64::from(b'\\'));
        // All that are there, and perhaps others above them.
        let controls = block.wrapping_sub(ONES * u64::from(b' ')) & !block;
        let mut found = (controls | (backslashes.wrapping_sub(ONES) & !backslashes)) & HIGH;
        while found != 0 {
            let at = from + 8 * at + found.trailing_zeros() as usize / 8;
            if is_start(at) {
                return Some(at);
            }
            found &= found - 1;
        }
    }
    (bytes.len() - rest.len()..bytes.len()).find(|at| is_start(*at))
}
