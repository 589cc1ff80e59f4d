//! What a repository holds: its skills and their cases.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cases::case::FoundCase;
use crate::skill::{Skill, SkillFile};
use crate::text::diagnostic::Diagnostic;

/// Below the repository's root: all eval material.
pub const EVALS: &str = "evals";

/// Below the repository's root: one folder for each skill's eval material, named by the skill's slug.
pub const SKILL_EVALS: &str = "evals/skills";

/// Below the repository's root: the schema that default cases ask answers to follow, where it exists.
pub const RESPONSE_SCHEMA: &str = "evals/schemas/skill_response.schema.json";

/// What runs leave behind, from the repository's root: no skills or cases lie below it.
pub const ARTIFACTS: &str = "artifacts";

/// The name of the cases that `init` and `generate` write, in the skill's folder below [`SKILL_EVALS`].
pub const PROMPTS: &str = "prompts.csv";

/// The skills and cases of a repository, in a fixed order.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The skills, by slug.
    pub skills: Vec<FoundSkill>,
    /// The cases, by skill, then in the order of their files.
    pub cases: Vec<Arc<FoundCase>>,
    /// Problems of no single case: files that cannot be read, colliding slugs, case folders without a skill.
    pub problems: Vec<Diagnostic>,
}

/// A skill and the bytes that describe it.
#[derive(Debug)]
pub struct FoundSkill {
    /// Its SKILL.md, taken apart.
    pub file: SkillFile,
    /// Its SKILL.md as it is.
    pub bytes: Vec<u8>,
    /// Whether it has cases of its own rather than the built-in ones.
    pub curated: bool,
}

impl FoundSkill {
    /// The skill.
    pub fn skill(&self) -> &Skill {
        &self.file.skill
    }

    /// The folder of its eval material, relative to the repository's root.
    pub fn evals(&self) -> PathBuf {
        evals_folder(&self.file.skill.slug)
    }
}

impl Catalog {
    /// The skill with this slug.
    pub fn skill(&self, slug: &str) -> Option<&FoundSkill> {
        self.skills.get(self.position(slug)?)
    }

    /// The same, to be changed.
    pub(super) fn skill_mut(&mut self, slug: &str) -> Option<&mut FoundSkill> {
        let position = self.position(slug)?;
        self.skills.get_mut(position)
    }

    fn position(&self, slug: &str) -> Option<usize> {
        self.skills.binary_search_by(|found| found.skill().slug.as_str().cmp(slug)).ok()
    }

    /// The slugs of its skills.
    pub fn slugs(&self) -> Vec<&str> {
        self.skills.iter().map(|found| found.skill().slug.as_str()).collect()
    }

    /// The cases of the skill with this slug.
    pub fn cases_of<'a>(&'a self, slug: &'a str) -> impl Iterator<Item = &'a Arc<FoundCase>> {
        self.cases.iter().filter(move |case| &*case.skill == slug)
    }
}

/// The folder of a skill's eval material, relative to the repository's root.
pub fn evals_folder(slug: &str) -> PathBuf {
    [SKILL_EVALS, slug].iter().collect()
}
