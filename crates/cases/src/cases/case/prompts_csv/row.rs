//! A row of a prompts.csv as a case.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{CsvRecord, CsvSheet, OWN_PREFIX, ParsedCsv, REQUIRED, cell_range, cut};
use crate::cases::case::document::{Document, Syntax};
use crate::cases::case::evals_json::NOTES;
use crate::cases::case::fields::{self, CaseDraft, CaseField, ListField};
use crate::cases::case::foreign_reader::words;
use crate::cases::case::{
    Assertion, Case, CaseFormat, CaseSource, FileCases, ForeignFile, ForeignFiles, FoundCase, Unsupported,
};
use crate::cases::case_places::CasePlaces;
use crate::cases::repo_files::RepoFiles;
use crate::checks::{FieldForm, FieldValue, InvalidField};
use crate::files::inside;
use crate::settings::trials::Repetition;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::text::name;
use crate::text::problem_list::ProblemList;
use crate::text::source_text::ends_line;

/// A row of a prompts.csv.
#[derive(Clone, Debug)]
pub struct CsvRow {
    pub(super) sheet: Arc<CsvSheet>,
    /// The row's first byte in the file.
    pub(super) start: usize,
    pub(super) line: usize,
    pub(super) id: String,
    pub(super) should_trigger: Option<bool>,
}

impl CsvRow {
    /// The line on which the row starts, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The row as a case that is not read yet. A row whose id cannot be a name gets the id `row-<line>`.
    pub fn found(mut self, skill: impl Into<Arc<str>>) -> FoundCase {
        let id = std::mem::take(&mut self.id);
        let id = if name::check_case_id(&id).is_ok() { id } else { format!("row-{}", self.line) };
        FoundCase::new(id, skill, Arc::clone(&self.sheet.path), self.line, self)
    }

    /// The same of a file of another program, which gives the case this id.
    fn found_as(mut self, id: String, skill: String) -> FoundCase {
        self.id.clone_from(&id);
        FoundCase::new(id, skill, Arc::clone(&self.sheet.path), self.line, self)
    }

    /// The text of each cell with the name of its column and its place, if the cell is not blank.
    fn cells(&self) -> impl Iterator<Item = (&str, String, SourceLocation)> {
        let record = CsvRecord::at(&self.sheet.bytes, self.start);
        self.sheet.names.iter().enumerate().filter_map(move |(index, name)| {
            let text = record.text(&self.sheet.bytes, index).trim().to_owned();
            let place = || self.place_of_bytes(record.range(index));
            (!text.is_empty()).then(|| (name.as_str(), text, place()))
        })
    }

    /// The place of a column's cell.
    pub fn place(&self, column: &str) -> SourceLocation {
        self.place_of_bytes(self.cell_range(column))
    }

    /// The place of `text` in a column's cell, in any case; the cell if the text is not there.
    fn place_of(&self, column: &str, text: &str) -> SourceLocation {
        let cell = self.cell_range(column);
        let written = &self.sheet.bytes[cell.clone()];
        let found = written.windows(text.len().max(1)).position(|part| part.eq_ignore_ascii_case(text.as_bytes()));
        self.place_of_bytes(found.map_or(cell.clone(), |at| cell.start + at..cell.start + at + text.len()))
    }

    fn cell_range(&self, column: &str) -> Range<usize> {
        cell_range(&self.sheet.bytes, self.start, self.sheet.columns.get(column).copied().unwrap_or_default())
    }

    /// The place of bytes of this row. Lines are counted from the row's own: to count them from the start of a large file
    /// for every row takes minutes.
    pub(super) fn place_of_bytes(&self, range: Range<usize>) -> SourceLocation {
        let range = range.start.saturating_sub(self.start)..range.end.saturating_sub(self.start);
        let mut place = SourceLocation::in_text(&*self.sheet.path, &self.sheet.bytes[self.start..], range);
        place.line += self.line - 1;
        place
    }

    /// The line on which a column's cell begins, from 1.
    fn line_of(&self, column: &str) -> usize {
        let before = self.start..self.cell_range(column).start;
        self.line + before.filter(|at| ends_line(&self.sheet.bytes, *at)).count()
    }

    fn reader(&self, skill: &str) -> RowReader<'_> {
        // The cells of a hundred thousand rows would fill the memory: each row is cut again when it is read.
        RowReader {
            row: self,
            record: CsvRecord::at(&self.sheet.bytes, self.start),
            places: CasePlaces::of(&self.sheet.root, &self.sheet.path, skill),
            problems: ProblemList::of_file(),
        }
    }
}

