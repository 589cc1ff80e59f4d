//! The number of effective commands, and which of them decided a check.

use crate::checks::kinds::calls::UNREPORTED;
use crate::checks::text_test::MAX_SPANS;
use crate::checks::{CheckAnswer, GradingInput};
use crate::trace::{Step, shell};
use crate::trial::outcome::Status;
use crate::trial::span::{EventRef, Span};

/// At most this many effective commands.
pub(super) fn answer(subject: &GradingInput<'_>, most: u64) -> CheckAnswer {
    let trace = subject.evidence.trace;
    let effective = trace.effective_commands;
    let found = format!("{effective} effective of {} commands", trace.commands);
    let expected = format!("at most {most} effective commands");
    let answer = if effective <= most && effective.saturating_add(trace.unreported_commands) > most {
        let found = format!("{found}; {UNREPORTED}");
        CheckAnswer::new(Status::Unknown, expected, found)
    } else {
        subject.happened(effective > most, false, expected, found)
    };
    let offered = trace.offered.as_ref().map(|offered| offered.native.as_slice());
    let mut steps = Vec::new();
    for (at, step) in trace.steps.iter().enumerate() {
        if matches!(step, Step::Command { command, .. } if shell::is_effective(command, offered)) {
            steps.push(at);
        }
    }
    // The event to look at first is the first command over the limit, else the last command.
    let over = usize::try_from(most).ok().filter(|most| answer.status == Status::Fail && *most < steps.len());
    if let Some(first) = over.or(steps.len().checked_sub(1)) {
        steps[..=first].rotate_right(1);
    }
    let spans: Vec<Span> = steps.iter().take(MAX_SPANS).map(|at| Span::of_call(&trace.steps, *at)).collect();
    if spans.is_empty() { answer.at(EventRef::End) } else { answer.with(spans) }
}
