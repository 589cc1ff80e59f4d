//! What happens to the skills while an agent is at work: watches the session file that it writes, and makes the changes of
//! its case when their turns are over.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::agent::turns::TurnCounter;
use crate::agent::{self, Assignment};
use crate::mcp;
use crate::settings::mode::Delivery;
use crate::trace::change::ChangeMeta;

/// How often the session file is looked at. Agents write it within a tenth of a second.
const LOOK: Duration = Duration::from_millis(20);

/// Longest line that is read, in bytes; a longer one holds no call that begins or ends a turn by itself.
const LONGEST_LINE: usize = 16 << 20;

/// Does `work`, in which the agent runs, and makes the changes meanwhile. Returns what became of them, in the case's order.
pub(super) fn made_during<T>(assignment: &Assignment<'_>, work: impl FnOnce() -> T) -> (T, Vec<ChangeMeta>) {
    let during = &assignment.case.during;
    if during.is_empty() || assignment.mode.delivery == Delivery::None {
        return (work(), Vec::new());
    }
    let mut changes: Vec<ChangeMeta> = during.iter().map(ChangeMeta::from).collect();
    let over = AtomicBool::new(false);
    let (begun, started) = (SystemTime::now(), Instant::now());
    let result = thread::scope(|scope| {
        scope.spawn(|| watch(assignment, started, &mut changes, &over));
        let _over = DoneGuard(&over);
        work()
    });
    let asked = assignment.room.was_asked();
    for change in &mut changes {
        let Some(made) = change.made_ms.map(|ms| begun + Duration::from_millis(ms)) else { continue };
        change.made = jiff::Timestamp::try_from(made).ok().map(|made| made.to_string());
        change.asked = asked.as_ref().and_then(|asked| mcp::lists_requested_since(asked, made));
    }
    (result, changes)
}

/// Says that the work is over, in whatever way it ends.
struct DoneGuard<'a>(&'a AtomicBool);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn watch(assignment: &Assignment<'_>, started: Instant, changes: &mut [ChangeMeta], over: &AtomicBool) {
    let agent = agent::of(assignment.mode.agent);
    let mut turns = TurnCounter::default();
    let mut session = None;
    let mut made_in = vec![0; changes.len()];
    loop {
        // Looked at first: what is read afterwards is then all there is.
        let is_over = over.load(Ordering::Acquire);
        session = session.or_else(|| agent.session(assignment.room).map(GrowingFile::of));
        for line in session.iter_mut().flat_map(GrowingFile::new_ones) {
            agent.signs(&line).into_iter().for_each(|sign| turns.note(sign));
        }
        for (change, made_in) in changes.iter_mut().zip(&made_in).filter(|(change, _)| change.made_ms.is_some()) {
            change.turns_after = Some(turns.over() - made_in);
        }
        if is_over {
            return;
        }
        for (number, change) in changes.iter_mut().enumerate() {
            let is_open = change.made_ms.is_none() && change.kept_from.is_none();
            if is_open && turns.over() >= change.after_turn {
                made_in[number] = turns.over();
                match assignment.room.make_change(number) {
                    Ok(()) => change.made_ms = u64::try_from(started.elapsed().as_millis()).ok(),
                    Err(why) => change.kept_from = Some(why),
                }
            }
        }
        thread::sleep(LOOK);
    }
}

/// The lines of a file that grows.
struct GrowingFile {
    file: File,
    /// What was read of the line that is being written.
    rest: Vec<u8>,
    /// Whether that line is too long to be read.
    overlong: bool,
}

impl GrowingFile {
    fn of(file: File) -> Self {
        Self { file, rest: Vec::new(), overlong: false }
    }

    /// Those that have come since the last look. What cannot be read now may be at the next.
    fn new_ones(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut piece = vec![0; 64 << 10];
        while let Ok(read @ 1..) = self.file.read(&mut piece) {
            for part in piece[..read].split_inclusive(|byte| *byte == b'\n') {
                self.overlong |= self.rest.len() + part.len() > LONGEST_LINE;
                if !self.overlong {
                    self.rest.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    let line = std::mem::take(&mut self.rest);
                    lines.extend((!std::mem::take(&mut self.overlong)).then_some(line));
                }
            }
        }
        lines
    }
}
