//! A command line, run after the agent in a copy of the workspace, exits with a status, and prints what is wanted.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::checks::field::test_of;
use crate::checks::grading_input::WorkspaceProgram;
use crate::checks::text_test::{TextResult, TextTest};
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, GradingInput, InvalidCheck, ListForm, Named, WrittenCheck,
};
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

/// The greatest exit status.
const MOST_STATUS: u64 = 255;

pub(in crate::checks) static RUN: CheckKind = CheckKind::new("run", Goal::Outcome).in_list(&ListForm {
    key: "run",
    form: FieldForm::Text,
    options: &[
        ("exits", FieldForm::Number { least: 0, most: MOST_STATUS }),
        ("not", FieldForm::Flag),
        ("timeoutS", FieldForm::Number { least: 1, most: LONGEST_TIMEOUT.as_secs() }),
    ],
    tests: true,
    ask: |check| {
        let line = check
            .text("run")
            .filter(|line| !line.trim().is_empty())
            .ok_or_else(|| InvalidCheck::new("run", "`run` names no command", "write a command line for /bin/sh"))?;
        let exits = check.number("exits").and_then(|status| i32::try_from(status).ok()).unwrap_or_default();
        let prints = test_of(check)?;
        if prints.is_none() && check.is("not") {
            let help = "use it next to `contains`, `matches` or `equals`, or write `exits`";
            return Err(InvalidCheck::new("not", "`not` has nothing to apply to", help));
        }
        let timeout = check.number("timeoutS").map(Duration::from_secs);
        let program = WorkspaceProgram::Command { line: line.to_owned(), timeout, files: Vec::new() };
        Ok(Arc::new(RunCheck { program, exits, prints }))
    },
});

/// This command line for `/bin/sh` exits with this status, within `timeout` if there is one. Its standard output passes the test.
pub fn run(line: String, exits: i32, timeout: Option<Duration>, prints: Option<TextTest>) -> CaseCheck {
    let program = WorkspaceProgram::Command { line, timeout, files: Vec::new() };
    CaseCheck::implied(&RUN, RunCheck { program, exits, prints })
}

#[derive(Debug, Serialize)]
struct RunCheck {
    program: WorkspaceProgram,
    exits: i32,
    prints: Option<TextTest>,
}

impl Condition for RunCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let mut expected = format!("`{}` exits with {}", excerpt(&self.program.to_string()), self.exits);
        if let Some(test) = &self.prints {
            expected = format!("{expected}, and its output {}", test.words(test.negated));
        }
        let answer = match subject.ending_of(&self.program) {
            Ok(ending) if ending.exit_code == self.exits => match &self.prints {
                Some(test) => match ending.text() {
                    Ok(stdout) => printed(test, stdout, expected),
                    Err(why) => CheckAnswer::new(Status::Unknown, expected, why),
                },
                None => CheckAnswer::holds(true, expected, ending.words()),
            },
            Ok(ending) => match ending.fault() {
                Some(why) => CheckAnswer::new(Status::Unknown, expected, why),
                None => CheckAnswer::holds(false, expected, ending.words()),
            },
            Err(why) => CheckAnswer::new(Status::Unknown, expected, why),
        };
        Some(answer.at(EventRef::End))
    }

    fn written(&self) -> Option<WrittenCheck> {
        let WorkspaceProgram::Command { line, timeout, files } = &self.program else { return None };
        if !files.is_empty() {
            return None;
        }
        let mut written = WrittenCheck::new(line.as_str());
        if self.exits != 0 {
            written = written.with("exits", self.exits);
        }
        let written = timeout.iter().fold(written, |written, timeout| written.with("timeoutS", timeout.as_secs()));
        self.prints.iter().try_fold(written, WrittenCheck::with_test)
    }

    fn names(&self) -> Named<'_> {
        Named { program: Some(&self.program), ..Named::default() }
    }

    fn without_effect(&self) -> Option<String> {
        match &self.program {
            WorkspaceProgram::Command { line, .. } if line.trim().is_empty() => {
                Some("the command is empty: it always exits with 0".to_owned())
            }
            _ => self.prints.as_ref()?.without_text(),
        }
    }
}

/// The answer by the standard output.
fn printed(test: &TextTest, stdout: &str, expected: String) -> CheckAnswer {
    match test.of(stdout, false) {
        TextResult::Holds(_) => {
            CheckAnswer::holds(!test.negated, expected, format!("it printed {}", excerpt(stdout.trim())))
        }
        // What cannot be read does not show that a value is not there.
        TextResult::Differs(why) if test.negated && test.looks_into_no_json(stdout) => {
            CheckAnswer::new(Status::Unknown, expected, why)
        }
        TextResult::Differs(why) => CheckAnswer::holds(test.negated, expected, format!("of its output: {why}")),
        TextResult::Unknown(why) => CheckAnswer::new(Status::Unknown, expected, why),
    }
}
