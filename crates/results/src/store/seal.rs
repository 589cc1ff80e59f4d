//! Digests of stored files: of the files of a recording and of a graded trial, and of the lines of a plan and of a progress file. What was changed by
//! anything but this program is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{At, GRADE, JUDGMENT, StoreError, read_json, sub_folders, users_cache, write_json};
use crate::files::bounded;
use crate::files::look::{self, Entry, Walk, WalkStep};
use crate::trial::evidence::digest;

/// The file with the digests, in a recording's directory.
pub(super) const DIGESTS: &str = "digests.json";

const DIGESTS_FORMAT: u32 = 2;

/// What to do about a changed trial of a run.
const TRIAL_REMEDY: &str =
    "restore the trial's directory, or remove it and resume the run, which measures the trial again";

/// What to do about a changed recording.
const REMEDY: &str = "restore the recording's directory from version control, or record the trial again";

/// What to do about line ends that git has changed.
const LINE_ENDS_REMEDY: &str = "git has changed them (core.autocrlf); commit `* -text` in evals/recordings/.gitattributes, remove \
                                evals/recordings, and run `git checkout evals/recordings`";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SealedDigests {
    format: u32,
    /// How many repeats were recorded together: this one and those next to it.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    repeats: u32,
    /// The digest of each file of the recording, by its path.
    files: BTreeMap<String, String>,
    /// The digest of the rest, made with a key where a key is asked for.
    seal: String,
}

impl SealedDigests {
    fn new(repeats: u32, files: BTreeMap<String, String>, key: Option<&SealKey>) -> Self {
        let mut digests = Self { format: DIGESTS_FORMAT, repeats, files, seal: String::new() };
        digests.seal = digests.expected(key);
        digests
    }

