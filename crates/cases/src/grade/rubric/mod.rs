//! The rubric: what a judge is asked about a trial, which answers are usable, and how they change the trial's grade.
//!
//! A judge is an agent of its own that reads a copy of the evidence. A trial that failed by the evidence stays failed.
//! Without a usable answer, a trial that passed is unscored.

mod template;

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cases::case::Assertion;
use crate::cases::repository::judge_texts;
use crate::checks::schema::Schema;
use crate::grade::verdict::{ASSERTION, RUBRIC, has_weights, pending, settle};
use crate::settings::Settings;
use crate::stats::proportion::Rate;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Usage, excerpt};
use crate::trial::evidence::{AgentMeta, Inputs, digest};
use crate::trial::outcome::{CheckResult, Goal, Grade, Judged, Status, Verdict, Weight};

pub use crate::cases::repository::{BUILT_IN_SCHEMA, BUILT_IN_TEMPLATE, SCHEMA, TEMPLATE, judge_paths};
pub use template::{JudgeSubject, PLACEHOLDERS};

/// The part of a judgment's inputs for its prompt.
pub const JUDGES_PROMPT: &str = "judge's prompt";

/// The part of a judgment's inputs for the evidence.
pub const EVIDENCE: &str = "evidence";

/// The templates of the judge's prompt, and the schema of its answer.
#[derive(Debug)]
pub struct Rubric {
    template: template::Template,
    /// For cases that have assertions and are not graded by the rubric.
    assertions_only: template::Template,
    schema: Schema,
    schema_text: String,
}

/// The rubric of the repository at `root`.
pub fn read(root: &Path, settings: &Settings) -> Result<Rubric, Box<Diagnostic>> {
    let ([template_path, schema_path], [template, schema]) = (judge_paths(settings), judge_texts(root, settings)?);
    Rubric::new((template_path, &template), (schema_path, &schema))
}

/// The same with its checks in the other order; `None` if there are fewer than two.
pub fn read_reversed(root: &Path, settings: &Settings) -> Result<Option<Rubric>, Box<Diagnostic>> {
    let ([template_path, schema_path], [text, schema]) = (judge_paths(settings), judge_texts(root, settings)?);
    let other = template::reversed(&text);
    other.map(|other| Rubric::new((template_path, &other), (schema_path, &schema))).transpose()
}

/// What a judge is asked about the trials of a case.
#[derive(Clone, Copy, Debug)]
pub struct JudgeQuestion<'a> {
    rubric: &'a Rubric,
    template: &'a template::Template,
    /// Whether the rubric's own points count.
    by_rubric: bool,
    assertions: &'a [Assertion],
}

impl Rubric {
    pub fn new(template: (&Path, &str), schema: (&Path, &str)) -> Result<Self, Box<Diagnostic>> {
        let template = template::Template::parse(template.0, template.1)?;
        let assertions_only = template::Template::without_checks(Path::new(TEMPLATE), BUILT_IN_TEMPLATE)?;
        let (path, schema_text) = (schema.0, schema.1.to_owned());
        let schema = Schema::parse(schema_text.as_bytes()).map_err(|why| {
            let message = format!("this schema of the judge's answer cannot be used: it {why}");
            Box::new(Diagnostic::new(Code::BadSchema, SourceLocation::file(path), message))
        })?;
        Ok(Self { template, assertions_only, schema, schema_text })
    }

    /// The schema's text, for the judge's program.
    pub fn schema(&self) -> &str {
        &self.schema_text
    }

    /// What is asked about a case with these assertions. `by_rubric` says whether the rubric's own points count, too.
    pub fn question<'a>(&'a self, by_rubric: bool, assertions: &'a [Assertion]) -> JudgeQuestion<'a> {
        let by_rubric = by_rubric || assertions.is_empty();
        let template = if by_rubric { &self.template } else { &self.assertions_only };
        JudgeQuestion { rubric: self, template, by_rubric, assertions }
    }
}

