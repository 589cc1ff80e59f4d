//! Carries a program's outputs into files, masked, line by line past a listener.

use std::fs::File;
use std::io::{self, Read, Write};
use std::time::Duration;

use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::watch;

use super::{OutputListener, Reply};
use crate::text::redact::Masker;

/// How long output that is still under way is waited for once the program has ended.
const DRAIN: Duration = Duration::from_secs(2);

/// How often a growing file is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Longest line handed to a [`OutputListener`]; longer ones are only written to the file.
const LONGEST_LINE: usize = 1 << 20;

/// Where a program's standard output comes from.
pub(super) enum StdoutSource<P> {
    /// A pipe.
    Pipe(Option<P>),
    /// A file that the program writes.
    Growing(File),
}

/// Carries both outputs until they end; of what is still open once `ended` says so, no longer than [`DRAIN`].
pub(super) async fn pump(
    stdout: StdoutSource<impl AsyncRead + Unpin>,
    stderr: Option<impl AsyncRead + Unpin>,
    mut output: StdoutReader<'_>,
    mut errors: StderrReader<'_>,
    opening: Option<Vec<u8>>,
    ended: watch::Receiver<bool>,
) -> io::Result<()> {
    if let Some(opening) = opening {
        output.answer(Reply { write: opening, ..Reply::default() }).await;
    }
    let carry_output = async {
        let mut buffer = vec![0; 64 << 10];
        match stdout {
            StdoutSource::Pipe(None) => {}
            StdoutSource::Pipe(Some(mut pipe)) => {
                let late = late(ended.clone());
                tokio::pin!(late);
                loop {
                    let read = tokio::select! { read = pipe.read(&mut buffer) => read?, () = &mut late => 0 };
                    match read {
                        0 => break,
                        n => output.take(&buffer[..n]).await?,
                    }
                }
            }
            StdoutSource::Growing(mut file) => loop {
                // Looked at first: what is read afterwards is then all there is.
                let over = *ended.borrow();
                match file.read(&mut buffer)? {
                    0 if over => break,
                    0 => tokio::time::sleep(LOOK).await,
                    n => {
                        output.take(&buffer[..n]).await?;
                        // A file is always ready; the timeout and the signals have to have their turn.
                        tokio::task::yield_now().await;
                    }
                }
            },
        }
        output.finish().await
    };
    let carry_errors = async {
        let Some(mut stderr) = stderr else { return Ok(()) };
        let late = late(ended.clone());
        tokio::pin!(late);
        let mut buffer = vec![0; 16 << 10];
        loop {
            let read = tokio::select! { read = stderr.read(&mut buffer) => read?, () = &mut late => 0 };
            match read {
                0 => return errors.finish(),
                n => errors.take(&buffer[..n])?,
            }
        }
    };
    let (first, second): (io::Result<()>, io::Result<()>) = tokio::join!(carry_output, carry_errors);
    first.and(second)
}

/// Returns when the program has ended and its pipes have had their time to run dry.
async fn late(mut ended: watch::Receiver<bool>) {
    // A sender that is gone has ended too.
    let _ = ended.wait_for(|ended| *ended).await;
    tokio::time::sleep(DRAIN).await;
}

/// Standard output on its way.
pub(super) struct StdoutReader<'a> {
    /// Set when the listener has heard enough.
    pub enough: watch::Sender<bool>,
    /// Set when the program has said all.
    pub over: watch::Sender<bool>,
    pub file: File,
    pub masker: Masker<'a>,
    pub listener: &'a mut dyn OutputListener,
    pub line: Vec<u8>,
    pub overlong: bool,
    pub input: Option<ChildStdin>,
}

impl StdoutReader<'_> {
    async fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(&self.masker.push(piece))?;
        for part in piece.split_inclusive(|&b| b == b'\n') {
            let ended = part.last() == Some(&b'\n');
            let room = LONGEST_LINE.saturating_sub(self.line.len());
            self.overlong |= part.len() > room;
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if ended {
                self.hand_on().await;
            }
        }
        // A line that is a whole object needs no line break: a program may wait for the answer before it writes one.
        let whole = self.line.ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(&self.line).is_ok();
        if whole && !self.overlong {
            self.hand_on().await;
        }
        Ok(())
    }

    async fn finish(&mut self) -> io::Result<()> {
        self.file.write_all(&self.masker.finish())?;
        if !self.line.is_empty() {
            self.hand_on().await;
        }
        Ok(())
    }

    async fn hand_on(&mut self) {
        let line = self.line.trim_ascii_end();
        if line.is_empty() {
            return self.line.clear();
        }
        let overlong = std::mem::take(&mut self.overlong);
        let reply = if overlong { self.listener.long_line(line) } else { self.listener.line(line) };
        self.answer(reply).await;
        self.line.clear();
    }

    /// A program that no longer reads has its reasons; its exit tells.
    async fn answer(&mut self, reply: Reply) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(&reply.write).await;
            let _ = input.flush().await;
        }
        if reply.close {
            self.input = None;
        }
        if reply.end {
            self.enough.send_replace(true);
        }
        if reply.over {
            self.over.send_replace(true);
        }
    }
}

/// Standard error on its way.
pub(super) struct StderrReader<'a> {
    pub file: File,
    pub masker: Masker<'a>,
    pub left: u64,
}

impl StderrReader<'_> {
    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        let masked = self.masker.push(piece);
        self.write(&masked)
    }

    fn finish(&mut self) -> io::Result<()> {
        let masked = self.masker.finish();
        self.write(&masked)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let keep = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= keep as u64;
        self.file.write_all(&bytes[..keep])
    }
}
