//! Configurations of promptfoo: `promptfooconfig.yaml` with prompts and tests.
//!
//! ```yaml
//! prompts: ["{{request}}"]
//! tests:
//!   - description: greets
//!     vars: { request: Greet Ada }
//!     assert:
//!       - { type: skill-used, value: greeting }
//!       - { type: icontains, value: ada }
//! ```
//!
//! Each prompt with each test is a case. Most configurations test prompts and have nothing to do with skills. One holds cases
//! if an assertion in it names a skill, or if it is in the evals of a skill. What has no equal here makes its case unsupported.
//!
//! AgentV has the same assertions, and its own names for the keys around them: a `Dialect`.

mod assertions;
mod prompts;
mod providers;
mod skill_use;
mod suite;
mod suite_file;
mod template;
mod test_reader;
pub(super) mod workspace;

use crate::cases::case::document::{Document, Node};
use crate::cases::case::{Case, CaseFormat, ForeignFile, ForeignFiles};
use crate::profile::DEFAULT_MODE;

pub(super) use suite::mentions_skill;
pub(super) use suite_file::parse;

/// Prompts, and what is expected of the answers.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "promptfoo test",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &["promptfooconfig*.yaml", "promptfooconfig*.yml", "promptfooconfig*.json"],
        possible_names: &["promptfoo*.yaml", "promptfoo*.yml", "promptfoo*.json"],
        mark: "",
        keys: &["prompts", "tests", "assert"],
        parse: |file, document, root| parse(&DIALECT, file, document, root),
    }),
};

/// The keys of promptfoo.
static DIALECT: Dialect = Dialect {
    format: &FORMAT,
    default_test: "defaultTest",
    run_options: "evaluateOptions",
    timeout_ms: "timeoutMs",
    cost: "threshold",
    notes: &[
        "$schema",
        "description",
        "tags",
        "metadata",
        "outputPath",
        "commandLineOptions",
        "sharing",
        "writeLatestResults",
        "tracing",
        "env",
        "derivedMetrics",
        "nunjucksFilters",
    ],
    keys: &[],
    test_keys: &[],
    implied_prompt: None,
    has_criteria: false,
    trims: false,
    threshold: None,
    read_suite: |_, _, _, _| {},
    message: |_| None,
};

/// What the files of a program call things.
#[derive(Debug)]
pub(super) struct Dialect {
    pub format: &'static CaseFormat,
    /// The key of what every test has.
    pub default_test: &'static str,
    /// The key of what is said about runs.
    pub run_options: &'static str,
    /// The key of the timeout in it, in milliseconds.
    pub timeout_ms: &'static str,
    /// The key of the most that a trial may cost.
    pub cost: &'static str,
    /// Keys of a file that ask for nothing of a trial.
    pub notes: &'static [&'static str],
    /// More keys of a file.
    pub keys: &'static [&'static str],
    pub test_keys: &'static [&'static str],
    /// The prompt of a file without one.
    pub implied_prompt: Option<&'static str>,
    /// Whether a text among assertions is a criterion for the judge.
    pub has_criteria: bool,
    /// Whether the start, the end and all of a text are compared without the space around it.
    pub trims: bool,
    /// The score that is enough for a pass if a file names none; without it every assertion must hold.
    pub threshold: Option<f64>,
    /// Reads more of what a file asks of every case.
    pub read_suite: fn(&mut Document<'_>, &ForeignFile<'_>, &Node, &mut Case),
    /// The text of a variable that is a message.
    pub message: fn(&Node) -> Option<Result<String, String>>,
}
