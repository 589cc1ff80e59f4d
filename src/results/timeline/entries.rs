//! What happened, in order.

use std::fmt::Write;

use crate::results::timeline::{AnswerTokens, EventKind, Note, TimelineEvent};
use crate::skill::slug;
use crate::trace::{Mark, Marked, Mechanism, Moment, Request, Step, Trace, cut, shell};
use crate::trial::evidence::{Ending, Evidence};
use crate::trial::span::EventRef;

/// What decoders put before what a sub-agent said.
const BY_SUB_AGENT: &str = "(sub-agent) ";

/// The entries of a session: what was asked and offered, every step, and the end.
pub(super) fn of(evidence: &Evidence<'_>) -> Vec<TimelineEvent> {
    let (meta, trace) = (evidence.meta, evidence.trace);
    let mut entries = Vec::new();
    entries.extend(meta.case.system_prompt.clone().map(|text| TimelineEvent::from(EventKind::System { text })));
    let prompt = EventKind::Prompt { text: meta.case.prompt.clone() };
    entries.push(TimelineEvent { time: Some(meta.started.clone()).filter(|time| !time.is_empty()), ..prompt.into() });
    if let Some(offered) = &trace.offered {
        let mcp = offered.mcp.as_ref().map(|mcp| mcp.tools.clone()).unwrap_or_default();
        entries.push(EventKind::Offered { native: offered.native.clone(), mcp }.into());
    }
    let steps = steps(evidence);
    entries.extend(injected(trace).map(|skill| TimelineEvent::from(EventKind::Injected { skill })));
    entries.extend(steps);
    answer(&mut entries, evidence.final_text);
    entries.push(EventKind::End { text: end(&meta.ending, trace) }.into());
    gaps(&mut entries);
    entries
}

impl From<EventKind> for TimelineEvent {
    fn from(what: EventKind) -> Self {
        Self { what, time: None, gap_ms: None, took_ms: None, depth: 0, tokens: None, marks: Vec::new(), step: None }
    }
}

/// The skills that the agent itself put into the conversation.
fn injected(trace: &Trace) -> impl Iterator<Item = String> {
    let injected = trace.activations.iter().filter(|activation| activation.how == Mechanism::Injected);
    injected.map(|activation| activation.skill.clone())
}

/// A step with what is known of it: the trace has these apart.
struct AnnotatedStep<'a> {
    at: usize,
    step: &'a Step,
    moment: Moment,
    requests: Vec<&'a Request>,
    marks: Vec<&'a Mark>,
}

fn steps(evidence: &Evidence<'_>) -> Vec<TimelineEvent> {
    let trace = evidence.trace;
    let mut told: Vec<AnnotatedStep<'_>> = (trace.steps.iter().enumerate())
        .map(|(at, step)| {
            let moment = trace.moments.get(at).cloned().unwrap_or_default();
            AnnotatedStep { at, step, moment, requests: Vec::new(), marks: Vec::new() }
        })
        .collect();
    let last = told.len().saturating_sub(1);
    for request in &trace.requests {
        told.get_mut(request.step.min(last)).into_iter().for_each(|told| told.requests.push(request));
    }
    for mark in &trace.marks {
        told.get_mut(mark.step.min(last)).into_iter().for_each(|told| told.marks.push(mark));
    }
    // Sub-agents are read behind all else, and come where they belong; what has no time stays behind what was told before it.
    let mut latest = None;
    let mut timed: Vec<_> = (told.into_iter())
        .map(|told| {
            let own = told.moment.ended.as_deref().or(told.moment.began.as_deref()).and_then(instant);
            latest = latest.max(own);
            (own.or(latest), told)
        })
        .collect();
    timed.sort_by_key(|(time, _)| *time);
    timed.into_iter().map(|(_, told)| entry(evidence, told)).collect()
}

