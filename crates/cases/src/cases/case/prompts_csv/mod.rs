//! `evals/skills/<slug>/prompts.csv`: one case a row.
//!
//! Other runners use this format too: the columns `id`, `should_trigger`, `prompt` and optional ones, quotes by RFC 4180 with
//! line breaks inside cells, extra empty cells at the end of a row. [`parse`] only cuts the file into rows, which is enough
//! to list them. A [`CsvRow`] reads its cells when its case is needed.

mod foreign;
mod form;
mod record;
mod row;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use crate::cases::case::fields;
use crate::cases::case::{CaseFormat, FileCases, Files, MOST_CASES};
use crate::checks::{FieldForm, FieldValue};
use crate::profile::DEFAULT_MODE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest, shorten};
use crate::text::problem_list::ProblemList;
use crate::text::source_text::{SourceText, ends_line};

pub use foreign::FORMAT as FOREIGN;
pub(in crate::cases) use form::utf_16;
use record::CsvRecord;
pub use record::cell_range;
pub use row::CsvRow;

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
    if let Some(problem) = form::utf_16(path, &bytes).or_else(|| form::separator(path, &bytes, header_start)) {
        return ParsedCsv { rows: Vec::new(), problems: vec![problem] };
    }
    let mut problems = ProblemList::of_file();
    problems.extend(form::line_ends(path, &bytes, header_start));
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
        problems.extend(form::unquoted_comma(row, record, has_blanks));
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
