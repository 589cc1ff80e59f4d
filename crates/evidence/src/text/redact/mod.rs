//! Masks secrets in stored text: the values of known secret variables in every form that text may have, well-known kinds of
//! keys, and passwords in addresses.
//!
//! One search finds where a secret may begin, by its first bytes. A second check at each such place decides. If the check
//! needs bytes that have not arrived yet, it waits for them. So a stream in pieces is masked like the whole.
//!
//! Known values are also found in the *squeezed* text: the text without insertions, which tools put between characters.

mod cursor;
mod shapes;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use cursor::BreakScanner;
use cursor::{ByteCursor, NeedsMoreBytes};
use percent_encoding::percent_decode_str;
use shapes::password;
use shapes::{FormEnd, SecretForm};
use shapes::{KeyReader, KeyTail, LOOK_BEHIND};

use crate::files::look;
use crate::text::cut;
pub use shapes::strings;

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
        let forms: BTreeSet<SecretForm> = values.into_iter().flat_map(shapes::forms).collect();
        let forms: Vec<SecretForm> = forms.into_iter().collect();
        let of_forms = forms.iter().enumerate().flat_map(|(at, form)| {
            let mut found = Vec::new();
            form.beginnings(&mut found);
            found.into_iter().map(move |text| (text, SecretKind::Form(at)))
        });
        let of_shapes = shapes::beginnings().map(|text| (text.as_bytes().to_vec(), SecretKind::Shape));
        let of_passwords = shapes::BEGINNINGS.map(|text| (text.as_bytes().to_vec(), SecretKind::Password));
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
        let mut buffer = [0; LONGEST];
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
                shapes::password(cursor)?.map(|Range { start, end }| Secret { start, end, tail: None, mask: MASK })
            }
            Some(_) => shapes::begins(cursor)?.map(|(end, tail)| Secret { start, end, tail: Some(tail), mask: MASK }),
            None => None,
        })
    }
}

/// The next bytes, as many as are searched for.
fn first_bytes<'a>(mut cursor: ByteCursor<'_>, buffer: &'a mut [u8; LONGEST]) -> Result<&'a [u8], NeedsMoreBytes> {
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

struct SecretPlace {
    at: usize,
    /// Whether an insertion is among the first bytes.
    is_broken: bool,
}

impl PlaceFinder<'_> {
    /// The first place from `at`, and how far the text is known to have no other.
    fn next(&mut self, bytes: &[u8], at: usize, last: bool) -> (Option<SecretPlace>, usize) {
        // A secret whose first bytes are not all here yet begins after this.
        let mut decided = if last { bytes.len() } else { bytes.len().saturating_sub(LONGEST) };
        let search = &self.redactor.search;
        let whole = match self.whole {
            Some(whole) if whole >= at => whole,
            _ => search.find(bytes, at).unwrap_or(bytes.len()),
        };
        self.whole = Some(whole);
        // Only known values are found where something is inserted.
        if !self.redactor.forms.is_empty() {
            if let Some(at) = self.breaks.next(bytes, last, whole.min(decided), &search.pairs) {
                return (Some(SecretPlace { at, is_broken: true }), decided);
            }
            decided = if last { decided } else { decided.min(self.breaks.first_open()) };
        }
        (Some(SecretPlace { at: whole, is_broken: false }).filter(|place| place.at < decided), decided)
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
                cursor::start(&held, from, undecided, self.backslashes)
            };
            let Some(found) = found else {
                self.give(&held[from..start], out);
                from = start;
                break;
            };
            let cursor = |at| ByteCursor { bytes: &held, at, last, squeezed: false };
            let covered = |secret: Secret| Ok(Secret { end: cursor::end(cursor(start), secret.end)?, ..secret });
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

// A text without secrets.

/// The longest text that is kept of a call or a step, in bytes.
pub const MAX_TEXT: usize = 4_096;

/// A text without secrets. Only such a text may be cut: the part of a secret is not found any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked(String);

impl Redactor {
    /// `text` with every secret masked.
    pub fn masked(&self, text: &str) -> Masked {
        Masked(self.mask_text(text))
    }
}

impl Masked {
    /// A text of what is stored: the runner masked it when it wrote it.
    pub fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, cut to [`MAX_TEXT`], with the number of missing bytes.
    #[must_use]
    pub fn cut(self) -> String {
        match cut::bytes(&self.0, MAX_TEXT) {
            (_, 0) => self.0,
            (start, missing) => format!("{start}… ({missing} bytes more)"),
        }
    }
}

// Tells by their names which variables contain secrets.

/// Words in a variable's name that make its value a secret, also at the end of another word.
const ANYWHERE: [&str; 9] =
    ["PASSPHRASE", "PASSWORD", "PASSWD", "SECRET", "SECRETS", "TOKEN", "CREDENTIAL", "CREDENTIALS", "APIKEY"];

/// Words that do so only as whole words.
const ALONE: [&str; 6] = ["KEY", "PAT", "PASS", "CREDS", "PASSCODE", "AUTH"];

/// Last words of names whose values are not secrets themselves.
const ABOUT: [&str; 20] = [
    "PATH",
    "FILE",
    "DIR",
    "FOLDER",
    "SOCK",
    "SOCKET",
    "URL",
    "URI",
    "ENDPOINT",
    "NAME",
    "TYPE",
    "LIMIT",
    "COUNT",
    "BUDGET",
    "EXPIRY",
    "EXPIRES",
    "TTL",
    "HELPER",
    "ALGORITHM",
    "LAYOUT",
];

/// Headers of HTTP that hold no credential. Their values are ordinary words, which have to stay in what a model says.
const PLAIN_HEADERS: [&str; 3] = ["accept", "content-type", "user-agent"];

/// Whether a header may hold a credential.
pub fn is_secret_header(name: &str) -> bool {
    !PLAIN_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str())
}

