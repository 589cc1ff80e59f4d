//! `evals/<skill>.prompts.csv`: the file that a guide to evals of skills suggests.
//!
//! ```csv
//! id,should_trigger,prompt
//! test-01,true,"Create a demo app with the $setup-demo-app skill"
//! ```
//!
//! Public files have more columns, with names of their authors' own. Words about the answer are for the judge. Any other filled
//! cell may ask for something and makes its case unsupported.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::{
    COLUMNS, CsvRecord, CsvRow, CsvSheet, MARK, OWN_PREFIX, ParsedCsv, REQUIRED, cut, first_line, not_text, rows,
    skip_line_breaks,
};
use crate::cases::case::document::{Node, NodeEntry, NodeValue};
use crate::cases::case::evals_json::NOTES;
use crate::cases::case::foreign_reader::words;
use crate::cases::case::{
    Assertion, Case, CaseFormat, FileCases, FileKeys, ForeignFile, ForeignFiles, FoundCase, ReadCase, Unsupported,
};
use crate::cases::case_folders::{SKILL_EVALS, evals_folder};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// Prompts and whether they should trigger the skill.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "prompt",
    ForeignFiles {
        names: &["evals/*.prompts.csv"],
        possible_names: &["evals/*prompts.csv", "prompts.csv"],
        mark: "",
        keys: &["id", "should_trigger", "prompt"],
        about: "[prompts of the guide](#what-a-row-of-a-promptscsv-asks-for) to evals of skills, if a skill is known",
        all_keys: || FileKeys {
            read: REQUIRED.into_iter().chain([SKILL]).chain(EXPECTED).chain([FORBIDDEN]).collect(),
            notes: words(NOTES).into_iter().chain(KINDS).collect(),
            ..FileKeys::default()
        },
        parse: |reader| parse_row(reader.file, reader.bytes),
    },
);

/// The end of a file's name behind the name of its skill.
const END: &str = ".prompts.csv";

/// The column of the skill under test.
const SKILL: &str = "skill";

/// The name of our own files.
const PROMPTS: &str = "prompts.csv";

/// The columns that say in words what is expected.
const EXPECTED: [&str; 5] =
    ["expected", "expected_behavior", "expected_behaviors", "expected_output", "required_behaviors"];

/// The column of what must not happen.
const FORBIDDEN: &str = "forbidden_behaviors";

/// Columns that say what kind of prompt a row has.
const KINDS: [&str; 4] = ["check_type", "invocation", "kind", "type"];

fn parse_row(file: &ForeignFile<'_>, bytes: &[u8]) -> Option<FileCases> {
    // No column that is read here names a file of the repository.
    let ParsedCsv { rows, problems } = cut(Path::new(""), file.path, bytes.to_vec(), &FORMAT, file.own_keys);
    let of_file = skill_of(file);
    let names_skills = || rows.iter().any(|row| row.cells().any(|(column, ..)| column == SKILL));
    let is_in_evals = file.path.parent().is_some_and(|parent| parent.ends_with("evals")) || file.is_in_evals_of_skill();
    let names_skill = of_file.is_some() || names_skills();
    if !file.is_certain && (rows.is_empty() || !is_in_evals || !names_skill) {
        // Its columns are those of our own files, so it is one at another path.
        let is_ours = problems.is_empty() && !rows.is_empty() && file.is_in_cases_of_skills();
        return is_ours.then(|| match file.skill {
            // It stands for the file that the skill lacks.
            Some(skill) => {
                let case = ReadCase::new(&FORMAT, Err(vec![misplaced(file)]));
                let found = FoundCase::new(PROMPTS.to_owned(), skill, file.path, 1, case);
                FileCases { cases: vec![found], ..FileCases::default() }
            }
            None => FileCases { problems: vec![misplaced(file)], ..FileCases::default() },
        });
    }
    let cases = rows.into_iter().map(|row| {
        let named = row.cells().find(|(column, ..)| *column == SKILL).map(|(_, skill, _)| file.skill_slug(&skill));
        let id = if row.id.is_empty() { format!("row-{}", row.line) } else { row.id.clone() };
        row.found_as(file.case_id(&id), named.or_else(|| of_file.clone()).unwrap_or_default())
    });
    Some(FileCases { cases: cases.collect(), problems, ..FileCases::default() })
}

