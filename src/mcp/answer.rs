//! The words that a model reads when it asks: a skill, its files, and what was wrong with a request.

use std::fmt::Write;

use super::catalogue::names;
use super::directory::{FoundPath, ResourceError};
use super::library::{Library, ServedSkill};
use crate::settings::SkillResult;
use crate::skill::SkillFile;
use crate::text::diagnostic::nearest;
use crate::text::relative_path::RelativePath;

/// An answer, or what to say instead.
pub(super) type McpAnswer = Result<String, String>;

/// The skill of this name.
pub(super) fn named<'a>(library: &'a Library, name: &str) -> Result<&'a ServedSkill, String> {
    library.skill(name).ok_or_else(|| {
        if library.skills.is_empty() {
            return format!("unknown skill `{name}`: no skills are served at the moment");
        }
        let known = library.skills.iter().map(|shelved| shelved.skill.name.as_str());
        let hint = nearest(name, known).map(|near| format!(", did you mean `{near}`?"));
        format!(
            "unknown skill `{name}`{} Call again with one of these names: {}",
            hint.unwrap_or_else(|| ".".to_owned()),
            names(library)
        )
    })
}

/// The SKILL.md as it is.
pub(super) fn raw(shelved: &ServedSkill) -> McpAnswer {
    Ok(String::from_utf8_lossy(&skill_file(shelved)?).into_owned())
}

fn skill_file(shelved: &ServedSkill) -> Result<Vec<u8>, String> {
    let (name, file) = (&shelved.skill.name, shelved.file);
    match RelativePath::parse(file).map_err(ResourceError::NotAllowed).and_then(|path| shelved.find(&path)) {
        Ok(FoundPath::File(bytes)) => Ok(bytes),
        Ok(FoundPath::Folder) => Err(format!("the {file} of the skill `{name}` is a directory")),
        Err(error) => Err(format!("the {file} of the skill `{name}` {error}")),
    }
}

/// A skill as the agents' own skill tools give it: the body without the front matter, headed by the folder that
/// relative paths in it start from, and followed by the files that can be asked for. Or its SKILL.md alone.
pub(super) fn skill(shelved: &ServedSkill, result: SkillResult) -> McpAnswer {
    if result == SkillResult::Raw {
        return raw(shelved);
    }
    let bytes = skill_file(shelved)?;
    let text = String::from_utf8_lossy(&bytes);
    let body = SkillFile::parse(&shelved.skill.folder, &bytes).body;
    let body = text.get(body).unwrap_or(&text).trim();
    let mut answer = format!("Base directory for this skill: {}\n\n{body}\n", shelved.folder().display());
    let resources: Vec<&str> =
        shelved.files.iter().map(|file| file.path.as_str()).filter(|path| *path != shelved.file).collect();
    if !resources.is_empty() {
        let _ = writeln!(answer, "\nFiles of this skill, to be read with the tool `skill-resource`:");
        for path in resources {
            let _ = writeln!(answer, "- {path}");
        }
    }
    Ok(answer)
}

/// The file at `path`, the files of the folder at `path`, or, where it is empty, the list of all files.
pub(super) fn resource(shelved: &ServedSkill, path: &str) -> McpAnswer {
    if matches!(path, "" | "." | "./") {
        return Ok(listing(shelved));
    }
    let refused = |error: ResourceError| {
        let next = match error {
            ResourceError::TooLarge { .. } => "Work on it with other tools.".to_owned(),
            ResourceError::NotAllowed(_) | ResourceError::Missing => known_files(shelved, path),
            _ => String::new(),
        };
        format!("`{}` {error}. {next}", path.escape_debug()).trim_end().to_owned()
    };
    let path = RelativePath::parse(path).map_err(|why| refused(ResourceError::NotAllowed(why)))?;
    match shelved.find(&path).map_err(refused)? {
        FoundPath::File(bytes) => text(&bytes).map(str::to_owned).map_err(|what| format!("`{path}` {what}")),
        FoundPath::Folder => Ok(files_below(shelved, &path)),
    }
}

fn listing(shelved: &ServedSkill) -> String {
    let mut text = format!("Files of the skill `{}`:\n", shelved.skill.name);
    for file in &shelved.files {
        let _ = writeln!(text, "- {} ({} bytes)", file.path, file.size);
    }
    text
}

fn known_files(shelved: &ServedSkill, path: &str) -> String {
    let known: Vec<&str> = shelved.files.iter().map(|file| file.path.as_str()).collect();
    let hint = nearest(path, known.iter().copied()).map(|near| format!("Did you mean `{near}`? ")).unwrap_or_default();
    format!("{hint}Files of the skill `{}`: {}", shelved.skill.name, known.join(", "))
}

/// The files below a folder, each in an element of its own; what cannot be shown is named with the reason.
fn files_below(shelved: &ServedSkill, folder: &RelativePath) -> String {
    let prefix = format!("{folder}/");
    let files: Vec<_> = shelved.files.iter().filter(|file| file.path.starts_with(&prefix)).collect();
    if files.is_empty() {
        return format!("The directory `{folder}` holds no files.");
    }
    let mut answer = String::new();
    let most = shelved.max_answer();
    let mut left = most;
    for file in files {
        let found = RelativePath::parse(&file.path).map_err(ResourceError::NotAllowed);
        let shown = match found.and_then(|path| shelved.find(&path)) {
            Ok(FoundPath::File(bytes)) if bytes.len() as u64 > left => {
                Err(format!("is left out: this answer is limited to {most} bytes. Ask for it by its own path"))
            }
            Ok(FoundPath::File(bytes)) => text(&bytes).map(str::to_owned),
            Ok(FoundPath::Folder) => Err("is now a directory".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let _ = match shown {
            Ok(text) => {
                left -= text.len() as u64;
                writeln!(answer, "<file path=\"{}\">\n{text}\n</file>", file.path)
            }
            Err(why) => writeln!(answer, "<file path=\"{}\" not_shown=\"{why}\"/>", file.path),
        };
    }
    answer
}

/// The text of a file, or what it is instead, as the end of a sentence that starts with its path.
pub(super) fn text(bytes: &[u8]) -> Result<&str, String> {
    let binary = || format!("is a binary file of {} bytes and is not shown as text", bytes.len());
    if bytes.contains(&0) { Err(binary()) } else { std::str::from_utf8(bytes).map_err(|_| binary()) }
}
