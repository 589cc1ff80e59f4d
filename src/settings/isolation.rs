//! `isolation`: what keeps an agent to its own folders.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What keeps an agent to its own folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// bubblewrap: the agent sees programs, its own folders and the skills, and no other process.
    #[default]
    Bwrap,
    /// Only what the agent does by itself.
    Agent,
}

impl Isolation {
    /// The word for it in settings and artifacts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bwrap => "bwrap",
            Self::Agent => "agent",
        }
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Bwrap, Self::Agent].into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is wanted of isolation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IsolationSettings {
    /// Which kind. Where bubblewrap is wanted and does not work, the agent is on its own, unless it is required.
    pub kind: Isolation,
    /// Whether a trial that is not inside bubblewrap is an error.
    pub required: bool,
    /// What the settings file says of it, where it says something.
    pub declared: Option<String>,
    /// Files and folders that agents may read beside the system's own, absolute.
    pub readable: Vec<PathBuf>,
}

impl IsolationSettings {
    /// Takes what the settings file says; hands every wrong path to `wrong`.
    pub(super) fn apply(
        &mut self,
        kind: Option<Isolation>,
        required: Option<bool>,
        paths: Vec<toml::Spanned<String>>,
        wrong: &mut impl FnMut(std::ops::Range<usize>, String),
    ) {
        if kind.is_some() || required.is_some() || !paths.is_empty() {
            let read: Vec<&str> = paths.iter().map(|path| path.get_ref().as_str()).collect();
            let (kind, required) = (kind.unwrap_or_default(), required.unwrap_or_default());
            self.declared = Some(format!("{kind} {required} {}", read.join("\0")));
        }
        for path in paths {
            match Self::readable(path.get_ref()) {
                Ok(read) => self.readable.push(read),
                Err(why) => wrong(path.span(), format!("`isolation_read`: {why}")),
            }
        }
        self.kind = kind.unwrap_or(self.kind);
        self.required = required.unwrap_or(self.required);
    }

    /// Reads a path of `isolation_read`, where `~/` is the user's home.
    fn readable(text: &str) -> Result<PathBuf, String> {
        let path = match text.strip_prefix("~/") {
            Some(rest) => std::env::home_dir().unwrap_or_default().join(rest),
            None => PathBuf::from(text),
        };
        if path.is_absolute() { Ok(path) } else { Err(format!("{text:?} is not absolute; begin it with `/` or `~/`")) }
    }
}
