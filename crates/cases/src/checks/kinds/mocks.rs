//! Commands and tools that are answered from files are called, or not.

use std::sync::Arc;

use globset::{Glob, GlobMatcher};
use serde::Serialize;

use crate::checks::call_count::{CallCount, Counted, times};
use crate::checks::listed::{COUNTS, test_of};
use crate::checks::pattern::LONGEST;
use crate::checks::text_test::{TextResult, TextTest};
use crate::checks::{
    CheckAnswer, CheckKind, Condition, FieldForm, GradingInput, InvalidCheck, ListForm, Named, WrittenCheck, glob_text,
};
use crate::trace::{Step, kept_part, shell};
use crate::trial::mock::MockCall;
use crate::trial::outcome::{Goal, Status};

const KEY: &str = "mock";

pub(in crate::checks) static CALLED: CheckKind = CheckKind::new("mock", Goal::Process).in_list(&ListForm {
    key: KEY,
    form: FieldForm::Text,
    options: &COUNTS,
    tests: true,
    ask: |check| {
        let name = check.text(KEY).unwrap_or_default();
        if name.trim().is_empty() || name.len() > LONGEST {
            return Err(InvalidCheck::new(KEY, format!("`{KEY}` names nothing"), "name a command, or `server/tool`"));
        }
        let name = Glob::new(name).map_err(|error| {
            let help = "`*` stands for any characters, and `{a,b}` for one of two names";
            InvalidCheck::new(KEY, format!("`{KEY}`: {error}"), help)
        })?;
        // `not` is about the calls, not about their inputs.
        let input = test_of(check)?.map(|test| TextTest { negated: false, ..test });
        Ok(Arc::new(MockCheck { name: name.compile_matcher(), input, count: check.count()? }))
    },
});

#[derive(Debug, Serialize)]
struct MockCheck {
    #[serde(serialize_with = "glob_text")]
    name: GlobMatcher,
    /// About the arguments on a line, or the input of a tool.
    input: Option<TextTest>,
    count: CallCount,
}

impl MockCheck {
    /// How often the trace names what may be called: a command with this word, or with a path that ends so, and a tool.
    fn named(&self, subject: &GradingInput<'_>) -> u64 {
        // This is about whatever is answered from files, and the trace does not say what that is.
        if self.name.is_match("another") || self.name.is_match("another/tool") {
            return 0;
        }
        let is_it = |word: &str| self.name.is_match(word);
        let trace = subject.evidence.trace;
        let of_step = |step: &Step| match step {
            Step::Command { command, .. } => shell::naming(kept_part(command).0, &is_it),
            Step::Tool { name, .. } => {
                let served = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
                u64::from(served.is_some_and(|(server, tool)| is_it(&format!("{server}/{tool}"))))
            }
            _ => 0,
        };
        trace.steps.iter().map(of_step).sum()
    }
}

impl Condition for MockCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let with =
            self.input.as_ref().map_or_else(String::new, |test| format!(" with an input that {}", test.words(false)));
        let name = self.name.glob().glob();
        let expected = format!("`{name}`, answered from files, called {}{with}", self.count.words());
        let Some(record) = &subject.evidence.meta.mocks else {
            return Some(CheckAnswer::new(Status::Unknown, expected, "nothing was answered from files"));
        };
        let mut counted = Counted::default();
        for MockCall { name, input, .. } in record.calls.iter().filter(|call| self.name.is_match(&call.name)) {
            let (input, is_cut) = kept_part(input);
            match self.input.as_ref().map(|test| test.of(input, is_cut)) {
                None | Some(TextResult::Holds(_)) => counted.sure += 1,
                Some(TextResult::Differs(_)) => {}
                Some(TextResult::Unknown(why)) => counted.doubt(1, || format!("{name}: {why}")),
            }
        }
        counted.doubt(record.lost, || "a part of the record of calls cannot be read".to_owned());
        let named = self.named(subject);
        let recorded = record.calls.iter().filter(|call| self.name.is_match(&call.name)).count() as u64;
        counted.doubt(named.saturating_sub(recorded), || {
            format!("the trace names it {}, and the record has {recorded}: a call by another path is not answered from files", times(named))
        });
        Some(self.count.answer(subject, counted, expected, "called"))
    }

    fn written(&self) -> Option<WrittenCheck> {
        let written = WrittenCheck::new(self.name.glob().glob()).with_count(self.count);
        self.input.iter().try_fold(written, WrittenCheck::with_test)
    }

    fn names(&self) -> Named<'_> {
        Named { mocks: Some(&self.name), ..Named::default() }
    }

    fn forbids(&self) -> bool {
        self.count.least == 0
    }
}
