//! A text that a user wrote, and the places in it.

use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::path::Path;

use crate::text::diagnostic::{Excerpt, SourceLocation};

/// The byte order mark.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// A text that may not be UTF-8. It finds its lines once and counts columns from the last place, so that a million places in a
/// large file, or in a file of one line, take linear time.
#[derive(Debug)]
pub struct SourceText<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// The first byte of every line, up to the line after this byte.
    lines: OnceCell<Vec<usize>>,
    up_to: usize,
    /// The last byte whose column was asked for, and its character in the line that starts at the first number.
    column: Cell<(usize, usize, usize)>,
}

impl<'a> SourceText<'a> {
    /// The content of the file at `path`, which messages show.
    pub fn new(path: &'a Path, bytes: &'a [u8]) -> Self {
        Self::up_to(path, bytes, bytes.len())
    }

    /// The same, for places that begin at most at this byte.
    pub(super) fn up_to(path: &'a Path, bytes: &'a [u8], up_to: usize) -> Self {
        Self { path, bytes, lines: OnceCell::new(), up_to, column: Cell::default() }
    }

    /// The line of a byte, from 1.
    pub fn line_of(&self, at: usize) -> usize {
        self.lines().partition_point(|start| *start <= at)
    }

    /// The place of these bytes.
    pub fn place(&self, range: Range<usize>) -> SourceLocation {
        let start = range.start.min(self.bytes.len());
        let range = start..range.end.clamp(start, self.bytes.len());
        let line = self.line_of(start);
        let line_start = self.lines()[line - 1];
        // Editors do not count a byte order mark as a character of the first line.
        let has_mark = line == 1 && start >= MARK.len() && self.bytes.starts_with(MARK);
        let line_start = if has_mark { MARK.len() } else { line_start };
        let line_end = self.lines().get(line).map_or(self.bytes.len(), |next| next - 1);
        let column = 1 + self.characters(line_start, start);
        let excerpt = Some(Excerpt::of_line(self.bytes, line_start..line_end, range));
        SourceLocation { path: self.path.into(), line, column, excerpt }
    }

    fn lines(&self) -> &[usize] {
        self.lines.get_or_init(|| {
            let mut lines = vec![0];
            for at in (0..self.bytes.len()).filter(|at| ends_line(self.bytes, *at)) {
                lines.push(at + 1);
                if at >= self.up_to {
                    break;
                }
            }
            lines
        })
    }

    /// The number of characters between the start of a line and `at`.
    fn characters(&self, line_start: usize, at: usize) -> usize {
        let count = |range: Range<usize>| self.bytes[range].iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        let characters = match self.column.get() {
            (line, last, characters) if line == line_start && last <= at => characters + count(last..at),
            (line, last, characters) if line == line_start => characters - count(at..last),
            _ => count(line_start..at),
        };
        self.column.set((line_start, at, characters));
        characters
    }
}

/// Whether the byte `at` of `text` ends a line. Lines end with LF, CR LF or CR alone.
pub fn ends_line(text: &[u8], at: usize) -> bool {
    text[at] == b'\n' || (text[at] == b'\r' && text.get(at + 1) != Some(&b'\n'))
}
