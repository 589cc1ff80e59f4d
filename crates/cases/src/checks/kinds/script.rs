//! A script of the repository answers: by its exit status, or by JSON on its standard output.

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::checks::grading_input::Unknown;
use crate::checks::grading_input::{ProgramEnding, WorkspaceProgram};
use crate::checks::text_test::json_text;
use crate::checks::{
    CaseCheck, CheckAnswer, CheckKind, Condition, FieldForm, FieldValue, GradingInput, Named, WrittenCheck,
};
use crate::text::name::RelativePath;
use crate::trace::excerpt;
use crate::trial::outcome::{Goal, Status};
use crate::trial::span::EventRef;

/// The column and key of cases, and the key of the settings file.
pub const KEY: &str = "check";

/// Maximum number of results of a script.
const MAX_RESULTS: usize = 1000;

/// The line of standard error before the report of an exception in Python.
const PYTHON_TRACEBACK: &str = "Traceback (most recent call last):";

/// The starts of Python's last line about a script that it cannot parse.
const PYTHON_SYNTAX: [&str; 3] = ["SyntaxError: ", "IndentationError: ", "TabError: "];

pub(in crate::checks) static SCRIPT: CheckKind =
    CheckKind::new("check", Goal::Outcome).with_field(KEY, KEY, FieldForm::Sources, |value| match value {
        FieldValue::Path(path) => Some(Arc::new(ScriptCheck(WorkspaceProgram::Script(path)))),
        _ => None,
    });

/// The script at `path` answers, by no field of the case.
pub fn script(path: RelativePath) -> CaseCheck {
    CaseCheck::implied(&SCRIPT, ScriptCheck(WorkspaceProgram::Script(path)))
}

#[derive(Debug, Serialize)]
struct ScriptCheck(WorkspaceProgram);

/// What a script writes to its standard output, if it does not answer by its exit status alone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptAnswer {
    score: Option<f64>,
    checks: Vec<ScriptResult>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptResult {
    id: String,
    pass: bool,
    expected: Option<Json>,
    evidence: Option<Json>,
}

impl Condition for ScriptCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        self.answers(subject).into_iter().next()
    }

    fn answers(&self, subject: &GradingInput<'_>) -> Vec<CheckAnswer> {
        let answers = subject.ending_of(&self.0).and_then(|ending| self.read(ending));
        answers.unwrap_or_else(|why| vec![self.answer(Status::Unknown, why.0)])
    }

    fn written(&self) -> Option<WrittenCheck> {
        Some(WrittenCheck::new(format!("/{}", self.0.script()?)))
    }

    fn names(&self) -> Named<'_> {
        Named { program: Some(&self.0), ..Named::default() }
    }
}

impl ScriptCheck {
    /// The name of its results. It differs from the id of every kind of check.
    fn name(&self) -> String {
        let path = self.0.to_string();
        if path.contains('/') { path } else { format!("./{path}") }
    }

    /// The answer of the script as a whole.
    fn answer(&self, status: Status, found: String) -> CheckAnswer {
        CheckAnswer::new(status, format!("`{}` passes", self.0), found).at(EventRef::End).named(self.name())
    }

    /// The answers of a script that ended; else why it did not answer.
    fn read(&self, ending: &ProgramEnding) -> Result<Vec<CheckAnswer>, Unknown> {
        let ProgramEnding { exit_code, stdout, stderr, not_started, .. } = ending;
        if let Some(why) = not_started {
            return Err(why.as_str().into());
        }
        let stdout = json_text(stdout);
        if let Some(crash) = self.crash(stderr).filter(|_| *exit_code == 1) {
            return Err(format!("the script crashed: {crash}").into());
        }
        let status = match exit_code {
            0 => Status::Pass,
            1 => Status::Fail,
            code => {
                let said = said(stdout, stderr);
                let expected = "expected 0 for a pass or 1 for a failure";
                return Err(format!("exit status {code}; {expected}{said}").into());
            }
        };
        ending.text()?;
        if !stdout.split(['\n', '\r']).any(may_be_answer) {
            return Ok(vec![self.answer(status, format!("exit status {exit_code}{}", said(stdout, stderr)))]);
        }
        let answer: ScriptAnswer = serde_json::from_str(stdout)
            .map_err(|error| format!("its standard output is not an answer: {error}; it wrote {}", excerpt(stdout)))?;
        let results = self.results(answer)?;
        if status == Status::Fail && results.iter().all(|answer| answer.status == Status::Pass) {
            return Err("exit status 1, but every check in its answer passes".into());
        }
        Ok(results)
    }

