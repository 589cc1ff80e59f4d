//! Whether a file is UTF-8 text with commas between its cells: spreadsheets save other forms under the same name.

use std::ops::Range;
use std::path::Path;

use super::record::CsvRecord;
use super::{CsvRow, REQUIRED};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::source_text::ends_line;

/// The problem of a file that is UTF-16, with a byte order mark or without.
pub(in crate::cases) fn utf_16(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    // Without a mark, a header in UTF-16 begins with a letter or quote next to a zero byte.
    let is_unmarked = matches!(bytes, [0, c, ..] | [c, 0, ..] if c.is_ascii_graphic());
    let is_utf_16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || is_unmarked;
    let problem = Diagnostic::new(Code::NotUtf8, SourceLocation::file(path), "this file is UTF-16; expected UTF-8");
    is_utf_16.then(|| problem.help("save it as \"CSV UTF-8\""))
}

/// The problem of a file whose header is separated by something other than commas.
pub(super) fn separator(path: &Path, bytes: &[u8], header_start: usize) -> Option<Diagnostic> {
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
pub(super) fn line_ends(path: &Path, bytes: &[u8], header_start: usize) -> Option<Diagnostic> {
    let at = (header_start..bytes.len()).find(|at| ends_line(bytes, *at)).filter(|at| bytes[*at] == b'\r')?;
    let message = "lines end in CR alone, as on a Mac before 2001; expected LF or CR LF";
    let problem = Diagnostic::new(Code::CsvLineEnds, SourceLocation::in_text(path, bytes, at..at + 1), message);
    Some(problem.help("save it with LF: editors and other runners take it for a single line"))
}

/// The warning about a row whose commas may not all separate cells: a text with a comma and without quotes.
pub(super) fn unquoted_comma(row: &CsvRow, record: &CsvRecord, header_has_blanks: bool) -> Option<Diagnostic> {
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
