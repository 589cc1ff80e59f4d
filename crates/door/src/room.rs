//! The room of one trial, as the door sees it.

use std::future::Future;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::answers::Answers;
use crate::record::RecordError;
use crate::rules::Rules;
use crate::serve;
use crate::state::{RoomState, Tasks};
use crate::way::DoorError;

/// Something for the door's thread.
pub(crate) type Task = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// The most connections of a room at once: more wait.
const MOST_CONNECTIONS: usize = 64;

/// A room. Its connections end when it is closed or dropped.
pub struct Room {
    state: Arc<RoomState>,
    sockets: mpsc::UnboundedSender<TcpListener>,
    waiting: Mutex<Option<mpsc::UnboundedReceiver<TcpListener>>>,
    close: Option<oneshot::Sender<std::sync::mpsc::Sender<()>>>,
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
                let tasks = Tasks::default();
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

    /// Takes sockets that were opened in the room's own network: where the proxy variables point, and ports of servers outside. A
    /// request says itself where it goes.
    pub fn adopt(&self, sockets: impl IntoIterator<Item = TcpListener>) -> Result<(), DoorError> {
        let gone = || DoorError::Sockets(std::io::Error::other("the room is closed"));
        sockets.into_iter().try_for_each(|listener| {
            listener.set_nonblocking(true).map_err(DoorError::Sockets)?;
            self.sockets.send(listener).map_err(|_| gone())
        })
    }

    /// Lets these rules decide from now on.
    pub fn change_rules(&self, rules: Rules) {
        self.state.change_rules(rules);
    }

    /// Lets this answer everything that is asked from now on, in the place of all servers. The first call counts.
    pub fn answer_by(&self, answers: Arc<dyn Answers>) {
        // A room has one conversation.
        let _ = self.state.answers.set(answers);
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
