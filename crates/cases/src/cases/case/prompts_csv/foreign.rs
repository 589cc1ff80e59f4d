//! `evals/<skill>.prompts.csv`: the file that a guide to evals of skills by `OpenAI` suggests.
//!
//! ```csv
//! id,should_trigger,prompt
//! test-01,true,"Create a demo app with the $setup-demo-app skill"
//! ```
//!
//! Public files have more columns, with names of their authors' own. Words about the answer are for the judge. Any other filled
//! cell may ask for something and makes its case unsupported.

use std::path::Path;

use super::{CsvRow, OWN_PREFIX, ParsedCsv, REQUIRED, cut};
use crate::cases::case::evals_json::NOTES;
use crate::cases::case::foreign_reader::words;
use crate::cases::case::{Assertion, Case, CaseFormat, FileCases, ForeignFile, ForeignFiles, Unsupported};

/// Prompts and whether they should trigger the skill.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "prompt",
    ForeignFiles {
        names: &["evals/*.prompts.csv"],
        possible_names: &["evals/*prompts.csv", "prompts.csv"],
        mark: "",
        keys: &["id", "should_trigger", "prompt"],
        parse: |reader| parse(reader.file, reader.bytes),
    },
);

/// The end of a file's name behind the name of its skill.
const END: &str = ".prompts.csv";

/// The column of the skill under test.
const SKILL: &str = "skill";

/// The columns that say in words what is expected.
const EXPECTED: [&str; 5] =
    ["expected", "expected_behavior", "expected_behaviors", "expected_output", "required_behaviors"];

/// The column of what must not happen.
const FORBIDDEN: &str = "forbidden_behaviors";

/// Columns that say what kind of prompt a row has.
const KINDS: [&str; 4] = ["check_type", "invocation", "kind", "type"];

fn parse(file: &ForeignFile<'_>, bytes: &[u8]) -> Option<FileCases> {
    // No column that is read here names a file of the repository.
    let ParsedCsv { rows, problems } = cut(Path::new(""), file.path, bytes.to_vec(), &FORMAT, &[]);
    let of_file = skill_of(file);
    let names_skills = || rows.iter().any(|row| row.cells().any(|(column, ..)| column == SKILL));
    let is_in_evals = file.path.parent().is_some_and(|parent| parent.ends_with("evals")) || file.is_in_evals_of_skill();
    if !file.is_certain && (rows.is_empty() || !is_in_evals || of_file.is_none() && !names_skills()) {
        return None;
    }
    let cases = rows.into_iter().map(|row| {
        let named = row.cells().find(|(column, ..)| *column == SKILL).map(|(_, skill, _)| file.skill_slug(&skill));
        let id = if row.id.is_empty() { format!("row-{}", row.line) } else { row.id.clone() };
        row.found_as(file.case_id(&id), named.or_else(|| of_file.clone()).unwrap_or_default())
    });
    Some(FileCases { cases: cases.collect(), problems, ..FileCases::default() })
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
        if is_note || REQUIRED.contains(&column) || column == SKILL {
            continue;
        }
        if EXPECTED.contains(&column) {
            case.assertions.push(Assertion { text, place, weight: None });
        } else if column == FORBIDDEN {
            case.assertions.push(Assertion { text: Assertion::forbidding(&text), place, weight: None });
        } else {
            case.unsupported.push(Unsupported { what: format!("the column `{column}`"), place });
        }
    }
}
