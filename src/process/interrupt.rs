//! Ctrl-C and SIGTERM of ours: noted once, handed on to every running tree.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tokio::sync::Notify;

use super::tree::Tree;

static RAISED: AtomicBool = AtomicBool::new(false);
static RUNNING: Mutex<Vec<Tree>> = Mutex::new(Vec::new());
static NOTICE: Notify = Notify::const_new();

/// Whether the run is to end.
#[must_use]
pub fn raised() -> bool {
    RAISED.load(Ordering::SeqCst)
}

/// Starts to listen for SIGINT, SIGTERM and SIGHUP. The first ends the running trees, gently at first; the second
/// kills them at once and ends this process.
///
/// # Errors
/// When the system does not let signals be handled.
pub fn listen() -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if RAISED.swap(true, Ordering::SeqCst) {
                for tree in running().iter() {
                    tree.kill(&[]);
                }
                std::process::exit(128 + signal);
            }
            NOTICE.notify_waiters();
        }
    })?;
    Ok(())
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

fn running() -> MutexGuard<'static, Vec<Tree>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A tree that the second signal must find; forgotten, and killed if anything is left of it, when dropped.
#[derive(Debug)]
pub(super) struct Registered(Tree);

impl Registered {
    pub(super) fn new(tree: Tree) -> Self {
        running().push(tree.clone());
        Self(tree)
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.0
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        running().retain(|tree| tree != &self.0);
    }
}
