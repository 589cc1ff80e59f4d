#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Evals of agent skills as ordinary Rust tests.
//!
//! A *skill* is a folder with a SKILL.md that an agent loads when a task calls for it. This crate asks of every skill
//! in a repository: does it trigger when it should, stay quiet when it should not, and is it followed once loaded?
//! Each question is a *case* (a row of `evals/skills/<slug>/prompts.csv`, or a file in `evals/tasks/`), and each case
//! in each *mode* (an agent, and the way in which skills reach it) is a test.
//!
//! # What there is to use
//!
//! [`harness`] makes trials tests, [`Trace`] is what a check of a repository's own sees, and [`artifacts`] are the types of
//! the files that runs keep. The rest is for the program `skill-evals`: it is hidden here and may change with any
//! version. A crate that only has the harness does without what only the program needs: `default-features = false`.
//!
//! # How a trial goes
//!
//! ```text
//! skills/ + evals/ → catalog → plan → workspace + delivery → agent → trace.jsonl → trace → grade → outcome → report
//! ```
//!
//! Everything right of `trace.jsonl` can be computed again without an agent: replaying a recording, grading a stored
//! trial again and grading a live one are one code path. That a number is a measurement is the point of it all: an
//! agent that crashed, was rate limited or was never offered the skill is an `error`, neither a failure nor a pass;
//! what the evidence does not show is `unknown`; what was scripted says so.
//!
//! # Code map
//!
//! A folder of `src/` is a room with one subject, and a room imports only itself and those above it. A test holds that,
//! and that no two neighbours in a folder import each other in a circle.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `files` | files and folders of others: regular ones only, bounded, never by a link that leads out |
//! | `text` | messages that point into a file, relative paths, lines of files of any size, the masking of secrets |
//! | `cases` | what users write: skills, cases in every format, the repository that holds them |
//! | `settings` | what can be chosen, by `evals/evals.toml`, the environment and the command line; modes |
//! | `trial` | what a trial is and leaves: its id, trace, evidence, outcome, and the records that a run keeps |
//! | `lint` | what is wrong with skills and cases |
//! | `mcp` | the server that offers skills over the Model Context Protocol |
//! | `grade` | what a trial came to, by its checks and by the rubric of a judge |
//! | `process` | the only place that starts programs, and ends them with all that they started |
//! | `store` | the only place that knows the layout of artifacts and recordings |
//! | `results` | the results of runs as data: rows of trials, summaries, where a run stands, what it may cost |
//! | `report` | how it all reads: for a terminal, as Markdown, as a test's failure text |
//! | `agent` | the programs under test, the folders they live in, and how skills reach them; the only place that names a vendor |
//! | `run` | the one road of a run: plan, attempts, grading, judging, what is kept |
//! | [`harness`] | trials as tests, for cargo test, nextest and IDEs |
//! | `setup` | brings evals into a repository, and says what is missing |
//!
//! `trial`, `lint`, `grade` and `report` are pure: no disk, no clock, no environment. The program `skill-evals`
//! (`src/main.rs`, `src/cli/`) parses arguments, calls the above and is the only thing that prints.
//!
//! # Effective commands
//!
//! `max_commands` counts the shell commands that do more than look: not `ls`, `pwd`, or plain readers of an offered
//! skill's SKILL.md. [The whole rule](trial::trace::shell#effective-commands) is decided on the syntax tree of a bash
//! grammar, and what is not known to be harmless is effective.
//!
//! # Known limits
//!
//! Unix only: process groups, and `/proc` on Linux to find every process that an agent left behind. Agents' own
//! sandboxes limit writing, not reading; what was asked for and is not enforced stands in each trial's `meta.json`.

pub mod artifacts;
pub mod harness;

#[doc(hidden)]
pub mod agent;
#[doc(hidden)]
pub mod cases;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod grade;
#[doc(hidden)]
pub mod lint;
#[doc(hidden)]
pub mod mcp;
#[doc(hidden)]
pub mod process;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod results;
#[doc(hidden)]
pub mod run;
#[doc(hidden)]
pub mod settings;
#[doc(hidden)]
pub mod setup;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod trial;

#[doc(inline)]
pub use trial::trace::Trace;
