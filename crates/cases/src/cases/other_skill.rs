//! A SKILL.md that is no skill of the catalog, and what became of a file.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// A SKILL.md, in any case of its name, that is not read as a skill.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OtherSkill {
    /// The file, from the repository's root.
    pub file: PathBuf,
    /// The slug that the skill would have.
    pub slug: String,
    /// Why it is not read.
    pub why: NotRead,
    /// The files of cases in its directory, which are not read either.
    pub case_files: usize,
}

/// Why a SKILL.md is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NotRead {
    /// It is in no skill root.
    Outside,
    /// It is in the directory of another skill.
    InSkill,
    /// Another skill has its name.
    SameName,
    /// Agents find only files named SKILL.md.
    FileName,
    /// It is part of what tests or cases are made of.
    Fixture,
    /// Git ignores it.
    Ignored,
    /// It has the same content as a skill of this slug that is read.
    Copy,
}

impl OtherSkill {
    /// Its directory.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FileStanding {
    /// Its skill or its cases are read.
    Read,
    /// It is read, and something in it is wrong.
    Wrong,
    /// It is a SKILL.md, or looks like cases, and is not read.
    NotRead,
    /// The settings say that it holds no cases of skills.
    NotCases,
}

impl FileStanding {
    pub const ALL: [Self; 4] = [Self::Read, Self::Wrong, Self::NotRead, Self::NotCases];

    /// What is said of files with it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Wrong => "wrong",
            Self::NotRead => "not read",
            Self::NotCases => "said to be no cases",
        }
    }
}
