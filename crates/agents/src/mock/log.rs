//! The record of calls: a pipe that the runner reads while they are made.
//!
//! A call is written in chunks, a line each: the id of the call, the number of the chunk, the number of chunks, and a part of the
//! call as JSON in base64. Nothing is cut here: the runner, which masks, would not find a part of a secret. The kernel writes a chunk
//! whole, whoever writes at the same time. A chunk begins with a line break, so that nothing that is there before it can spoil it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread::{self, JoinHandle};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::trial::mock::{MockCall, MockCalls};

/// The length of a part of a call, in bytes of JSON. With the rest, a chunk is shorter than the 512 bytes that every system writes
/// whole.
const PART: usize = 300;

/// Maximum number of chunks of a call.
const MAX_PARTS: usize = 10_000;

/// The longest line that is read, in bytes.
const MAX_LINE: u64 = 1024;

/// Maximum size of the record, in bytes.
const MAX_SIZE: usize = 8 << 20;

/// Maximum number of calls.
const MAX_CALLS: usize = 1000;

/// Adds a call to the record at `path`.
pub(super) fn add(path: &Path, call: &MockCall) -> io::Result<()> {
    let text = serde_json::to_vec(call)?;
    let (id, count) = (random(), text.chunks(PART).count());
    let mut log = OpenOptions::new().write(true).open(path)?;
    for (number, part) in text.chunks(PART).enumerate() {
        log.write_all(format!("\n{id} {number} {count} {}\n", STANDARD.encode(part)).as_bytes())?;
    }
    Ok(())
}

/// A word that nobody can guess.
fn random() -> String {
    format!("{:016x}", RandomState::new().hash_one(0))
}

/// The runner's end of the record. It reads until it is asked for the calls.
#[derive(Debug)]
pub struct CallLog {
    writer: File,
    /// The line that ends the record.
    end: String,
    reader: Option<JoinHandle<Vec<u8>>>,
}

impl CallLog {
    /// Makes a record at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
        // With both ends open, nobody waits for the other end, or comes to an end of the file.
        let writer = OpenOptions::new().read(true).write(true).open(path)?;
        let reader = BufReader::new(writer.try_clone()?);
        std::fs::set_permissions(path, Permissions::from_mode(0o200))?;
        let end = format!("{}{}", random(), random());
        let last = end.clone();
        let reader = thread::Builder::new().spawn(move || read(reader, last.as_bytes()))?;
        Ok(Self { writer, end, reader: Some(reader) })
    }

    /// The calls so far. No more are recorded.
    pub fn calls(mut self) -> MockCalls {
        let text = self.stop().unwrap_or_default();
        calls(&text)
    }

    fn stop(&mut self) -> Option<Vec<u8>> {
        let reader = self.reader.take()?;
        // The reader takes what others wrote, so this does not wait for room.
        self.writer.write_all(format!("\n{}\n", self.end).as_bytes()).ok()?;
        reader.join().ok()
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        self.stop();
    }
}

/// All lines before the `end`, as far as there is room for them. A line without room is an empty chunk.
fn read(mut pipe: impl BufRead, end: &[u8]) -> Vec<u8> {
    let (mut text, mut line) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        match (&mut pipe).take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return text,
            Ok(_) if line.trim_ascii() == end => return text,
            Ok(_) if text.len() < MAX_SIZE => text.extend(&line),
            Ok(_) if !text.ends_with(b"\n?\n") => text.extend(b"\n?\n"),
            Ok(_) => {}
        }
    }
}

/// The calls that were recorded in these lines.
fn calls(text: &[u8]) -> MockCalls {
    let mut record = MockCalls::default();
    // An agent may write any number of chunks: there is room only for those that came.
    let mut all: Vec<(usize, BTreeMap<usize, Vec<u8>>)> = Vec::new();
    let mut positions: HashMap<&[u8], usize> = HashMap::new();
    for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()) {
        let Some((id, number, count, part)) = chunk(line) else {
            record.lost += 1;
            continue;
        };
        let at = *positions.entry(id).or_insert(all.len());
        if at == all.len() {
            all.push((count, BTreeMap::new()));
        }
        let (count, parts) = &mut all[at];
        match parts.entry(number) {
            Entry::Vacant(place) if number < *count => _ = place.insert(part),
            _ => record.lost += 1,
        }
    }
    for (count, parts) in all {
        let whole = (parts.len() == count).then(|| parts.into_values().collect::<Vec<_>>().concat());
        match whole.and_then(|text| serde_json::from_slice(&text).ok()) {
            Some(call) if record.calls.len() < MAX_CALLS => record.calls.push(call),
            _ => record.lost += 1,
        }
    }
    record
}

