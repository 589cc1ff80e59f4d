//! Maximum number of effective commands.

use std::sync::Arc;

use crate::checks::kinds::calls::UNREPORTED;
use crate::checks::text_test::MAX_SPANS;
use crate::checks::{Ask, Check, CheckAnswer, CheckKind, FieldForm, Subject, WrittenCheck};
use crate::trace::{Step, shell};
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::{EventRef, Span};

pub(in crate::checks) static MAX_COMMANDS: CheckKind = CheckKind::new("max-commands", Goal::Efficiency).with_field(
    "max_commands",
    "maxCommands",
    FieldForm::LIMIT,
    |value| Some(Arc::new(MaxCommands(value.number()?))),
);

/// At most this many effective commands, by no field of the case.
pub fn max_commands(most: u64) -> Check {
    Check::implied(&MAX_COMMANDS, MaxCommands(most))
}

#[derive(Debug)]
struct MaxCommands(u64);

impl Ask for MaxCommands {
    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.0))
    }

    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let (trace, most) = (subject.evidence.trace, self.0);
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
        Some(if spans.is_empty() { answer.at(EventRef::End) } else { answer.with(spans) })
    }

    fn forbids(&self) -> bool {
        true
    }

    fn settled_by(&self) -> Option<Status> {
        Some(Status::Fail)
    }
}
