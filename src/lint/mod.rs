//! What must hold beyond a file's form: of a skill, of a case, of a skill's cases together.
//!
//! Pure: sees the repository through a [`Catalog`] and a [`RepoFiles`], and answers with diagnostics. The parsers have
//! said what is wrong with the form of a file; nothing is said twice here.

mod case;
mod catalogue;
mod changes;
mod links;
mod material;
mod repeats;
mod schema;
mod similar;
mod skill;
mod suite;

use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::RepoFiles;
use crate::settings::{EffectiveRepetition, LintSettings, RepetitionSettings};
use crate::text::diagnostic::{Code, Diagnostic, Severity};

pub use catalogue::SkillList;
pub use similar::SIMILAR;
pub use skill::{LONGEST_BODY, LONGEST_COMPATIBILITY, LONGEST_DESCRIPTION, LONGEST_NAME};

/// What [`all`] looks at.
#[derive(Clone, Copy, Debug, Default)]
pub struct LintOptions {
    /// The cases too, not only the skills.
    pub check_evals: bool,
    /// A skill without curated cases is an error rather than a warning. Only counts with `check_evals`.
    pub strict: bool,
    /// What the catalogue is held against, by agent.
    pub listings: &'static [&'static [SkillList]],
}

/// What must hold for `case`, read from `found`, to run beside the skills of `catalog`, and what would spoil its measurement.
#[must_use]
pub fn case(found: &FoundCase, case: &Case, catalog: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    case::check(found, case, catalog, tree, &mut schema::Schemas::default())
}

/// Everything that keeps a case from running, whatever is said of its repeats: of its skill what keeps every agent from loading it.
#[must_use]
pub fn case_errors(
    found: &FoundCase,
    catalog: &Catalog,
    tree: &dyn RepoFiles,
    settings: &LintSettings,
) -> Vec<Diagnostic> {
    match found.case() {
        Ok(read) => {
            let of_skill = catalog.skill(&found.skill).map(|skill| skill.file.problems.clone()).unwrap_or_default();
            let problems = case(found, read, catalog, tree).into_iter().chain(of_skill);
            settings.judged(problems.collect()).into_iter().filter(Diagnostic::is_error).collect()
        }
        Err(problems) => problems.to_vec(),
    }
}

/// That a case whose repeats are these could never be decided, where it goes on until it is.
#[must_use]
pub fn never_decided(found: &FoundCase, of: EffectiveRepetition, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    repeats::never_decided(found, of, tree)
}

/// What is wrong with how often cases run, by what the settings and they themselves say: skills that are not there, cases
/// that could never be decided.
#[must_use]
pub fn repetition(catalog: &Catalog, settings: &RepetitionSettings, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let never = |found: &Arc<FoundCase>| never_decided(found, settings.of(&found.skill, found.repetition()), tree);
    settings.unknown_skills(&catalog.slugs()).into_iter().chain(catalog.cases.iter().filter_map(never)).collect()
}

/// The rules of agentskills.io for a skill, and what makes it hard to tell from its `siblings`.
#[must_use]
pub fn skill(found: &FoundSkill, siblings: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    skill_among(found, &similar::Descriptions::of(siblings), tree)
}

fn skill_among(found: &FoundSkill, descriptions: &similar::Descriptions<'_>, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let mut problems = found.file.problems.clone();
    problems.extend(skill::check(found));
    problems.extend(links::check(found, tree));
    problems.extend(material::skill(found, tree));
    problems.extend(descriptions.check(found));
    problems
}

/// What must hold of the cases of the skill with this slug, taken together.
#[must_use]
pub fn suite(catalog: &Catalog, slug: &str, tree: &dyn RepoFiles, strict: bool) -> Vec<Diagnostic> {
    suite::check(catalog, slug, tree, strict)
}

/// Every problem of the repository, by path, line, column and code.
#[must_use]
pub fn all(catalog: &Catalog, tree: &dyn RepoFiles, options: LintOptions) -> Vec<Diagnostic> {
    let descriptions = similar::Descriptions::of(catalog);
    let mut problems = catalog.problems.clone();
    problems.extend(catalog.cases.iter().flat_map(|found| found.source.file_problems().to_vec()));
    problems.extend(catalog.skills.iter().flat_map(|found| skill_among(found, &descriptions, tree)));
    problems.extend(catalogue::check(catalog, options.listings));
    if options.check_evals {
        let mut schemas = schema::Schemas::default();
        for found in &catalog.skills {
            problems.extend(suite(catalog, &found.skill().slug, tree, options.strict));
        }
        for found in &catalog.cases {
            problems.extend(
                found.case().map_or_else(<[_]>::to_vec, |case| case::check(found, case, catalog, tree, &mut schemas)),
            );
        }
    }
    in_order(problems)
}

/// What the lint trial of a skill reports: its own problems and those of its files as a whole. The problem of a
/// single row or task is that case's own trial to report; what only warns of the whole catalogue, [`all`] is to say.
#[must_use]
pub fn skill_trial(catalog: &Catalog, slug: &str, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let Some(found) = catalog.skill(slug) else { return Vec::new() };
    let mut problems = skill(found, catalog, tree);
    let evals = found.evals();
    let own = |path: &Path| path.starts_with(&evals) || path.starts_with(&found.skill().folder);
    // Which files are not read is for the repository's trial to report.
    let reported = |problem: &&Diagnostic| own(&problem.place.path) && problem.code != Code::UnreadCases;
    problems.extend(catalog.problems.iter().filter(reported).cloned());
    problems.extend(suite(catalog, slug, tree, false));
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

/// How many of `problems` are this bad.
#[must_use]
pub fn count(problems: &[Diagnostic], severity: Severity) -> usize {
    problems.iter().filter(|problem| problem.severity == severity).count()
}

/// Whether a case was written for the skill rather than built in.
fn is_curated(found: &FoundCase) -> bool {
    found.format().files.is_some()
}