fn entry(evidence: &Evidence<'_>, told: AnnotatedStep<'_>) -> TimelineEvent {
    let Moment { began, ended, depth } = told.moment;
    let took_ms = began.as_deref().and_then(instant).zip(ended.as_deref().and_then(instant));
    let read = told.requests.iter().map(|request| request.input_tokens).sum();
    let written: Vec<u64> = told.requests.iter().filter_map(|request| request.output_tokens).collect();
    let written = (!written.is_empty()).then(|| written.iter().sum());
    TimelineEvent {
        what: what(told.step, evidence.trace),
        took_ms: took_ms.map(|(from, to)| milliseconds(from, to)),
        time: ended.or(began),
        gap_ms: None,
        depth,
        tokens: (!told.requests.is_empty()).then_some(AnswerTokens { read, written }),
        marks: told.marks.iter().filter_map(|mark| note(evidence, mark.what)).collect(),
        step: Some(EventRef::Step(told.at)),
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
            let found = trace.activations.get(at).filter(|found| found.how != Mechanism::Injected)?;
            let under_test = slug(&found.skill) == evidence.meta.skill.slug;
            Note::Loaded { skill: found.skill.clone(), how: found.how, seen: found.seen, under_test }
        }
        Marked::Resource(at) => {
            let found = trace.resources.get(at)?;
            Note::Resource { skill: found.skill.clone(), path: found.path.clone(), seen: found.seen }
        }
        Marked::FailedLoad(at) => Note::FailedLoad { skill: trace.failed_loads.get(at)?.skill.clone() },
        Marked::Inspection(_) => Note::Looked,
        Marked::Denial(_) => Note::Denied,
    })
}

/// Marks the final message among what the agent said, and gives it its whole text; adds it where it is not there.
fn answer(entries: &mut Vec<TimelineEvent>, final_text: Option<&str>) {
    let Some(text) = final_text.filter(|text| !text.trim().is_empty()) else { return };
    let kept = cut(text.to_owned());
    let whole = EventKind::Said { text: text.to_owned(), answer: true };
    let is_it = |entry: &&mut TimelineEvent| match &entry.what {
        EventKind::Said { text, .. } => entry.depth == 0 && text.trim() == kept.trim(),
        _ => false,
    };
    match entries.iter_mut().rev().find(is_it) {
        Some(entry) => entry.what = whole,
        None => entries.push(whole.into()),
    }
}

fn end(ending: &Ending, trace: &Trace) -> String {
    let mut text = match (ending.timed_out, ending.exit_code, ending.signal) {
        (true, ..) => "ended by the timeout".to_owned(),
        (_, Some(code), _) => format!("exit status {code}"),
        (.., Some(signal)) => format!("ended by signal {signal}"),
        _ => "no exit status".to_owned(),
    };
    let took = std::time::Duration::from_millis(ending.duration_ms).as_secs_f64();
    // Writing to a string cannot fail.
    let _ = write!(text, " after {took:.1} s");
    let trouble = ending.trouble.as_ref().or(trace.trouble.as_ref()).map(ToString::to_string);
    let why = trace.stopped.map(|stop| stop.as_str().to_owned());
    for more in [why, trouble, ending.last_words.clone()].into_iter().flatten() {
        text.extend(["\n", &more]);
    }
    text
}

/// The time between two entries of the same agent is what its model, or what started it, took.
fn gaps(entries: &mut [TimelineEvent]) {
    let mut last = None;
    for entry in entries {
        let Some(ended) = entry.time.as_deref().and_then(instant) else { continue };
        let took = std::time::Duration::from_millis(entry.took_ms.unwrap_or(0));
        let began = ended - jiff::SignedDuration::try_from(took).unwrap_or_default();
        entry.gap_ms = last.map(|last| milliseconds(last, began)).filter(|gap| *gap > 0);
        last = Some(ended);
    }
}

fn instant(time: &str) -> Option<jiff::Timestamp> {
    time.parse().ok()
}

fn milliseconds(from: jiff::Timestamp, to: jiff::Timestamp) -> u64 {
    u64::try_from(to.duration_since(from).as_millis()).unwrap_or(0)
}
