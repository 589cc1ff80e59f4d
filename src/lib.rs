#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Evals of agent skills as ordinary Rust tests.
//!
//! A *skill* is a folder with a SKILL.md that an agent loads when a task calls for it. This crate asks of every skill
//! in a repository: does it trigger when it should, stay quiet when it should not, and is it followed once loaded?
//! Each question is a *case* (a row of `evals/skills/<slug>/prompts.csv`, or a file in `evals/tasks/`), and each case
//! in each *mode* (an agent, and the way in which skills reach it) is a test.
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
//! In the order in which imports point: a room imports itself and the rooms above it. A test holds this, and that no
//! two modules import each other in a circle.
//!
//! **Vocabulary**: types, and parsing them from text. No disk, no clock, no environment.
//! [`diagnostic`] [`trouble`] [`relative_path`] [`tree`] [`skill`] [`case`] [`mode`] [`plan`] [`trace`] [`outcome`]
//! [`event`] [`evidence`] [`record`] [`catalog`] [`settings`] [`redact`]
//!
//! **Decisions**: pure functions. [`lint`] finds what is wrong with skills and cases, [`selection`] says what is to
//! run, [`grade`] what a trial came to by its checks and [`rubric`] what a judge is asked and his answer is worth,
//! [`report`] says how it reads. None of them touches the disk.
//!
//! **Edges**: input and output without policy. [`config`] reads the settings, [`discovery`] walks the repository,
//! [`inputs`] digests what decides a run, [`lines`] reads files of any size, [`process`] is the only place that starts
//! a program, [`workspace`] makes the folders that agents live in, [`skill_server`] asks an
//! MCP server of skills what it offers, [`store`] is the only place that knows the layout
//! of artifacts and recordings.
//!
//! **Adapters**: one file for each outside thing. [`agent`] is the only place that names a vendor, [`delivery`]
//! brings skills to agents, [`mcp`] serves them over the Model Context Protocol.
//!
//! **Orchestration**: [`own_check`] is a repository's own checks, [`run`] what trials share, [`session`] one agent at
//! work in its room, [`trial`] the steps of a trial, [`judge`] those of judging one, [`engine`] runs many side by side
//! at the [`pace`] that providers allow, [`progress_files`] keeps where a run stands, [`history`] reads what earlier
//! runs left, [`recording`] turns finished trials into recordings, [`harness`] makes all of it tests, [`stubs`] shows
//! them to IDEs, [`doctor`] says what is missing for any of it to run, [`init`] brings it into a repository.
//!
//! The program `skill-evals` (`src/main.rs`, `src/cli/`) parses arguments, calls the above and is the only thing that
//! prints.
//!
//! # Known limits
//!
//! Unix only: process groups, and `/proc` on Linux to find every process that an agent left behind. Agents' own
//! sandboxes limit writing, not reading; what was asked for and is not enforced stands in each trial's `meta.json`.

pub mod diagnostic;
pub mod relative_path;
pub mod tree;
pub mod trouble;

pub mod skill;

pub mod case;
pub mod mode;

pub mod plan;

pub mod trace;

pub mod outcome;

pub mod event;
pub mod evidence;
pub mod record;

pub mod catalog;
pub mod redact;
pub mod settings;

pub mod generate;
pub mod grade;
pub mod lint;
pub mod report;
pub mod rubric;
pub mod selection;

pub mod config;
pub mod discovery;
pub mod inputs;
pub mod lines;
pub mod process;
pub mod skill_server;
pub mod store;
pub mod workspace;

pub mod agent;
pub mod delivery;
pub mod mcp;

pub mod doctor;
pub mod engine;
pub mod harness;
pub mod history;
pub mod init;
pub mod judge;
pub mod own_check;
pub mod pace;
pub mod progress_files;
pub mod recording;
pub mod run;
pub mod session;
pub mod stubs;
pub mod trial;