impl JudgeQuestion<'_> {
    /// The judge's prompt.
    pub fn prompt(&self, subject: &JudgeSubject<'_>) -> String {
        let assertions: Vec<&str> = self.assertions.iter().map(|assertion| assertion.text.as_str()).collect();
        self.template.render(subject, &assertions)
    }

    /// Reads a judge's final message. An error is the end of a sentence that starts with the answer.
    pub fn answer(&self, text: Option<&str>) -> Result<JudgeAnswer, String> {
        let assertions = (1..=self.assertions.len()).map(template::assertion_id);
        let required: Vec<String> = self.template.checks.iter().cloned().chain(assertions).collect();
        JudgeAnswer::read(text, &self.rubric.schema, &required)
    }

    /// Digests of what is judged and by what. `skill` is its SKILL.md; `evidence` is everything else that the judge sees, in
    /// a form that is the same for a run and for a recording of it.
    pub fn inputs(&self, prompt: &str, skill: &[u8], evidence: &[u8]) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.0.insert("judge's template".to_owned(), self.template.digest());
        inputs.0.insert("judge's schema".to_owned(), digest(self.rubric.schema_text.as_bytes()));
        inputs.add(JUDGES_PROMPT, prompt.as_bytes());
        inputs.add("skill", skill);
        inputs.add(EVIDENCE, evidence);
        inputs
    }
}

/// Adds a judgment about this question to a grade. A failure or an error by the evidence stays one.
pub fn join(mut grade: Grade, judgment: &Judgment, question: JudgeQuestion<'_>) -> Grade {
    if grade.verdict == Verdict::Error {
        return grade;
    }
    grade.judged = Some(Judged::Asked {
        verdict: judgment.verdict,
        score: judgment.score,
        votes: u32::try_from(judgment.votes.len()).unwrap_or(u32::MAX),
        agreement: judgment.agreement,
        agent: judgment.agent.kind,
        model: judgment.agent.model.clone(),
        usage: judgment.usage,
    });
    if has_weights(question.assertions) {
        return join_points(grade, judgment, question);
    }
    grade.checks.extend(checks(judgment, question));
    match (grade.verdict, judgment.verdict) {
        (Verdict::Pass, Verdict::Fail) => grade.verdict = Verdict::Fail,
        (Verdict::Pass, Verdict::Unscored | Verdict::Error) => {
            grade.verdict = Verdict::Unscored;
            grade.trouble.clone_from(&judgment.trouble);
        }
        _ => {}
    }
    grade
}

/// As [`join`], if assertions have weights: each counts by itself.
fn join_points(mut grade: Grade, judgment: &Judgment, question: JudgeQuestion<'_>) -> Grade {
    grade.checks.retain(|check| check.id != ASSERTION);
    grade.checks.extend(checks(judgment, question));
    let grade = settle(grade);
    let trouble = judgment.trouble.clone().filter(|_| grade.verdict == Verdict::Unscored);
    Grade { trouble: trouble.or(grade.trouble), ..grade }
}

/// The grade of a trial that could not be judged: a pass by the evidence becomes unscored. If each assertion counts by itself, the
/// checks say already whether the verdict is open; `by_rubric` says whether the rubric's own points count, too.
pub fn not_judged(mut grade: Grade, by_rubric: bool, assertions: &[Assertion], trouble: Trouble) -> Grade {
    let is_open = by_rubric || !has_weights(assertions);
    if grade.verdict == Verdict::Unscored || (grade.verdict == Verdict::Pass && is_open) {
        grade.verdict = Verdict::Unscored;
        grade.trouble = Some(trouble);
    }
    grade
}

/// The grade of a trial whose stored judgment is stale.
pub fn stale(grade: Grade, by_rubric: bool, assertions: &[Assertion], changed: &[String]) -> Grade {
    let detail = format!("the judge's answer is stale; changed since: {}", changed.join(", "));
    let grade = not_judged(grade, by_rubric, assertions, Trouble::new(TroubleKind::NotJudged, detail));
    Grade { judged: Some(Judged::Stale), ..grade }
}

/// The grade of a recording without a judgment: the verdict by the evidence stays.
pub fn not_recorded(grade: Grade) -> Grade {
    Grade { judged: Some(Judged::NotRecorded), ..grade }
}

/// The grade of a trial with these assertions that no judge was asked about.
pub fn without_judge(grade: Grade, assertions: &[Assertion]) -> Grade {
    if assertions.is_empty() {
        return grade;
    }
    let trouble = Trouble::new(TroubleKind::NotJudged, "no judge was asked about its assertions");
    not_judged(grade, false, assertions, trouble)
}

