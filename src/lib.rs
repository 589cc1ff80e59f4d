#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Evals of agent skills as ordinary Rust tests.
//!
//! A *skill* is a folder with a SKILL.md that an agent loads when a task calls for it. This crate asks of every skill
//! in a repository: does it trigger when it should, stay quiet when it should not, and is it followed once loaded?
//! Each question is a *case* (a row of `evals/skills/<slug>/prompts.csv`, or a file in `evals/tasks/`), and each case
//! in each *mode* (an agent, and the way in which skills reach it) is a test.
//!
//! # Public interface
//!
//! [`harness`] turns trials into tests, [`Trace`] is what a repository's own check sees, and [`artifacts`] has the types of
//! the files that a run writes. The rest is for the program `skill-evals`: it is hidden here and may change with any
//! version. A crate that only has the harness can do without the program's dependencies: `default-features = false`.
//!
//! # From a CSV row to a line of the summary
//!
//! ```text
//! skills/ + evals/ → catalog → plan → workspace + delivery → agent → trace.jsonl → trace → grade → outcome → report
//! ```
//!
//! 1. `cases` reads the row: its format (one of `cases::case::FORMATS`) makes a `Case` of it, or a diagnostic that points into the file.
//!    All skills and cases of a repository together are the `Catalog`.
//! 2. `run::plan` crosses the selected cases with the modes and repeats. Each result is a trial with a `TrialId`.
//! 3. `run::scheduler` gives each trial to `run::trial`. A live one gets a room from `agent::room` (a workspace and a home
//!    directory of its own), `agent::delivery` puts the skills there, and `process` runs the agent, whose output is stored
//!    as `trace.jsonl`. A replayed one starts with the `trace.jsonl` of its recording.
//! 4. The agent's own module decodes the stored output into a `trace::Trace`, whose form is the same for all agents.
//! 5. `grade::checks` compares the trace and the files with what the case expects and arrives at a verdict. A judge and the
//!    repository's own checks may add to it. The result is an `Outcome`.
//! 6. The outcome travels as an `Event`. The progress file, the terminal and `results::summary` read it; `report` turns
//!    the summary into the line that you see.
//!
//! Steps 4 to 6 need no agent, so replaying a recording, grading a stored trial again and grading a live one are the same
//! code. A number must be a measurement: an agent that crashed, was rate limited or was never offered the skill is an
//! `error`, neither a failure nor a pass; what the evidence does not show is `unknown`; what was scripted says so.
//!
//! # Code map
//!
//! A folder of `src/` is a room with one subject, and a room imports only itself and those above it. A test holds that,
//! and that no two neighbours in a folder import each other in a circle.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `files` | reading files and folders of users and agents: regular ones only, bounded, never through a link that leads out |
//! | `text` | messages that point into a file, relative paths, lines of files of any size, the masking of secrets |
//! | `stats` | statistics of trials and of what they cost: each function with its formula, source and reference test |
//! | `decide` | what follows from them for two arms: better, worse, no worse, undecided; where the next trial goes |
//! | `skill` | a skill: its SKILL.md, its name, its slug |
//! | `profile` | the registry of agents, and the names and places of each |
//! | `settings` | what can be chosen, by `evals/evals.toml`, the environment and the command line; modes |
//! | `trace` | what an agent's stream tells, in one form: events, effective commands, whose text came before the model |
//! | `trial` | what a trial is and leaves: its id, evidence, outcome, and the records that a run keeps |
//! | `checks` | what a case can ask of its trial |
//! | `cases` | what users write: cases in every format, the repository that holds them and the skills |
//! | `lint` | what is wrong with skills and cases |
//! | `mcp` | the server that offers skills over the Model Context Protocol |
//! | `grade` | the verdict of a trial, by its checks and by the rubric of a judge |
//! | `process` | the only place that starts programs, and ends them with all that they started |
//! | `store` | the only place that knows the layout of artifacts and recordings |
//! | `results` | the results of runs as data: rows of trials, summaries, the state of a run, what it may cost |
//! | `report` | results as text: for a terminal, as Markdown, as a test's failure message |
//! | `agent` | the programs under test, the folders they live in, and how skills reach them; the only place that names a vendor |
//! | `run` | the course of a run: plan, trials, grading, judging, what is stored |
//! | [`harness`] | trials as tests, for cargo test, nextest and IDEs |
//! | `setup` | adds evals to a repository, and says what is missing |
//!
//! `stats`, `decide`, `trial`, `lint`, `grade` and `report` are pure: no disk, no clock, no environment. The program
//! `skill-evals` (`src/main.rs`, `src/cli/`) parses arguments, calls the above and is the only thing that prints.
//!
//! # Effective commands
//!
//! `max_commands` counts the shell commands that do more than look: not `ls`, `pwd`, or plain readers of an offered
//! skill's SKILL.md. [The whole rule](trace::shell#effective-commands) is decided on the syntax tree of a bash
//! grammar, and what is not known to be harmless is effective.
//!
//! # Known limits
//!
//! Unix only: process groups, and `/proc` on Linux to find every process that an agent left behind. Agents' own
//! sandboxes limit writing, not reading; each trial's `meta.json` says what was asked for and is not enforced.

pub mod artifacts;
pub mod harness;
pub mod trace;

#[doc(hidden)]
pub mod agent;
#[doc(hidden)]
pub mod cases;
#[doc(hidden)]
pub mod checks;
#[doc(hidden)]
pub mod decide;
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
pub mod profile;
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
pub mod skill;
#[doc(hidden)]
pub mod stats;
#[doc(hidden)]
pub mod store;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod trial;

pub use trace::Trace;
