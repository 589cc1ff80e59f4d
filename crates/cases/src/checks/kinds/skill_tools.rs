//! The tools that load skills, and the file that they load. A check that names one of them holds, or fails, in every trial without
//! skills: it asks for the skill.

use crate::settings::ToolNames;
use crate::settings::mode::AgentKind;

/// The file of a skill that agents read.
const SKILL_FILE: &str = "SKILL.md";

/// Whether `names` fits the name of a tool that loads skills or reads their files, and that of no other built-in tool.
pub(super) fn are_named(names: impl Fn(&str) -> bool) -> bool {
    let ToolNames { server, skill, resource } = ToolNames::default();
    let of_server = [skill, resource].map(|tool| format!("mcp__{server}__{tool}"));
    let agents = || AgentKind::ALL.into_iter().map(|kind| &kind.profile().tools);
    let others =
        agents().flat_map(|tools| [tools.shells, tools.reads, tools.finds, tools.edits, tools.searches].concat());
    let loads = agents().any(|tools| tools.skills.iter().any(|tool| names(tool)));
    (loads || of_server.iter().any(|tool| names(tool))) && !others.into_iter().any(names)
}

/// Whether this text or pattern, of a command or of the input of a tool, names the file of a skill.
pub(super) fn is_file_in(pattern: &str) -> bool {
    pattern.replace('\\', "").contains(SKILL_FILE)
}
