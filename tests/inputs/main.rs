//! What agents are given, and what anybody may have put where it comes from: links, pipes, devices, files without end.

#[path = "../support/mod.rs"]
mod support;

mod choices;
mod imported;
mod moving;
mod skills;
mod workspace;
