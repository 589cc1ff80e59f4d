//! Files in an agent's home, such as copied credentials.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agent::field::Lenient;
use crate::files::rooted::{PRIVATE, RootedPath};
use crate::files::{bounded, look};
use crate::profile::Profile;
use crate::text::diagnostic::SourceLocation;
use crate::text::lines::{self, TraceLine};
use crate::trace::trouble::{Trouble, TroubleKind};

/// The content of a file, if it exists.
pub(super) fn read_if_exists(path: &Path) -> Result<Option<String>, Trouble> {
    match bounded::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(file_trouble(path, &error)),
    }
}

/// The object in a JSON file, which may have comments; empty without the file.
pub(super) fn read_jsonc(path: &Path) -> Result<Map<String, Value>, Trouble> {
    let Some(text) = read_if_exists(path)? else { return Ok(Map::new()) };
    jsonc_parser::parse_to_serde_value(&text, &ParseOptions::default())
        .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {error}", path.display())))
}

/// The table in a TOML file; empty without the file.
pub(super) fn read_toml(path: &Path) -> Result<toml::Table, Trouble> {
    let text = read_if_exists(path)?.unwrap_or_default();
    toml::from_str(&text).map_err(|error: toml::de::Error| {
        let place = SourceLocation::in_text(path, text.as_bytes(), error.span().unwrap_or_default());
        Trouble::new(TroubleKind::Files, format!("{place}: {}", error.message()))
    })
}

/// A value on a line of its own.
pub(super) fn json_line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Adds `more` to `value`: tables key by key.
pub(super) fn merge(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(table), Value::Object(more)) => {
            for (key, value) in more {
                merge(table.entry(key).or_insert(Value::Null), value);
            }
        }
        (value, more) => *value = more,
    }
}

/// Writes a file of a room that only its owner can read, and its directory.
pub(super) fn write_private(path: &RootedPath, content: &[u8]) -> Result<(), Trouble> {
    Ok(path.write(content, PRIVATE)?)
}

pub(super) fn file_trouble(path: &Path, error: &io::Error) -> Trouble {
    Trouble::new(TroubleKind::Files, format!("{}: {error}", path.display()))
}

// What trials and recordings store of an agent's own session files: a trial all lines, its recording the lines it needs.

/// The file of a trial with what its agent printed.
pub(super) const TRACE: &str = "trace.jsonl";

/// The file of a trial with the session files of all its sub-agents.
pub(super) const SUB_AGENTS: &str = "subagents.jsonl";

/// The most bytes that are read for one derived file. An agent may leave any number of files of any size.
const MAX_BYTES: u64 = 512 << 20;

/// Replaces a line that is too long. It is not JSON, so a decoder counts it as damaged.
const OVERLONG: &[u8] = b"a line that is too long to be read\n";

/// A file of evidence that holds the lines of other files. The first [`Self::add`] creates it.
pub(super) struct DerivedFile<'a> {
    path: PathBuf,
    mask: &'a dyn Fn(&[u8]) -> Vec<u8>,
    file: Option<BufWriter<File>>,
    /// How many more bytes may be read.
    bytes_left: u64,
}

impl<'a> DerivedFile<'a> {
    /// A file at `path`; every line passes through `mask`.
    pub(super) fn new(path: PathBuf, mask: &'a dyn Fn(&[u8]) -> Vec<u8>) -> Self {
        Self { path, mask, file: None, bytes_left: MAX_BYTES }
    }

    pub(super) fn is_begun(&self) -> bool {
        self.file.is_some()
    }

    /// Appends all lines of `from` that are of the trial. If `from` is too large, appends one unreadable line instead.
    pub(super) fn add(&mut self, from: File) -> io::Result<()> {
        self.add_kept(from, &mut |line| Some(line.to_vec()))
    }

    /// The same, with the lines that `kept` makes of them.
    pub(super) fn add_kept(&mut self, from: File, kept: &mut impl FnMut(&[u8]) -> Option<Vec<u8>>) -> io::Result<()> {
        let size = from.metadata()?.len();
        let has_room = size <= self.bytes_left;
        self.bytes_left -= if has_room { size } else { 0 };
        let mask = self.mask;
        let file = self.begun()?;
        if !has_room {
            return file.write_all(OVERLONG);
        }
        let mut result = Ok(());
        lines::for_each_of(from.take(size), &mut |line| {
            if result.is_ok() {
                result = match line {
                    TraceLine::Whole(line) if is_history(line) => Ok(()),
                    TraceLine::Whole(line) => kept(line)
                        .map_or(Ok(()), |line| file.write_all(&mask(&line)).and_then(|()| file.write_all(b"\n"))),
                    TraceLine::Overlong => file.write_all(OVERLONG),
                };
            }
        })?;
        result
    }

    /// Appends a line.
    pub(super) fn add_line(&mut self, line: &[u8]) -> io::Result<()> {
        let line = (self.mask)(line);
        let file = self.begun()?;
        file.write_all(&line).and_then(|()| file.write_all(b"\n"))
    }

