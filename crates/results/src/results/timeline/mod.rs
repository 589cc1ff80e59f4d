//! A session as a reader follows it: its events in order, and the events that decided each check. Made from the evidence
//! and the grade of a trial; it decides nothing.

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::ops::Range;

use serde::Serialize;

use crate::results::is_default;
use crate::skill::slug;
use crate::text::redact::Masked;
use crate::trace::{Mark, Marked, Mechanism, Moment, Request, Step, Trace, shell};
use crate::trial::evidence::{Ending, Evidence};
use crate::trial::input_file::Speaker;
use crate::trial::outcome::{CheckResult, Grade};
use crate::trial::span::{EventRef, Span};

pub use crate::trial::span::EventPart;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// In order of time.
    pub entries: Vec<TimelineEvent>,
    /// One for each check of the grade, in the same order.
    pub findings: Vec<CheckFinding>,
    /// The number of steps that the trace did not keep.
    pub dropped: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TimelineEvent {
    #[serde(flatten)]
    pub what: EventKind,
    /// When the event ended, RFC 3339, if the agent reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Milliseconds between the end of the previous timed event and the start of this one, or its end if it has no start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
    /// How many milliseconds a call took, if the agent reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for their sub-agents.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub depth: u32,
    /// The tokens of the model's answers that began here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<AnswerTokens>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Note>,
    /// The step of the trace, if the event is one.
    #[serde(skip)]
    pub step: Option<EventRef>,
}

/// The kind of an event, with its texts. The trace may have cut the texts; then they say so.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    /// The case's addition to the system prompt.
    System { text: String },
    /// A message of the conversation before the prompt. The trial begins after it.
    History { role: Speaker, text: String },
    /// The prompt of the case, or a further message of its user.
    Prompt { text: String },
    /// The names in the agent's skill list, its own skills included, and the tools of MCP servers.
    Offered {
        native: Vec<String>,
        /// Whether `native` has the skills in its directory, or its own list, since nothing shows what its model was offered.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
        mcp: Vec<String>,
    },
    /// The agent put a skill into the conversation, since the prompt named it.
    Injected { skill: String },
    /// A message of the agent. `answer` marks the final message, which is never cut.
    Said { text: String, answer: bool },
    /// The model's thinking.
    Thought { text: String },
    /// A shell command. `effective`: it did more than inspect.
    Command { command: String, exit: Option<i64>, output: String, effective: bool },
    /// A call of another tool.
    Tool { name: String, input: String, output: String, failed: bool },
    /// The agent's editing tool changed files.
    Files { paths: Vec<String> },
    /// A notice of the agent.
    Notice { text: String },
    /// The end of the agent's process.
    End { text: String },
}

impl EventKind {
    /// Whether the case gave it to the agent.
    pub fn is_given(&self) -> bool {
        matches!(self, Self::System { .. } | Self::History { .. } | Self::Prompt { .. })
    }

    /// Its texts, each with its part of the event.
    pub fn texts(&self) -> Vec<(EventPart, &str)> {
        match self {
            Self::System { text }
            | Self::History { text, .. }
            | Self::Prompt { text }
            | Self::Said { text, .. }
            | Self::Thought { text }
            | Self::Notice { text }
            | Self::End { text } => vec![(EventPart::Text, text)],
            Self::Command { command, output, .. } => vec![(EventPart::Input, command), (EventPart::Output, output)],
            Self::Tool { name, input, output, .. } => {
                vec![(EventPart::Name, name), (EventPart::Input, input), (EventPart::Output, output)]
            }
            Self::Files { paths } => {
                paths.iter().enumerate().map(|(at, path)| (EventPart::Path(at), path.as_str())).collect()
            }
            Self::Injected { skill } => vec![(EventPart::Name, skill)],
            Self::Offered { .. } => Vec::new(),
        }
    }

    fn text(&self, part: EventPart) -> Option<&str> {
        self.texts().into_iter().find(|(own, _)| *own == part).map(|(_, text)| text)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AnswerTokens {
    /// Tokens read, cached ones included.
    pub read: u64,
    /// Tokens written, if the agent reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

/// A note at an event. `seen` is the share of a file's text that entered the model's context.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Note {
    /// A skill activated.
    Loaded {
        skill: String,
        how: Mechanism,
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        seen: Option<f64>,
        under_test: bool,
    },
    /// The model read a file of a skill.
    Resource {
        skill: String,
        path: String,
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        seen: Option<f64>,
    },
    /// A call to load a skill failed.
    FailedLoad { skill: String },
    /// The agent inspected skills, which activated none.
    Looked,
    /// The agent did not allow the call.
    Denied,
}

/// The events that decided a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CheckFinding {
    /// The place of the event to look at; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
    /// The pieces of text that decided it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<TextPiece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextPiece {
    /// The place of the event.
    pub entry: usize,
    /// Which text of the event.
    pub part: EventPart,
    /// The range in that part of the event.
    pub bytes: Range<usize>,
}

impl Timeline {
    pub fn new(evidence: &Evidence<'_>, grade: &Grade) -> Self {
        let entries = events_of(evidence);
        let findings = findings_of(&entries, evidence, grade);
        Self { entries, findings, dropped: evidence.trace.steps_dropped }
    }

