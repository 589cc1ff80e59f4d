//! What codex leaves of a run, as a trial and a recording keep it, and how it reads.

use std::fs;
use std::io;
use std::path::Path;

use super::{LAST_MESSAGE, ROLLOUT, TRACE, events, rollout};
use crate::agent::room::Room;
use crate::agent::skill_calls::{Reading, SkillCalls};
use crate::files::below::{self, Walk};
use crate::files::bounded;
use crate::text::lines;
use crate::trial::exposure::Reference;
use crate::trial::trace::Trace;

/// The largest rollout file that is kept, in bytes.
const MAX_ROLLOUT: u64 = 512 << 20;

/// The largest trace that a recording keeps, in bytes.
const MAX_TRACE: u64 = 1 << 30;

pub(super) fn keep(room: &Room, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    // One run, one session: `sessions/YYYY/MM/DD/rollout-….jsonl`. Sub-agents' are later and not the first.
    let mut rollout = None;
    let sessions = Path::new(".codex/sessions");
    let walked = below::walk(&room.home(), sessions, |_| false, &mut |entry| {
        if entry.path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-")) {
            rollout = Some(entry.open());
            return Walk::Stop;
        }
        Walk::On
    });
    // Without a session there is no folder.
    if let (Ok(_), Some(rollout)) = (walked, rollout) {
        let content = rollout
            .and_then(|file| bounded::read_file(file, MAX_ROLLOUT))
            .map_err(|error| io::Error::new(error.kind(), format!("codex's rollout file: {error}")))?;
        fs::write(folder.join(ROLLOUT), mask(&content))?;
    }
    match below::read(room.path(), Path::new(LAST_MESSAGE), bounded::MAX_FILE) {
        // codex makes the file when it starts and leaves it empty when it fails.
        Ok(content) if !content.is_empty() => fs::write(folder.join("final.txt"), mask(&content)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("the final message, {LAST_MESSAGE}: {error}"))),
    }
}

pub(super) fn recorded(folder: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut kept = Vec::new();
    lines::for_each(&folder.join(ROLLOUT), |line| {
        if let lines::Line::Whole(line) = line {
            kept.extend(rollout::slimmed(line).into_iter().flatten());
        }
    })?;
    let trace = bounded::read_at_most(&folder.join(TRACE), MAX_TRACE)?;
    let mut files = vec![(TRACE, trace)];
    if !kept.is_empty() {
        files.push((ROLLOUT, kept));
    }
    Ok(files)
}

pub(super) fn decode(reference: &Reference, folder: &Path) -> io::Result<Trace> {
    let mut trace = Trace::default();
    let mut skills = SkillCalls::new(reference, Reading::Activates);
    let mut rollout = rollout::Reader::new(&mut skills);
    lines::for_each(&folder.join(ROLLOUT), |line| match line {
        lines::Line::Whole(line) => rollout.line(&mut trace, line),
        lines::Line::Overlong => trace.damaged_lines += 1,
    })?;
    let told = rollout.finish(&mut trace);
    let mut events = events::Reader::new(&mut skills, told);
    lines::for_each(&folder.join(TRACE), |line| match line {
        lines::Line::Whole(line) => events.line(&mut trace, line),
        lines::Line::Overlong => trace.damaged_lines += 1,
    })?;
    skills.finish(&mut trace);
    Ok(trace)
}
