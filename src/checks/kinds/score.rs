//! A command line, run after the agent in a copy of the workspace, writes a score.

use serde::Deserialize;
use serde_json::Value as Json;

use super::run::{RUN, SIGNALS};
use crate::checks::program::{ProgramEnding, WorkspaceProgram};
use crate::checks::{Ask, Check, CheckAnswer, Subject};
use crate::text::relative_path::RelativePath;
use crate::trace::excerpt;
use crate::trial::outcome::Status;
use crate::trial::span::EventRef;

/// This command line for `/bin/sh` writes a JSON object with the full `score`, 1, whatever its exit status. Each of `files` is a
/// directory of the repository with its path in the copy of the workspace.
pub fn full_score(line: String, files: Vec<(RelativePath, RelativePath)>) -> Check {
    Check::implied(&RUN, ScoreCheck(WorkspaceProgram::Command { line, timeout: None, files }))
}

#[derive(Debug)]
struct ScoreCheck(WorkspaceProgram);

/// What a command writes that gives a score.
#[derive(Debug, Deserialize)]
struct Scored {
    score: Json,
    #[serde(default)]
    details: Json,
    #[serde(default)]
    checks: Vec<Json>,
}

impl Scored {
    /// The object in a command's output, from its first brace to its last.
    fn read(stdout: &str) -> Option<(f64, Self)> {
        let object = stdout.get(stdout.find('{')?..=stdout.rfind('}')?)?;
        let scored: Self = serde_json::from_str(object).ok()?;
        let score = scored.score.as_f64().or_else(|| scored.score.as_str()?.trim().parse().ok())?;
        score.is_finite().then_some((score, scored))
    }

    /// Its details, and the checks in it that did not pass.
    fn said(&self) -> String {
        let field = |check: &Json, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        let failed = self.checks.iter().filter(|check| check["passed"] != Json::Bool(true));
        let failed = failed.map(|check| format!("{}: {}", field(check, "name"), field(check, "message")));
        let details = self.details.as_str().unwrap_or_default().to_owned();
        std::iter::once(details).chain(failed).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
    }
}

impl Ask for ScoreCheck {
    fn evaluate(&self, subject: &Subject<'_>) -> Option<CheckAnswer> {
        let expected = format!("`{}` writes the score 1", excerpt(&self.0.to_string()));
        let unknown = |why: String| CheckAnswer::new(Status::Unknown, &*expected, why);
        let answer = match subject.ending_of(&self.0) {
            Err(why) => unknown(why),
            Ok(ProgramEnding { not_started: Some(why), .. }) => unknown(why.clone()),
            Ok(ProgramEnding { exit_code, .. }) if SIGNALS.contains(exit_code) => {
                unknown(format!("it was ended by the signal {}", exit_code - SIGNALS.start() + 1))
            }
            Ok(ProgramEnding { exit_code, stdout, stderr, .. }) => {
                if let Some((score, scored)) = Scored::read(stdout) {
                    let found = format!("score {score}: {}", scored.said());
                    let answer = CheckAnswer::holds(score >= 1.0, &*expected, excerpt(found.trim_end_matches(": ")));
                    CheckAnswer { score: Some(score.clamp(0.0, 1.0)), ..answer }
                } else {
                    let output = if stderr.trim().is_empty() { stdout } else { stderr };
                    let last = output.lines().rev().find(|line| !line.trim().is_empty());
                    let said = last.map_or_else(String::new, |line| format!(": {}", excerpt(line.trim())));
                    unknown(format!("its standard output has no score; exit status {exit_code}{said}"))
                }
            }
        };
        Some(answer.at(EventRef::End))
    }

    fn program(&self) -> Option<&WorkspaceProgram> {
        Some(&self.0)
    }
}
