//! A trial as a custom check sees it, and trials for tests of checks.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::agent;
use crate::files::look::{self, Step, Walk};
use crate::run::skill_texts::TextReader;
use crate::store::{self, TrialFolder};
use crate::text::relative_path::RelativePath;
use crate::trace::{Trace, spoken};
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::workspace_file::WorkspaceFile;

/// A trial, and what it left in its workspace.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    evidence: Evidence<'a>,
    contents: Contents<'a>,
}

/// Where the contents of its files are.
#[derive(Clone, Copy, Debug)]
enum Contents<'a> {
    Stored(&'a TrialFolder),
    Given(&'a BTreeMap<String, Vec<u8>>),
}

/// Why a file of a workspace was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The workspace has no such file.
    #[error("`{0}` is not there")]
    Missing(String),
    /// The file is there, or may be. Its content was not kept: recordings have only small contents that the agent wrote.
    #[error("the content of `{0}` was not kept")]
    NotKept(String),
    /// No file of a workspace has such a path.
    #[error("`{path}` {why}")]
    BadPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// An error of the system.
    #[error("`{path}`: {source}")]
    Io {
        /// The path.
        path: String,
        /// The error.
        source: io::Error,
    },
}

impl ReadError {
    /// Whether the file may be there: then nothing follows from the error.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::NotKept(_) | Self::Io { .. })
    }
}

impl<'a> Trial<'a> {
    pub fn stored(evidence: Evidence<'a>, folder: &'a TrialFolder) -> Self {
        Self { evidence, contents: Contents::Stored(folder) }
    }

    /// The slug of the skill under test.
    pub fn skill(&self) -> &'a str {
        &self.evidence.meta.skill.slug
    }

    /// The case's id.
    pub fn case(&self) -> &'a str {
        &self.evidence.meta.case.id
    }

    /// The mode's name.
    pub fn mode(&self) -> &'a str {
        &self.evidence.meta.mode
    }

    /// What the agent was asked.
    pub fn prompt(&self) -> &'a str {
        &self.evidence.meta.case.prompt
    }

    /// The tags of the case.
    pub fn tags(&self) -> &'a [String] {
        &self.evidence.meta.case.tags
    }

    /// Whether the case expects the skill to be activated; `None` if it was not recorded.
    pub fn should_trigger(&self) -> Option<bool> {
        self.evidence.meta.case.should_trigger
    }

    /// What the agent did, in the same form for all agents.
    pub fn trace(&self) -> &'a Trace {
        self.evidence.trace
    }

    /// The agent's final message.
    pub fn final_text(&self) -> Option<&'a str> {
        self.evidence.final_text
    }

    /// The files at the end, by path. Also known in replay.
    pub fn files(&self) -> &'a [WorkspaceFile] {
        &self.evidence.meta.files
    }

    /// Whether this file exists at the end.
    pub fn has(&self, path: &str) -> bool {
        self.files().iter().any(|file| file.path == Path::new(path))
    }

    /// The content of a file that the agent created or changed.
    ///
    /// # Errors
    ///
    /// If the file does not exist, or its content was not kept.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let inner = RelativePath::parse(path)
            .map_err(|why| ReadError::BadPath { path: path.to_owned(), why: why.to_string() })?;
        let read = match self.contents {
            Contents::Stored(folder) => folder.workspace_file(inner.as_path()),
            Contents::Given(contents) => {
                contents.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
            }
        };
        read.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if self.has(path) || self.evidence.meta.files_truncated => {
                ReadError::NotKept(path.to_owned())
            }
            io::ErrorKind::NotFound => ReadError::Missing(path.to_owned()),
            _ => ReadError::Io { path: path.to_owned(), source },
        })
    }

    /// The same as text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_text(&self, path: &str) -> Result<String, ReadError> {
        Ok(String::from_utf8_lossy(&self.read(path)?).into_owned())
    }
}

