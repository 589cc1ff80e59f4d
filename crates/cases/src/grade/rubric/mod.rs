//! The rubric: what a judge is asked about a trial, which answers are usable, and how they change the trial's grade.
//!
//! A judge is an agent of its own that reads a copy of the evidence. A trial that failed by the evidence stays failed.
//! Without a usable answer, a trial that passed is unscored.

mod answer;
mod judgment;
mod template;

use std::path::Path;

use crate::cases::case::Assertion;
use crate::cases::judge_files::texts;
use crate::checks::schema::Schema;
use crate::grade::verdict::{ASSERTION, RUBRIC, has_weights, pending, settle};
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{Inputs, digest};
use crate::trial::outcome::{CheckResult, Goal, Grade, Judged, Status, Verdict, Weight};

pub use crate::cases::judge_files::{BUILT_IN_SCHEMA, BUILT_IN_TEMPLATE, SCHEMA, TEMPLATE, paths};
pub use answer::{JudgeAnswer, RubricPoint};
pub use judgment::{Attempt, JUDGMENT_FORMAT, Judgment, Vote};
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
    let ([template_path, schema_path], [template, schema]) = (paths(settings), texts(root, settings)?);
    Rubric::new((template_path, &template), (schema_path, &schema))
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