fn checks(judgment: &Judgment, question: JudgeQuestion<'_>) -> Vec<CheckResult> {
    let JudgeQuestion { assertions, by_rubric, .. } = question;
    let is_scored = has_weights(assertions);
    let mut checks = Vec::new();
    if is_scored && judgment.answers().next().is_none() {
        checks.extend(pending(assertions, "the judge gave no usable answer"));
    }
    let number = |id: &str| (1..=assertions.len()).find(|number| template::assertion_id(*number) == id);
    let mut all_points = judgment.points();
    // Assertions in the order of the case, then the others as the judge mentions them.
    all_points.sort_by_key(|points| number(&points[0].id).unwrap_or(usize::MAX));
    for points in all_points {
        let id = &points[0].id;
        let passing = points.iter().filter(|point| point.pass).count();
        // A point that decides by itself needs more than half of all votes, as the whole does.
        let votes = if is_scored { judgment.votes.len() } else { points.len() };
        let status = match points.len() - passing {
            _ if passing * 2 > votes => Status::Pass,
            failing if failing * 2 > votes => Status::Fail,
            _ => Status::Unknown,
        };
        let mut evidence = points[0].notes.trim().to_owned();
        if judgment.votes.len() > 1 {
            evidence = format!("{passing} of {}: {evidence}", points.len());
        }
        let assertion = number(id).and_then(|number| assertions.get(number - 1));
        checks.push(if let Some(Assertion { text, weight, .. }) = assertion {
            let result = CheckResult::new(ASSERTION, Goal::Outcome, status, text.clone(), evidence);
            CheckResult { weight: *weight, ..result }
        } else {
            let expected = format!("the judge passes `{id}`");
            CheckResult::new(format!("{RUBRIC}{id}"), Goal::Style, status, expected, evidence)
        });
    }
    let status = match judgment.verdict {
        Verdict::Pass => Status::Pass,
        Verdict::Fail => Status::Fail,
        Verdict::Unscored | Verdict::Error => Status::Unknown,
    };
    let score = judgment.score.map_or_else(String::new, |score| format!("; score {score:.0} of 100"));
    let trouble = judgment.trouble.as_ref().map_or_else(String::new, |trouble| format!("; {trouble}"));
    let evidence = format!("{}{score}{trouble}", judgment.tally());
    let expected = "the judge passes the trial".to_owned();
    let overall = CheckResult::new(format!("{RUBRIC}overall"), Goal::Style, status, expected, evidence);
    // The whole passes if every point does. Where points decide by themselves, it says only whether there are enough votes.
    let weight = (is_scored && !(by_rubric && status == Status::Unknown)).then(|| Weight::new(0.0, 0));
    checks.push(CheckResult { weight, ..overall });
    checks
}

