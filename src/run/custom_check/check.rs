//! A custom check: what it is about, and its finding.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::trial::{ReadError, Trial};
use crate::cases::catalog::Catalog;
use crate::text::cut;
use crate::text::diagnostic::suggest;
use crate::trial::outcome::{CheckResult, Goal, Status};

/// The most characters of a text of a check that are kept.
const LONGEST: usize = 10_000;

/// The result of a custom check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The check passes; with its evidence.
    Pass(String),
    /// The check fails; with its evidence.
    Fail(String),
    /// There is not enough evidence to decide: the trial could not be measured, unless something else failed.
    Unknown(String),
    /// The check is not about this trial.
    NotAsked,
}

impl Finding {
    /// `Pass` if `passed`, otherwise `Fail`.
    pub fn of(passed: bool, evidence: impl Into<String>) -> Self {
        if passed { Self::Pass(evidence.into()) } else { Self::Fail(evidence.into()) }
    }
}

/// Why a check has no finding: any error, by `?`. The check fails with its text. Only a [`ReadError`] of a file whose content is
/// not known makes it unknown.
pub struct CheckError(Box<dyn Error + Send + Sync>);

// It does not implement `Error`: every error becomes one.
impl<E: Error + Send + Sync + 'static> From<E> for CheckError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<CheckError> for Finding {
    fn from(CheckError(error): CheckError) -> Self {
        match error.downcast_ref::<ReadError>() {
            Some(read) if read.is_unknown() => Self::Unknown(read.to_string()),
            _ => Self::Fail(error.to_string()),
        }
    }
}

type CheckBody = dyn Fn(&Trial<'_>) -> Result<Finding, CheckError> + Send + Sync;

/// A custom check of every live or replayed trial, or of those of one skill, case or tag.
///
/// ```
/// use skill_evals::harness::{Check, Finding, TrialSample};
///
/// let check = Check::new("report-is-short", |trial| {
///     let report = trial.read_text("report.md")?;
///     Ok(Finding::of(report.len() < 20, format!("{} bytes", report.len())))
/// });
/// let check = check.skill("report").expecting("a report of less than 20 bytes");
///
/// let trial = TrialSample::new("report", "Write a report.").file("report.md", "All is well.");
/// assert_eq!(check.finding(&trial.trial()), Finding::Pass("12 bytes".to_owned()));
/// ```
#[derive(Clone)]
pub struct Check {
    pub(super) name: String,
    expected: Option<String>,
    skill: Option<String>,
    case: Option<String>,
    tag: Option<String>,
    body: Arc<CheckBody>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

impl Check {
    /// A check of this name, kebab-case. It fails if its body fails or panics.
    pub fn new(
        name: impl Into<String>,
        body: impl Fn(&Trial<'_>) -> Result<Finding, CheckError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), expected: None, skill: None, case: None, tag: None, body: Arc::new(body) }
    }

    /// Says what a failure shows as expected.
    #[must_use]
    pub fn expecting(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// Only about trials of the skill with this slug.
    #[must_use]
    pub fn skill(self, slug: impl Into<String>) -> Self {
        Self { skill: Some(slug.into()), ..self }
    }

    /// Only about trials of the case with this id.
    #[must_use]
    pub fn case(self, id: impl Into<String>) -> Self {
        Self { case: Some(id.into()), ..self }
    }

    /// Only about trials of cases with this tag.
    #[must_use]
    pub fn tag(self, tag: impl Into<String>) -> Self {
        Self { tag: Some(tag.into()), ..self }
    }

    /// What it finds in this trial.
    pub fn finding(&self, trial: &Trial<'_>) -> Finding {
        if !self.is_about(trial) {
            return Finding::NotAsked;
        }
        // A check written with `assert!` fails by panicking.
        catch_unwind(AssertUnwindSafe(|| (self.body)(trial).unwrap_or_else(Finding::from)))
            .unwrap_or_else(|panic| Finding::Fail(format!("the check panicked: {}", message_of(panic.as_ref()))))
    }

    fn is_about(&self, trial: &Trial<'_>) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let has_tag = |wanted: &String| trial.tags().contains(wanted);
        is(&self.skill, trial.skill()) && is(&self.case, trial.case()) && self.tag.as_ref().is_none_or(has_tag)
    }

    pub(super) fn result(&self, trial: &Trial<'_>) -> Option<CheckResult> {
        let (status, found) = match self.finding(trial) {
            Finding::Pass(evidence) => (Status::Pass, evidence),
            Finding::Fail(evidence) => (Status::Fail, evidence),
            Finding::Unknown(evidence) => (Status::Unknown, evidence),
            Finding::NotAsked => return None,
        };
        Some(result(&self.name, status, self.expected.clone().unwrap_or_else(|| own(&self.name)), found))
    }

    /// Why it is about no case of the whole `catalog`, in words.
    pub(super) fn without_effect(&self, catalog: &Catalog) -> Option<String> {
        let is_of_skill = |slug: &str| self.skill.as_ref().is_none_or(|skill| skill == slug);
        let cases = || catalog.cases.iter().filter(|found| is_of_skill(&found.skill));
        let missing = |what, wanted: &String, known: &[&str]| {
            let hint = suggest(wanted, known);
            format!("the check `{}` is about the {what} `{wanted}`, which is not here; {hint}", self.name)
        };
        if let Some(skill) = &self.skill {
            let slugs = catalog.slugs();
            if !slugs.contains(&skill.as_str()) {
                return Some(missing("skill", skill, &slugs));
            }
        }
        if let Some(case) = &self.case {
            let ids: Vec<&str> = cases().map(|found| found.id.as_str()).collect();
            if !ids.contains(&case.as_str()) {
                return Some(missing("case", case, &ids));
            }
        }
        let tag = self.tag.as_ref()?;
        let of_case = cases().filter_map(|found| found.case().ok());
        let mut tags: Vec<&str> = of_case.flat_map(|case| case.tags.iter().map(String::as_str)).collect();
        tags.sort_unstable();
        tags.dedup();
        (!tags.contains(&tag.as_str())).then(|| missing("tag", tag, &tags))
    }
}

/// What a custom check expects that does not say it.
pub(super) fn own(name: &str) -> String {
    format!("this repository's own check `{name}`")
}

pub(super) fn result(name: &str, status: Status, expected: String, found: String) -> CheckResult {
    let (expected, found) = (cut::text(expected, LONGEST), cut::text(found, LONGEST));
    CheckResult { custom: true, ..CheckResult::new(name, Goal::Outcome, status, expected, found) }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