    /// The pieces of an event's text that decided any check.
    pub fn pieces_of(&self, place: usize) -> impl Iterator<Item = &TextPiece> {
        self.findings.iter().flat_map(|finding| &finding.pieces).filter(move |piece| piece.entry == place)
    }

    pub fn text_of(&self, piece: &TextPiece) -> Option<&str> {
        self.entries.get(piece.entry)?.what.text(piece.part)
    }
}

// The events of a session, in order.

/// The decoders' prefix for messages of a sub-agent.
const BY_SUB_AGENT: &str = "(sub-agent) ";

/// The history, the prompt, what was offered, every step, the answer and the end.
fn events_of(evidence: &Evidence<'_>) -> Vec<TimelineEvent> {
    let (meta, trace) = (evidence.meta, evidence.trace);
    let mut events: Vec<TimelineEvent> = Vec::new();
    events.extend(meta.case.system_prompt.clone().map(|text| EventKind::System { text }.into()));
    let history = meta.case.history.iter();
    events.extend(history.map(|said| EventKind::History { role: said.role, text: said.content.clone() }.into()));
    let prompt = EventKind::Prompt { text: meta.case.prompt.clone() };
    events.push(TimelineEvent { time: Some(meta.started.clone()).filter(|time| !time.is_empty()), ..prompt.into() });
    if let Some(offered) = &trace.offered {
        let mcp = offered.mcp.as_ref().map(|mcp| mcp.tools.clone()).unwrap_or_default();
        events.push(EventKind::Offered { native: offered.native.clone(), unseen: offered.unseen, mcp }.into());
    }
    for activation in trace.activations.iter().filter(|activation| activation.how == Mechanism::Injected) {
        events.push(EventKind::Injected { skill: activation.skill.clone() }.into());
    }
    events.extend(steps(evidence));
    mark_answer(&mut events, evidence.final_text);
    events.push(EventKind::End { text: end_of(&meta.ending, trace) }.into());
    set_gaps(&mut events);
    events
}

impl From<EventKind> for TimelineEvent {
    fn from(what: EventKind) -> Self {
        Self { what, time: None, gap_ms: None, took_ms: None, depth: 0, tokens: None, marks: Vec::new(), step: None }
    }
}

/// A step with its requests and marks, which the trace has in other lists.
struct AnnotatedStep<'a> {
    at: usize,
    step: &'a Step,
    moment: Moment,
    requests: Vec<&'a Request>,
    marks: Vec<&'a Mark>,
}

fn steps(evidence: &Evidence<'_>) -> Vec<TimelineEvent> {
    let trace = evidence.trace;
    let mut steps: Vec<AnnotatedStep<'_>> = Vec::new();
    for (at, step) in trace.steps.iter().enumerate() {
        let moment = trace.moments.get(at).cloned().unwrap_or_default();
        steps.push(AnnotatedStep { at, step, moment, requests: Vec::new(), marks: Vec::new() });
    }
    let last = steps.len().saturating_sub(1);
    for request in &trace.requests {
        steps.get_mut(request.step.min(last)).into_iter().for_each(|step| step.requests.push(request));
    }
    for mark in &trace.marks {
        steps.get_mut(mark.step.min(last)).into_iter().for_each(|step| step.marks.push(mark));
    }
    // The trace has the steps of sub-agents last: sort by time. A step without a time stays after the one before it.
    let mut latest = None;
    let mut timed = Vec::new();
    for step in steps {
        let time = step.moment.ended.as_deref().or(step.moment.began.as_deref()).and_then(instant);
        latest = latest.max(time);
        timed.push((time.or(latest), step));
    }
    timed.sort_by_key(|(time, _)| *time);
    let mut events: Vec<TimelineEvent> = timed.into_iter().map(|(_, step)| event_of(evidence, step)).collect();
    for (text, first) in evidence.meta.case.follow_ups.iter().zip(&trace.follow_ups_at).rev() {
        let is_after =
            |event: &TimelineEvent| event.depth == 0 && matches!(event.step, Some(EventRef::Step(at)) if at >= *first);
        let place = events.iter().position(is_after).unwrap_or(events.len());
        events.insert(place, EventKind::Prompt { text: text.clone() }.into());
    }
    events
}

