//! What agents are given, and what anybody may have put where it comes from: links, pipes, devices, files without end.

mod choices;
mod files;
mod follow_ups;
mod history;
mod imported;
mod moving;
mod parts;
mod setup;
mod skills;
mod user;
mod workspace;
