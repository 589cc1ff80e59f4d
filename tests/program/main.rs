//! The program `skill-evals` and the harness as their users start them; a script stands in for the agent.

mod activation;
mod compare;
mod display;
mod doctor;
mod english;
mod faults;
mod first_hour;
mod gate;
mod generate;
mod harness;
mod hostile;
mod inputs;
mod json;
mod judge;
mod kills;
mod left_behind;
mod lint;
mod list;
mod mcp;
mod mistakes;
mod numbers;
mod one_road;
mod outputs;
mod recordings;
mod repeats;
mod report;
mod resume;
mod run_folders;
mod runner;
mod settled;
mod shards;
mod show;
#[path = "../support/mod.rs"]
mod support;
mod terminal;
mod watch;
