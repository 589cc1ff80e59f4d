//! What codex leaves of a run, as a trial and a recording keep it, and how it reads.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{LAST_MESSAGE, ROLLOUT, TRACE, events, rollout, slim};
use crate::agent::derived_file::{DerivedFile, SUB_AGENTS, slimmed};
use crate::agent::skill_calls::SkillCalls;
use crate::agent::trial_env::TrialEnv;
use crate::files::below::{self, WalkControl};
use crate::files::bounded;
use crate::text::lines;
use crate::trace::exposure::Reference;
use crate::trace::{Mechanism, Trace, TraceBuilder};

/// Where codex keeps sessions, in its home.
const SESSIONS: &str = ".codex/sessions";

/// The largest rollout file that is kept, in bytes.
const MAX_ROLLOUT: u64 = 512 << 20;

/// The largest trace that a recording keeps, in bytes.
const MAX_TRACE: u64 = 1 << 30;

pub(super) fn keep(room: &TrialEnv, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    // `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`: the first is the agent's own, the others are its sub-agents'.
    let mut rollout = None;
    let mut sub_agents = DerivedFile::new(folder.join(SUB_AGENTS), mask);
    let mut kept = Ok(());
    // Without a session there is no folder.
    let _ = below::walk(&room.home(), Path::new(SESSIONS), |_| false, &mut |entry| {
        if !is_rollout(entry.path) {
            return WalkControl::On;
        }
        if rollout.is_none() {
            rollout = Some(entry.open());
            return WalkControl::On;
        }
        kept = entry.open().and_then(|from| sub_agents.add(from));
        if kept.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    let in_words = |error: io::Error| io::Error::new(error.kind(), format!("codex's rollout file: {error}"));
    kept.and_then(|()| sub_agents.finish()).map_err(in_words)?;
    if let Some(rollout) = rollout {
        let content = rollout.and_then(|file| bounded::read_file(file, MAX_ROLLOUT)).map_err(in_words)?;
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

/// The rollout of the session under way.
pub(super) fn session(room: &TrialEnv) -> Option<File> {
    below::first(&room.home(), Path::new(SESSIONS), is_rollout)
}

fn is_rollout(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

pub(super) fn recorded(folder: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let trace = bounded::read_at_most(&folder.join(TRACE), MAX_TRACE)?;
    let mut files = vec![(TRACE, trace)];
    for name in [ROLLOUT, SUB_AGENTS] {
        let kept = slimmed(&folder.join(name), |line| slim::slimmed(line, skills))?;
        if !kept.is_empty() {
            files.push((name, kept));
        }
    }
    Ok(files)
}

pub(super) fn decode(reference: &Reference, folder: &Path) -> io::Result<Trace> {
    let mut trace = TraceBuilder::new(Mechanism::ReadSkillFile);
    let mut skills = SkillCalls::new(reference);
    let mut rollout = rollout::RolloutDecoder::new(&mut skills);
    lines::for_each(&folder.join(ROLLOUT), |line| match line {
        lines::TraceLine::Whole(line) => rollout.line(&mut trace, line),
        lines::TraceLine::Overlong => trace.damaged_lines += 1,
    })?;
    let told = rollout.finish(&mut trace);
    let mut sub_agents = rollout::RolloutDecoder::of_sub_agents(&mut skills);
    lines::for_each(&folder.join(SUB_AGENTS), |line| match line {
        lines::TraceLine::Whole(line) => sub_agents.line(&mut trace, line),
        lines::TraceLine::Overlong => trace.damaged_lines += 1,
    })?;
    let by_sub_agents = sub_agents.finish(&mut trace);
    let mut events = events::EventDecoder::new(&mut skills, told);
    lines::for_each(&folder.join(TRACE), |line| match line {
        lines::TraceLine::Whole(line) => events.line(&mut trace, line),
        lines::TraceLine::Overlong => trace.damaged_lines += 1,
    })?;
    events.finish(&mut trace, &by_sub_agents);
    skills.finish(&mut trace);
    Ok(trace.finish())
}
