//! Runs an agent on one assignment in a trial environment: for a trial, and for the rubric judge.

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{mem, thread};

use tokio::sync::Notify;

use crate::agent::interface::TurnCounter;
use crate::agent::{self, AgentCommand, Assignment, Place, WorkOwner};
use crate::files::at::At;
use crate::mcp;
use crate::process::{self, CpuWait, Job, OutputListener, Reply};
use crate::run::live::Redactors;
use crate::run::settled::{EvidenceSoFar, OutputSoFar, WatchedTrial};
use crate::run::user_messages::{Play, UserMessages};
use crate::settings::Isolation;
use crate::settings::mode::{AgentKind, Delivery};
use crate::store::{StoreError, TrialFolder};
use crate::text::redact::{Redactor, secrets_within_all};
use crate::trace::Trace;
use crate::trace::exposure::{Reference, SkillTexts};
use crate::trace::file::ChangeMeta;
use crate::trial::evidence::{Doubts, Ending, ServerMeta};
use crate::trial::input_file::UserMeta;
use crate::trial::network::NetworkMeta;
use crate::trial::outcome::{Trouble, TroubleKind};

/// Errors of a disk that can store nothing more.
const DISK_FULL: [io::ErrorKind; 3] =
    [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::ReadOnlyFilesystem];

/// What an agent's run left, besides the files in its directory.
#[derive(Debug)]
pub struct AgentRun {
    pub ending: Ending,
    /// What was asked for and not enforced, as text.
    pub not_enforced: Vec<String>,
    /// `None` if the agent was not started.
    pub isolation: Option<Isolation>,
    /// What passed, if its network was limited.
    pub network: Option<NetworkMeta>,
    /// What the agent's own evidence lacks of that.
    pub doubts: Doubts,
    /// The MCP server of skills, if the mode has one and it works.
    pub server: Option<ServerMeta>,
    pub changes: Vec<ChangeMeta>,
    /// Masks the secrets of this run in everything else that is stored.
    pub redactor: Arc<Redactor>,
    pub trace: Trace,
    pub final_text: Option<String>,
    /// The messages of the user after the prompt.
    pub follow_ups: Vec<String>,
    /// The user who answered, if the case has one.
    pub user: Option<UserMeta>,
}

pub struct AgentJob<'a> {
    pub assignment: &'a Assignment<'a>,
    pub timeout: Duration,
    /// Where its evidence is stored.
    pub folder: &'a TrialFolder,
    /// Asks the player of the case's user.
    pub play: &'a Play<'a>,
    pub redactors: &'a Redactors,
    /// The texts of its skills, and the name of the skill under test in its list if it gets the skill with its plugin.
    pub texts: (SkillTexts, Option<&'a str>),
    /// When it is ended early; `None` for never.
    pub is_settled: Option<&'a SettledRule<'a>>,
    /// Gets short descriptions of what it is doing.
    pub on_progress: &'a dyn Fn(String),
    /// Called when the model begins an answer.
    pub on_answer: &'a dyn Fn(),
}

/// Whether nothing that follows can change the verdict of a trial with this MCP server of skills and this trace.
pub type SettledRule<'a> = dyn Fn(Option<&ServerMeta>, &Trace) -> bool + Sync + 'a;

