//! A path from a user that must stay inside some directory.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};

/// A path without `..`, root, drive or NUL. Joined to a directory, it stays inside it, except through symbolic links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(PathBuf);

impl RelativePath {
    /// Parses `text`, which has `/` between the parts on every system.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("is empty");
        }
        if text.len() > LONGEST {
            return Err("is longer than 4096 bytes");
        }
        if text.contains('\0') {
            return Err("holds a NUL byte");
        }
        if text.contains('\\') {
            return Err("holds a backslash; write `/` between the parts");
        }
        if text.starts_with('/') || text.get(1..2) == Some(":") {
            return Err("is absolute");
        }
        let mut path = PathBuf::new();
        for part in Path::new(text).components() {
            match part {
                // In `./C:` the drive is a plain name, but without `./` it is a drive again.
                Component::Normal(name)
                    if path.as_os_str().is_empty() && name.as_encoded_bytes().get(1) == Some(&b':') =>
                {
                    return Err("is absolute");
                }
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir => return Err("leaves its directory with `..`"),
                Component::RootDir | Component::Prefix(_) => return Err("is absolute"),
            }
        }
        if path.as_os_str().is_empty() {
            return Err("names no file");
        }
        Ok(Self(path))
    }

    /// The directory itself.
    pub fn here() -> Self {
        Self(PathBuf::new())
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Its last part.
    #[must_use]
    pub fn name(&self) -> Self {
        Self(self.0.file_name().map_or_else(|| self.0.clone(), PathBuf::from))
    }

    /// The path under a directory that is relative too.
    #[must_use]
    pub fn under(&self, directory: &Path) -> Self {
        Self(directory.join(&self.0))
    }
}

/// The longest path in bytes: no system opens a longer one.
const LONGEST: usize = 4096;

/// A path without its `.` and `..`, if it stays inside.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return None,
        }
    }
    Some(inside)
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Serialize for RelativePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
