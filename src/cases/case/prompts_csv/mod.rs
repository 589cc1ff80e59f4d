//! `evals/skills/<slug>/prompts.csv`: one case a row.
//!
//! The format is shared with other runners: columns `id`, `should_trigger`, `prompt` and optional ones, RFC 4180
//! quoting with line breaks inside fields, extra empty cells at the end of a row. A [`Sheet`] is the file cut into
//! rows, which is all that listing needs; a [`Row`] is a [`Source`] that reads its cells and
//! reports every problem in them.

mod cells;
mod form;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::case::{Case, Format, Found, Repetition, Source};
use crate::cases::name;
use crate::cases::repo_files::Tree;
use crate::text::diagnostic::{Code, Diagnostic, Place, ends_line, nearest, shorten};

/// Rows run under codex unless chosen otherwise: the format was made for it.
pub static FORMAT: Format = Format { name: "prompts.csv", default_mode: "codex", is_task: false, curated: true };

/// The columns every prompts.csv has.
pub const REQUIRED: [&str; 3] = ["id", "should_trigger", "prompt"];

/// All columns that are read.
pub const COLUMNS: [&str; 19] = [
    "id",
    "should_trigger",
    "prompt",
    "sandbox",
    "timeout_s",
    "max_turns",
    "max_commands",
    "max_input_tokens",
    "max_output_tokens",
    "max_total_tokens",
    "output_schema",
    "judge",
    "described",
    "require_files",
    "must_include",
    "must_not_include",
    "fixture",
    "trials",
    "threshold",
];

/// A prompts.csv cut into rows.
#[derive(Debug)]
pub struct Sheet {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The index of every known column's cell.
    columns: [Option<usize>; COLUMNS.len()],
    width: usize,
}

/// A row of a [`Sheet`].
#[derive(Clone, Debug)]
pub struct Row {
    sheet: Arc<Sheet>,
    cells: csv::ByteRecord,
    /// Where the row starts in the file.
    start: usize,
    line: usize,
}

/// A prompts.csv read: its cases, and what is wrong with the file as a whole.
#[derive(Debug, Default)]
pub struct Parsed {
    /// The rows, in the order of the file.
    pub rows: Vec<Row>,
    /// Problems of the file: no header, a column missing, unknown or twice.
    pub problems: Vec<Diagnostic>,
}

/// Cuts `bytes`, the content of `path`, into rows. A file whose header cannot be read has no rows.
#[must_use]
pub fn parse(path: &Path, bytes: Vec<u8>) -> Parsed {
    let skip = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&bytes[skip..]);
    let mut header = csv::ByteRecord::new();
    // Reading from memory cannot fail: a flexible byte reader has no other errors.
    let has_header = reader.read_byte_record(&mut header).unwrap_or(false);
    let header_start = skip + skip_line_breaks(&bytes[skip..]);
    if let Some(problem) = form::utf_16(path, &bytes).or_else(|| form::separator(path, &bytes, header_start)) {
        return Parsed { rows: Vec::new(), problems: vec![problem] };
    }
    let mut problems: Vec<Diagnostic> = form::line_ends(path, &bytes, header_start).into_iter().collect();
    let columns = read_header(path, &bytes, header_start, &header, has_header, &mut problems);
    if problems.iter().any(Diagnostic::is_error) {
        return Parsed { rows: Vec::new(), problems };
    }
    let mut records = Vec::new();
    let mut line = LineCounter::default();
    let mut record = csv::ByteRecord::new();
    loop {
        let before = skip + usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
        if !reader.read_byte_record(&mut record).unwrap_or(false) {
            break;
        }
        let start = before + skip_line_breaks(&bytes[before.min(bytes.len())..]);
        // Spreadsheets leave rows of nothing but commas behind.
        if record.iter().all(<[u8]>::is_empty) {
            continue;
        }
        records.push((record.clone(), start, line.at(&bytes, start)));
    }
    let sheet = Arc::new(Sheet { path: path.to_path_buf(), columns, width: header.len(), bytes });
    let rows =
        records.into_iter().map(|(cells, start, line)| Row { sheet: Arc::clone(&sheet), cells, start, line }).collect();
    Parsed { rows, problems }
}