/// Runs the agent until it ends, its timeout is over or its trial is settled, and stores its evidence. The ending says whether
/// it started and how it failed. Fails if the evidence cannot be stored or read.
pub fn run(job: &AgentJob<'_>) -> Result<AgentRun, Trouble> {
    let AgentJob { assignment, folder, redactors, .. } = *job;
    let names = assignment.server.map(|server| server.names.clone()).unwrap_or_default();
    let mut reference = Reference {
        names,
        served: Vec::new(),
        texts: job.texts.0.clone(),
        changes: Vec::new(),
        follow_ups: assignment.case.follow_ups.len(),
        in_plugin: job.texts.1.map(|name| (name.to_owned(), assignment.case.skill.clone())),
    };
    let mut run = AgentRun {
        ending: Ending::default(),
        not_enforced: Vec::new(),
        isolation: None,
        network: None,
        doubts: Doubts::new(),
        server: None,
        changes: Vec::new(),
        redactor: redactors.masking(Vec::new()),
        trace: Trace::default(),
        final_text: None,
        follow_ups: assignment.case.follow_ups.clone(),
        user: None,
    };
    run.ending = run.execute(job, &reference)?;
    let agent = agent::of(assignment.mode.agent);
    let mask_text = |text: &str| String::from_utf8_lossy(&run.redactor.mask(text.as_bytes())).into_owned();
    let profile = assignment.mode.agent.profile();
    // Of skills that change during the session, the wire alone does not tell the versions apart.
    let texts = if run.changes.is_empty() { reference.texts.clone() } else { SkillTexts::default() };
    let finished = assignment.trial_env.finish_network(&folder.wire(), &mask_text, profile, &texts)?;
    let (network, witness) = finished.unzip();
    run.network = network;
    let mask = |bytes: &[u8]| run.redactor.mask(bytes).into_owned();
    agent.keep_evidence(assignment.trial_env, folder.path(), &mask).at(folder.path()).map_err(|error| disk(&error))?;
    reference.changes.clone_from(&run.changes);
    reference.served = run.server.as_ref().map(|server| server.tools.clone()).unwrap_or_default();
    reference.follow_ups = run.follow_ups.len();
    run.trace = agent.decode(&reference, folder.path()).map_err(|error| files(&error))?;
    run.note_unanswered();
    run.doubts = witness.iter().flat_map(|witness| witness.gaps(&run.trace, profile)).collect();
    for (number, visibility) in &run.trace.changes_seen {
        run.changes[*number].seen = Some(*visibility);
    }
    run.final_text = store_final_text(folder, &run.trace).map_err(|error| disk(&error))?;
    Ok(run)
}

impl AgentRun {
    /// Notes the trouble that the agent ended well before it had answered every message.
    fn note_unanswered(&mut self) {
        let Self { ending, trace, follow_ups, .. } = self;
        let messages = 1 + follow_ups.len() as u64;
        let ended_well = ending.exit_code == Some(0) && ending.trouble.is_none() && trace.trouble.is_none();
        if messages > 1 && ended_well && trace.stopped.is_none() && trace.messages_answered < messages {
            let answered = trace.messages_answered;
            let why = format!("it ended after it had answered {answered} of {messages} messages");
            ending.trouble = Some(Trouble::new(TroubleKind::Crashed, why));
        }
    }

    /// Starts the agent and waits for its end.
    fn execute(&mut self, job: &AgentJob<'_>, reference: &Reference) -> Result<Ending, Trouble> {
        let AgentJob { assignment, timeout, folder, redactors, is_settled, on_progress, on_answer, .. } = *job;
        let trial_env = assignment.trial_env;
        let (mut command, place) = match agent::command(assignment) {
            Ok(placed) => placed,
            Err(trouble) => return Ok(not_started(trouble)),
        };
        let of_setup = secrets_within_all(&assignment.case.setup);
        self.redactor = redactors.masking([command.secrets.clone(), of_setup].concat());
        self.not_enforced.clone_from(&command.not_enforced);
        self.isolation = Some(place.isolation());
        if let Some(server) = assignment.server {
            match server.probe(trial_env, &command.env, &place, &self.redactor, &assignment.case.skill) {
                Ok(server) => self.server = Some(server),
                Err(trouble) => return Ok(not_started(trouble)),
            }
        }
        let (notify, cpu_wait) = (Notify::new(), Arc::new(CpuWait::default()));
        let (so_far, output) = evidence_so_far(job)?.unzip();
        let redactor = Arc::clone(&self.redactor);
        let messages = UserMessages::new(assignment, job.play, so_far.as_ref(), &redactor, reference);
        let mut job = Job {
            start: place.start(&command.program, command.args.clone()),
            env: command.env.clone(),
            folder: trial_env.start_directory(),
            timeout,
            cpu_wait: Some(&cpu_wait),
            stdout: folder.trace(),
            appends: false,
            by_file: command.by_file.clone(),
            input: command.input.take(),
            stderr: folder.stderr(),
            redactor: &redactor,
            works_on: command.works_on,
            settled: is_settled.is_some().then_some(&notify),
        };
        let mut listener = TraceListener {
            agent: assignment.mode.agent,
            on_progress,
            on_answer,
            redactor: &redactor,
            dialogue: command.dialogue.take(),
            silence: SilenceTimer::new(timeout, Arc::clone(&cpu_wait)),
            output,
            messages,
        };
        let mut run = || made_during(assignment, || run_all(&mut job, &mut listener, assignment, &command, &place));
        let (ending, changes) = match is_settled.zip(so_far.as_ref()) {
            Some((is_settled, so_far)) => {
                let is_settled = |trace: &Trace| is_settled(self.server.as_ref(), trace);
                let is_settled = &is_settled;
                WatchedTrial { assignment, so_far, redactor: &redactor, reference, is_settled }.watched(&notify, run)
            }
            None => run(),
        };
        self.changes = changes;
        let mut ending = ending.at(folder.path()).map_err(|error| disk(&error))?;
        listener.silence.add_to(&mut ending);
        ending.trouble = agent::trouble_at_start(&ending, place.sandbox(), assignment);
        self.note_user(listener.messages, &mut ending);
        Ok(ending)
    }

