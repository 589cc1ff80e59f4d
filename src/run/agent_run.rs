//! One agent asked one thing in one room: a trial does that, and so does the rubric judge.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::mcp_probe::SkillServer;
use crate::agent::{self, Assignment, Work};
use crate::process::{self, Job, Listener, Reply};
use crate::run::changes::made_during;
use crate::run::live::Redactors;
use crate::run::silence::Silence;
use crate::settings::Isolation;
use crate::settings::mode::AgentKind;
use crate::store::TrialFolder;
use crate::text::redact::Redactor;
use crate::trial::evidence::{ChangeMeta, Ending, ServerMeta};
use crate::trial::exposure::{Reference, SkillTexts};
use crate::trial::outcome::{Trouble, TroubleKind};
use crate::trial::trace::Trace;

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
///
/// # Errors
/// When the evidence cannot be kept or read.
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
            redactor = redactors.masking(command.secrets.clone());
            not_enforced.clone_from(&command.not_enforced);
            isolation = Some(command.isolation());
            let probe = |server: &SkillServer| {
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
                        silence: Silence::new(timeout),
                    };
                    let (ran, made) = made_during(assignment, || process::run(&job, &mut listener));
                    changes = made;
                    let mut ending = ran.map_err(|error| files(&format!("{}: {error}", folder.path().display())))?;
                    listener.silence.add_to(&mut ending);
                    let words = ending.last_words.as_deref();
                    ending.trouble = ending.trouble.or_else(|| agent::failure::unknown_argument(words?));
                    ending
                }
            }
        }
    };
    let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
    agent::of(agent).keep_evidence(room, folder.path(), &mask).map_err(|error| files(&error))?;
    let names = assignment.server.map(|server| server.names.clone()).unwrap_or_default();
    let reference = Reference { names, texts, changes: changes.clone() };
    let trace = agent::of(agent).decode(&reference, folder.path()).map_err(|error| files(&error))?;
    trace.changes_seen.iter().for_each(|(number, seen)| changes[*number].seen = Some(*seen));
    let mut final_text = folder.final_text().map_err(|error| files(&error))?;
    if let (None, Some(text)) = (&final_text, &trace.final_message) {
        folder.write_final(text).map_err(|error| files(&error))?;
        final_text = Some(text.clone());
    }
    Ok(AgentRun { ending, not_enforced, isolation, server, changes, redactor, trace, final_text })
}

/// A file of ours could not be read or written.
pub fn files(error: &dyn Display) -> Trouble {
    Trouble::new(TroubleKind::Files, error.to_string())
}

/// Reports what the agent does, and passes its lines to the dialogue where the agent expects answers. The evidence is
/// read from the file afterwards.
struct TraceListener<'a> {
    agent: AgentKind,
    on_progress: &'a dyn Fn(String),
    /// Progress is shown and stored, too.
    redactor: &'a Redactor,
    dialogue: Option<Box<dyn Listener>>,
    silence: Silence,
}

impl Listener for TraceListener<'_> {
    fn opening(&mut self) -> Option<Vec<u8>> {
        self.dialogue.as_mut()?.opening()
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        self.silence.broken(agent::of(self.agent).work(line));
        if let Some(words) = agent::of(self.agent).describe(&self.redactor.mask(line)) {
            (self.on_progress)(words);
        }
        self.dialogue.as_mut().map_or_else(Reply::default, |dialogue| dialogue.line(line))
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        self.silence.broken(Work::Other);
        self.dialogue.as_mut().map_or_else(Reply::default, |dialogue| dialogue.long_line(start))
    }
}
