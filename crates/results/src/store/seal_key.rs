//! The key with which kept trials are sealed. A repository cannot know it, so it cannot bring kept trials of its own.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::{At, StoreError, users_cache};
use crate::files::bounded;

/// The variable with the key, for CI.
const VARIABLE: &str = "SKILL_EVALS_KEPT_KEY";

/// The file with the key in the user's cache directory.
const FILE: &str = "kept.key";

/// What the key is for, as BLAKE3 asks for it.
const PURPOSE: &str = "skill-evals 2026 seals of kept trials";

/// How many bytes it has.
const LENGTH: usize = 32;

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
        if let Some(key) = std::env::var_os(VARIABLE).filter(|key| !key.is_empty()) {
            return Ok(Self::of(key.as_encoded_bytes()));
        }
        let cache = users_cache().ok_or_else(|| io::Error::other("neither HOME nor XDG_CACHE_HOME is set"));
        Ok(Self::of(&kept_in(&cache.at(Path::new(FILE))?.join(FILE))?))
    }

    /// A key that nobody else has.
    pub(super) fn random() -> Result<Self, StoreError> {
        Ok(Self::of(&random().at(Path::new(RANDOM))?))
    }

    pub(super) fn of(secret: &[u8]) -> Self {
        Self(blake3::derive_key(PURPOSE, secret))
    }

    pub(super) fn digest(&self, content: &[u8]) -> String {
        blake3::keyed_hash(&self.0, content).to_hex().to_string()
    }
}

/// The content of the key's file. It is made in one step, so that two processes have the same.
fn kept_in(path: &Path) -> Result<Vec<u8>, StoreError> {
    match bounded::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(key) if key.len() < LENGTH => {
            return Ok(Err(io::Error::other("it is too short for a key; remove it")).at(path)?);
        }
        read => return Ok(read.at(path)?),
    }
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder).at(folder)?;
    // A temporary file has mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder).at(folder)?;
    random().and_then(|key| file.write_all(&key)).at(path)?;
    match file.persist_noclobber(path) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => return Ok(Err(error.error).at(path)?),
        _ => {}
    }
    Ok(bounded::read(path).at(path)?)
}

fn random() -> io::Result<Vec<u8>> {
    let mut key = vec![0; LENGTH];
    File::open(RANDOM)?.read_exact(&mut key)?;
    Ok(key)
}