    /// The seal of the rest.
    fn expected(&self, key: Option<&SealKey>) -> String {
        let mut rest = format!("{}\n", self.repeats);
        for (name, digest) in &self.files {
            rest.extend([name, "\n", digest, "\n"]);
        }
        match key {
            Some(key) => key.digest(rest.as_bytes()),
            None => digest(rest.as_bytes()),
        }
    }
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_one(repeats: &u32) -> bool {
    *repeats == 1
}

/// Writes the digests of the files in `folder`, one of `repeats` that are recorded together.
pub(super) fn seal(folder: &Path, repeats: u32, key: Option<&SealKey>) -> Result<(), StoreError> {
    write_json(&folder.join(DIGESTS), &SealedDigests::new(repeats, files(folder)?, key))
}

/// Writes the digests of the files of a run's trial in `folder`, which will get this grade. What is written to it later does not count.
pub(super) fn seal_graded(folder: &Path, grade: &[u8]) -> Result<(), StoreError> {
    let mut files = files(folder)?;
    files.insert(GRADE.to_owned(), digest(grade));
    write_json(&folder.join(DIGESTS), &SealedDigests::new(1, files, None))
}

/// Checks the files of a graded trial of a run, in `folder`, against their digests. Other files do not count: they come later.
pub(super) fn verify_graded(folder: &Path) -> Result<(), StoreError> {
    let digests = read(folder, "trial", TRIAL_REMEDY)?;
    if digests.seal != digests.expected(None) {
        return damaged(folder.join(DIGESTS), format!("it is not as it was stored, by its own digest; {TRIAL_REMEDY}"));
    }
    let found = files(folder)?;
    match digests.files.iter().find(|(name, digest)| found.get(*name) != Some(digest)) {
        None => Ok(()),
        Some((name, _)) => {
            let what = if found.contains_key(name) { "it is not as it was stored" } else { "it is missing" };
            damaged(folder.join(name), format!("{what}, by {DIGESTS} of the trial; {TRIAL_REMEDY}"))
        }
    }
}

/// The digests of what is in `folder`, a trial or a recording, which is useless without.
fn read(folder: &Path, what: &str, remedy: &str) -> Result<SealedDigests, StoreError> {
    let path = folder.join(DIGESTS);
    if !look::exists(&path)? {
        return damaged(
            path,
            format!("it is missing, and without it nothing shows that the {what} is whole; {remedy}"),
        );
    }
    let digests: SealedDigests = read_json(&path)?;
    super::check_format(&path, digests.format, DIGESTS_FORMAT)?;
    Ok(digests)
}

fn damaged<T>(path: PathBuf, why: String) -> Result<T, StoreError> {
    Err(StoreError::Damaged { path, why })
}

/// Checks the files of the recording in `folder` against their digests, and that no repeat is missing or new.
pub(super) fn verify(folder: &Path, key: Option<&SealKey>) -> Result<(), StoreError> {
    let mut digests = read(folder, "recording", REMEDY)?;
    if digests.seal != digests.expected(key) {
        let path = folder.join(DIGESTS);
        return match key {
            Some(_) => Err(StoreError::Unsealed(path)),
            None => damaged(path, format!("it is not as it was recorded, by its own digest; {REMEDY}")),
        };
    }
    let wanted: BTreeSet<String> = (1..=digests.repeats).map(|number| number.to_string()).collect();
    if let Some(beside) = repeats_beside(folder)?.filter(|beside| *beside != wanted) {
        let here = beside.into_iter().collect::<Vec<_>>().join(", ");
        let why = format!("repeats 1 to {} were recorded together, and {here} are here; {REMEDY}", digests.repeats);
        return damaged(folder.parent().unwrap_or(folder).to_path_buf(), why);
    }
    let found = files(folder)?;
    // A judge's answer may be removed: every report of a trial shows whether it has one.
    if !found.contains_key(JUDGMENT) {
        digests.files.remove(JUDGMENT);
    }
    let names = digests.files.keys().chain(found.keys());
    let changed = names.filter(|name| digests.files.get(*name) != found.get(*name)).min();
    match changed {
        None => Ok(()),
        Some(name) => {
            let what = match (digests.files.contains_key(name), found.contains_key(name)) {
                (true, false) => "it is missing",
                (false, _) => "it is not part of the recording",
                _ => "it is not as it was recorded",
            };
            let path = folder.join(name);
            let why = if digests.files.get(name).is_some_and(|digest| has_other_line_ends(&path, digest)) {
                format!("its lines end in CRLF, and those of the recording in LF: {LINE_ENDS_REMEDY}")
            } else {
                format!("{what}, by {DIGESTS} of the recording; {REMEDY}")
            };
            damaged(path, why)
        }
    }
}

/// Whether the file with this digest had LF at its line ends and has CRLF now, as a checkout by git may leave it.
fn has_other_line_ends(path: &Path, recorded: &str) -> bool {
    let Ok(content) = bounded::read(path) else { return false };
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    let plain: Vec<&[u8]> =
        lines.flat_map(|line| line.strip_suffix(b"\r\n").map_or([line, b""], |line| [line, b"\n"])).collect();
    digest(&plain.concat()) == recorded
}

/// The repeats next to the recording in `folder`, including itself; `None` if it is not in a directory of repeats.
fn repeats_beside(folder: &Path) -> Result<Option<BTreeSet<String>>, StoreError> {
    let is_number = |name: &str| name.parse::<u32>().is_ok();
    let (Some(name), Some(parent)) = (folder.file_name(), folder.parent()) else { return Ok(None) };
    if !is_number(&name.to_string_lossy()) {
        return Ok(None);
    }
    Ok(Some(sub_folders(parent)?.into_iter().filter(|name| is_number(name)).collect()))
}

/// The digests of all files in `folder`, by path. Trials have regular files only.
fn files(folder: &Path) -> Result<BTreeMap<String, String>, StoreError> {
    let mut files = BTreeMap::new();
    // Hidden files come from other tools.
    let ours = |entry: &Entry| entry.depth() != 1 || !entry.file_name().to_string_lossy().starts_with('.');
    let mut entries = Vec::new();
    let unread = Walk::new(folder).each(|entry| {
        if ours(entry) {
            entries.push(entry.clone());
            WalkStep::Into
        } else {
            WalkStep::Over
        }
    });
    unread.none()?;
    for entry in entries {
        let name = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
        if entry.file_type().is_file() && name != DIGESTS {
            files.insert(name, digest_of(entry.path()).at(entry.path())?);
        } else if !entry.file_type().is_dir() && name != DIGESTS {
            files.insert(name, "not a regular file".to_owned());
        }
    }
    Ok(files)
}

/// As [`digest`], of a file of any size.
fn digest_of(path: &Path) -> std::io::Result<String> {
    let (file, _) = bounded::open(path)?;
    Ok(bounded::digest_file(file)?.to_hex()[..32].to_owned())
}

/// What comes before the digest of a line.
const LINE_DIGEST: &[u8] = b",\"digest\":\"";

/// The length of the digest of a line.
const LINE_DIGEST_LENGTH: usize = 32;

/// Adds to each line, a JSON object, its digest as the last member.
pub fn lines(lines: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        if let Some(open) = line.strip_suffix(b"}") {
            sealed.extend([open, LINE_DIGEST, digest(line).as_bytes(), b"\"}\n"].concat());
        }
    }
    sealed
}

