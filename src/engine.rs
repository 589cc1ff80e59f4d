//! Runs planned trials side by side, and tells what happens as one stream of events.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::event::Event;
use crate::plan::Planned;
use crate::process::interrupt;
use crate::run::Run;
use crate::trial;

/// Runs every planned trial the settings' number of times, `jobs` at once, and hands each event to `hear`.
pub fn run(run: &Run, planned: &[Planned<'_>], mut hear: impl FnMut(Event)) {
    let repeats = if run.settings.live { run.settings.trials } else { 1 };
    let trials: Vec<(usize, u32)> =
        (0..planned.len()).flat_map(|index| (1..=repeats).map(move |number| (index, number))).collect();
    let next = AtomicUsize::new(0);
    let (sender, events) = channel();
    thread::scope(|scope| {
        for _ in 0..run.settings.jobs.min(trials.len()) {
            let sender = sender.clone();
            let (trials, next) = (&trials, &next);
            scope.spawn(move || work(run, planned, trials, next, &sender));
        }
        drop(sender);
        events.into_iter().for_each(&mut hear);
    });
}

fn work(run: &Run, planned: &[Planned<'_>], trials: &[(usize, u32)], next: &AtomicUsize, sender: &Sender<Event>) {
    // The receiver outlives every worker; a send that fails has nobody left to tell.
    let tell = |event| {
        let _ = sender.send(event);
    };
    while let Some(&(index, number)) = trials.get(next.fetch_add(1, Ordering::Relaxed)) {
        let planned = &planned[index];
        let id = planned.trial(number);
        if interrupt::raised() {
            tell(Event::Skipped(id));
            continue;
        }
        tell(Event::Started(id.clone()));
        let outcome = if run.settings.live {
            trial::run_live(run, planned, number, &tell)
        } else {
            trial::replay(run, planned, number)
        };
        tell(Event::Finished(id, Box::new(outcome)));
    }
}
