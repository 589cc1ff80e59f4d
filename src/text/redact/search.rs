//! Finds where a secret may begin, by the first bytes of its view, about as fast as bytes can be read.

use std::collections::HashMap;
use std::ops::Range;

use super::cursor::NeedsMoreBytes;
use super::view::{LONGEST_INSERTION, View, is_special};

/// The bytes of a view that a secret is found by.
pub(super) const GRAM: usize = 4;

/// Bits of a hash: a filter of 32 KiB fits the fastest cache.
const HASH_BITS: u32 = 18;

/// Beginnings of secrets, each with its meanings.
#[derive(Clone)]
pub(super) struct GramSearch<T> {
    /// A bit for the hash of each gram.
    filter: Box<Filter>,
    pairs: BytePairs,
    meanings: HashMap<u32, Vec<T>>,
}

impl<T> std::fmt::Debug for GramSearch<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} grams", self.meanings.len())
    }
}

type Filter = [u32; 1 << (HASH_BITS - 5)];

/// Places that are looked at together, and the bytes after them whose grams begin there.
const BLOCK: usize = 16;

/// Flags for each pair of bytes.
#[derive(Clone)]
struct BytePairs(Box<[u8; 1 << 16]>);

/// The first and second byte of a gram.
const FIRST: u8 = 1;

/// Its third and fourth byte, two bytes after a [`FIRST`] pair.
const THIRD: u8 = FIRST << 4;

/// Its second and third byte.
const SECOND: u8 = 2;

/// Its fourth byte and the one after it, two bytes after a [`SECOND`] pair.
const FOURTH: u8 = SECOND << 4;

/// The second and third byte of a text of three bytes.
const SHORT: u8 = 4;

/// One of the two is special.
const SPECIAL: u8 = 8;

impl BytePairs {
    #[expect(clippy::large_stack_arrays, reason = "an array, so that no index is checked; 64 KiB for a moment")]
    fn new() -> Self {
        let mut pairs = Self(Box::new([0; 1 << 16]));
        for special in (0..=u8::MAX).filter(|byte| is_special(*byte)) {
            for other in 0..=u8::MAX {
                pairs.add(special, Some(&other), SPECIAL);
                // In the view another byte may be next to the gram.
                pairs.add(other, Some(&special), SPECIAL | FOURTH);
            }
        }
        pairs
    }

    /// Adds a flag to the pair of these bytes. After the end of a text any byte may follow.
    fn add(&mut self, first: u8, second: Option<&u8>, flag: u8) {
        for second in second.map_or(0..=u8::MAX, |byte| *byte..=*byte) {
            self.0[usize::from(u16::from_le_bytes([first, second]))] |= flag;
        }
    }

    fn add_text(&mut self, text: &[u8]) {
        let flags = if text.len() < GRAM { [FIRST, SHORT, THIRD, 0] } else { [FIRST, SECOND, THIRD, FOURTH] };
        for (at, (first, flag)) in text.iter().zip(flags).enumerate() {
            self.add(*first, text.get(at + 1), flag);
        }
    }

    fn get(&self, first: u8, second: u8) -> u8 {
        self.0[usize::from(u16::from_le_bytes([first, second]))]
    }

    /// Whether two bytes are next to each other in a gram.
    fn is_in_gram(&self, first: u8, second: u8) -> bool {
        self.get(first, second) & (FIRST | SECOND | THIRD | SHORT) != 0
    }

    /// Whether a gram may begin at one of the first [`BLOCK`] bytes, and whether one of all but the first may be special. Every
    /// second pair is enough: it is the first and third pair of a gram, or the second and fourth.
    fn look(&self, block: &[u8; BLOCK + GRAM]) -> (bool, bool) {
        let (pairs, _) = block[1..].as_chunks::<2>();
        let flags = pairs.iter().map(|pair| self.get(pair[0], pair[1]));
        let (both, any, _) =
            flags.fold((0, 0, 0), |(both, any, last), pair| (both | (last & (pair >> 4)), any | pair, pair));
        (both | (any & SHORT) != 0, any & SPECIAL != 0)
    }
}

fn hash(gram: u32) -> (usize, u32) {
    let hash = gram.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
    ((hash >> 5) as usize, hash & 31)
}

