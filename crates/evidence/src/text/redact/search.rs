//! Finds where one of many short texts may begin, about as fast as bytes can be read.

use std::collections::{BTreeMap, HashMap};

/// The longest text that is searched for. Of a longer text only the start is compared.
pub(super) const LONGEST: usize = 6;

/// Flags for each pair of bytes.
#[derive(Clone)]
struct BytePairs(Box<[u8; 1 << 16]>);

/// The first and second byte of a text.
const FIRST: u8 = 1;

/// Its third and fourth byte, two bytes after a [`FIRST`] pair.
const THIRD: u8 = FIRST << 4;

/// Its second and third byte.
const SECOND: u8 = 2;

/// Its fourth and fifth byte, two bytes after a [`SECOND`] pair.
const FOURTH: u8 = SECOND << 4;

/// Places that are checked at once.
const BLOCK: usize = 16;

impl BytePairs {
    #[expect(clippy::large_stack_arrays, reason = "an array, so that no index is checked; 64 KiB for a moment")]
    fn new() -> Self {
        Self(Box::new([0; 1 << 16]))
    }

    /// Adds a flag to the pair of these bytes. After the end of a text any byte may follow.
    fn add(&mut self, first: u8, second: Option<&u8>, what: u8) {
        for second in second.map_or(0..=u8::MAX, |byte| *byte..=*byte) {
            self.0[usize::from(u16::from_le_bytes([first, second]))] |= what;
        }
    }

    fn get(&self, first: u8, second: u8) -> u8 {
        self.0[usize::from(u16::from_le_bytes([first, second]))]
    }
}

impl std::fmt::Debug for BytePairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} pairs", self.0.iter().filter(|what| **what != 0).count())
    }
}

/// Texts of at least two bytes, each with its meaning.
#[derive(Clone, Debug)]
pub(super) struct TextSearch<T> {
    /// The pairs of bytes that texts begin with.
    pairs: BytePairs,
    /// The meanings of the texts, by their first two bytes.
    texts: HashMap<[u8; 2], BTreeMap<Vec<u8>, Vec<T>>>,
}

impl<T> TextSearch<T> {
    /// Searches for the first [`LONGEST`] bytes of each text. A text of fewer than two bytes is never found.
    pub fn new(texts: impl IntoIterator<Item = (Vec<u8>, T)>) -> Self {
        let mut search = Self { pairs: BytePairs::new(), texts: HashMap::new() };
        let mut everywhere = 0;
        for (mut text, meaning) in texts {
            text.truncate(LONGEST);
            let Some(start) = text.first_chunk::<2>().copied() else { continue };
            for (first, what) in [FIRST, SECOND, THIRD, FOURTH].into_iter().enumerate() {
                match text.get(first) {
                    Some(byte) => search.pairs.add(*byte, text.get(first + 1), what),
                    None => everywhere |= what,
                }
            }
            search.texts.entry(start).or_default().entry(text).or_default().push(meaning);
        }
        search.pairs.0.iter_mut().for_each(|flags| *flags |= everywhere);
        search
    }

    /// The first position, at or after `from`, where a secret may begin. It has more than two bytes.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let begins = |at: usize| match bytes.get(at..) {
            Some([a, b, c, ..]) => self.pairs.get(*a, *b) & FIRST != 0 && self.pairs.get(*b, *c) & SECOND != 0,
            _ => false,
        };
        // Every second pair is enough: it is the first and third pair of a text, or the second and fourth.
        let mut at = from;
        while let Some(block) = bytes.get(at + 1..at + 3 + BLOCK) {
            let (pairs, _) = block.as_chunks::<2>();
            let known = pairs.iter().map(|pair| self.pairs.get(pair[0], pair[1]));
            let both = known.fold((0, 0), |(both, last), pair| (both | (last & (pair >> 4)), pair)).0;
            if both != 0 {
                let found = (at..at + BLOCK).find(|&at| begins(at));
                if found.is_some() {
                    return found;
                }
            }
            at += BLOCK;
        }
        (at..bytes.len()).find(|&at| begins(at))
    }

    /// The meanings of each text that `bytes` begins with, in the order in which they came.
    pub fn at<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = &'a [T]> + 'a {
        let texts = bytes.first_chunk().and_then(|pair| self.texts.get(pair));
        let found = move |length| texts.and_then(|texts| texts.get(&bytes[..length]));
        (2..=LONGEST.min(bytes.len())).filter_map(found).map(Vec::as_slice)
    }
}
