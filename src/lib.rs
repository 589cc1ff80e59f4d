#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Evals of agent skills as ordinary Rust tests.
//!
//! ```no_run
//! // tests/skill_evals.rs, which has `harness = false` in Cargo.toml
//! fn main() -> std::process::ExitCode {
//!     skill_evals::harness::main()
//! }
//! ```
//!
//! A *skill* is a directory with a SKILL.md that an agent loads when a task calls for it. This crate tests every skill in
//! a repository: does it activate when it should, does it not activate when it should not, and does the agent follow it?
//! Each question is a *case* (a row of `evals/skills/<slug>/prompts.csv`, or a file in `evals/tasks/`). Each case in each
//! *mode* (an agent, and the way in which it gets the skills) is a test.
//!
//! `cargo test` replays recordings, which are what snapshots are to `insta`: `SKILL_EVALS_LIVE=1 SKILL_EVALS_RECORD=1 cargo test`
//! takes them, and git shows what changed. `RUST_LOG` has no effect: a failing test names the directory with all that the agent did.
//!
//! # Public interface
//!
//! [`harness`] turns trials into tests. [`ask`] runs, gates and compares from a test. A custom check sees a [`Trace`].
//! [`artifacts`] has the types of the files that a run writes. The rest belongs to the program `skill-evals`: it may change with any version.
//!
//! The features `schemas` (on by default: cases with an `output_schema`, rubrics), `mcp` (live trials over MCP) and `chat` (models
//! behind an API) add what a case may need, and `door` a limited network for live trials. A case that needs one that is off is an
//! error, which names it.
//!
//! # From a CSV row to a line of the summary
//!
//! ```text
//! skills/ + evals/ → catalog → plan → trial environment → agent → trace.jsonl → trace → grade → outcome → report
//! ```
//!
//! 1. `cases` reads the row. Its format (one of `cases::case::FORMATS`) makes a `FoundCase` of it. The `Case`, or diagnostics that
//!    point into the file, are read when they are first needed. The `Catalog` holds all skills and cases of a repository.
//! 2. `run::plan` combines the selected cases with the modes: a `PlannedCase` is a `TestCase` and its number of trials, each with a
//!    `TrialId`. A `PlannedRun` has them all. Once it is a `StartedRun`, nothing of it changes.
//! 3. `run::scheduler` numbers the trials and gives each to `run::trial`, if `run::preflight` makes a `ReadyCase` of its case. A live
//!    trial gets an environment from `agent::trial_env`: `room/`,
//!    with a workspace and a home directory for the agent, and `control/` for the runner. The agent cannot see `control/`.
//!    The runner enters `room/` through `files::rooted` only, which follows nothing. `agent::snapshot` puts the skills there.
//!    `process` runs the agent and stores its output as `trace.jsonl`. A replayed trial starts with the `trace.jsonl` of its
//!    recording.
//! 4. The agent's own module, called by `run::agent_run`, decodes the stored output into a `trace::Trace`, which has the same form for
//!    all agents.
//! 5. `run::programs` runs the scripts that answer checks. `grade::checks` compares their answers, the trace and the files
//!    with what the case expects and returns a `Grade`. Custom checks and a judge may
//!    add to it. With its cost and its directory it is an `Outcome` (`results::graded_trial`).
//! 6. A `RunEvent` carries the outcome to the terminal, and, as a `TrialRecord`, to the progress file and `results::summary`. `report`
//!    turns the summary into the line that you see. Cases that passed are only counted there.
//!
//! Steps 4 to 6 need no agent: the same code replays a recording, grades a stored trial again and grades a live trial.
//! A number must be a measurement. If an agent crashed, was rate limited or was never offered the skill, the trial is an
//! `error`, neither a failure nor a pass. If the evidence does not show something, it is `unknown`. If a mock model wrote
//! a recording, every report says so.
//!
//! # Code map
//!
//! Each row is a crate. It imports only those above it. Its modules have one subject each and import only themselves and those
//! before them in the row. A test holds that, and that no two neighbors in a directory import each other.
//!
//! | crate | module | contents |
//! | --- | --- | --- |
//! | `crates/stats` | `stats` | statistics of trials and of their cost: each function with its formula, source and reference test |
//! | | `decide` | compares two sides: broke, worse, better, no worse …; chooses the case of the next trial |
//! | `crates/evidence` | `files` | reads, writes and removes files of users and agents: regular files only, bounded, never through a link that leads out |
//! | | `text` | diagnostics that point into a file, relative paths, lines of files of any size, masking of secrets |
//! | | `skill` | a skill: its SKILL.md, its name, its slug |
//! | | `profile` | the registry of agents, and the names and paths of each |
//! | | `settings` | settings from `evals/evals.toml`, the environment and the command line; modes |
//! | | [`trace`](crate::Trace) | an agent's event stream in one form: events, effective commands, what entered the model's context |
//! | | `wire` | model requests and their answers, in one form for the protocols that agents speak |
//! | | `trial` | a trial and what it leaves: its id, evidence, outcome, and the records of its run |
//! | `crates/cases` | `checks` | the kinds of checks |
//! | | `cases` | what users write: cases in every format, and the repository that holds them and the skills |
//! | | `lint` | finds problems in skills and cases |
//! | | `grade` | the verdict of a trial, from its checks and from the judge's rubric |
//! | `crates/door` | | what passes to and from a trial environment whose network is limited; no other crate speaks TLS |
//! | `crates/agents` | `process` | starts programs, and ends them with all processes that they started; no other module does |
//! | | `mcp` | the server that offers skills over the Model Context Protocol |
//! | | `agent` | the agents, their trial environments, and how they get skills; no other module names a vendor |
//! | `crates/results` | `store` | reads and writes artifacts and recordings; no other module knows their layout |
//! | | `results` | results of runs as data: trials, summaries, the status of a run, its expected cost |
//! | `crates/report` | | results as text: for a terminal, as Markdown, as a test's failure message |
//! | `crates/exports` | | results as files: HTML, JUnit, JSON, CSV, and those of other tools |
//! | `src` | `run` | runs trials: plan, execution, grading, judging, storing |
//! | | `engine` | what can be asked about skills, as plans of trials: run, compare, gate, diagnose, tune; one way executes them |
//! | | [`ask`] | the same for tests of other crates: whether cases pass, whether a change breaks something, what differs |
//! | | [`harness`] | trials as tests, for cargo test, nextest and IDEs |
//! | `crates/cli` | `stand_in` | the scripted model that agents are calibrated with |
//! | | `setup` | adds evals to a repository, says what is missing, and whether agents are read rightly |
//! | | `cli` | the program `skill-evals`: parses arguments, calls the others, prints |
//!
//! `stats`, `decide`, `trial`, `lint`, `grade`, `report` and `exports` are pure: no disk, no clock, no environment. `src` does not
//! import `crates/exports`.
//!
//! # Effective commands
//!
//! `max_commands` counts the shell commands that do more than inspect. `ls`, `pwd` and plain readers of an offered skill's
//! SKILL.md do not count. The rule works on the syntax tree of a bash grammar.
//! A command counts unless it is known to be harmless.
//!
//! # Known limits
//!
//! Unix only: process groups, and `/proc` on Linux to find every process that an agent left behind. Agents' own
//! sandboxes limit writing, not reading; each trial's `meta.json` says what was asked for and is not enforced.

pub mod artifacts;
pub mod ask;
#[doc(hidden)]
pub mod engine;
pub mod harness;
#[doc(hidden)]
pub mod run;

use skill_evals_agents::{agent, mcp, mock, process};
use skill_evals_cases::{cases, checks, grade, lint};
use skill_evals_evidence::{files, profile, settings, skill, text, trace, trial, wire};
use skill_evals_report as report;
use skill_evals_results::{results, store};
use skill_evals_stats::{decide, stats};

#[doc(inline)]
pub use trace::Trace;