fn event_of(evidence: &Evidence<'_>, annotated: AnnotatedStep<'_>) -> TimelineEvent {
    let AnnotatedStep { at, step, moment: Moment { began, ended, depth, .. }, requests, marks } = annotated;
    let times = began.as_deref().and_then(instant).zip(ended.as_deref().and_then(instant));
    let read = requests.iter().map(|request| request.input_tokens).fold(0, u64::saturating_add);
    let written: Vec<u64> = requests.iter().filter_map(|request| request.output_tokens).collect();
    let written = (!written.is_empty()).then(|| written.into_iter().fold(0, u64::saturating_add));
    TimelineEvent {
        what: kind_of(step, evidence.trace),
        took_ms: times.map(|(from, to)| milliseconds(from, to)),
        time: ended.or(began),
        gap_ms: None,
        depth,
        tokens: (!requests.is_empty()).then_some(AnswerTokens { read, written }),
        marks: marks.iter().filter_map(|mark| note_of(evidence, mark.what)).collect(),
        step: Some(EventRef::Step(at)),
    }
}

fn kind_of(step: &Step, trace: &Trace) -> EventKind {
    match step.clone() {
        Step::Message(text) => {
            let text = text.strip_prefix(BY_SUB_AGENT).map_or(text.clone(), str::to_owned);
            EventKind::Said { text, answer: false }
        }
        Step::Thinking(text) => EventKind::Thought { text },
        Step::Command { command, exit_code, output } => {
            let offered = trace.offered.as_ref().map(|offered| offered.native.as_slice());
            let effective = shell::is_effective(&command, offered);
            EventKind::Command { command, exit: exit_code, output, effective }
        }
        Step::Tool { name, input, output, failed } => EventKind::Tool { name, input, output, failed },
        Step::FileChange(paths) => EventKind::Files { paths },
        Step::Notice(text) => EventKind::Notice { text },
    }
}

fn note_of(evidence: &Evidence<'_>, what: Marked) -> Option<Note> {
    let trace = evidence.trace;
    Some(match what {
        Marked::Activation(at) => {
            let activation = trace.activations.get(at).filter(|activation| activation.how != Mechanism::Injected)?;
            let under_test = slug(&activation.skill) == evidence.meta.skill.slug;
            Note::Loaded { skill: activation.skill.clone(), how: activation.how, seen: activation.seen, under_test }
        }
        Marked::Resource(at) => {
            let resource = trace.resources.get(at)?;
            Note::Resource { skill: resource.skill.clone(), path: resource.path.clone(), seen: resource.seen }
        }
        Marked::FailedLoad(at) => Note::FailedLoad { skill: trace.failed_loads.get(at)?.skill.clone() },
        Marked::Inspection(_) => Note::Looked,
        Marked::Denial(_) => Note::Denied,
    })
}

/// Marks the final message and gives it its whole text. Adds it if the trace lacks it.
fn mark_answer(events: &mut Vec<TimelineEvent>, final_text: Option<&str>) {
    let Some(text) = final_text.filter(|text| !text.trim().is_empty()) else { return };
    let in_trace = Masked::stored(text).cut();
    let answer = EventKind::Said { text: text.to_owned(), answer: true };
    for event in events.iter_mut().rev().filter(|event| event.depth == 0) {
        if matches!(&event.what, EventKind::Said { text, .. } if text.trim() == in_trace.trim()) {
            event.what = answer;
            return;
        }
    }
    events.push(answer.into());
}

fn end_of(ending: &Ending, trace: &Trace) -> String {
    let mut text = match (ending.timed_out, ending.exit_code, ending.signal) {
        _ if ending.settled => "ended because the verdict was settled,".to_owned(),
        (true, ..) => "ended by the timeout".to_owned(),
        (_, Some(code), _) => format!("exit status {code}"),
        (.., Some(signal)) => format!("ended by signal {signal}"),
        _ => "no exit status".to_owned(),
    };
    let took = std::time::Duration::from_millis(ending.duration_ms).as_secs_f64();
    let _ = write!(text, " after {took:.1} s");
    // What an agent reports while it is being ended is not a trouble.
    let of_trace = trace.trouble.as_ref().filter(|_| !ending.settled);
    let trouble = ending.trouble.as_ref().or(of_trace).map(ToString::to_string);
    let why = trace.stopped.map(|stop| stop.as_str().to_owned());
    for more in [why, trouble, ending.last_words.clone()].into_iter().flatten() {
        text.extend(["\n", &more]);
    }
    text
}

