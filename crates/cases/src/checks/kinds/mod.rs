//! The kinds of checks, a file for each subject.

pub(super) mod answer;
pub(super) mod calls;
pub(super) mod changes;
mod commands;
pub(super) mod description;
pub(super) mod files;
pub(super) mod grader;
pub(super) mod limits;
pub(super) mod mocks;
pub(super) mod resource;
pub(super) mod run;
pub(super) mod score;
pub(super) mod script;
mod session;
mod skill_tools;
pub(super) mod skills;
pub(super) mod text;
pub(super) mod trigger;
pub(super) mod work;

pub use answer::{invoked_skills, output_schema};
pub use calls::{any_tool, script_command};
pub use changes::changes_seen;
pub use files::{FileWant, file};
pub use grader::{CallPattern, Grader, GraderTest, TextMatch, TextSource};
pub use limits::{max_commands, max_cost, max_duration, max_total_tokens, max_turns};
pub use resource::loads;
pub use run::run;
pub use score::full_score;
pub use script::{KEY as SCRIPT_KEY, script};
pub use session::PrintedOnce;
pub use skills::{activates, rejects};
pub use text::{TextPlace, final_message, text};
pub use trigger::{NOT_TRIGGERED, TRIGGERED, triggers};
pub use work::{Work, work};