    /// Notes what the user said, and why it could not be played: what the agent did after that is not its fault.
    fn note_user(&mut self, messages: UserMessages<'_>, ending: &mut Ending) {
        let UserMessages { sent, user, trouble, .. } = messages;
        let of_case = self.follow_ups.len();
        self.follow_ups.extend(sent.into_iter().skip(of_case));
        self.user = user;
        ending.trouble = trouble.or(ending.trouble.take());
    }
}

/// A copy of what the agent will leave, if somebody reads it meanwhile.
fn evidence_so_far(job: &AgentJob<'_>) -> Result<Option<(EvidenceSoFar, OutputSoFar)>, Trouble> {
    let is_read = job.is_settled.is_some() || job.assignment.case.user.is_some();
    let so_far = is_read.then(|| EvidenceSoFar::new(job.folder)).transpose();
    so_far.at(job.folder.path()).map_err(|error| disk(&error))
}

/// Runs the agent, and again for each further message of the case, unless it has a dialogue for them: with other arguments than
/// its `command`'s, in the same place. All of them together have the job's timeout.
fn run_all(
    job: &mut Job<'_>,
    listener: &mut TraceListener<'_>,
    assignment: &Assignment<'_>,
    command: &AgentCommand,
    place: &Place,
) -> io::Result<Ending> {
    let Assignment { mode, .. } = *assignment;
    let timeout = job.timeout;
    let mut ending = process::run(job, listener)?;
    if listener.dialogue.is_some() {
        return Ok(ending);
    }
    while ending.exit_code == Some(0) && !ending.timed_out && !ending.settled && ending.trouble.is_none() {
        let Some(message) = listener.messages.next() else { break };
        let Some(next) = agent::of(mode.agent).resumed(assignment, &command.args, &message) else {
            let why = "the session cannot be resumed for the next message";
            ending.trouble = Some(Trouble::new(TroubleKind::CouldNotStart, why));
            break;
        };
        let before = ending.clone();
        job.timeout = timeout.saturating_sub(Duration::from_millis(before.counted_ms()));
        (job.start, job.appends, job.input) = (place.start(&command.program, next.args), true, next.input);
        ending = process::run(job, listener)?;
        ending.duration_ms += before.duration_ms;
        ending.cpu_wait_ms = ending.cpu_wait_ms.zip(before.cpu_wait_ms).map(|(wait, before)| wait + before);
    }
    Ok(ending)
}

pub(super) fn not_started(trouble: Trouble) -> Ending {
    Ending { trouble: Some(trouble), ..Ending::default() }
}

/// The final message of a trial: the one that its agent wrote to a file, or else the last one of its trace, which is
/// then stored as that file.
pub(super) fn store_final_text(folder: &TrialFolder, trace: &Trace) -> Result<Option<String>, StoreError> {
    match (folder.final_text()?, &trace.final_message) {
        (None, Some(text)) => folder.write_final(text).map(|()| Some(text.clone())),
        (stored, _) => Ok(stored),
    }
}

/// The trouble that a file of ours could not be read or written.
pub fn files(error: &dyn Display) -> Trouble {
    Trouble::new(TroubleKind::Files, error.to_string())
}

