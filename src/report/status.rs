//! Where a run stands: what `skill-evals status` and `runs` say.

use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use crate::report::summary::Counts;
use crate::report::table::{clock, dollars};

/// Where a run stands.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// The run's id.
    pub id: String,
    /// What it is doing.
    pub state: State,
    /// The process that runs it, or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// How many trials it has, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// The trials that have ended.
    pub done: Counts,
    /// Those that failed, by name.
    pub failed: Vec<String>,
    /// Those under way; of a run that was killed, those that were.
    pub running: Vec<RunningFor>,
    /// How many are left; those under way and those with an error, which a resumed run tries again, are not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<usize>,
    /// Lines of the progress file that could not be read.
    pub damaged_lines: usize,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// A process runs it.
    Running,
    /// It came to its end.
    Finished,
    /// Nobody runs it, and it did not come to its end: killed, stopped, or the machine went down.
    Ended,
}

/// A trial under way.
#[derive(Clone, Debug, Serialize)]
pub struct RunningFor {
    /// Which.
    pub trial: String,
    /// Since when, in seconds.
    pub seconds: u64,
}

impl State {
    /// The state in a word or two.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Finished => "finished",
            State::Ended => "not running",
        }
    }
}

/// Where a run stands, over several lines.
#[must_use]
pub fn status(standing: &Standing) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let pid = match (standing.state, standing.pid) {
        (State::Running, Some(pid)) => format!(" (process {pid})"),
        _ => String::new(),
    };
    let _ = writeln!(text, "{}: {}{pid}", standing.id, standing.state.as_str());
    let done = &standing.done;
    let of = standing.planned.map_or_else(String::new, |planned| format!(" of {planned}"));
    let _ = writeln!(
        text,
        "  done     {}{of}: {} passed, {} failed, {} errors, {} unscored",
        done.ended(),
        done.passed,
        done.failed,
        done.errors,
        done.unscored
    );
    let was = if standing.state == State::Running { "running" } else { "was at" };
    for running in &standing.running {
        let time = clock(Duration::from_secs(running.seconds));
        let _ = writeln!(text, "  {was:<9}{}  {time}", running.trial);
    }
    for failed in &standing.failed {
        let _ = writeln!(text, "  failed   {failed}");
    }
    if let Some(left) = standing.left {
        let _ = writeln!(text, "  left     {left}");
    }
    let cost = done.cost_usd.map_or_else(|| "unknown".to_owned(), dollars);
    let _ = writeln!(text, "  cost     {cost} so far, {} tokens", done.tokens);
    if standing.damaged_lines > 0 {
        let _ = writeln!(
            text,
            "  note     {} of the progress file cannot be read; --resume writes it anew from the trials",
            crate::report::diagnostics::counted(standing.damaged_lines, "line")
        );
    }
    if standing.state == State::Ended {
        let _ = writeln!(text, "  to go on: skill-evals run --resume --run-id {}", standing.id);
    }
    text
}

/// A line for each run.
#[must_use]
pub fn runs(standings: &[Standing]) -> String {
    let width = standings.iter().map(|standing| standing.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Standing { id, state, planned, done, .. } in standings {
        let of = planned.map_or_else(|| "?".to_owned(), |planned| planned.to_string());
        let cost = done.cost_usd.map_or_else(String::new, |cost| format!(", {}", dollars(cost)));
        let _ = writeln!(
            text,
            "{id:width$}  {:11}  {}/{of} done, {} passed, {} failed, {} errors{cost}",
            state.as_str(),
            done.ended(),
            done.passed,
            done.failed,
            done.errors
        );
    }
    text
}
