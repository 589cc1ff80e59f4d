//! Which prompts a provider's cache has by now. Trials in a mode begin with the same text: tools, instructions, the list of skills. The
//! first of them leads, and the others start when its model has begun to answer: only then can they read what the leader wrote to
//! the cache. Nobody waits longer than for the leader's end.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cases::case::Case;
use crate::process::interrupt;
use crate::settings::mode::{Mode, SkillSelection};

/// How long a cache keeps what nobody reads.
const CACHE_LIFE: Duration = Duration::from_secs(300);

/// How often a waiting trial checks whether the user interrupts the run.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What a cache has of a prompt.
#[derive(Clone, Copy, Debug)]
pub(super) enum CachedPrompt {
    /// A trial is about to write it.
    Leading,
    /// It was read or written then, or its leader ended without an answer: nobody waits for another one.
    Since(Instant),
}

impl CachedPrompt {
    pub fn now() -> Self {
        Self::Since(Instant::now())
    }

    /// Whether a trial has to wait for another one; `None` if it leads itself.
    pub fn waits(known: Option<&Self>) -> Option<bool> {
        match known {
            Some(Self::Leading) => Some(true),
            Some(Self::Since(at)) if at.elapsed() < CACHE_LIFE => Some(false),
            _ => None,
        }
    }
}

/// The prompts of a run that trials share, by [`prefix`].
#[derive(Debug, Default)]
pub struct Leads {
    prompts: Mutex<HashMap<String, CachedPrompt>>,
    changed: Condvar,
}

/// A trial with a shared prompt, until dropped.
#[derive(Debug)]
pub(super) struct Lead<'a> {
    leads: &'a Leads,
    prefix: String,
    /// Whether it leads, and its model has not begun to answer.
    is_awaited: Cell<bool>,
}

impl Leads {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedPrompt>> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while another trial with this prefix leads.
    pub(super) fn enter(&self, prefix: String) -> Lead<'_> {
        let mut prompts = self.lock();
        loop {
            match CachedPrompt::waits(prompts.get(&prefix)) {
                Some(true) if !interrupt::raised() => {
                    let waited = self.changed.wait_timeout(prompts, POLL_INTERVAL);
                    prompts = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => return Lead { leads: self, prefix, is_awaited: Cell::new(false) },
                None => {
                    prompts.insert(prefix.clone(), CachedPrompt::Leading);
                    return Lead { leads: self, prefix, is_awaited: Cell::new(true) };
                }
            }
        }
    }
}

impl Lead<'_> {
    /// The model has begun an answer.
    pub fn answers(&self) {
        self.leads.lock().insert(self.prefix.clone(), CachedPrompt::now());
        if self.is_awaited.replace(false) {
            self.leads.changed.notify_all();
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if self.is_awaited.get() {
            self.answers();
        }
    }
}

/// What decides the start of a prompt, before the text of the case.
pub(super) fn prefix(mode: &Mode, case: &Case) -> String {
    // The names of mocked servers may be those of the skill.
    let is_shared = mode.offer == SkillSelection::All && case.mock_servers.is_none();
    let own = if is_shared { "" } else { case.skill.as_str() };
    let Case { sandbox, tools, system_prompt, output_schema, .. } = case;
    format!("{}\0{own}\0{}\0{tools:?}\0{system_prompt:?}\0{output_schema:?}", mode.name, sandbox.as_str())
}