impl CaseSource for CsvRow {
    fn format(&self) -> &'static CaseFormat {
        self.sheet.format
    }

    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>> {
        let mut reader = self.reader(skill);
        if let Some(problem) = reader.form_problem() {
            // The cells are not what the author meant: one clear message, not one for every cell.
            return Err(vec![problem]);
        }
        let case = reader.case(skill);
        if reader.problems.is_empty() { Ok(case) } else { Err(reader.problems.into_vec()) }
    }

    fn should_trigger(&self) -> Option<bool> {
        self.should_trigger
    }

    fn repetition(&self) -> Repetition {
        if ["trials", "threshold"].iter().any(|column| self.sheet.columns.contains_key(column)) {
            self.reader("").repetition()
        } else {
            Repetition::default()
        }
    }

    fn place(&self, key: &str, text: Option<&str>, _tree: &dyn RepoFiles) -> Option<SourceLocation> {
        let column = fields::named(key).map_or(key, |field| field.column);
        Some(text.map_or_else(|| CsvRow::place(self, column), |text| self.place_of(column, text)))
    }
}

/// Reads the cells of a row and collects their problems.
struct RowReader<'a> {
    row: &'a CsvRow,
    record: CsvRecord,
    places: CasePlaces,
    problems: ProblemList,
}

