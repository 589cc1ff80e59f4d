//! What claude leaves of a run, as a trial and a recording keep it, and how it reads.

use std::fs::File;
use std::io;
use std::path::Path;

use super::forks::Forks;
use super::{SESSION, TRACE, events, session, slim};
use crate::agent::derived_file::{DerivedFile, SUB_AGENTS, slimmed};
use crate::agent::skill_calls::SkillCalls;
use crate::agent::trial_env::TrialEnv;
use crate::files::below::{self, WalkControl};
use crate::text::lines::{self, TraceLine};
use crate::trace::exposure::Reference;
use crate::trace::{Mechanism, Trace, TraceBuilder};

/// Where claude keeps sessions, in its home.
const SESSIONS: &str = ".claude/projects";

pub(super) fn keep(room: &TrialEnv, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let mut session = DerivedFile::new(folder.join(SESSION), mask);
    let mut sub_agents = DerivedFile::new(folder.join(SUB_AGENTS), mask);
    let mut kept = Ok(());
    // Without a session there is no folder.
    let _ = below::walk(&room.home(), Path::new(SESSIONS), |_| false, &mut |entry| {
        // One run, one session: `projects/<the working folder>/<id>.jsonl`, and below `<id>/` those of sub-agents, each in
        // a file of its own however deep it stands below another: `subagents/agent-<id>.jsonl`.
        let file = match entry.path {
            path if is_session(path) && !session.is_begun() => &mut session,
            path if is_sub_agents(path) => &mut sub_agents,
            _ => return WalkControl::On,
        };
        kept = entry.open().and_then(|from| file.add(from));
        if kept.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    kept.and_then(|()| session.finish()).and_then(|()| sub_agents.finish())
}

/// The file of the session under way.
pub(super) fn session(room: &TrialEnv) -> Option<File> {
    below::first(&room.home(), Path::new(SESSIONS), is_session)
}

fn is_session(path: &Path) -> bool {
    path.iter().count() == 2 && path.extension() == Some("jsonl".as_ref())
}

fn is_sub_agents(path: &Path) -> bool {
    let name = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("agent-"));
    let is_lines = path.extension() == Some("jsonl".as_ref());
    name && is_lines && path.iter().count() > 2 && path.iter().any(|folder| folder == "subagents")
}

pub(super) fn recorded(folder: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let mut files = vec![
        (TRACE, slimmed(&folder.join(TRACE), slim::line)?),
        (SESSION, slimmed(&folder.join(SESSION), |line| session::slimmed(line, skills))?),
        (SUB_AGENTS, slimmed(&folder.join(SUB_AGENTS), slim::sub_agents_line)?),
    ];
    files.retain(|(name, kept)| *name == TRACE || !kept.is_empty());
    Ok(files)
}

pub(super) fn decode(reference: &Reference, folder: &Path) -> io::Result<Trace> {
    let mut trace = TraceBuilder::new(Mechanism::SkillTool);
    let mut skills = SkillCalls::new(reference);
    let mut session = session::SessionDecoder::new(&mut skills);
    lines::for_each(&folder.join(SESSION), |line| {
        if let TraceLine::Whole(line) = line {
            session.line(&mut trace, line);
        }
    })?;
    let told = session.told();
    let mut forks = Forks::default();
    lines::for_each(&folder.join(SUB_AGENTS), |line| {
        if let TraceLine::Whole(line) = line {
            forks.line(line);
        }
    })?;
    let mut events = events::StreamDecoder::new(&mut skills, told, forks);
    lines::for_each(&folder.join(TRACE), |line| match line {
        TraceLine::Whole(line) => events.line(&mut trace, line),
        TraceLine::Overlong => trace.damaged_lines += 1,
    })?;
    lines::for_each(&folder.join(SUB_AGENTS), |line| match line {
        TraceLine::Whole(line) => events.sub_agents_line(&mut trace, line),
        TraceLine::Overlong => trace.damaged_lines += 1,
    })?;
    events.finish(&mut trace);
    skills.finish(&mut trace);
    Ok(trace.finish())
}
