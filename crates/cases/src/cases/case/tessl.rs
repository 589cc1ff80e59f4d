//! Scenarios of Tessl: a directory with `task.md`, the prompt, and `criteria.json`, what is expected.
//!
//! ```json
//! { "context": "Tests brewing", "type": "weighted_checklist",
//!   "checklist": [ { "name": "Time", "description": "steps.md says three minutes", "max_score": 60 } ] }
//! ```
//!
//! Each entry of the checklist is an assertion for the judge: it holds, or it does not. Its `max_score` is its weight.

use super::document::{Document, Node, Syntax};
use super::foreign_reader::Meaning::{By, Only};
use super::foreign_reader::{ForeignReader, KeyTable};
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFiles, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::text::diagnostic::{Code, SourceLocation};
use crate::trial::outcome::Weight;

/// A task with a checklist.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "Tessl scenario",
    ForeignFiles {
        names: &[],
        possible_names: &[TASK],
        mark: "",
        keys: &[],
        about: "[scenarios of Tessl](#what-a-scenario-of-tessl-asks-for), with `criteria.json` next to them",
        all_keys: || FileKeys::of(&[&KEYS]),
        parse,
    },
);

pub(in crate::cases) const TASK: &str = "task.md";
pub(in crate::cases) const CRITERIA: &str = "criteria.json";
pub(in crate::cases) const CHECKLIST: &str = "checklist";

static KEYS: KeyTable =
    KeyTable::of(&[("type", Only("weighted_checklist", "criteria of another type")), (CHECKLIST, By(checklist))])
        .and_notes("context name description");

fn parse(reader: ForeignReader<'_>) -> Option<FileCases> {
    let (task, folder) = (reader.file.path, reader.file.path.parent()?);
    let path = folder.join(CRITERIA);
    if !task.ends_with(TASK) || reader.file.tree.kind(&path) != FileKind::File {
        return None;
    }
    let bytes = reader.file.tree.read(&path).ok()?;
    let text = String::from_utf8_lossy(reader.bytes).into_owned();
    let mut reader = reader;
    reader.documents = vec![Document::new(&path, &bytes, Syntax::Json)];
    let claims = vec![path.clone()];
    let Some(root) = reader.documents[0].root() else { return Some(FileCases { claims, ..reader.no_cases() }) };
    reader.file.skill.unwrap_or_default().clone_into(&mut reader.case.skill);
    let cases = reader.cases(&[root], |reader, root, _| {
        let id = reader.file.case_id(&folder.file_name().unwrap_or_default().to_string_lossy());
        reader.start(id, root);
        reader.case.origin = SourceLocation { line: 1, column: 1, ..SourceLocation::file(task) };
        text.trim_start_matches('\u{feff}').trim().clone_into(&mut reader.case.prompt);
        if reader.case.prompt.is_empty() {
            reader.problem(Code::EmptyValue, 0..0, format!("{} is empty", task.display()));
        }
        reader.read(root, &KEYS);
        reader.finish()
    });
    Some(FileCases { claims, ..cases })
}
fn checklist(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    other_files(reader);
    reader.required(root, key);
    for (entry, number) in reader.list(root, key).unwrap_or_default().iter().zip(1..) {
        reader.only_keys(entry, &["description", "max_score"], "name id category");
        reader.required(entry, "max_score");
        let weight = reader.amount(entry, "max_score", 0.0..=f64::MAX, "a number that is not negative");
        if let (Some(text), Some(weight)) = (reader.required_text(entry, "description"), weight) {
            reader.weighed(Weight::new(weight, number), |reader| reader.judge(entry, text));
        }
    }
}

/// The other files of a scenario: what they are for is not known.
fn other_files(reader: &mut ForeignReader<'_>) {
    let names = reader.file.tree.names(reader.folder()).unwrap_or_default();
    let known = [CRITERIA, TASK, "README.md", "capability.txt", "scenario.json"];
    let is_other = |name: &&str| !known.contains(name) && !name.starts_with('.');
    if let Some(other) = names.iter().filter_map(|name| name.to_str()).find(is_other) {
        let place = SourceLocation::file(reader.folder().join(other));
        reader.case.unsupported.push(Unsupported { what: format!("the file {other} of a scenario"), place });
    }
}
