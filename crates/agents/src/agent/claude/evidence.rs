//! What claude leaves after a run, as a trial and a recording store it, and how it becomes a trace.

use std::fs::File;
use std::io;
use std::path::Path;

use super::events::StreamDecoder;
use super::forks::Forks;
use super::session::{self, SessionDecoder};
use super::{SESSION, slim};
use crate::agent::derived_file::{DerivedFile, SUB_AGENTS, TRACE, slimmed};
use crate::agent::recorder::TraceRecorder;
use crate::agent::trial_env::TrialEnv;
use crate::files::rooted::WalkControl;
use crate::settings::mode::AgentKind;
use crate::text::lines::for_each_line;
use crate::trace::Trace;
use crate::trace::exposure::Reference;

/// Where claude stores sessions, in its home.
pub(super) const SESSIONS: &str = ".claude/projects";

pub(super) fn store(trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let mut session = DerivedFile::new(directory.join(SESSION), mask);
    let mut sub_agents = DerivedFile::new(directory.join(SUB_AGENTS), mask);
    let mut stored = Ok(());
    // Without a session the directory does not exist.
    let _ = trial_env.home().join(SESSIONS).walk(|_| false, &mut |entry| {
        // A run has one session: `projects/<working directory>/<id>.jsonl`. Its sub-agents, nested or not, have one file each:
        // `<id>/subagents/agent-<id>.jsonl`.
        let file = match entry.path {
            path if is_session(path) && !session.is_begun() => &mut session,
            path if is_sub_agent(path) => &mut sub_agents,
            _ => return WalkControl::On,
        };
        stored = entry.open().and_then(|from| file.add(from));
        if stored.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    stored.and_then(|()| session.finish()).and_then(|()| sub_agents.finish())
}

/// The file of the running session.
pub(super) fn session(trial_env: &TrialEnv) -> Option<File> {
    trial_env.home().join(SESSIONS).first(is_session)
}

fn is_session(path: &Path) -> bool {
    path.iter().count() == 2 && path.extension() == Some("jsonl".as_ref())
}

fn is_sub_agent(path: &Path) -> bool {
    path.iter().count() > 2
        && path.iter().any(|part| part == "subagents")
        && path.extension() == Some("jsonl".as_ref())
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"))
}

pub(super) fn recorded(directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = vec![
        (TRACE, slimmed(&directory.join(TRACE), slim::line)?),
        (SESSION, slimmed(&directory.join(SESSION), |line| session::slimmed(line, skills))?),
        (SUB_AGENTS, slimmed(&directory.join(SUB_AGENTS), slim::sub_agents_line)?),
    ];
    files.retain(|(name, content)| *name == TRACE || !content.is_empty());
    Ok(files)
}

pub(super) fn decode(reference: &Reference, directory: &Path) -> io::Result<Trace> {
    let mut recorder = TraceRecorder::new(reference, AgentKind::ClaudeCli);
    let mut session = SessionDecoder::new(&mut recorder);
    for_each_line(&directory.join(SESSION), |line| session.line(line))?;
    let facts = session.facts;
    let mut forks = Forks::default();
    for_each_line(&directory.join(SUB_AGENTS), |line| forks.line(line))?;
    let mut events = StreamDecoder::new(&mut recorder, facts, forks);
    for_each_line(&directory.join(TRACE), |line| events.line(line))?;
    for_each_line(&directory.join(SUB_AGENTS), |line| events.sub_agents_line(line))?;
    events.finish();
    Ok(recorder.finish())
}
