//! Rules for names: ids that name a directory, segments of a Rust path, filters of test names, and paths in a repository.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};
use unicode_ident::{is_xid_continue, is_xid_start};

use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shorten};
use crate::text::escape;

/// A name as a segment of a Rust path: everything except letters and digits of any script becomes `_`. If the result is
/// not an identifier of Rust, it gets a `_` in front.
pub fn segment(name: &str) -> String {
    // Sorted by their bytes.
    const KEYWORDS: [&str; 52] = [
        "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
        "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct",
        "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
        "yield",
    ];
    // Fast path for ASCII: each start makes the names of many thousand tests.
    let of_byte = |byte: u8| if byte.is_ascii_alphanumeric() { byte } else { b'_' };
    let bytes = name.is_ascii().then(|| name.bytes().map(of_byte).collect());
    let mut segment: String = match bytes.map(String::from_utf8) {
        Some(Ok(segment)) => segment,
        _ => name.chars().map(in_segment).collect(),
    };
    let starts_badly = !segment.starts_with(|c: char| is_xid_start(c) || c == '_');
    if segment.is_empty() {
        segment.push('_');
    }
    // No keyword is longer than eight letters or has anything else in it.
    let may_be_keyword = segment.len() <= 8 && segment.bytes().all(|byte| byte.is_ascii_alphabetic());
    if starts_badly || segment == "_" || may_be_keyword && KEYWORDS.binary_search(&segment.as_str()).is_ok() {
        segment.insert(0, '_');
    }
    segment
}

fn in_segment(c: char) -> char {
    if c.is_ascii_alphanumeric() || is_xid_continue(c) { c } else { '_' }
}

/// The longest id in bytes: several ids make a path.
pub const LONGEST_ID: usize = 100;

/// Checks that `id` can name a directory, and a test, run or mode on a command line.
pub fn check_id(id: &str) -> Result<(), &'static str> {
    if id.is_empty() {
        return Err("is empty");
    }
    if id.starts_with('-') {
        return Err("starts with `-`, which command lines take for an option");
    }
    if id.starts_with('.') {
        return Err("starts with `.`, which hides its directory");
    }
    if id.len() > LONGEST_ID {
        return Err("is longer than 100 bytes");
    }
    if id.bytes().any(|b| b.is_ascii_control()) {
        return Err("holds a line break or another control character");
    }
    if !id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.')) {
        return Err("holds characters other than letters, digits, `-`, `_` and `.`");
    }
    Ok(())
}

/// Checks that `id` can name a case: a directory on every system, and a test, which needs a letter or digit. Other runners
/// of prompts.csv accept spaces, letters of any script and a `-` in front, so this does too.
pub fn check_case_id(id: &str) -> Result<(), String> {
    if id.is_empty() {
        return Err("is empty".to_owned());
    }
    if id.starts_with('.') {
        return Err("starts with `.`, which hides its directory".to_owned());
    }
    if id.len() > LONGEST_ID {
        return Err(format!("is longer than {LONGEST_ID} bytes"));
    }
    if let Some(c) = id.chars().find(|c| !is_allowed_in_case_id(*c)) {
        return Err(match c {
            c if c.is_control() => "holds a line break or another control character".to_owned(),
            '/' | '\\' => format!("holds `{c}`, which separates directories"),
            c if c.is_ascii_graphic() => format!("holds `{c}`, which not every system allows in names"),
            c => format!("holds the character U+{:04X}, which cannot be seen", u32::from(c)),
        });
    }
    if !id.chars().any(char::is_alphanumeric) {
        return Err("holds no letter and no digit".to_owned());
    }
    Ok(())
}

fn is_allowed_in_case_id(c: char) -> bool {
    let separates = matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let unseen = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{feff}');
    let unseen = unseen || escape::is_live(c) || (c.is_whitespace() && c != ' ');
    !separates && !unseen
}

/// The diagnostic for an `id` that [`check_case_id`] rejects.
pub fn id_problem(id: &str, why: &str, place: SourceLocation) -> Diagnostic {
    let shown = shorten(id);
    Diagnostic::new(Code::CaseId, place, format!("the case id {shown:?} {why}"))
        .help("use letters, digits, spaces, `-`, `_` and `.`: the id names a test and a directory")
}

/// Filters of `cargo test`: they select a test whose name contains one of them or, if `exact`, equals one of them. `-`, `+`
/// and `_` are the same, and so are `/` and `::`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    wanted: Vec<String>,
    exact: bool,
}

impl Filters {
    /// These filters; an empty list selects every test.
    pub fn new(wanted: &[String], exact: bool) -> Self {
        Self { wanted: wanted.iter().map(|filter| as_test_name(filter, exact)).collect(), exact }
    }

    /// Whether the filters select the test of this name, which is made only if there are filters.
    pub fn want(&self, name: impl FnOnce() -> String) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        let name = name();
        let matches = |filter: &String| if self.exact { name == *filter } else { name.contains(filter.as_str()) };
        self.wanted.iter().any(matches)
    }
}

/// A filter in the form of test names: `xlsx/verify-it` finds `xlsx::verify_it::codex`.
pub fn as_test_name(filter: &str, whole: bool) -> String {
    let path = filter.replace('/', "::");
    if whole {
        return path.split("::").map(segment).collect::<Vec<_>>().join("::");
    }
    // Signs alone, such as an emoji, would find every name with another sign.
    if !filter.is_ascii() && !filter.chars().any(char::is_alphanumeric) {
        return path;
    }
    path.chars().map(|c| if c == ':' { c } else { in_segment(c) }).collect()
}

// A path from a user that must stay inside some directory.

/// A path without `..`, root, drive or NUL. Joined to a directory, it stays inside it, except through symbolic links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelativePath(PathBuf);

impl RelativePath {
    /// Parses `text`, which has `/` between the parts on every system.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err("is empty");
        }
        if text.len() > LONGEST {
            return Err("is longer than 4096 bytes");
        }
        if text.contains('\0') {
            return Err("holds a NUL byte");
        }
        if text.contains('\\') {
            return Err("holds a backslash; write `/` between the parts");
        }
        if text.starts_with('/') || text.get(1..2) == Some(":") {
            return Err("is absolute");
        }
        let mut path = PathBuf::new();
        for part in Path::new(text).components() {
            match part {
                // In `./C:` the drive is a plain name, but without `./` it is a drive again.
                Component::Normal(name)
                    if path.as_os_str().is_empty() && name.as_encoded_bytes().get(1) == Some(&b':') =>
                {
                    return Err("is absolute");
                }
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir => return Err("leaves its directory with `..`"),
                Component::RootDir | Component::Prefix(_) => return Err("is absolute"),
            }
        }
        if path.as_os_str().is_empty() {
            return Err("names no file");
        }
        Ok(Self(path))
    }

    /// The directory itself.
    pub fn here() -> Self {
        Self(PathBuf::new())
    }

    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Its last part.
    #[must_use]
    pub fn name(&self) -> Self {
        Self(self.0.file_name().map_or_else(|| self.0.clone(), PathBuf::from))
    }

    /// The path under a directory that is relative too.
    #[must_use]
    pub fn under(&self, directory: &Path) -> Self {
        Self(directory.join(&self.0))
    }
}

/// The longest path in bytes: no system opens a longer one.
const LONGEST: usize = 4096;

/// A path without its `.` and `..`, if it stays inside.
pub fn resolved(path: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir if inside.pop() => {}
            _ => return None,
        }
    }
    Some(inside)
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

impl Serialize for RelativePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
