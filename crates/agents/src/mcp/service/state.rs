//! The state of a running server: where the skills are, the library, and the clients' subscriptions.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, watch};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use super::library::{Library, LibraryChange, SkillSource};
use super::request_log::RequestLog;
use crate::settings::BuiltIn;
use crate::text::escape;

/// Minimum time between two scans. A scan reads directories and metadata only. File system events would come sooner, but
/// need a watch per directory, are unreliable on network and container file systems, and report half-written files.
const SCAN_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum time to wait for a client's roots before its requests are answered without them.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum number of changes that a receiver may lag behind. After that, everything counts as changed.
const MAX_LAG: usize = 16;

#[derive(Debug)]
pub(super) struct ServerState {
    pub settings: BuiltIn,
    pub log: RequestLog,
    sources: Mutex<Vec<SkillSource>>,
    library: watch::Sender<Arc<Library>>,
    /// False while the server waits for the client's roots.
    sources_known: watch::Sender<bool>,
    changes: broadcast::Sender<Arc<LibraryChange>>,
    subscriptions: Mutex<BTreeSet<String>>,
    /// Held during a scan: an older scan must not overwrite a newer one.
    scanning: tokio::sync::Mutex<()>,
}

impl ServerState {
    /// Scans `sources` for the first time.
    pub(super) fn new(sources: Vec<SkillSource>, settings: BuiltIn, log: RequestLog) -> Self {
        let library = Library::scan(&sources, settings, &Library::default());
        print_new_problems(&library, &Library::default());
        Self {
            settings,
            log,
            sources: Mutex::new(sources),
            library: watch::Sender::new(Arc::new(library)),
            sources_known: watch::Sender::new(true),
            changes: broadcast::Sender::new(MAX_LAG),
            subscriptions: Mutex::default(),
            scanning: tokio::sync::Mutex::default(),
        }
    }

    /// The library, or `None` while the server waits for the client's roots.
    pub(super) fn library_if_known(&self) -> Option<Arc<Library>> {
        self.sources_known.borrow().then(|| self.library.borrow().clone())
    }

    /// The library. Waits for the client's roots.
    pub(super) async fn library(&self) -> Arc<Library> {
        let mut known = self.sources_known.subscribe();
        let _ = timeout(ROOTS_TIMEOUT, known.wait_for(|known| *known)).await;
        self.library.borrow().clone()
    }

    /// Delays answers until [`Self::set_sources`] is called.
    pub(super) fn await_sources(&self) {
        self.sources_known.send_replace(false);
    }

    /// Serves the skills of `sources`. `None` keeps the current sources.
    pub(super) async fn set_sources(self: &Arc<Self>, sources: Option<Vec<SkillSource>>) {
        if let Some(sources) = sources {
            *lock(&self.sources) = sources;
        }
        self.scan().await;
        self.sources_known.send_replace(true);
    }

    /// Scans the skills and announces changes.
    pub(super) async fn scan(self: &Arc<Self>) -> Arc<Library> {
        let _guard = self.scanning.lock().await;
        let (sources, settings) = (lock(&self.sources).clone(), self.settings);
        let previous = self.library.borrow().clone();
        let known = previous.clone();
        // A slow file system must not delay the protocol.
        let scan = spawn_blocking(move || Library::scan(&sources, settings, &known));
        let Ok(library) = scan.await else { return previous };
        print_new_problems(&library, &previous);
        let change = library.changes_since(&previous);
        let library = Arc::new(library);
        self.library.send_replace(library.clone());
        if let Some(change) = change {
            // Fails only without receivers.
            let _ = self.changes.send(Arc::new(change));
        }
        library
    }

    /// Scans again and again.
    pub(super) async fn keep_scanning(self: Arc<Self>) {
        let mut pause = SCAN_INTERVAL;
        loop {
            sleep(pause).await;
            let start = Instant::now();
            self.scan().await;
            // Slow file systems are scanned less often.
            pause = SCAN_INTERVAL.max(start.elapsed() * 10);
        }
    }

    pub(super) fn changes(&self) -> broadcast::Receiver<Arc<LibraryChange>> {
        self.changes.subscribe()
    }

    /// The URIs to which a client subscribed by `resources/subscribe`.
    pub(super) fn subscriptions(&self) -> MutexGuard<'_, BTreeSet<String>> {
        lock(&self.subscriptions)
    }
}

/// The next change. `None` if the server ends.
pub(super) async fn next_change(changes: &mut broadcast::Receiver<Arc<LibraryChange>>) -> Option<Arc<LibraryChange>> {
    match changes.recv().await {
        Ok(change) => Some(change),
        Err(broadcast::error::RecvError::Lagged(_)) => {
            Some(Arc::new(LibraryChange { skills: true, files: true, ..LibraryChange::default() }))
        }
        Err(broadcast::error::RecvError::Closed) => None,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn print_new_problems(library: &Library, previous: &Library) {
    for problem in library.problems.iter().filter(|problem| !previous.problems.contains(problem)) {
        print(problem);
    }
}

/// Prints a line to standard error: standard output belongs to the protocol.
#[expect(clippy::disallowed_methods, reason = "the line is made safe")]
pub(super) fn print(message: &str) {
    let _ = writeln!(io::stderr(), "skill-evals mcp: {}", escape::line(message));
}
