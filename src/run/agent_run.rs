//! One agent asked one thing in one room: a trial does that, and so does the rubric judge.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::mcp_probe::ServerCommand;
use crate::agent::{self, Assignment, WorkOwner};
use crate::files::at::At;
use crate::process::{self, Job, OutputListener, Reply};
use crate::run::changes::made_during;
use crate::run::live::Redactors;
use crate::run::silence::SilenceTimer;
use crate::settings::Isolation;
use crate::settings::mode::AgentKind;
use crate::store::{StoreError, TrialFolder};
use crate::text::redact::Redactor;
use crate::trace::Trace;
use crate::trace::change::ChangeMeta;
use crate::trace::exposure::{Reference, SkillTexts};
use crate::trial::evidence::{Ending, ServerMeta};
use crate::trial::outcome::{Trouble, TroubleKind};

/// How a disk says that nothing more can be stored on it.
const NO_ROOM: [io::ErrorKind; 3] =
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::ReadOnlyFilesystem];

/// What an agent's run left, besides the files in its folder.
#[derive(Debug)]
pub struct AgentRun {
    /// How the agent's process ended.
    pub ending: Ending,
    /// What was asked for and not enforced, as text.
    pub not_enforced: Vec<String>,
    /// What kept the agent to its own folders; `None` where it was not started.
    pub isolation: Option<Isolation>,
    /// The MCP server of skills, where the mode has one and it works.
    pub server: Option<ServerMeta>,
    /// What became of the changes to the skills that the case asks for.
    pub changes: Vec<ChangeMeta>,
    /// Masks the secrets of this run in everything else that is kept.
    pub redactor: Arc<Redactor>,
    /// The event stream in normal form.
    pub trace: Trace,
    /// The final message; `None` where there was none.
    pub final_text: Option<String>,
}

/// Runs the agent until it ends or `timeout` is over, and keeps its evidence in `folder`. The ending says whether it
/// started and how it failed.
///
/// `texts` are those of the skills that it is given; `on_progress` gets short descriptions of what the agent is doing.
pub fn run(
    assignment: &Assignment<'_>,
    timeout: Duration,
    folder: &TrialFolder,
    redactors: &Redactors,
    texts: SkillTexts,
    on_progress: &dyn Fn(String),
) -> Result<AgentRun, Trouble> {
    let (agent, room) = (assignment.mode.agent, assignment.room);
    let mut redactor = redactors.masking(Vec::new());
    let (mut not_enforced, mut isolation) = (Vec::new(), None);
    let (mut server, mut changes) = (None, Vec::new());
    let ending = match agent::command(assignment) {
        Err(trouble) => Ending { trouble: Some(trouble), ..Ending::default() },
        Ok(command) => {
            room.begin();
            redactor = redactors.masking(command.secrets.clone());
            not_enforced.clone_from(&command.not_enforced);
            isolation = Some(command.isolation());
            let probe = |server: &ServerCommand| {
                server.probe(room, &command.env, command.sandbox.as_ref(), &redactor, &assignment.case.skill)
            };
            match assignment.server.map(probe).transpose() {
                Err(trouble) => Ending { trouble: Some(trouble), ..Ending::default() },
                Ok(found) => {
                    server = found;
                    let job = Job {
                        namespace: command.sandbox.is_some(),
                        program: command.program,
                        args: command.args,
                        env: command.env,
                        folder: room.workspace(),
                        timeout,
                        stdout: folder.trace(),
                        by_file: command.by_file,
                        input: command.input,
                        stderr: folder.stderr(),
                        redactor: &redactor,
                    };
                    let mut listener = TraceListener {
                        agent,
                        on_progress,
                        redactor: &redactor,
                        dialogue: command.dialogue,
                        silence: SilenceTimer::new(timeout),
                    };
                    let (ran, made) = made_during(assignment, || process::run(&job, &mut listener));
                    changes = made;
                    let mut ending = ran.at(folder.path()).map_err(|error| disk(&error))?;
                    listener.silence.add_to(&mut ending);
                    ending.trouble = agent::trouble_at_start(&ending, command.sandbox.as_ref(), assignment);
                    ending
                }
            }
        }
    };
    let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
    agent::of(agent).keep_evidence(room, folder.path(), &mask).at(folder.path()).map_err(|error| disk(&error))?;
    let names = assignment.server.map(|server| server.names.clone()).unwrap_or_default();
    let reference = Reference { names, texts, changes: changes.clone() };
    let trace = agent::of(agent).decode(&reference, folder.path()).map_err(|error| files(&error))?;
    trace.changes_seen.iter().for_each(|(number, seen)| changes[*number].seen = Some(*seen));
    let final_text = keep_final(folder, &trace).map_err(|error| disk(&error))?;
    Ok(AgentRun { ending, not_enforced, isolation, server, changes, redactor, trace, final_text })
}

/// The final message of a trial: the one that its agent wrote to a file, or else the last of its trace, which is kept as
/// that file.
pub(super) fn keep_final(folder: &TrialFolder, trace: &Trace) -> Result<Option<String>, StoreError> {
    match (folder.final_text()?, &trace.final_message) {
        (None, Some(text)) => folder.write_final(text).map(|()| Some(text.clone())),
        (kept, _) => Ok(kept),
    }
}

/// A file of ours could not be read or written.
pub fn files(error: &dyn Display) -> Trouble {
    Trouble::new(TroubleKind::Files, error.to_string())
}

/// A file of ours could not be read or written: a disk without room keeps every further trial from it.
pub fn disk(error: &(dyn Error + 'static)) -> Trouble {
    let (whole, mut cause) = (error, Some(error));
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| NO_ROOM.contains(&error.kind())) {
            return unstored(&whole);
        }
        cause = error.source();
    }
    files(&whole)
}

/// What a trial left could not be stored.
pub fn unstored(error: &dyn Display) -> Trouble {
    Trouble::new(TroubleKind::NotStored, error.to_string())
}

/// Reports what the agent does, and passes its lines to the dialogue where the agent expects answers. The evidence is
/// read from the file afterwards.
struct TraceListener<'a> {
    agent: AgentKind,
    on_progress: &'a dyn Fn(String),
    /// Progress is shown and stored, too.
    redactor: &'a Redactor,
    dialogue: Option<Box<dyn OutputListener>>,
    silence: SilenceTimer,
}

impl OutputListener for TraceListener<'_> {
    fn opening(&mut self) -> Option<Vec<u8>> {
        self.dialogue.as_mut()?.opening()
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let work = agent::of(self.agent).work(line);
        self.silence.broken(work);
        if let Some(words) = agent::of(self.agent).describe(&self.redactor.mask(line)) {
            (self.on_progress)(words);
        }
        let mut reply = self.dialogue.as_mut().map_or_else(Reply::default, |dialogue| dialogue.line(line));
        reply.over |= work == WorkOwner::End;
        // Nothing more can come of it: the run waits in its place, and holds its other trials back meanwhile.
        reply.end |= matches!(work, WorkOwner::Waits(wait) if self.silence.outlasts(wait));
        reply
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        self.silence.broken(WorkOwner::Other);
        self.dialogue.as_mut().map_or_else(Reply::default, |dialogue| dialogue.long_line(start))
    }
}
