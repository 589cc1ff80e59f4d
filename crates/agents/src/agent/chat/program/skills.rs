//! The skills in the workspace, and the text that loads one.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::files::bounded;
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
    let entries = fs::read_dir(DIRECTORY).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| Path::new(DIRECTORY).join(entry.file_name())).collect();
    folders.sort();
    folders.into_iter().filter_map(read).collect()
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
        let walk = WalkDir::new(folder).follow_root_links(true).max_depth(4).sort_by_file_name().into_iter().flatten();
        let files = walk.filter(|entry| entry.file_type().is_file() && entry.path() != self.location());
        for file in files.take(MOST_FILES) {
            let path = file.path().strip_prefix(folder).unwrap_or(file.path());
            let _ = writeln!(text, "<file>{}</file>", path.display());
        }
        text + "</skill_content>"
    }
}
