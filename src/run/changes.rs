//! Changes skills while an agent works: watches the agent's session file, and makes each change of the case when its
//! turn is over.

use std::fs::File;
use std::io::Read;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::agent::interface::TurnCounter;
use crate::agent::{self, Assignment};
use crate::mcp;
use crate::settings::mode::Delivery;
use crate::trace::change::ChangeMeta;

/// How often the session file is read. Agents write a line within a tenth of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest line that is read, in bytes; a longer one holds no call that begins or ends a turn by itself.
const LONGEST_LINE: usize = 16 << 20;

/// Does `work`, in which the agent runs, and makes the changes meanwhile. Returns the changes in the case's order.
pub(super) fn made_during<T>(assignment: &Assignment<'_>, work: impl FnOnce() -> T) -> (T, Vec<ChangeMeta>) {
    let during = &assignment.case.during;
    if during.is_empty() || assignment.mode.delivery == Delivery::None {
        return (work(), Vec::new());
    }
    let mut changes: Vec<ChangeMeta> = during.iter().map(ChangeMeta::from).collect();
    let done = AtomicBool::new(false);
    let (began, started) = (SystemTime::now(), Instant::now());
    let result = thread::scope(|scope| {
        let watched = thread::Builder::new().spawn_scoped(scope, || watch(assignment, started, &mut changes, &done));
        let _guard = DoneGuard(&done);
        // Without it no change is made, and the trial says so.
        drop(watched);
        work()
    });
    let requests = assignment.trial_env.request_log();
    for change in &mut changes {
        let Some(made) = change.made_ms.map(|ms| began + Duration::from_millis(ms)) else { continue };
        change.made = jiff::Timestamp::try_from(made).ok().map(|made| made.to_string());
        change.asked = requests.as_ref().and_then(|requests| mcp::lists_requested_since(requests, made));
    }
    (result, changes)
}

/// Sets the flag when the work ends, even by a panic.
struct DoneGuard<'a>(&'a AtomicBool);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn watch(assignment: &Assignment<'_>, started: Instant, changes: &mut [ChangeMeta], done: &AtomicBool) {
    let agent = agent::of(assignment.mode.agent);
    let mut turns = TurnCounter::default();
    let mut session = None;
    let mut made_after_turn = vec![0; changes.len()];
    loop {
        // Loaded first: what is read afterwards is then complete.
        let is_done = done.load(Ordering::Acquire);
        session = session.or_else(|| agent.session(assignment.trial_env).map(GrowingFile::new));
        for line in session.iter_mut().flat_map(GrowingFile::new_lines) {
            agent.signs(&line).into_iter().for_each(|sign| turns.note(sign));
        }
        for (change, made_after_turn) in changes.iter_mut().zip(&mut made_after_turn) {
            if change.made_ms.is_some() {
                change.turns_after = Some(turns.ended() - *made_after_turn);
            }
        }
        if is_done {
            return;
        }
        for (number, change) in changes.iter_mut().enumerate() {
            let is_open = change.made_ms.is_none() && change.kept_from.is_none();
            if is_open && turns.ended() >= change.after_turn {
                made_after_turn[number] = turns.ended();
                match assignment.trial_env.make_change(number) {
                    Ok(()) => change.made_ms = u64::try_from(started.elapsed().as_millis()).ok(),
                    Err(why) => change.kept_from = Some(why),
                }
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// A file to which lines are added.
struct GrowingFile {
    file: File,
    /// The start of the line that is being written.
    partial: Vec<u8>,
    /// Whether that line is longer than [`LONGEST_LINE`].
    too_long: bool,
}

impl GrowingFile {
    fn new(file: File) -> Self {
        Self { file, partial: Vec::new(), too_long: false }
    }

    /// The lines since the last call. What cannot be read now may be readable in the next call.
    fn new_lines(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = self.file.read(&mut buffer) {
            for part in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
                self.too_long |= self.partial.len() + part.len() > LONGEST_LINE;
                if !self.too_long {
                    self.partial.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    let line = mem::take(&mut self.partial);
                    if !mem::take(&mut self.too_long) {
                        lines.push(line);
                    }
                }
            }
        }
        lines
    }
}
