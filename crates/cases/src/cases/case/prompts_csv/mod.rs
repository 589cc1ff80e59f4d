//! `evals/skills/<slug>/prompts.csv`: one case a row.
//!
//! Other runners use this format too: the columns `id`, `should_trigger`, `prompt` and optional ones, quotes by RFC 4180 with
//! line breaks inside cells, extra empty cells at the end of a row. [`parse`] only cuts the file into rows, which is enough
//! to list them. A [`CsvRow`] reads its cells when its case is needed.

mod row;

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use csv_core::{ReadFieldResult, Reader};

use crate::cases::case::fields;
use crate::cases::case::{CaseFormat, FileCases, Files, MOST_CASES};
use crate::checks::{FieldForm, FieldValue};
use crate::profile::DEFAULT_MODE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest, shorten};
use crate::text::problem_list::ProblemList;
use crate::text::source_text::{SourceText, ends_line};

pub use row::{CsvRow, FOREIGN};

/// Rows run under the default agent unless chosen otherwise.
pub static FORMAT: CaseFormat = CaseFormat {
    name: "row",
    default_mode: DEFAULT_MODE,
    files: Some(Files {
        path: "evals/skills/<skill>/prompts.csv",
        endings: &[".csv", ".tsv", ".txt", ".xls", ".ods"],
        marks: &["should_trigger", "prompt"],
        parse: |file, bytes, layout| {
            let ParsedCsv { rows, problems } = parse(&file.root, &file.path, bytes, layout.own_columns);
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
    let text_start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let header_start = skip_line_breaks(&bytes, text_start);
    if let Some(problem) = utf_16(path, &bytes).or_else(|| separator(path, &bytes, header_start)) {
        return ParsedCsv { rows: Vec::new(), problems: vec![problem] };
    }
    let mut problems = ProblemList::of_file();
    problems.extend(line_ends(path, &bytes, header_start));
    let header = CsvRecord::at(&bytes, header_start);
    let names: Vec<String> =
        (0..header.cells.len()).map(|index| header.text(&bytes, index).trim().to_owned()).collect();
    let columns = read_header(path, &bytes, &header, &names, format, own, &mut problems);
    if problems.has_errors() {
        return ParsedCsv { rows: Vec::new(), problems: problems.into_vec() };
    }
    let has_blanks = header.cells.iter().any(|cell| bytes.get(cell.start) == Some(&b' '));
    let sheet = Arc::new(CsvSheet { root: root.into(), path: path.into(), bytes, format, columns, names });
    let rows = rows(&sheet, header.range(usize::MAX).end, &mut |row, record| {
        problems.extend(unquoted_comma(row, record, has_blanks));
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
