//! `evals/skills/<slug>/prompts.csv`: one case a row.
//!
//! The format is shared with other runners: columns `id`, `should_trigger`, `prompt` and optional ones, RFC 4180
//! quoting with line breaks inside fields, extra empty cells at the end of a row. A [`CsvSheet`] is the file cut into
//! rows, which is all that listing needs; a [`CsvRow`] is a [`CaseSource`] that reads its cells and
//! reports every problem in them.

mod cells;
mod form;

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use csv_core::ReadRecordResult;

use crate::cases::case::fields;
use crate::cases::case::{Case, CaseFormat, CaseSource, FileCases, Files, FoundCase};
use crate::cases::repo_files::RepoFiles;
use crate::checks::{FieldForm, FieldValue};
use crate::profile::DEFAULT_MODE;
use crate::settings::trials::Repetition;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, ends_line, nearest, shorten};
use crate::text::name;

/// Rows run under the default agent unless chosen otherwise.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "row",
    default_mode: DEFAULT_MODE,
    files: Some(Files {
        path: "evals/skills/<skill>/prompts.csv",
        endings: &[".csv", ".tsv", ".txt", ".xls", ".ods"],
        marks: &["should_trigger", "prompt"],
        parse: |file, bytes, layout| {
            let ParsedCsv { rows, problems } = parse(&file.path, bytes, layout.own_columns);
            let skill: Arc<str> = Arc::from(&*file.name);
            FileCases { cases: rows.into_iter().map(|row| row.found(Arc::clone(&skill))).collect(), problems }
        },
    }),
};

/// The columns every prompts.csv has.
const REQUIRED: [&str; 3] = ["id", "should_trigger", "prompt"];

/// All columns that are read.
static COLUMNS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let fields = fields::all().map(|field| field.field().column);
    ["id"].into_iter().chain(fields).chain([cells::DURING]).collect()
});

/// The place among [`COLUMNS`] of the first of [`fields::all`].
const FIRST_FIELD: usize = 1;

/// A prompts.csv cut into rows.
#[derive(Debug)]
pub struct CsvSheet {
    path: Arc<Path>,
    bytes: Vec<u8>,
    /// The index of every known column's cell.
    columns: Vec<Option<usize>>,
    width: usize,
    /// The indices of columns without a name.
    nameless: Vec<usize>,
}

/// One for all files and rows: making it takes longer than reading a row.
static READER: LazyLock<Mutex<csv_core::Reader>> = LazyLock::new(|| Mutex::new(csv_core::Reader::new()));

/// A row of a [`CsvSheet`].
#[derive(Clone, Debug)]
pub struct CsvRow {
    sheet: Arc<CsvSheet>,
    /// Where the row starts in the file, and the next one at the earliest.
    start: usize,
    end: usize,
    line: usize,
    id: String,
    should_trigger: Option<bool>,
}

/// A prompts.csv read: its cases, and what is wrong with the file as a whole.
#[derive(Debug, Default)]
pub struct ParsedCsv {
    /// The rows, in the order of the file.
    pub rows: Vec<CsvRow>,
    /// Problems of the file: no header, a column missing, unknown or twice.
    pub problems: Vec<Diagnostic>,
}

/// What columns of the user's own begin with; they are not read.
pub const OWN_PREFIX: &str = "x_";

/// Cuts `bytes`, the content of `path`, into rows. Columns named in `own` are the user's own and are not read. A file whose header
/// cannot be read has no rows.
pub fn parse(path: &Path, bytes: Vec<u8>, own: &[String]) -> ParsedCsv {
    let skip = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut reader = CsvRecords::of(&bytes[skip..]);
    reader.advance();
    let header = reader.cells.clone();
    let header_start = skip + skip_line_breaks(&bytes[skip..]);
    if let Some(problem) = form::utf_16(path, &bytes).or_else(|| form::separator(path, &bytes, header_start)) {
        return ParsedCsv { rows: Vec::new(), problems: vec![problem] };
    }
    let mut problems: Vec<Diagnostic> = form::line_ends(path, &bytes, header_start).into_iter().collect();
    let columns = read_header(path, &bytes, header_start, &header, own, &mut problems);
    if problems.iter().any(Diagnostic::is_error) {
        return ParsedCsv { rows: Vec::new(), problems };
    }
    let mut records = Vec::new();
    let mut line = LineCounter::default();
    let [id, should_trigger] = ["id", "should_trigger"].map(|column| index(&columns, column));
    loop {
        let before = skip + reader.at;
        if !reader.advance() {
            break;
        }
        let record = &reader.cells;
        let start = before + skip_line_breaks(&bytes[before..]);
        // Spreadsheets leave rows of nothing but commas behind.
        if record.iter().all(<[u8]>::is_empty) {
            continue;
        }
        let text = |cell: Option<usize>| String::from_utf8_lossy(cell.map_or(&[], |at| record.get(at)));
        let should_trigger = match FieldForm::Flag.read("should_trigger", text(should_trigger).trim(), "") {
            Ok(FieldValue::Flag(flag)) => Some(flag),
            _ => None,
        };
        let end = skip + reader.at;
        records.push((start..end, line.at(&bytes, start), text(id).trim().to_owned(), should_trigger));
    }
    drop(reader);
    if records.is_empty() {
        let problem = Diagnostic::new(Code::CsvNoRows, SourceLocation::file(path), "the file has a header and no rows");
        problems.push(problem.help("write a row for each case below the header, or remove the file"));
    }
    let nameless = (0..header.len()).filter(|at| header.get(*at).trim_ascii().is_empty()).collect();
    let sheet = Arc::new(CsvSheet { path: path.into(), columns, width: header.len(), nameless, bytes });
    let row = |(range, line, id, should_trigger): (Range<usize>, usize, String, Option<bool>)| {
        let sheet = Arc::clone(&sheet);
        CsvRow { sheet, start: range.start, end: range.end, line, id, should_trigger }
    };
    ParsedCsv { rows: records.into_iter().map(row).collect(), problems }
}

