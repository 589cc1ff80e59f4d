//! What codex leaves after a run, as a trial and a recording store it, and how it becomes a trace.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::events::EventDecoder;
use super::rollout::RolloutDecoder;
use super::{LAST_MESSAGE, ROLLOUT, slim};
use crate::agent::derived_file::{DerivedFile, SUB_AGENTS, TRACE, slimmed};
use crate::agent::history::is_history;
use crate::agent::recorder::TraceRecorder;
use crate::agent::trial_env::TrialEnv;
use crate::files::bounded;
use crate::files::rooted::WalkControl;
use crate::settings::mode::AgentKind;
use crate::text::lines::for_each_line;
use crate::trace::Trace;
use crate::trace::exposure::Reference;

/// Where codex stores sessions, in its home.
pub(super) const SESSIONS: &str = ".codex/sessions";

/// The length of a session's id, which is a UUID.
const ID_LENGTH: usize = 36;

/// The largest rollout file that is stored, in bytes.
const MAX_ROLLOUT: u64 = 512 << 20;

/// The largest trace that a recording stores, in bytes.
const MAX_TRACE: u64 = 1 << 30;

pub(super) fn store(trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    // `sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`: the first is the agent's own, the others are its sub-agents'.
    let mut rollout = None;
    let mut sub_agents = DerivedFile::new(directory.join(SUB_AGENTS), mask);
    let mut stored = Ok(());
    // Without a session the directory does not exist.
    let _ = trial_env.home().join(SESSIONS).walk(|_| false, &mut |entry| {
        if is_rollout(entry.path) {
            if rollout.is_none() {
                rollout = Some(entry.open());
            } else {
                stored = entry.open().and_then(|from| sub_agents.add(from));
            }
        }
        if stored.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    let with_name = |error: io::Error| io::Error::new(error.kind(), format!("codex's rollout file: {error}"));
    stored.and_then(|()| sub_agents.finish()).map_err(with_name)?;
    if let Some(rollout) = rollout {
        let content = rollout.and_then(|file| bounded::read_file(file, MAX_ROLLOUT)).map_err(with_name)?;
        let lines = content.split_inclusive(|byte| *byte == b'\n').filter(|line| !is_history(line));
        fs::write(directory.join(ROLLOUT), mask(&lines.collect::<Vec<_>>().concat()))?;
    }
    match trial_env.tmp().join(LAST_MESSAGE).read(bounded::MAX_FILE) {
        // codex creates the file when it starts and leaves it empty when it fails.
        Ok(content) if !content.is_empty() => fs::write(directory.join("final.txt"), mask(&content)),
        Ok(_) => Ok(()),
        // An agent may remove its directory for temporary files, or put something else there.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        Err(error) => Err(io::Error::new(error.kind(), format!("the final message, {LAST_MESSAGE}: {error}"))),
    }
}

/// The rollout of the running session.
pub(super) fn session(trial_env: &TrialEnv) -> Option<File> {
    trial_env.home().join(SESSIONS).first(is_rollout)
}

/// The id of the running session: the last part of its rollout's name, `rollout-<time>-<id>.jsonl`.
pub(super) fn session_id(trial_env: &TrialEnv) -> Option<String> {
    let mut id = None;
    trial_env
        .home()
        .join(SESSIONS)
        .walk(|_| false, &mut |entry| {
            let name = entry.path.file_stem().filter(|_| is_rollout(entry.path)).map(|name| name.to_string_lossy());
            id = name.and_then(|name| Some(name.get(name.len().checked_sub(ID_LENGTH)?..)?.to_owned()));
            if id.is_some() { WalkControl::Stop } else { WalkControl::On }
        })
        .ok()?;
    id
}

fn is_rollout(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
}

pub(super) fn recorded(directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = vec![(TRACE, bounded::read_at_most(&directory.join(TRACE), MAX_TRACE)?)];
    for name in [ROLLOUT, SUB_AGENTS] {
        let content = slimmed(&directory.join(name), |line| slim::slimmed(line, skills))?;
        if !content.is_empty() {
            files.push((name, content));
        }
    }
    Ok(files)
}

pub(super) fn decode(reference: &Reference, directory: &Path) -> io::Result<Trace> {
    let mut recorder = TraceRecorder::new(reference, AgentKind::Codex);
    let mut rollout = RolloutDecoder::new(&mut recorder, false);
    for_each_line(&directory.join(ROLLOUT), |line| rollout.line(line))?;
    let facts = rollout.finish();
    let mut sub_agents = RolloutDecoder::new(&mut recorder, true);
    for_each_line(&directory.join(SUB_AGENTS), |line| sub_agents.line(line))?;
    let sub_agents = sub_agents.finish();
    let mut events = EventDecoder::new(&mut recorder, facts);
    for_each_line(&directory.join(TRACE), |line| events.line(line))?;
    events.finish(&sub_agents);
    Ok(recorder.finish())
}
