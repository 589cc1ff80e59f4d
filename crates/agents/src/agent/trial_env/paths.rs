//! The paths of trial environments in stored files.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex};

#[expect(clippy::expect_used, reason = "a fixed pattern")]
static TRIAL_PATH: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:/[A-Za-z0-9._@+-]+)+/run-[A-Za-z0-9]{6}/(?:trial-[A-Za-z0-9]{6}(?:/(?:room/)?(skills)|(?:/(?:room|control)\b)?)|(skills))";
    Regex::new(pattern).expect("a fixed pattern compiles")
});

/// `content` with `/skills` or `/trial` in place of the paths of trial environments: those no longer exist, and name
/// somebody's machine. A second call changes nothing.
pub fn without_trial_paths(content: &[u8]) -> Cow<'_, [u8]> {
    TRIAL_PATH.replace_all(content, |path: &Captures<'_>| {
        if path.get(1).or(path.get(2)).is_some() { b"/skills".to_vec() } else { b"/trial".to_vec() }
    })
}

/// The same for a call. The names of a trial's directories say nothing about skills.
pub fn relative(call: &str) -> Cow<'_, str> {
    // The pattern is slow.
    if !call.contains("/run-") {
        return Cow::Borrowed(call);
    }
    match without_trial_paths(call.as_bytes()) {
        Cow::Borrowed(_) => Cow::Borrowed(call),
        Cow::Owned(call) => Cow::Owned(String::from_utf8_lossy(&call).into_owned()),
    }
}

/// A path with the secrets in its names masked: an agent may name a file after one.
pub fn masked(path: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(mask(path.as_os_str().as_bytes())))
}
