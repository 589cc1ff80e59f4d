//! The words that a model reads: the catalogue, a skill, its files, and what was wrong with a request.

use std::fmt::Write;

use super::folder::{Found, MAX_FILE, ResourceError};
use super::library::{Library, Shelved};
use crate::cases::skill::{SKILL_FILE, SkillFile};
use crate::text::diagnostic::nearest;
use crate::text::relative_path::RelativePath;

/// The most that the files of one folder may add up to in one answer, in bytes.
const MAX_FOLDER: usize = 1024 * 1024;

/// An answer, or what to say instead.
pub(super) type Answer = Result<String, String>;

/// How much of a description the model sees, in UTF-16 units: Claude Code cuts the descriptions of tools and the
/// instructions of servers off there, but not the descriptions of arguments.
const SHOWN: usize = 2048;

/// The catalogue without skills.
const NONE: &str = "There are no skills at the moment.";

/// What the tool `skill` does.
const LOADS: &str = "Loads a skill: returns its instructions. When a skill's description fits the task, load the skill \
                     before doing anything else about the task, and follow it.";

/// The description of the tool `skill`: with the catalogue where the model sees all of it, else with the names.
pub(super) fn skill_tool(library: &Library) -> String {
    let whole = skill_tool_whole(library);
    if is_shown(&whole) {
        return whole;
    }
    format!("{LOADS} The argument `name` lists what each is for.\n\nAvailable skills: {}", names(library))
}

fn skill_tool_whole(library: &Library) -> String {
    format!("{LOADS}\n\n{}", catalogue(library))
}

/// The description of the argument `name`, with the catalogue where it is too long for the tool's.
pub(super) fn name_argument(library: &Library) -> String {
    let usage = "The skill's name, as listed";
    if is_shown(&skill_tool_whole(library)) { usage.to_owned() } else { format!("{usage}:\n{}", catalogue(library)) }
}

/// The server's instructions. `None` for a library that is not known yet. The names come first: where codex leaves tools
/// to be searched for, it shows some 250 characters of the first line and nothing else.
pub(super) fn instructions(library: Option<&Library>) -> String {
    let usage = "Skills are instructions for particular tasks. Load one with the tool `skill` when its description \
                 fits the task; read the files that it refers to with the tool `skill-resource`.";
    let Some(library) = library else { return format!("{usage} The tool `skill` lists the skills.") };
    if library.skills.is_empty() {
        return format!("{usage} {NONE}");
    }
    let first = format!("Skills to load with the tool `skill`: {}", names(library));
    let whole = format!("{first}\n\n{usage}\n\n{}", catalogue(library));
    if is_shown(&whole) { whole } else { format!("{first}\n\n{usage}") }
}

fn is_shown(text: &str) -> bool {
    text.encode_utf16().count() <= SHOWN
}

fn names(library: &Library) -> String {
    let names: Vec<&str> = library.skills.iter().map(|shelved| shelved.skill.name.as_str()).collect();
    names.join(", ")
}

/// Names and descriptions, a line each.
fn catalogue(library: &Library) -> String {
    if library.skills.is_empty() {
        return NONE.to_owned();
    }
    let mut parts = vec!["<available_skills>".to_owned()];
    parts.extend(library.skills.iter().map(|Shelved { skill, .. }| {
        let description = skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        format!(
            "<skill><name>{}</name><description>{}</description></skill>",
            escaped(&skill.name),
            escaped(&description)
        )
    }));
    parts.push("</available_skills>".to_owned());
    parts.join("\n")
}

/// Text that cannot close the element that it stands in.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The skill of this name.
pub(super) fn named<'a>(library: &'a Library, name: &str) -> Result<&'a Shelved, String> {
    library.skill(name).ok_or_else(|| {
        if library.skills.is_empty() {
            return format!("there is no skill `{name}`: no skills are served at the moment");
        }
        let known = library.skills.iter().map(|shelved| shelved.skill.name.as_str());
        let hint = nearest(name, known).map(|near| format!(", did you mean `{near}`?"));
        format!(
            "there is no skill `{name}`{} Call again with one of these names: {}",
            hint.unwrap_or_else(|| ".".to_owned()),
            names(library)
        )
    })
}

