//! Tools of other programs by their names. Agents name their tools differently, so a name stands for the work that the tool
//! does.

use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, Check, Work};

/// The names of tools that run commands.
const SHELLS: [&str; 4] = ["bash", "powershell", "pwsh", "shell"];

/// The name of the tool that activates skills.
const SKILL: &str = "skill";

/// Names of other tools, by which a pattern of names is tried.
const OTHERS: [&str; 13] = [
    "view",
    "create",
    "edit",
    "grep",
    "glob",
    "task",
    "web_fetch",
    "web_search",
    "read_file",
    "write_file",
    "create_file",
    "str_replace_editor",
    "update_todo",
];

/// A tool that each agent has under a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownTool {
    /// It runs commands.
    Shell,
    /// It activates skills.
    Skill,
}

impl KnownTool {
    /// The tool that a pattern of names is for, if it is for no other.
    pub fn of(names: &str) -> Option<Self> {
        let pattern = Pattern { text: names.to_owned(), style: Style::Exact };
        let search = pattern.compile().ok()?;
        let is_match = |name: &&'static str| search.matches(name, 1).is_ok_and(|found| !found.is_empty());
        match (SHELLS.iter().any(is_match), is_match(&SKILL), OTHERS.iter().any(is_match)) {
            (true, false, false) => Some(Self::Shell),
            (false, true, false) => Some(Self::Skill),
            _ => None,
        }
    }

    /// The tool is called, or if not `is_required`, it is not.
    pub fn called(self, is_required: bool) -> Check {
        let any = || vec!["*".to_owned()];
        match (self, is_required) {
            (Self::Shell, _) => checks::work(Work::Commands, is_required),
            (Self::Skill, true) => checks::activates(any(), false),
            (Self::Skill, false) => checks::rejects(any()),
        }
    }
}
