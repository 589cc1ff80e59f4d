//! What a gate found about a change, and its answer: the content of `gate.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;

use crate::decide::CaseChange;
use crate::decide::result::CompareResult;
use crate::results::compared::ComparisonResults;
use crate::results::summary::{CaseCounts, Summary};
use crate::settings::NothingCompared;
use crate::stats::proportion::Rate;
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;
use crate::text::word_enum::word_enum;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::Verdict;

/// How a skill differs from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SkillEdit {
    /// The base does not have the skill.
    Added,
    /// Only the base has the skill.
    Removed,
    /// The name or description, by which agents choose, and perhaps more.
    Description,
    /// The body, and perhaps other files.
    Body,
    /// Other files, or which of them are executable.
    Files,
}

impl SkillEdit {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Description => "description changed",
            Self::Body => "body changed",
            Self::Files => "files changed",
        }
    }

    /// Whether the list of descriptions, by which agents choose, differs.
    pub fn changes_descriptions(self) -> bool {
        !matches!(self, Self::Body | Self::Files)
    }

    /// Whether both versions have the skill, so that its cases can be compared.
    pub fn is_on_both_sides(self) -> bool {
        !matches!(self, Self::Added | Self::Removed)
    }
}

/// A skill that differs from the base.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SkillDifference {
    #[serde(rename = "skill")]
    pub slug: String,
    pub edit: SkillEdit,
}

/// What else can differ from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceKind {
    CaseAdded,
    CaseRemoved,
    /// The prompt of a case, or something else of it that its agent gets, and perhaps its checks.
    Prompt,
    Checks,
    /// The quarantine or the tags of a case, and nothing else of it.
    Labels,
    /// A key of evals.toml, or a file that one names.
    Setting,
    /// A file that is read, although no case differs.
    File,
}

impl DifferenceKind {
    pub const ALL: [Self; 7] =
        [Self::CaseAdded, Self::CaseRemoved, Self::Prompt, Self::Checks, Self::Labels, Self::Setting, Self::File];

    /// What these changes are, and what they lead to.
    pub fn meaning(self) -> (&'static str, &'static str) {
        match self {
            Self::CaseAdded => ("cases added", "earlier trials of them do not exist"),
            Self::CaseRemoved => ("cases removed", "they are not measured"),
            Self::Prompt => ("prompts changed", "earlier trials are not comparable: recordings are stale"),
            Self::Checks => ("checks changed", "recordings are graded by them, kept trials are not used"),
            Self::Labels => ("quarantine or tags changed", "a case in quarantine fails nothing"),
            Self::Setting => ("settings changed", "one that reaches an agent makes recordings stale"),
            Self::File => ("files changed", "no case differs"),
        }
    }
}

/// A change of something else than a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherChange {
    pub kind: DifferenceKind,
    /// The case as `skill/id`, the key or the file.
    pub name: String,
}

/// The run of a comparison: what it took, and why cases failed in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedRun {
    pub id: String,
    /// Trials that it ran, without those that were kept.
    pub trials: usize,
    pub spent: AttemptCost,
    /// The most that it was to cost, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// How long it took.
    pub time: Duration,
    /// The agents of its trials, with versions and models.
    pub agents: BTreeSet<String>,
    /// The agents of its trials with their versions.
    pub versions: BTreeSet<String>,
    /// For each case that failed with the candidate, the failed check with what it expected and found.
    pub reasons: BTreeMap<String, CaseCounts>,
}

