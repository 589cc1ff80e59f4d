//! `evals/skills/<slug>/prompts.csv`: one case a row.
//!
//! Other runners use this format too: the columns `id`, `should_trigger`, `prompt` and optional ones, quotes by RFC 4180 with
//! line breaks inside cells, extra empty cells at the end of a row. [`parse`] only cuts the file into rows, which is enough
//! to list them. A [`CsvRow`] reads its cells when its case is needed.

mod foreign;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use csv_core::{ReadFieldResult, Reader};

use crate::cases::case::document::{Document, Node, NodeValue, Syntax};
use crate::cases::case::fields::{self, CaseDraft, CaseField, ListField, PROMPT, WrittenField};
use crate::cases::case::foreign_reader::no_label;
use crate::cases::case::{Case, CaseFormat, CaseSource, FileCases, Files, FoundCase, MOST_CASES};
use crate::cases::case_places::CasePlaces;
use crate::cases::repo_files::RepoFiles;
use crate::checks::{Field, FieldForm, FieldValue};
use crate::files::inside;
use crate::profile::DEFAULT_MODE;
use crate::settings::trials::Repetition;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, SourceText, ends_line, nearest, shorten};
use crate::text::name;
use crate::text::problem::ProblemList;

pub use foreign::FORMAT as FOREIGN;
pub(super) use foreign::table;

/// Rows run under the default agent unless chosen otherwise.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "row",
    default_mode: DEFAULT_MODE,
    files: Some(Files {
        path: "evals/skills/<skill>/prompts.csv",
        endings: &[".csv", ".tsv", ".txt", ".xls", ".ods"],
        marks: &["should_trigger", "prompt"],
        parse: |file, bytes, layout| {
            let own = [layout.own_columns, layout.own_keys].concat();
            let ParsedCsv { rows, problems } = parse(&file.root, &file.path, bytes, &own);
            let skill: Arc<str> = Arc::from(&*file.name);
            FileCases {
                cases: rows.into_iter().map(|row| row.found(Arc::clone(&skill))).collect(),
                problems,
                ..FileCases::default()
            }
        },
        place: |_, _, _| None,
    }),
    foreign: None,
};

/// The byte order mark.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The columns that every prompts.csv has.
const REQUIRED: [&str; 3] = ["id", "should_trigger", "prompt"];

/// The prefix of columns of the user's own, which are not read.
pub const OWN_PREFIX: &str = "x_";

/// All columns that are read.
static COLUMNS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let fields = fields::all().map(|field| field.field().column);
    ["id"].into_iter().chain(fields).collect()
});

/// The file of a row.
#[derive(Debug)]
struct CsvSheet {
    /// The repository's root.
    root: Arc<Path>,
    path: Arc<Path>,
    bytes: Vec<u8>,
    format: &'static CaseFormat,
    /// The index of every known column that the file has.
    columns: HashMap<&'static str, usize>,
    /// The name of each column.
    names: Vec<String>,
    /// The columns that only label, by the settings.
    own: Vec<String>,
}

/// The rows of a prompts.csv, and the problems of the file as a whole.
#[derive(Debug, Default)]
pub struct ParsedCsv {
    /// The rows, in the order of the file; none if the header cannot be read.
    pub rows: Vec<CsvRow>,
    /// Problems of the file: no header, or a missing, unknown or duplicate column.
    pub problems: Vec<Diagnostic>,
}

/// Cuts `bytes`, the content of `path` in the repository at `root`, into rows. Columns named in `own` are the user's own and are
/// not read.
pub fn parse(root: &Path, path: &Path, bytes: Vec<u8>, own: &[String]) -> ParsedCsv {
    cut(root, path, bytes, &FORMAT, own)
}

