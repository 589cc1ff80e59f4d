//! What the program's exit code says.

use std::process::ExitCode;

use skill_evals::trial::outcome::Verdict;

/// The exit codes as `--help` tells them.
pub const HELP: &str = "Exit codes:
  0    every trial passed
  1    a trial failed
  2    could not run: wrong arguments, settings, cases or recordings, an unknown run, a run that is running
  3    nothing failed, but something was not measured: infrastructure, a cost limit, a judge without an answer
  130  interrupted";

/// How a command ended. Scripts match on the numbers, which never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// It ran and found nothing wrong (warnings count as nothing); every trial passed.
    Clean = 0,
    /// It ran and found problems; a trial failed, whatever else happened.
    Problems = 1,
    /// It could not run: no repository, an unreadable file, wrong arguments or settings.
    CouldNotRun = 2,
    /// No trial failed, but at least one measured nothing: infrastructure, a cost limit, or a judge without a usable
    /// answer.
    Infrastructure = 3,
    /// It was interrupted before its end.
    Interrupted = 130,
}

impl Exit {
    /// What one trial's verdict means for the exit code.
    pub fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Clean,
            Verdict::Fail => Self::Problems,
            Verdict::Error | Verdict::Unscored => Self::Infrastructure,
        }
    }

    /// The one to report of two: what could not run hides what failed, and a failure hides what measured nothing.
    pub fn worse(self, other: Self) -> Self {
        let rank = |exit| match exit {
            Self::Clean => 0,
            Self::Infrastructure => 1,
            Self::Problems => 2,
            Self::CouldNotRun => 3,
            Self::Interrupted => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