    fn begun(&mut self) -> io::Result<&mut BufWriter<File>> {
        match &mut self.file {
            Some(file) => Ok(file),
            file => Ok(file.insert(BufWriter::new(File::create(&self.path)?))),
        }
    }

    /// Writes what is buffered.
    pub(super) fn finish(self) -> io::Result<()> {
        self.file.map_or(Ok(()), |mut file| file.flush())
    }
}

/// The lines of the file at `path` as a recording stores them; empty without a file.
pub(super) fn slimmed(path: &Path, slim: impl Fn(&[u8]) -> Option<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    lines::for_each(path, |line| match line {
        TraceLine::Whole(line) => content.extend(slim(line).into_iter().flatten()),
        TraceLine::Overlong => content.extend_from_slice(OVERLONG),
    })?;
    Ok(content)
}

// The conversation that a session starts from, as lines of an agent's own session file. The agent continues that session, so
// the model gets the messages as if it had been there.
//
// These lines are not evidence of the trial. They have a time that no line of an agent has, and are left out of what is stored.

/// The time of each line: all of it was said long before any trial.
const LONG_AGO: &str = "1970-01-01T00:00:00.000Z";

/// Writes a session file with these objects, a line each. `head` are the lines before them.
pub(super) fn write_session_file(
    path: &RootedPath,
    head: &str,
    lines: impl Iterator<Item = Value>,
) -> Result<(), Trouble> {
    let lines = lines.map(|line| format!("{{\"timestamp\":\"{LONG_AGO}\",{}\n", &line.to_string()[1..]));
    let text: String = std::iter::once(head.to_owned()).chain(lines).collect();
    write_private(path, text.as_bytes())
}

/// Whether a line of a session file is of the history.
pub(super) fn is_history(line: &[u8]) -> bool {
    let time = serde_json::from_slice::<Dated>(line).ok().and_then(|line| line.timestamp.0);
    time.as_deref() == Some(LONG_AGO)
}

#[derive(Deserialize)]
struct Dated {
    timestamp: Lenient<String>,
}

// The version of an agent's program, from the package that it is in: the program is not started.

/// How many directories above a program may be the root of its package.
const MAX_DEPTH: usize = 4;

/// The version of the program at this path, without links, if it is the one of a package that the profile names.
pub(super) fn package_version(profile: &Profile, program: &Path) -> Option<String> {
    let above = || program.ancestors().skip(1).take(MAX_DEPTH);
    let find = |package: &&str| {
        above().find_map(|directory| in_npm(package, directory, program)).or_else(|| {
            // A program of a Python environment is in `bin`.
            above().find_map(|directory| in_python(package, directory))
        })
    };
    // An agent without a package is our own.
    let own = profile.measured.last().filter(|_| profile.packages.is_empty());
    own.map(|version| (*version).to_owned()).or_else(|| profile.packages.iter().find_map(find))
}

fn in_npm(package: &str, directory: &Path, program: &Path) -> Option<String> {
    let text = read_if_exists(&directory.join("package.json")).ok()??;
    let file: Value = serde_json::from_str(&text).ok()?;
    let name = file["name"].as_str()?;
    // The package of a platform may have the program.
    let is_it = name == package || name.strip_prefix(package).is_some_and(|rest| rest.starts_with('-'));
    // Another file in its directories is not the program.
    let is_program = |path: &Value| path.as_str().is_some_and(|path| directory.join(path) == program);
    let is_program = match &file["bin"] {
        Value::Object(programs) => programs.values().any(is_program),
        path => is_program(path),
    };
    (is_it && is_program).then(|| file["version"].as_str().map(str::to_owned))?
}

fn in_python(package: &str, environment: &Path) -> Option<String> {
    let entries = |path: PathBuf| look::usable_entries(&path).into_iter();
    let mut packages = entries(environment.join("lib")).flat_map(|python| entries(python.path().join("site-packages")));
    packages.find_map(|entry| {
        let name = entry.file_name().to_str()?.to_owned();
        let rest = name.strip_suffix(".dist-info")?.strip_prefix(&package.replace('-', "_"))?;
        rest.strip_prefix('-').map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_leaves_one_line() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = |name: &str, text: &str, size: u64| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).expect("a file");
            let file = File::options().read(true).write(true).open(path).expect("a file");
            file.set_len(size.max(text.len() as u64)).expect("a size");
            file
        };
        let mask = |line: &[u8]| line.to_vec();
        let mut derived = DerivedFile::new(directory.path().join("derived"), &mask);
        for from in [file("a", "one\n\ntwo", 0), file("b", "", MAX_BYTES), file("c", "three\n", 0)] {
            derived.add(from).expect("a derived file");
        }
        derived.finish().expect("a derived file");
        let text = std::fs::read_to_string(directory.path().join("derived")).expect("a derived file");
        assert_eq!(text, format!("one\ntwo\n{}three\n", String::from_utf8_lossy(OVERLONG)));
    }
}