/// Whether a variable of this name and value looks like a secret: `GH_PAT`, `DB_PASS`, `API_TOKEN_2`, `OPENAI_API_KEY`,
/// `MY_PASSPHRASE_OLD`, `secretAccessKey`.
pub fn looks_secret(name: &str, value: &str) -> bool {
    let name = words_apart(name).to_ascii_uppercase();
    // `TOKEN2` is a token, and so is `TOKEN_2`.
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let Some(last) = words.last() else { return false };
    if ABOUT.contains(last) {
        return false;
    }
    let has_secret = words.iter().any(|word| is_secret(word)) || (words.len() > 1 && words.contains(&"PWD"));
    let has_secret = has_secret || *last == "AUTHORIZATION";
    // The path of a key is not a secret, but a key may begin like a path.
    has_secret && !(value.starts_with('/') && look::is_usable(Path::new(value)))
}

/// `apiKey` as `api_Key`.
fn words_apart(name: &str) -> String {
    let mut apart = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii_uppercase() && apart.ends_with(|before: char| before.is_ascii_lowercase()) {
            apart.push('_');
        }
        apart.push(c);
    }
    apart
}

fn is_secret(word: &str) -> bool {
    ANYWHERE.iter().any(|secret| word.ends_with(secret) || (secret.len() > 7 && word.contains(secret)))
        || ALONE.contains(&word)
        || (word.ends_with("KEY") && !word.ends_with("MONKEY"))
        || (word.ends_with("PASS") && !["BYPASS", "ASKPASS", "COMPASS"].contains(&word))
}

// Secrets in command lines and addresses, which configurations have: `--api-key KEY`, `TOKEN=…`, `-H 'X-Key: …'`,
// `https://host/?key=…`, `postgres://user:password@host`.

/// Options for a header.
const HEADER: [&str; 2] = ["-H", "--header"];

