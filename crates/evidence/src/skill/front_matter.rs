//! Front matter that is not YAML, and what agents make of it. Agents have parsers of their own, and many skip a fault.

use std::ops::Range;
use std::path::Path;

use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::word_enum::word_enum;

word_enum! {
    /// A fault of front matter that agents read in different ways.
    pub enum Fault {
        /// A value without quotes has `: `.
        Colon = "`: ` in a value without quotes",
        /// A value without quotes ends with `:`.
        ColonAtEnd = "`:` at the end of a value without quotes",
        /// A value without quotes begins with `[`, `{`, `@` or a backtick.
        Symbol = "a value that begins with a bracket, `@` or a backtick",
        /// The same with `*`, `%`, `|` or `>`, and something behind it.
        Mark = "a value that begins with `*` or `%`",
        /// The same with `!`.
        Tag = "a value that begins with `!`",
        /// A quote that does not end where its value ends.
        Quote = "a quote that does not end its value",
        /// A line is indented with tabs.
        Tab = "tabs as indentation",
        /// A key twice.
        Repeated = "a duplicate key",
        /// A description that is a list.
        List = "a list as the description",
        /// No front matter.
        Missing = "no front matter",
        /// A byte order mark before it.
        ByteOrderMark = "a byte order mark at the start of the file",
        /// Anything else that is not YAML.
        Other = "front matter that is not YAML",
    }
}

/// The first fault of front matter, `text`, that a parser of YAML refuses.
pub(super) fn fault_of(text: &str) -> Fault {
    let of_line = |line: &str| {
        let content = line.trim_start();
        if line[..line.len() - content.len()].contains('\t') {
            return Some(Fault::Tab);
        }
        let (_, value) = content.split_once(':').filter(|(key, _)| !key.contains(' '))?;
        let value = value.trim();
        match value.chars().next()? {
            quote @ ('"' | '\'') if !value[1..].ends_with(quote) || value[1..value.len() - 1].contains(quote) => {
                Some(Fault::Quote)
            }
            '"' | '\'' => None,
            '[' | '{' if value.ends_with([']', '}']) => None,
            '[' | '{' | '@' | '`' => Some(Fault::Symbol),
            '*' | '%' => Some(Fault::Mark),
            '!' => Some(Fault::Tag),
            _ if value.contains(": ") => Some(Fault::Colon),
            _ => value.ends_with(':').then_some(Fault::ColonAtEnd),
        }
    };
    text.lines().find_map(of_line).unwrap_or(Fault::Other)
}

/// The warnings of a `description`, at `value` of the file, that every parser changes in silence.
pub(super) fn changed_description(path: &Path, text: &str, value: Range<usize>) -> Option<Diagnostic> {
    let start = text[..value.start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let (_, written) = line.split_once(':')?;
    let written = written.trim_start();
    let first = written.chars().next()?;
    if "\"'|>".contains(first) {
        return None;
    }
    let at = start + line.len() - written.len();
    let (range, what) = match written.find(" #") {
        Some(hash) => {
            (at + hash + 1..start + line.len(), "` #` begins a comment: agents do not see the rest of the description")
        }
        None if first == '&' => {
            (at..at + 1, "`&` begins the name of an anchor: agents do not see the first word of the description")
        }
        None => return None,
    };
    let problem = Diagnostic::new(Code::CutDescription, SourceLocation::in_text(path, text.as_bytes(), range), what);
    Some(problem.help("put quotes around the description"))
}