/// Where the digest of this line begins, if the line is as it was written.
pub(super) fn checked_line(line: &[u8]) -> Option<usize> {
    let at = line.len().checked_sub(LINE_DIGEST.len() + LINE_DIGEST_LENGTH + 2)?;
    let (rest, end) = line.split_at(at);
    let found = end.strip_prefix(LINE_DIGEST)?.strip_suffix(b"\"}")?;
    let expected = blake3::Hasher::new().update(rest).update(b"}").finalize().to_hex();
    (expected.as_bytes().get(..LINE_DIGEST_LENGTH) == Some(found)).then_some(at)
}

/// The line without its digest, if it is unchanged.
pub(super) fn opened_line(line: &[u8]) -> Option<Vec<u8>> {
    Some([line.get(..checked_line(line)?)?, b"}"].concat())
}

// The key with which kept trials are sealed. A repository cannot know it, so it cannot bring kept trials of its own.

/// The variable with the key, for CI.
const KEY_VARIABLE: &str = "SKILL_EVALS_KEPT_KEY";

/// The file with the key in the user's cache directory.
const KEY_FILE: &str = "kept.key";

/// What the key is for, as BLAKE3 asks for it.
const KEY_PURPOSE: &str = "skill-evals 2026 seals of kept trials";

/// How many bytes it has.
const KEY_LENGTH: usize = 32;

/// Where they come from.
const RANDOM: &str = "/dev/urandom";

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SealKey([u8; 32]);

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey")
    }
}

impl SealKey {
    /// The key of the environment, else that of the user's cache directory, which is made if it is missing.
    pub(super) fn of_user() -> Result<Self, StoreError> {
        if let Some(key) = std::env::var_os(KEY_VARIABLE).filter(|key| !key.is_empty()) {
            return Ok(Self::of(key.as_encoded_bytes()));
        }
        let cache = users_cache().ok_or_else(|| io::Error::other("neither HOME nor XDG_CACHE_HOME is set"));
        Ok(Self::of(&key_kept_in(&cache.at(Path::new(KEY_FILE))?.join(KEY_FILE))?))
    }

    /// A key that nobody else has.
    pub(super) fn random() -> Result<Self, StoreError> {
        Ok(Self::of(&random_key().at(Path::new(RANDOM))?))
    }

    pub(super) fn of(secret: &[u8]) -> Self {
        Self(blake3::derive_key(KEY_PURPOSE, secret))
    }

    pub(super) fn digest(&self, content: &[u8]) -> String {
        blake3::keyed_hash(&self.0, content).to_hex().to_string()
    }
}

/// The content of the key's file. It is made in one step, so that two processes have the same.
fn key_kept_in(path: &Path) -> Result<Vec<u8>, StoreError> {
    match bounded::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(key) if key.len() < KEY_LENGTH => {
            return Ok(Err(io::Error::other("it is too short for a key; remove it")).at(path)?);
        }
        read => return Ok(read.at(path)?),
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).at(folder)?;
    // A temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder).at(folder)?;
    random_key().and_then(|key| file.write_all(&key)).at(path)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Ok(Err(error.error).at(path)?),
        _ => {}
    }
    Ok(bounded::read(path).at(path)?)
}

fn random_key() -> io::Result<Vec<u8>> {
    let mut key = vec![0; KEY_LENGTH];
    File::open(RANDOM)?.read_exact(&mut key)?;
    Ok(key)
}