/// The secrets in a command line or an address. Of a value with escapes of addresses also what they stand for.
pub fn secrets_within(text: &str) -> Vec<String> {
    let is_between = |c: char| c.is_whitespace() || "\"'`".contains(c);
    let words: Vec<&str> = text.split(is_between).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<&str> = passwords(text);
    for (at, word) in words.iter().enumerate() {
        let parts = word.split(['?', '&', ';', ',']).chain([*word]);
        found.extend(parts.flat_map(assignments).filter_map(value_of));
        let rest = &words[at + 1..];
        if let Some(first) = HEADER.iter().find_map(|option| word.strip_prefix(option)) {
            let first = first.trim_start_matches('=');
            let own = Some((&first, rest)).filter(|_| !first.is_empty());
            found.extend(own.or_else(|| rest.split_first()).and_then(header));
        } else if let Some(value) = rest.first()
            && (is_option_with(word, value) || word.ends_with('='))
        {
            found.extend(value_of((word.trim_end_matches('='), value)));
        }
    }
    let decoded = |value: &&str| percent_decode_str(value).decode_utf8().ok().map(String::from);
    let decoded: Vec<String> = found.iter().filter(|value| value.contains('%')).filter_map(decoded).collect();
    found.into_iter().map(str::to_owned).chain(decoded).collect()
}

/// The secrets in these command lines.
pub fn secrets_within_all(commands: &[String]) -> Vec<String> {
    commands.iter().flat_map(|command| secrets_within(command)).collect()
}

/// The credential in a header alone: `Authorization: Bearer KEY`.
pub fn secret_of_header(line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, _) = words.first()?.split_once(':')?;
    if !looks_secret(name, "") {
        return None;
    }
    words.split_first().and_then(header).map(str::to_owned)
}

/// Each name before a `=` with all that follows: `--env=TOKEN=x` has two.
fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices('=').map(|(at, _)| {
        let before = &text[..at];
        (before.rsplit('=').next().unwrap_or(before), &text[at + 1..])
    })
}

/// Whether a word is an option and the next word may be its value.
pub fn is_option_with(word: &str, value: &str) -> bool {
    word.starts_with('-') && !word.contains('=') && !value.starts_with("--")
}

/// Whether a word before a credential names its kind.
pub fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token"].contains(&word.to_ascii_lowercase().as_str())
}

/// The value, if it has the name of a secret.
fn value_of<'a>((name, value): (&str, &'a str)) -> Option<&'a str> {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    (is_name && !value.is_empty() && looks_secret(name, value)).then_some(value)
}

/// The credential in a header that begins with `word`.
fn header<'a>((word, rest): (&&'a str, &[&'a str])) -> Option<&'a str> {
    let (name, value) = word.split_once(':')?;
    let mut values = [value].into_iter().chain(rest.iter().copied()).filter(|value| !value.is_empty());
    values.find(|value| !is_scheme(value)).filter(|_| is_secret_header(name))
}

/// The passwords of the addresses in a text.
fn passwords(text: &str) -> Vec<&str> {
    let cursor = |at| ByteCursor { bytes: text.as_bytes(), at, last: true, squeezed: false };
    let starts = shapes::BEGINNINGS.iter().flat_map(|start| text.match_indices(start));
    starts.filter_map(|(at, _)| password(cursor(at)).ok()?).map(|range| &text[range]).collect()
}

// Finds where one of many short texts may begin, about as fast as bytes can be read.

/// The longest text that is searched for. Of a longer text only the start is compared.
const LONGEST: usize = 6;

/// The pairs of bytes that texts begin with.
#[derive(Clone)]
struct BytePairs {
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
struct TextSearch<T> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_at_the_cut_leaves_no_part_of_itself() {
        let key = "sk-proj-aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
        let redactor = Redactor::new([key]);
        for before in MAX_TEXT - key.len()..MAX_TEXT {
            let cut = redactor.masked(&format!("{}{key}{}", "x".repeat(before), "y".repeat(100))).cut();
            assert!(!cut.contains(&key[..8]), "{before}");
        }
    }
}
