//! Masks secrets in stored text: the values of known secret variables in every form that text may have, well-known kinds of
//! keys, and passwords in addresses.
//!
//! One search finds where a secret may begin, by its first bytes. A second check at each such place decides. If the check
//! needs bytes that have not arrived yet, it waits for them. So a stream in pieces is masked like the whole.
//!
//! Known values are also found in the *squeezed* text: the text without insertions, which tools put between characters.

mod address;
mod breaks;
mod characters;
mod command_line;
mod cursor;
mod escapes;
mod masked;
mod names;
mod search;
mod shapes;
mod value;

pub use command_line::{is_option_with, is_scheme, secret_of_header, secrets_within, secrets_within_all};
pub use masked::{MAX_TEXT, Masked};
pub use names::{is_secret_header, looks_secret};
pub use value::strings;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use breaks::BreakScanner;
use cursor::{ByteCursor, NeedsMoreBytes};
use search::TextSearch;
use shapes::{KeyReader, KeyTail, LOOK_BEHIND};
use value::{FormEnd, SecretForm};

/// Replaces a secret.
pub const MASK: &str = "[masked]";

/// How much is masked at once: about what the fastest cache holds.
const PIECE: usize = 1 << 14;

/// Replaces a secret that is a number. JSON may contain it without quotes, and must stay JSON.
const NUMBER_MASK: &str = "99999999";

pub fn is_masked(text: &str) -> bool {
    [MASK, NUMBER_MASK].iter().any(|mask| text.contains(mask))
}

#[derive(Clone, Debug)]
pub struct Redactor {
    /// Finds where secrets may begin.
    search: TextSearch<SecretKind>,
    /// The forms of known values, sorted, so that those that begin alike are next to each other.
    forms: Vec<SecretForm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SecretKind {
    /// A form of a known value, by its index.
    Form(usize),
    /// A well-known key.
    Shape,
    /// The password of an address.
    Password,
}

struct Secret {
    start: usize,
    /// Where it ends, or where `tail` begins.
    end: usize,
    /// The rest of a key whose end is not known yet.
    tail: Option<KeyTail>,
    mask: &'static str,
}

impl Redactor {
    /// Masks these values, however they are encoded or broken, well-known kinds of keys, and passwords in
    /// addresses. Values of fewer than eight bytes are not masked: they may be ordinary words.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let forms: BTreeSet<SecretForm> = values.into_iter().flat_map(value::forms).collect();
        let forms: Vec<SecretForm> = forms.into_iter().collect();
        let of_forms = forms.iter().enumerate().flat_map(|(at, form)| {
            let mut found = Vec::new();
            form.beginnings(&mut found);
            found.into_iter().map(move |text| (text, SecretKind::Form(at)))
        });
        let of_shapes = shapes::beginnings().map(|text| (text.as_bytes().to_vec(), SecretKind::Shape));
        let of_passwords = address::BEGINNINGS.map(|text| (text.as_bytes().to_vec(), SecretKind::Password));
        Self { search: TextSearch::new(of_forms.chain(of_shapes).chain(of_passwords)), forms }
    }

    /// `bytes` with every secret masked.
    pub fn mask<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.search.find(bytes, 0).is_none()
            && (self.forms.is_empty()
                || BreakScanner::new(0).next(bytes, true, bytes.len(), &self.search.pairs).is_none())
        {
            return Cow::Borrowed(bytes);
        }
        let mut stream = self.stream();
        let mut masked = Vec::with_capacity(bytes.len());
        for piece in bytes.chunks(PIECE) {
            stream.held.extend_from_slice(piece);
            stream.mask_so_far(false, &mut masked);
        }
        stream.mask_so_far(true, &mut masked);
        Cow::Owned(masked)
    }

    /// `text` with every secret masked.
    pub fn mask_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.mask(text.as_bytes())).into_owned()
    }

    /// Masks a stream in pieces, with the same result as [`mask`](Self::mask) for the whole.
    pub fn stream(&self) -> Masker<'_> {
        Masker { redactor: self, held: Vec::new(), returned: 0, key: None, masked: false, backslashes: 0 }
    }

    /// The secret at the cursor. If a value begins with another, it is the longer one.
    fn secret(&self, cursor: ByteCursor<'_>) -> Result<Option<Secret>, NeedsMoreBytes> {
        let (start, mut longest, mut other) = (cursor.at, None, None);
        let mut buffer = [0; search::LONGEST];
        let first = if cursor.squeezed { first_bytes(cursor, &mut buffer)? } else { &cursor.bytes[start..] };
        for mut kinds in self.search.at(first) {
            while let Some((kind, others)) = kinds.split_first() {
                kinds = others;
                let SecretKind::Form(form) = kind else {
                    other = Some(*kind);
                    continue;
                };
                let form = &self.forms[*form];
                match form.end(cursor)? {
                    FormEnd::At(end) if longest.is_none_or(|(longest, _)| longest < end) => {
                        longest = Some((end, if form.is_number() { NUMBER_MASK } else { MASK }));
                    }
                    FormEnd::At(_) => {}
                    // There may be thousands.
                    FormEnd::Differs(at) => {
                        let begins_alike =
                            |kind| matches!(kind, SecretKind::Form(other) if self.forms[other].begins_like(form, at));
                        kinds = &kinds[kinds.partition_point(|kind| begins_alike(*kind))..];
                    }
                }
            }
        }
        if let Some((end, mask)) = longest {
            return Ok(Some(Secret { start, end, tail: None, mask }));
        }
        Ok(match other.filter(|_| !cursor.squeezed) {
            Some(SecretKind::Password) => {
                address::password(cursor)?.map(|Range { start, end }| Secret { start, end, tail: None, mask: MASK })
            }
            Some(_) => shapes::begins(cursor)?.map(|(end, tail)| Secret { start, end, tail: Some(tail), mask: MASK }),
            None => None,
        })
    }
}

