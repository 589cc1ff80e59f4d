//! Finds where one of many short texts may begin, about as fast as bytes can be read.

use std::collections::BTreeMap;

/// The longest text that is searched for. Of a longer text only the start is compared.
pub(super) const LONGEST: usize = 6;

/// The pairs of bytes that texts begin with.
#[derive(Clone)]
pub(super) struct BytePairs {
    /// Flags for each pair.
    flags: Box<[u8; 1 << 16]>,
    /// Bytes that are not the last of a text.
    inner: [bool; 256],
}

/// What the pairs of a text are to it. A later pair has the flag of the one two bytes before it, [`LATER`] bits higher.
const FIRST: u8 = 1;
const SECOND: u8 = 2;
const THIRD: u8 = FIRST << LATER;
const FOURTH: u8 = SECOND << LATER;

/// The same of a text of two or three bytes. Of the pairs here, the first one may begin before it.
const SHORT: u8 = 4;
const SHORT_THIRD: u8 = SHORT << LATER;
const BEFORE_SHORT: u8 = 8;
const SHORT_SECOND: u8 = BEFORE_SHORT << LATER;

const LATER: u32 = 4;

/// Places that are checked at once.
const BLOCK: usize = 16;

impl BytePairs {
    #[expect(clippy::large_stack_arrays, reason = "an array, so that no index is checked; 64 KiB for a moment")]
    fn new() -> Self {
        Self { flags: Box::new([0; 1 << 16]), inner: [false; 256] }
    }

    /// Adds a flag to the pair of these bytes, or to all pairs with one of them.
    fn add(&mut self, first: Option<&u8>, second: Option<&u8>, flag: u8) {
        let bytes = |byte: Option<&u8>| byte.map_or(0..=u8::MAX, |byte| *byte..=*byte);
        for first in bytes(first) {
            for second in bytes(second) {
                self.flags[usize::from(u16::from_le_bytes([first, second]))] |= flag;
            }
        }
    }

    fn add_text(&mut self, text: &[u8]) {
        let byte = |at: usize| text.get(at);
        text[..text.len() - 1].iter().for_each(|byte| self.inner[usize::from(*byte)] = true);
        if text.len() > 3 {
            for (at, flag) in [FIRST, SECOND, THIRD, FOURTH].into_iter().enumerate() {
                self.add(byte(at), byte(at + 1), flag);
            }
        } else {
            self.add(byte(0), byte(1), SHORT);
            self.add(byte(2), None, SHORT_THIRD);
            self.add(None, byte(0), BEFORE_SHORT);
            self.add(byte(1), byte(2), SHORT_SECOND);
        }
    }

    /// Whether a text may have another byte after this one.
    pub fn goes_on_after(&self, byte: u8) -> bool {
        self.inner[usize::from(byte)]
    }

    /// Whether a text may have these bytes one after the other.
    pub fn has(&self, first: u8, second: u8) -> bool {
        self.get(first, second) != 0
    }

    /// Whether a text may begin with these bytes. It has more than one.
    pub fn may_begin(&self, bytes: &[u8]) -> bool {
        let pairs = bytes.iter().zip(bytes.iter().skip(1)).map(|(first, second)| self.get(*first, *second));
        let has = |flags: &[u8]| pairs.clone().zip(flags).all(|(pair, flag)| pair & flag != 0);
        has(&[FIRST, SECOND, THIRD, FOURTH]) || has(&[SHORT, SHORT_SECOND])
    }

    fn get(&self, first: u8, second: u8) -> u8 {
        self.flags[usize::from(u16::from_le_bytes([first, second]))]
    }
}

impl std::fmt::Debug for BytePairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} pairs", self.flags.iter().filter(|what| **what != 0).count())
    }
}

/// Texts of at least two bytes, each with its meaning.
#[derive(Clone, Debug)]
pub(super) struct TextSearch<T> {
    /// The pairs of bytes that texts begin with.
    pub pairs: BytePairs,
    /// The meanings of each text, in the order of the texts.
    texts: Vec<(Vec<u8>, Vec<T>)>,
    /// Where the texts are that begin with a byte, by this byte.
    places: Box<[usize]>,
}

impl<T> TextSearch<T> {
    /// Searches for the first [`LONGEST`] bytes of each text. A text of fewer than two bytes is never found.
    pub fn new(texts: impl IntoIterator<Item = (Vec<u8>, T)>) -> Self {
        let (mut pairs, mut known) = (BytePairs::new(), BTreeMap::new());
        for (mut text, meaning) in texts {
            text.truncate(LONGEST);
            if text.len() > 1 {
                known.entry(text).or_insert_with(Vec::new).push(meaning);
            }
        }
        for text in known.keys() {
            pairs.add_text(text);
        }
        let texts: Vec<(Vec<u8>, Vec<T>)> = known.into_iter().collect();
        let place = |byte: usize| texts.partition_point(|(text, _)| usize::from(text[0]) < byte);
        Self { pairs, places: (0..=256).map(place).collect(), texts }
    }

    /// The first position, at or after `from`, where a secret may begin. It has more than two bytes.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let begins = |at: usize| match bytes.get(at..) {
            Some(text @ [first, second, _, ..]) => {
                self.pairs.get(*first, *second) & (FIRST | SHORT) != 0
                    && self.pairs.may_begin(&text[..text.len().min(LONGEST - 1)])
            }
            _ => false,
        };
        // Every second pair is enough: it is the first and third pair of a text, or the second and fourth.
        let mut at = from;
        while let Some(block) = bytes.get(at + 1..at + 3 + BLOCK) {
            let (pairs, _) = block.as_chunks::<2>();
            let known = pairs.iter().map(|pair| self.pairs.get(pair[0], pair[1]));
            let both = known.fold((0, BEFORE_SHORT), |(both, last), pair| (both | (last & (pair >> LATER)), pair)).0;
            if both != 0 {
                // The texts of the first and of the second pair begin at different places.
                let (odd, even) = (both & (FIRST | SHORT) != 0, both & (SECOND | BEFORE_SHORT) != 0);
                let found =
                    (0..BLOCK).find(|&offset| (if offset % 2 == 0 { even } else { odd }) && begins(at + offset));
                if let Some(offset) = found {
                    return Some(at + offset);
                }
            }
            at += BLOCK;
        }
        (at..bytes.len()).find(|&at| begins(at))
    }

    /// The meanings of each text that `bytes` begins with, in the order in which they came.
    pub fn at<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = &'a [T]> {
        let [first, second] = bytes.first_chunk().copied().unwrap_or_default();
        let texts = &self.texts[self.places[usize::from(first)]..self.places[usize::from(first) + 1]];
        let texts = &texts[texts.partition_point(|(text, _)| text[1] < second)..];
        let alike = texts.iter().take_while(move |(text, _)| text[1] == second);
        alike.filter(|(text, _)| bytes.starts_with(text)).map(|(_, meanings)| meanings.as_slice())
    }
}
