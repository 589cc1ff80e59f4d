//! The rubric: what a judge is asked about a trial, which answers count, and what they do to the trial's grade.
//!
//! A judge is an agent of its own that reads a copy of the evidence. Its word never mends a trial that failed by the
//! evidence, and without a usable answer a trial that passed is unscored: no pass, and no failure either.

mod answer;
mod judgement;
mod template;

use std::fmt::Write;
use std::path::Path;

use crate::checks::schema::Schema;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{Inputs, digest};
use crate::trial::outcome::{CheckResult, Goal, Grade, Judged, Status, Verdict};

pub use answer::{JudgeAnswer, RubricPoint};
pub use judgement::{Attempt, JUDGEMENT_FORMAT, Judgement, Vote};
pub use template::{JudgeSubject, PLACEHOLDERS};

/// A repository's own template, from its root, where the settings name none.
pub const TEMPLATE: &str = "evals/judge.md";

/// A repository's own schema of the judge's answer, from its root.
pub const SCHEMA: &str = "evals/schemas/style_rubric.schema.json";

/// The template of repositories that have none.
pub const BUILT_IN_TEMPLATE: &str = include_str!("judge.md");

/// The schema of repositories that have none.
pub const BUILT_IN_SCHEMA: &str = include_str!("style_rubric.schema.json");

/// The part of a judgement's inputs that is the question.
pub const JUDGES_PROMPT: &str = "judge's prompt";

/// The part of what is judged that is the rest of what a judge sees.
pub const EVIDENCE: &str = "evidence";

/// What judges are asked, and what their answers have to be.
#[derive(Debug)]
pub struct Rubric {
    template: template::Template,
    schema: Schema,
    /// The schema as it is written.
    text: String,
}

impl Rubric {
    /// Reads a template and a schema, each with the path that it is known by.
    pub fn new(template: (&Path, &str), schema: (&Path, &str)) -> Result<Self, Box<Diagnostic>> {
        let template = template::Template::parse(template.0, template.1)?;
        let bad = |why: &dyn std::fmt::Display| {
            let message = format!("this schema of the judge's answer cannot be used: it {why}");
            Box::new(Diagnostic::new(Code::BadSchema, SourceLocation::file(schema.0), message))
        };
        let checked = Schema::parse(schema.1.as_bytes()).map_err(|error| bad(&error))?;
        Ok(Self { template, text: schema.1.to_owned(), schema: checked })
    }

    /// The schema's text, for the judge's program.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.text
    }

    /// The judge's prompt.
    #[must_use]
    pub fn prompt(&self, subject: &JudgeSubject<'_>) -> String {
        self.template.render(subject)
    }

    /// Reads a judge's final message.
    pub fn answer(&self, text: Option<&str>) -> Result<JudgeAnswer, String> {
        JudgeAnswer::read(text, &self.schema, &self.template.checks)
    }

    /// The digests of what is judged and by what. `skill` is its SKILL.md; `evidence` the rest that the judge sees, in
    /// a form that is the same in a run and in a recording of it.
    #[must_use]
    pub fn inputs(&self, prompt: &str, skill: &[u8], evidence: &[u8]) -> Inputs {
        let mut inputs = Inputs::default();
        inputs.0.insert("judge's template".to_owned(), self.template.digest());
        inputs.0.insert("judge's schema".to_owned(), digest(self.text.as_bytes()));
        inputs.add(JUDGES_PROMPT, prompt.as_bytes());
        inputs.add("skill", skill);
        inputs.add(EVIDENCE, evidence);
        inputs
    }
}

/// Adds the judge's word to a grade. What failed by the evidence stays failed, and an error an error.
#[must_use]
pub fn join(mut grade: Grade, judgement: &Judgement) -> Grade {
    if grade.verdict == Verdict::Error {
        return grade;
    }
    grade.judged = Some(Judged::Asked {
        verdict: judgement.verdict,
        score: judgement.score,
        votes: u32::try_from(judgement.votes.len()).unwrap_or(u32::MAX),
        agreement: judgement.agreement,
        agent: judgement.agent.kind,
        model: judgement.agent.model.clone(),
        usage: judgement.usage,
    });
    grade.checks.extend(checks(judgement));
    match (grade.verdict, judgement.verdict) {
        (Verdict::Pass, Verdict::Fail) => grade.verdict = Verdict::Fail,
        (Verdict::Pass, Verdict::Unscored | Verdict::Error) => {
            grade.verdict = Verdict::Unscored;
            grade.trouble.clone_from(&judgement.trouble);
        }
        _ => {}
    }
    grade
}

/// A grade whose trial could not be judged: what passed by the evidence is unscored.
#[must_use]
pub fn not_judged(mut grade: Grade, trouble: Trouble) -> Grade {
    if grade.verdict == Verdict::Pass {
        grade.verdict = Verdict::Unscored;
        grade.trouble = Some(trouble);
    }
    grade
}

/// A grade whose stored answer of a judge is about something else than what is there now.
#[must_use]
pub fn stale(grade: Grade, changed: &[String]) -> Grade {
    let detail = format!("the judge's answer is stale; changed since: {}", changed.join(", "));
    let grade = not_judged(grade, Trouble::new(TroubleKind::NotJudged, detail));
    Grade { judged: Some(Judged::Stale), ..grade }
}

/// The grade of a recording without a judge's answer: what there is counts, and the grade says what is missing.
#[must_use]
pub fn not_recorded(grade: Grade) -> Grade {
    Grade { judged: Some(Judged::NotRecorded), ..grade }
}

fn checks(judgement: &Judgement) -> Vec<CheckResult> {
    let check = |id: String, status, expected: String, evidence| CheckResult {
        id,
        goal: Goal::Style,
        status,
        expected,
        found: evidence,
        custom: false,
        spans: Vec::new(),
    };
    let several = judgement.votes.len() > 1;
    let mut checks: Vec<CheckResult> = judgement
        .points()
        .into_iter()
        .map(|points| {
            let passing = points.iter().filter(|point| point.pass).count();
            let status = status(passing * 2 > points.len(), passing * 2 < points.len());
            let id = &points[0].id;
            let mut evidence = points[0].notes.trim().to_owned();
            if several {
                evidence = format!("{passing} of {}: {evidence}", points.len());
            }
            check(format!("rubric-{id}"), status, format!("the judge passes `{id}`"), evidence)
        })
        .collect();
    let overall = status(judgement.verdict == Verdict::Pass, judgement.verdict == Verdict::Fail);
    let mut evidence = judgement.tally();
    // Writing to a string cannot fail.
    if let Some(score) = judgement.score {
        let _ = write!(evidence, "; score {score:.0} of 100");
    }
    if let Some(trouble) = &judgement.trouble {
        let _ = write!(evidence, "; {trouble}");
    }
    checks.push(check("rubric-overall".to_owned(), overall, "the judge passes the trial".to_owned(), evidence));
    checks
}

fn status(pass: bool, fail: bool) -> Status {
    match (pass, fail) {
        (true, _) => Status::Pass,
        (_, true) => Status::Fail,
        _ => Status::Unknown,
    }
}
