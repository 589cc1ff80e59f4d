//! Exports: the formats in which the results of a run are written for people or programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::results::summary::Summary;

/// By `skill/case`, the file of the case (relative to the git repository) and its line, from 1.
pub type CaseLocations = BTreeMap<String, (PathBuf, usize)>;

/// The results to export.
pub struct Results<'a> {
    pub summary: &'a Summary,
    /// Looks up the places of cases.
    pub places: &'a dyn Fn() -> CaseLocations,
}

/// A format. Its name is the option that chooses it.
#[derive(Debug)]
pub struct Export {
    /// The name, kebab-case.
    pub name: &'static str,
    /// The help of the option.
    pub about: &'static str,
    pub target: ExportTarget,
    /// Makes the text, or says why the results cannot be written.
    pub render: fn(&Results<'_>) -> Result<String, String>,
}

/// Where the text of an export goes.
#[derive(Clone, Copy, Debug)]
pub enum ExportTarget {
    /// To the file that the option names.
    File,
    /// To standard output, instead of the table.
    Output,
    /// To standard output for the CI server, with a Markdown page if the server shows one.
    Job {
        /// Makes the page.
        page: fn(&Summary) -> String,
    },
}
