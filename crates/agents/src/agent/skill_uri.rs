//! The addresses by which agents ask an MCP server for the files of skills.

use percent_encoding::percent_decode_str;

use crate::skill::SKILL_FILE;

/// The skill and the file of `skill://greeting/references/formal.md`; `skill://greeting` is its SKILL.md.
pub(super) fn file_of_uri(uri: &str) -> Option<(String, String)> {
    let rest = uri.strip_prefix("skill://").filter(|rest| !rest.is_empty())?;
    let (skill, path) = rest.split_once('/').unwrap_or((rest, SKILL_FILE));
    let path = normalized(&percent_decode_str(path).decode_utf8_lossy());
    (!path.is_empty()).then(|| (percent_decode_str(skill).decode_utf8_lossy().into_owned(), path))
}

/// `.//references/./formal.md` as `references/formal.md`.
pub(super) fn normalized(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}
