//! The progress of a run as lines: one for each running trial, and one with counts. Callers pass the time.

use std::fmt::Write;
use std::time::Duration;

use crate::columns::{self, NUMBERS, WORDS};
use crate::diagnostics::counted;
use crate::rate::{decimals, points_to, probability, signed, signed_to};
use crate::results::compared::Headline;
use crate::text::escape;
use crate::trace::trouble::TroubleKind;
use crate::trial::event::RunEvent;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Outcome, TrialError, Verdict};

/// The most running trials that are shown at once.
const MAX_LINES: usize = 16;

/// Without a terminal, a running trial is reported this often.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Without a terminal, the counts are reported this often.
const SUMMARY_INTERVAL: Duration = Duration::from_secs(10);

/// The progress of an active run.
#[derive(Debug)]
pub struct ProgressBoard {
    total: usize,
    /// Whether fewer trials may do.
    may_end_early: bool,
    jobs: usize,
    done: usize,
    not_passed: usize,
    /// The sum of the times of finished trials.
    spent: Duration,
    running: Vec<ActiveTrial>,
    /// The number of lines that a terminal shows now.
    drawn: usize,
    /// When the counts were last reported.
    summed_up: Duration,
}

#[derive(Debug)]
struct ActiveTrial {
    id: TrialId,
    since: Duration,
    last: Option<String>,
    /// How many plain lines reported that the trial is still running.
    reported: u32,
}

impl ProgressBoard {
    /// A run of `total` trials, `jobs` at once.
    pub fn new(total: usize, jobs: usize) -> Self {
        Self {
            total,
            may_end_early: false,
            jobs: jobs.max(1),
            done: 0,
            not_passed: 0,
            spent: Duration::ZERO,
            running: Vec::new(),
            drawn: 0,
            summed_up: Duration::ZERO,
        }
    }

    /// The same of a run that ends as soon as its result is reached: nobody knows how long it takes.
    #[must_use]
    pub fn may_end_early(self) -> Self {
        Self { may_end_early: true, ..self }
    }

    /// How many trials there are, as far as is known.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The same in words.
    pub fn total_in_words(&self) -> String {
        let most = if self.may_end_early { "at most " } else { "" };
        format!("{most}{}", counted(self.total, "trial"))
    }

    /// Takes in an event at `now`, which counts from the run's start. Returns a plain line if there is something to report.
    pub fn on_event(&mut self, event: &RunEvent, now: Duration) -> Option<String> {
        match event {
            RunEvent::Planned(_) => self.total += 1,
            RunEvent::Started(id) => self.started(id, now),
            RunEvent::Heard(id, words) => self.heard(id, words),
            RunEvent::Waits { .. } => return self.waits(event),
            RunEvent::Finished { id, result, .. } => return self.finished(id, result, now),
            RunEvent::Resumed { outcome, .. } => return self.finished(&outcome.id, &Ok((**outcome).clone()), now),
            RunEvent::Refused { .. } | RunEvent::Repeated { .. } | RunEvent::Answers(_) | RunEvent::Tick => {}
        }
        None
    }

    /// A trial began.
    pub fn started(&mut self, id: &TrialId, now: Duration) {
        self.running.push(ActiveTrial { id: id.clone(), since: now, last: None, reported: 0 });
    }

    /// The trial's agent did something.
    pub fn heard(&mut self, id: &TrialId, words: &str) {
        if let Some(running) = self.running.iter_mut().find(|running| running.id == *id) {
            running.last = Some(escape::line(words));
        }
    }

    /// The trial waits for its provider. Returns a line with the reason and the pause.
    fn waits(&mut self, wait: &RunEvent) -> Option<String> {
        let RunEvent::Waits { id, why, attempt, of, pause, at_most } = wait else { return None };
        let what = if why.kind == TroubleKind::Unreachable { why.kind.as_str() } else { "refused by the provider" };
        let why = escape::line(&why.detail);
        self.heard(id, &format!("waits for the provider: {why}"));
        let (pause, at_most) = (duration(*pause), duration(*at_most));
        Some(format!(
            "{id}: {what} (attempt {attempt} of {of}): {why}; trying again in {pause}, \
             waiting at most {at_most} in all"
        ))
    }

    /// The trial ended at `now`. Returns a plain line if a plain line reported that it was running.
    pub fn finished(&mut self, id: &TrialId, result: &Result<Outcome, TrialError>, now: Duration) -> Option<String> {
        let word = match result {
            Ok(outcome) => outcome.grade.verdict.as_str(),
            Err(TrialError::NotRecorded) => "not recorded",
            Err(TrialError::Unsupported(_)) => "unsupported",
            Err(_) => "could not run",
        };
        self.done += 1;
        let not_recorded = matches!(result, Err(TrialError::NotRecorded));
        let passed = result.as_ref().is_ok_and(|outcome| outcome.grade.verdict == Verdict::Pass);
        self.not_passed += usize::from(!passed && !not_recorded);
        let at = self.running.iter().position(|running| running.id == *id)?;
        let running = self.running.swap_remove(at);
        let took = now.saturating_sub(running.since);
        self.spent += took;
        (running.reported > 0).then(|| format!("{id}: {word} after {}", duration(took)))
    }

    /// What shows the lines on a terminal, in place of those that it shows now. If no trial runs, there are none.
    pub fn redrawn(&mut self, now: Duration) -> String {
        let mut text = self.erased();
        if !self.running.is_empty() {
            let lines = self.lines(now);
            // The terminal cuts long lines: wrapped lines would not be erased.
            let _ = write!(text, "\x1b[?7l{}\n\x1b[?7h", lines.join("\n"));
            self.drawn = lines.len();
        }
        text
    }

