//! A case: one prompt and what is expected of it.
//!
//! Each format in which cases are written is a module and a line in [`FORMATS`]: it says which files hold its cases, reads
//! them, and implements [`CaseSource`] for what it finds. A skill without any has three built-in cases ([`smoke`]). All become
//! the one type [`Case`].

pub mod fields;
mod found;
pub mod prompts_csv;
pub mod smoke;
pub mod task_json;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::checks::Check;
use crate::settings::ActivationRule;
use crate::settings::trials::Repetition;
use crate::trace::change::SkillChange;
use crate::trial::sandbox::Sandbox;
pub use found::{BrokenCase, CaseFile, CaseFormat, CaseSource, FileCases, Files, FoundCase};

use crate::text::diagnostic::SourceLocation;
use crate::text::relative_path::RelativePath;

/// The formats in which cases are written. A skill whose cases cannot be found has a broken one in the first.
pub static FORMATS: [&CaseFormat; 2] = [&prompts_csv::FORMAT, &task_json::FORMAT];

/// The same with the files that hold each.
pub fn file_formats() -> impl Iterator<Item = (&'static CaseFormat, &'static Files)> {
    FORMATS.into_iter().filter_map(|format| Some((format, format.files.as_ref()?)))
}

/// The files that may hold the cases of the skill with this slug and of no other, from the repository's root.
pub fn files_of_skill(slug: &str) -> impl Iterator<Item = PathBuf> {
    file_formats().filter(|(_, files)| files.are_of_skills()).map(move |(_, files)| files.path_of(slug))
}

/// One prompt and what is expected of the agent that gets it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The name of the case within its skill.
    pub id: String,
    /// The slug of the skill under test.
    pub skill: String,
    /// Where it was written down.
    pub origin: SourceLocation,
    /// Whether the skill under test should be activated.
    pub should_trigger: bool,
    /// What the agent is asked.
    pub prompt: String,
    /// What the agent's system prompt is to say besides.
    pub system_prompt: Option<String>,
    /// What the agent may touch.
    pub sandbox: Sandbox,
    /// How long the agent may take, where the case says so.
    pub timeout: Option<Duration>,
    /// How often the model may be asked, where the case says so and the agent can be told.
    pub max_turns: Option<u64>,
    /// A folder copied into the workspace, below the skill's eval folder.
    pub fixture: Option<RelativePath>,
    /// A JSON Schema that the final message must follow, from the repository's root.
    pub output_schema: Option<RelativePath>,
    /// What counts as an activation of the skill, where the case says so.
    pub activation: Option<ActivationRule>,
    /// The same where nobody says so: the format's.
    pub default_activation: ActivationRule,
    /// Whether a rubric judge is asked.
    pub judge: bool,
    /// How often it runs and which share must pass, where the case says so.
    pub repetition: Repetition,
    /// What happens to the skills while the agent is at work, where it is offered any.
    pub during: Vec<SkillChange>,
    /// What must hold of the trial, beside what must hold of every trial.
    pub checks: Vec<Check>,
}

impl Case {
    /// The files that its workspace must hold.
    pub fn required_files(&self) -> impl Iterator<Item = &Path> {
        self.checks.iter().filter_map(|check| check.ask.required_file()).map(RelativePath::as_path)
    }
}
