//! Rules for skills, for cases, and for the cases of a skill together. The parsers report problems of the form of a file.
//!
//! Pure: sees the repository through a [`Catalog`] and a [`RepoFiles`], and returns diagnostics.

mod case;
mod skill;
mod suite;

use jiff::civil::Date;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::RepoFiles;
use crate::settings::{CommandAnswer, RepetitionSettings, Settings};
use crate::text::diagnostic::{Code, Diagnostic, Excerpt, Severity, SourceLocation};
use crate::text::problem::ProblemList;

pub use case::{SkillWords, calls_skill, copies_description, names_skill};
pub use case::{has_word, place_of, unusable_files};
pub use skill::LONGEST_DESCRIPTION;
pub use suite::nearest_skills;
pub use suite::{SkillList, never_decided, no_cases, unknown_plugins};

/// The scope of [`all`].
#[derive(Clone, Copy, Debug, Default)]
pub struct LintOptions {
    /// How bad it is that a skill has no cases of its own. `None` says nothing of it.
    pub no_cases: Option<Severity>,
    pub listings: &'static [&'static [SkillList]],
    /// Whether cases run without what is unsupported, as the setting says.
    pub partial: bool,
}

/// The problems of `case`, read from `found`: it cannot run, or its result would mean nothing.
pub fn case(found: &FoundCase, case: &Case, catalog: &Catalog, tree: &dyn RepoFiles, partial: bool) -> Vec<Diagnostic> {
    case::check(found, case, catalog, tree, partial, &mut skill::Schemas::default())
}

/// The errors that keep a case from running: all that are said of it, and those that keep every agent from loading its skill.
pub fn case_errors(found: &FoundCase, catalog: &Catalog, tree: &dyn RepoFiles, settings: &Settings) -> Vec<Diagnostic> {
    match found.case() {
        Ok(read) => {
            let of_skill = catalog.skill(&found.skill).map(|skill| skill.file.problems.clone()).unwrap_or_default();
            // Agents differ in what they read: such a skill is withheld from a mode.
            let is_read = |problem: &Diagnostic| problem.code == Code::FrontMatterMissing;
            let of_skill = of_skill.into_iter().filter(|problem| !is_read(problem));
            let mut problems = of_case(found, read, catalog, tree, settings.partial, &mut skill::Schemas::default());
            problems.extend(case::checks_of_mocks(found, read, &settings.mocks, &catalog.mock_servers, tree));
            problems.extend(of_skill);
            settings.lint.judged(in_order(problems)).into_iter().filter(Diagnostic::is_error).collect()
        }
        Err(problems) => problems.to_vec(),
    }
}

/// All that is said of a case, but for what the settings say of mocks. What is found twice is there twice.
fn of_case(
    found: &FoundCase,
    case: &Case,
    catalog: &Catalog,
    tree: &dyn RepoFiles,
    partial: bool,
    schemas: &mut skill::Schemas,
) -> Vec<Diagnostic> {
    let mut problems = case::check(found, case, catalog, tree, partial, schemas);
    problems.extend(case::without_effect(found, case, tree));
    problems.extend(unusable_files(found, case, tree).into_iter().map(|(_, problem)| problem));
    problems
}

/// The cases that can never be decided.
pub fn repetition(catalog: &Catalog, settings: &RepetitionSettings, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let cases = catalog.cases.iter();
    cases.filter_map(|found| never_decided(found, settings.of(&found.skill, found.repetition()), tree)).collect()
}

/// The cases whose quarantine is over today.
pub fn quarantine(catalog: &Catalog, today: Date, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let cases = catalog.cases.iter().filter_map(|found| Some((found, found.case().ok()?)));
    let over = cases.filter_map(|(found, case)| {
        let quarantine = case.quarantine.as_ref().filter(|quarantine| quarantine.is_over(today))?;
        let place = found.source.place("quarantine", None, tree).unwrap_or_else(|| case.origin.clone());
        let message =
            format!("the quarantine of {}/{} is over ({quarantine}): the case fails again", found.skill, found.id);
        let help = "remove `quarantine`, or set a later date if the reason still holds";
        Some(Diagnostic::new(Code::QuarantineOver, place, message).help(help))
    });
    over.collect()
}