/// As [`files`], but a full disk stops every further trial.
pub fn disk(error: &(dyn Error + 'static)) -> Trouble {
    let (whole, mut cause) = (error, Some(error));
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| DISK_FULL.contains(&error.kind())) {
            return unstored(&whole);
        }
        cause = error.source();
    }
    files(&whole)
}

/// The trouble that what a trial left could not be stored.
pub fn unstored(error: &dyn Display) -> Trouble {
    Trouble::new(TroubleKind::NotStored, error.to_string())
}

/// Reports what the agent does, and passes its lines to the dialogue if the agent expects answers. The evidence is read
/// from the file afterwards.
struct TraceListener<'a> {
    agent: AgentKind,
    on_progress: &'a dyn Fn(String),
    on_answer: &'a dyn Fn(),
    /// Progress is shown and stored, too.
    redactor: &'a Redactor,
    dialogue: Option<Box<dyn OutputListener>>,
    silence: SilenceTimer,
    /// A copy of the output, for a trial that may end early.
    output: Option<OutputSoFar>,
    messages: UserMessages<'a>,
}

impl TraceListener<'_> {
    /// What follows after the agent's line: if that ended an answer, the user's next message or the end of the input.
    fn go_on(&mut self, line: impl FnOnce(&mut dyn OutputListener) -> Reply) -> Reply {
        let Some(dialogue) = &mut self.dialogue else { return Reply::default() };
        let mut reply = line(dialogue.as_mut());
        if reply.answered {
            let asked = Instant::now();
            match self.messages.next() {
                Some(message) => reply.write.extend(dialogue.message(&message)),
                None => reply.close = true,
            }
            reply.waited = asked.elapsed();
            self.silence.waited(reply.waited);
        }
        reply
    }
}

impl OutputListener for TraceListener<'_> {
    fn opening(&mut self) -> Option<Vec<u8>> {
        self.dialogue.as_mut()?.opening()
    }

    fn patience(&self) -> Option<Duration> {
        self.dialogue.as_ref()?.patience()
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let agent = agent::of(self.agent);
        let work = agent.work(line);
        self.silence.broken(work);
        if work == WorkOwner::Model {
            (self.on_answer)();
        }
        let masked = self.redactor.mask(line);
        if let Some(description) = agent.describe(&masked) {
            (self.on_progress)(description);
        }
        if let Some(output) = &mut self.output {
            output.add(&masked);
        }
        let mut reply = self.go_on(|dialogue| dialogue.line(line));
        // With a dialogue, more messages may follow.
        reply.over |= work == WorkOwner::End && (self.dialogue.is_none() || reply.close);
        // The agent would wait until its timeout. Ended now, it lets the run wait instead, and hold back other trials.
        reply.end |= match work {
            WorkOwner::Waits(wait) => self.silence.outlasts(wait),
            WorkOwner::Unreachable(wait) => self.silence.outlasts(wait) || self.silence.reaches_nobody(wait),
            WorkOwner::Model | WorkOwner::End | WorkOwner::Other => false,
        };
        reply
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        self.silence.broken(WorkOwner::Other);
        if let Some(output) = &mut self.output {
            output.add(b"a line that is too long to be read");
        }
        self.go_on(|dialogue| dialogue.long_line(start))
    }
}

// How long an agent wrote nothing: shows what it was doing when its time was up.

/// How long an agent may try to reach a provider that does not answer in any way, before the model's first answer. Long enough for a
/// network that comes back at once.
const UNREACHABLE: Duration = Duration::from_secs(8);

/// Measures the silences of an agent.
struct SilenceTimer {
    started: Instant,
    timeout: Duration,
    /// Does not count against the timeout.
    cpu_wait: Arc<CpuWait>,
    last: Option<Instant>,
    /// The longest silence before an answer of the model. A silence of a tool says nothing about the model.
    longest: Duration,
    /// Whether the model has answered, and when the agent first met nobody before that.
    answered: bool,
    unreachable: Option<Instant>,
}

impl SilenceTimer {
    pub(super) fn new(timeout: Duration, cpu_wait: Arc<CpuWait>) -> Self {
        Self {
            started: Instant::now(),
            timeout,
            cpu_wait,
            last: None,
            longest: Duration::ZERO,
            answered: false,
            unreachable: None,
        }
    }

    pub(super) fn broken(&mut self, by: WorkOwner) {
        self.broken_at(Instant::now(), by);
    }