impl<T: Ord + Copy> GramSearch<T> {
    /// Searches for texts of at least three bytes. Of a longer one only the first [`GRAM`] are compared.
    #[expect(clippy::large_stack_arrays, reason = "an array, so that no index is checked; 32 KiB for a moment")]
    pub fn new(texts: impl IntoIterator<Item = (Vec<u8>, T)>) -> Self {
        let filter = Box::new([0; 1 << (HASH_BITS - 5)]);
        let mut search = Self { filter, pairs: BytePairs::new(), meanings: HashMap::new() };
        for (text, meaning) in texts {
            search.pairs.add_text(&text);
            match text.first_chunk() {
                Some(gram) => search.add(*gram, meaning),
                None => (0..=u8::MAX).for_each(|end| {
                    let gram = [&text[..], &[end]].concat();
                    if let Some(gram) = gram.first_chunk() {
                        search.add(*gram, meaning);
                    }
                }),
            }
        }
        for meanings in search.meanings.values_mut() {
            meanings.sort_unstable();
            meanings.dedup();
        }
        search
    }

    fn add(&mut self, gram: [u8; GRAM], meaning: T) {
        let gram = u32::from_le_bytes(gram);
        let (at, bit) = hash(gram);
        self.filter[at] |= 1 << bit;
        self.meanings.entry(gram).or_default().push(meaning);
    }

    #[inline]
    fn meanings(&self, gram: u32) -> Option<&[T]> {
        let (at, bit) = hash(gram);
        if self.filter[at] >> bit & 1 == 0 { None } else { self.meanings.get(&gram).map(Vec::as_slice) }
    }
}

/// The gram at `at`.
fn gram_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |gram| u32::from_le_bytes(*gram))
}

/// A place where a secret may begin, and which.
pub(super) type Candidate<'s, T> = (usize, &'s [T]);

/// What a scan finds next.
pub(super) enum Step<'s, T> {
    Candidate(Candidate<'s, T>),
    /// Up to here nothing begins. What begins later is not decided, unless it is the end of the stream.
    End(usize),
}

/// Reads a text once, both as it is and by its view.
#[derive(Debug)]
pub(super) struct Scanner<'s, T> {
    search: &'s GramSearch<T>,
    /// Where it began.
    from: usize,
    /// How far it has read.
    at: usize,
    /// The last bytes of the view.
    gram: u32,
    /// Where each of them begins in the text, at its number modulo [`GRAM`].
    starts: [usize; GRAM],
    /// The number of the next.
    number: usize,
    /// How many of them may begin a secret.
    known: usize,
    /// The plain bytes directly before `at`, and the insertion after the last byte of the view.
    plain: usize,
    inserted: usize,
    /// Found around an escape.
    found: Vec<Candidate<'s, T>>,
}

impl<'s, T: Ord + Copy> Scanner<'s, T> {
    pub fn new(search: &'s GramSearch<T>, from: usize) -> Self {
        let starts = [from; GRAM];
        Self { search, from, at: from, gram: 0, starts, number: 0, known: 0, plain: 0, inserted: 0, found: Vec::new() }
    }

    /// The next candidate.
    pub fn next(&mut self, view: View<'_>) -> Step<'s, T> {
        loop {
            if let Some(found) = self.first_before(self.oldest()) {
                return Step::Candidate(found);
            }
            let pending = self.known.min(GRAM - 1);
            if pending > 0 && self.plain >= pending {
                let before = self.at;
                self.plain_run(view.bytes, self.at - pending);
                if self.at > before {
                    continue;
                }
            }
            let Some(&byte) = view.bytes.get(self.at) else { break };
            if !is_special(byte) {
                self.take(byte, self.at);
                self.at += 1;
                self.plain += 1;
                continue;
            }
            let Ok(unit) = view.unit(self.at) else { return self.end(self.at) };
            // The bytes of an escape may themselves begin a secret.
            let around = self.at.saturating_sub(GRAM - 1).max(self.from)..unit.end;
            let is_short = !view.last && unit.end + GRAM > view.bytes.len();
            if is_short || self.read_around(view, around.clone()).is_err() {
                return self.end(around.start);
            }
            for byte in unit.bytes() {
                self.take(*byte, self.at);
            }
            if unit.bytes().is_empty() {
                self.inserted += unit.end - self.at;
                if self.inserted > LONGEST_INSERTION {
                    self.known = 0;
                }
            }
            (self.at, self.plain) = (unit.end, 0);
        }
        if !view.last {
            return self.end(self.at);
        }
        self.first_before(usize::MAX).map_or(Step::End(view.bytes.len()), Step::Candidate)
    }

    /// The end of what has arrived. From `start` on nothing is decided.
    fn end(&self, start: usize) -> Step<'s, T> {
        let found = self.found.iter().map(|found| found.0).min();
        Step::End(start.min(self.oldest()).min(found.unwrap_or(start)))
    }

