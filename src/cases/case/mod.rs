//! A case: one prompt and what is expected of it.
//!
//! Cases come from `prompts.csv` rows ([`prompts_csv`]), task files ([`task_json`]) and, for skills without either,
//! three built-in ones ([`smoke`]). Each format is one file that implements [`Source`], with its defaults as data
//! ([`Format`]); all become the one type [`Case`].

pub mod during;
mod found;
mod pattern;
pub mod prompts_csv;
pub mod repetition;
pub mod smoke;
pub mod task_json;

use std::path::Path;
use std::time::Duration;

pub use during::{Change, ChangeKind};
pub use found::{Broken, Format, Found, Source};
pub use pattern::{Difference, Pattern};
pub use repetition::Repetition;
use serde::{Deserialize, Serialize};

use crate::text::diagnostic::Place;
use crate::text::relative_path::RelativePath;

/// How long an agent may take where the case does not say: 180 s, as other runners of prompts.csv have it.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(180);

/// The longest timeout a case may ask for: a day.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The most turns that a case may allow.
pub const MOST_TURNS: u64 = 10_000;

/// One prompt and what is expected of the agent that gets it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the case within its skill.
    pub id: String,
    /// The slug of the skill under test.
    pub skill: String,
    /// Where it was written down.
    pub origin: Place,
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
    /// Whether a rubric judge is asked.
    pub judge: bool,
    /// How often it runs and which share must pass, where the case says so.
    pub repetition: Repetition,
    /// What happens to the skills while the agent is at work, where it is offered any.
    pub during: Vec<Change>,
    /// What must hold of the trial, beside what must hold of every trial.
    pub expectations: Vec<Expectation>,
}

/// What the agent may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Read files only.
    ReadOnly,
    /// Write below the workspace too.
    #[default]
    WorkspaceWrite,
}

impl Sandbox {
    /// The word for it in prompts.csv, which is also codex's.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Sandbox::ReadOnly => "read-only",
            Sandbox::WorkspaceWrite => "workspace-write",
        }
    }
}

/// One thing that a case asks of its trial.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// The skill under test is activated, or is not.
    Trigger(bool),
    /// A file of the skill other than SKILL.md is loaded.
    ResourceLoaded,
    /// The whole description of the skill under test comes before the model.
    Described,
    /// Those changes in mid-session come before the model of which that is expected.
    ChangesSeen,
    /// The final message holds this text, in any case.
    OutputContains(String),
    /// The final message matches, case and lines as the pattern says.
    OutputMatches(Pattern),
    /// The final message matches, in any case, `^` and `$` at every line.
    MustInclude(Pattern),
    /// The final message does not match, in any case, `^` and `$` at every line.
    MustNotInclude(Pattern),
    /// The workspace holds this file at the end.
    RequireFile(RelativePath),
    /// At most this many effective commands.
    MaxCommands(u64),
    /// At most this many input tokens, cached ones included.
    MaxInputTokens(u64),
    /// At most this many output tokens.
    MaxOutputTokens(u64),
    /// At most this many tokens, input and output together.
    MaxTotalTokens(u64),
    /// The final message is JSON that follows the case's output schema.
    OutputSchema,
    /// The final message's `invoked_skills` names the skill under test, or does not.
    InvokedSkills(bool),
}

impl Expectation {
    /// Whether it asks what became of the skill under test: nothing that an agent without the skill could be asked.
    #[must_use]
    pub fn asks_for_the_skill(&self) -> bool {
        matches!(
            self,
            Self::Trigger(_) | Self::ResourceLoaded | Self::Described | Self::ChangesSeen | Self::InvokedSkills(_)
        )
    }

    /// The file that it asks the workspace for.
    #[must_use]
    pub fn required_file(&self) -> Option<&Path> {
        match self {
            Self::RequireFile(path) => Some(path.as_path()),
            _ => None,
        }
    }
}
