//! `wire.jsonl`: a line for each exchange that came to the door, in the order in which they ended.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use flate2::read::{MultiGzDecoder, ZlibDecoder};
use serde::{Deserialize, Serialize};

use crate::rules::Refusal;

/// What stands for the value of a header that holds a credential.
pub(crate) const HIDDEN: &str = "[credential]";

/// What two bodies must share so that the second is written as the rest behind the first, in bytes.
const LEAST_SHARED: usize = 512;

/// A request and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// Counted from 1 in the order in which requests came.
    pub n: u64,
    /// When the request came, in milliseconds since the room opened.
    pub at_ms: u64,
    pub method: String,
    pub host: String,
    pub port: u16,
    /// The path with its query.
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Part,
    /// Why it was not passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
    /// How many credentials of the user the door put into it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub credentials: u64,
    /// Whether its `prompt_cache_key` was replaced on its way. The body has that of the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_prompt: bool,
    /// The status that the room got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answer_headers: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Part::is_empty")]
    pub answer: Part,
    /// When the head of the answer came, in milliseconds since the room opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: u64,
    pub end: ExchangeEnd,
}

/// How an exchange ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeEnd {
    /// The room got the whole answer.
    Complete,
    /// The room went away first, or was closed.
    Dropped,
    /// The server could not be reached, or broke off; with its error.
    Upstream(String),
}

/// The bytes of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The number of an earlier exchange whose request body begins alike, and how many bytes are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<(u64, usize)>,
    /// The text, or what follows the bytes that are the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What is compressed, in Base64: only while its room is open, since readers decode it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    packed: String,
    /// How many more bytes passed than are kept: of what is no text, all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

impl Part {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn of(passed: &Passed) -> Self {
        let Passed { bytes, left_out, is_packed } = passed;
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { text: text.to_owned(), left_out: *left_out, ..Self::default() },
            Err(_) if *is_packed && *left_out == 0 => Self { packed: BASE64_STANDARD.encode(bytes), ..Self::default() },
            Err(_) => Self { left_out: left_out + bytes.len() as u64, ..Self::default() },
        }
    }

    /// Decodes what is compressed. What cannot be decoded is left out.
    fn unpack(&mut self, headers: &[(String, String)]) {
        let packed = BASE64_STANDARD.decode(std::mem::take(&mut self.packed)).unwrap_or_default();
        let coding = headers.iter().find(|(name, _)| name == CODING).map_or("", |(_, coding)| coding.as_str());
        match unpacked(coding, &packed).and_then(|bytes| String::from_utf8(bytes).ok()) {
            Some(text) if !packed.is_empty() => self.text = text,
            _ => self.left_out += packed.len() as u64,
        }
    }
}

/// The header that says how a body is compressed.
pub(crate) const CODING: &str = "content-encoding";

/// The bytes of a compressed body; `None` if they are too many, or its coding is not known here.
fn unpacked(coding: &str, packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = MOST_OF_BODY as u64;
    let read = match coding.to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => MultiGzDecoder::new(packed).take(most + 1).read_to_end(&mut bytes),
        "deflate" => ZlibDecoder::new(packed).take(most + 1).read_to_end(&mut bytes),
        _ => return None,
    };
    read.ok().filter(|read| *read as u64 <= most).map(|_| bytes)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A body that passed, as far as it is kept.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) left_out: u64,
    /// Whether it is compressed: then it is kept though it is no text.
    pub(crate) is_packed: bool,
}

/// The most bytes that are kept of a body, and of all bodies of a room: programs in it may fetch packages without end.
const MOST_OF_BODY: usize = 64 << 20;
const MOST_OF_ROOM: u64 = 512 << 20;

impl Passed {
    /// Adds bytes, if all of the body is kept so far. `all` counts what is kept in the room.
    pub(crate) fn add(&mut self, data: &[u8], all: &AtomicU64) {
        let is_binary = || std::str::from_utf8(data).is_err_and(|error| error.error_len().is_some());
        let is_kept = self.left_out == 0
            && self.bytes.len() + data.len() <= MOST_OF_BODY
            && (self.is_packed || !(self.bytes.is_empty() && is_binary()))
            && all.load(Ordering::Relaxed) + data.len() as u64 <= MOST_OF_ROOM;
        if is_kept {
            all.fetch_add(data.len() as u64, Ordering::Relaxed);
            self.bytes.extend_from_slice(data);
        } else {
            self.left_out += data.len() as u64;
        }
    }
}

