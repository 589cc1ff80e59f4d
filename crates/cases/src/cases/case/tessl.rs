//! Scenarios of Tessl: a directory with `task.md`, the prompt, and `criteria.json`, what is expected.
//!
//! ```json
//! { "context": "Tests brewing", "type": "weighted_checklist",
//!   "checklist": [ { "name": "Time", "description": "steps.md says three minutes", "max_score": 60 } ] }
//! ```
//!
//! Each entry of the checklist is an assertion for the judge: it holds, or it does not. Its `max_score` is its weight.

use std::path::Path;

use crate::cases::case::document::{Document, Node, Syntax};
use crate::cases::case::foreign_case::ForeignCase;
use crate::cases::case::{Assertion, Case, CaseFormat, FileCases, ForeignFile, ForeignFiles, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::profile::DEFAULT_MODE;
use crate::text::diagnostic::{Code, SourceLocation};
use crate::trial::outcome::Weight;

/// A task with a checklist.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "Tessl scenario",
    default_mode: DEFAULT_MODE,
    files: None,
    foreign: Some(ForeignFiles {
        names: &[],
        possible_names: &[TASK],
        mark: "",
        keys: &[],
        parse: |file, document, _| parse(file, document.bytes),
    }),
};

pub(in crate::cases) const TASK: &str = "task.md";

pub(in crate::cases) const CRITERIA: &str = "criteria.json";

pub(in crate::cases) const CHECKLIST: &str = "checklist";

/// Files of a scenario that ask for nothing.
const NOTES: [&str; 3] = ["README.md", "capability.txt", "scenario.json"];

fn parse(file: &ForeignFile<'_>, task: &[u8]) -> Option<FileCases> {
    let folder = file.path.parent()?;
    let path = folder.join(CRITERIA);
    if !file.path.ends_with(TASK) || file.tree.kind(&path) != FileKind::File {
        return None;
    }
    let claims = vec![path.clone()];
    let bytes = file.tree.read(&path).ok()?;
    let mut criteria = Document::new(&path, &bytes, Syntax::Json);
    let Some(root) = criteria.root() else {
        return Some(FileCases { problems: criteria.problems.into_vec(), claims, ..FileCases::default() });
    };
    let id = file.case_id(&folder.file_name().unwrap_or_default().to_string_lossy());
    let base = Case { skill: file.skill.unwrap_or_default().to_owned(), ..Case::default() };
    let mut case = ForeignCase::new(&criteria, &root, id, base);
    let text = String::from_utf8_lossy(task);
    let prompt = text.trim_start_matches('\u{feff}').trim();
    if prompt.is_empty() {
        criteria.problem(Code::EmptyValue, 0..0, format!("{} is empty", file.path.display()));
    }
    let draft = &mut case.draft.case;
    prompt.clone_into(&mut draft.prompt);
    draft.origin = SourceLocation { line: 1, column: 1, ..SourceLocation::file(file.path) };
    draft.unsupported = criteria.unsupported_keys(&root, &["type", CHECKLIST], &["context", "name", "description"]);
    if let Some(kind) = root.get("type").filter(|kind| kind.text() != Some("weighted_checklist")) {
        draft.unsupported.push(criteria.unsupported("criteria of another type", kind));
    }
    draft.unsupported.extend(others(file, folder));
    if criteria.required(&root, CHECKLIST).is_some() {
        for (entry, number) in criteria.list(&root, CHECKLIST).unwrap_or_default().iter().zip(1..) {
            draft.unsupported.extend(criteria.unsupported_keys(
                entry,
                &["description", "max_score"],
                &["name", "id", "category"],
            ));
            let written = criteria.required(entry, "max_score");
            let weight = written.and_then(Node::amount).filter(|score| *score >= 0.0);
            if let (Some(written), None) = (written, weight) {
                criteria.wrong_type("`max_score`", "a number that is not negative", written);
            }
            let (Some(text), Some(weight)) = (criteria.required_text(entry, "description"), weight) else { continue };
            let place = criteria.place(entry.range.clone());
            draft.assertions.push(Assertion {
                text: text.to_owned(),
                place,
                weight: Some(Weight::new(weight, number)),
            });
        }
    }
    let problems = criteria.problems.take();
    Some(FileCases { cases: vec![case.found(&FORMAT, problems)], claims, ..FileCases::default() })
}

/// The other files of a scenario: what they are for is not known.
fn others(file: &ForeignFile<'_>, folder: &Path) -> Option<Unsupported> {
    let names = file.tree.names(folder).unwrap_or_default();
    let is_known = |name: &str| name == CRITERIA || file.path.ends_with(name) || NOTES.contains(&name);
    let other = names.iter().filter_map(|name| name.to_str()).find(|name| !is_known(name) && !name.starts_with('.'))?;
    Some(Unsupported {
        what: format!("the file {other} of a scenario"),
        place: SourceLocation::file(folder.join(other)),
    })
}
