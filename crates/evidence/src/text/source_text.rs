//! A text that a user wrote, and the places in it.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

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
    fn up_to(path: &'a Path, bytes: &'a [u8], up_to: usize) -> Self {
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SourceLocation {
    /// The file, relative to the repository's root if it is inside it.
    pub path: PathBuf,
    /// The line, from 1; 0 for the whole file.
    pub line: usize,
    /// The column in characters, from 1; 0 for the whole file.
    pub column: usize,
    /// The text of the line, to draw it.
    #[serde(skip)]
    pub excerpt: Option<Excerpt>,
}

/// The part of a line that a diagnostic shows, short enough for a screen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Excerpt {
    /// The shown text.
    pub text: String,
    /// The bytes of `text` to mark.
    pub mark: Range<usize>,
}

/// The most characters shown on each side of the mark.
const EXCERPT_REACH: usize = 60;

impl SourceLocation {
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), line: 0, column: 0, excerpt: None }
    }

    /// The bytes `range` of `text`, which may not be UTF-8. For many places in one text, [`SourceText`] is faster.
    pub fn in_text(path: impl AsRef<Path>, text: &[u8], range: Range<usize>) -> Self {
        SourceText::up_to(path.as_ref(), text, range.start).place(range)
    }
}

impl Excerpt {
    /// The `marked` bytes of `text` with what is around them in their line. It looks at no more than it shows: a file may be one line.
    pub fn of_line(text: &[u8], line: Range<usize>, marked: Range<usize>) -> Self {
        // One more character says that the excerpt is cut, and the outermost may be cut itself. A character has at most four bytes.
        let reach = 4 * (EXCERPT_REACH + 2);
        let starts_character = |at: &usize| text.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let far = marked.start.saturating_sub(reach);
        let first = if far <= line.start { line.start } else { (far..far + 4).find(starts_character).unwrap_or(far) };
        let before = String::from_utf8_lossy(&text[first..marked.start]);
        let shown = |start: usize, end: usize| {
            let far = start + reach;
            let last = if end <= far { end } else { (far - 3..=far).rev().find(starts_character).unwrap_or(far) };
            String::from_utf8_lossy(&text[start..last])
        };
        let end = marked.end.min(line.end);
        Self::cut(&before, &shown(marked.start, end), shown(end, line.end).trim_end_matches('\r'))
    }

    fn cut(before: &str, marked: &str, after: &str) -> Self {
        let skip = before.chars().count().saturating_sub(EXCERPT_REACH);
        let mut text = String::new();
        if skip > 0 {
            text.push('…');
        }
        text.extend(before.chars().skip(skip).map(printable));
        let start = text.len();
        text.extend(marked.chars().take(EXCERPT_REACH).map(printable));
        let end = text.len();
        // After a mark that is cut, text would seem to follow directly.
        let marked_whole = marked.chars().count() <= EXCERPT_REACH;
        text.extend(after.chars().take(if marked_whole { EXCERPT_REACH } else { 0 }).map(printable));
        if !marked_whole || after.chars().count() > EXCERPT_REACH {
            text.push('…');
        }
        Self { text, mark: start..end }
    }
}

/// Control characters as their Unicode pictures, except tabs.
fn printable(c: char) -> char {
    match c {
        '\t' => c,
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

/// `file:line:column`, the form that terminals and editors link.
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        Ok(())
    }
}

/// Whether the byte `at` of `text` ends a line. Lines end with LF, CR LF or CR alone.
pub fn ends_line(text: &[u8], at: usize) -> bool {
    text[at] == b'\n' || (text[at] == b'\r' && text.get(at + 1) != Some(&b'\n'))
}
