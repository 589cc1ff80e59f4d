//! Finds secrets that insertions break among their first bytes.

use super::cursor::{ByteCursor, LONGEST_INSERTION, insertions_end_or_limit, is_control, line_break, may_begin};
use super::search::{self, BytePairs};

/// How many bytes before an insertion may begin a secret that the insertion breaks. The text search sees longer beginnings.
const BEFORE: usize = search::LONGEST - 1;

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
        let whole = || insertions_end_or_limit(ByteCursor { bytes, at: start, last, squeezed: false }).ok();
        let Some(end) = simple_end(bytes, start).or_else(whole) else {
            self.at = start;
            return false;
        };
        if end > start + LONGEST_INSERTION {
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
    let spaces = bytes[end..].iter().take(LONGEST_INSERTION / 2).position(|byte| *byte != b' ')?;
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
