//! A run whose trials may start: what they share beyond its plan, from the first event to the summary.

use std::collections::HashMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;

use crate::process::interrupt;
use crate::report::markdown;
use crate::results::summary::Summary;
use crate::run::expected_cost;
use crate::run::live::LiveRun;
use crate::run::planned::PlannedRun;
use crate::run::rate_limiter::{CacheLeaders, ClosedBy, ClosedLogin, RateLimiter, Semaphore};
use crate::settings::Settings;
use crate::settings::mode::Mode;
use crate::store::{RunFolder, StoreError};
use crate::text::problem::Problem;
use crate::trial::event::{CurrentTrials, EventListener, RunEvent, RunningTrial};
use crate::trial::id::TrialId;
use crate::trial::outcome::{NotRun, Outcome};
use crate::trial::run_record::{RUN_FORMAT, RunEndKind, TrialRecord};

/// A run whose trials may start. It is open, with a directory and agents, as soon as something needs that.
pub struct StartedRun {
    planned: PlannedRun,
    pub rate_limiter: RateLimiter,
    pub cache_leaders: CacheLeaders,
    /// Whether no cache keeps the prompts of a mode, by its name.
    short_prompts: Mutex<HashMap<String, bool>>,
    pub semaphore: Semaphore,
    /// The results so far.
    progress: Arc<Mutex<ProgressFiles>>,
    listeners: Mutex<Vec<Box<dyn EventListener>>>,
    pub(super) live: OnceLock<Result<LiveRun, Problem>>,
}

impl std::fmt::Debug for StartedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StartedRun").field("planned", &self.planned).finish_non_exhaustive()
    }
}

impl Deref for StartedRun {
    type Target = PlannedRun;

    fn deref(&self) -> &PlannedRun {
        &self.planned
    }
}

impl PlannedRun {
    /// Ends the planning.
    pub fn start(self) -> StartedRun {
        let mut progress = ProgressFiles::new(&self.settings);
        progress.summary.planned = Some(self.plan.len());
        let progress = Arc::new(Mutex::new(progress));
        StartedRun {
            // A trial that the scripted model of a calibration refuses keeps no other from starting.
            rate_limiter: if self.calibrates { RateLimiter::ignoring_refusals() } else { RateLimiter::default() },
            cache_leaders: CacheLeaders::default(),
            short_prompts: Mutex::default(),
            semaphore: Semaphore::new(self.settings.jobs()),
            listeners: Mutex::new(vec![Box::new(Arc::clone(&progress))]),
            progress,
            live: OnceLock::new(),
            planned: self,
        }
    }
}

impl StartedRun {
    pub fn figures(&self) -> MutexGuard<'_, ProgressFiles> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a listener to every event from now on.
    pub fn read_by(&self, listener: impl EventListener + 'static) {
        self.listeners().push(Box::new(listener));
    }