/// A stored trial, to try a check with.
///
/// ```no_run
/// # use skill_evals::harness::{Check, Finding, Recording, RecordingError};
/// # fn main() -> Result<(), RecordingError> {
/// # let check = Check::new("brief", |trial| Ok(Finding::of(trial.trace().commands < 20, "")));
/// let recording = Recording::open("evals/recordings/greeting/explicit/codex/1")?;
/// assert!(matches!(check.finding(&recording.trial()), Finding::Pass(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recording {
    folder: TrialFolder,
    meta: Meta,
    trace: Trace,
    final_text: Option<String>,
}

/// Why a stored trial was not read: which file, and what is wrong with it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RecordingError(String);

impl Recording {
    /// Reads a recording in `evals/recordings/`, or a trial of a run in `artifacts/skill-evals/`.
    ///
    /// # Errors
    ///
    /// If no trial is stored there, or a file of it is damaged or missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let failed = |error: &dyn std::fmt::Display| RecordingError(error.to_string());
        if !look::exists(&path.join(store::META)).map_err(|error| failed(&error))? {
            return Err(failed(&no_trial(path)));
        }
        let folder = store::trial_at(path);
        let meta = folder.meta().map_err(|error| failed(&error))?;
        let texts = TextReader::default();
        let reference = texts.reference_at(&meta, &folder);
        texts.whole().map_err(|error| failed(&error))?;
        let trace = agent::of(meta.agent.kind).decode(&reference, path).map_err(|error| failed(&error))?;
        let final_text = folder.final_text().map_err(|error| failed(&error))?;
        Ok(Self { folder, meta, trace, final_text })
    }

    /// The trial as a check sees it.
    pub fn trial(&self) -> Trial<'_> {
        let final_text = self.final_text.as_deref();
        Trial {
            evidence: Evidence { meta: &self.meta, trace: &self.trace, final_text },
            contents: Contents::Stored(&self.folder),
        }
    }
}

/// Why the directory is none of a trial, with one below it that is: a path often ends too early.
fn no_trial(path: &Path) -> String {
    let mut near = None;
    let unread = Walk::new(path).max_depth(4).each(|entry| {
        if entry.file_name() != store::META {
            return Step::Into;
        }
        near = entry.path().parent().map(Path::to_path_buf);
        Step::Stop
    });
    // It is only a hint.
    unread.report(drop);
    let path = path.display();
    match near {
        Some(near) => format!("{path}: no trial is stored there; one below it is `{}`", near.display()),
        None => format!("{path}: no trial is stored there: its meta.json is missing"),
    }
}

/// A trial that no agent ran, to try a check with.
#[derive(Clone, Debug, Default)]
pub struct TrialSample {
    meta: Meta,
    trace: Trace,
    final_text: Option<String>,
    contents: BTreeMap<String, Vec<u8>>,
}

impl TrialSample {
    /// A trial of the skill with this slug and this prompt, in which nothing happened.
    #[must_use]
    pub fn new(skill: impl Into<String>, prompt: impl Into<String>) -> Self {
        let mut sample = Self::default();
        sample.meta.skill.slug = skill.into();
        sample.meta.case.prompt = prompt.into();
        sample
    }

    /// Sets the id of the case.
    #[must_use]
    pub fn case(mut self, id: impl Into<String>) -> Self {
        self.meta.case.id = id.into();
        self
    }

    /// Adds a tag to the case.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.meta.case.tags.push(tag.into());
        self
    }

    /// Sets what the agent did.
    #[must_use]
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the agent's final message.
    #[must_use]
    pub fn final_text(mut self, text: impl Into<String>) -> Self {
        self.final_text = spoken(text.into());
        self
    }

    /// Adds a file that the agent created.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let (path, content) = (path.into(), content.into());
        self.meta.files.push(WorkspaceFile::new(PathBuf::from(&path), content.len() as u64, true));
        self.contents.insert(path, content);
        self
    }

    /// The trial as a check sees it.
    pub fn trial(&self) -> Trial<'_> {
        let final_text = self.final_text.as_deref();
        Trial {
            evidence: Evidence { meta: &self.meta, trace: &self.trace, final_text },
            contents: Contents::Given(&self.contents),
        }
    }
}
