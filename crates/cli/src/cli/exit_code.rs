//! The exit codes of the program, and what GitHub is told.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::process::interrupt;
use crate::results::summary::Summary;
use crate::trial::outcome::{NotRun, Verdict};

/// The exit codes, as `--help` lists them.
pub const HELP: &str = "Exit codes:
  0    every case passed; `threshold` sets the share of its trials that must
       pass
  1    a case failed
  2    could not run: invalid arguments, settings, cases or recordings,
       an unknown run, or a run that is running
  3    nothing failed, but something was not measured: infrastructure, a limit,
       a judge without an answer, no recording
  130  interrupted";

/// How a command ended. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// No errors (warnings do not count), and every trial passed.
    Clean = 0,
    /// Errors, or a trial failed.
    Problems = 1,
    /// The command could not run: no repository, an unreadable file, invalid arguments or settings.
    CouldNotRun = 2,
    /// No trial failed, but at least one was not measured: infrastructure, a cost limit, or a judge without a usable answer.
    Infrastructure = 3,
    /// Everything was measured, and the trials do not decide a comparison.
    Undecided = 4,
    /// A gate whose change could be measured, and was not.
    NothingCompared = 5,
    Interrupted = 130,
}

impl Exit {
    /// The exit code of a summary: by the verdicts of its cases, and by trials that were not run.
    pub fn of_summary(summary: &Summary) -> Self {
        // In replay, a case without a recording is not an error, unless no case has one.
        let unrecorded = summary.not_run.get(&NotRun::NotRecorded).copied().unwrap_or_default();
        let not_run = summary.not_run.values().sum::<usize>() > unrecorded || summary.total.ended() == 0;
        let could_not_run = summary
            .not_run
            .keys()
            .any(|why| matches!(why, NotRun::BadCase | NotRun::Stale | NotRun::Unreadable | NotRun::NotOpened));
        let mut exit = match (could_not_run, not_run) {
            (true, _) => Self::CouldNotRun,
            (_, true) => Self::Infrastructure,
            _ => Self::Clean,
        };
        for verdict in [Verdict::Fail, Verdict::Error, Verdict::Unscored] {
            if summary.cases_with(verdict) > 0 {
                exit = exit.worse(Self::of_verdict(verdict));
            }
        }
        exit
    }

    /// The exit code of a comparison that ran trials, by that of its result.
    pub fn of_live(self, ended_early: bool) -> Self {
        match self {
            _ if interrupt::raised() => Self::Interrupted,
            // Trials that a limit or an error prevented may be measured next time.
            Self::Clean | Self::Undecided if ended_early => Self::Infrastructure,
            exit => exit,
        }
    }

    pub fn of_verdict(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Clean,
            Verdict::Fail => Self::Problems,
            Verdict::Error | Verdict::Unscored => Self::Infrastructure,
        }
    }

    /// The exit code to return of two: a command that could not run comes before a failure, and a failure before a trial that was
    /// not measured.
    pub fn worse(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    fn rank(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::NothingCompared => 1,
            Self::Undecided => 2,
            Self::Infrastructure => 3,
            Self::Problems => 4,
            Self::CouldNotRun => 5,
            Self::Interrupted => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

// The summary page of a GitHub Actions job.

/// Appends Markdown to the file that `GITHUB_STEP_SUMMARY` names, if it is set. Returns why that failed.
pub fn add_to_page(markdown: &str) -> Option<String> {
    let page = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|page| !page.is_empty())?;
    let file = OpenOptions::new().create(true).append(true).open(&page);
    let written = file.and_then(|mut file| file.write_all(markdown.as_bytes()));
    written.err().map(|error| format!("{}: {error}", Path::new(&page).display()))
}
