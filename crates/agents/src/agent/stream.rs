//! Agents that print a JSON object per line and do everything by arguments: what a line says, in terms that they share. Such an
//! agent is a [`JsonLinesAgent`], and from that an [`Agent`]: its trace, what it does at the moment, and how it ends follow.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use crate::agent::command::{AgentCommand, Assignment, NextMessage, begin, program};
use crate::agent::files::{DerivedFile, TRACE, slimmed};
use crate::agent::interface::{Agent, TurnSign, WorkOwner};
use crate::agent::login::{Login, LoginSources};
use crate::agent::recorder::{AgentEvent, CallEnding, EndedCall, TraceRecorder, texts, tool_use};
use crate::agent::trial_env::TrialEnv;
use crate::files::rooted::{RootedPath, WalkControl};
use crate::settings::mode::AgentKind;
use crate::settings::{Home, Settings};
use crate::text::lines::for_each_line;
use crate::trace::exposure::Reference;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{AgentProgress, Mechanism, Moment, OpenCall, OpenCalls, Step, Trace, Usage, WaitingFor, excerpt};

/// Reads the lines of one run.
pub(super) trait LineReader {
    /// The tools that start sub-agents, of whose requests no line tells. While such a call is open, the model is waited for.
    const HIDDEN_SUB_AGENTS: &[&str] = &[];

    /// Whether a line says each time that the model is asked. Until then, the agent works on its call, although that has ended.
    const SHOWS_REQUESTS: bool = false;

    /// Notes what a line of the session file says, before all lines of the output.
    fn session(&mut self, _line: &Value) {}

    /// What a line of the output says; `None` for a kind of line that is not known.
    fn said(&mut self, line: &Value) -> Option<Vec<AgentEvent>>;

    /// The ids of the calls that the session file shows and no line of the output did: after all lines.
    fn unshown(&self) -> Option<&BTreeSet<String>> {
        None
    }

    /// The sub-agent whose work a line shows, by its id.
    fn sub_agent(_line: &Value) -> Option<&str> {
        None
    }

    /// The kind of a line that is not known.
    fn kind(line: &Value) -> String {
        line.get("type").and_then(Value::as_str).unwrap_or("without a type").to_owned()
    }

    /// When a line was written, RFC 3339.
    fn time<'a>(&'a self, line: &'a Value) -> Option<&'a str> {
        line.get("timestamp")?.as_str()
    }
}

/// The same as [`Agent::login`].
pub(super) type FindLogin = fn(&LoginSources<'_>) -> Result<Login, Trouble>;

/// The rest of [`Agent::command`], after the program and the first arguments.
pub(super) type FillCommand = fn(&Assignment<'_>, &mut AgentCommand) -> Result<(), Trouble>;

/// The same as [`Agent::users_setup`].
pub(super) type ReadSetup = fn(Home) -> Result<(Vec<String>, String), Trouble>;

/// What a line of the session file says about the model's calls.
pub(super) type ReadSigns = fn(&Value) -> Vec<TurnSign>;

/// The same as [`Agent::resumed`].
pub(super) type ResumeSession = fn(&Assignment<'_>, &[OsString], &str) -> Option<NextMessage>;

/// A line of the session file as a recording stores it: lists of skills only with the descriptions of skills with these slugs.
pub(super) type SlimSession = fn(Value, &[&str]) -> Option<Value>;

/// An agent whose output says what it does.
pub(super) trait JsonLinesAgent: Sync {
    const KIND: AgentKind;
    type Reader: LineReader + Default;

    /// Its first arguments.
    const ARGUMENTS: &[&str];

    /// Whether it can begin with a history.
    const HAS_HISTORIES: bool = false;

    const LOGIN: FindLogin;
    const COMMAND: FillCommand;
    const SETUP: ReadSetup;
    const SIGNS: ReadSigns = |_| Vec::new();
    const RESUME: ResumeSession = |_, _, _| None;
    const SLIM_SESSION: SlimSession = |_, _| None;

    /// Whether this is the session's file, by its path in the directory of sessions.
    fn is_session(_path: &Path) -> bool {
        false
    }

    /// Another line of the session's file, from other files in the trial's home.
    fn more_session(_trial_env: &TrialEnv) -> Option<Value> {
        None
    }

    /// Whether a trial keeps this file, by its path in the directory of sessions.
    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path)
    }

    /// What a trial keeps of such a file, line by line: the closure may collect lines and give one for all of them.
    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        |line: &[u8]| Some(line.to_vec())
    }

    /// A line of the output as a recording stores it.
    fn slim(line: Value, _skills: &[&str]) -> Value {
        line
    }

    /// The same as [`Agent::take_over`].
    fn take_over() -> Option<ExitCode> {
        None
    }

    /// The same as [`Agent::find`].
    fn find(settings: &Settings) -> Result<PathBuf, Trouble> {
        program(settings, Self::KIND)
    }
}