/// What the checks of cases ask about calls of mocks, and what they do not ask.
pub fn checks_of_mocks(catalog: &Catalog, of_all: &[CommandAnswer], tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let cases = catalog.cases.iter().filter_map(|found| Some((found, found.case().ok()?)));
    cases.flat_map(|(found, case)| case::checks_of_mocks(found, case, of_all, &catalog.mock_servers, tree)).collect()
}

/// The problems of a skill: the rules of agentskills.io, and similar descriptions of `siblings`.
pub fn skill(found: &FoundSkill, siblings: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    skill_among(found, &suite::Descriptions::of(siblings), tree)
}

fn skill_among(found: &FoundSkill, descriptions: &suite::Descriptions<'_>, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let mut problems = skill::of_file(found);
    problems.extend(skill::check(found));
    problems.extend(skill::check_links(found, tree));
    problems.extend(skill::skill_material(found, tree));
    problems.extend(descriptions.check(found));
    problems
}

/// All problems of the repository, by path, line, column and code.
pub fn all(catalog: &Catalog, tree: &dyn RepoFiles, options: LintOptions) -> Vec<Diagnostic> {
    let descriptions = suite::Descriptions::of(catalog);
    let mut problems = ProblemList::of_repository();
    problems.extend(catalog.problems.iter().cloned());
    problems.extend(catalog.cases.iter().flat_map(|found| found.source.file_problems().to_vec()));
    problems.extend(catalog.skills.iter().flat_map(|found| skill_among(found, &descriptions, tree)));
    problems.extend(suite::catalogue(catalog, options.listings));
    let mut schemas = skill::Schemas::default();
    let words = SkillWords::of(catalog);
    for found in &catalog.skills {
        problems.extend(suite::check(catalog, &found.skill().slug, tree, options.no_cases));
        problems.extend(case::prompts_of_skill(catalog, found.skill(), &words, tree));
    }
    for found in &catalog.cases {
        match found.case() {
            Ok(case) => problems.extend(of_case(found, case, catalog, tree, options.partial, &mut schemas)),
            Err(unreadable) => problems.extend(unreadable.to_vec()),
        }
    }
    let mut problems = problems.into_vec();
    // Of a cell in typographic quotes one of the two is enough.
    let cells: Vec<SourceLocation> = problems
        .iter()
        .filter(|problem| problem.code == Code::CsvQuotes)
        .map(|problem| problem.place.clone())
        .collect();
    let width = |cell: &SourceLocation| {
        cell.excerpt.as_ref().map_or(0, |Excerpt { text, mark }| text[mark.clone()].chars().count())
    };
    let is_in = |cell: &SourceLocation, place: &SourceLocation| {
        let is_same_line = (&cell.path, cell.line) == (&place.path, place.line);
        is_same_line && (cell.column..cell.column + width(cell)).contains(&place.column)
    };
    let is_said = |place: &SourceLocation| cells.iter().any(|cell| is_in(cell, place));
    problems.retain(|problem| problem.code != Code::LiteralSyntax || !is_said(&problem.place));
    in_order(problems)
}

/// The problems that the lint test of a skill reports: of the skill and of whole files. The test of a case reports the problems of its
/// row or task, and [`all`] those of the skill list.
pub fn skill_trial(catalog: &Catalog, slug: &str, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    let mut problems = skill(found, catalog, tree);
    let evals = found.evals();
    for problem in &catalog.problems {
        let path = &problem.place.path;
        let is_own = path.starts_with(&evals) || path.starts_with(&found.skill().folder);
        // The test of the repository reports files that are not read.
        if is_own && !matches!(problem.code, Code::UnreadCases | Code::MisplacedCases) {
            problems.push(problem.clone());
        }
    }
    problems.extend(suite::check(catalog, slug, tree, Some(Severity::Warning)));
    in_order(problems)
}

/// Sorted by place, each problem once.
fn in_order(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    problems.sort_by(|a, b| {
        let key = |problem: &Diagnostic| (problem.place.line, problem.place.column, problem.code);
        a.place.path.cmp(&b.place.path).then_with(|| key(a).cmp(&key(b))).then_with(|| a.message.cmp(&b.message))
    });
    problems.dedup();
    problems
}

/// How many of `problems` have this severity, with those that are only counted.
pub fn count(problems: &[Diagnostic], severity: Severity) -> usize {
    problems.iter().filter(|problem| problem.severity == severity).map(|problem| 1 + problem.more).sum()
}

/// Whether a case was written for the skill. Otherwise it is built in.
fn is_curated(found: &FoundCase) -> bool {
    !found.format().is_built_in()
}
