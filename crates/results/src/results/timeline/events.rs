//! The events of a session, in order.

use std::fmt::Write;

use crate::results::timeline::{AnswerTokens, EventKind, Note, TimelineEvent};
use crate::skill::slug;
use crate::text::redact::Masked;
use crate::trace::{Mark, Marked, Mechanism, Moment, Request, Step, Trace, shell};
use crate::trial::evidence::{Ending, Evidence};
use crate::trial::span::EventRef;

/// The decoders' prefix for messages of a sub-agent.
const BY_SUB_AGENT: &str = "(sub-agent) ";

/// The history, the prompt, what was offered, every step, the answer and the end.
pub(super) fn of(evidence: &Evidence<'_>) -> Vec<TimelineEvent> {
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
    events.push(EventKind::End { text: end(&meta.ending, trace) }.into());
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
    let mut events: Vec<TimelineEvent> = timed.into_iter().map(|(_, step)| event(evidence, step)).collect();
    for (text, first) in evidence.meta.case.follow_ups.iter().zip(&trace.follow_ups_at).rev() {
        let is_after =
            |event: &TimelineEvent| event.depth == 0 && matches!(event.step, Some(EventRef::Step(at)) if at >= *first);
        let place = events.iter().position(is_after).unwrap_or(events.len());
        events.insert(place, EventKind::Prompt { text: text.clone() }.into());
    }
    events
}

fn event(evidence: &Evidence<'_>, annotated: AnnotatedStep<'_>) -> TimelineEvent {
    let AnnotatedStep { at, step, moment: Moment { began, ended, depth, .. }, requests, marks } = annotated;
    let times = began.as_deref().and_then(instant).zip(ended.as_deref().and_then(instant));
    let read = requests.iter().map(|request| request.input_tokens).fold(0, u64::saturating_add);
    let written: Vec<u64> = requests.iter().filter_map(|request| request.output_tokens).collect();
    let written = (!written.is_empty()).then(|| written.into_iter().fold(0, u64::saturating_add));
    TimelineEvent {
        what: what(step, evidence.trace),
        took_ms: times.map(|(from, to)| milliseconds(from, to)),
        time: ended.or(began),
        gap_ms: None,
        depth,
        tokens: (!requests.is_empty()).then_some(AnswerTokens { read, written }),
        marks: marks.iter().filter_map(|mark| note(evidence, mark.what)).collect(),
        step: Some(EventRef::Step(at)),
    }
}

fn what(step: &Step, trace: &Trace) -> EventKind {
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

fn note(evidence: &Evidence<'_>, what: Marked) -> Option<Note> {
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

fn end(ending: &Ending, trace: &Trace) -> String {
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
