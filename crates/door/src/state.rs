//! What the parts of the door share.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use crate::answers::Answers;
use crate::authority::Authority;
use crate::record::RecordWriter;
use crate::rules::Rules;
use crate::way::Way;

/// What all rooms use.
pub(crate) struct DoorState {
    pub(crate) authority: Authority,
    pub(crate) tls: TlsConnector,
    pub(crate) way: Way,
}

/// What the tasks of a room share.
pub(crate) struct RoomState {
    pub(crate) door: Arc<DoorState>,
    rules: RwLock<Arc<Rules>>,
    /// What answers in the place of all servers.
    pub(crate) answers: OnceLock<Arc<dyn Answers>>,
    record: Mutex<RecordWriter>,
    opened: Instant,
    pub(crate) count: AtomicU64,
    /// How many bytes of bodies are kept.
    pub(crate) kept: AtomicU64,
}

impl RoomState {
    pub(crate) fn new(door: Arc<DoorState>, rules: Rules, record: RecordWriter) -> Arc<Self> {
        Arc::new(Self {
            door,
            rules: RwLock::new(Arc::new(rules)),
            answers: OnceLock::new(),
            record: Mutex::new(record),
            opened: Instant::now(),
            count: AtomicU64::new(0),
            kept: AtomicU64::new(0),
        })
    }

    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn change_rules(&self, rules: Rules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    pub(crate) fn record(&self) -> std::sync::MutexGuard<'_, RecordWriter> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the room opened.
    pub(crate) fn now_ms(&self) -> u64 {
        self.opened.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

/// The tasks of a room, which end with it.
#[derive(Clone, Default)]
pub(crate) struct Tasks(pub(crate) Rc<RefCell<JoinSet<()>>>);

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut tasks = self.0.borrow_mut();
        // Those that ended are let go.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_local(task);
    }
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) is_tls: bool,
}

/// A host as the rules have it.
pub(crate) fn host_name(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

/// The longest head of a request or an answer, in bytes.
pub(crate) const LONGEST_HEAD: usize = 256 << 10;

/// A stream of bytes to a program.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
