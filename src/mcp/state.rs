//! What a server knows while it runs: where the skills are, which there are, and who wants to hear of changes.

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
use crate::text::safe;

/// How often the skills are looked at. Looking reads folders and metadata only. File system events would be there
/// sooner, but need a watch for each folder, come late or never on network and container file systems, and name half
/// written files first.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a client that offers roots may take to name them before it is answered without.
const ROOTS_WITHIN: Duration = Duration::from_secs(3);

/// Changes that a reader may lag behind; one that lags more is told that everything changed.
const CHANGES_KEPT: usize = 16;

#[derive(Debug)]
pub(super) struct ServerState {
    /// How skills are served.
    pub served: BuiltIn,
    /// Notes which lists the client asks for.
    pub asked: RequestLog,
    places: Mutex<Vec<SkillSource>>,
    library: watch::Sender<Arc<Library>>,
    /// False while the client's roots are being asked for.
    known: watch::Sender<bool>,
    changes: broadcast::Sender<Arc<LibraryChange>>,
    subscribed: Mutex<BTreeSet<String>>,
    // One look at a time, or an older one could overwrite a newer.
    looking: tokio::sync::Mutex<()>,
}

impl ServerState {
    /// Looks at `places` for the first time.
    pub(super) fn new(places: Vec<SkillSource>, served: BuiltIn, asked: RequestLog) -> Self {
        let library = Library::look(&places, served, &Library::default());
        report(&library, &Library::default());
        Self {
            served,
            asked,
            places: Mutex::new(places),
            library: watch::Sender::new(Arc::new(library)),
            known: watch::Sender::new(true),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            subscribed: Mutex::default(),
            looking: tokio::sync::Mutex::default(),
        }
    }

    /// The skills as last seen; none while it is not known where they are.
    pub(super) fn last_seen(&self) -> Option<Arc<Library>> {
        self.known.borrow().then(|| self.library.borrow().clone())
    }

    /// The skills, once it is known where they are.
    pub(super) async fn library(&self) -> Arc<Library> {
        let mut known = self.known.subscribe();
        let _ = timeout(ROOTS_WITHIN, known.wait_for(|known| *known)).await;
        self.library.borrow().clone()
    }

    /// Holds answers back until [`Self::serve_places`] says where the skills are.
    pub(super) fn await_places(&self) {
        self.known.send_replace(false);
    }

    /// Serves the skills in `places`, or in the places known before.
    pub(super) async fn serve_places(self: &Arc<Self>, places: Option<Vec<SkillSource>>) {
        if let Some(places) = places {
            *lock(&self.places) = places;
        }
        self.look().await;
        self.known.send_replace(true);
    }

    /// Looks at the skills and tells of what has changed.
    pub(super) async fn look(self: &Arc<Self>) -> Arc<Library> {
        let _guard = self.looking.lock().await;
        let (places, served) = (lock(&self.places).clone(), self.served);
        let before = self.library.borrow().clone();
        let known = before.clone();
        // A slow file system must not hold up the protocol.
        let Ok(library) = spawn_blocking(move || Library::look(&places, served, &known)).await else { return before };
        report(&library, &before);
        let change = library.changes_since(&before);
        let library = Arc::new(library);
        self.library.send_replace(library.clone());
        if let Some(change) = change {
            // Fails only where nobody listens.
            let _ = self.changes.send(Arc::new(change));
        }
        library
    }

    /// Looks again and again.
    pub(super) async fn keep_looking(self: Arc<Self>) {
        let mut pause = LOOK_EVERY;
        loop {
            sleep(pause).await;
            let start = Instant::now();
            self.look().await;
            // Slow file systems are looked at less often.
            pause = LOOK_EVERY.max(start.elapsed() * 10);
        }
    }

    pub(super) fn changes(&self) -> Changes {
        Changes(self.changes.subscribe())
    }

    /// The URIs of which a client wants to hear, by the protocol's older way.
    pub(super) fn subscribed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        lock(&self.subscribed)
    }
}

/// The changes from now on.
pub(super) struct Changes(broadcast::Receiver<Arc<LibraryChange>>);

impl Changes {
    /// The next change; `None` when the server ends.
    pub(super) async fn next(&mut self) -> Option<Arc<LibraryChange>> {
        match self.0.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => {
                Some(Arc::new(LibraryChange { skills: true, files: true, ..LibraryChange::default() }))
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says what is wrong with the skills, each thing once.
fn report(library: &Library, before: &Library) {
    for problem in library.problems.iter().filter(|problem| !before.problems.contains(problem)) {
        log(problem);
    }
}

/// A line on standard error: standard output belongs to the protocol.
pub(super) fn log(message: &str) {
    // Where standard error is closed, nobody is there to be told.
    let _ = writeln!(io::stderr(), "skill-evals mcp: {}", safe::line(message));
}