/// A changed skill in the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillRates {
    pub slug: String,
    /// Trials of its cases in the base.
    pub base: Rate,
    /// The same with the change.
    pub this: Rate,
    /// How many of its cases passed a trial with the change alone, and had no other.
    pub looked: usize,
    /// Whether one of its cases broke.
    pub broke: bool,
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing, whatever the others say")]
pub struct GateResults {
    /// The base as users know it, with its commit.
    pub base: String,
    /// That the settings of the base do not count, if they cannot be read.
    pub warning: Option<String>,
    /// Number of skills in the working tree.
    pub skills: usize,
    /// The skills that differ from the base.
    pub changed: Vec<SkillDifference>,
    /// What else differs.
    pub others: Vec<OtherChange>,
    /// The changed skills of which both sides have cases.
    pub comparable: Vec<String>,
    /// The changed skills of both sides that have no case.
    pub without_cases: Vec<String>,
    /// The cases to compare, as `skill/id`.
    pub to_compare: Vec<String>,
    /// The cases that the change touches and that are in quarantine, each with its last day and the reason.
    pub quarantined: Vec<(String, String)>,
    /// Number of cases in the working tree, and of those that cannot run.
    pub cases: usize,
    pub broken_cases: usize,
    /// What becomes of a gate that could have compared something, and did not.
    pub nothing_compared: NothingCompared,
    /// Whether the base is the commit that is checked out, and nothing that is read differs from it.
    pub compares_nothing: bool,
    /// Whether the base was named, by the command line or the settings.
    pub names_base: bool,
    /// How many of the nearest skills are compared too if a description differs.
    pub neighbors: usize,
    /// Errors of `lint` that the base does not have.
    pub problems: Vec<Diagnostic>,
    /// Errors of `lint` that the base has too: they are not of this change.
    pub older_problems: Vec<Diagnostic>,
    pub replayed: Summary,
    /// The recordings that could not be graded, each with the reason.
    pub not_graded: Vec<String>,
    /// The agents of all recordings with their versions.
    pub recorded_versions: BTreeSet<String>,
    /// Whether a case without a recording fails the gate.
    pub needs_recordings: bool,
    /// Whether the settings say that it does not.
    pub waives_recordings: bool,
    /// The comparison with the base, if a skill changed that both have.
    pub compared: Option<ComparisonResults>,
    pub run: Option<ComparedRun>,
    /// The commit that is checked out, and whether skills, cases or settings differ from it, for people.
    pub commit: Option<String>,
    /// In a gate that may start no agent: the cases that one has to compare, as `skill/id`.
    pub left_to_compare: Option<Vec<String>>,
    /// The results of the comparison that fail.
    pub fails: Vec<CompareResult>,
    /// Why the comparison ended early, if it did.
    pub ended_early: Option<String>,
    /// How to measure trials of the comparison that were lost.
    pub remedy: String,
}

word_enum! {
    pub enum GateAnswer {
        /// Nothing speaks against the change.
        Passed = "passed",
        /// A check of the gate failed.
        Failed = "failed",
        /// Nothing failed, and something could not be measured.
        NotMeasured = "not measured",
        /// Everything was measured, and the trials of the comparison do not tell.
        Undecided = "undecided",
        /// Nothing failed for free, and an agent has to measure the rest.
        NeedsAgent = "needs an agent",
        /// Nothing failed, and nothing was measured although something could be.
        NothingCompared = "nothing compared",
    }
}

impl GateResults {
    /// The answer. A failure comes before what could not be measured.
    pub fn answer(&self) -> GateAnswer {
        let results = self.compared.iter().flat_map(|compared| &compared.comparison.results);
        let has = |wanted: &[CompareResult]| results.clone().any(|result| wanted.contains(result));
        let is_measured = self.not_measured().is_empty();
        // Without all trials it may be undecided for their lack.
        let mut fails = self.fails.clone();
        fails.retain(|result| is_measured || *result != CompareResult::Undecided);
        if !self.problems.is_empty() || self.failing().next().is_some() || has(&fails) {
            return GateAnswer::Failed;
        }
        if !is_measured {
            GateAnswer::NotMeasured
        } else if !self.needs_agent().is_empty() {
            GateAnswer::NeedsAgent
        } else if has(&[CompareResult::Undecided]) {
            GateAnswer::Undecided
        } else if self.compared_nothing() && self.nothing_compared == NothingCompared::Fail {
            GateAnswer::NothingCompared
        } else {
            GateAnswer::Passed
        }
    }

    fn can_run_no_case(&self) -> bool {
        self.cases > 0 && self.broken_cases == self.cases
    }

    /// Whether the gate says nothing about a change that it could have measured.
    fn compared_nothing(&self) -> bool {
        let is_measured = self.compared.as_ref().is_some_and(|compared| !compared.unchanged);
        self.can_run_no_case() || !self.comparable.is_empty() && !is_measured
    }