impl RowReader<'_> {
    /// Why the row is not the CSV text that its author meant.
    fn form_problem(&self) -> Option<Diagnostic> {
        let (sheet, record) = (&self.row.sheet, &self.record);
        let problem = |code, range, message: String| Diagnostic::new(code, self.row.place_of_bytes(range), message);
        if let Some(at) = record.open_quote {
            let message = "this quote is never closed: the rest of the file is one cell".to_owned();
            let help = "close the cell with `\"`; a quote inside a quoted cell is written `\"\"`";
            return Some(problem(Code::CsvOpenQuote, at..at + 1, message).help(help));
        }
        let mut nameless = (0..record.cells.len()).filter(|index| sheet.names.get(*index).is_none_or(String::is_empty));
        if let Some(index) = nameless.find(|index| !record.content(&sheet.bytes, *index).is_empty()) {
            let width = sheet.names.len();
            let (why, help) = if index < width {
                ("its column has no name".to_owned(), "name the column in the header")
            } else {
                (format!("the header has {width} columns"), "put quotes around a cell that holds a comma")
            };
            let message = format!("cell {} of a row, but {why}", index + 1);
            return Some(problem(Code::CsvExtraCell, record.range(index), message).help(help));
        }
        let written = &sheet.bytes[self.row.start..record.range(usize::MAX).end];
        if let Err(error) = std::str::from_utf8(written) {
            let at = self.row.start + error.valid_up_to();
            let byte = sheet.bytes[at];
            let message = format!("the byte 0x{byte:02X} is not UTF-8 (in Latin-1 it is `{}`)", char::from(byte));
            return Some(problem(Code::NotUtf8, at..at + 1, message).help("save the file as UTF-8"));
        }
        let at = self.row.start + written.iter().position(|byte| *byte == 0)?;
        Some(problem(Code::NulByte, at..at + 1, "the row holds a NUL byte".to_owned()))
    }

    fn case(&mut self, skill: &str) -> Case {
        let is_foreign = self.row.sheet.format.foreign.is_some();
        let id = if is_foreign { self.row.id.clone() } else { self.text("id").trim().to_owned() };
        if let Err(why) = name::check_case_id(&id) {
            self.problems.push(name::id_problem(&id, &why, self.row.place("id")));
        }
        let mut draft = CaseDraft::new(skill, id, self.row.place("id"));
        if is_foreign {
            read_other_columns(self.row, &mut draft.case);
        }
        for field in fields::all() {
            let column = field.field().column;
            if !(self.row.sheet.columns.contains_key(column) || field.is_required()) {
                continue;
            }
            if column == "prompt" && self.text(column).trim().is_empty() {
                let problem = Diagnostic::new(Code::EmptyValue, self.row.place(column), "the prompt is empty");
                self.problems.push(problem.help("write what the agent is asked"));
            }
            if let CaseField::List(list) = field {
                self.list(list, &mut draft.case);
                continue;
            }
            let values = self.values(field);
            if !values.is_empty() {
                let line = self.row.line_of(column);
                for value in values {
                    draft.set(field, column, line, value);
                }
            }
        }
        draft.finish()
    }

    fn repetition(&mut self) -> Repetition {
        let mut draft = CaseDraft::new("", String::new(), SourceLocation::default());
        for field in fields::all().filter(|field| ["trials", "threshold"].contains(&field.field().column)) {
            self.values(field).into_iter().for_each(|value| draft.set(field, field.field().column, 0, value));
        }
        draft.case.repetition
    }

    fn text(&self, column: &str) -> String {
        let sheet = &self.row.sheet;
        sheet.columns.get(column).map_or_else(String::new, |index| self.record.text(&sheet.bytes, *index))
    }

    fn values(&mut self, field: CaseField) -> Vec<FieldValue> {
        let (column, form) = (field.field().column, field.field().form);
        let text = self.text(column);
        let mut parts = form.split(&text);
        if parts.is_empty() && form.is_list() && form != FieldForm::Messages && !text.trim().is_empty() {
            let message = format!("`{column}` is {:?}, which holds no value", shorten(text.trim()));
            let problem = Diagnostic::new(Code::EmptyValue, self.row.place(column), message);
            self.problems.push(problem.help("write what must hold, or leave the cell empty"));
        }
        if parts.is_empty() && field.is_required() {
            parts.push(String::new());
        }
        let mut values = Vec::with_capacity(parts.len());
        for part in parts {
            let value = form.read(column, &part, &format!("{:?}", shorten(&part)));
            match value.and_then(|value| self.places.found(column, form, &part, value)) {
                Ok(value) => values.push(value),
                Err(InvalidField { code, message, help }) => {
                    let row = self.row;
                    let place = || if form.is_list() { row.place_of(column, &part) } else { row.place(column) };
                    self.problems.add(code, || Diagnostic::new(code, place(), message).help(help));
                }
            }
        }
        values
    }

    /// Reads a list or an object: the cell has it as JSON, or has the path of a JSON file with it.
    fn list(&mut self, list: &ListField, case: &mut Case) {
        let column = list.field.column;
        let cell = self.text(column);
        let cell = cell.trim();
        if cell.is_empty() {
            return;
        }
        let place = self.row.place(column);
        let is_inline = cell.starts_with(['[', '{']);
        let (path, bytes) = if is_inline {
            (self.row.sheet.path.to_path_buf(), cell.as_bytes().to_vec())
        } else {
            match self.list_file(list, cell) {
                Ok(file) => file,
                Err(problem) => return self.problems.push(*problem),
            }
        };
        let mut file = Document::new(&path, &bytes, Syntax::Json);
        file.places = Some(self.places.clone());
        let before = case.checks.len();
        if let Some(root) = file.root() {
            file.duplicate_keys(&root, &[]);
            (list.read)(&mut file, column, &root, case);
        }
        // Their places are in the file of the case.
        case.checks[before..].iter_mut().for_each(|check| check.origin.line = self.row.line_of(column));
        let mut problems = file.problems.into_vec();
        if is_inline {
            for problem in &mut problems {
                problem.place = place.clone();
            }
            for change in &mut case.during {
                change.origin = place.clone();
            }
            for check in &mut case.checks[before..] {
                check.origin.elsewhere = Some(place.clone());
            }
        }
        self.problems.extend(problems);
    }

    /// The file that a cell names, and its content.
    fn list_file(&self, list: &ListField, cell: &str) -> Result<(PathBuf, Vec<u8>), Box<Diagnostic>> {
        let column = list.field.column;
        let help = "name a JSON file with it, from here or from the repository's root, or write its JSON here";
        let problem = |code, message| Box::new(Diagnostic::new(code, self.row.place(column), message).help(help));
        let found = list
            .field
            .form
            .read(column, cell, "")
            .and_then(|value| self.places.found(column, list.field.form, cell, value));
        let path = match found {
            Ok(FieldValue::Path(path)) => path.as_path().to_path_buf(),
            Ok(_) => PathBuf::new(),
            Err(InvalidField { code, message, help }) => {
                return Err(Box::new(Diagnostic::new(code, self.row.place(column), message).help(help)));
            }
        };
        let bytes = inside::read(&self.row.sheet.root, &path).map_err(|error| {
            problem(Code::Unreadable, format!("`{column}`: {} cannot be read: {error}", path.display()))
        })?;
        Ok((path, bytes))
    }
}

// `evals/<skill>.prompts.csv`: the file that a guide to evals of skills by `OpenAI` suggests.
//
// ```csv
// id,should_trigger,prompt
// test-01,true,"Create a demo app with the $setup-demo-app skill"
// ```
//
// Public files have more columns, with names of their authors' own. Words about the answer are for the judge. Any other filled
// cell may ask for something and makes its case unsupported.

/// Prompts and whether they should trigger the skill.
pub static FOREIGN: CaseFormat = CaseFormat::foreign(
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
    let ParsedCsv { rows, problems } = cut(Path::new(""), file.path, bytes.to_vec(), &FOREIGN, &[]);
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
fn read_other_columns(row: &CsvRow, case: &mut Case) {
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