    /// What removes the lines from a terminal, so that something else can be printed.
    pub fn erased(&mut self) -> String {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn > 0 { format!("\x1b[{drawn}A\x1b[J") } else { String::new() }
    }

    /// A line for each running trial, the longest running first, and one with counts.
    pub fn lines(&self, now: Duration) -> Vec<String> {
        let mut running: Vec<&ActiveTrial> = self.running.iter().collect();
        running.sort_by_key(|running| running.since);
        let row = |running: &&ActiveTrial| {
            let last = running.last.as_deref().unwrap_or("starts").to_owned();
            [format!("  {}", running.id), duration(now.saturating_sub(running.since)), last]
        };
        let rows: Vec<_> = running.iter().take(MAX_LINES).map(row).collect();
        let mut lines = columns::lines([WORDS, NUMBERS.fixed(7), WORDS], &rows);
        if running.len() > MAX_LINES {
            lines.push(format!("  and {} more", running.len() - MAX_LINES));
        }
        lines.push(self.counts(now));
        lines
    }

    /// "12 of 40 done, 1 not passed, 8 running, about 3 min left".
    pub fn counts(&self, now: Duration) -> String {
        let of = if self.may_end_early { "of at most" } else { "of" };
        let mut text = format!("{} {of} {} done", self.done, self.total);
        if self.not_passed > 0 {
            let _ = write!(text, ", {} not passed", self.not_passed);
        }
        let _ = write!(text, ", {} running", self.running.len());
        if let Some(rest) = self.rest(now) {
            let _ = write!(text, ", about {} left", duration(rest));
        }
        text
    }

    /// The expected time until all trials end, by the mean time of finished trials.
    fn rest(&self, now: Duration) -> Option<Duration> {
        let done = u32::try_from(self.done).ok().filter(|done| *done > 0 && !self.may_end_early)?;
        let usual = self.spent / done;
        let waiting = self.total.saturating_sub(self.done + self.running.len());
        let running: Duration =
            self.running.iter().map(|running| usual.saturating_sub(now.saturating_sub(running.since))).sum();
        let work = usual * u32::try_from(waiting).unwrap_or(u32::MAX) + running;
        let parallel = self.jobs.min(self.total.saturating_sub(self.done)).max(1);
        // Trials that take longer than usual say nothing of their end.
        Some(work / u32::try_from(parallel).unwrap_or(u32::MAX)).filter(|rest| !rest.is_zero())
    }

    /// The counts, if trials run and the last counts are `SUMMARY_INTERVAL` old at `now`.
    pub fn summary_due(&mut self, now: Duration) -> Option<String> {
        if self.running.is_empty() || now.saturating_sub(self.summed_up) < SUMMARY_INTERVAL {
            return None;
        }
        self.summed_up = now;
        Some(self.counts(now))
    }

    /// The plain lines that are due at `now`: one for each trial every [`PATIENCE`].
    pub fn due(&mut self, now: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for running in &mut self.running {
            let elapsed = now.saturating_sub(running.since);
            if elapsed >= PATIENCE * (running.reported + 1) {
                // One line even if several are due.
                running.reported = u32::try_from(elapsed.as_secs() / PATIENCE.as_secs()).unwrap_or(u32::MAX);
                let last = running.last.as_deref().unwrap_or("starts");
                lines.push(format!("{}: still running after {}: {last}", running.id, duration(elapsed)));
            }
        }
        lines
    }
}

/// "7 s", "2:05 min", "1:02 h".
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        seconds => format!("{}:{:02} h", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The note at the end of a run in which `count` trials replayed a mock model.
pub fn scripted(count: usize) -> String {
    let (trials, they) =
        if count == 1 { ("1 trial was".to_owned(), "it says") } else { (format!("{count} trials were"), "they say") };
    format!(
        "skill-evals: {trials} replayed from recordings of a mock model; {they} nothing about a real model. \
         SKILL_EVALS_LIVE=1 runs agents."
    )
}

// What another tool shows of the same trials.

/// The p up to which scores show a difference.
const ALPHA: f64 = 0.05;

/// Points from which two differences are told apart.
const POINT: f64 = 0.01;

/// What the tool that measured shows. If its scores are finer than passes, whether they differ.
pub fn worth(headline: &Headline) -> String {
    let Headline { tool, baseline, candidate, errors, by_case, p } = headline;
    let difference = candidate - baseline;
    let places = decimals(*baseline, *candidate, difference);
    let (a, b) = (points_to(*baseline, places), points_to(*candidate, places));
    // Errors, or cases with other numbers of trials, make most of it.
    let is_other = |by_case: &f64| (difference - by_case).abs() > POINT;
    let measured = match by_case {
        None => "; no case was measured on both sides".to_owned(),
        Some(by_case) if is_other(by_case) => {
            format!("; case by case, what was measured differs by {} points", signed(*by_case))
        }
        Some(_) => String::new(),
    };
    let scores = match p {
        Some(_) if a == b && !by_case.as_ref().is_some_and(is_other) => String::new(),
        Some(p) if *p <= ALPHA => format!("; by these scores the sides differ (p = {})", probability(*p)),
        Some(p) => format!("; such scores differ as much by chance (p = {})", probability(*p)),
        None => String::new(),
    };
    let errors = match errors {
        0 => String::new(),
        1 => "; 1 error in it, which is not counted here".to_owned(),
        errors => format!("; {errors} errors in it, which are not counted here"),
    };
    format!("{tool} itself scores {a} % → {b} %, {} points{measured}{scores}{errors}", signed_to(difference, places))
}