// A judge's answer, and what makes it usable.

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
    fn read(text: Option<&str>, schema: &Schema, required: &[String]) -> Result<Self, String> {
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

// The judgment of a trial: the judge's votes, and their result.

/// The number of the `judge.json` format.
pub const JUDGMENT_FORMAT: u32 = 1;

/// A judged trial: the content of `judge.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgment {
    /// [`JUDGMENT_FORMAT`].
    pub format: u32,
    /// Pass or fail if more than half of the votes say so; otherwise unscored.
    pub verdict: Verdict,
    /// Why it is unscored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// The share of the votes that the majority has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<f64>,
    /// The mean score of the usable answers, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The judge.
    pub agent: AgentMeta,
    /// Why the answers are not a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// When the first vote was asked for, RFC 3339, UTC.
    pub started: String,
    /// Digests of what was judged and by what: prompt, template, schema, skill, evidence.
    pub inputs: Inputs,
    /// Tokens and cost of all attempts, if the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Each answer of the judge.
    pub votes: Vec<Vote>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Vote {
    /// The usable answer, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<JudgeAnswer>,
    pub attempts: Vec<Attempt>,
}

/// The judge, asked once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// Why the answer is unusable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    /// The start of an unusable answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Why the judge gave no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// Tokens and cost, if the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

impl Judgment {
    /// Counts the votes. More than half of them must agree: a vote without a usable answer counts for neither side.
    pub fn new(agent: AgentMeta, scripted: Option<String>, started: String, inputs: Inputs, votes: Vec<Vote>) -> Self {
        let answers: Vec<&JudgeAnswer> = votes.iter().filter_map(|vote| vote.answer.as_ref()).collect();
        let passing = answers.iter().filter(|answer| answer.overall_pass).count();
        let failing = answers.len() - passing;
        let scores: Vec<f64> = answers.iter().filter_map(|answer| answer.score).collect();
        #[expect(clippy::cast_precision_loss, reason = "there are a hundred votes at most")]
        let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
        let (verdict, trouble) = if passing * 2 > votes.len() {
            (Verdict::Pass, None)
        } else if failing * 2 > votes.len() {
            (Verdict::Fail, None)
        } else {
            (Verdict::Unscored, Some(undecided(&votes, passing, failing)))
        };
        let share = Rate::new(passing.max(failing) as u64, votes.len() as u64).share();
        let agreement = if trouble.is_none() { share } else { None };
        let usage = votes.iter().flat_map(|vote| &vote.attempts).filter_map(|attempt| attempt.usage).reduce(sum);
        let format = JUDGMENT_FORMAT;
        Self { format, verdict, trouble, agreement, score, agent, scripted, started, inputs, usage, votes }
    }

    /// The usable answers.
    pub fn answers(&self) -> impl Iterator<Item = &JudgeAnswer> {
        self.votes.iter().filter_map(|vote| vote.answer.as_ref())
    }

    /// The result of the vote, as text.
    pub fn tally(&self) -> String {
        let passing = self.answers().filter(|answer| answer.overall_pass).count();
        let failing = self.answers().count() - passing;
        let unusable = self.votes.len() - passing - failing;
        let rest = if unusable > 0 { format!(", {unusable} without a usable answer") } else { String::new() };
        format!("{passing} for, {failing} against{rest}")
    }

    /// The points of all votes, grouped by id, in order of the ids' first mention. In each group those of the majority are
    /// first.
    fn points(&self) -> Vec<Vec<&RubricPoint>> {
        let mut by_id: Vec<Vec<&RubricPoint>> = Vec::new();
        for point in self.answers().flat_map(|answer| &answer.checks) {
            match by_id.iter_mut().find(|known| known[0].id == point.id) {
                Some(known) => known.push(point),
                None => by_id.push(vec![point]),
            }
        }
        for points in &mut by_id {
            let passing = points.iter().filter(|point| point.pass).count();
            let majority = passing * 2 > points.len();
            points.sort_by_key(|point| point.pass != majority);
        }
        by_id
    }
}

/// Why the votes decide nothing.
fn undecided(votes: &[Vote], passing: usize, failing: usize) -> Trouble {
    let unanswered = votes.iter().find(|vote| vote.answer.is_none());
    let tally = match votes.len() {
        0 | 1 => String::new(),
        all => format!("{passing} for, {failing} against of {all} votes; "),
    };
    match unanswered.and_then(|vote| vote.attempts.last()).cloned() {
        Some(Attempt { trouble: Some(trouble), .. }) => {
            Trouble::new(trouble.kind, format!("the judge: {tally}{}", trouble.detail))
        }
        Some(Attempt { unusable: Some(why), .. }) => {
            Trouble::new(TroubleKind::NotJudged, format!("{tally}the judge's answer {why}"))
        }
        _ => Trouble::new(TroubleKind::NotJudged, format!("{passing} votes for, {failing} against: no majority")),
    }
}

fn sum(a: Usage, b: Usage) -> Usage {
    Usage {
        input_tokens: a.input_tokens + b.input_tokens,
        cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
        cache_write_input_tokens: a.cache_write_input_tokens + b.cache_write_input_tokens,
        output_tokens: a.output_tokens + b.output_tokens,
        reasoning_output_tokens: a.reasoning_output_tokens + b.reasoning_output_tokens,
        cost_usd: match (a.cost_usd, b.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default() + b.unwrap_or_default()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<JudgeAnswer, String> {
        let schema = Schema::parse(super::BUILT_IN_SCHEMA.as_bytes()).expect("a schema");
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