    /// Takes the first candidate, if it begins before `end`. What begins in an escape is found before what begins before it.
    fn first_before(&mut self, end: usize) -> Option<Candidate<'s, T>> {
        let (at, (start, _)) = self.found.iter().enumerate().min_by_key(|(_, found)| found.0)?;
        (*start < end).then(|| self.found.remove(at))
    }

    /// Looks for what begins before or in an escape, if it is not an escape.
    fn read_around(&mut self, view: View<'_>, around: Range<usize>) -> Result<(), NeedsMoreBytes> {
        let pairs = &self.search.pairs;
        let in_gram = |at: usize| matches!(view.bytes.get(at..), Some([a, b, ..]) if pairs.is_in_gram(*a, *b));
        let is_before = self.at > around.start && in_gram(self.at - 1);
        for start in if is_before { around.start } else { self.at }..around.end {
            if in_gram(start) {
                self.test(gram_at(view.bytes, start), start);
            }
            let goes_on = view.bytes.get(start + 1..).unwrap_or_default();
            if start > self.at
                && goes_on.iter().take(GRAM - 1).any(|byte| is_special(*byte))
                && let Some(gram) = view.first_bytes(start)?
            {
                self.test(u32::from_le_bytes(gram), start);
            }
        }
        Ok(())
    }

    /// Reads plain bytes from `first` on, which was taken before, up to a candidate or a special byte.
    fn plain_run(&mut self, bytes: &[u8], first: usize) {
        let (mut start, mut found, mut end) = (first, None, None);
        while found.is_none() && end.is_none() {
            if let Some(block) = bytes[start..].first_chunk()
                && let (false, may_be_special) = self.search.pairs.look(block)
            {
                let special = if may_be_special { block.iter().position(|byte| is_special(*byte)) } else { None };
                end = special.map(|at| start + at);
                start += BLOCK;
                continue;
            }
            for _ in 0..BLOCK {
                let gram = &bytes[start..bytes.len().min(start + GRAM)];
                let special = gram.iter().position(|byte| is_special(*byte));
                end = special.or((gram.len() < GRAM).then_some(gram.len())).map(|at| start + at);
                if end.is_some() {
                    break;
                }
                found = self.search.meanings(gram_at(bytes, start));
                start += 1;
                if found.is_some() {
                    break;
                }
            }
        }
        self.at = end.unwrap_or(start + GRAM - 1);
        self.plain = self.at - first;
        (self.known, self.number, self.inserted) = (self.plain.min(GRAM), 0, 0);
        self.starts = std::array::from_fn(|back| (self.at + back).wrapping_sub(GRAM));
        let last: [u8; GRAM] = std::array::from_fn(|back| bytes[(self.at + back).saturating_sub(GRAM)]);
        self.gram = u32::from_le_bytes(last);
        self.found.extend(found.map(|meanings| (start - 1, meanings)));
    }

    /// Takes a byte of the view, which begins at `start`.
    fn take(&mut self, byte: u8, start: usize) {
        // Nothing that began before continues here.
        if !self.search.pairs.is_in_gram(self.gram.to_le_bytes()[GRAM - 1], byte) {
            self.known = 0;
        }
        self.gram = self.gram >> 8 | u32::from(byte) << 24;
        self.starts[self.number % GRAM] = start;
        self.number = self.number.wrapping_add(1);
        self.known = GRAM.min(self.known + 1);
        self.inserted = 0;
        if self.known == GRAM {
            self.test(self.gram, self.starts[self.number % GRAM]);
        }
    }

    fn test(&mut self, gram: u32, start: usize) {
        self.found.extend(self.search.meanings(gram).map(|meanings| (start, meanings)));
    }

    /// Where the first secret may begin that is not decided yet.
    fn oldest(&self) -> usize {
        match self.known.min(GRAM - 1) {
            0 => self.at,
            known => self.starts[self.number.wrapping_sub(known) % GRAM],
        }
    }
}