/// The same for a file of this format.
fn cut(root: &Path, path: &Path, bytes: Vec<u8>, format: &'static CaseFormat, own: &[String]) -> ParsedCsv {
    let header_start = skip_line_breaks(&bytes, if bytes.starts_with(MARK) { MARK.len() } else { 0 });
    let problem = || first_line(path, &bytes, header_start).or_else(|| separator(path, &bytes, header_start));
    if let Some(problem) = not_text(path, &bytes).or_else(problem) {
        return ParsedCsv { rows: Vec::new(), problems: vec![problem] };
    }
    let mut problems = ProblemList::of_file();
    problems.extend(line_ends(path, &bytes, header_start));
    let header = CsvRecord::at(&bytes, header_start);
    let names = header.names(&bytes);
    let columns = read_header(path, &bytes, &header, &names, format, own, &mut problems);
    if problems.has_errors() {
        return ParsedCsv { rows: Vec::new(), problems: problems.into_vec() };
    }
    let has_blanks = header.cells.iter().any(|cell| bytes.get(cell.start) == Some(&b' '));
    let own = own.to_vec();
    let sheet = Arc::new(CsvSheet { root: root.into(), path: path.into(), bytes, format, columns, names, own });
    let rows = rows(&sheet, header.range(usize::MAX).end, &mut |row, record| {
        let typographic = row.typographic(record);
        problems.extend(typographic.map_or_else(|| unquoted_comma(row, record, has_blanks), |cell| row.quoted(cell)));
    });
    let mut problems = problems.into_vec();
    if rows.is_empty() {
        let problem = Diagnostic::new(Code::CsvNoRows, SourceLocation::file(path), "the file has a header and no rows");
        problems.push(problem.help("write a row for each case below the header, or remove the file"));
    }
    ParsedCsv { rows, problems }
}

/// The rows behind the header, each of which `look` sees with its cells.
fn rows(sheet: &Arc<CsvSheet>, header_end: usize, look: &mut dyn FnMut(&CsvRow, &CsvRecord)) -> Vec<CsvRow> {
    let bytes = &sheet.bytes;
    let mut rows = Vec::new();
    let (mut line, mut counted, mut end) = (1, 0, header_end);
    loop {
        let start = skip_line_breaks(bytes, end);
        // One case more than a file may have says that there are too many.
        if start >= bytes.len() || rows.len() > MOST_CASES {
            return rows;
        }
        let record = CsvRecord::at(bytes, start);
        end = record.range(usize::MAX).end;
        // Spreadsheets write rows of nothing but commas.
        if (0..record.cells.len()).all(|index| record.content(bytes, index).is_empty()) {
            continue;
        }
        line += (counted..start).filter(|at| ends_line(bytes, *at)).count();
        counted = start;
        let cell = |column: &str| sheet.columns.get(column).map_or_else(String::new, |at| record.text(bytes, *at));
        let should_trigger = match FieldForm::Flag.read("should_trigger", cell("should_trigger").trim(), "") {
            Ok(FieldValue::Flag(flag)) => Some(flag),
            _ => None,
        };
        let id = cell("id").trim().to_owned();
        let row = CsvRow { sheet: Arc::clone(sheet), start, line, id, should_trigger };
        look(&row, &record);
        rows.push(row);
    }
}

