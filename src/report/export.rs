//! An export: a text that the results of a run are written as, for people or programs elsewhere.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::results::summary::Summary;
use crate::trial::run_record::TrialRecord;

/// Where cases are written down, by `skill/case`: a file, from the root of the whole repository, and a line from 1.
pub type CaseLocations = BTreeMap<String, (PathBuf, usize)>;

/// What is exported.
pub struct Results<'a> {
    /// The figures.
    pub summary: &'a Summary,
    /// The trials that ended.
    pub trials: &'a [TrialRecord],
    /// Looks up where cases are written down.
    pub places: &'a dyn Fn() -> CaseLocations,
}

/// An export. Its name is the option by which it is chosen.
#[derive(Debug)]
pub struct Export {
    /// Its name, kebab-case.
    pub name: &'static str,
    /// What it is, as the help and the documentation say.
    pub about: &'static str,
    /// Where its text goes.
    pub target: ExportTarget,
    /// Makes the text.
    ///
    /// # Errors
    /// Says why the results cannot be written so.
    pub render: fn(&Results<'_>) -> Result<String, String>,
}

/// Where the text of an export goes.
#[derive(Clone, Copy, Debug)]
pub enum ExportTarget {
    /// To the file that the option names.
    File,
    /// To standard output, in place of the table.
    Output,
    /// To standard output, for the CI server that reads it, with a page in Markdown where the server shows one.
    Job {
        /// Makes the page.
        page: fn(&Summary) -> String,
    },
}
