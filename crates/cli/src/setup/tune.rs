//! Tries other descriptions of a skill: which of its cases choose one and which decide, and the skills with a candidate.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cases::case::FoundCase;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::skill_material::skill_material;
use crate::files::look;
use crate::lint::{self, LONGEST_DESCRIPTION, calls_skill};
use crate::process::git;
use crate::settings::FILE;
use crate::settings::mode::AgentKind;
use crate::skill::{SKILL_FILE, SkillFile};
use crate::text::diagnostic::Diagnostic;

/// Maximum number of neighbors whose cases are compared too.
const NEIGHBORS: usize = 3;

/// Maximum number of cases of each of them.
const CASES_OF_NEIGHBOR: usize = 3;

/// About this many characters are a token.
const TOKEN: usize = 4;

/// The cases that depend on a skill's description, as `skill/id`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitCases {
    /// Only they choose among candidates.
    pub training: Vec<String>,
    /// Only they decide.
    pub held_out: Vec<String>,
    /// Cases of the nearest skills, which may lose. They run with those that decide.
    pub neighbors: Vec<String>,
}

/// Splits the cases of a skill. A digest of a case's name says where it belongs, so it stays there when others are added.
/// Fails if one part lacks a case in which the skill should activate.
pub fn split(catalog: &Catalog, found: &FoundSkill) -> Result<SplitCases, String> {
    let skill = found.skill();
    let mut split = SplitCases::default();
    let mut positive = [0, 0];
    for case in catalog.cases_of(&skill.slug).filter(|case| is_choice(catalog, case)) {
        let name = format!("{}/{}", skill.slug, case.id);
        let is_training = blake3::hash(name.as_bytes()).as_bytes()[0].is_multiple_of(2);
        positive[usize::from(is_training)] += usize::from(case.should_trigger() == Some(true));
        if is_training { split.training.push(name) } else { split.held_out.push(name) }
    }
    let [held_out, training] = positive;
    if held_out == 0 || training == 0 {
        return Err(format!(
            "`{}` has {training} positive cases to choose a description by and {held_out} to decide by, and needs one of each: \
             write more that do not call the skill, or have some drafted: skill-evals generate --agent {} --skill {}",
            skill.slug,
            AgentKind::default().as_str(),
            skill.slug
        ));
    }
    for slug in lint::nearest_skills(catalog, &skill.slug, NEIGHBORS) {
        let own = catalog.cases_of(slug).filter(|case| is_choice(catalog, case) && case.should_trigger() == Some(true));
        split.neighbors.extend(own.take(CASES_OF_NEIGHBOR).map(|case| format!("{slug}/{}", case.id)));
    }
    Ok(split)
}

/// Whether the model chooses by the descriptions in this case.
fn is_choice(catalog: &Catalog, found: &FoundCase) -> bool {
    let skill = catalog.skill(&found.skill).map(FoundSkill::skill);
    match (found.case(), skill) {
        (Ok(case), Some(skill)) => !calls_skill(&case.prompt, skill) && case.during.is_empty(),
        _ => false,
    }
}

pub fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(TOKEN)
}

/// A description as a candidate, on one line. Fails if no agent would show it whole.
pub fn candidate(text: &str) -> Result<String, String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let length = text.chars().count();
    if text.is_empty() {
        Err("it is empty".to_owned())
    } else if length > LONGEST_DESCRIPTION {
        Err(format!("it has {length} characters; at most {LONGEST_DESCRIPTION}"))
    } else if text.chars().any(char::is_control) {
        Err("it has control characters".to_owned())
    } else {
        Ok(text)
    }
}

/// The skill's SKILL.md with another description, and no other change.
pub fn with_description(found: &FoundSkill, description: &str) -> Result<Vec<u8>, String> {
    let why = || format!("cannot replace the description in {}: edit it by hand", found.skill().folder.display());
    let text = std::str::from_utf8(&found.bytes).map_err(|_| why())?;
    let entry = found.file.entries.iter().find(|entry| entry.key == "description").ok_or_else(why)?;
    let rest = text.get(entry.key_range.start..).ok_or_else(why)?;
    // Lines that are indented or empty belong to the value.
    let mut length = 0;
    for (number, line) in rest.split_inclusive('\n').enumerate() {
        if number > 0 && !line.starts_with([' ', '\t', '\n', '\r']) {
            break;
        }
        length += line.len();
    }
    // A JSON string is a YAML string, and plain text is one if it reads as the same.
    let quoted = serde_json::to_string(description).map_err(|error| error.to_string())?;
    let (before, after) = (&text[..entry.key_range.start], &rest[length..]);
    let is_same = |new: &String| {
        let read = SkillFile::parse(&found.skill().folder, new.as_bytes());
        let keys = |file: &SkillFile| file.entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>();
        let same_body = new.get(read.body.clone()) == text.get(found.file.body.clone());
        let is_clean = !read.problems.iter().any(Diagnostic::is_error);
        read.skill.description == description && keys(&read) == keys(&found.file) && same_body && is_clean
    };
    let written = [description, &quoted].map(|value| format!("{before}description: {value}\n{after}"));
    written.into_iter().find(is_same).map(String::into_bytes).ok_or_else(why)
}

/// Stores the skills of the working tree, with another SKILL.md for one of them, as a commit that no branch has. Returns its
/// hash.
pub fn store(root: &Path, catalog: &Catalog, changed: &FoundSkill, text: &[u8]) -> Result<String, String> {
    let changed_file = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    fs::write(changed_file.path(), text).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    if look::is_file(&root.join(FILE)).map_err(|error| error.to_string())? {
        files.push((PathBuf::from(FILE), root.join(FILE), false));
    }
    for found in &catalog.skills {
        let folder = &found.skill().folder;
        if folder.as_os_str().is_empty() {
            return Err("the repository itself is a skill: put it into a directory of skills first".to_owned());
        }
        let material = skill_material(&root.join(folder)).whole();
        let material = material.map_err(|problem| format!("the skill in {}: {problem}", folder.display()))?;
        for file in &material.files {
            let path = folder.join(&file.path);
            let is_changed = std::ptr::eq(found, changed) && file.path == Path::new(SKILL_FILE);
            let content = if is_changed { changed_file.path().to_path_buf() } else { root.join(&path) };
            files.push((path, content, file.executable));
        }
    }
    git::store(root, &files).map_err(|error| format!("the candidate could not be stored in git: {error}"))
}
