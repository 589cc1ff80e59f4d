//! How much of each file of cases is run: the checks of each kind, those that a judge makes, and what is unsupported.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::cases::repo_files::RepoFiles;
use crate::columns::{self, NUMBERS, WORDS};
use crate::lint;
use crate::settings::Settings;
use crate::text::diagnostic::Code;
use crate::text::escape;

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
        let is_unread = found.source.file_problems().iter().any(|problem| problem.code == Code::UnreadCases);
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
pub fn render(files: &[FileCoverage]) -> String {
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