/// The next bytes, as many as are searched for.
fn first_bytes<'a>(
    mut cursor: ByteCursor<'_>,
    buffer: &'a mut [u8; search::LONGEST],
) -> Result<&'a [u8], NeedsMoreBytes> {
    let mut count = 0;
    while count < buffer.len()
        && let Some(byte) = cursor.peek()?
    {
        buffer[count] = byte;
        count += 1;
        cursor.skip(1);
    }
    Ok(&buffer[..count])
}

/// Finds the places where a secret may begin, in their order.
struct PlaceFinder<'a> {
    redactor: &'a Redactor,
    /// The first place where the text itself is like the beginning of a secret.
    whole: Option<usize>,
    /// Finds those where the text without insertions is.
    breaks: BreakScanner,
}

struct Place {
    at: usize,
    /// Whether an insertion is among the first bytes.
    is_broken: bool,
}

impl PlaceFinder<'_> {
    /// The first place from `at`, and how far the text is known to have no other.
    fn next(&mut self, bytes: &[u8], at: usize, last: bool) -> (Option<Place>, usize) {
        // A secret whose first bytes are not all here yet begins after this.
        let mut decided = if last { bytes.len() } else { bytes.len().saturating_sub(search::LONGEST) };
        let search = &self.redactor.search;
        let whole = match self.whole {
            Some(whole) if whole >= at => whole,
            _ => search.find(bytes, at).unwrap_or(bytes.len()),
        };
        self.whole = Some(whole);
        // Only known values are found where something is inserted.
        if !self.redactor.forms.is_empty() {
            if let Some(at) = self.breaks.next(bytes, last, whole.min(decided), &search.pairs) {
                return (Some(Place { at, is_broken: true }), decided);
            }
            decided = if last { decided } else { decided.min(self.breaks.first_open()) };
        }
        (Some(Place { at: whole, is_broken: false }).filter(|place| place.at < decided), decided)
    }
}

/// Masks a stream piece by piece. It holds back what may be the start of a secret.
#[derive(Debug)]
pub struct Masker<'a> {
    redactor: &'a Redactor,
    /// The last bytes of the stream.
    held: Vec<u8>,
    /// How many of `held` were returned already. Some stay, since they decide whether a key begins after them.
    returned: usize,
    /// Reads a key that has begun.
    key: Option<KeyReader>,
    /// Whether the output ends with a mask.
    masked: bool,
    /// How many backslashes the output ends with.
    backslashes: usize,
}

impl Masker<'_> {
    /// Takes a piece. Returns the masked text that is final.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let mut out = Vec::with_capacity(self.held.len());
        self.mask_so_far(false, &mut out);
        out
    }

    /// The rest, at the end of the stream.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.held.len());
        self.mask_so_far(true, &mut out);
        out
    }

    /// Adds the masked text that is final to `out`.
    fn mask_so_far(&mut self, last: bool, out: &mut Vec<u8>) {
        let mut held = std::mem::take(&mut self.held);
        // What is returned next, and where the search continues.
        let (mut from, mut at) = (self.returned, self.returned);
        let mut places = PlaceFinder { redactor: self.redactor, whole: None, breaks: BreakScanner::new(from) };
        loop {
            if let Some(key) = &mut self.key {
                let (read, is_over) = key.read(&held[at..], last);
                at += read;
                from = at;
                if !is_over {
                    break;
                }
                self.key = None;
                places.breaks = BreakScanner::new(from);
            }
            let (place, decided) = places.next(&held, at, last);
            let (found, is_broken) = (place.as_ref().map(|place| place.at), place.is_some_and(|place| place.is_broken));
            // A mask covers whole escapes, so it may begin before the secret.
            let undecided = found.unwrap_or(decided.max(from));
            let start = if last && found.is_none() {
                undecided
            } else {
                escapes::start(&held, from, undecided, self.backslashes)
            };
            let Some(found) = found else {
                self.give(&held[from..start], out);
                from = start;
                break;
            };
            let cursor = |at| ByteCursor { bytes: &held, at, last, squeezed: false };
            let covered = |secret: Secret| Ok(Secret { end: escapes::end(cursor(start), secret.end)?, ..secret });
            let here = ByteCursor { squeezed: is_broken, ..cursor(found) };
            match self.redactor.secret(here).and_then(|secret| secret.map(covered).transpose()) {
                Ok(None) if is_broken => places.breaks.take(),
                Ok(None) => at = found + 1,
                Ok(Some(Secret { start: password, end, tail, mask })) => {
                    self.give(&held[from..start], out);
                    if password > found {
                        // The user before it may be a secret, too.
                        self.give(&self.redactor.mask(&held[start..password]), out);
                    }
                    if !self.masked {
                        out.extend_from_slice(mask.as_bytes());
                    }
                    (self.masked, self.backslashes) = (true, 0);
                    self.key = tail.map(KeyReader::new);
                    (from, at) = (end, end);
                    places.breaks = BreakScanner::new(end);
                }
                Err(NeedsMoreBytes) => {
                    self.give(&held[from..start], out);
                    from = start;
                    break;
                }
            }
        }
        let keep = from.saturating_sub(LOOK_BEHIND);
        self.returned = from - keep;
        held.drain(..keep);
        self.held = held;
    }

    fn give(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.masked &= bytes.is_empty();
        let backslashes = bytes.iter().rev().take_while(|byte| **byte == b'\\').count();
        self.backslashes = backslashes + if backslashes == bytes.len() { self.backslashes } else { 0 };
        out.extend_from_slice(bytes);
    }
}
