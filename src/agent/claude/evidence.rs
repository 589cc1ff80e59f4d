//! What claude leaves of a run, as a trial and a recording keep it, and how it reads.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::{SESSION, TRACE, events, session, slim};
use crate::agent::room::Room;
use crate::agent::skill_calls::{Reading, SkillCalls};
use crate::files::below::{self, Walk};
use crate::text::lines::{self, Line};
use crate::trial::exposure::Reference;
use crate::trial::trace::Trace;

pub(super) fn keep(room: &Room, folder: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    // One run, one session: `projects/<the working folder>/<id>.jsonl`; what lies deeper is of sub-agents.
    let mut session = None;
    let walked = below::walk(&room.home(), Path::new(".claude/projects"), |_| false, &mut |entry| {
        let is_session = entry.path.iter().count() == 2 && entry.path.extension() == Some("jsonl".as_ref());
        if is_session {
            session = Some(entry.open());
            return Walk::Stop;
        }
        Walk::On
    });
    // Without a session there is no folder.
    let (Ok(_), Some(session)) = (walked, session) else { return Ok(()) };
    let mut kept = io::BufWriter::new(fs::File::create(folder.join(SESSION))?);
    let mut result = Ok(());
    lines::for_each_of(session?, &mut |line| {
        if let (Ok(()), Line::Whole(line)) = (&result, line) {
            let mut line = mask(line);
            line.push(b'\n');
            result = kept.write_all(&line);
        }
    })?;
    result.and_then(|()| kept.flush())
}

pub(super) fn recorded(folder: &Path) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let slimmed = |name: &'static str, slim: fn(&[u8]) -> Option<Vec<u8>>| {
        let mut kept = Vec::new();
        lines::for_each(&folder.join(name), |line| {
            if let Line::Whole(line) = line {
                kept.extend(slim(line).into_iter().flatten());
            }
        })?;
        Ok::<_, io::Error>((name, kept))
    };
    let mut files = vec![slimmed(TRACE, slim::line)?, slimmed(SESSION, session::slimmed)?];
    files.retain(|(name, kept)| *name == TRACE || !kept.is_empty());
    Ok(files)
}

pub(super) fn decode(reference: &Reference, folder: &Path) -> io::Result<Trace> {
    let mut trace = Trace::default();
    let mut skills = SkillCalls::new(reference, Reading::Looks);
    let mut session = session::Reader::new(&mut skills);
    lines::for_each(&folder.join(SESSION), |line| {
        if let Line::Whole(line) = line {
            session.line(&mut trace, line);
        }
    })?;
    let times = session.times();
    let mut events = events::Reader::new(&mut skills, times);
    lines::for_each(&folder.join(TRACE), |line| match line {
        Line::Whole(line) => events.line(&mut trace, line),
        Line::Overlong => trace.damaged_lines += 1,
    })?;
    events.finish(&mut trace);
    skills.finish(&mut trace);
    Ok(trace)
}
