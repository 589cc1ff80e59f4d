//! What the runner replies to mocks, and the record of what they asked. A call is recorded before it is answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use crate::cases::mocks::Mocks;
use crate::mcp::OfferedTool;
use crate::settings::pattern;
use crate::text::escape;
use crate::trial::input_file::{MockCall, MockCalls, MockServer, MockTool, ProgramOutput, ReadyAnswer, RecordedCall};

use super::protocol::{Call, Reply, Request};
use super::tools;

/// Maximum size of the record, in bytes.
const MAX_SIZE: usize = 8 << 20;

/// Maximum number of recorded calls.
const MAX_CALLS: usize = 1000;

/// Maximum size of all that real programs print and is recorded, in bytes.
const MAX_RECORDED: usize = 64 << 20;

/// The answers of a trial, and the record of its calls.
#[derive(Debug, Default)]
pub(super) struct Answers {
    commands: BTreeMap<String, Vec<CommandAnswer>>,
    servers: BTreeMap<String, MockServer>,
    /// The real programs of commands, where that is known.
    real: Option<BTreeMap<String, PathBuf>>,
    record: MockCalls,
    /// The size of the record, in bytes.
    size: usize,
    /// The calls that were told to read their input, by the ids of their requests.
    reading: HashMap<String, usize>,
    /// The commands whose real programs are recorded.
    recorded: BTreeSet<String>,
    /// What they printed.
    outputs: Vec<RecordedCall>,
    /// The size of that, in bytes.
    recorded_size: usize,
    /// The calls whose real program has not ended, by the ids of their requests.
    running: HashMap<String, usize>,
}

/// An answer that is ready to be given.
#[derive(Debug)]
struct CommandAnswer {
    ready: ReadyAnswer,
    args: Option<Regex>,
    stdin: Option<Regex>,
    /// To how many calls it was given.
    given: u64,
}

impl CommandAnswer {
    fn new(ready: &ReadyAnswer) -> Self {
        // Those that are none were refused when they were read.
        let compiled = |text: &Option<String>| text.as_deref().and_then(|text| pattern(text).ok());
        Self { args: compiled(&ready.args), stdin: compiled(&ready.stdin), ready: ready.clone(), given: 0 }
    }

    fn is_for(&self, args: &str) -> bool {
        self.ready.times.is_none_or(|times| self.given < times)
            && self.args.as_ref().is_none_or(|pattern| pattern.is_match(args))
    }

    fn output(&self, args: &str) -> Reply {
        let ReadyAnswer { stdout, stderr, exit_code, files, .. } = &self.ready;
        let path = |template: &String| {
            let found = self.args.as_ref().and_then(|pattern| pattern.captures(args));
            let mut path = String::new();
            match found {
                Some(found) => found.expand(template, &mut path),
                None => path.clone_from(template),
            }
            escape::unquoted(&path)
        };
        let files = files.iter().map(|(template, content)| (path(template), content.clone())).collect();
        Reply::Output { stdout: stdout.clone(), stderr: stderr.clone(), exit_code: *exit_code, files }
    }
}

impl Answers {
    pub(super) fn new(mocks: &Mocks, real: Option<BTreeMap<String, PathBuf>>) -> Self {
        let Mocks { commands, servers, recorded, .. } = mocks;
        let ready = |(command, answers): (&String, &Vec<ReadyAnswer>)| {
            (command.clone(), answers.iter().map(CommandAnswer::new).collect())
        };
        Self {
            commands: commands.iter().map(ready).collect(),
            servers: servers.clone(),
            recorded: recorded.clone(),
            real,
            ..Self::default()
        }
    }

    /// The reply to a request, and how long the mock waits for it.
    pub(super) fn reply(&mut self, id: &str, request: Request) -> (Reply, Duration) {
        match request {
            Request::Call(call) => self.call(id, call),
            Request::Ended { id, output } => {
                self.note_output(&id, output);
                (Reply::Nothing, Duration::ZERO)
            }
            Request::Tools(server) => (self.tools(&server), Duration::ZERO),
            Request::Tool { server, tool, input } => {
                let Some(server) = self.servers.get(&server) else { return (Reply::Nothing, Duration::ZERO) };
                let known = server.tools.iter().find(|known| known.name == tool);
                let violated = known.and_then(|known| tools::violation(known, &input));
                let call = MockCall {
                    name: format!("{}/{tool}", server.name),
                    input: serde_json::Value::from(input.clone()).to_string(),
                    answered: known.is_some() && violated.is_none(),
                    violated: violated.clone(),
                    ..MockCall::default()
                };
                let answer = match (known, violated) {
                    (None, _) => Err(format!("not available here: {tool}")),
                    (_, Some(why)) => Err(why),
                    (Some(known), None) => tools::answer(known, server, &input).map_err(|why| why.0),
                };
                self.add(call);
                (Reply::Text(answer), Duration::ZERO)
            }
        }
    }

