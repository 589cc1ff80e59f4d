//! Where a run stands: as `skill-evals status` and `runs` say it.

use std::fmt::Write;
use std::time::Duration;

use crate::decide::threshold::ThresholdSide;
use crate::report::diagnostics::counted;
use crate::report::paint::{Paint, Tone};
use crate::report::rate;
use crate::report::table::{clock, cost, decided, endings, tokens};
use crate::results::run_status::{RunState, RunStatus, UndecidedCase};
use crate::trial::outcome::Verdict;

/// Where a run stands, over several lines.
#[must_use]
pub fn status(standing: &RunStatus, paint: Paint) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let pid = match (standing.state, standing.pid) {
        (RunState::Running, Some(pid)) => format!(" (process {pid})"),
        _ => String::new(),
    };
    let _ = writeln!(text, "{}: {}{pid}", standing.id, state(standing, standing.state.as_str(), paint));
    if let Some(why) = &standing.why {
        let _ = writeln!(text, "  why      {why}");
    }
    let done = &standing.done;
    let of = standing.planned.map_or_else(String::new, |planned| format!(" of {planned}"));
    let _ = writeln!(text, "  done     {}{of}: {}", done.ended(), endings(done, paint));
    if let (Some(share), Some(interval)) = (standing.share, standing.interval)
        && done.rate().trials > 1
    {
        let by_trials = done.rate().share().is_some_and(|plain| rate::points(plain) == rate::points(share));
        let weighed = if by_trials { "" } else { ", every case weighing the same" };
        let _ = writeln!(text, "  passed   {}, {}{weighed}", rate::fraction(done.rate()), rate::share(share, interval));
    }
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
        let word = paint.on(not_passed.verdict.into(), &format!("{word:<9}"));
        let _ = writeln!(text, "  {word}{}: {}", not_passed.trial, not_passed.why);
    }
    deciding(&mut text, standing);
    if let Some(left) = standing.remaining {
        let _ = writeln!(text, "  left     {left}");
    }
    let _ = writeln!(text, "  cost     {} so far, {}", cost(&done.spent), tokens(&done.spent));
    if standing.damaged_lines > 0 {
        let _ = writeln!(
            text,
            "  note     {} of the progress file cannot be read; --resume rewrites it from the trials",
            counted(standing.damaged_lines, "line")
        );
    }
    if standing.damaged_pairs > 0 {
        let lines = counted(standing.damaged_pairs, "line");
        let _ = writeln!(text, "  note     {lines} of pairs.jsonl cannot be read; they are not counted");
    }
    go_on(&mut text, standing);
    text
}

/// How to go on, where there is something left to do.
fn go_on(text: &mut String, standing: &RunStatus) {
    let RunStatus { id, remaining: left, open, again, .. } = standing;
    let (left, ended) = (left.unwrap_or_default(), standing.state == RunState::Finished);
    // What was replayed would come to the same again.
    if standing.state == RunState::Running || (standing.replayed && ended) {
        return;
    }
    if standing.compares {
        if !ended || *again > 0 {
            let _ = writeln!(
                text,
                "  to resume: skill-evals compare --resume --run-id {id}  (until the question is decided)"
            );
        }
        return;
    }
    let parts = [
        (left, format!("the {left} left")),
        (*again, format!("the {again} again that could not be measured or judged")),
        (*open, "more until every case is decided".to_owned()),
    ];
    let mut parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, words)| words).collect();
    if parts.is_empty() && !ended {
        parts.push("what is left".to_owned());
    }
    if !parts.is_empty() {
        let _ = writeln!(text, "  to resume: skill-evals run --resume --run-id {id}  (runs {})", parts.join(", and "));
    }
}

/// Of the cases that go on until they are decided how many are, and where the others stand.
fn deciding(text: &mut String, standing: &RunStatus) {
    if standing.undecided.is_empty() {
        return;
    }
    let open: Vec<_> =
        standing.undecided.iter().filter(|case| case.threshold_side == ThresholdSide::Undecided).collect();
    let all = standing.undecided.len();
    let _ = writeln!(text, "  decided  {} of {}", all - open.len(), counted(all, "case"));
    for UndecidedCase { key, counts, .. } in open {
        let share = rate::of_case(counts).map(|share| format!(", {share}")).unwrap_or_default();
        let passed = rate::fraction(counts.counts.rate());
        let decided = decided(counts).unwrap_or_default();
        let _ = writeln!(text, "  open     {}/{}/{}: {passed}{share}, {decided}", key.skill, key.case, key.mode);
    }
}

/// A line for each run.
#[must_use]
pub fn runs(standings: &[RunStatus], paint: Paint) -> String {
    let width = standings.iter().map(|standing| standing.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for standing in standings {
        let RunStatus { id, planned, done, .. } = standing;
        let of = planned.map_or_else(|| "?".to_owned(), |planned| planned.to_string());
        let cost = done.spent.cost_usd.map_or_else(String::new, |_| format!(", {}", cost(&done.spent)));
        let state = state(standing, &format!("{:11}", standing.state.as_str()), paint);
        let _ = writeln!(text, "{id:width$}  {state}  {}/{of} done, {}{cost}", done.ended(), endings(done, paint));
    }
    text
}

/// The state of a run in its colour: what ended before its end is to be seen.
fn state(standing: &RunStatus, word: &str, paint: Paint) -> String {
    match standing.state {
        RunState::Running => paint.on(Tone::Strong, word),
        RunState::Finished => word.to_owned(),
        RunState::Interrupted | RunState::Stopped | RunState::NotStored | RunState::Killed => {
            paint.on(Tone::Broken, word)
        }
    }
}
