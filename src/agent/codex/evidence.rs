//! What codex leaves of a run, as a trial and a recording keep it, and how it reads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{LAST_MESSAGE, ROLLOUT, TRACE, events, rollout};
use crate::agent::room::Room;
use crate::settings::ToolNames;
use crate::text::lines;
use crate::trial::trace::Trace;

pub(super) fn keep(room: &Room, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let sessions = room.home().join(".codex/sessions");
    // One run, one session: `sessions/YYYY/MM/DD/rollout-….jsonl`. Sub-agents' are later and not the first.
    let mut rollouts: Vec<PathBuf> = walkdir::WalkDir::new(sessions)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("rollout-"))
        .map(walkdir::DirEntry::into_path)
        .collect();
    rollouts.sort();
    if let Some(path) = rollouts.first() {
        fs::write(folder.join(ROLLOUT), mask(&fs::read(path)?))?;
    }
    let last = room.path().join(LAST_MESSAGE);
    match fs::read(&last) {
        // codex makes the file when it starts and leaves it empty when it fails.
        Ok(content) if !content.is_empty() => fs::write(folder.join("final.txt"), mask(&content)),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

pub(super) fn recorded(folder: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut kept = Vec::new();
    lines::for_each(&folder.join(ROLLOUT), |line| {
        if let lines::Line::Whole(line) = line {
            kept.extend(rollout::slimmed(line).into_iter().flatten());
        }
    })?;
    let trace = fs::read(folder.join(TRACE))?;
    let mut files = vec![(TRACE, trace)];
    if !kept.is_empty() {
        files.push((ROLLOUT, kept));
    }
    Ok(files)
}

pub(super) fn decode(names: &ToolNames, folder: &Path) -> io::Result<Trace> {
    let mut trace = Trace::default();
    let mut rollout = rollout::Reader::default();
    lines::for_each(&folder.join(ROLLOUT), |line| match line {
        lines::Line::Whole(line) => rollout.line(&mut trace, line),
        lines::Line::Overlong => trace.damaged_lines += 1,
    })?;
    let told_by_rollout = rollout.finish(&mut trace);
    let mut events = events::Reader::new(names, told_by_rollout);
    lines::for_each(&folder.join(TRACE), |line| match line {
        lines::Line::Whole(line) => events.line(&mut trace, line),
        lines::Line::Overlong => trace.damaged_lines += 1,
    })?;
    Ok(trace)
}