fn said<S: JsonLinesAgent>(line: &[u8]) -> Vec<AgentEvent> {
    let Ok(line) = serde_json::from_slice(line) else { return Vec::new() };
    S::Reader::default().said(&line).unwrap_or_default()
}

/// The directory of sessions in a trial's home.
fn sessions<S: JsonLinesAgent>(trial_env: &TrialEnv) -> RootedPath {
    let profile = S::KIND.profile();
    trial_env.home().join(profile.home).join(profile.sessions)
}

impl<S: JsonLinesAgent> Agent for S {
    fn kind(&self) -> AgentKind {
        S::KIND
    }

    fn find(&self, settings: &Settings) -> Result<PathBuf, Trouble> {
        S::find(settings)
    }

    fn take_over(&self) -> Option<ExitCode> {
        S::take_over()
    }

    fn login(&self, around: &LoginSources<'_>) -> Login {
        (S::LOGIN)(around).unwrap_or_else(|trouble| Login::Missing(trouble.detail))
    }

    fn command(&self, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        let program = self.find(assignment.settings)?;
        let mut command = begin(assignment, program, S::ARGUMENTS, S::HAS_HISTORIES)?;
        (S::COMMAND)(assignment, &mut command)?;
        Ok(command)
    }

    fn users_setup(&self, setup: Home) -> Result<(Vec<String>, String), Trouble> {
        (S::SETUP)(setup)
    }

    fn keep_evidence(&self, trial_env: &TrialEnv, directory: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
        let mut session = DerivedFile::new(directory.join(S::KIND.profile().session), mask);
        let more = S::more_session(trial_env);
        let mut stored = more.map_or(Ok(()), |line| session.add_line(line.to_string().as_bytes()));
        // Without a session the directory does not exist.
        let _ = sessions::<S>(trial_env).walk(|_| false, &mut |entry| {
            if S::is_evidence(entry.path) {
                stored = entry.open().and_then(|from| session.add_kept(from, &mut S::kept()));
            }
            if stored.is_ok() { WalkControl::On } else { WalkControl::Stop }
        });
        stored.and_then(|()| session.finish())
    }

    fn recorded_evidence(&self, directory: &Path, skills: &[&str]) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
        let line = |line: Value| format!("{line}\n").into_bytes();
        let trace = slimmed(&directory.join(TRACE), |bytes| {
            let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Some([bytes, b"\n"].concat()) };
            let is_empty = S::Reader::default().said(&value).is_some_and(|said| said.is_empty());
            (!is_empty).then(|| line(S::slim(value, skills)))
        })?;
        let name = S::KIND.profile().session;
        let session = slimmed(&directory.join(name), |bytes| {
            (S::SLIM_SESSION)(serde_json::from_slice(bytes).ok()?, skills).map(line)
        })?;
        let mut files = vec![(TRACE, trace), (name, session)];
        files.retain(|(name, content)| *name == TRACE || !content.is_empty());
        Ok(files)
    }

    fn decode(&self, reference: &Reference, directory: &Path) -> io::Result<Trace> {
        decoded(S::KIND, S::Reader::default(), reference, directory)
    }

    fn work(&self, line: &[u8]) -> WorkOwner {
        work_owner(said::<S>(line))
    }

    fn session(&self, trial_env: &TrialEnv) -> Option<File> {
        sessions::<S>(trial_env).first(S::is_session)
    }

    fn signs(&self, line: &[u8]) -> Vec<TurnSign> {
        serde_json::from_slice(line).map_or_else(|_| Vec::new(), |line| (S::SIGNS)(&line))
    }

    fn resumed(&self, assignment: &Assignment<'_>, args: &[OsString], message: &str) -> Option<NextMessage> {
        (S::RESUME)(assignment, args, message)
    }

    fn describe(&self, line: &[u8]) -> Option<String> {
        in_words(said::<S>(line))
    }
}