    fn broken_at(&mut self, now: Instant, by: WorkOwner) {
        let late = now - self.started > self.limit();
        match by {
            WorkOwner::Model => self.answered = true,
            WorkOwner::Unreachable(_) => {
                self.unreachable.get_or_insert(now);
            }
            _ => {}
        }
        match by {
            // What the agent writes while it is being ended is not work, and neither is its last word.
            WorkOwner::Other | WorkOwner::Waits(_) | WorkOwner::Unreachable(_) | WorkOwner::End if late => return,
            // The time before the first line is the start of the program.
            WorkOwner::Model | WorkOwner::End if !late => {
                let silent = self.last.map_or(Duration::ZERO, |last| now - last);
                self.longest = self.longest.max(silent);
            }
            _ => {}
        }
        self.last = Some(now);
    }

    /// Leaves out a time in which the agent waited for its user.
    pub(super) fn waited(&mut self, time: Duration) {
        self.started += time;
        self.last = self.last.map(|last| last + time);
    }

    /// Whether a wait that begins now lasts until the agent's timeout.
    fn outlasts(&self, wait: Duration) -> bool {
        self.started.elapsed() + wait >= self.limit()
    }

    /// Whether an agent that has met nobody, and now waits for `wait`, is not to try for longer.
    fn reaches_nobody(&self, wait: Duration) -> bool {
        let since = self.unreachable.filter(|_| !self.answered);
        since.is_some_and(|since| since.elapsed() + wait >= UNREACHABLE)
    }

    /// The wall time that the agent has, as far as it is known.
    fn limit(&self) -> Duration {
        self.timeout + self.cpu_wait.get()
    }

    /// Adds the silences to the ending of an agent that timed out.
    pub(super) fn add_to(&self, ending: &mut Ending) {
        if let (true, Some(last)) = (ending.timed_out, self.last) {
            let silent = self.limit().saturating_sub(last - self.started);
            let ms = |time: Duration| u64::try_from(time.as_millis()).ok();
            (ending.silent_ms, ending.longest_silence_ms) = (ms(silent), ms(self.longest));
        }
    }
}

// Changes skills while an agent works: watches the agent's session file, and makes each change of the case when its
// turn is over.

/// How often the session file is read. Agents write a line within a tenth of a second.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Longest line that is read, in bytes; a longer one holds no call that begins or ends a turn by itself.
const LONGEST_LINE: usize = 16 << 20;

/// Does `work`, in which the agent runs, and makes the changes meanwhile. Returns the changes in the case's order.
fn made_during<T>(assignment: &Assignment<'_>, work: impl FnOnce() -> T) -> (T, Vec<ChangeMeta>) {
    let during = &assignment.case.during;
    if during.is_empty() || assignment.mode.delivery == Delivery::None {
        return (work(), Vec::new());
    }
    let mut changes: Vec<ChangeMeta> = during.iter().map(ChangeMeta::from).collect();
    let done = AtomicBool::new(false);
    let (began, started) = (SystemTime::now(), Instant::now());
    let result = thread::scope(|scope| {
        let watched = thread::Builder::new().spawn_scoped(scope, || watch(assignment, started, &mut changes, &done));
        let _guard = DoneGuard(&done);
        // Without it no change is made, and the trial says so.
        drop(watched);
        work()
    });
    let requests = assignment.trial_env.request_log();
    for change in &mut changes {
        let Some(made) = change.made_ms.map(|ms| began + Duration::from_millis(ms)) else { continue };
        change.made = jiff::Timestamp::try_from(made).ok().map(|made| made.to_string());
        change.asked = requests.as_ref().and_then(|requests| mcp::lists_requested_since(requests, made));
    }
    (result, changes)
}

