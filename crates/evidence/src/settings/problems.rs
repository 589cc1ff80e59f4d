//! Problems of evals.toml.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::Error;

use crate::settings::FILE;
use crate::text::diagnostic::SourceText;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::name::RelativePath;
use crate::text::problem::ProblemList;

/// A number as written, which the reader of its variable checks.
pub(super) type Number = toml::Spanned<toml::Value>;

/// The invalid values that were found in the settings file.
pub(super) struct Problems<'a> {
    text: SourceText<'a>,
    pub(super) list: ProblemList,
}

impl<'a> Problems<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { text: SourceText::new(Path::new(FILE), text.as_bytes()), list: ProblemList::of_file() }
    }

    /// Reports the value in this range. Lines of the message after the first are its help.
    pub(super) fn add(&mut self, range: Range<usize>, message: String) {
        self.add_with(range, || message);
    }

    /// The same with a message that takes time. It is only made if the problem is kept.
    pub(super) fn add_with(&mut self, range: Range<usize>, message: impl FnOnce() -> String) {
        self.list.add(Code::Config, || {
            let (place, message) = (self.text.place(range), message());
            match message.split_once('\n') {
                Some((message, help)) => Diagnostic::new(Code::Config, place, message).help(help),
                None => Diagnostic::new(Code::Config, place, message),
            }
        });
    }

    /// The number if it is one of these.
    pub(super) fn number<T>(
        &mut self,
        key: &str,
        written: &toml::Spanned<i64>,
        allowed: RangeInclusive<u64>,
    ) -> Option<T>
    where
        T: TryFrom<u64>,
    {
        let number = u64::try_from(*written.get_ref()).ok().filter(|number| allowed.contains(number));
        if number.is_none() {
            let (number, least, most) = (written.get_ref(), allowed.start(), allowed.end());
            self.add(written.span(), format!("`{key}` is {number}; expected {least} to {most}"));
        }
        T::try_from(number?).ok()
    }

    /// What this word means.
    pub(super) fn word<T, W: AsRef<str>, const N: usize>(
        &mut self,
        key: &str,
        written: &toml::Spanned<String>,
        named: impl Fn(&str) -> Option<T>,
        words: impl Fn() -> [W; N],
    ) -> Option<T> {
        let (known, text) = (named(written.get_ref()), written.get_ref());
        if known.is_none() {
            let words = words().each_ref().map(AsRef::as_ref).join(", ");
            self.add(written.span(), format!("unknown {key} `{text}`; known: {words}"));
        }
        known
    }

    /// The value of a text that is parsed.
    pub(super) fn parsed<T: FromStr<Err = String>>(&mut self, written: &toml::Spanned<String>) -> Option<T> {
        written.get_ref().parse().map_err(|why| self.add(written.span(), why)).ok()
    }

    pub(super) fn place(&self, range: Range<usize>) -> SourceLocation {
        self.text.place(range)
    }

    /// The valid ones of these names of environment variables.
    pub(super) fn variables(&mut self, names: impl IntoIterator<Item = toml::Spanned<String>>) -> Vec<String> {
        let (valid, wrong): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| {
            let name = name.get_ref();
            !name.trim().is_empty() && !name.contains(['=', '\0'])
        });
        for name in wrong {
            self.add(
                name.span(),
                format!("{:?} cannot be the name of an environment variable; remove it", name.get_ref()),
            );
        }
        valid.into_iter().map(toml::Spanned::into_inner).collect()
    }

    /// The valid ones of these paths. The message about an invalid path begins with `what`.
    pub(super) fn paths(
        &mut self,
        written: impl IntoIterator<Item = toml::Spanned<String>>,
        what: &str,
    ) -> Vec<RelativePath> {
        let mut paths = Vec::new();
        for path in written {
            match RelativePath::parse(path.get_ref()) {
                Ok(path) => paths.push(path),
                Err(why) => self.add(path.span(), format!("{what} {:?} {why}", path.get_ref())),
            }
        }
        paths
    }

    /// The same, for directories: `.` is the repository itself.
    pub(super) fn directories(&mut self, written: Vec<toml::Spanned<String>>, what: &str) -> Vec<RelativePath> {
        let is_here = |path: &toml::Spanned<String>| matches!(path.get_ref().as_str(), "." | "./");
        let (here, others): (Vec<_>, Vec<_>) = written.into_iter().partition(is_here);
        let mut paths = self.paths(others, what);
        paths.extend((!here.is_empty()).then(RelativePath::here));
        paths
    }

    /// Where each of these texts is written.
    pub(super) fn places(&self, written: &[toml::Spanned<String>]) -> BTreeMap<String, SourceLocation> {
        written.iter().map(|written| (written.get_ref().clone(), self.place(written.span()))).collect()
    }
}

/// Reads a text that has to say something.
pub(super) fn filled<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Err(D::Error::custom("this is empty; write a text, or remove the key"));
    }
    Ok(Some(text))
}

/// The problem that keeps the parser from reading evals.toml, in plain words.
pub(super) fn of_parser(text: &str, error: &toml::de::Error) -> Diagnostic {
    let range = error.span().unwrap_or(0..0);
    let key = text[..range.start].trim_end().strip_suffix('=').map(str::trim_end);
    let (start, value) = (range.start, text.get(range.clone()).unwrap_or_default());
    let place = SourceLocation::in_text(FILE, text.as_bytes(), range);
    let problem = Diagnostic::new(Code::Config, place, message(error.message()));
    // `[mode.NAME]` defines a mode, `modes` selects some.
    let is_mode = key.is_some_and(|key| key == "mode" || key.ends_with("\nmode"));
    if is_mode && value.starts_with(['"', '\'']) {
        return problem.help(format!("to choose modes, write modes = [{value}]"));
    }
    let is_text = value.starts_with(['"', '\'']);
    if let Some(key) = key.filter(|_| is_text && error.message().ends_with("expected a sequence")) {
        let key = key.rsplit(['\n', ' ']).next().unwrap_or(key);
        return problem.help(format!("write {key} = [{value}]"));
    }
    let is_in_table = text[..start].lines().any(|line| line.trim_start().starts_with('['));
    let is_of_top = super::SettingsKeys::ROWS.iter().any(|row| row.key == value);
    if is_in_table && is_of_top && error.message().starts_with("unknown field ") {
        return problem.help(format!("`{value}` belongs above the first [table] of the file"));
    }
    problem
}

/// `invalid type: integer `3`, expected struct X` becomes "this is 3; expected a table", and `invalid length` is that of a list. An unknown key gets the nearest one.
/// Other messages stay as they are, on one line.
fn message(text: &str) -> String {
    let text = text.trim().replace('\n', "; ");
    if let Some((key, known)) = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected ")) {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        return format!("unknown key `{key}`; {}", suggest(key, &known));
    }
    if let Some((_, expected)) = text.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected ")) {
        return format!("this is a list; expected {}", plain_type(expected));
    }
    match text.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected ")) {
        Some((value, expected)) => format!("this is {}; expected {}", plain_value(value), plain_type(expected)),
        None => text,
    }
}

fn plain_value(value: &str) -> &str {
    match value {
        "map" => return "a table",
        "sequence" => return "a list",
        _ => {}
    }
    for kind in ["string ", "integer ", "floating point ", "boolean "] {
        if let Some(value) = value.strip_prefix(kind) {
            return value.trim_matches('`');
        }
    }
    value
}

fn plain_type(expected: &str) -> &str {
    match expected {
        "i64" | "u64" | "u32" | "usize" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a map" | "a spanned value" => "a table",
        "a sequence" => "a list",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    }
}