/// Sets the gap before each event: the time that the model, or the start of the agent, took.
fn set_gaps(events: &mut [TimelineEvent]) {
    let mut last = None;
    for event in events {
        let Some(ended) = event.time.as_deref().and_then(instant) else { continue };
        let took = std::time::Duration::from_millis(event.took_ms.unwrap_or(0));
        let began = ended - jiff::SignedDuration::try_from(took).unwrap_or_default();
        event.gap_ms = last.map(|last| milliseconds(last, began)).filter(|gap| *gap > 0);
        last = Some(ended);
    }
}

fn instant(time: &str) -> Option<jiff::Timestamp> {
    time.parse().ok()
}

fn milliseconds(from: jiff::Timestamp, to: jiff::Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}

// The events that decided each check.

/// The fewest bytes of a quotation that is searched for in a session.
const MIN_QUOTED: usize = 3;

fn findings_of(events: &[TimelineEvent], evidence: &Evidence<'_>, grade: &Grade) -> Vec<CheckFinding> {
    let reader = FindingReader { events, evidence };
    grade.checks.iter().map(|check| reader.finding(check)).collect()
}

struct FindingReader<'a> {
    events: &'a [TimelineEvent],
    evidence: &'a Evidence<'a>,
}

impl FindingReader<'_> {
    fn finding(&self, check: &CheckResult) -> CheckFinding {
        let Some(first) = check.spans.first() else { return self.quoted(check) };
        let mut pieces: Vec<TextPiece> = check.spans.iter().filter_map(|span| self.piece(span)).collect();
        pieces.sort_by_key(|piece| (piece.entry, piece.bytes.start));
        CheckFinding { entry: self.place(first.event), pieces }
    }

    fn piece(&self, span: &Span) -> Option<TextPiece> {
        let (entry, text) = (self.place(span.event)?, span.text.as_ref()?);
        Some(TextPiece { entry, part: text.part, bytes: text.bytes.clone() })
    }

    fn place(&self, event: EventRef) -> Option<usize> {
        let under_test = &self.evidence.meta.skill.slug;
        match event {
            EventRef::Step(_) => self.events.iter().position(|known| known.step == Some(event)),
            EventRef::Answer => self.find(|what| matches!(what, EventKind::Said { answer: true, .. })),
            EventRef::End => self.events.len().checked_sub(1),
            EventRef::Injected => {
                self.find(|what| matches!(what, EventKind::Injected { skill } if slug(skill) == *under_test))
            }
            // If the agent did not report what was offered, the prompt.
            EventRef::Offered => self
                .find(|what| matches!(what, EventKind::Offered { .. }))
                .or_else(|| self.find(|what| matches!(what, EventKind::Prompt { .. }))),
        }
    }

    fn find(&self, matches: impl Fn(&EventKind) -> bool) -> Option<usize> {
        self.events.iter().position(|event| matches(&event.what))
    }

    /// The longest text that a custom check or a judge quotes and that is in the session; without one, the answer.
    fn quoted(&self, check: &CheckResult) -> CheckFinding {
        let in_backticks = check.found.split('`').skip(1).step_by(2);
        let in_quotes = check.found.split('"').skip(1).step_by(2);
        let mut quoted: Vec<&str> = in_backticks.chain(in_quotes).filter(|text| text.len() >= MIN_QUOTED).collect();
        quoted.sort_by_key(|text| std::cmp::Reverse(text.len()));
        match quoted.into_iter().find_map(|quoted| self.search(quoted)) {
            Some(piece) => CheckFinding { entry: Some(piece.entry), pieces: vec![piece] },
            None => CheckFinding { entry: self.place(EventRef::Answer), pieces: Vec::new() },
        }
    }

    /// The first place of a text in what the agent did and said.
    fn search(&self, quoted: &str) -> Option<TextPiece> {
        for (entry, event) in self.events.iter().enumerate() {
            if event.what.is_given() || matches!(event.what, EventKind::End { .. }) {
                continue;
            }
            for (part, text) in event.what.texts() {
                if let Some(from) = text.find(quoted) {
                    return Some(TextPiece { entry, part, bytes: from..from + quoted.len() });
                }
            }
        }
        None
    }
}
