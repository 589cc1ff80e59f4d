//! The skill list and the texts that ask a model to load skills.

use std::fmt::Write;

use super::library::Library;
use crate::profile::{PROFILES, ToolDisplay};
use crate::settings::{BuiltIn, Wording};

/// Maximum length of a text that the model sees whole, in UTF-16 units. Claude Code cuts longer descriptions of tools and
/// instructions of servers, but not descriptions of arguments.
const MAX_SHOWN: usize = 2048;

/// What the client with this name shows its model of a tool.
pub(super) fn display_of(client: Option<&str>) -> ToolDisplay {
    let known = PROFILES.iter().find(|profile| Some(profile.mcp_client) == client);
    known.map_or(ToolDisplay::Arguments, |profile| profile.shows)
}

const NO_SKILLS: &str = "No skills are available at the moment.";

/// What the tool `skill` does, by wording.
const MILD: &str = "Loads a skill: returns its instructions. When a skill's description fits the task, load the skill \
                     before doing anything else about the task, and follow it.";
const URGENT: &str = "Loads a skill: returns its full instructions, with the steps, examples and files to follow.\n\n\
                             IMPORTANT: whenever a skill is relevant to the task, calling this tool IMMEDIATELY is your \
                             first action. It is a BLOCKING REQUIREMENT: call it BEFORE you say or do anything else \
                             about the task, and NEVER merely mention a skill without calling it.";

/// The description of the tool `skill` and of its argument `name`. The skill list is in the first if the model sees all
/// of that, else in the second.
pub(super) fn tool_and_argument(library: &Library, wording: Wording, client: ToolDisplay) -> (String, String) {
    let purpose = match wording {
        Wording::Mild => MILD,
        Wording::Skilljack => URGENT,
    };
    let list = skill_list(library);
    let tool = format!("{purpose}\n\n{list}");
    if client == ToolDisplay::Description || is_shown(&tool) {
        return (tool, "The skill's name, as listed".to_owned());
    }
    let names = names(library);
    (
        format!("{purpose} The argument `name` lists what each is for.\n\nAvailable skills: {names}"),
        format!("The skill's name, as listed:\n{list}"),
    )
}

/// The server's instructions. `library` is `None` while it is not known where the skills are. The names come first: if
/// codex defers the tools of a server, it shows about 250 characters of the first line and nothing else.
pub(super) fn instructions(library: Option<&Library>) -> String {
    let usage = "Skills are instructions for particular tasks. Load one with the tool `skill` when its description \
                 fits the task; read the files that it refers to with the tool `skill-resource`.";
    let Some(library) = library else { return format!("{usage} The tool `skill` lists the skills.") };
    if library.skills.is_empty() {
        return format!("{usage} {NO_SKILLS}");
    }
    let short = format!("Skills to load with the tool `skill`: {}\n\n{usage}", names(library));
    let whole = format!("{short}\n\n{}", skill_list(library));
    if is_shown(&whole) { whole } else { short }
}

fn is_shown(text: &str) -> bool {
    text.encode_utf16().count() <= MAX_SHOWN
}

pub(super) fn names(library: &Library) -> String {
    let names: Vec<&str> = library.skills.iter().map(|served| served.skill.name.as_str()).collect();
    names.join(", ")
}

/// Names and descriptions, one line each.
pub(super) fn skill_list(library: &Library) -> String {
    if library.skills.is_empty() {
        return NO_SKILLS.to_owned();
    }
    let mut list = "<available_skills>\n".to_owned();
    for served in &library.skills {
        let description = served.skill.description.split_whitespace().collect::<Vec<_>>().join(" ");
        let (name, description) = (escape(&served.skill.name), escape(&description));
        let _ = writeln!(list, "<skill><name>{name}</name><description>{description}</description></skill>");
    }
    list + "</available_skills>"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The description of the tool `skill-resource`.
pub(super) fn resource_tool(settings: BuiltIn) -> String {
    format!(
        "Reads files of a skill: `path` of a file returns its text, `path` of a directory returns the texts of its \
         files, no `path` lists all files. Text files up to {} KiB.",
        settings.max_file() / 1024
    )
}
