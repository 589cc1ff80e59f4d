//! A file in the workspace of a trial, and the paths in stored files: what reads them joins them to directories, so they must stay
//! inside.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A file in the workspace at the end; or an empty directory that a case requires, with `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceFile {
    /// The path in the workspace. Bytes that are not UTF-8 become U+FFFD, and secrets `[masked]`.
    #[serde(serialize_with = "lossy_path", deserialize_with = "inner_path")]
    pub path: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// Whether the agent created or changed it; false for an unchanged file of the fixture.
    pub changed: bool,
    /// Whether the agent left it as a setup command had made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_setup: bool,
    /// Whether the agent changed it, and it was there when the agent started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
}

impl WorkspaceFile {
    pub fn new(path: PathBuf, size: u64, changed: bool) -> Self {
        Self { path, size, changed, by_setup: false, edited: false }
    }

    /// Whether it is as the repository has it.
    pub fn is_as_in_repository(&self) -> bool {
        !self.changed && !self.by_setup
    }

    /// Whether it is a directory without files.
    pub fn is_folder(&self) -> bool {
        self.path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }
}

/// JSON must be UTF-8, names of files need not be.
fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

pub(super) fn lossy_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// A path of a stored file that is relative, without `..` and NUL. Agents choose its other characters.
fn inner_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    checked(PathBuf::deserialize(deserializer)?)
}

pub(super) fn inner_paths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
    Vec::<PathBuf>::deserialize(deserializer)?.into_iter().map(checked).collect()
}

fn checked<E: de::Error>(path: PathBuf) -> Result<PathBuf, E> {
    let is_empty = path.as_os_str().is_empty();
    if is_empty || path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(E::custom(if is_empty { "the path is empty" } else { "the path holds a NUL byte" }));
    }
    match path.components().find(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        None => Ok(path),
        Some(Component::ParentDir) => Err(E::custom(format!("the path `{}` has `..` in it", path.display()))),
        Some(_) => Err(E::custom(format!("the path `{}` is absolute", path.display()))),
    }
}

// The commands that prepared the workspace of a trial.

/// A setup command that succeeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupMeta {
    /// The command.
    pub command: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

impl SetupMeta {
    /// A command and how long it took.
    pub fn new(command: String, took: Duration) -> Self {
        Self { command, duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX) }
    }
}

impl fmt::Display for SetupMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`, {:.1} s", self.command, Duration::from_millis(self.duration_ms).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Stored {
        file: WorkspaceFile,
        #[serde(deserialize_with = "inner_paths")]
        links: Vec<PathBuf>,
    }

    #[test]
    fn a_path_that_leaves_its_directory_is_an_error_when_it_is_read() {
        let read = |path: &str, link: &str| {
            let file = serde_json::json!({"path": path, "size": 1, "changed": false});
            serde_json::from_value::<Stored>(serde_json::json!({"file": file, "links": ["a", link]}))
        };
        for path in ["a", "a/b", "./a", "a b\\c:\n", "..a", "a/..b/", "empty/"] {
            let stored = read(path, path).unwrap_or_else(|error| panic!("{path}: {error}"));
            assert_eq!((&*stored.file.path, &*stored.links[1]), (Path::new(path), Path::new(path)));
        }
        for (path, why) in
            [("/a", "is absolute"), ("..", "has `..`"), ("a/../../b", "has `..`"), ("", "is empty"), ("a\0b", "NUL")]
        {
            for stored in [read(path, "a"), read("a", path)] {
                assert!(stored.err().is_some_and(|error| error.to_string().contains(why)), "{path}");
            }
        }
    }
}

/// A file that the agent made or changed.
#[derive(Debug, Default, Serialize)]
pub struct WrittenFile {
    /// Relative to the workspace.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// The content of the fixture's file; absent if the fixture has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The new content; absent if it is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Why the content is not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
