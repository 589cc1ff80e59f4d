//! A command line, run after the agent in a copy of the workspace, writes a score.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::run::RUN;
use crate::checks::contents::Unknown;
use crate::checks::program::{ProgramEnding, WorkspaceProgram};
use crate::checks::{CaseCheck, CheckAnswer, Condition, GradingInput, Named};
use crate::text::relative_path::RelativePath;
use crate::trace::excerpt;
use crate::trial::outcome::Status;
use crate::trial::span::EventRef;

/// This command line for `/bin/sh` writes a JSON object with the full `score`, 1, whatever its exit status. Each of `files` is a
/// directory of the repository with its path in the copy of the workspace.
pub fn full_score(line: String, files: Vec<(RelativePath, RelativePath)>) -> CaseCheck {
    CaseCheck::implied(&RUN, ScoreCheck(WorkspaceProgram::Command { line, timeout: None, files }))
}

#[derive(Debug, Serialize)]
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
    /// The score of a command that ended; else why it has none.
    fn read(ending: &ProgramEnding) -> Result<(f64, Self), Unknown> {
        let no_score = || format!("its standard output has no score; {}", ending.words()).into();
        ending.fault().map_or_else(|| Self::object(&ending.stdout).ok_or_else(no_score), Err)
    }

    /// The object in a command's output, from its first brace to its last.
    fn object(stdout: &str) -> Option<(f64, Self)> {
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

impl Condition for ScoreCheck {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let expected = format!("`{}` writes the score 1", excerpt(&self.0.to_string()));
        let answer = match subject.ending_of(&self.0).and_then(Scored::read) {
            Err(why) => CheckAnswer::new(Status::Unknown, expected, why),
            Ok((score, scored)) => {
                let found = format!("score {score}: {}", scored.said());
                let answer = CheckAnswer::holds(score >= 1.0, expected, excerpt(found.trim_end_matches(": ")));
                CheckAnswer { score: Some(score.clamp(0.0, 1.0)), ..answer }
            }
        };
        Some(answer.at(EventRef::End))
    }

    fn names(&self) -> Named<'_> {
        Named { program: Some(&self.0), ..Named::default() }
    }
}