    /// What could be compared, and was not chosen or measured, in lines. A gate that fails has reasons enough.
    pub fn not_compared(&self) -> Vec<String> {
        if self.answer() == GateAnswer::Failed {
            return Vec::new();
        }
        if self.can_run_no_case() {
            return vec!["no case can run: `skill-evals lint` says why".to_owned()];
        }
        let is_chosen = |slug: &str| self.to_compare.iter().any(|case| case.split('/').next() == Some(slug));
        let left: Vec<&str> = self.comparable.iter().map(String::as_str).filter(|slug| !is_chosen(slug)).collect();
        let mut lines = Vec::new();
        let is_of = |slug: &str, case: &str| case.split('/').next() == Some(slug);
        let (in_quarantine, left): (Vec<&str>, Vec<&str>) =
            left.iter().partition(|slug| self.quarantined.iter().any(|(case, _)| is_of(slug, case)));
        if !left.is_empty() {
            lines.push(format!("no case was chosen of {}, which changed: leave out --tag", left.join(", ")));
        }
        if !in_quarantine.is_empty() {
            lines.push(format!("all chosen cases of {}, which changed, are in quarantine", in_quarantine.join(", ")));
        }
        if self.compared.as_ref().is_some_and(|compared| compared.unchanged) {
            lines.push("both sides gave agents the same files".to_owned());
        }
        lines
    }

    /// What could not be measured, in lines.
    pub fn not_measured(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.ended_early.iter().cloned().collect();
        // Without a name it may be wrong: a clone of one branch takes that for the default branch.
        if self.compares_nothing && !self.names_base {
            lines.push(
                "the base is not known to be the right one: name it, as in `skill-evals gate origin/main`; a clone of one \
                 branch has to fetch it first"
                    .to_owned(),
            );
        }
        if let Some(ComparisonResults { comparison, unchanged: false, .. }) = &self.compared {
            lines.extend(self.lost());
            let needless = self.not_needed();
            let untried: Vec<&str> =
                comparison.untried().map(String::as_str).filter(|case| !needless.contains(case)).collect();
            if !untried.is_empty() {
                // A trial of such a case may have ended: it counts once those that began before it have.
                lines.push(format!("not compared, since it or a trial before it did not end: {}", untried.join(", ")));
            }
            if comparison.results.contains(&CompareResult::NothingMeasured) && lines.is_empty() {
                lines.push("no case was measured on both sides".to_owned());
            }
        }
        if self.unreadable() {
            let why = match self.not_graded.as_slice() {
                [] => "`skill-evals run --replay` names it".to_owned(),
                [first] => first.clone(),
                [first, more @ ..] => format!("{first}; and {} more: `skill-evals run --replay` names all", more.len()),
            };
            lines.push(format!("a recording is damaged or of a trial that ended in an error: {why}"));
        }
        if self.left_to_compare.is_none() {
            lines.extend(self.recordings_needed());
        }
        lines
    }

    /// What the gate was not to measure since it takes an agent, in lines.
    pub fn needs_agent(&self) -> Vec<String> {
        let Some(cases) = &self.left_to_compare else { return Vec::new() };
        let compared = (!cases.is_empty()).then(|| {
            let (cases, base) = (cases.len(), self.base.split(' ').next().unwrap_or_default());
            format!("{cases} to compare with the base: `skill-evals gate {}` does", escape::word(base))
        });
        compared.into_iter().chain(self.recordings_needed()).collect()
    }

    /// The recordings that are required and missing, or stale and not compared.
    fn recordings_needed(&self) -> Vec<String> {
        let (missing, stale) = (self.unrecorded(), self.stale_and_not_compared());
        let needed = [
            (missing, "without a recording: `skill-evals run --record` records them"),
            (stale, "stale and not compared: `skill-evals run --stale --record` measures them"),
        ];
        let is_needed = |(count, _): &(usize, &str)| self.needs_recordings && *count > 0;
        needed.into_iter().filter(is_needed).map(|(count, why)| format!("{count} {why}")).collect()
    }

