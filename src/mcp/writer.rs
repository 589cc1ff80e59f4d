//! The output: whole lines, each written to its end also where whoever sent it waits no longer.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Lines that wait to be written; who sends more waits.
const WAITING: usize = 64;

type OutgoingLine = (Vec<u8>, oneshot::Sender<io::Result<()>>);

pub(super) struct Writer {
    lines: Option<mpsc::Sender<OutgoingLine>>,
    task: JoinHandle<()>,
}

impl Writer {
    pub(super) fn new(mut output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (send, mut lines) = mpsc::channel::<OutgoingLine>(WAITING);
        let task = tokio::spawn(async move {
            while let Some((line, told)) = lines.recv().await {
                let mut written = output.write_all(&line).await;
                if written.is_ok() {
                    written = output.flush().await;
                }
                // Fails only where nobody waits for it.
                let _ = told.send(written);
            }
        });
        Self { lines: Some(send), task }
    }

    /// Writes a line; nothing where there is none.
    pub(super) fn write(&self, line: Option<Vec<u8>>) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        let lines = self.lines.clone();
        async move {
            let Some(line) = line else { return Ok(()) };
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (told, written) = oneshot::channel();
            lines.ok_or_else(closed)?.send((line, told)).await.map_err(|_| closed())?;
            written.await.map_err(|_| closed())?
        }
    }

    /// Ends once all lines are written.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.lines = None;
        (&mut self.task).await.map_err(io::Error::other)
    }
}
