//! What the program's exit code says.

use std::process::ExitCode;

/// How a command ended. Scripts match on the numbers, which never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It ran and found nothing wrong; warnings count as nothing.
    Clean = 0,
    /// It ran and found problems.
    Problems = 1,
    /// It could not run: no repository, an unreadable file, wrong arguments.
    CouldNotRun = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