    /// What the comparison lacks because trials were lost, and how to measure them.
    pub fn lost(&self) -> Option<String> {
        let lost = self.compared.as_ref().and_then(ComparisonResults::lost)?;
        Some(if self.ended_early.is_some() { lost } else { format!("{lost}; {}", self.remedy) })
    }

    /// The versions of which only recordings are, of agents that ran now with another version.
    pub fn other_versions(&self) -> Vec<&str> {
        let Some(run) = &self.run else { return Vec::new() };
        let name = |agent: &str| agent.split(' ').next().unwrap_or_default().to_owned();
        let ran: BTreeSet<String> = run.versions.iter().map(|agent| name(agent)).collect();
        let others = self.recorded_versions.difference(&run.versions);
        others.filter(|agent| ran.contains(&name(agent))).map(String::as_str).collect()
    }

    /// The cases that did not run on both sides because others had shown harm by then.
    pub fn not_needed(&self) -> Vec<&str> {
        let (Some(found), None) = (&self.compared, &self.ended_early) else { return Vec::new() };
        let has_harm = found.comparison.results.iter().any(|result| CompareResult::HARM.contains(result));
        if has_harm { found.comparison.untried().map(String::as_str).collect() } else { Vec::new() }
    }

    /// The changed skills that were compared, each with the rates of its cases.
    pub fn skill_rates(&self) -> Vec<SkillRates> {
        let Some(found) = self.compared.as_ref().filter(|found| !found.unchanged) else { return Vec::new() };
        let mut all = Vec::new();
        for skill in &self.changed {
            let is_of = |name: &str| name.split('/').next() == Some(skill.slug.as_str());
            let cases: Vec<_> = found.comparison.cases.iter().filter(|case| is_of(&case.case)).collect();
            let looks = found.comparison.looks.iter().flat_map(|looks| &looks.passed);
            let looked = looks.filter(|case| is_of(case)).count();
            if !cases.is_empty() || looked > 0 {
                let sum = |rates: &dyn Fn(&CaseChange) -> Rate| {
                    cases.iter().fold(Rate::default(), |sum, case| sum.plus(rates(case)))
                };
                all.push(SkillRates {
                    slug: skill.slug.clone(),
                    base: sum(&|case| case.baseline.rate),
                    this: sum(&|case| case.candidate.rate),
                    looked,
                    broke: found.comparison.broken.iter().any(|case| is_of(case)),
                });
            }
        }
        all
    }

    pub fn failing(&self) -> impl Iterator<Item = (&CaseInMode, &CaseCounts)> {
        self.replayed.cases.iter().filter(|(_, counts)| counts.counted_verdict() == Some(Verdict::Fail))
    }

    /// Cases without a recording.
    pub fn unrecorded(&self) -> usize {
        self.not_run(&NotRun::NotRecorded)
    }

    /// Cases whose recordings are stale: the comparison measures them, or they have to be recorded again.
    pub fn stale(&self) -> usize {
        self.not_run(&NotRun::Stale)
    }

    /// Stale cases that no comparison measures, because something else than their skill changed.
    fn stale_and_not_compared(&self) -> usize {
        let is_compared = |skill: &str| {
            self.compared.is_some()
                && self.changed.iter().any(|found| found.slug == skill && found.edit.is_on_both_sides())
        };
        let stale = self.replayed.cases.iter().filter(|(_, counts)| counts.not_run.contains_key(&NotRun::Stale));
        stale.filter(|(case, _)| !is_compared(&case.skill)).count()
    }

    /// Whether a recorded case could not be measured: a damaged recording, or one of a trial that ended in an error.
    fn unreadable(&self) -> bool {
        let is_error =
            |counts: &CaseCounts| matches!(counts.counted_verdict(), Some(Verdict::Error | Verdict::Unscored));
        self.not_run(&NotRun::Unreadable) > 0
            || !self.not_graded.is_empty()
            || self.replayed.cases.values().any(is_error)
    }

    fn not_run(&self, why: &NotRun) -> usize {
        self.replayed.cases.values().filter(|counts| counts.not_run.contains_key(why)).count()
    }
}