/// Writes the record of a room.
pub(crate) struct RecordWriter {
    path: PathBuf,
    file: File,
    /// The last request body for each host and path, with its number.
    last: HashMap<String, (u64, String)>,
    failed: Option<io::Error>,
}

impl RecordWriter {
    pub(crate) fn new(path: &Path) -> Result<Self, RecordError> {
        let file = File::create_new(path).map_err(|source| RecordError::Write { path: path.to_path_buf(), source })?;
        Ok(Self { path: path.to_path_buf(), file, last: HashMap::new(), failed: None })
    }

    /// Whether a line could not be written.
    pub(crate) fn is_broken(&self) -> bool {
        self.failed.is_some()
    }

    /// Says that something passed, or could have, that the record lacks.
    pub(crate) fn fail(&mut self, error: io::Error) {
        self.failed.get_or_insert(error);
    }

    /// Adds an exchange, whose bodies are given apart.
    pub(crate) fn add(&mut self, mut exchange: Exchange, request: &Passed, answer: &Passed) {
        exchange.body = Part::of(request);
        exchange.answer = Part::of(answer);
        self.write(exchange);
    }

    fn write(&mut self, mut exchange: Exchange) {
        self.shorten(&mut exchange);
        let written = serde_json::to_vec(&exchange).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.file.write_all(&line)
        });
        if let Err(error) = written {
            self.fail(error);
        }
    }

    /// Writes a body that begins as the last one to the same place as what follows.
    fn shorten(&mut self, exchange: &mut Exchange) {
        let text = &exchange.body.text;
        if text.len() < LEAST_SHARED {
            return;
        }
        let whole = text.clone();
        let place = exchange.path.split('?').next().unwrap_or_default();
        let place = format!("{}:{}{place}", exchange.host, exchange.port);
        if let Some((n, last)) = self.last.get(&place) {
            let mut shared = last.bytes().zip(whole.bytes()).take_while(|(a, b)| a == b).count();
            while !whole.is_char_boundary(shared) {
                shared -= 1;
            }
            if shared >= LEAST_SHARED {
                exchange.body.like = Some((*n, shared));
                whole[shared..].clone_into(&mut exchange.body.text);
            }
        }
        self.last.insert(place, (exchange.n, whole));
    }

    /// Ends the record: what it says is on the disk, or the error is known.
    pub(crate) fn finish(&mut self) -> Result<(), RecordError> {
        let failed = self.failed.take().map_or_else(|| self.file.sync_data(), Err);
        failed.map_err(|source| RecordError::Write { path: self.path.clone(), source })
    }
}

/// Why a record cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{}: the record of the room cannot be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{}: the record of the room cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}:{line}: this is no exchange: {source}", path.display())]
    Line { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{}:{line}: the body continues that of exchange {n}, which is not before it", path.display())]
    Like { path: PathBuf, line: usize, n: u64 },
}

/// The exchanges of a record with whole bodies, in the order in which the requests came.
pub fn read_record(path: &Path) -> Result<Vec<Exchange>, RecordError> {
    let unreadable = |source| RecordError::Read { path: path.to_path_buf(), source };
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut at: HashMap<u64, usize> = HashMap::new();
    for (index, line) in BufReader::new(File::open(path).map_err(unreadable)?).lines().enumerate() {
        let (text, line) = (line.map_err(unreadable)?, index + 1);
        let parsed = serde_json::from_str(&text);
        let mut exchange: Exchange =
            parsed.map_err(|source| RecordError::Line { path: path.to_path_buf(), line, source })?;
        if let Some((n, shared)) = exchange.body.like.take() {
            let earlier = at.get(&n).and_then(|at| exchanges[*at].body.text.get(..shared));
            let earlier = earlier.ok_or_else(|| RecordError::Like { path: path.to_path_buf(), line, n })?;
            exchange.body.text.insert_str(0, earlier);
        }
        exchange.body.unpack(&exchange.headers);
        exchange.answer.unpack(&exchange.answer_headers);
        at.insert(exchange.n, exchanges.len());
        exchanges.push(exchange);
    }
    exchanges.sort_by_key(|exchange| exchange.n);
    Ok(exchanges)
}

