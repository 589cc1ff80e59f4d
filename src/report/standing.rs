//! Where a run stands: as `skill-evals status` and `runs` say it.

use std::fmt::Write;
use std::time::Duration;

use crate::report::table::{clock, cost, tokens};
use crate::results::standing::{RunState, Standing};
use crate::trial::outcome::Verdict;

/// Where a run stands, over several lines.
#[must_use]
pub fn status(standing: &Standing) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let pid = match (standing.state, standing.pid) {
        (RunState::Running, Some(pid)) => format!(" (process {pid})"),
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
    let was = if standing.state == RunState::Running { "running" } else { "was at" };
    for running in &standing.running {
        let time = clock(Duration::from_secs(running.seconds));
        let _ = writeln!(text, "  {was:<9}{}  {time}", running.trial);
    }
    for not_passed in &standing.not_passed {
        let word = match not_passed.verdict {
            Verdict::Pass | Verdict::Fail => "failed",
            Verdict::Error => "error",
            Verdict::Unscored => "unscored",
        };
        let _ = writeln!(text, "  {word:<9}{}: {}", not_passed.trial, not_passed.why);
    }
    if let Some(left) = standing.left {
        let _ = writeln!(text, "  left     {left}");
    }
    let _ = writeln!(text, "  cost     {} so far, {}", cost(&done.spent), tokens(&done.spent));
    if standing.damaged_lines > 0 {
        let _ = writeln!(
            text,
            "  note     {} of the progress file cannot be read; --resume writes it anew from the trials",
            crate::report::diagnostics::counted(standing.damaged_lines, "line")
        );
    }
    let again = done.errors + done.unscored;
    if !matches!(standing.state, RunState::Running | RunState::Finished)
        || (standing.state == RunState::Finished && again > 0)
    {
        let left = standing.left.unwrap_or_default();
        let runs = match (left, again) {
            (_, 0) => format!("runs the {left} left"),
            (0, _) => format!("runs the {again} again that measured nothing or were not judged"),
            _ => format!("runs the {left} left, and the {again} again that measured nothing or were not judged"),
        };
        let (command, runs) =
            if standing.compares { ("compare", "until the question is decided".to_owned()) } else { ("run", runs) };
        let _ = writeln!(text, "  to go on: skill-evals {command} --resume --run-id {}  ({runs})", standing.id);
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
        let cost = done.spent.cost_usd.map_or_else(String::new, |_| format!(", {}", cost(&done.spent)));
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
