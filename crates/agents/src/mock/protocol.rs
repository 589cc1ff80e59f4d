//! What a mock asks the runner, and how: over pipes in a directory that the room shows.
//!
//! A mock writes its request to the pipe [`LOG`], and reads the reply from a pipe with the id of the request, which the runner then
//! makes. It is not a socket, because the sandbox of an agent may keep its commands from all sockets, and lets them open files.
//!
//! Several mocks write at once, and others may write anything. So a request is written in chunks, a line each: its id, the number of the
//! chunk, the number of chunks, and a part of it as JSON in base64. The kernel writes a chunk whole. It begins with a line break,
//! so that nothing that is there before it can spoil it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::mcp::OfferedTool;
use crate::trial::input_file::{Bytes, ProgramOutput};

/// The pipe for requests.
pub(super) const LOG: &str = "log";

/// How long a mock waits before it looks again for the reply.
pub(super) const PAUSE: Duration = Duration::from_millis(1);

/// The length of a part of a request, in bytes of JSON. With the rest, a chunk is shorter than the 512 bytes that every system writes
/// whole.
const PART: usize = 300;

/// Maximum number of chunks of a request: the longest arguments that a system passes on, and [`MAX_INPUT`].
const MAX_PARTS: usize = 50_000;

/// Maximum size of requests of which a part is missing, in bytes.
const MAX_PENDING: usize = 32 << 20;

/// What a chunk takes in memory besides its part, in bytes.
const CHUNK: usize = 100;

/// How much of a standard input is sent, in bytes.
pub(super) const MAX_INPUT: u64 = 1 << 20;

/// How much of each stream of a real program is recorded, in bytes.
pub(super) const MAX_OUTPUT: usize = 4 << 20;

/// What a mock asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// A command is called.
    Call(Call),
    /// The tools of this MCP server.
    Tools(String),
    /// A tool of a server is called.
    Tool { server: String, tool: String, input: Map<String, Value> },
    /// The real program ended that the reply to this request named.
    Ended { id: String, output: ProgramOutput },
}

/// A call of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Call {
    pub name: String,
    pub args: String,
    /// What it read, and the id of its first request: it has read because of the reply.
    pub read: Option<(Bytes, String)>,
}

/// What the runner replies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The answer depends on the standard input.
    ReadInput,
    Output {
        stdout: Bytes,
        stderr: String,
        exit_code: u8,
        files: Vec<(String, Bytes)>,
    },
    /// The real program answers: this one, or else the next one on the PATH. The runner may want its output.
    RealProgram {
        program: Option<PathBuf>,
        is_recorded: bool,
    },
    /// Nothing answers.
    Nothing,
    /// The name of a server and its tools.
    Tools(String, Vec<OfferedTool>),
    /// The text of a tool, or of its error.
    Text(Result<String, String>),
}

/// Asks the runner, by the pipes in `share`. Returns the id of the request too.
pub(super) fn ask(share: &Path, request: &Request) -> io::Result<(Reply, String)> {
    let id = format!("{:016x}", RandomState::new().hash_one(0));
    write(&mut OpenOptions::new().write(true).open(share.join(LOG))?, &id, request)?;
    let place = share.join(&id);
    let mut pipe = loop {
        match File::open(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => thread::sleep(PAUSE),
            opened => break opened?,
        }
    };
    let mut reply = Vec::new();
    pipe.read_to_end(&mut reply)?;
    Ok((serde_json::from_slice(&reply)?, id))
}

pub(super) fn write(log: &mut impl Write, id: &str, request: &Request) -> io::Result<()> {
    let text = serde_json::to_vec(request)?;
    let count = text.chunks(PART).count();
    for (number, part) in text.chunks(PART).enumerate() {
        log.write_all(format!("\n{id} {number} {count} {}\n", STANDARD.encode(part)).as_bytes())?;
    }
    Ok(())
}

/// Puts requests together again.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pending: HashMap<String, (usize, BTreeMap<usize, Vec<u8>>)>,
    size: usize,
    /// Lines that are no chunk, and chunks for which there was no room.
    lost: u64,
}

impl Requests {
    /// A request with its id, if this line was its last missing chunk.
    pub(super) fn push(&mut self, line: &[u8]) -> Option<(String, Request)> {
        if line.is_empty() {
            return None;
        }
        let Some((id, number, count, part)) = chunk(line).filter(|_| self.size < MAX_PENDING) else {
            self.lost += 1;
            return None;
        };
        let (first_count, parts) = self.pending.entry(id.to_owned()).or_insert((count, BTreeMap::new()));
        match parts.entry(number) {
            Entry::Vacant(place) if number < *first_count => {
                self.size += part.len() + CHUNK;
                place.insert(part);
            }
            _ => self.lost += 1,
        }
        if parts.len() < *first_count {
            return None;
        }
        let (_, parts) = self.pending.remove(id)?;
        self.size -= parts.values().map(|part| part.len() + CHUNK).sum::<usize>();
        let request = serde_json::from_slice(&parts.into_values().collect::<Vec<_>>().concat());
        self.lost += u64::from(request.is_err());
        request.ok().map(|request| (id.to_owned(), request))
    }

    /// Counts what is no chunk.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    /// How much could not be read, if no more comes.
    pub(super) fn lost(&self) -> u64 {
        self.lost + self.pending.len() as u64
    }
}

/// The id of a request, the number of the chunk, the number of chunks, and the part of the request.
fn chunk(line: &[u8]) -> Option<(&str, usize, usize, Vec<u8>)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    // It becomes the name of a file.
    let id = words.next().filter(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let (number, count) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let part = STANDARD.decode(words.next()?).ok()?;
    (number < count && count <= MAX_PARTS).then_some((id, number, count, part))
}
