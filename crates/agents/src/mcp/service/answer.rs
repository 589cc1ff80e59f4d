//! Answers of the tools: a skill, its files, and what is wrong with a request.

use std::fmt::Write;

use super::directory::{FileContent, ResourceError};
use super::library::{Library, ServedSkill};
use super::skill_list::names;
use crate::settings::SkillResult;
use crate::skill::SkillFile;
use crate::text::diagnostic::nearest;
use crate::text::relative_path::RelativePath;

/// An answer, or an error message for the model.
pub(super) type McpAnswer = Result<String, String>;

pub(super) fn named<'a>(library: &'a Library, name: &str) -> Result<&'a ServedSkill, String> {
    library.skill(name).ok_or_else(|| {
        if library.skills.is_empty() {
            return format!("unknown skill `{name}`: no skills are served at the moment");
        }
        let known = library.skills.iter().map(|served| served.skill.name.as_str());
        let hint = nearest(name, known).map_or_else(|| ".".to_owned(), |near| format!(", did you mean `{near}`?"));
        format!("unknown skill `{name}`{hint} Call again with one of these names: {}", names(library))
    })
}

pub(super) fn raw(served: &ServedSkill) -> McpAnswer {
    Ok(String::from_utf8_lossy(&skill_file(served)?).into_owned())
}

fn skill_file(served: &ServedSkill) -> Result<Vec<u8>, String> {
    let (name, file) = (&served.skill.name, served.file);
    match served.read(file) {
        Ok(FileContent::File(bytes)) => Ok(bytes),
        Ok(FileContent::Directory) => Err(format!("the {file} of the skill `{name}` is a directory")),
        Err(error) => Err(format!("the {file} of the skill `{name}` {error}")),
    }
}

/// A skill as the agents' own skill tools return it: its directory, the body of its SKILL.md, and the list of its files.
/// With [`SkillResult::Raw`], only its SKILL.md.
pub(super) fn skill(served: &ServedSkill, result: SkillResult) -> McpAnswer {
    if result == SkillResult::Raw {
        return raw(served);
    }
    let bytes = skill_file(served)?;
    let text = String::from_utf8_lossy(&bytes);
    let body = SkillFile::parse(&served.skill.folder, &bytes).body;
    let body = text.get(body).unwrap_or(&text).trim();
    let mut answer = format!("Base directory for this skill: {}\n\n{body}\n", served.directory().display());
    let mut resources = served.files.iter().filter(|file| file.path != served.file).peekable();
    if resources.peek().is_some() {
        answer.push_str("\nFiles of this skill, to be read with the tool `skill-resource`:\n");
    }
    for file in resources {
        let _ = writeln!(answer, "- {}", file.path);
    }
    Ok(answer)
}

/// The file at `path`, or all files of the directory at `path`. If `path` is empty, the list of the skill's files.
pub(super) fn resource(served: &ServedSkill, path: &str) -> McpAnswer {
    if matches!(path, "" | "." | "./") {
        let mut list = format!("Files of the skill `{}`:\n", served.skill.name);
        for file in &served.files {
            let _ = writeln!(list, "- {} ({} bytes)", file.path, file.size);
        }
        return Ok(list);
    }
    match served.read(path) {
        Ok(FileContent::File(bytes)) => text(&bytes).map(str::to_owned).map_err(|why| format!("`{path}` {why}")),
        Ok(FileContent::Directory) => Ok(directory_files(served, &RelativePath::parse(path)?)),
        Err(error) => {
            let advice = match error {
                ResourceError::TooLarge { .. } => "Work on it with other tools.".to_owned(),
                ResourceError::NotAllowed(_) | ResourceError::Missing => known_files(served, path),
                _ => String::new(),
            };
            Err(format!("`{}` {error}. {advice}", path.escape_debug()).trim_end().to_owned())
        }
    }
}

fn known_files(served: &ServedSkill, path: &str) -> String {
    let known: Vec<&str> = served.files.iter().map(|file| file.path.as_str()).collect();
    let hint = nearest(path, known.iter().copied()).map(|near| format!("Did you mean `{near}`? ")).unwrap_or_default();
    format!("{hint}Files of the skill `{}`: {}", served.skill.name, known.join(", "))
}

/// The files of a directory, each in its own element. A file that cannot be shown is named with the reason.
fn directory_files(served: &ServedSkill, directory: &RelativePath) -> String {
    let prefix = format!("{directory}/");
    let limit = served.max_answer();
    let mut remaining = limit;
    let mut answer = String::new();
    for file in served.files.iter().filter(|file| file.path.starts_with(&prefix)) {
        let content = match served.read(&file.path) {
            Ok(FileContent::File(bytes)) if bytes.len() as u64 > remaining => {
                Err(format!("is left out: this answer is limited to {limit} bytes. Condition for it by its own path"))
            }
            Ok(FileContent::File(bytes)) => text(&bytes).map(str::to_owned),
            Ok(FileContent::Directory) => Err("is now a directory".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let _ = match content {
            Ok(text) => {
                remaining -= text.len() as u64;
                writeln!(answer, "<file path=\"{}\">\n{text}\n</file>", file.path)
            }
            Err(why) => writeln!(answer, "<file path=\"{}\" not_shown=\"{why}\"/>", file.path),
        };
    }
    if answer.is_empty() { format!("The directory `{directory}` holds no files.") } else { answer }
}

/// The text of a file. The error completes a sentence that starts with the file's path.
pub(super) fn text(bytes: &[u8]) -> Result<&str, String> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| format!("is a binary file of {} bytes and is not shown as text", bytes.len()))
}
