//! The skills in the workspace, and the text that loads one.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::files::bounded;
use crate::files::look;
use crate::skill::{SKILL_FILE, SkillFile};

/// The directory of the skills, from the workspace.
pub(super) const DIRECTORY: &str = ".agents/skills";

/// The most files of a skill that are listed.
const MOST_FILES: usize = 100;

/// A skill that the model can load.
pub(super) struct LoadableSkill {
    pub name: String,
    pub description: String,
    folder: PathBuf,
    body: String,
}

/// The skills that are there now, by the names of their directories.
pub(super) fn found() -> Vec<LoadableSkill> {
    let entries = look::usable_entries(Path::new(DIRECTORY));
    entries.into_iter().filter_map(|entry| read(entry.into_path())).collect()
}

fn read(folder: PathBuf) -> Option<LoadableSkill> {
    let bytes = bounded::read(&folder.join(SKILL_FILE)).ok()?;
    let SkillFile { skill, body, .. } = SkillFile::parse(&folder, &bytes);
    let body = String::from_utf8_lossy(&bytes).get(body).unwrap_or_default().to_owned();
    let is_whole = !skill.description.is_empty();
    is_whole.then_some(LoadableSkill { name: skill.name, description: skill.description, folder, body })
}

impl LoadableSkill {
    pub(super) fn location(&self) -> PathBuf {
        self.folder.join(SKILL_FILE)
    }

    /// What the tool for skills returns: the body, the directory, and the names of the other files.
    pub(super) fn content(&self) -> String {
        let Self { name, folder, body, .. } = self;
        let directory = folder.display();
        let mut text = format!(
            "<skill_content name=\"{name}\">\n{}\n\nSkill directory: {directory}\nPaths in this skill are relative to it.\n",
            body.trim()
        );
        let mut files = Vec::new();
        let unread = look::Walk::new(folder).max_depth(4).each(|entry| {
            if entry.file_type().is_file() && entry.path() != self.location() {
                let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
                files.push(path.display().to_string());
            }
            if files.len() == MOST_FILES { look::Step::Stop } else { look::Step::Into }
        });
        for file in files {
            let _ = writeln!(text, "<file>{file}</file>");
        }
        unread.report(|error| _ = writeln!(text, "<unreadable>{error}</unreadable>"));
        text + "</skill_content>"
    }
}
