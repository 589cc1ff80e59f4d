//! The planned trials of a repository, as lines and as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::cases::case::Case;
use crate::cases::catalog::Catalog;
use crate::cases::repo_files::RepoFiles;
use crate::cases::test_case::TestCase;
use crate::columns::{self, WORDS};
use crate::lint;
use crate::settings::Settings;
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ListedTrial {
    /// The test's name.
    pub name: String,
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
    /// Whether the skill should trigger; null if the case cannot be read.
    pub should_trigger: Option<bool>,
    /// The file of the case, relative to the repository's root.
    pub file: PathBuf,
    /// The line on which the case starts, from 1.
    pub line: usize,
    /// The column, from 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub column: usize,
    /// The format of the file: what messages call one of its cases.
    pub format: &'static str,
    /// What the case asks for and this program does not do. Without `partial = true`, it does not run.
    pub unsupported: Vec<Diagnostic>,
    /// Whether it runs, perhaps without what is unsupported.
    #[serde(skip)]
    pub runs: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The files and directories that the case names, from the repository's root, by the column of their field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<&'static str, Vec<String>>,
    /// Why the trial cannot run.
    pub problems: Vec<Diagnostic>,
}

pub fn listed(planned: &[TestCase], catalog: &Catalog, tree: &dyn RepoFiles, settings: &Settings) -> Vec<ListedTrial> {
    let mut trials = Vec::new();
    for test in planned {
        let case = &test.found;
        let repetition = settings.repetition.of(&case.skill, case.repetition());
        let mut problems = lint::case_errors(case, catalog, tree, settings);
        problems.extend(lint::never_decided(case, repetition, tree));
        trials.push(ListedTrial {
            name: test.test_name(),
            skill: case.skill.to_string(),
            case: case.id.clone(),
            mode: test.mode.name.clone(),
            should_trigger: case.should_trigger(),
            file: case.file.to_path_buf(),
            line: case.line,
            column: case.case().map_or(1, |case| case.origin.column.max(1)),
            format: case.format().name,
            unsupported: case.case().map(|case| case.unsupported_parts(settings.partial)).unwrap_or_default(),
            runs: case.case().is_ok_and(|case| case.runs(settings.partial)),
            tags: case.case().map(|case| case.tags.clone()).unwrap_or_default(),
            sources: case.case().map(sources_by_field).unwrap_or_default(),
            problems,
        });
    }
    trials
}

fn sources_by_field(case: &Case) -> BTreeMap<&'static str, Vec<String>> {
    let mut by_field: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for (field, path) in case.sources() {
        by_field.entry(field).or_default().push(path.to_string());
    }
    by_field
}

/// A line for each trial: its name, what is expected, and its file or its problem. `aligned` pads the columns for people;
/// otherwise tabs separate them for programs.
pub fn render(trials: &[ListedTrial], aligned: bool) -> String {
    let rows: Vec<[String; 3]> = trials.iter().map(cells).collect();
    if aligned {
        return columns::text([WORDS, WORDS, WORDS], &rows);
    }
    rows.iter().flat_map(|row| [row.join("\t"), "\n".to_owned()]).collect()
}

fn cells(trial: &ListedTrial) -> [String; 3] {
    let expected = match (trial.problems.is_empty(), trial.should_trigger) {
        (false, _) => "broken",
        (true, _) if !trial.runs => "unsupported",
        (true, Some(true)) => "activate",
        (true, Some(false)) => "not-activate",
        (true, None) => "any",
    };
    let rest = match trial.problems.as_slice() {
        [] if !trial.unsupported.is_empty() => {
            trial.unsupported.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
        [] => format!("{}:{}", trial.file.display(), trial.line),
        [only] => only.to_string(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    };
    let ListedTrial { skill, case, mode, .. } = trial;
    [escape::line(&format!("{skill}/{case}/{mode}")), expected.to_owned(), escape::line(&rest)]
}
