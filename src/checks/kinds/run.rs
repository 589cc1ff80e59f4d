//! A command line, run after the agent in a copy of the workspace, exits with a status.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::checks::program::{ProgramEnding, WorkspaceProgram};
use crate::checks::{Ask, Check, CheckAnswer, CheckKind, FieldForm, InvalidCheck, ListForm, Subject};
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

/// The exit statuses of shells after a signal: 128, and its number.
const SIGNALS: RangeInclusive<i32> = 129..=192;

/// The greatest exit status.
const MOST_STATUS: u64 = 255;

pub(in crate::checks) static RUN: CheckKind = CheckKind::new("run", Goal::Outcome).in_list(&ListForm {
    key: "run",
    form: FieldForm::Text,
    options: &[("exits", FieldForm::Number { least: 0, most: MOST_STATUS })],
    tests: false,
    ask: |check| match check.text("run").filter(|line| !line.trim().is_empty()) {
        Some(line) => {
            let exits = check.number("exits").and_then(|status| i32::try_from(status).ok()).unwrap_or_default();
            let program = WorkspaceProgram::Command { line: line.to_owned(), timeout: None };
            Ok(Arc::new(RunCheck { program, exits }))
        }
        None => Err(InvalidCheck::new("run", "`run` names no command", "write a command line for /bin/sh")),
    },
});

/// This command line for `/bin/sh` exits with this status, within `timeout` if there is one.
pub fn run(line: String, exits: i32, timeout: Option<Duration>) -> Check {
    Check::implied(&RUN, RunCheck { program: WorkspaceProgram::Command { line, timeout }, exits })
}

#[derive(Debug)]
struct RunCheck {
    program: WorkspaceProgram,
    exits: i32,
}

impl Ask for RunCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let expected = format!("`{}` exits with {}", excerpt(&self.program.to_string()), self.exits);
        let answer = match subject.ending_of(&self.program) {
            Ok(ProgramEnding { exit_code, not_started: Some(why), .. }) if *exit_code != self.exits => {
                CheckAnswer::new(Status::Unknown, expected, why)
            }
            Ok(ProgramEnding { exit_code, .. }) if SIGNALS.contains(exit_code) && *exit_code != self.exits => {
                let found = format!("it was ended by the signal {}", exit_code - SIGNALS.start() + 1);
                CheckAnswer::new(Status::Unknown, expected, found)
            }
            Ok(ProgramEnding { exit_code, stdout, stderr, .. }) => {
                let output = if stderr.trim().is_empty() { stdout } else { stderr };
                let last = output.lines().rev().find(|line| !line.trim().is_empty());
                let said = last.map_or_else(String::new, |line| format!(": {}", excerpt(line.trim())));
                CheckAnswer::holds(*exit_code == self.exits, expected, format!("exit status {exit_code}{said}"))
            }
            Err(why) => CheckAnswer::new(Status::Unknown, expected, why),
        };
        Some(answer.at(EventRef::End))
    }

    fn program(&self) -> Option<&WorkspaceProgram> {
        Some(&self.program)
    }
}