/// Sets the flag when the work ends, even by a panic.
struct DoneGuard<'a>(&'a AtomicBool);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn watch(assignment: &Assignment<'_>, started: Instant, changes: &mut [ChangeMeta], done: &AtomicBool) {
    let agent = agent::of(assignment.mode.agent);
    let mut turns = TurnCounter::default();
    let mut session = None;
    let mut made_after_turn = vec![0; changes.len()];
    loop {
        // Loaded first: what is read afterwards is then complete.
        let is_done = done.load(Ordering::Acquire);
        session = session.or_else(|| agent.session(assignment.trial_env).map(GrowingFile::new));
        for line in session.iter_mut().flat_map(GrowingFile::new_lines) {
            agent.signs(&line).into_iter().for_each(|sign| turns.note(sign));
        }
        for (change, made_after_turn) in changes.iter_mut().zip(&mut made_after_turn) {
            if change.made_ms.is_some() {
                change.turns_after = Some(turns.ended() - *made_after_turn);
            }
        }
        if is_done {
            return;
        }
        for (number, change) in changes.iter_mut().enumerate() {
            let is_open = change.made_ms.is_none() && change.kept_from.is_none();
            if is_open && turns.ended() >= change.after_turn {
                made_after_turn[number] = turns.ended();
                match assignment.trial_env.make_change(number) {
                    Ok(()) => change.made_ms = u64::try_from(started.elapsed().as_millis()).ok(),
                    Err(why) => change.kept_from = Some(why),
                }
            }
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// A file to which lines are added.
struct GrowingFile {
    file: File,
    /// The start of the line that is being written.
    partial: Vec<u8>,
    /// Whether that line is longer than [`LONGEST_LINE`].
    too_long: bool,
}

impl GrowingFile {
    fn new(file: File) -> Self {
        Self { file, partial: Vec::new(), too_long: false }
    }

    /// The lines since the last call. What cannot be read now may be readable in the next call.
    fn new_lines(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = self.file.read(&mut buffer) {
            for part in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
                self.too_long |= self.partial.len() + part.len() > LONGEST_LINE;
                if !self.too_long {
                    self.partial.extend_from_slice(part);
                }
                if part.ends_with(b"\n") {
                    let line = mem::take(&mut self.partial);
                    if !mem::take(&mut self.too_long) {
                        lines.push(line);
                    }
                }
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last and the longest silence, in seconds, of an agent with a timeout of 30 s and lines after these numbers
    /// of seconds.
    fn ending(lines: &[(u64, WorkOwner)]) -> (Option<u64>, Option<u64>) {
        let mut silence = SilenceTimer::new(Duration::from_secs(30), Arc::default());
        for (after, by) in lines {
            silence.broken_at(silence.started + Duration::from_secs(*after), *by);
        }
        let mut ending = Ending { timed_out: true, ..Ending::default() };
        silence.add_to(&mut ending);
        (ending.silent_ms.map(|ms| ms / 1000), ending.longest_silence_ms.map(|ms| ms / 1000))
    }

    #[test]
    fn a_silence_of_a_tool_does_not_count_as_one_of_the_model() {
        use WorkOwner::{Model, Other};
        assert_eq!(ending(&[(1, Other), (3, Model), (15, Other), (16, Model)]), (Some(14), Some(2)));
    }

    #[test]
    fn an_agent_that_reaches_nobody_is_ended_soon_unless_its_model_has_answered() {
        let since = |lines: &[WorkOwner], seconds: u64, wait: u64| {
            let mut silence = SilenceTimer::new(Duration::from_secs(30), Arc::default());
            let began = Instant::now().checked_sub(Duration::from_secs(seconds)).expect("a time");
            silence.started = began;
            for by in lines {
                silence.broken_at(began, *by);
            }
            silence.reaches_nobody(Duration::from_secs(wait))
        };
        let nobody = WorkOwner::Unreachable(Duration::ZERO);
        assert_eq!([since(&[nobody], 0, 0), since(&[nobody], 8, 0), since(&[nobody], 1, 9)], [false, true, true]);
        assert_eq!([since(&[WorkOwner::Model, nobody], 20, 0), since(&[WorkOwner::Other], 20, 0)], [false, false]);
    }

    #[test]
    fn only_an_answer_of_the_model_counts_after_the_timeout() {
        use WorkOwner::{End, Model, Other};
        assert_eq!(ending(&[(1, Other), (2, Model), (31, Other)]), (Some(28), Some(1)));
        assert_eq!(ending(&[(1, Other), (2, Model), (31, End)]), (Some(28), Some(1)));
        assert_eq!(ending(&[(1, Other), (2, Model), (31, Model)]), (Some(0), Some(1)));
        assert_eq!(ending(&[]), (None, None));
    }
}
