//! A run whose trials may start: what they share beyond its plan, from the first event to the summary.

use std::ops::Deref;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::tz::TimeZone;

use crate::process::interrupt;
use crate::run::live::LiveRun;
use crate::run::planned::PlannedRun;
use crate::run::progress_files::ProgressFiles;
use crate::run::rate_limiter::{CacheLeaders, ClosedBy, ClosedLogin, RateLimiter, Semaphore};
use crate::text::problem::Problem;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::not_run::NotRun;
use crate::trial::run_record::RunEndKind;

/// A run whose trials may start. It is open, with a directory and agents, as soon as something needs that.
pub struct StartedRun {
    planned: PlannedRun,
    pub rate_limiter: RateLimiter,
    pub cache_leaders: CacheLeaders,
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

    /// Whether the first trial of a prompt starts before the others. A scripted model has no cache.
    pub fn has_cache_leaders(&self) -> bool {
        self.settings.live && self.settings.lead && self.settings.scripted.is_none()
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
                ClosedBy::Unreachable(why) => format!("the provider of {agent} cannot be reached ({why})"),
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
