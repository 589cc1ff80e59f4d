//! Masks secrets in what is kept: the values of known secret variables in every form in which text carries them, and
//! the shapes of well-known keys.
//!
//! One search finds the places where a secret may begin, by its first bytes; a look at each such place tells whether it
//! does. A look that needs more bytes than have come waits for them, so that a stream in pieces is masked as a whole.

mod cursor;
mod escapes;
mod names;
mod search;
mod shapes;
mod value;

pub use names::looks_secret;
pub use value::strings;

use std::borrow::Cow;
use std::collections::BTreeSet;

use cursor::{ByteCursor, NeedsMoreBytes};
use search::TextSearch;
use shapes::{KeyReader, KeyTail, LOOK_BEHIND};
use value::SecretForm;

/// What stands in place of a secret.
pub const MASK: &str = "[masked]";

/// What stands in place of a secret that is a number: JSON may have it without quotes, and stays JSON.
const NUMBER_MASK: &str = "99999999";

/// Whether something in a text may be masked: what it was cannot be seen.
#[must_use]
pub fn is_masked(text: &str) -> bool {
    [MASK, NUMBER_MASK].iter().any(|mask| text.contains(mask))
}

/// Knows what to mask.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// Finds the beginnings of secrets.
    search: TextSearch<SecretKind>,
    /// Forms of known values, longer ones first: of two that start alike the whole one goes.
    forms: Vec<SecretForm>,
}

/// What may begin somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SecretKind {
    /// The form of this number.
    Form(usize),
    /// A well-known key.
    Shape,
}

/// A secret that begins somewhere.
struct Secret {
    /// Where it ends, or where `tail` goes on.
    end: usize,
    /// How it goes on there.
    tail: Option<KeyTail>,
    /// What stands in its place.
    mask: &'static str,
}

impl Redactor {
    /// Masks these values, plain, escaped and in base64, and the shapes of well-known keys. Values of fewer than eight
    /// bytes are words, and stay.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let forms: BTreeSet<SecretForm> = values.into_iter().flat_map(value::forms).collect();
        let mut forms: Vec<SecretForm> = forms.into_iter().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let of_forms = forms.iter().enumerate().flat_map(|(at, form)| {
            let mut found = Vec::new();
            form.beginnings(&mut found);
            found.into_iter().map(move |text| (text, SecretKind::Form(at)))
        });
        let of_shapes = shapes::beginnings().map(|text| (text.as_bytes().to_vec(), SecretKind::Shape));
        Self { search: TextSearch::new(of_forms.chain(of_shapes)), forms }
    }

    /// `bytes` with every secret masked.
    #[must_use]
    pub fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.search.find(bytes, 0).is_none() {
            return Cow::Borrowed(bytes);
        }
        let mut stream = self.stream();
        let mut masked = stream.push(bytes);
        masked.extend(stream.finish());
        Cow::Owned(masked)
    }

    /// `text` with every secret masked.
    #[must_use]
    pub fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Masks a stream that comes in pieces, as [`mask`](Self::mask) masks the whole.
    #[must_use]
    pub fn stream(&self) -> Masker<'_> {
        Masker { redactor: self, held: Vec::new(), seen: 0, eater: None, masked: false, backslashes: 0 }
    }

    /// The secret that begins at the cursor.
    fn secret(&self, cursor: ByteCursor<'_>) -> Result<Option<Secret>, NeedsMoreBytes> {
        for kind in self.search.at(&cursor.bytes[cursor.at..]) {
            match kind {
                SecretKind::Form(form) => {
                    let form = &self.forms[form];
                    if let Some(end) = form.end(cursor)? {
                        let mask = if form.is_number() { NUMBER_MASK } else { MASK };
                        return Ok(Some(Secret { end, tail: None, mask }));
                    }
                }
                SecretKind::Shape => {
                    let secret = |(end, tail)| Secret { end, tail: Some(tail), mask: MASK };
                    return Ok(shapes::begins(cursor)?.map(secret));
                }
            }
        }
        Ok(None)
    }
}

/// Masks a stream piece by piece. It keeps back what may be the start of a secret.
#[derive(Debug)]
pub struct Masker<'a> {
    redactor: &'a Redactor,
    /// The stream's last bytes.
    held: Vec<u8>,
    /// How many of `held` were given out; some stay, since what is a key depends on what stands in front of it.
    seen: usize,
    /// Eats a key that has begun.
    eater: Option<KeyReader>,
    /// Whether what was given out last was a mask.
    masked: bool,
    /// How many backslashes were given out last.
    backslashes: usize,
}

impl Masker<'_> {
    /// Takes a piece; returns what can be written now.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        self.go_on(false)
    }

    /// What is still held, at the stream's end.
    pub fn finish(&mut self) -> Vec<u8> {
        self.go_on(true)
    }

    /// Gives out what is decided.
    fn go_on(&mut self, last: bool) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut out = Vec::with_capacity(held.len());
        // What is given out next, and where to search on.
        let (mut from, mut at) = (self.seen, self.seen);
        // A beginning that is cut off here begins behind this.
        let decided = if last { held.len() } else { held.len().saturating_sub(search::LONGEST - 1) };
        loop {
            if let Some(eater) = &mut self.eater {
                let (eaten, over) = eater.eat(&held[at..], last);
                at += eaten;
                from = at;
                if !over {
                    break;
                }
                self.eater = None;
            }
            let found = self.redactor.search.find(&held, at).filter(|start| *start < decided);
            // A mask takes escapes whole: it may begin in front of the secret.
            let undecided = found.unwrap_or(decided.max(from));
            let start = if last && found.is_none() {
                undecided
            } else {
                escapes::start(&held, from, undecided, self.backslashes)
            };
            let Some(found) = found else {
                self.give(&held[from..start], &mut out);
                from = start;
                break;
            };
            let cursor = |at| ByteCursor { bytes: &held, at, last };
            let whole = |secret: Secret| Ok(Secret { end: escapes::end(cursor(start), secret.end)?, ..secret });
            match self.redactor.secret(cursor(found)).and_then(|secret| secret.map(whole).transpose()) {
                Ok(None) => at = found + 1,
                Ok(Some(Secret { end, tail, mask })) => {
                    self.give(&held[from..start], &mut out);
                    if !self.masked {
                        out.extend_from_slice(mask.as_bytes());
                    }
                    (self.masked, self.backslashes) = (true, 0);
                    self.eater = tail.map(KeyReader::new);
                    (from, at) = (end, end);
                }
                Err(NeedsMoreBytes) => {
                    self.give(&held[from..start], &mut out);
                    from = start;
                    break;
                }
            }
        }
        let keep = from.saturating_sub(LOOK_BEHIND);
        self.seen = from - keep;
        self.held = held[keep..].to_vec();
        out
    }

    fn give(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.masked &= bytes.is_empty();
        let backslashes = bytes.iter().rev().take_while(|byte| **byte == b'\\').count();
        self.backslashes = backslashes + if backslashes == bytes.len() { self.backslashes } else { 0 };
        out.extend_from_slice(bytes);
    }
}
