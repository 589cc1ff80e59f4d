//! Results as workflow commands of GitHub Actions: an annotation at the line of each case that did not pass, or with the
//! result of a comparison. <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>

use std::fmt::Write;

use crate::report::export::{CaseLocations, Export, ExportTarget};
use crate::report::paint::Paint;
use crate::report::table::why;
use crate::report::{compared, markdown};
use crate::results::compared::ComparisonResults;
use crate::results::summary::Summary;
use crate::trial::outcome::Verdict;

/// `--github`.
pub static EXPORT: Export = Export {
    name: "github",
    about: "In GitHub Actions: annotate each case that did not pass, and add the summary to the job",
    target: ExportTarget::Job { page: markdown::summary },
    render: |results| Ok(annotations(results.summary, &(results.places)())),
};

/// A line for each case that did not pass: an error if it failed, a warning if it was not measured or not run.
pub fn annotations(summary: &Summary, places: &CaseLocations) -> String {
    let mut text = String::new();
    for (key, row) in &summary.cases {
        let level = match row.verdict() {
            Some(Verdict::Pass) => continue,
            Some(Verdict::Fail) => "error",
            Some(Verdict::Error | Verdict::Unscored) | None => "warning",
        };
        let place = places.get(&format!("{}/{}", key.skill, key.case));
        let place = place.map(|(file, line)| format!(" file={},line={line}", property(&file.to_string_lossy())));
        let message = message(&format!("{}/{} in the mode {}: {}", key.skill, key.case, key.mode, why(row)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "::{level}{}::{message}", place.unwrap_or_default());
    }
    text
}

/// The result of a comparison on a line; `level` is `error`, `warning` or `notice`.
pub fn answer(compared: &ComparisonResults, level: &str) -> String {
    format!("::{level}::{}\n", message(&compared::sentence(compared, Paint::Plain)))
}

/// Text that neither ends a command nor begins one.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same for the value of a property.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_others_wrote_ends_a_command_or_adds_a_property() {
        assert_eq!(message("100 %\n::error::x"), "100 %25%0A::error::x");
        assert_eq!(property("a:b,line=7%"), "a%3Ab%2Cline=7%25");
    }
}