/// Whose work a line shows that says this.
pub(super) fn work_owner(said: Vec<AgentEvent>) -> WorkOwner {
    let owner = |said| match said {
        AgentEvent::Answers(_) | AgentEvent::Message(_) | AgentEvent::Thought(_) | AgentEvent::Called { .. } => {
            Some(WorkOwner::Model)
        }
        AgentEvent::Done => Some(WorkOwner::End),
        AgentEvent::AsksAgain(Trouble { kind: TroubleKind::Unreachable, .. }, wait) => {
            Some(WorkOwner::Unreachable(wait.unwrap_or_default()))
        }
        AgentEvent::AsksAgain(_, Some(wait)) => Some(WorkOwner::Waits(wait)),
        _ => None,
    };
    said.into_iter().find_map(owner).unwrap_or(WorkOwner::Other)
}

/// What the agent does by a line that says this, in a few words.
pub(super) fn in_words(said: Vec<AgentEvent>) -> Option<String> {
    let words = |said| match said {
        AgentEvent::Asks => Some("asks the model".to_owned()),
        AgentEvent::Message(text) => Some(format!("says: {text}")),
        AgentEvent::Thought(_) => Some("thinks".to_owned()),
        AgentEvent::Called { tool, input, .. } => Some(format!("{tool} {}", texts(&input))),
        AgentEvent::AsksAgain(trouble, _) => Some(format!("asks again: {trouble}")),
        AgentEvent::Done => Some("is done".to_owned()),
        _ => None,
    };
    said.into_iter().find_map(words).map(|words| excerpt(&words))
}

/// The trace of this agent's run, whose lines `reader` reads in the trial's directory.
pub(super) fn decoded<R: LineReader>(
    kind: AgentKind,
    reader: R,
    reference: &Reference,
    directory: &Path,
) -> io::Result<Trace> {
    let mut decoder = LineDecoder::new(kind, reader, reference);
    for_each_line(&directory.join(kind.profile().session), |line| {
        if let Ok(line) = serde_json::from_slice(line) {
            decoder.reader.session(&line);
        }
    })?;
    for_each_line(&directory.join(TRACE), |line| decoder.line(line))?;
    Ok(decoder.finish())
}

/// Builds the trace of one run.
struct LineDecoder<'a, R> {
    kind: AgentKind,
    reader: R,
    recorder: TraceRecorder<'a>,
    open: OpenCalls<Value>,
    /// The sum of the tokens of all requests.
    usage: Usage,
    /// The steps at which answers begin whose tokens are not reported yet, with the agent that was answered.
    unreported: Vec<(String, usize)>,
    /// The tokens of each model.
    models: BTreeMap<String, Usage>,
    /// The refusal after which the agent asked again, until there is an answer.
    asks_again: Option<Trouble>,
}

impl<'a, R: LineReader> LineDecoder<'a, R> {
    fn new(kind: AgentKind, reader: R, reference: &'a Reference) -> Self {
        let recorder = TraceRecorder::new(reference, kind);
        let (open, unreported, models) = (OpenCalls::default(), Vec::new(), BTreeMap::new());
        let usage = Usage::default();
        Self { kind, reader, recorder, open, usage, unreported, models, asks_again: None }
    }

