//! `skill://<slug>/<path>`, the addresses of resources, and `file:` URIs, those of roots.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

const SCHEME: &str = "skill://";

/// The template of all of them.
pub(super) const TEMPLATE: &str = "skill://{skill}/{+path}";

/// What stands for itself in a path.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The URI of `path` in the skill with this slug.
pub(super) fn of(slug: &str, path: &str) -> String {
    format!("{SCHEME}{slug}/{}", utf8_percent_encode(path, ESCAPED))
}

/// The slug and the path that `uri` names, the path decoded and not yet checked. An error reads as the end of a
/// sentence that starts with the URI.
pub(super) fn parse(uri: &str) -> Result<(&str, String), &'static str> {
    let rest = uri.strip_prefix(SCHEME).ok_or("does not start with `skill://`")?;
    let (slug, path) = rest.split_once('/').ok_or("names no file: write skill://<skill>/<path>")?;
    if path.contains(['?', '#']) {
        return Err("has a query or a fragment; write `%3F` for `?` and `%23` for `#` in a path");
    }
    let path = percent_decode_str(path).decode_utf8().map_err(|_| "is not UTF-8 once decoded")?;
    Ok((slug, path.into_owned()))
}

/// The path of a `file:` URI of this machine.
pub(super) fn local_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    (path.starts_with('/') && !bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}
