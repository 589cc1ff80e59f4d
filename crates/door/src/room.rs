//! The room of one trial, as the door sees it.

use std::cell::RefCell;
use std::future::Future;
use std::net::TcpListener;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::door::{DoorError, DoorState};
use crate::record::{RecordError, RecordWriter};
use crate::rules::Rules;
use crate::serve;

/// Something for the door's thread.
pub(crate) type Task = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The most connections of a room at once: more wait.
const MOST_CONNECTIONS: usize = 64;

/// A room. Its connections end when it is closed or dropped.
pub struct Room {
    state: Arc<RoomState>,
    sockets: mpsc::UnboundedSender<OpenSocket>,
    waiting: Mutex<Option<mpsc::UnboundedReceiver<OpenSocket>>>,
    close: Option<oneshot::Sender<std::sync::mpsc::Sender<()>>>,
}

/// What the tasks of a room share.
pub(crate) struct RoomState {
    pub(crate) door: Arc<DoorState>,
    rules: RwLock<Arc<Rules>>,
    pub(crate) record: Mutex<RecordWriter>,
    pub(crate) opened: Instant,
    pub(crate) count: AtomicU64,
}

impl RoomState {
    pub(crate) fn new(door: Arc<DoorState>, rules: Rules, record: RecordWriter) -> Arc<Self> {
        Arc::new(Self {
            door,
            rules: RwLock::new(Arc::new(rules)),
            record: Mutex::new(record),
            opened: Instant::now(),
            count: AtomicU64::new(0),
        })
    }

    pub(crate) fn rules(&self) -> Arc<Rules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn record(&self) -> std::sync::MutexGuard<'_, RecordWriter> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the room opened.
    pub(crate) fn now_ms(&self) -> u64 {
        self.opened.elapsed().as_millis().try_into().unwrap_or(u64::MAX)
    }
}

/// A socket that programs of the room reach. It does not block.
pub(crate) enum OpenSocket {
    /// Where the proxy variables point.
    Proxy(TcpListener),
    /// A port of a server outside. The server is the one that each request names.
    Direct(TcpListener),
}

/// The tasks of a room, which end with it.
#[derive(Clone)]
pub(crate) struct Tasks(Rc<RefCell<JoinSet<()>>>);

impl Tasks {
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let mut tasks = self.0.borrow_mut();
        // Those that ended are let go.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_local(task);
    }
}

impl Room {
    pub(crate) fn new(state: Arc<RoomState>, close: oneshot::Sender<std::sync::mpsc::Sender<()>>) -> Self {
        let (sockets, waiting) = mpsc::unbounded_channel();
        Self { state, sockets, waiting: Mutex::new(Some(waiting)), close: Some(close) }
    }

    /// Serves the room's sockets until it is closed.
    pub(crate) fn serve(&self, closed: oneshot::Receiver<std::sync::mpsc::Sender<()>>) -> Task {
        let state = Arc::clone(&self.state);
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::new(move || {
            Box::pin(async move {
                let tasks = Tasks(Rc::new(RefCell::new(JoinSet::new())));
                let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
                let accept = async {
                    let Some(mut waiting) = waiting else { return };
                    while let Some(socket) = waiting.recv().await {
                        tasks.spawn(serve::socket(Arc::clone(&state), tasks.clone(), socket, Arc::clone(&slots)));
                    }
                    std::future::pending::<()>().await;
                };
                let done = tokio::select! {
                    () = accept => None,
                    done = closed => done.ok(),
                };
                // Taken out first: a task that ends may ask for the set.
                let mut all = tasks.0.take();
                all.shutdown().await;
                if let Some(done) = done {
                    // Nobody waits where the room was dropped.
                    let _ = done.send(());
                }
            })
        })
    }

    /// Takes sockets that were opened in the room's own network: where the proxy variables point, and ports of servers outside.
    pub fn adopt(&self, proxy: TcpListener, direct: impl IntoIterator<Item = TcpListener>) -> Result<(), DoorError> {
        self.add(OpenSocket::Proxy(proxy))?;
        direct.into_iter().try_for_each(|listener| self.add(OpenSocket::Direct(listener)))
    }

    /// Lets these rules decide from now on.
    pub fn change_rules(&self, rules: Rules) {
        *self.state.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    fn add(&self, socket: OpenSocket) -> Result<(), DoorError> {
        let (OpenSocket::Proxy(listener) | OpenSocket::Direct(listener)) = &socket;
        listener.set_nonblocking(true).map_err(DoorError::Sockets)?;
        let gone = || DoorError::Sockets(std::io::Error::other("the room is closed"));
        self.sockets.send(socket).map_err(|_| gone())
    }

    /// Ends every connection, and the record.
    pub fn close(mut self) -> Result<(), RecordError> {
        if let Some(close) = self.close.take() {
            let (done, ended) = std::sync::mpsc::channel();
            if close.send(done).is_ok() {
                // An error says that the door's thread is gone, and its tasks with it.
                let _ = ended.recv();
            }
        }
        self.state.record().finish()
    }
}