    fn line(&mut self, bytes: &[u8]) {
        let trace = &mut self.recorder.trace;
        let Ok(line) = serde_json::from_slice::<Value>(bytes) else { return trace.damaged_output(bytes) };
        let Some(all) = self.reader.said(&line) else {
            return trace.unknown_event(&R::kind(&line), bytes);
        };
        let trace = &mut self.recorder.trace;
        if trace.progress == AgentProgress::Silent {
            trace.reached(AgentProgress::Started);
            trace.waiting = WaitingFor::Model;
        }
        let time = self.reader.time(&line);
        self.recorder.set_time(time);
        let by = R::sub_agent(&line).unwrap_or_default();
        let depth = u32::from(!by.is_empty());
        self.recorder.trace.now = Moment { ended: time.map(str::to_owned), depth, ..Moment::default() };
        let waited_for = self.recorder.trace.waiting.clone();
        for said in all {
            self.says(said, by);
        }
        if self.recorder.trace.interrupted {
            self.recorder.trace.waiting = waited_for;
        }
        self.recorder.trace.now = Moment::default();
    }

    fn says(&mut self, said: AgentEvent, by: &str) {
        let trace = &mut self.recorder.trace;
        match said {
            AgentEvent::Version(version) => trace.agent_version = Some(version),
            AgentEvent::Model(model) => trace.model = Some(model),
            AgentEvent::Offered(list) => {
                let described = self.recorder.listed(list.iter().map(|(name, text)| (name.as_str(), text.as_str())));
                let offered = self.recorder.trace.offered.get_or_insert_default();
                (offered.native, offered.described) = (list.into_iter().map(|(name, _)| name).collect(), described);
            }
            AgentEvent::Placed(names) => {
                let offered = trace.offered.get_or_insert_default();
                (offered.native, offered.unseen) = (names, true);
            }
            AgentEvent::Lost(what) => trace.lose(&what),
            AgentEvent::Counted(answers) => trace.model_counted(answers),
            AgentEvent::MayAsk => trace.may_ask(),
            AgentEvent::Tools(names) => self.recorder.tools.listed(names),
            AgentEvent::CallableByUser(names) => trace.offered.get_or_insert_default().by_user = names,
            AgentEvent::Server(name, state) => {
                let mcp = trace.offered.get_or_insert_default().mcp.get_or_insert_default();
                mcp.servers.retain(|(known, _)| *known != name);
                mcp.servers.push((name, state));
            }
            AgentEvent::Asks => {
                if trace.started() {
                    trace.followed_up();
                }
                trace.waiting = WaitingFor::Model;
            }
            AgentEvent::Total(usage) => trace.usage = Some(usage),
            AgentEvent::Notice(text) => trace.push(Step::Notice(text)),
            AgentEvent::AsksAgain(trouble, wait) => {
                trace.push(Step::Notice(trouble.to_string()));
                trace.may_ask();
                // Where the agent waits longer than it may, we wait as long before we run it again.
                let known = trouble.retry_after_s.map(Duration::from_secs);
                self.asks_again = Some(trouble.after(known.or(wait)));
            }
            AgentEvent::Refused(trouble) => {
                trace.waiting = WaitingFor::Nothing;
                trace.trouble = Some(trouble);
            }
            AgentEvent::Stopped(reason) if by.is_empty() => trace.stopped = Some(reason),
            AgentEvent::Interrupted => trace.interrupted = true,
            AgentEvent::Done if trace.interrupted => {}
            AgentEvent::Done => {
                trace.waiting = WaitingFor::Nothing;
                trace.message_answered();
            }
            said => self.converses(said, by),
        }
    }

