//! First cases for skills: what can be written without an agent, and what an agent drafts.

pub mod drafted;
pub mod review;
pub mod starter;

use std::path::Path;

use crate::cases::case::prompts_csv::parse;
use crate::cases::catalog::{Catalog, PROMPTS, evals_folder};
use crate::cases::repo_files::RepoFiles;
use crate::lint::{self, SkillWords};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The columns that every generated file has.
const COLUMNS: [&str; 5] = ["id", "should_trigger", "prompt", "sandbox", "must_include"];

/// The column for who wrote a row, if that was an agent.
const AUTHOR: &str = "x_author";

/// A case before it is in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedCase {
    pub id: String,
    pub should_trigger: bool,
    pub prompt: String,
    /// Who wrote it, if not a person.
    pub author: Option<String>,
}

/// A prompts.csv with these cases. Its trials write nothing, and their authors add what an answer must contain.
pub fn prompts_csv(drafts: &[GeneratedCase]) -> String {
    let has_author = drafts.iter().any(|draft| draft.author.is_some());
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing to memory cannot fail, and every record has all columns.
    let _ = writer.write_record(COLUMNS.into_iter().chain(has_author.then_some(AUTHOR)));
    for draft in drafts {
        let should_trigger = if draft.should_trigger { "true" } else { "false" };
        let author = has_author.then(|| draft.author.as_deref().unwrap_or_default());
        let cells = [&draft.id, should_trigger, &draft.prompt, "read-only", ""];
        let _ = writer.write_record(cells.into_iter().chain(author));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What lint would say about a draft for the skill `slug` once it is in a file.
pub fn problems(draft: &GeneratedCase, slug: &str, catalog: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let path = evals_folder(slug).join(PROMPTS);
    let parsed = parse(Path::new(""), &path, prompts_csv(std::slice::from_ref(draft)).into_bytes(), &[]);
    let mut problems = parsed.problems;
    for found in parsed.rows.into_iter().map(|row| row.found(slug)) {
        problems.extend(match found.case() {
            Ok(case) => lint::case(&found, case, catalog, tree, false),
            Err(problems) => problems.to_vec(),
        });
    }
    if !draft.should_trigger && !SkillWords::of(catalog).come_near(&draft.prompt, slug) {
        let message = format!("this prompt is near no skill: a model ignores `{slug}` without a choice");
        problems.push(Diagnostic::new(Code::FarNegatives, SourceLocation::file(path), message));
    }
    problems
}
