//! The kinds of checks, a file for each subject.

pub(super) mod calls;
pub(super) mod files;
pub(super) mod grader;
pub(super) mod limits;
pub(super) mod run;
pub(super) mod script;
mod session;
pub(super) mod skills;
pub(super) mod text;
pub(super) mod work;

pub use calls::{any_tool, script_command};
pub use files::changes_seen;
pub use files::{FileWant, file};
pub use grader::full_score;
pub use grader::{CallPattern, Grader, GraderTest, TextMatch, TextSource};
pub use limits::{max_commands, max_cost, max_duration, max_total_tokens, max_turns};
pub use run::run;
pub use script::{KEY as SCRIPT_KEY, script};
pub use session::PrintedOnce;
pub use skills::loads;
pub use skills::{NOT_TRIGGERED, TRIGGERED, triggers};
pub use skills::{activates, activates_one, rejects};
pub use text::{TextPlace, final_message, text};
pub use text::{invoked_skills, output_schema};
pub use work::{Work, work};