fn skip_line_breaks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()
}

/// Counts lines up to growing offsets, reading each byte once.
#[derive(Default)]
struct LineCounter {
    offset: usize,
    breaks: usize,
}

impl LineCounter {
    fn at(&mut self, bytes: &[u8], offset: usize) -> usize {
        let offset = offset.min(bytes.len());
        self.breaks += (self.offset..offset).filter(|at| ends_line(bytes, *at)).count();
        self.offset = offset;
        self.breaks + 1
    }
}

fn read_header(
    path: &Path,
    bytes: &[u8],
    start: usize,
    header: &csv::ByteRecord,
    has_header: bool,
    problems: &mut Vec<Diagnostic>,
) -> [Option<usize>; COLUMNS.len()] {
    let mut columns = [None; COLUMNS.len()];
    let place = |index: usize| Place::in_text(path, bytes, cell_range(bytes, start, index));
    for (index, name) in header.iter().enumerate() {
        let name = String::from_utf8_lossy(name);
        let name = name.trim();
        match COLUMNS.iter().position(|column| *column == name) {
            Some(at) if columns[at].is_some() => problems.push(Diagnostic::new(
                Code::CsvDuplicateColumn,
                place(index),
                format!("the column `{name}` stands here a second time"),
            )),
            Some(at) => columns[at] = Some(index),
            None if name.is_empty() => {}
            None => problems.push(
                Diagnostic::new(Code::CsvUnknownColumn, place(index), format!("unknown column `{}`", shorten(name)))
                    .help(match nearest(name, COLUMNS) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("columns that are read: {}", COLUMNS.join(", ")),
                    }),
            ),
        }
    }
    let missing: Vec<&str> =
        REQUIRED.iter().zip(columns).filter(|(_, at)| at.is_none()).map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        let place = if has_header { Place::in_text(path, bytes, start..start + 1) } else { Place::file(path) };
        let what = if has_header { "the header lacks" } else { "the file is empty; expected a header with" };
        problems.push(
            Diagnostic::new(Code::CsvMissingColumn, place, format!("{what} `{}`", missing.join("`, `")))
                .help("the first line names the columns: id,should_trigger,prompt and optional ones"),
        );
    }
    columns
}

/// The bytes of cell `index` of the record that starts at `start`; past the last cell, the record's end.
#[must_use]
pub fn cell_range(bytes: &[u8], start: usize, index: usize) -> Range<usize> {
    let mut cell = 0;
    let mut cell_start = start;
    let mut quoted = false;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'"' if quoted && bytes.get(at + 1) == Some(&b'"') => at += 1,
            b'"' if quoted => quoted = false,
            b'"' if at == cell_start => quoted = true,
            b',' | b'\n' | b'\r' if !quoted => {
                if cell == index || bytes[at] != b',' {
                    break;
                }
                cell += 1;
                cell_start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    cell_start..at.min(bytes.len())
}

/// Where the quote that is still open at the end of the file was opened, for the record at `start`.
fn open_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let mut opened = None;
    let mut at_cell_start = true;
    let mut at = start;
    while at < bytes.len() {
        match (opened, bytes[at]) {
            (Some(_), b'"') if bytes.get(at + 1) == Some(&b'"') => at += 1,
            (Some(_), b'"') => opened = None,
            (None, b'"') if at_cell_start => opened = Some(at),
            (None, b'\n' | b'\r') => return None,
            _ => {}
        }
        at_cell_start = opened.is_none() && bytes[at] == b',';
        at += 1;
    }
    opened
}