/// A skill as the agents' own skill tools give it: the body without the front matter, headed by the folder that
/// relative paths in it start from, and followed by the files that can be asked for.
pub(super) fn skill(shelved: &Shelved) -> Answer {
    let name = &shelved.skill.name;
    let read = RelativePath::parse(SKILL_FILE).map_err(ResourceError::NotAllowed).and_then(|path| shelved.find(&path));
    let bytes = match read {
        Ok(Found::File(bytes)) => bytes,
        Ok(Found::Folder) => return Err(format!("the SKILL.md of the skill `{name}` is a folder")),
        Err(error) => return Err(format!("the SKILL.md of the skill `{name}` {error}")),
    };
    let text = String::from_utf8_lossy(&bytes);
    let body = SkillFile::parse(&shelved.skill.folder, &bytes).body;
    let body = text.get(body).unwrap_or(&text).trim();
    let mut answer = format!("Base directory for this skill: {}\n\n{body}\n", shelved.folder().display());
    let resources: Vec<&str> =
        shelved.files.iter().map(|file| file.path.as_str()).filter(|path| *path != SKILL_FILE).collect();
    if !resources.is_empty() {
        let _ = writeln!(answer, "\nFiles of this skill, to be read with the tool `skill-resource`:");
        for path in resources {
            let _ = writeln!(answer, "- {path}");
        }
    }
    Ok(answer)
}

/// The file at `path`, the files of the folder at `path`, or, where it is empty, the list of all files.
pub(super) fn resource(shelved: &Shelved, path: &str) -> Answer {
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
        Found::File(bytes) => text(&bytes).map(str::to_owned).map_err(|what| format!("`{path}` {what}")),
        Found::Folder => Ok(files_below(shelved, &path)),
    }
}

fn listing(shelved: &Shelved) -> String {
    let mut text = format!("Files of the skill `{}`:\n", shelved.skill.name);
    for file in &shelved.files {
        let _ = writeln!(text, "- {} ({} bytes)", file.path, file.size);
    }
    text
}

fn known_files(shelved: &Shelved, path: &str) -> String {
    let known: Vec<&str> = shelved.files.iter().map(|file| file.path.as_str()).collect();
    let hint = nearest(path, known.iter().copied()).map(|near| format!("Did you mean `{near}`? ")).unwrap_or_default();
    format!("{hint}Files of the skill `{}`: {}", shelved.skill.name, known.join(", "))
}

/// The files below a folder, each in an element of its own; what cannot be shown is named with the reason.
fn files_below(shelved: &Shelved, folder: &RelativePath) -> String {
    let prefix = format!("{folder}/");
    let files: Vec<_> = shelved.files.iter().filter(|file| file.path.starts_with(&prefix)).collect();
    if files.is_empty() {
        return format!("The folder `{folder}` holds no files.");
    }
    let mut answer = String::new();
    let mut left = MAX_FOLDER;
    for file in files {
        let found = RelativePath::parse(&file.path).map_err(ResourceError::NotAllowed);
        let shown = match found.and_then(|path| shelved.find(&path)) {
            Ok(Found::File(bytes)) if bytes.len() > left => {
                Err(format!("is left out: this answer is limited to {MAX_FOLDER} bytes. Ask for it by its own path"))
            }
            Ok(Found::File(bytes)) => text(&bytes).map(str::to_owned),
            Ok(Found::Folder) => Err("is a folder by now".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let _ = match shown {
            Ok(text) => {
                left -= text.len();
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

/// What the tool `skill-resource` says of itself.
pub(super) fn resource_tool() -> String {
    format!(
        "Reads files of a skill: `path` of a file returns its text, `path` of a folder returns the texts of its files, \
         no `path` lists all files. Text files up to {} KiB.",
        MAX_FILE / 1024
    )
}
