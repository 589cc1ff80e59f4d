//! The planned trials of a repository, as lines and as JSON, and which files of skills a case reaches.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::Catalog;
use crate::cases::repo_files::RepoFiles;
use crate::cases::selection::TestCase;
use crate::columns::{self, NUMBERS, WORDS};
use crate::lint;
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic};
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

// How much of each file of cases is run: the checks of each kind, those that a judge makes, and what is unsupported.

/// The cases of a file, and what they ask for.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FileCoverage {
    /// The file, relative to the repository's root.
    pub file: PathBuf,
    /// What messages call a case of its format.
    pub format: &'static str,
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub cases: usize,
    /// Those that cannot run, because they are wrong.
    pub broken: usize,
    /// Those that ask for something unsupported.
    pub partial: usize,
    /// The number of checks that are run, by kind.
    pub run: BTreeMap<&'static str, usize>,
    /// The number of checks that a judge makes.
    pub judged: usize,
    /// How often each unsupported thing is asked for.
    pub unsupported: BTreeMap<String, usize>,
}

/// The files of these cases of a catalog, in the order of their paths.
pub fn coverage<'a>(
    cases: impl IntoIterator<Item = &'a Arc<FoundCase>>,
    catalog: &Catalog,
    tree: &dyn RepoFiles,
    settings: &Settings,
) -> Vec<FileCoverage> {
    let mut files: BTreeMap<(PathBuf, &'static str), FileCoverage> = BTreeMap::new();
    for found in cases {
        let (file, format) = (found.file.to_path_buf(), found.format().name);
        let new = || FileCoverage { file: file.clone(), format, ..FileCoverage::default() };
        let covered = files.entry((file.clone(), format)).or_insert_with(new);
        let is_unread = found
            .source
            .file_problems()
            .iter()
            .any(|problem| matches!(problem.code, Code::UnreadCases | Code::MisplacedCases));
        // It is broken for each skill that it may be for.
        if is_unread && covered.cases > 0 {
            continue;
        }
        if is_unread {
            covered.format = "not read";
        }
        covered.cases += 1;
        let is_refused = !found.refused(|found| lint::case_errors(found, catalog, tree, settings)).is_empty();
        let Some(case) = found.case().ok().filter(|_| !is_refused) else {
            covered.broken += 1;
            continue;
        };
        for check in &case.checks {
            *covered.run.entry(check.kind.id).or_default() += 1;
        }
        covered.judged += case.assertions.len() + usize::from(case.judge);
        covered.partial += usize::from(!case.unsupported.is_empty());
        for part in &case.unsupported {
            *covered.unsupported.entry(part.what.clone()).or_default() += 1;
        }
    }
    files.into_values().collect()
}

/// A line for each file and one for all, then the checks that are run and what is unsupported.
pub fn render_coverage(files: &[FileCoverage]) -> String {
    let mut total = FileCoverage::default();
    let mut rows = vec![["file", "format", "cases", "broken", "run", "judged", "unsupported"].map(str::to_owned)];
    for file in files {
        rows.push(row(&escape::line(&file.file.to_string_lossy()), file));
        total.cases += file.cases;
        total.broken += file.broken;
        total.partial += file.partial;
        total.judged += file.judged;
        file.run.iter().for_each(|(kind, count)| *total.run.entry(kind).or_default() += count);
        file.unsupported.iter().for_each(|(what, count)| *total.unsupported.entry(what.clone()).or_default() += count);
    }
    rows.push(row("all", &total));
    let number = NUMBERS.fixed(11);
    let mut text = columns::text([WORDS, WORDS, number, number, number, number, number], &rows);
    for (kind, count) in &total.run {
        let _ = writeln!(text, "run: {kind} {count}");
    }
    for (what, count) in &total.unsupported {
        let _ = writeln!(text, "unsupported: {} {count}", escape::line(what));
    }
    if total.partial > 0 {
        let _ = writeln!(
            text,
            "{} of {} cases run only with `partial = true`: they ask for something unsupported",
            total.partial, total.cases
        );
    }
    text
}

fn row(name: &str, file: &FileCoverage) -> [String; 7] {
    let numbers =
        [file.cases, file.broken, file.run.values().sum(), file.judged, file.unsupported.values().sum::<usize>()];
    let [cases, broken, run, judged, unsupported] = numbers.map(|number| number.to_string());
    [name.to_owned(), file.format.to_owned(), cases, broken, run, judged, unsupported]
}
