//! The trials of a repository as lines and as JSON.

use std::fmt::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::cases::catalog::Catalog;
use crate::cases::repo_files::RepoFiles;
use crate::cases::test_case::TestCase;
use crate::lint;
use crate::settings::Settings;
use crate::text::diagnostic::Diagnostic;
use crate::text::safe;

/// One trial.
#[derive(Clone, Debug, Serialize)]
pub struct ListedTrial {
    /// The test's name.
    pub name: String,
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
    /// Whether the skill should trigger; nothing where that cannot be read.
    pub should_trigger: Option<bool>,
    /// Where the case is written down, relative to the repository's root.
    pub file: PathBuf,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// What keeps it from running.
    pub problems: Vec<Diagnostic>,
}

/// The planned trials, with what keeps each from running.
#[must_use]
pub fn listed(planned: &[TestCase], catalog: &Catalog, tree: &dyn RepoFiles, settings: &Settings) -> Vec<ListedTrial> {
    let listed = |planned: &TestCase| {
        let found = &planned.found;
        let repetition = settings.repetition.of(&found.skill, found.repetition());
        let mut problems = lint::case_errors(found, catalog, tree, &settings.lint);
        problems.extend(lint::never_decided(found, repetition, tree));
        ListedTrial {
            name: planned.test_name(),
            skill: found.skill.to_string(),
            case: found.id.clone(),
            mode: planned.mode.name.clone(),
            should_trigger: found.should_trigger(),
            file: found.file.to_path_buf(),
            line: found.line,
            problems,
        }
    };
    planned.iter().map(listed).collect()
}

/// A line for each trial: name, what is expected, place, and what is wrong. `aligned` pads the columns for people;
/// otherwise they are separated by tabs for programs.
#[must_use]
pub fn render(listed: &[ListedTrial], aligned: bool) -> String {
    let rows: Vec<[String; 3]> = listed.iter().map(cells).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = if aligned { (width(0), width(1)) } else { (0, 0) };
    let gap = if aligned { "  " } else { "\t" };
    let mut text = String::new();
    for [name, expected, rest] in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:first$}{gap}{expected:second$}{gap}{rest}");
    }
    text
}

fn cells(listed: &ListedTrial) -> [String; 3] {
    let expected = match (listed.problems.is_empty(), listed.should_trigger) {
        (false, _) => "broken",
        (true, Some(true)) => "triggers",
        (true, Some(false)) => "stays-quiet",
        (true, None) => "unknown",
    };
    let rest = match listed.problems.as_slice() {
        [] => format!("{}:{}", listed.file.display(), listed.line),
        [only] => only.to_string(),
        [first, others @ ..] => format!("{first} (and {} more)", others.len()),
    };
    [safe::line(&listed.name), expected.to_owned(), safe::line(&rest)]
}