    fn tools(&self, server: &str) -> Reply {
        let Some(server) = self.servers.get(server) else { return Reply::Nothing };
        let tools = server.tools.iter().map(|MockTool { name, description, input_schema, .. }| OfferedTool {
            name: name.clone(),
            description: description.clone(),
            input_schema: input_schema.clone(),
        });
        Reply::Tools(server.name.clone(), tools.collect())
    }

    fn call(&mut self, id: &str, Call { name, args, read }: Call) -> (Reply, Duration) {
        let mut recorded = MockCall { name: name.clone(), input: args.clone(), ..MockCall::default() };
        let (read, first) = read.unzip();
        let stdin = read.map(|bytes| String::from_utf8_lossy(&bytes.0).into_owned());
        // A first request that is not known is a call of its own: nobody can change another call.
        let begun = first
            .and_then(|first| self.reading.remove(&first))
            .filter(|at| self.record.calls.get(*at).is_some_and(|call| call.name == name && call.input == args));
        let answers = self.commands.get_mut(&name).map_or(&mut [][..], Vec::as_mut_slice);
        let mut found = None;
        for answer in answers.iter_mut().filter(|answer| answer.is_for(&args)) {
            match (&answer.stdin, &stdin) {
                (Some(_), None) => {
                    if let Some(at) = self.add(recorded) {
                        self.reading.insert(id.to_owned(), at);
                    }
                    return (Reply::ReadInput, Duration::ZERO);
                }
                (Some(pattern), Some(text)) if !pattern.is_match(text) => {}
                _ => {
                    answer.given += 1;
                    found = Some(answer);
                    break;
                }
            }
        }
        let delay = found.as_ref().map_or(Duration::ZERO, |answer| Duration::from_millis(answer.ready.delay_ms));
        let passes = found.as_ref().is_some_and(|answer| answer.ready.passthrough);
        let reply = match found {
            None => Reply::Nothing,
            Some(_) if passes => {
                let is_recorded = self.recorded.contains(&name);
                match &self.real {
                    None => Reply::RealProgram { program: None, is_recorded },
                    // Nobody answers for a program that is not here.
                    Some(programs) => programs
                        .get(&name)
                        .map_or(Reply::Nothing, |path| Reply::RealProgram { program: Some(path.clone()), is_recorded }),
                }
            }
            Some(answer) => answer.output(&args),
        };
        if matches!(reply, Reply::RealProgram { is_recorded: true, .. }) {
            self.running.insert(id.to_owned(), self.outputs.len());
            self.outputs.push(RecordedCall { command: name, args, stdin: stdin.clone(), output: None });
        }
        recorded.answered = !matches!(reply, Reply::Nothing);
        recorded.passed_through = passes && recorded.answered;
        recorded.stdin = stdin;
        match begun.and_then(|at| self.record.calls.get_mut(at)) {
            Some(call) => {
                self.size += recorded.stdin.as_ref().map_or(0, String::len);
                *call = recorded;
            }
            None => _ = self.add(recorded),
        }
        (reply, delay)
    }

    /// Notes what the real program of a call printed, if there is room.
    fn note_output(&mut self, id: &str, output: ProgramOutput) {
        let call = self.running.remove(id).and_then(|at| self.outputs.get_mut(at));
        let size = self.recorded_size + output.stdout.0.len() + output.stderr.0.len();
        if let Some(call) = call.filter(|_| size <= MAX_RECORDED) {
            self.recorded_size = size;
            call.output = Some(output);
        }
    }

    /// What real programs answered, in the order of the calls.
    pub(super) fn take_outputs(&mut self) -> Vec<RecordedCall> {
        std::mem::take(&mut self.outputs)
    }

    /// Adds a call to the record, if there is room. Returns its place.
    fn add(&mut self, call: MockCall) -> Option<usize> {
        let MockCall { name, input, stdin, .. } = &call;
        let size = self.size + name.len() + input.len() + stdin.as_ref().map_or(0, String::len);
        if self.record.calls.len() >= MAX_CALLS || size > MAX_SIZE {
            self.record.lost += 1;
            return None;
        }
        self.size = size;
        self.record.calls.push(call);
        Some(self.record.calls.len() - 1)
    }

    /// The record so far, which is then empty. That many parts more cannot be read.
    pub(super) fn take_record(&mut self, lost: u64) -> MockCalls {
        let record = std::mem::take(&mut self.record);
        MockCalls { lost: record.lost + lost, ..record }
    }

    /// Counts a call that gets no reply.
    pub(super) fn lose(&mut self) {
        self.record.lost += 1;
    }
}
