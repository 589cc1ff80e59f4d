//! Ctrl-C and SIGTERM of ours: noted once, handed on to every running tree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::Notify;

use super::tree::{ProcessTree, TreeHolder};
use super::watchdog;

static RAISED: AtomicBool = AtomicBool::new(false);
static SINCE: OnceLock<Instant> = OnceLock::new();
static RUNNING: Mutex<Vec<ProcessTree>> = Mutex::new(Vec::new());
static NOTICE: Notify = Notify::const_new();

/// Whether the run is to end.
#[must_use]
pub fn raised() -> bool {
    RAISED.load(Ordering::SeqCst)
}

/// How long ago the user said so.
#[must_use]
pub fn raised_for() -> Option<Duration> {
    SINCE.get().map(Instant::elapsed)
}

/// Starts to listen for SIGINT, SIGTERM and SIGHUP. The first ends the running trees, gently at first; the second
/// kills them at once and ends this process. A hang-up does not count for a run in the `background`.
///
/// # Errors
/// When the system does not let signals be handled.
pub fn listen(background: bool) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if background {
        outlive_terminal()?;
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
            let _ = SINCE.set(Instant::now());
            NOTICE.notify_waiters();
        }
    })?;
    Ok(())
}

/// Lets the hang-up of a terminal pass.
fn outlive_terminal() -> std::io::Result<()> {
    // A signal that is handled, if only by setting a flag, does not end the process.
    let unread = std::sync::Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, unread).map(|_| ())
}

/// Returns once the run is to end.
pub(super) async fn wait() {
    let notified = NOTICE.notified();
    tokio::pin!(notified);
    // Enlist first, then look: a signal between the two is not missed.
    notified.as_mut().enable();
    if !raised() {
        notified.await;
    }
}

fn running() -> MutexGuard<'static, Vec<ProcessTree>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tree that the second signal and the watchdog must find; forgotten when dropped.
#[derive(Debug)]
pub(super) struct RegisteredTree(ProcessTree);

impl RegisteredTree {
    /// Makes the tree known that is about to start: from here on nothing of it can be lost.
    pub(super) fn announce(mark: String, holder: TreeHolder) -> Self {
        let tree = ProcessTree { leader: 0, holder, mark };
        watchdog::note(&tree);
        running().push(tree.clone());
        Self(tree)
    }

    /// The tree has started.
    pub(super) fn started(&mut self, leader: i32) {
        self.0.leader = leader;
        if let Some(tree) = running().iter_mut().find(|tree| tree.mark == self.0.mark) {
            tree.leader = leader;
        }
        watchdog::note(&self.0);
    }

    pub(super) fn tree(&self) -> &ProcessTree {
        &self.0
    }

    /// The leaders of all other trees that run.
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