impl Row {
    /// The line on which the row starts, from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.line
    }

    /// The row as a case still to be read. Its id is the cell's, or `row-<line>` where that cannot be a name.
    #[must_use]
    pub fn found(self, skill: &str) -> Found {
        let id = self.text("id").trim().to_owned();
        let id = if name::check_case_id(&id).is_ok() { id } else { format!("row-{}", self.line) };
        Found::new(id, skill.to_owned(), self.sheet.path.clone(), self.line, self)
    }

    /// Where a column's cell stands.
    #[must_use]
    pub fn place(&self, column: &str) -> Place {
        self.in_row(self.cell_range(column))
    }

    /// Where `text` stands in a column's cell, in any case; the cell where it is written otherwise there.
    #[must_use]
    pub fn place_of(&self, column: &str, text: &str) -> Place {
        let cell = self.cell_range(column);
        let raw = &self.sheet.bytes[cell.clone()];
        let found = raw.windows(text.len().max(1)).position(|part| part.eq_ignore_ascii_case(text.as_bytes()));
        self.in_row(found.map_or(cell.clone(), |at| cell.start + at..cell.start + at + text.len()))
    }

    fn cell_range(&self, column: &str) -> Range<usize> {
        cell_range(&self.sheet.bytes, self.start, self.sheet.index(column).unwrap_or(0))
    }

    /// The place of bytes of this row. Lines are counted from the row's own: counting them from the file's start for
    /// every row takes minutes in a large file.
    fn in_row(&self, range: Range<usize>) -> Place {
        let start = self.start.min(self.sheet.bytes.len());
        let range = range.start.saturating_sub(start)..range.end.saturating_sub(start);
        let mut place = Place::in_text(&self.sheet.path, &self.sheet.bytes[start..], range);
        place.line += self.line - 1;
        place
    }

    fn cell(&self, column: &str) -> &[u8] {
        self.sheet.index(column).and_then(|index| self.cells.get(index)).unwrap_or_default()
    }

    fn text(&self, column: &str) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.cell(column))
    }

    /// What is wrong with the row as CSV text.
    fn form_problems(&self) -> Vec<Diagnostic> {
        let sheet = &self.sheet;
        let bytes = &sheet.bytes;
        let place = |range| self.in_row(range);
        if let Some(at) = open_quote(bytes, self.start) {
            let problem = Diagnostic::new(
                Code::CsvOpenQuote,
                place(at..at + 1),
                "this quote is never closed: the rest of the file is one cell",
            );
            return vec![problem.help("close the cell with `\"`; a quote inside a quoted cell is written `\"\"`")];
        }
        if let Some(index) = (sheet.width..self.cells.len()).find(|&index| !self.cells[index].is_empty()) {
            let problem = Diagnostic::new(
                Code::CsvExtraCell,
                place(cell_range(bytes, self.start, index)),
                format!("cell {} of a row, but the header has {} columns", index + 1, sheet.width),
            );
            return vec![problem.help("put quotes around a cell that holds a comma")];
        }
        let end = cell_range(bytes, self.start, usize::MAX).end;
        let raw = &bytes[self.start..end];
        if let Err(error) = std::str::from_utf8(raw) {
            let at = self.start + error.valid_up_to();
            let byte = bytes[at];
            let problem = Diagnostic::new(
                Code::NotUtf8,
                place(at..at + 1),
                format!("the byte 0x{byte:02X} is not UTF-8 (in Latin-1 it is `{}`)", char::from(byte)),
            );
            return vec![problem.help("save the file as UTF-8")];
        }
        if let Some(at) = raw.iter().position(|&b| b == 0) {
            let at = self.start + at;
            return vec![Diagnostic::new(Code::NulByte, place(at..at + 1), "the row holds a NUL byte")];
        }
        Vec::new()
    }
}

impl Source for Row {
    fn format(&self) -> &'static Format {
        &FORMAT
    }

    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>> {
        let mut reader = cells::Reader { row: self, problems: self.form_problems() };
        if !reader.problems.is_empty() {
            // The cells are not what the author meant: one clear message, not one for every cell.
            return Err(reader.problems);
        }
        let case = reader.case(skill);
        if reader.problems.is_empty() { Ok(case) } else { Err(reader.problems) }
    }

    fn should_trigger(&self) -> Option<bool> {
        cells::boolean(self.text("should_trigger").trim())
    }

    fn repetition(&self) -> Repetition {
        cells::Reader { row: self, problems: Vec::new() }.repetition()
    }

    fn place(&self, key: &str, text: Option<&str>, _tree: &dyn Tree) -> Option<Place> {
        Some(text.map_or_else(|| Row::place(self, key), |text| self.place_of(key, text)))
    }
}

impl Sheet {
    fn index(&self, column: &str) -> Option<usize> {
        COLUMNS.iter().position(|name| *name == column).and_then(|at| self.columns[at])
    }
}