/// Writes exchanges as a new record, in which `mask` has hidden what must not be stored.
pub fn store_record(path: &Path, exchanges: Vec<Exchange>, mask: &dyn Fn(&str) -> String) -> Result<(), RecordError> {
    let mut writer = RecordWriter::new(path)?;
    for mut exchange in exchanges {
        for text in [&mut exchange.method, &mut exchange.host, &mut exchange.path] {
            *text = mask(text);
        }
        for (name, value) in exchange.headers.iter_mut().chain(&mut exchange.answer_headers) {
            (*name, *value) = (mask(name), mask(value));
        }
        for part in [&mut exchange.body, &mut exchange.answer] {
            part.text = mask(&part.text);
        }
        writer.write(exchange);
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(n: u64) -> Exchange {
        Exchange {
            n,
            at_ms: n,
            method: "POST".to_owned(),
            host: "api.anthropic.com".to_owned(),
            port: 443,
            path: "/v1/messages?beta=true".to_owned(),
            headers: vec![("x-api-key".to_owned(), HIDDEN.to_owned())],
            body: Part::default(),
            refused: None,
            credentials: 1,
            shares_prompt: false,
            status: Some(200),
            answer_headers: Vec::new(),
            answer: Part::default(),
            answered_ms: Some(n),
            ended_ms: n + 1,
            end: ExchangeEnd::Complete,
        }
    }

    fn passed(bytes: &[u8]) -> Passed {
        let mut passed = Passed::default();
        for part in bytes.chunks(3) {
            passed.add(part, &AtomicU64::new(0));
        }
        passed
    }

    #[test]
    fn what_is_no_text_or_more_than_a_room_may_keep_is_counted_only() {
        assert_eq!(passed("Grüße".as_bytes()).left_out, 0);
        let binary = passed(b"\xff\x00 binary");
        assert_eq!((binary.bytes.len(), binary.left_out), (0, 9));
        let (mut full, all) = (Passed::default(), AtomicU64::new(MOST_OF_ROOM - 4));
        for part in ["abc", "de", "f"] {
            full.add(part.as_bytes(), &all);
        }
        assert_eq!((full.bytes.as_slice(), full.left_out), (b"abc".as_slice(), 3), "a body has no hole");
    }

    #[test]
    fn a_conversation_is_written_once_and_read_whole() {
        let folder = std::env::temp_dir().join(format!("door-record-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a directory");
        let path = folder.join("wire.jsonl");
        let mut writer = RecordWriter::new(&path).expect("a file");
        let mut bodies = vec![format!("{}é", "a".repeat(5000))];
        for turn in 0..50 {
            bodies.push(format!("{}, turn {turn} with a secret", bodies[turn]));
        }
        for (n, body) in bodies.iter().enumerate() {
            writer.add(exchange(n as u64), &passed(body.as_bytes()), &passed(b"\xff\x00 binary"));
        }
        writer.finish().expect("a whole record");
        let exchanges = read_record(&path).expect("a record");
        for (exchange, body) in exchanges.iter().zip(&bodies) {
            assert_eq!(exchange.body.text, *body);
            assert_eq!((exchange.answer.text.as_str(), exchange.answer.left_out), ("", 9));
        }
        let stored = folder.join("stored.jsonl");
        store_record(&stored, exchanges, &|text| text.replace("secret", "[masked]")).expect("a whole record");
        let exchanges = read_record(&stored).expect("a record");
        for (exchange, body) in exchanges.iter().zip(&bodies) {
            assert_eq!(exchange.body.text, body.replace("secret", "[masked]"));
        }
        assert_eq!(exchanges.len(), bodies.len());
        let size = std::fs::metadata(&path).expect("a file").len();
        assert!(size < 50_000, "{size} bytes for {}", bodies.iter().map(String::len).sum::<usize>());
        std::fs::remove_dir_all(&folder).expect("nothing left");
    }
}
