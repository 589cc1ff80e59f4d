//! Ends a trial as soon as its verdict is settled: grades what its agent has left so far by the code that grades whole
//! trials, each time that the agent has written more.

use crate::agent::{self, Agent, Assignment};
use crate::store::TrialFolder;
use crate::text::redact::Redactor;
use crate::trace::Trace;
use crate::trace::exposure::Reference;
use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::sync::Notify;

/// How often the sizes of the files are read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Grading takes at most one part in this many of an agent's time. Files are read as a whole each time, so the longer they
/// are, the rarer that is.
const SHARE_OF_TIME: u32 = 10;

/// The most bytes that are read. The agent of a trial with more runs to its end.
const MAX_BYTES: u64 = 64 << 20;

/// Its file with the agent's output, as for whole trials.
const TRACE: &str = "trace.jsonl";

/// A copy of what a running agent has left so far, for the verdict and for a user who answers, in a directory that is removed with its value. The stored output itself ends
/// within a line, since masking holds back its last bytes.
pub(super) struct EvidenceSoFar(TempDir);

impl EvidenceSoFar {
    pub(super) fn new(folder: &TrialFolder) -> io::Result<(Self, OutputSoFar)> {
        let directory = tempfile::Builder::new().prefix(".so-far-").tempdir_in(folder.path())?;
        let output = File::create(directory.path().join(TRACE))?;
        Ok((Self(directory), OutputSoFar { file: output, bytes: 0 }))
    }

    /// What the agent has left so far. Its evidence is stored, which replaces that of an earlier call.
    pub(super) fn trace(
        &self,
        assignment: &Assignment<'_>,
        redactor: &Redactor,
        reference: &Reference,
    ) -> io::Result<Trace> {
        let agent = agent::of(assignment.mode.agent);
        let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
        agent.keep_evidence(assignment.trial_env, self.0.path(), &mask)?;
        agent.decode(reference, self.0.path())
    }
}

/// Where the lines of the output go, until they are more than is read.
pub(super) struct OutputSoFar {
    file: File,
    bytes: u64,
}

impl OutputSoFar {
    /// Adds a whole line, masked. Without it the trial just runs on.
    pub(super) fn add(&mut self, line: &[u8]) {
        if self.bytes <= MAX_BYTES {
            self.bytes += line.len() as u64 + 1;
            let _ = self.file.write_all(&[line, b"\n"].concat());
        }
    }
}

pub(super) struct WatchedTrial<'a> {
    pub assignment: &'a Assignment<'a>,
    pub so_far: &'a EvidenceSoFar,
    pub redactor: &'a Redactor,
    pub reference: &'a Reference,
    /// Whether nothing that follows can change the verdict of a trial with this trace.
    pub is_settled: &'a (dyn Fn(&Trace) -> bool + Sync),
}

impl WatchedTrial<'_> {
    /// Does `work`, in which the agent runs, and notifies `settled` once the verdict is settled.
    pub(super) fn watched<T>(&self, settled: &Notify, work: impl FnOnce() -> T) -> T {
        let (at_work, over) = channel::<()>();
        thread::scope(|scope| {
            // Where the system has no more threads, the trial runs to its end.
            let _ = thread::Builder::new().spawn_scoped(scope, move || {
                let agent = agent::of(self.assignment.mode.agent);
                let (mut session, mut bytes, mut wait) = (None, 0, POLL_INTERVAL);
                // The sender is dropped when the work ends, even by a panic.
                while over.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                    let before = bytes;
                    bytes = self.bytes_written(agent, &mut session);
                    if bytes == before {
                        wait = POLL_INTERVAL;
                        continue;
                    }
                    if bytes > MAX_BYTES {
                        return;
                    }
                    let started = Instant::now();
                    if self.is_settled_now() {
                        return settled.notify_one();
                    }
                    wait = POLL_INTERVAL.max(started.elapsed() * SHARE_OF_TIME);
                }
            });
            let result = work();
            drop(at_work);
            result
        })
    }

    /// The size of the agent's output and of its session file.
    fn bytes_written(&self, agent: &dyn Agent, session: &mut Option<File>) -> u64 {
        if session.is_none() {
            *session = agent.session(self.assignment.trial_env);
        }
        let session = session.as_ref().and_then(|file| file.metadata().ok());
        let output = self.so_far.0.path().join(TRACE).metadata().ok();
        let files = [output, session];
        files.into_iter().flatten().map(|file| file.len()).sum()
    }

    /// Grades the agent's evidence so far. What cannot be read now may be readable in the next call.
    fn is_settled_now(&self) -> bool {
        let trace = self.so_far.trace(self.assignment, self.redactor, self.reference);
        trace.is_ok_and(|trace| (self.is_settled)(&trace))
    }
}
