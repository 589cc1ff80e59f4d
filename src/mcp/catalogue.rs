//! The words by which a model learns which skills there are, and is asked to load them.

use super::library::{Library, ServedSkill};
use crate::profile::{PROFILES, ToolDisplay};
use crate::settings::{BuiltIn, Wording};

/// How much of a description the model sees, in UTF-16 units: Claude Code cuts the descriptions of tools and the
/// instructions of servers off there, but not the descriptions of arguments.
const SHOWN: usize = 2048;

/// What the client of this name shows its model of a tool, as far as is known.
pub(super) fn shown_by(client: Option<&str>) -> ToolDisplay {
    let known = PROFILES.iter().find(|profile| Some(profile.mcp_client) == client);
    known.map_or(ToolDisplay::Arguments, |profile| profile.shows)
}

/// The catalogue without skills.
const NONE: &str = "No skills are available at the moment.";

/// What the tool `skill` does, in either wording.
const LOADS: &str = "Loads a skill: returns its instructions. When a skill's description fits the task, load the skill \
                     before doing anything else about the task, and follow it.";
const LOADS_AT_ONCE: &str = "Loads a skill: returns its full instructions, with the steps, examples and files to follow.\n\n\
                             IMPORTANT: whenever a skill is relevant to the task, calling this tool IMMEDIATELY is your \
                             first action. It is a BLOCKING REQUIREMENT: call it BEFORE you say or do anything else \
                             about the task, and NEVER merely mention a skill without calling it.";

/// The description of the tool `skill`: with the catalogue where the model sees all of it, else with the names.
pub(super) fn skill_tool(library: &Library, wording: Wording, client: ToolDisplay) -> String {
    let whole = skill_tool_whole(library, wording);
    if client == ToolDisplay::Description || is_shown(&whole) {
        return whole;
    }
    format!("{} The argument `name` lists what each is for.\n\nAvailable skills: {}", loads(wording), names(library))
}

fn skill_tool_whole(library: &Library, wording: Wording) -> String {
    format!("{}\n\n{}", loads(wording), catalogue(library))
}

fn loads(wording: Wording) -> &'static str {
    match wording {
        Wording::Mild => LOADS,
        Wording::Skilljack => LOADS_AT_ONCE,
    }
}

/// The description of the argument `name`, with the catalogue where it is too long for the tool's.
pub(super) fn name_argument(library: &Library, wording: Wording, client: ToolDisplay) -> String {
    let usage = "The skill's name, as listed";
    if client == ToolDisplay::Description || is_shown(&skill_tool_whole(library, wording)) {
        return usage.to_owned();
    }
    format!("{usage}:\n{}", catalogue(library))
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

pub(super) fn names(library: &Library) -> String {
    let names: Vec<&str> = library.skills.iter().map(|shelved| shelved.skill.name.as_str()).collect();
    names.join(", ")
}

/// Names and descriptions, a line each.
pub(super) fn catalogue(library: &Library) -> String {
    if library.skills.is_empty() {
        return NONE.to_owned();
    }
    let mut parts = vec!["<available_skills>".to_owned()];
    parts.extend(library.skills.iter().map(|ServedSkill { skill, .. }| {
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

/// What the tool `skill-resource` says of itself.
pub(super) fn resource_tool(served: BuiltIn) -> String {
    format!(
        "Reads files of a skill: `path` of a file returns its text, `path` of a directory returns the texts of its \
         files, no `path` lists all files. Text files up to {} KiB.",
        served.max_file() / 1024
    )
}

/// What the prompt `skill` says of itself.
pub(super) fn skill_prompt(library: &Library) -> String {
    format!("Loads a skill by its name.\n\n{}", catalogue(library))
}
