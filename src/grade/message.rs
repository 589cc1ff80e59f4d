//! What is checked of an agent's final message.

use serde_json::Value;

use crate::cases::case::Pattern;
use crate::cases::schema::Schema;
use crate::cases::skill::slug;
use crate::grade::checks::Grader;
use crate::trial::outcome::{Goal, Status};
use crate::trial::trace::excerpt;

/// What is found where the agent said nothing at its end.
const NO_MESSAGE: &str = "there is no final message";

impl Grader<'_> {
    pub(super) fn final_message(&mut self) {
        let text = self.final_text();
        let found = text.map_or_else(|| "none".to_owned(), excerpt);
        let status = if text.is_some() { Status::Pass } else { self.silent() };
        self.check("final-message", Goal::Outcome, status, "a final message", found);
    }

    pub(super) fn output_contains(&mut self, text: &str) {
        let found = self.final_text().map(|found| found.to_lowercase().contains(&text.to_lowercase()));
        self.output("output-contains", found, format!("the final message contains {text:?}"));
    }

    pub(super) fn output_matches(&mut self, pattern: &Pattern) {
        self.matches("output-matches", pattern, pattern.compile_exact());
    }

    pub(super) fn must_include(&mut self, pattern: &Pattern) {
        self.matches("must-include", pattern, pattern.compile_loose());
    }

    /// What it means that there is no final message: it may be in what could not be read.
    fn silent(&self) -> Status {
        if self.evidence.trace.gap().is_some() { Status::Unknown } else { self.missing() }
    }

    fn final_text(&self) -> Option<&str> {
        self.evidence.final_text.filter(|text| !text.trim().is_empty())
    }

    pub(super) fn must_not_include(&mut self, pattern: &Pattern) {
        let regex = match pattern.compile_loose() {
            Ok(regex) => regex,
            Err(error) => return self.bad_pattern("must-not-include", &error),
        };
        let text = self.final_text();
        let hit = text.and_then(|text| regex.find(text)).map(|hit| excerpt(hit.as_str()));
        let evidence = match (&hit, text) {
            (Some(hit), _) => format!("found {hit:?}"),
            (None, Some(_)) => "not found".to_owned(),
            (None, None) => NO_MESSAGE.to_owned(),
        };
        let expected = format!("the final message does not match {:?}", pattern.0);
        let status = match (hit, text) {
            (Some(_), _) => Status::Fail,
            (None, Some(_)) => Status::Pass,
            (None, None) => Status::Unknown,
        };
        self.check("must-not-include", Goal::Outcome, status, expected, evidence);
    }

    fn matches(&mut self, id: &str, pattern: &Pattern, regex: Result<regex::Regex, regex::Error>) {
        match regex {
            Ok(regex) => {
                let found = self.final_text().map(|text| regex.is_match(text));
                self.output(id, found, format!("the final message matches {:?}", pattern.0));
            }
            Err(error) => self.bad_pattern(id, &error),
        }
    }

    fn output(&mut self, id: &str, found: Option<bool>, expected: String) {
        let evidence = match found {
            Some(true) => "it does".to_owned(),
            Some(false) => format!("it does not: {}", excerpt(self.final_text().unwrap_or_default())),
            None => NO_MESSAGE.to_owned(),
        };
        let status = match found {
            Some(true) => Status::Pass,
            Some(false) => Status::Fail,
            None => self.silent(),
        };
        self.check(id, Goal::Outcome, status, expected, evidence);
    }

    fn bad_pattern(&mut self, id: &str, error: &regex::Error) {
        self.check(id, Goal::Outcome, Status::Unknown, "a pattern that compiles", error.to_string());
    }

    /// The final message as JSON, or what kept it from being that and what follows from it.
    fn answer(&self) -> Result<Value, (Status, String)> {
        let text = self.final_text().ok_or_else(|| (self.silent(), NO_MESSAGE.to_owned()))?;
        let not_json = |error| (Status::Fail, format!("the final message is not JSON: {error}"));
        serde_json::from_str(text.trim()).map_err(not_json)
    }

    pub(super) fn output_schema(&mut self) {
        let expected = match &self.case.output_schema {
            Some(path) => format!("the final message follows {path}"),
            None => "the final message follows the output schema".to_owned(),
        };
        let Some(schema) = self.schema else {
            return self.check("output-schema", Goal::Style, Status::Unknown, expected, "the schema could not be read");
        };
        let unusable = |why: &dyn std::fmt::Display| (Status::Unknown, format!("the schema {why}"));
        let (status, found) = match (self.answer(), Schema::new(schema.clone())) {
            (_, Err(why)) => unusable(&why),
            (Err(why), _) => why,
            (Ok(answer), Ok(schema)) => match schema.problems(&answer, 5) {
                Err(why) => unusable(&why),
                Ok(problems) if problems.is_empty() => (Status::Pass, "it does".to_owned()),
                Ok(problems) => (Status::Fail, problems.join("; ")),
            },
        };
        self.check("output-schema", Goal::Style, status, expected, found);
    }

    pub(super) fn invoked_skills(&mut self, should: bool) {
        let name = &self.skill.name;
        let expected = format!("`invoked_skills` {} `{name}`", if should { "names" } else { "does not name" });
        let (status, evidence) = match self.answer() {
            Err(why) => why,
            Ok(answer) => match answer.get("invoked_skills").and_then(Value::as_array) {
                None => (Status::Fail, "the final message has no list `invoked_skills`".to_owned()),
                Some(list) if !list.iter().all(Value::is_string) => {
                    (Status::Fail, format!("`invoked_skills` holds what is no name: {}", Value::Array(list.clone())))
                }
                Some(list) => {
                    // `$name` and `Name` name the same skill as `name`.
                    let named = list.iter().filter_map(Value::as_str).any(|found| slug(found) == self.skill.slug);
                    let status = if named == should { Status::Pass } else { Status::Fail };
                    (status, format!("invoked_skills: {}", Value::Array(list.clone())))
                }
            },
        };
        self.check("invoked-skills", Goal::Style, status, expected, evidence);
    }
}