    /// The exception that ended the script, by its standard error. Python and Node.js exit with 1 after an exception, which
    /// would be a failure. A failed assertion is one. The report of an exception names the files that it came through: without
    /// one of the script's directory, it is of another program, such as one that the agent wrote and the script runs.
    fn crash(&self, stderr: &str) -> Option<String> {
        let at = stderr.rfind(PYTHON_TRACEBACK).unwrap_or_default();
        let report = &stderr[at..];
        let path = self.0.script()?.as_path();
        let own = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(path);
        if !report.contains(&format!("/{}", own.display())) {
            return None;
        }
        let last = report.lines().rev().find(|line| !line.trim().is_empty())?;
        let exception = if report.starts_with(PYTHON_TRACEBACK) {
            report.lines().skip(1).find(|line| !line.is_empty() && !line.starts_with(char::is_whitespace))?
        } else if last.starts_with("Node.js v") {
            let is_error = |line: &&str| line.split([':', ' ']).next().is_some_and(|name| name.ends_with("Error"));
            report.lines().find(is_error).unwrap_or(last)
        } else {
            // What Python cannot parse has no traceback.
            Some(last).filter(|last| PYTHON_SYNTAX.iter().any(|name| last.starts_with(name)))?
        };
        (!exception.starts_with("AssertionError")).then(|| excerpt(exception))
    }

    fn results(&self, answer: ScriptAnswer) -> Result<Vec<CheckAnswer>, Unknown> {
        let ScriptAnswer { score, checks } = answer;
        let mut ids = HashSet::new();
        let invalid = checks.iter().find(|check| check.id.trim().is_empty() || !ids.insert(check.id.clone()));
        if let Some(ScriptResult { id, .. }) = invalid {
            return Err(format!("its answer has the id {id:?} twice, or an empty id").into());
        }
        if checks.is_empty() || checks.len() > MAX_RESULTS {
            return Err(format!("its answer has {} checks; expected 1 to {MAX_RESULTS}", checks.len()).into());
        }
        if let Some(score) = score.filter(|score| !score.is_finite()) {
            return Err(format!("its score is {score}").into());
        }
        // Of all its checks together; the text of the first result says it.
        let share = score.filter(|score| (0.0..=1.0).contains(score));
        let mut score = score.map(|score| format!("score {score}"));
        let results = checks.into_iter().map(|ScriptResult { id, pass, expected, evidence }| {
            let expected = expected.map_or_else(|| format!("`{}` passes {id}", self.0), text);
            let said = [evidence.map(text), score.take()].into_iter().flatten().collect::<Vec<_>>().join("; ");
            let found = if said.is_empty() { if pass { "it does" } else { "it does not" }.to_owned() } else { said };
            let answer = CheckAnswer::holds(pass, expected, found).at(EventRef::End);
            CheckAnswer { score: share, ..answer }.named(format!("{}: {}", self.name(), excerpt(&id)))
        });
        Ok(results.collect())
    }
}

/// Whether a line of standard output may begin an answer: a JSON object, or a list of them.
fn may_be_answer(line: &str) -> bool {
    let line = json_text(line);
    let in_list = line.strip_prefix('[').map(str::trim_start);
    line.starts_with('{') || in_list.is_some_and(|rest| rest.is_empty() || rest.starts_with('{'))
}

/// A JSON value as text on one line.
fn text(value: Json) -> String {
    match value {
        Json::String(text) => excerpt(&text),
        other => excerpt(&other.to_string()),
    }
}

/// What a script wrote, to be added to its exit status.
fn said(stdout: &str, stderr: &str) -> String {
    let line = if stdout.is_empty() { stderr.lines().rev().find(|line| !line.trim().is_empty()) } else { Some(stdout) };
    line.map_or_else(String::new, |line| format!(": {}", excerpt(line.trim())))
}
