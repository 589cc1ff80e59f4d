//! The status of a run, as `skill-evals status` and `runs` print it.

use std::fmt::Write;
use std::time::Duration;

use crate::columns::{self, WORDS};
use crate::decide::threshold::ThresholdSide;
use crate::diagnostics::counted;
use crate::paint::{Paint, Tone};
use crate::rate;
use crate::results::run_status::ProgressDifferences;
use crate::results::run_status::{RunState, RunStatus, UndecidedCase};
use crate::table::{clock, cost, decided, endings, tokens};
use crate::text::escape;
use crate::trial::outcome::Verdict;

/// The status of a run, over several lines.
pub fn status(run: &RunStatus, paint: Paint) -> String {
    let mut text = String::new();
    let pid = match (run.state, run.pid) {
        (RunState::Running, Some(pid)) => format!(" (process {pid})"),
        _ => String::new(),
    };
    let _ = writeln!(text, "{}: {}{pid}", run.id, state(run, paint));
    if let Some(why) = &run.why {
        let _ = writeln!(text, "  why      {}", escape::line(why));
    }
    let done = &run.done;
    let planned = run.planned.map_or_else(String::new, |planned| format!(" of {planned}"));
    let _ = writeln!(text, "  done     {}{planned}: {}", done.ended(), endings(done, paint));
    if let (Some(share), Some(interval)) = (run.share, run.interval)
        && done.rate().trials > 1
    {
        let (of_cases, of_trials) = (rate::share(share, interval), rate::fraction(done.rate()));
        let is_rate = done.rate().share().is_some_and(|of_trials| (of_trials - share).abs() < 1e-9);
        let passed = if is_rate {
            format!("{of_trials}, {of_cases}")
        } else {
            format!("mean of the cases {of_cases}; {of_trials} trials")
        };
        let _ = writeln!(text, "  passed   {passed}");
    }
    let label = if run.state == RunState::Running { "running" } else { "was at" };
    for running in &run.running {
        let _ = writeln!(text, "  {label:<9}{}  {}", running.trial, clock(Duration::from_secs(running.seconds)));
    }
    for not_passed in &run.not_passed {
        let label = match not_passed.verdict {
            Verdict::Pass | Verdict::Fail => "failed",
            Verdict::Error => "error",
            Verdict::Unscored => "unscored",
        };
        let label = paint.on(not_passed.verdict.into(), &format!("{label:<9}"));
        let _ = writeln!(text, "  {label}{}: {}", not_passed.trial, escape::line(&not_passed.why));
    }
    undecided(&mut text, run);
    if let Some(remaining) = run.remaining {
        let _ = writeln!(text, "  left     {remaining}");
    }
    let _ = writeln!(text, "  cost     {} so far, {}", cost(&done.spent), tokens(&done.spent));
    if let Some(differences) = differences(run.differences) {
        let _ = writeln!(text, "  note     {differences}");
    }
    if run.damaged_pairs > 0 {
        let lines = counted(run.damaged_pairs, "line");
        let _ = writeln!(text, "  note     {lines} of pairs.jsonl cannot be read; they are not counted");
    }
    resume(&mut text, run);
    text
}

/// Where a progress file differs from the grades of its trials, if it does.
pub fn differences(found: ProgressDifferences) -> Option<String> {
    let ProgressDifferences { damaged_lines: lines, read_from_grades: trials } = found;
    let damaged = (lines > 0).then(|| format!("{} of progress.jsonl cannot be read", counted(lines, "line")));
    let read = match trials {
        0 => None,
        1 => Some("1 trial that progress.jsonl lacks is read from its grade".to_owned()),
        _ => Some(format!("{trials} trials that progress.jsonl lacks are read from their grades")),
    };
    let both: Vec<String> = damaged.into_iter().chain(read).collect();
    (!both.is_empty()).then(|| both.join("; "))
}

/// The command that resumes the run, if there is anything left to do.
fn resume(text: &mut String, run: &RunStatus) {
    let RunStatus { remedy, open, again, .. } = run;
    let (remaining, finished) = (run.remaining.unwrap_or_default(), run.state == RunState::Finished);
    // A replay would have the same results again.
    if run.state == RunState::Running || (run.replayed && finished) {
        return;
    }
    if run.compares {
        if !finished || *again > 0 {
            let _ = writeln!(text, "  {remedy}  (until the question is decided)");
        }
        return;
    }
    let mut parts = Vec::new();
    if remaining > 0 {
        parts.push(format!("the {remaining} left"));
    }
    if *again > 0 {
        parts.push(format!("the {again} again that could not be measured or judged"));
    }
    if *open > 0 {
        parts.push("more until every case is decided".to_owned());
    }
    if parts.is_empty() && !finished {
        parts.push("what is left".to_owned());
    }
    if !parts.is_empty() {
        let _ = writeln!(text, "  {remedy}  (runs {})", parts.join(", and "));
    }
}

/// Of the cases that run until they are decided, the number of decided ones, and a line for each other.
fn undecided(text: &mut String, run: &RunStatus) {
    if run.undecided.is_empty() {
        return;
    }
    let open: Vec<_> = run.undecided.iter().filter(|case| case.threshold_side == ThresholdSide::Undecided).collect();
    let all = run.undecided.len();
    let _ = writeln!(text, "  decided  {} of {}", all - open.len(), counted(all, "case"));
    for UndecidedCase { key, counts, .. } in open {
        let share = rate::of_case(counts.case_share()).map(|share| format!(", {share}")).unwrap_or_default();
        let passed = rate::fraction(counts.counts.rate());
        let decided = decided(counts).unwrap_or_default();
        let _ = writeln!(text, "  open     {}/{}/{}: {passed}{share}, {decided}", key.skill, key.case, key.mode);
    }
}

pub fn runs(runs: &[RunStatus], paint: Paint) -> String {
    let row = |run: &RunStatus| {
        let RunStatus { id, planned, done, .. } = run;
        let planned = planned.map_or_else(|| "?".to_owned(), |planned| planned.to_string());
        let cost = done.spent.cost_usd.map_or_else(String::new, |_| format!(", {}", cost(&done.spent)));
        let done = format!("{}/{planned} done, {}{cost}", done.ended(), endings(done, paint));
        [id.clone(), state(run, paint), done]
    };
    columns::text([WORDS, WORDS.fixed(11), WORDS], &runs.iter().map(row).collect::<Vec<_>>())
}

/// The state of a run in its color: runs that ended early stand out.
fn state(run: &RunStatus, paint: Paint) -> String {
    let word = run.state.as_str();
    match run.state {
        RunState::Running => paint.on(Tone::Strong, word),
        RunState::Finished => word.to_owned(),
        RunState::Interrupted | RunState::Stopped | RunState::NotStored | RunState::Killed => {
            paint.on(Tone::Broken, word)
        }
    }
}
