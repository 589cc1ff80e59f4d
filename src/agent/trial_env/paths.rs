//! The paths of rooms in what is kept.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

/// `content` with other words for the paths of rooms: they are gone by the time it is read, and name somebody's machine.
/// Doing it twice changes nothing.
#[must_use]
pub fn without_rooms(content: &[u8]) -> Cow<'_, [u8]> {
    ROOM.replace_all(content, |found: &Captures<'_>| {
        if found.get(1).or(found.get(2)).is_some() { b"/skills".to_vec() } else { b"/trial".to_vec() }
    })
}

/// The same of a call. What the directories of a trial are called says nothing about skills.
#[must_use]
pub fn relative(call: &str) -> Cow<'_, str> {
    if !call.contains("/run-") {
        return Cow::Borrowed(call);
    }
    match without_rooms(call.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(call),
        Cow::Owned(call) => Cow::Owned(String::from_utf8_lossy(&call).into_owned()),
    }
}

#[expect(clippy::expect_used, reason = "a fixed pattern")]
static ROOM: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r"(?:/[A-Za-z0-9._@+-]+)+/run-[A-Za-z0-9]{6}/(?:trial-[A-Za-z0-9]{6}/(skills)|trial-[A-Za-z0-9]{6}|(skills))";
    Regex::new(pattern).expect("a fixed pattern compiles")
});

/// A path with the secrets in its names masked. An agent may name a file after one.
#[must_use]
pub fn masked(path: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(mask(path.as_os_str().as_bytes())))
}
