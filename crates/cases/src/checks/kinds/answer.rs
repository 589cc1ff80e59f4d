//! The content of a final message that is JSON.

use serde::Serialize;
use serde_json::Value as Json;

use crate::checks::schema::Schema;
use crate::checks::text_test::json_text;
use crate::checks::{CaseCheck, CheckAnswer, CheckKind, Condition, GradingInput};
use crate::skill::slug;
use crate::text::relative_path::RelativePath;
use crate::trial::outcome::{Goal, Status};
use crate::trial::reading::Reading;

pub(in crate::checks) static OUTPUT_SCHEMA: CheckKind =
    CheckKind::new("output-schema", Goal::Style).by(Reading::Answer);

pub(in crate::checks) static INVOKED_SKILLS: CheckKind =
    CheckKind::new("invoked-skills", Goal::Style).about_skill().by(Reading::Answer);

/// The final message is JSON that follows the schema at `path`.
pub fn output_schema(path: RelativePath) -> CaseCheck {
    CaseCheck::implied(&OUTPUT_SCHEMA, MatchesSchema { path })
}

/// The final message's `invoked_skills` names the skill under test, or does not.
pub fn invoked_skills(should: bool) -> CaseCheck {
    CaseCheck::implied(&INVOKED_SKILLS, InvokedSkills { should })
}

#[derive(Debug, Serialize)]
struct MatchesSchema {
    path: RelativePath,
}

#[derive(Debug, Serialize)]
struct InvokedSkills {
    should: bool,
}

/// The final message as JSON; else the status of the check and the reason.
fn json(subject: &GradingInput<'_>) -> Result<Json, (Status, String)> {
    let text = subject.final_text()?;
    serde_json::from_str(json_text(text))
        .map_err(|error| (Status::Fail, format!("the final message is not JSON: {error}")))
}

impl Condition for MatchesSchema {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let (status, found) = match subject.schema {
            Some(schema) => follows(subject, schema),
            None => (Status::Unknown, "the schema could not be read".to_owned()),
        };
        let expected = format!("the final message follows {}", self.path);
        Some(CheckAnswer::new(status, expected, found).at(subject.final_event()))
    }
}

fn follows(subject: &GradingInput<'_>, schema: &Json) -> (Status, String) {
    let schema = match Schema::new(schema.clone()) {
        Ok(schema) => schema,
        Err(why) => return (Status::Unknown, format!("the schema {why}")),
    };
    let problems = match json(subject) {
        Ok(answer) => schema.problems(&answer, 5),
        Err(not_json) => return not_json,
    };
    match problems {
        Ok(problems) if problems.is_empty() => (Status::Pass, "it does".to_owned()),
        Ok(problems) => (Status::Fail, problems.join("; ")),
        Err(why) => (Status::Unknown, format!("the schema {why}")),
    }
}

impl Condition for InvokedSkills {
    fn evaluate(&self, subject: &GradingInput<'_>) -> Option<CheckAnswer> {
        let name = &subject.skill.name;
        let expected = format!("`invoked_skills` {} `{name}`", if self.should { "names" } else { "does not name" });
        let (status, found) = match json(subject) {
            Err(why) => why,
            Ok(answer) => match answer.get("invoked_skills").and_then(Json::as_array) {
                None => (Status::Fail, "the final message has no list `invoked_skills`".to_owned()),
                Some(list) if !list.iter().all(Json::is_string) => {
                    (Status::Fail, format!("`invoked_skills` holds an invalid name: {}", Json::Array(list.clone())))
                }
                Some(list) => {
                    // `$name` and `Name` name the same skill as `name`.
                    let named = list.iter().filter_map(Json::as_str).any(|found| slug(found) == subject.skill.slug);
                    let status = if named == self.should { Status::Pass } else { Status::Fail };
                    (status, format!("invoked_skills: {}", Json::Array(list.clone())))
                }
            },
        };
        Some(CheckAnswer::new(status, expected, found).at(subject.final_event()))
    }
}
