//! Writes whole lines to the output. A line is written to its end even if its sender stops waiting.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Maximum number of lines that wait to be written. Further senders wait.
const MAX_WAITING: usize = 64;

type OutgoingLine = (Vec<u8>, oneshot::Sender<io::Result<()>>);

pub(super) struct Writer {
    lines: Option<mpsc::Sender<OutgoingLine>>,
    task: JoinHandle<()>,
}

impl Writer {
    pub(super) fn new(mut output: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (lines, mut queue) = mpsc::channel::<OutgoingLine>(MAX_WAITING);
        let task = tokio::spawn(async move {
            while let Some((line, sender)) = queue.recv().await {
                let mut result = output.write_all(&line).await;
                if result.is_ok() {
                    result = output.flush().await;
                }
                // Fails only if the sender stopped waiting.
                let _ = sender.send(result);
            }
        });
        Self { lines: Some(lines), task }
    }

    /// Writes a line, if there is one.
    pub(super) fn write(&self, line: Option<Vec<u8>>) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        let lines = self.lines.clone();
        async move {
            let Some(line) = line else { return Ok(()) };
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            let (sender, result) = oneshot::channel();
            lines.ok_or_else(closed)?.send((line, sender)).await.map_err(|_| closed())?;
            result.await.map_err(|_| closed())?
        }
    }

    /// Returns when all lines are written.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.lines = None;
        (&mut self.task).await.map_err(io::Error::other)
    }
}
