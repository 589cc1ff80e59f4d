//! What GitHub Actions reads of a job, besides its output.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Adds Markdown to the page of the job, in the file that GitHub names for that; nothing where it names none. Returns why
/// that failed.
pub fn add_to_page(markdown: &str) -> Option<String> {
    let page = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|page| !page.is_empty())?;
    let file = OpenOptions::new().create(true).append(true).open(&page);
    let written = file.and_then(|mut file| file.write_all(markdown.as_bytes()));
    written.err().map(|error| format!("{}: {error}", Path::new(&page).display()))
}
