//! What the program's exit code says.

use std::process::ExitCode;

use skill_evals::results::summary::{BAD_CASE, NOT_OPENED, NOT_RECORDED, STALE, Summary, UNREADABLE};
use skill_evals::trial::outcome::Verdict;

/// The exit codes as `--help` tells them.
pub const HELP: &str = "Exit codes:
  0    every case passed: by its share of passed trials, where `threshold` says less than all
  1    a case failed
  2    could not run: invalid arguments, settings, cases or recordings, an unknown run, a run that is running
  3    nothing failed, but something was not measured: infrastructure, a limit, a judge without an answer, no recording
  4    `compare` only: the trials do not decide
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
    /// Everything was measured, and the trials do not decide a comparison.
    Undecided = 4,
    /// It was interrupted before its end.
    Interrupted = 130,
}

impl Exit {
    /// What a summary means for the exit code: the verdicts of its cases, and what was not run.
    pub fn of_summary(summary: &Summary) -> Self {
        let exit = |verdict| if summary.cases_with(verdict) > 0 { Self::of_verdict(verdict) } else { Self::Clean };
        // In replay a case without a recording is no fault, unless there is nothing else.
        let unrecorded = summary.not_run.get(NOT_RECORDED).copied().unwrap_or_default();
        let measured = summary.total.ended();
        let could_not = [BAD_CASE, STALE, UNREADABLE, NOT_OPENED].iter().any(|why| summary.not_run.contains_key(*why));
        let not_run = summary.not_run.values().sum::<usize>() > unrecorded || measured == 0;
        let others = match (could_not, not_run) {
            (true, _) => Self::CouldNotRun,
            (_, true) => Self::Infrastructure,
            _ => Self::Clean,
        };
        [Verdict::Fail, Verdict::Error, Verdict::Unscored].into_iter().map(exit).fold(others, Self::worse)
    }

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
            Self::Undecided => 1,
            Self::Infrastructure => 2,
            Self::Problems => 3,
            Self::CouldNotRun => 4,
            Self::Interrupted => 5,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