/// The id of the call, the number of the chunk, the number of chunks, and the part of the call.
fn chunk(line: &[u8]) -> Option<(&[u8], usize, usize, Vec<u8>)> {
    let mut words = line.split(|byte| *byte == b' ');
    let id = words.next()?;
    let mut number = || std::str::from_utf8(words.next()?).ok()?.parse().ok();
    let (number, count) = (number()?, number()?);
    let part = STANDARD.decode(words.next()?).ok()?;
    (number < count && count <= MAX_PARTS).then_some((id, number, count, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> (tempfile::TempDir, std::path::PathBuf, CallLog) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        let log = CallLog::open(&path).expect("a pipe");
        (directory, path, log)
    }

    fn call(input: &str) -> MockCall {
        MockCall { name: "gh".to_owned(), input: input.to_owned(), answered: true, violated: None }
    }

    #[test]
    fn concurrent_calls_are_recorded_whole() {
        let (_directory, path, log) = log();
        thread::scope(|scope| {
            for number in 0..20 {
                let path = &path;
                scope.spawn(move || {
                    for again in 0..20 {
                        add(path, &call(&format!("{number} {again} {}", "x\n'é".repeat(500)))).expect("a call");
                    }
                });
            }
        });
        let MockCalls { calls, lost } = log.calls();
        assert_eq!((calls.len(), lost), (400, 0));
        let mut inputs: Vec<&str> = calls.iter().map(|call| call.input.as_str()).collect();
        inputs.sort_unstable();
        inputs.dedup();
        assert_eq!(inputs.len(), 400);
        assert!(inputs.iter().all(|input| input.ends_with(&"x\n'é".repeat(500))));
    }

    #[test]
    fn what_others_write_spoils_no_call_and_is_counted() {
        let (_directory, path, log) = log();
        let mut pipe = OpenOptions::new().write(true).open(&path).expect("the pipe");
        for garbage in ["no line break", "\n0 0 1000000 eA==\n", "\n0 5 2 eA==\n", "\na 0 2 eA==", "\n\n", "\u{0}"] {
            pipe.write_all(garbage.as_bytes()).expect("it takes it");
            add(&path, &call(garbage)).expect("a call");
        }
        pipe.write_all(&vec![b'x'; 1 << 20]).expect("it takes it");
        add(&path, &call("last")).expect("a call");
        let MockCalls { calls, lost } = log.calls();
        let inputs: Vec<&str> = calls.iter().map(|call| call.input.as_str()).collect();
        assert_eq!(
            inputs,
            ["no line break", "\n0 0 1000000 eA==\n", "\n0 5 2 eA==\n", "\na 0 2 eA==", "\n\n", "\u{0}", "last"]
        );
        assert_eq!(lost, 6);
    }

    #[test]
    fn a_flood_is_read_to_its_end_and_known_as_one() {
        let (_directory, path, log) = log();
        for number in 0..=MAX_CALLS {
            add(&path, &call(&number.to_string())).expect("a call");
        }
        let MockCalls { calls, lost } = log.calls();
        assert_eq!((calls.len(), lost), (MAX_CALLS, 1));
        let whole = read(io::Cursor::new(vec![b'x'; MAX_SIZE * 2]), b"end");
        assert!(whole.len() < MAX_SIZE + 2048 && whole.ends_with(b"?\n"));
    }

    #[test]
    fn calls_of_which_one_part_came_take_no_room_for_the_others() {
        let lines: Vec<String> = (0..400_000).map(|id| format!("{id} 0 1000 eA==")).collect();
        let text = lines.join("\n");
        let MockCalls { calls, lost } = calls(text.as_bytes());
        assert_eq!((calls.len(), lost), (0, 400_000));
    }

    #[test]
    fn a_record_that_nobody_asks_for_ends() {
        let (_directory, path, log) = log();
        add(&path, &call("x")).expect("a call");
        drop(log);
    }
}