/// The first byte from `start` on that is not a line break.
fn skip_line_breaks(bytes: &[u8], start: usize) -> usize {
    start + bytes[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

fn read_header(
    path: &Path,
    bytes: &[u8],
    header: &CsvRecord,
    names: &[String],
    format: &CaseFormat,
    own: &[String],
    problems: &mut ProblemList,
) -> HashMap<&'static str, usize> {
    let mut columns = HashMap::new();
    let text = SourceText::new(path, bytes);
    for (index, name) in names.iter().enumerate() {
        let place = || text.place(header.range(index));
        // Columns of the same name have another meaning in files of other programs.
        let columns_read = if format.foreign.is_some() { &REQUIRED[..] } else { &COLUMNS };
        let known = columns_read.iter().find(|column| *column == name);
        if known.is_some_and(|column| columns.contains_key(column)) {
            let code = Code::CsvDuplicateColumn;
            problems.add(code, || Diagnostic::new(code, place(), format!("duplicate column `{}`", shorten(name))));
        } else if let Some(column) = known {
            columns.insert(*column, index);
            if own.contains(name) {
                let (message, help) = no_label(name);
                problems.push(Diagnostic::new(Code::UnusedSetting, place(), message).help(help));
            }
        } else if format.foreign.is_none() && !(name.is_empty() || name.starts_with(OWN_PREFIX) || own.contains(name)) {
            problems.add(Code::CsvUnknownColumn, || unknown_column(place(), name));
        }
    }
    let missing: Vec<&str> = REQUIRED.into_iter().filter(|column| !columns.contains_key(column)).collect();
    if !missing.is_empty() {
        let (what, place) = match header.cells.first() {
            Some(first) => ("the header lacks", text.place(first.start..first.start + 1)),
            None => ("the file is empty; expected a header with", SourceLocation::file(path)),
        };
        let message = format!("{what} `{}`", missing.join("`, `"));
        let help = "the first line names the columns: id,should_trigger,prompt and optional ones";
        problems.push(Diagnostic::new(Code::CsvMissingColumn, place, message).help(help));
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

// Whether a file is UTF-8 text with commas between its cells: spreadsheets save other forms under the same name.

/// The problem of a file that is UTF-16, with a byte order mark or without.
pub(in crate::cases) fn utf_16(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    // Without a mark, a header in UTF-16 begins with a letter or quote next to a zero byte.
    let is_unmarked = matches!(bytes, [0, c, ..] | [c, 0, ..] if c.is_ascii_graphic());
    let is_utf_16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || is_unmarked;
    let problem = Diagnostic::new(Code::NotUtf8, SourceLocation::file(path), "this file is UTF-16; expected UTF-8");
    is_utf_16.then(|| problem.help("save it as \"CSV UTF-8\""))
}

/// The problem of a file that is not text: UTF-16, or a workbook by another name.
fn not_text(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    let is_workbook = bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0");
    let message = "this file is a workbook of Excel by another name; expected CSV text";
    let problem = Diagnostic::new(Code::NotUtf8, SourceLocation::file(path), message);
    let help = "open it in Excel and save it as \"CSV UTF-8\": to rename it is not enough";
    utf_16(path, bytes).or_else(|| is_workbook.then(|| problem.help(help)))
}

/// The problem of a first line that is no header: a comment, or the sign between cells, which only Excel reads.
fn first_line(path: &Path, bytes: &[u8], start: usize) -> Option<Diagnostic> {
    let line = bytes[start..].split(|byte| matches!(byte, b'\r' | b'\n')).next()?;
    let place = SourceLocation::in_text(path, bytes, start..start + line.len());
    if line.starts_with(b"#") {
        let message = "a CSV file has no comments; expected the header";
        return Some(Diagnostic::new(Code::CsvMissingColumn, place, message).help("remove this line"));
    }
    let sign = line.trim_ascii().strip_prefix(b"sep=")?;
    let message = "only Excel reads this first line; expected the header";
    let help = match sign {
        b"," => "remove this line",
        _ => "save the file as \"CSV UTF-8\" with commas between cells, without this line",
    };
    Some(Diagnostic::new(Code::CsvSeparator, place, message).help(help))
}

/// The problem of a file whose header is separated by something other than commas.
fn separator(path: &Path, bytes: &[u8], header_start: usize) -> Option<Diagnostic> {
    let end = (header_start..bytes.len()).find(|at| ends_line(bytes, *at)).unwrap_or(bytes.len());
    let header = std::str::from_utf8(&bytes[header_start..end]).ok()?;
    for (separator, name) in [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")] {
        let names: Vec<&str> = header.split(separator).map(|name| name.trim().trim_matches('"').trim()).collect();
        if REQUIRED.iter().all(|column| names.contains(column)) {
            let at = header_start + header.find(separator)?;
            let place = SourceLocation::in_text(path, bytes, at..at + 1);
            let message = format!("the cells are separated by {name}; expected commas");
            let help = "save it as CSV with commas, and quotes around cells that hold one";
            return Some(Diagnostic::new(Code::CsvSeparator, place, message).help(help));
        }
    }
    None
}

/// The warning about a file whose first line ends in a carriage return alone.
fn line_ends(path: &Path, bytes: &[u8], header_start: usize) -> Option<Diagnostic> {
    let at = (header_start..bytes.len()).find(|at| ends_line(bytes, *at)).filter(|at| bytes[*at] == b'\r')?;
    let message = "lines end in CR alone, as on a Mac before 2001; expected LF or CR LF";
    let problem = Diagnostic::new(Code::CsvLineEnds, SourceLocation::in_text(path, bytes, at..at + 1), message);
    Some(problem.help("save it with LF: editors and other runners take it for a single line"))
}

/// The warning about a row whose commas may not all separate cells: a text with a comma and without quotes.
fn unquoted_comma(row: &CsvRow, record: &CsvRecord, header_has_blanks: bool) -> Option<Diagnostic> {
    let bytes = &row.sheet.bytes;
    let width = row.sheet.names.len();
    let content = |range: &Range<usize>| bytes[range.start..range.end].trim_ascii();
    let begins_with_blank = |range: &&Range<usize>| bytes.get(range.start) == Some(&b' ');
    let filled = || record.cells.iter().take(width).skip(1).filter(|range| !content(range).is_empty());
    // Some people write `a, b, c`. A quote behind a blank is part of its cell all the same.
    let is_style = header_has_blanks || filled().all(|range| begins_with_blank(&range));
    let blank = filled().filter(begins_with_blank).find(|range| !is_style || content(range).starts_with(b"\""));
    let is_surplus =
        || record.cells.len() > width && (width..record.cells.len()).all(|at| record.content(bytes, at).is_empty());
    let (range, message) = match blank {
        Some(range) => {
            (range.clone(), "this cell begins with a blank: the comma before it may belong to a text".to_owned())
        }
        None if is_surplus() => {
            let cells = record.cells.len();
            (record.range(width), format!("the row has {cells} cells, and the header {width} columns"))
        }
        None => return None,
    };
    let problem = Diagnostic::new(Code::CsvUnquotedComma, row.place_of_bytes(range), message);
    Some(problem.help("put quotes around a text with commas, or remove the blank or the commas"))
}

thread_local! {
    // To make one takes longer than to read a row.
    static READER: RefCell<Reader> = RefCell::new(Reader::new());
}

/// Uses a reader that stands behind a record: at the start of a text it would leave out a byte order mark.
fn with_reader<T>(read: impl FnOnce(&mut Reader) -> T) -> T {
    READER.with_borrow_mut(|reader| {
        reader.reset();
        reader.read_field(b"\n", &mut []);
        read(reader)
    })
}

#[derive(Debug, Default)]
struct CsvRecord {
    /// The bytes of each cell, with its quotes.
    cells: Vec<Range<usize>>,
    /// The quote that is still open at the end of the text.
    open_quote: Option<usize>,
}

/// The quote that closes this cell before its text ends. Readers differ in what they make of the rest.
fn early_quote(text: &[u8], cell: &Range<usize>) -> Option<usize> {
    let quoted = text[cell.clone()].strip_prefix(b"\"")?;
    let mut at = 0;
    while let Some(quote) = quoted[at..].iter().position(|byte| *byte == b'"').map(|found| at + found) {
        match quoted.get(quote + 1) {
            Some(b'"') => at = quote + 2,
            _ if quoted[quote + 1..].trim_ascii().is_empty() => return None,
            _ => return Some(cell.start + 1 + quote),
        }
    }
    None
}

impl CsvRecord {
    /// The record that starts at `start`; without cells at the end of the text.
    fn at(text: &[u8], start: usize) -> Self {
        if start < text.len() { with_reader(|reader| Self::next(reader, text, start)) } else { Self::default() }
    }

    fn next(reader: &mut Reader, text: &[u8], start: usize) -> Self {
        let mut record = Self::default();
        let mut content = [0; 1024];
        let (mut cell, mut at) = (start, start);
        while at < text.len() {
            let (result, read, _) = reader.read_field(&text[at..], &mut content);
            at += read;
            if let ReadFieldResult::Field { record_end } = result {
                record.cells.push(cell..at - 1);
                cell = at;
                if record_end {
                    return record;
                }
            }
        }
        // The end of the text is the end of the record, unless a line break would be a part of its last cell.
        record.cells.push(cell..at);
        let (result, ..) = reader.read_field(b"\n", &mut content);
        record.open_quote = (!matches!(result, ReadFieldResult::Field { .. })).then_some(cell);
        record
    }

    /// The bytes of a cell; of the last one if the record has fewer.
    fn range(&self, index: usize) -> Range<usize> {
        self.cells.get(index).or(self.cells.last()).cloned().unwrap_or_default()
    }

    /// The content of a cell; empty if the record has fewer.
    fn content(&self, text: &[u8], index: usize) -> Vec<u8> {
        let Some(cell) = self.cells.get(index) else { return Vec::new() };
        let mut content = vec![0; cell.len()];
        let (_, _, length) = with_reader(|reader| reader.read_field(&text[cell.clone()], &mut content));
        content.truncate(length);
        content
    }

    /// The texts of its cells, as the names of columns.
    fn names(&self, text: &[u8]) -> Vec<String> {
        (0..self.cells.len()).map(|index| self.text(text, index).trim().to_owned()).collect()
    }

    /// The same as text.
    fn text(&self, text: &[u8], index: usize) -> String {
        String::from_utf8_lossy(&self.content(text, index)).into_owned()
    }
}

/// The bytes of cell `index` of the record that starts at `start`; of the last cell if the record has fewer.
pub fn cell_range(text: &[u8], start: usize, index: usize) -> Range<usize> {
    let record = CsvRecord::at(text, start);
    if record.cells.is_empty() { start.min(text.len())..start.min(text.len()) } else { record.range(index) }
}

// A row of a prompts.csv as a case.

/// A row of a prompts.csv.
#[derive(Clone, Debug)]
pub struct CsvRow {
    sheet: Arc<CsvSheet>,
    /// The row's first byte in the file.
    start: usize,
    line: usize,
    id: String,
    should_trigger: Option<bool>,
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

    /// The first cell that begins with a typographic quote.
    fn typographic(&self, record: &CsvRecord) -> Option<Range<usize>> {
        let content = |cell: &Range<usize>| self.sheet.bytes[cell.start..cell.end].trim_ascii();
        let is_typographic =
            |cell: &&Range<usize>| TYPOGRAPHIC.iter().any(|quote| content(cell).starts_with(quote.as_bytes()));
        record.cells.iter().find(is_typographic).cloned()
    }

    /// The warning about a cell that is in typographic quotes: a pattern in them is found nowhere.
    fn quoted(&self, cell: Range<usize>) -> Option<Diagnostic> {
        let content = self.sheet.bytes[cell.start..cell.end].trim_ascii();
        let is_quoted = TYPOGRAPHIC.iter().any(|quote| content.ends_with(quote.as_bytes()));
        let message = "this cell is in typographic quotes, which are a part of its text";
        is_quoted.then(|| Diagnostic::new(Code::CsvQuotes, self.place_of_bytes(cell), message).help(QUOTES))
    }

    /// The place of a column's cell.
    pub fn place(&self, column: &str) -> SourceLocation {
        self.place_of_bytes(self.cell_range(column))
    }

    /// The place of `text` in a column's cell, in any case; the cell if the text is not there.
    fn place_of(&self, column: &str, text: &str) -> SourceLocation {
        let cell = self.cell_range(column);
        self.place_of_bytes(place_in(&self.sheet.bytes[cell.clone()], text, cell.start))
    }

    fn cell_range(&self, column: &str) -> Range<usize> {
        cell_range(&self.sheet.bytes, self.start, self.sheet.columns.get(column).copied().unwrap_or_default())
    }

    /// The place of bytes of this row. Lines are counted from the row's own: to count them from the start of a large file
    /// for every row takes minutes.
    fn place_of_bytes(&self, range: Range<usize>) -> SourceLocation {
        let range = range.start.saturating_sub(self.start)..range.end.saturating_sub(self.start);
        let mut place = SourceLocation::in_text(&*self.sheet.path, &self.sheet.bytes[self.start..], range);
        place.line += self.line - 1;
        place
    }

    fn reader(&self, skill: &str) -> RowReader<'_> {
        // The cells of a hundred thousand rows would fill the memory: each row is cut again when it is read.
        let record = CsvRecord::at(&self.sheet.bytes, self.start);
        let written = &self.sheet.bytes[self.start..record.range(usize::MAX).end];
        let mut file = Document::of_row(&self.sheet.path, written, self.line);
        file.places = Some(CasePlaces::of(&self.sheet.root, &self.sheet.path, skill));
        RowReader { row: self, record, file }
    }

    /// Why the row is not the CSV text that its author meant.
    fn form_problem(&self, record: &CsvRecord) -> Option<Diagnostic> {
        let sheet = &self.sheet;
        let problem = |code, range, message: String| Diagnostic::new(code, self.place_of_bytes(range), message);
        if let Some(at) = record.open_quote {
            let message = "this quote is never closed: the rest of the file is one cell".to_owned();
            let help = "close the cell with `\"`; a quote inside a quoted cell is written `\"\"`";
            return Some(problem(Code::CsvOpenQuote, at..at + 1, message).help(help));
        }
        if let Some(at) = record.cells.iter().find_map(|cell| early_quote(&sheet.bytes, cell)) {
            let message = "this quote closes its cell, and more text follows".to_owned();
            let help = "a quote inside a quoted cell is written `\"\"`";
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
            let help = if self.typographic(record).is_some() { QUOTES } else { help };
            return Some(problem(Code::CsvExtraCell, record.range(index), message).help(help));
        }
        let written = &sheet.bytes[self.start..record.range(usize::MAX).end];
        if let Err(error) = std::str::from_utf8(written) {
            let at = self.start + error.valid_up_to();
            let byte = sheet.bytes[at];
            let message = format!("the byte 0x{byte:02X} is not UTF-8 (in Latin-1 it is `{}`)", char::from(byte));
            return Some(problem(Code::NotUtf8, at..at + 1, message).help("save the file as UTF-8"));
        }
        let at = self.start + written.iter().position(|byte| *byte == 0)?;
        Some(problem(Code::NulByte, at..at + 1, "the row holds a NUL byte".to_owned()))
    }
}

impl CaseSource for CsvRow {
    fn format(&self) -> &'static CaseFormat {
        self.sheet.format
    }

    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>> {
        let mut reader = self.reader(skill);
        if let Some(problem) = self.form_problem(&reader.record) {
            // The cells are not what the author meant: one clear message, not one for every cell.
            return Err(vec![problem]);
        }
        let case = reader.case(skill);
        if reader.file.problems.is_empty() { Ok(case) } else { Err(reader.file.problems.into_vec()) }
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

/// Quotes that are none of CSV.
const TYPOGRAPHIC: [&str; 3] = ["“", "”", "„"];

/// What helps against them.
const QUOTES: &str = "the quotes of CSV are straight: write \" in place of “ and ”, or remove them";

/// Reads the cells of a row.
struct RowReader<'a> {
    row: &'a CsvRow,
    record: CsvRecord,
    /// The row, with the problems of its cells.
    file: Document<'a>,
}

impl RowReader<'_> {
    fn case(&mut self, skill: &str) -> Case {
        let is_foreign = self.row.sheet.format.foreign.is_some();
        let id = if is_foreign { self.row.id.clone() } else { self.text("id").trim().to_owned() };
        if let Err(why) = name::check_case_id(&id) {
            self.file.problems.push(name::id_problem(&id, &why, self.row.place("id")));
        }
        let mut draft = CaseDraft::new(skill, id, self.row.place("id"));
        if is_foreign {
            foreign::read_other_columns(self.row, &mut draft);
        }
        self.fields(&mut draft, |_| true);
        draft.finish()
    }

    fn repetition(&mut self) -> Repetition {
        let mut draft = CaseDraft::default();
        self.fields(&mut draft, |column| ["trials", "threshold"].contains(&column));
        draft.repetition
    }

    /// Reads the fields that the file has a column of.
    fn fields(&mut self, draft: &mut CaseDraft, is_read: impl Fn(&str) -> bool) {
        for field in fields::all().filter(|field| is_read(field.field().column)) {
            let key = field.field().column;
            let Some(cell) = self.cell(field) else { continue };
            if key == PROMPT && cell.text().is_some_and(str::is_empty) {
                let help = "write what the agent is asked";
                self.file.problem_with_help(Code::EmptyValue, cell.range.clone(), "the prompt is empty", help);
            }
            let written = WrittenField { name: key, key, line: self.file.line_of(cell.range.start), node: &cell };
            match field {
                CaseField::List(list) => self.list(list, draft, written),
                _ => draft.read(&mut self.file, field, written),
            }
        }
    }

    fn text(&self, column: &str) -> String {
        let sheet = &self.row.sheet;
        sheet.columns.get(column).map_or_else(String::new, |index| self.record.text(&sheet.bytes, *index))
    }

    /// The text of a field's cell, or a list of the texts in it; `None` if it says nothing.
    fn cell(&mut self, field: CaseField) -> Option<Node> {
        let Field { column, form, .. } = *field.field();
        self.row.sheet.columns.get(column)?;
        let (text, cell) = (self.text(column), self.row.cell_range(column));
        let range = cell.start - self.row.start..cell.end - self.row.start;
        let parts = form.split(&text);
        if !form.is_list() {
            let text = parts.into_iter().next().or(field.is_required().then(String::new))?;
            return Some(Node { value: NodeValue::Text(text), range });
        }
        if parts.is_empty() && form != FieldForm::Messages && !text.trim().is_empty() {
            let message = format!("`{column}` is {:?}, which holds no value", shorten(text.trim()));
            let help = "write what must hold, or leave the cell empty";
            self.file.problem_with_help(Code::EmptyValue, range.clone(), message, help);
        }
        let written = &self.file.bytes[range.clone()];
        let part = |text: String| Node { range: place_in(written, &text, range.start), value: NodeValue::Text(text) };
        let parts: Vec<Node> = parts.into_iter().map(part).collect();
        (!parts.is_empty()).then_some(Node { value: NodeValue::List(parts), range })
    }

    /// Reads a list or an object: the cell has it as JSON, or has the path of a JSON file with it.
    fn list(&mut self, list: &'static ListField, draft: &mut CaseDraft, written: WrittenField<'_>) {
        let WrittenField { line, node: cell, .. } = written;
        let (text, place) = (cell.text().unwrap_or_default(), self.file.place(cell.range.clone()));
        let is_inline = text.starts_with(['[', '{']);
        let inline = || (self.row.sheet.path.to_path_buf(), text.as_bytes().to_vec());
        let Some((path, bytes)) = (if is_inline { Some(inline()) } else { self.list_file(list, cell) }) else { return };
        let mut file = Document::new(&path, &bytes, Syntax::Json);
        file.places.clone_from(&self.file.places);
        let before = draft.checks.len();
        if let Some(root) = file.root() {
            file.duplicate_keys(&root, &[]);
            draft.read(&mut file, CaseField::List(list), WrittenField { node: &root, ..written });
        }
        // Their places are in the file of the case.
        draft.checks[before..].iter_mut().for_each(|check| check.origin.line = line);
        let mut problems = file.problems.into_vec();
        if is_inline {
            for problem in &mut problems {
                problem.place = place.clone();
            }
            for change in &mut draft.during {
                change.origin = place.clone();
            }
            for check in &mut draft.checks[before..] {
                check.origin.elsewhere = Some(place.clone());
            }
        }
        self.file.problems.extend(problems);
    }

    /// The file that a cell names, and its content.
    fn list_file(&mut self, list: &ListField, cell: &Node) -> Option<(PathBuf, Vec<u8>)> {
        let Field { column, form, .. } = list.field;
        let Some(FieldValue::Path(path)) = self.file.field_value(column, form, cell) else { return None };
        let path = path.as_path().to_path_buf();
        let read = inside::read(&self.row.sheet.root, &path).map_err(|error| {
            let message = format!("`{column}`: {} cannot be read: {error}", path.display());
            let help = "name a JSON file with it, from here or from the repository's root, or write its JSON here";
            self.file.problem_with_help(Code::Unreadable, cell.range.clone(), message, help);
        });
        Some((path, read.ok()?))
    }
}

/// The bytes of a text in what is written at `start`, in any case; all of that if the text is not in it.
fn place_in(written: &[u8], text: &str, start: usize) -> Range<usize> {
    let found = written.windows(text.len().max(1)).position(|part| part.eq_ignore_ascii_case(text.as_bytes()));
    let range = found.map_or(0..written.len(), |at| at..at + text.len());
    start + range.start..start + range.end
}