    /// Passes an event to every listener.
    pub fn emit(&self, event: &RunEvent) {
        for listener in self.listeners().iter_mut() {
            listener.on_event(event);
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Box<dyn EventListener>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first trial of a prompt in a mode starts before the others. A scripted model has no cache, and no cache keeps short
    /// prompts.
    pub fn has_cache_leaders(&self, mode: &Mode) -> bool {
        let asked = self.settings.live && self.settings.lead && self.settings.scripted.is_none();
        asked && {
            let mut short = self.short_prompts.lock().unwrap_or_else(PoisonError::into_inner);
            let known = short.entry(mode.name.clone());
            !*known.or_insert_with(|| expected_cost::has_short_prompts(self, mode))
        }
    }

    /// Begins the open run: from now on its events are stored.
    pub(super) fn begin(&self, live: &LiveRun, progress_file: impl EventListener + 'static) {
        // First, so that no result is reported before it is stored.
        self.listeners().insert(0, Box::new(progress_file));
        if self.shared_id.is_none() {
            let mut figures = self.figures();
            figures.keep_in(&live.folder);
            let compares = self.sides.is_some() || self.variants.is_some();
            figures.summary.comparisons.extend(compares.then(|| live.folder.id().to_owned()));
            for (id, spent) in &live.before.refused {
                figures.summary.add_refused(id, *spent);
            }
        }
    }

    /// The directory of the run's artifacts, once a live trial has started.
    pub fn folder(&self) -> Option<&Path> {
        self.opened().map(|live| live.folder.path())
    }

    /// What live trials share, once one has started.
    pub fn opened(&self) -> Option<&LiveRun> {
        self.live.get()?.as_ref().ok()
    }

    /// What the run has cost in dollars; `None` if that is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.opened()?.budget.cost_usd()
    }

    /// That a limit was not kept, if no attempt told what counts against it.
    pub fn limit_warning(&self) -> Option<String> {
        let (limit, attempts) = self.opened()?.budget.uncounted()?;
        Some(format!(
            "the limit of {limit} was not kept: none of {attempts} attempt{} reported its usage",
            if attempts == 1 { "" } else { "s" }
        ))
    }

    /// Why no further trial may start, if so.
    pub fn no_more(&self) -> Option<NotRun> {
        if interrupt::raised() {
            return Some(NotRun::Interrupted);
        }
        if self.why_not_stored().is_some() {
            return Some(NotRun::NotStored);
        }
        self.opened()?.budget.used_up()
    }

    fn why_not_stored(&self) -> Option<&str> {
        self.opened()?.not_stored.get().map(String::as_str)
    }

    /// The message for the user if the run lacks trials because a result could not be stored, or because logins were closed.
    pub fn early_end_message(&self) -> Option<String> {
        let remedy = self.opened()?.folder.remedy();
        if let Some(why) = self.why_not_stored() {
            return Some(format!("the run stopped: {why}; nothing more was started. Fix that; {remedy}"));
        }
        let when = if self.rate_limiter.closed().iter().all(|login| matches!(login.why, ClosedBy::UsageLimit(Some(_))))
        {
            "After that"
        } else {
            "Later"
        };
        Some(format!("not every trial was measured: {}. {when}, {remedy}", self.limits_message()?))
    }

    /// Why nothing more was started with some logins, and until when.
    fn limits_message(&self) -> Option<String> {
        let closed = self.rate_limiter.closed();
        let each = closed.iter().map(|ClosedLogin { agent, why }| {
            let agent = agent.as_str();
            let what = match why {
                ClosedBy::Unreachable(why) => {
                    format!("the provider of {agent} cannot be reached ({why}){}", by_proxy())
                }
                ClosedBy::UsageLimit(Some(ends)) => {
                    let ends = ends.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z");
                    format!("the provider refuses the login of {agent} until {ends}")
                }
                ClosedBy::UsageLimit(None) => {
                    format!("the provider refuses the login of {agent} and does not say until when")
                }
            };
            format!("{what}; nothing more was started with it")
        });
        (!closed.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
    }

    /// Ends the run: stores its summary, and notes in its record how it ended. Does nothing if several processes share
    /// the run: none of them knows that it is the last, and the summary is then made from the run's directory. Returns why
    /// files of the run lack something.
    pub fn close(&self) -> Vec<String> {
        let Some(live) = self.opened() else { return Vec::new() };
        let mut problems = Vec::new();
        if self.shared_id.is_none() {
            let kind = match self.why_not_stored() {
                Some(_) => RunEndKind::NotStored,
                None if !interrupt::raised() => RunEndKind::Finished,
                None if live.folder.is_stopping() => RunEndKind::Stopped,
                None => RunEndKind::Interrupted,
            };
            live.lock.give_disk_space();
            // First, because `status` needs it.
            let limits = self.limits_message();
            let noted = live.folder.write_ended(kind, self.why_not_stored().or(limits.as_deref()));
            problems.extend(self.figures().finish().and(noted).err().map(|error| error.to_string()));
        }
        problems.extend(live.journal_trouble.lock().unwrap_or_else(PoisonError::into_inner).clone());
        problems
    }
}

// Updates a run's `current.json` and summaries as events arrive.

/// How old the files may get. Writing them at every event would take longer than short trials.
const MAX_AGE: Duration = Duration::from_millis(500);

/// The results of a run, from its events.
#[derive(Debug)]
pub struct ProgressFiles {
    folder: Option<RunFolder>,
    pub summary: Summary,
    running: Vec<RunningTrial>,
    written: Option<Instant>,
    /// Whether events arrived since the files were written.
    outdated: bool,
}

impl ProgressFiles {
    /// Results that are not stored yet.
    pub fn new(settings: &Settings) -> Self {
        let summary = Summary::new(Vec::new(), settings);
        Self { folder: None, summary, running: Vec::new(), written: None, outdated: true }
    }

    /// Stores the results in this directory from now on.
    pub fn keep_in(&mut self, folder: &RunFolder) {
        self.summary.runs = vec![folder.id().to_owned()];
        self.folder = Some(folder.clone());
    }

    fn add(&mut self, outcome: &Outcome, attempts: u32) {
        self.summary.add(&TrialRecord::new(outcome, attempts));
    }

    fn ended(&mut self, id: &TrialId) {
        self.running.retain(|running| running.id != *id);
    }

    fn write(&mut self) {
        (self.written, self.outdated) = (Some(Instant::now()), false);
        let Some(folder) = &self.folder else { return };
        let updated = jiff::Timestamp::now().to_string();
        let current = CurrentTrials { format: RUN_FORMAT, updated, running: self.running.clone() };
        // If this fails, the next write may succeed; the trials themselves are not affected.
        let _ = folder.write_current(&current).and_then(|()| folder.write_partial_summary(&self.summary));
    }

    pub fn finish(&mut self) -> Result<(), StoreError> {
        match &self.folder {
            Some(folder) => folder.write_summary(&self.summary, &markdown::summary(&self.summary)),
            None => Ok(()),
        }
    }
}

impl EventListener for ProgressFiles {
    fn on_event(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Planned(_) => self.summary.planned = self.summary.planned.map(|planned| planned + 1),
            RunEvent::Started(id) => {
                self.running.push(RunningTrial { id: id.clone(), since: jiff::Timestamp::now().to_string() });
            }
            RunEvent::Finished { id, result, attempts } => {
                self.ended(id);
                match result.as_ref() {
                    Ok(outcome) => self.add(outcome, *attempts),
                    Err(problem) => self.summary.add_not_run(id, problem.not_run()),
                }
            }
            RunEvent::Resumed { outcome, attempts, .. } => self.add(outcome, *attempts),
            RunEvent::Refused { id, spent } | RunEvent::Repeated { id, spent } => self.summary.add_refused(id, *spent),
            RunEvent::Waits { .. } | RunEvent::Heard(..) | RunEvent::Answers(_) | RunEvent::Tick => {}
        }
        self.outdated |=
            !matches!(event, RunEvent::Waits { .. } | RunEvent::Heard(..) | RunEvent::Answers(_) | RunEvent::Tick);
        if self.outdated && self.written.is_none_or(|written| written.elapsed() > MAX_AGE) {
            self.write();
        }
    }
}

/// What is said of a proxy that the environment sets: if it is the proxy that cannot be reached, no later start helps.
fn by_proxy() -> String {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let proxy = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].into_iter().find(is_set);
    proxy.map(|name| format!(" by the proxy that {name} names")).unwrap_or_default()
}
