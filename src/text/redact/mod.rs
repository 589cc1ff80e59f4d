//! Masks secrets in what is kept: the values of known secret variables in every form in which text carries them, and
//! the shapes of well-known keys.
//!
//! One search finds the places where a secret may begin, by its first bytes; a look at each such place tells whether it
//! does. A look that needs more bytes than have come waits for them, so that a stream in pieces is masked as a whole.

mod cursor;
mod names;
mod search;
mod shapes;
mod value;

pub use names::looks_secret;
pub use value::strings;

use std::borrow::Cow;
use std::collections::BTreeSet;

use cursor::{Cursor, More};
use search::Search;
use shapes::{Eater, LOOK_BEHIND, Tail};
use value::Form;

/// What stands in place of a secret.
pub const MASK: &str = "[masked]";

/// Knows what to mask.
#[derive(Clone, Debug)]
pub struct Redactor {
    /// Finds the beginnings of secrets.
    search: Search<Kind>,
    /// Forms of known values, longer ones first: of two that start alike the whole one goes.
    forms: Vec<Form>,
}

/// What may begin somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The form of this number.
    Form(usize),
    /// A well-known key.
    Shape,
}

impl Redactor {
    /// Masks these values, plain, escaped and in base64, and the shapes of well-known keys. Values of fewer than eight
    /// bytes are words, and stay.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let forms: BTreeSet<Form> = values.into_iter().flat_map(value::forms).collect();
        let mut forms: Vec<Form> = forms.into_iter().collect();
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        let of_forms = forms.iter().enumerate().flat_map(|(at, form)| {
            let mut found = Vec::new();
            form.beginnings(&mut found);
            found.into_iter().map(move |text| (text, Kind::Form(at)))
        });
        let of_shapes = shapes::beginnings().map(|text| (text.as_bytes().to_vec(), Kind::Shape));
        Self { search: Search::new(of_forms.chain(of_shapes)), forms }
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
        Masker { redactor: self, held: Vec::new(), seen: 0, eater: None, masked: false }
    }

    /// The end of the secret that begins at the cursor, and how it goes on there.
    fn secret(&self, cursor: Cursor<'_>) -> Result<Option<(usize, Option<Tail>)>, More> {
        for kind in self.search.at(&cursor.bytes[cursor.at..]) {
            match kind {
                Kind::Form(form) => {
                    if let Some(end) = self.forms[form].end(cursor)? {
                        return Ok(Some((end, None)));
                    }
                }
                Kind::Shape => return Ok(shapes::begins(cursor)?.map(|(end, tail)| (end, Some(tail)))),
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
    eater: Option<Eater>,
    /// Whether what was given out last was a mask.
    masked: bool,
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
                let (eaten, over) = eater.eat(&held[at..]);
                at += eaten;
                from = at;
                if !over {
                    break;
                }
                self.eater = None;
            }
            let Some(start) = self.redactor.search.find(&held, at).filter(|start| *start < decided) else {
                self.give(&held[from..decided.max(from)], &mut out);
                from = decided.max(from);
                break;
            };
            let cursor = Cursor { bytes: &held, at: start, last };
            match self.redactor.secret(cursor) {
                Ok(None) => at = start + 1,
                Ok(Some((end, tail))) => {
                    self.give(&held[from..start], &mut out);
                    if !self.masked {
                        out.extend_from_slice(MASK.as_bytes());
                    }
                    self.masked = true;
                    self.eater = tail.map(Eater::new);
                    (from, at) = (end, end);
                }
                Err(More) => {
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
        out.extend_from_slice(bytes);
    }
}