/// The problem of a prompts.csv that is at another path than one of those.
fn misplaced(file: &ForeignFile<'_>) -> Diagnostic {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    let is_copy = name.starts_with("prompts") && file.path.starts_with(SKILL_EVALS);
    let right = evals_folder(file.skill.unwrap_or("<skill>")).join(PROMPTS);
    let message =
        format!("this file has the columns of a {PROMPTS} and is not read: its name or its place is another one");
    let help = match (is_copy, file.skill) {
        (true, _) => format!("rename it to {}; or remove it if it is a copy", right.display()),
        (false, Some(_)) => format!("move it to {}", right.display()),
        (false, None) => format!("move it to {}, or add a column `{SKILL}` with the names of skills", right.display()),
    };
    Diagnostic::new(Code::MisplacedCases, SourceLocation::file(file.path), message).help(help)
}

/// The slug of the skill that the file's name says if it is here, or else of the one that the file's place stands for.
fn skill_of(file: &ForeignFile<'_>) -> Option<String> {
    let name = file.path.file_name()?.to_str()?;
    let named = name.strip_suffix(END).map(|name| file.skill_slug(name));
    let is_here = |slug: &String| file.skills.contains(&slug.as_str());
    named.clone().filter(is_here).or_else(|| file.skill.map(str::to_owned)).or(named)
}

/// Reads the columns besides the required ones.
pub(super) fn read_other_columns(row: &CsvRow, case: &mut Case) {
    for (column, text, place) in row.cells() {
        let is_note = words(NOTES).contains(&column) || KINDS.contains(&column) || column.starts_with(OWN_PREFIX);
        if is_note || row.sheet.own.iter().any(|own| own == column) || REQUIRED.contains(&column) || column == SKILL {
            continue;
        }
        if EXPECTED.contains(&column) {
            case.assertions.push(Assertion { text, place, weight: None });
        } else if column == FORBIDDEN {
            case.assertions.push(Assertion { text: Assertion::forbidding(&text), place, weight: None });
        } else {
            let elsewhere = COLUMNS
                .contains(&column)
                .then_some(", which is read in evals/skills/<skill>/prompts.csv: move the file there");
            let what = format!("the column `{column}`{}", elsewhere.unwrap_or_default());
            case.unsupported.push(Unsupported { what, place });
        }
    }
}

/// The rows of a table as objects of texts by the names of its columns, or why it is none.
pub(in crate::cases::case) fn table(path: &Path, bytes: &[u8]) -> Result<Node, Vec<Diagnostic>> {
    let header_start = skip_line_breaks(bytes, if bytes.starts_with(MARK) { MARK.len() } else { 0 });
    if let Some(problem) = not_text(path, bytes).or_else(|| first_line(path, bytes, header_start)) {
        return Err(vec![problem]);
    }
    let header = CsvRecord::at(bytes, header_start);
    let names = header.names(bytes);
    let sheet = Arc::new(CsvSheet {
        root: Path::new("").into(),
        path: path.into(),
        bytes: bytes.to_vec(),
        format: &FORMAT,
        columns: HashMap::new(),
        names,
        own: Vec::new(),
    });
    let (mut nodes, mut problems) = (Vec::new(), Vec::new());
    rows(&sheet, header.range(usize::MAX).end, &mut |row, record| {
        problems.extend(row.form_problem(record));
        let entry = |(index, key): (usize, &String)| {
            let (range, text) = (record.range(index), record.text(bytes, index));
            let value = if text.trim().is_empty() { NodeValue::Null } else { NodeValue::Text(text.trim().to_owned()) };
            NodeEntry { key: key.clone(), key_range: header.range(index), value: Node { value, range } }
        };
        let entries = sheet.names.iter().enumerate().filter(|(_, name)| !name.is_empty()).map(entry).collect();
        nodes.push(Node { value: NodeValue::Map(entries), range: row.start..record.range(usize::MAX).end });
    });
    if problems.is_empty() { Ok(Node { value: NodeValue::List(nodes), range: 0..bytes.len() }) } else { Err(problems) }
}