fn index(columns: &[Option<usize>], column: &str) -> Option<usize> {
    COLUMNS.iter().position(|name| *name == column).and_then(|at| columns[at])
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
    header: &RowCells,
    own: &[String],
    problems: &mut Vec<Diagnostic>,
) -> Vec<Option<usize>> {
    let mut columns = vec![None; COLUMNS.len()];
    let place = |index: usize| SourceLocation::in_text(path, bytes, cell_range(bytes, start, index));
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
            None if name.is_empty() || name.starts_with(OWN_PREFIX) || own.iter().any(|own| own == name) => {}
            None => problems.push(unknown_column(place(index), name)),
        }
    }
    let is_missing = |name: &&str| COLUMNS.iter().zip(&columns).any(|(column, at)| column == name && at.is_none());
    let missing: Vec<&str> = REQUIRED.into_iter().filter(is_missing).collect();
    if !missing.is_empty() {
        let has_header = header.len() > 0;
        let place = if has_header {
            SourceLocation::in_text(path, bytes, start..start + 1)
        } else {
            SourceLocation::file(path)
        };
        let what = if has_header { "the header lacks" } else { "the file is empty; expected a header with" };
        problems.push(
            Diagnostic::new(Code::CsvMissingColumn, place, format!("{what} `{}`", missing.join("`, `")))
                .help("the first line names the columns: id,should_trigger,prompt and optional ones"),
        );
    }
    columns
}

fn unknown_column(place: SourceLocation, name: &str) -> Diagnostic {
    let near = match nearest(&name.to_lowercase(), COLUMNS.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("columns that are read: {}.", COLUMNS.join(", ")),
    };
    let help = format!(
        "{near} The name of a column of your own begins with `{OWN_PREFIX}`, or is in `own_columns` of evals/evals.toml"
    );
    Diagnostic::new(Code::CsvUnknownColumn, place, format!("unknown column `{}`", shorten(name))).help(help)
}

/// The bytes of cell `index` of the record that starts at `start`; past the last cell, the record's end.
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

impl CsvRow {
    /// The line on which the row starts, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The row as a case still to be read. Its id is the cell's, or `row-<line>` where that cannot be a name.
    pub fn found(mut self, skill: impl Into<Arc<str>>) -> FoundCase {
        let id = std::mem::take(&mut self.id);
        let id = if name::check_case_id(&id).is_ok() { id } else { format!("row-{}", self.line) };
        FoundCase::new(id, skill, Arc::clone(&self.sheet.path), self.line, self)
    }

    /// Where a column's cell stands.
    pub fn place(&self, column: &str) -> SourceLocation {
        self.in_row(self.cell_range(column))
    }

    /// The line on which a column's cell begins, from 1.
    fn line_of(&self, column: &str) -> usize {
        let before = self.start.min(self.sheet.bytes.len())..self.cell_range(column).start;
        self.line + before.filter(|at| ends_line(&self.sheet.bytes, *at)).count()
    }