    /// Notes what the model and its tools say.
    fn converses(&mut self, said: AgentEvent, by: &str) {
        let trace = &mut self.recorder.trace;
        match said {
            AgentEvent::Answers(usage) => self.answers(usage, by),
            AgentEvent::Spent(usage) => self.spent(usage, by),
            AgentEvent::Besides(model, usage) => self.counts(model, usage),
            AgentEvent::Message(text) => {
                self.recorder.message(&text);
                if by.is_empty() {
                    self.recorder.trace.says_last(Some(text));
                }
            }
            AgentEvent::Thought(text) => trace.thought(Some(text)),
            AgentEvent::Called { id, tool, input } => {
                trace.reached(AgentProgress::Answering);
                let waits_for_agents = R::HIDDEN_SUB_AGENTS.contains(&tool.as_str());
                if by.is_empty() {
                    trace.model_called();
                }
                if waits_for_agents {
                    // What they are answered may be told as the agent's.
                    trace.may_ask();
                }
                self.recorder.wrote(&texts(&input));
                let by_whom = by.to_owned();
                let call = OpenCall { by: by_whom, id, tool, input: input.to_string(), waits_for_agents, more: input };
                self.open.made(&mut self.recorder.trace, call);
                self.recorder.trace.waiting = self.open.waiting(by);
            }
            AgentEvent::Answered { id, output, ending, exit_code } => {
                if let Some(call) = self.open.answered(trace, by, &id) {
                    self.ended(call, output, ending, exit_code);
                }
                let waiting = self.open.waiting(by);
                if !(R::SHOWS_REQUESTS && waiting == WaitingFor::Model) {
                    self.recorder.trace.waiting = waiting;
                }
            }
            AgentEvent::Injected { skill, text } => _ = self.recorder.injected(&skill, &text),
            AgentEvent::CalledByUser { skill, text } if self.recorder.injected(&skill, &text) => {
                let call = self.kind.profile().call_of(&skill).unwrap_or_default();
                self.recorder.trace.activate(&skill, Mechanism::Injected, &format!("the prompt called {call}"));
            }
            _ => {}
        }
    }

    fn answers(&mut self, usage: Option<Usage>, by: &str) {
        let trace = &mut self.recorder.trace;
        self.asks_again = None;
        trace.reached(AgentProgress::Answering);
        trace.answers += 1;
        if by.is_empty() {
            trace.model_answered();
        }
        trace.waiting = WaitingFor::Model;
        self.unreported.push((by.to_owned(), trace.steps.len()));
        if let Some(usage) = usage {
            self.spent(usage, by);
        }
    }

    fn spent(&mut self, usage: Usage, by: &str) {
        let Some(at) = self.unreported.iter().rposition(|(agent, _)| agent == by) else { return };
        let (_, step) = self.unreported.remove(at);
        let trace = &mut self.recorder.trace;
        trace.first_request(usage.input_tokens);
        trace.answered(step, usage);
        let model = trace.model.clone();
        self.counts(model, usage);
    }

    /// Counts the tokens of a request of this model.
    fn counts(&mut self, model: Option<String>, usage: Usage) {
        self.usage = self.usage.plus(usage);
        if let Some(model) = model {
            let sum = self.models.entry(model).or_default();
            *sum = sum.plus(usage);
        }
    }

    /// Records a call that was answered, or that nobody will answer.
    fn ended(&mut self, call: OpenCall<Value>, output: Option<String>, ending: CallEnding, exit_code: Option<i64>) {
        let OpenCall { tool, input, more, .. } = call;
        let failed = ending != CallEnding::Done;
        let tool_use = tool_use(self.kind, &tool, &more, failed, exit_code);
        if ending == CallEnding::Denied {
            self.recorder.trace.deny(&tool, &input);
        }
        self.recorder.ended(EndedCall { tool, input, output, failed }, tool_use);
    }

    fn finish(mut self) -> Trace {
        while let Some(call) = self.open.take_unanswered(&mut self.recorder.trace) {
            self.ended(call, Some(String::new()), CallEnding::Failed, None);
        }
        let trace = &mut self.recorder.trace;
        for id in self.reader.unshown().into_iter().flatten() {
            trace.lose(&format!("the call {id}, which only the session file shows"));
        }
        if let (Some(total), model) = (trace.usage, trace.model.clone()) {
            // Nothing shows which models the other requests asked.
            trace.models.extend(model.map(|model| (model, total)));
        } else if trace.answers > 0 && self.unreported.is_empty() {
            (trace.usage, trace.models) = (Some(self.usage), self.models);
        }
        if trace.progress < AgentProgress::Done && trace.trouble.is_none() {
            trace.trouble = self.asks_again;
        }
        self.recorder.finish()
    }
}
