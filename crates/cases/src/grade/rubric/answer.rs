//! A judge's answer, and what makes it usable.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::checks::schema::Schema;
use crate::trace::excerpt;

/// A judge's usable answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgeAnswer {
    /// Whether every check passes.
    pub overall_pass: bool,
    /// 0 to 100, if the schema requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    pub checks: Vec<RubricPoint>,
}

/// A judge's result for one point of the rubric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RubricPoint {
    /// In kebab-case.
    pub id: String,
    pub pass: bool,
    /// The evidence.
    pub notes: String,
}

impl JudgeAnswer {
    /// Reads a judge's final message, which must have the checks with the ids in `required`. An error is the end of a
    /// sentence that starts with the answer.
    pub(super) fn read(text: Option<&str>, schema: &Schema, required: &[String]) -> Result<Self, String> {
        let text = text.map(str::trim).filter(|text| !text.is_empty()).ok_or("is missing")?;
        let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
        let problems =
            schema.problems(&value, 3).map_err(|why| format!("cannot be held against the schema, which {why}"))?;
        if !problems.is_empty() {
            return Err(format!("does not follow the schema: {}", problems.join("; ")));
        }
        // A repository's own schema may require less. From the text: a value has lost the first of two equal keys.
        let answer: Self = serde_json::from_str(text).map_err(|error| format!("is not a rubric: {error}"))?;
        answer.check(required)?;
        Ok(answer)
    }

    fn check(&self, required: &[String]) -> Result<(), String> {
        if self.checks.is_empty() {
            return Err("has no checks".to_owned());
        }
        if let Some(id) = required.iter().find(|id| !self.checks.iter().any(|point| point.id == **id)) {
            return Err(format!("has no check `{id}`"));
        }
        for (at, point) in self.checks.iter().enumerate() {
            let shown = excerpt(&point.id);
            if !point.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                || point.id.is_empty()
            {
                return Err(format!("has a check {shown:?}, which is not a name in kebab-case"));
            }
            if self.checks[..at].iter().any(|other| other.id == point.id) {
                return Err(format!("has the check `{shown}` twice"));
            }
            if point.notes.trim().is_empty() {
                return Err(format!("gives no evidence for `{shown}`"));
            }
        }
        match (self.overall_pass, self.checks.iter().all(|point| point.pass)) {
            (true, false) => Err("contradicts itself: it passes as a whole, and a check does not".to_owned()),
            (false, true) => Err("contradicts itself: every check passes, and it does not as a whole".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<JudgeAnswer, String> {
        let schema = Schema::parse(crate::grade::rubric::BUILT_IN_SCHEMA.as_bytes()).expect("a schema");
        JudgeAnswer::read(Some(text), &schema, &["a".to_owned(), "b".to_owned()])
    }

    fn answer(overall: bool, checks: &[(&str, bool, &str)]) -> String {
        let checks: Vec<Value> = checks
            .iter()
            .map(|(id, pass, notes)| serde_json::json!({"id": id, "pass": pass, "notes": notes}))
            .collect();
        serde_json::json!({"overall_pass": overall, "score": 5, "checks": checks}).to_string()
    }

    #[test]
    fn an_answer_is_usable_when_it_has_every_check_with_evidence() {
        let read = read(&answer(false, &[("a", true, "line 3"), ("b", false, "no file"), ("c", true, "more")]));
        assert_eq!(read.map(|answer| answer.checks.len()), Ok(3));
    }

    #[test]
    fn an_answer_is_unusable_when_it_is_incomplete_or_contradicts_itself() {
        let why = |text: &str| read(text).expect_err("a reason");
        assert!(why("").contains("missing"));
        assert!(why("```json\n{}\n```").contains("not JSON"));
        assert!(why(r#"{"overall_pass":true,"score":101,"checks":[]}"#).contains("schema"));
        assert!(why(&answer(true, &[])).contains("no checks"));
        assert!(why(&answer(true, &[("a", true, "x")])).contains("no check `b`"));
        assert!(why(&answer(true, &[("a", true, "x"), ("b", true, " ")])).contains("no evidence for `b`"));
        assert!(why(&answer(true, &[("a", true, "x"), ("b", true, "x"), ("a", true, "x")])).contains("`a` twice"));
        assert!(why(&answer(true, &[("a", true, "x"), ("b", true, "x"), ("C d", true, "x")])).contains("kebab-case"));
        assert!(why(&answer(true, &[("a", true, "x"), ("b", false, "x")])).contains("contradicts itself"));
        assert!(why(&answer(false, &[("a", true, "x"), ("b", true, "x")])).contains("contradicts itself"));
        let good = answer(true, &[("a", true, "x"), ("b", true, "x")]);
        assert!(why(&good.replacen("\"pass\"", "\"pass\":false,\"pass\"", 1)).contains("duplicate field `pass`"));
        assert!(why(&good.replacen('{', "{\"checks\":[],", 1)).contains("duplicate field `checks`"));
        assert!(why(&good.replacen('{', "{\"score\":1,", 1)).contains("duplicate field `score`"));
    }
}