    /// Where `text` stands in a column's cell, in any case; the cell where it is written otherwise there.
    pub fn place_of(&self, column: &str, text: &str) -> SourceLocation {
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
    fn in_row(&self, range: Range<usize>) -> SourceLocation {
        let start = self.start.min(self.sheet.bytes.len());
        let range = range.start.saturating_sub(start)..range.end.saturating_sub(start);
        let mut place = SourceLocation::in_text(&*self.sheet.path, &self.sheet.bytes[start..], range);
        place.line += self.line - 1;
        place
    }

    /// What is wrong with the row as CSV text.
    fn form_problems(&self, cells: &RowCells) -> Vec<Diagnostic> {
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
        let mut unnamed = sheet.nameless.iter().copied().chain(sheet.width..cells.len());
        if let Some(index) = unnamed.find(|index| !cells.get(*index).is_empty()) {
            let (why, help) = if index < sheet.width {
                ("its column has no name".to_owned(), "name the column in the header")
            } else {
                (format!("the header has {} columns", sheet.width), "put quotes around a cell that holds a comma")
            };
            let at = place(cell_range(bytes, self.start, index));
            let problem = Diagnostic::new(Code::CsvExtraCell, at, format!("cell {} of a row, but {why}", index + 1));
            return vec![problem.help(help)];
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

impl CaseSource for CsvRow {
    fn format(&self) -> &'static CaseFormat {
        &FORMAT
    }

    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>> {
        let cells = self.cells();
        let problems = self.form_problems(&cells);
        let mut reader = cells::RowReader { row: self, cells, problems };
        if !reader.problems.is_empty() {
            // The cells are not what the author meant: one clear message, not one for every cell.
            return Err(reader.problems);
        }
        let case = reader.case(skill);
        if reader.problems.is_empty() { Ok(case) } else { Err(reader.problems) }
    }

    fn should_trigger(&self) -> Option<bool> {
        self.should_trigger
    }

    fn repetition(&self) -> Repetition {
        if ["trials", "threshold"].iter().all(|column| self.sheet.index(column).is_none()) {
            return Repetition::default();
        }
        cells::RowReader { row: self, cells: self.cells(), problems: Vec::new() }.repetition()
    }

    fn place(&self, key: &str, text: Option<&str>, _tree: &dyn RepoFiles) -> Option<SourceLocation> {
        let column = fields::named(key).map_or(key, |field| field.column);
        Some(text.map_or_else(|| CsvRow::place(self, column), |text| self.place_of(column, text)))
    }
}

impl CsvSheet {
    fn index(&self, column: &str) -> Option<usize> {
        index(&self.columns, column)
    }
}

/// The cells of a row, without quotes around them.
#[derive(Clone, Default)]
struct RowCells {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    /// How many there are; `ends` may have room for more.
    count: usize,
}

impl RowCells {
    fn len(&self) -> usize {
        self.count
    }

    /// A cell's bytes; none where the row has fewer.
    fn get(&self, index: usize) -> &[u8] {
        let ends = &self.ends[..self.count];
        let start = index.checked_sub(1).and_then(|before| ends.get(before)).copied().unwrap_or_default();
        ends.get(index).and_then(|end| self.bytes.get(start..*end)).unwrap_or_default()
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).map(|index| self.get(index))
    }
}

/// Reads the rows of a text one by one.
struct CsvRecords<'a> {
    reader: MutexGuard<'static, csv_core::Reader>,
    text: &'a [u8],
    /// How much of the text has been read.
    at: usize,
    /// The row that was read last.
    cells: RowCells,
}

impl<'a> CsvRecords<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut reader = READER.lock().unwrap_or_else(PoisonError::into_inner);
        reader.reset();
        Self { reader, text, at: 0, cells: RowCells::default() }
    }

    /// Reads the next row. False where there is none.
    fn advance(&mut self) -> bool {
        let cells = &mut self.cells;
        let (mut written, mut ended) = (0, 0);
        cells.count = 0;
        loop {
            let (rest, room) = (&self.text[self.at..], &mut cells.bytes[written..]);
            let (result, read, bytes, ends) = self.reader.read_record(rest, room, &mut cells.ends[ended..]);
            self.at += read;
            written += bytes;
            ended += ends;
            match result {
                // The next call, with nothing left to read, ends the row.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => cells.bytes.resize(2 * cells.bytes.len() + 1024, 0),
                ReadRecordResult::OutputEndsFull => cells.ends.resize(2 * cells.ends.len() + 32, 0),
                ReadRecordResult::Record => {
                    cells.count = ended;
                    return true;
                }
                ReadRecordResult::End => return false,
            }
        }
    }
}

impl CsvRow {
    /// Read again where they are wanted: kept for a hundred thousand rows they would fill the memory.
    fn cells(&self) -> RowCells {
        // With the line break before it, so that nothing in it is taken for the mark at the start of a file.
        let mut records = CsvRecords::of(&self.sheet.bytes[self.start.saturating_sub(1)..self.end]);
        records.advance();
        std::mem::take(&mut records.cells)
    }
}
