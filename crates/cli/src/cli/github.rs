//! The summary page of a GitHub Actions job.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Appends Markdown to the file that `GITHUB_STEP_SUMMARY` names, if it is set. Returns why that failed.
pub fn add_to_page(markdown: &str) -> Option<String> {
    let page = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|page| !page.is_empty())?;
    let file = OpenOptions::new().create(true).append(true).open(&page);
    let written = file.and_then(|mut file| file.write_all(markdown.as_bytes()));
    written.err().map(|error| format!("{}: {error}", Path::new(&page).display()))
}
