//! The agent does work of a kind, or does not. Agents have different tools for it, and some do it with commands.

use std::sync::Arc;

use serde::Serialize;

use crate::checks::field::COUNTS;
use crate::checks::field::{CallCount, Counted};
use crate::checks::grading_input::Unknown;
use crate::checks::kinds::calls::{UNREPORTED, marked};
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, GradingInput, InvalidCheck, ListForm, WrittenCheck,
};
use crate::text::word_enum::word_enum;
use crate::trace::{Step, kept_part, shell};
use crate::trial::evidence::Reading;
use crate::trial::outcome::{Goal, Status};

pub(in crate::checks) static WORK: CheckKind =
    CheckKind::new("work", Goal::Process).by(Reading::Commands).in_list(&ListForm {
        key: "work",
        form: FieldForm::Choice(&Work::WORDS),
        options: &COUNTS,
        tests: false,
        ask: |check| match check.text("work").and_then(Work::named) {
            Some(work) => Ok(Arc::new(WorkCheck { work, count: check.count()? })),
            None => Err(InvalidCheck::new("work", "`work` names no kind of work", "write a word")),
        },
    });

word_enum! {
    pub enum Work {
        /// Running commands. An agent without a tool that reads files loads skills and reads files with commands, too.
        Commands = "commands",
        /// Creating and editing files.
        Changes = "changes",
        /// Either creating or editing files. A trace does not tell them apart.
        SomeChanges = "some-changes",
    }
}

/// The agent does this work, or not.
pub fn work(work: Work, is_required: bool) -> CaseCheck {
    let count = if is_required { CallCount::SOME } else { CallCount::NONE };
    CaseCheck::implied(&WORK, WorkCheck { work, count })
}

#[derive(Debug, Serialize)]
struct WorkCheck {
    work: Work,
    count: CallCount,
}

impl WorkCheck {
    /// Whether a step is such work.
    fn judge(&self, subject: &GradingInput<'_>, step: &Step) -> Result<bool, Unknown> {
        let tools = &subject.evidence.meta.agent.kind.profile().tools;
        match (self.work, step) {
            (Work::Commands, Step::Command { command, .. }) if tools.reads.is_empty() => {
                let command = kept_part(command).0;
                // It loads a skill so.
                if shell::prints_skills(command) {
                    return Ok(false);
                }
                if shell::only_reads(command) { Err("the agent reads files with commands".into()) } else { Ok(true) }
            }
            (Work::Commands, Step::Command { .. }) => Ok(true),
            (Work::Commands, _) => Ok(false),
            (_, Step::Command { command, .. }) => {
                if shell::only_reads(kept_part(command).0) {
                    Ok(false)
                } else {
                    Err("a command may have changed files".into())
                }
            }
            (_, Step::FileChange(_)) => self.changed(),
            (_, Step::Tool { name, .. }) if tools.edits.contains(&name.as_str()) => self.changed(),
            _ => Ok(false),
        }
    }

    fn changed(&self) -> Result<bool, Unknown> {
        if self.work == Work::Changes {
            Ok(true)
        } else {
            Err("it is not known if a file was created or edited".into())
        }
    }
}

impl Condition for WorkCheck {
    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(self.work.as_str()).with_count(self.count))
    }

    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let (what, done) = match self.work {
            Work::Commands => ("commands", "run"),
            Work::Changes => ("files", "created or edited"),
            Work::SomeChanges => ("files", "created, or edited,"),
        };
        let expected = format!("{what} {done} {}", self.count.words());
        let trace = subject.evidence.trace;
        let (mut counted, mut steps, mut other) = (Counted::default(), Vec::new(), None);
        for (at, step) in trace.steps.iter().enumerate() {
            match self.judge(subject, step) {
                Ok(true) => {
                    counted.sure += 1;
                    steps.push(at);
                }
                Ok(false) => {}
                Err(why) => {
                    counted.doubt(1, || why.0);
                    other = other.or(Some(at));
                }
            }
        }
        counted.doubt(trace.unreported_commands, || UNREPORTED.to_owned());
        counted.doubt(trace.steps_dropped, || format!("the trace lacks {} events", trace.steps_dropped));
        Some(marked(self.count.answer(subject, counted, expected, done), subject, &steps, other))
    }

    fn forbids(&self) -> bool {
        self.count.least == 0
    }

    fn settled_by(&self) -> Option<Status> {
        Some(self.count.settled_by())
    }
}
