//! Ctrl-C and SIGTERM: end the run and every running process tree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::Notify;

use super::tree::{ProcessTree, TreeHolder};
use super::watchdog;

static RAISED: AtomicBool = AtomicBool::new(false);
static LISTENS: AtomicBool = AtomicBool::new(false);
static RAISED_AT: OnceLock<Instant> = OnceLock::new();
static RUNNING: Mutex<Vec<ProcessTree>> = Mutex::new(Vec::new());
static NOTICE: Notify = Notify::const_new();

/// Whether the run is to end.
pub fn raised() -> bool {
    RAISED.load(Ordering::SeqCst)
}

/// Time since the user ended the run.
pub fn raised_for() -> Option<Duration> {
    RAISED_AT.get().map(Instant::elapsed)
}

/// Handles SIGINT, SIGTERM and SIGHUP. The first signal asks the running trees to end. The second kills them and ends this
/// process. A run in the `background` ignores SIGHUP. A second call changes nothing.
pub fn listen(background: bool) -> std::io::Result<()> {
    // A second listener would take the first signal for a second one.
    if LISTENS.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if background {
        // A handled signal does not end the process, even if the handler only sets a flag.
        signal_hook::flag::register(SIGHUP, Arc::new(AtomicBool::new(false)))?;
    } else {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if RAISED.swap(true, Ordering::SeqCst) {
                for tree in running().iter() {
                    tree.kill_soon();
                }
                std::process::exit(128 + signal);
            }
            let _ = RAISED_AT.set(Instant::now());
            NOTICE.notify_waiters();
        }
    })?;
    Ok(())
}

/// Returns when the run is to end.
pub(super) async fn wait() {
    let notified = NOTICE.notified();
    tokio::pin!(notified);
    // Enabled before the check, so that no signal between the two is missed.
    notified.as_mut().enable();
    if !raised() {
        notified.await;
    }
}

fn running() -> MutexGuard<'static, Vec<ProcessTree>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tree that the second signal and the watchdog kill. Dropping this unregisters the tree.
#[derive(Debug)]
pub(super) struct RegisteredTree(ProcessTree);

impl RegisteredTree {
    /// Registers a tree before it starts, so that it is never lost.
    pub(super) fn announce(mark: String, holder: TreeHolder) -> Self {
        let tree = ProcessTree { leader: 0, holder, mark };
        watchdog::watch(&tree);
        running().push(tree.clone());
        Self(tree)
    }

    pub(super) fn started(&mut self, leader: u32) {
        self.0.leader = i32::try_from(leader).unwrap_or_default();
        if let Some(tree) = running().iter_mut().find(|tree| tree.mark == self.0.mark) {
            tree.leader = self.0.leader;
        }
        watchdog::watch(&self.0);
    }

    pub(super) fn tree(&self) -> &ProcessTree {
        &self.0
    }

    /// The leaders of all other running trees.
    pub(super) fn others(&self) -> Vec<i32> {
        running().iter().map(|tree| tree.leader).filter(|leader| *leader != self.0.leader).collect()
    }
}

impl Drop for RegisteredTree {
    fn drop(&mut self) {
        running().retain(|tree| tree.mark != self.0.mark);
        watchdog::forget(&self.0);
    }
}
