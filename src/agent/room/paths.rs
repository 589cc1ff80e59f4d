//! The paths of rooms in what is kept.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use regex::bytes::{Captures, Regex};

/// `content` with other words for the paths of rooms: they are gone by the time it is read, and name somebody's machine.
/// Doing it twice changes nothing.
#[must_use]
pub fn without_rooms(content: &[u8]) -> Vec<u8> {
    let pattern =
        r"(?:/[A-Za-z0-9._@+-]+)+/run-[A-Za-z0-9]{6}/(?:trial-[A-Za-z0-9]{6}/(skills)|trial-[A-Za-z0-9]{6}|(skills))";
    match Regex::new(pattern) {
        Ok(room) => {
            let replaced = room.replace_all(content, |found: &Captures<'_>| {
                if found.get(1).or(found.get(2)).is_some() { b"/skills".to_vec() } else { b"/trial".to_vec() }
            });
            replaced.into_owned()
        }
        Err(_) => content.to_vec(),
    }
}

/// A path with the secrets in its names masked. An agent may name a file after one.
#[must_use]
pub fn masked(path: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(mask(path.as_os_str().as_bytes())))
}
