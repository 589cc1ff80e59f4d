//! URIs: `skill://<slug>/<path>` for resources, and `file:` for a client's roots.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::skill::slug;

const SCHEME: &str = "skill://";

/// URI template, name and description of each kind of address except `skill://`.
pub(super) const TEMPLATES: [(&str, &str, &str); 3] = [
    ("skill://{skill}", "skill", "The SKILL.md of a skill"),
    ("skill://{skill}/", "skill-files", "The other files of a skill, all at once"),
    ("skill://{skill}/{+path}", "skill-file", "A file of a skill"),
];

/// The characters of a path that are escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// What a URI names. A skill is named by its name or its slug.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Address {
    /// `skill://`: the skill list.
    All,
    /// `skill://<slug>`: its SKILL.md.
    Skill(String),
    /// `skill://<slug>/`: its other files.
    Files(String),
    /// `skill://<slug>/<path>`. The path is decoded and not checked yet.
    File(String, String),
}

impl Address {
    /// Parses a URI. The error completes a sentence that starts with the URI.
    pub(super) fn parse(uri: &str) -> Result<Self, &'static str> {
        let rest = uri.strip_prefix(SCHEME).ok_or("does not start with `skill://`")?;
        if rest.contains(['?', '#']) {
            return Err("has a query or a fragment; write `%3F` for `?` and `%23` for `#` in a path");
        }
        Ok(match rest.split_once('/') {
            None if rest.is_empty() => Self::All,
            None => Self::Skill(decode(rest)?),
            Some((name, "")) => Self::Files(decode(name)?),
            Some((name, path)) => Self::File(decode(name)?, decode(path)?),
        })
    }

    /// Replaces the skill's name by its slug.
    pub(super) fn by_slug(self) -> Self {
        match self {
            Self::All => Self::All,
            Self::Skill(name) => Self::Skill(slug(&name)),
            Self::Files(name) => Self::Files(slug(&name)),
            Self::File(name, path) => Self::File(slug(&name), path),
        }
    }

    /// The addresses that change with the file at `path`. `skill_files` are the names of a SKILL.md.
    pub(super) fn affected_by(slug: &str, path: &str, skill_files: &[&str]) -> Vec<Self> {
        let slug = || slug.to_owned();
        let mut affected = vec![Self::All, Self::Files(slug()), Self::File(slug(), path.to_owned())];
        affected.extend(skill_files.contains(&path).then(|| Self::Skill(slug())));
        affected
    }

    pub(super) fn uri(&self) -> String {
        match self {
            Self::All => SCHEME.to_owned(),
            Self::Skill(slug) => format!("{SCHEME}{slug}"),
            Self::Files(slug) => format!("{SCHEME}{slug}/"),
            Self::File(slug, path) => format!("{SCHEME}{slug}/{}", utf8_percent_encode(path, ESCAPED)),
        }
    }
}

fn decode(text: &str) -> Result<String, &'static str> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| "is not UTF-8 once decoded")?;
    Ok(text.into_owned())
}

/// The path of a `file:` URI. `None` if the URI names another machine.
pub(super) fn local_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    (path.starts_with('/') && !bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}
