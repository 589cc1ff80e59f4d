//! Whether a file is UTF-8 text cut by commas at all: spreadsheets save other things under the same name.

use std::path::Path;

use super::REQUIRED;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, ends_line};

/// Of a file that is UTF-16, with its mark or without, what to do with it.
pub(super) fn utf_16(path: &Path, bytes: &[u8]) -> Option<Diagnostic> {
    // Without a mark: a header starts with a letter or a quote, half of which is a zero there.
    let unmarked = matches!(bytes, [0, c, ..] | [c, 0, ..] if c.is_ascii_graphic());
    let utf_16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || unmarked;
    utf_16.then(|| {
        Diagnostic::new(Code::NotUtf8, SourceLocation::file(path), "this file is UTF-16; expected UTF-8")
            .help("save it as \"CSV UTF-8\"")
    })
}

/// Of a header at `start` that something else than commas cuts into the columns of every prompts.csv, what that is.
pub(super) fn separator(path: &Path, bytes: &[u8], start: usize) -> Option<Diagnostic> {
    let end = (start..bytes.len()).find(|at| ends_line(bytes, *at)).unwrap_or(bytes.len());
    let header = std::str::from_utf8(&bytes[start..end]).ok()?;
    let cut_by = |separator: &char| {
        let names: Vec<&str> = header.split(*separator).map(|name| name.trim().trim_matches('"').trim()).collect();
        REQUIRED.iter().all(|column| names.contains(column))
    };
    let (separator, name) =
        [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")].into_iter().find(|(separator, _)| cut_by(separator))?;
    let at = start + header.find(separator)?;
    let place = SourceLocation::in_text(path, bytes, at..at + 1);
    let problem =
        Diagnostic::new(Code::CsvSeparator, place, format!("the cells are separated by {name}; expected commas"));
    Some(problem.help("save it as CSV with commas, and quotes around cells that hold one"))
}

/// Of a file whose first line ends in a carriage return alone, what that may lead to.
pub(super) fn line_ends(path: &Path, bytes: &[u8], start: usize) -> Option<Diagnostic> {
    let at = (start..bytes.len()).find(|at| ends_line(bytes, *at))?;
    (bytes[at] == b'\r').then(|| {
        let message = "lines end in CR alone, as on a Mac before 2001; expected LF or CR LF";
        Diagnostic::new(Code::CsvLineEnds, SourceLocation::in_text(path, bytes, at..at + 1), message)
            .help("save it with LF: editors and other runners take it for a single line")
    })
}
