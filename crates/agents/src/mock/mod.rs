//! What is answered from files: this program, in a trial's room, under the names of commands and MCP servers.
//!
//! In a directory that the room shows, `bin/<command>` is this program, `share/bin/<command>` has the answers of the command, the same
//! in `lib` for servers, and `share/log` is the pipe to which it writes each call. The names are ordinary, and nothing is in the environment: the program knows
//! by its own path what it is. The runner reads the pipe during the trial. In a sandbox the pipe is mounted read-only and not
//! readable for its owner, so that nobody there can take a call out of the record. A call can be forged only by whoever could have
//! made it.

mod log;
mod program;
mod server;

pub use log::CallLog;
pub use program::take_over;

/// The directory of commands.
pub const COMMANDS: &str = "bin";

/// The directory of MCP servers.
pub const SERVERS: &str = "lib";

/// The directory of answers, and of the log.
pub const SHARE: &str = "share";

/// The pipe in [`SHARE`].
pub const LOG: &str = "log";
