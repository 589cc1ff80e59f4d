//! Changes of skills during a session that are impossible.

use std::collections::BTreeSet;

use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::checks::SOURCES;
use crate::lint::material;
use crate::skill::{SKILL_FILE, SkillFile};
use crate::text::diagnostic::{Code, Diagnostic};
use crate::trace::change::{ChangeKind, SkillChange};

pub(super) fn check(case: &Case, catalog: &Catalog, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    if case.during.is_empty() {
        return Vec::new();
    }
    let mut skills: BTreeSet<&str> =
        catalog.skills.iter().map(FoundSkill::skill).map(|skill| skill.slug.as_str()).collect();
    let mut changes: Vec<&SkillChange> = case.during.iter().collect();
    // Changes after one turn keep their order.
    changes.sort_by_key(|change| change.after_turn);
    let mut problems = Vec::new();
    for change in changes {
        problems.extend(apply(change, &mut skills).or_else(|| check_directory(change, tree)));
    }
    problems
}

/// Applies a change to the set of skills. Returns why that is impossible.
fn apply<'a>(change: &'a SkillChange, skills: &mut BTreeSet<&'a str>) -> Option<Diagnostic> {
    let skill = change.skill.as_str();
    let (message, help) = match change.kind {
        ChangeKind::Add if !skills.insert(skill) => {
            (format!("the skill `{skill}` exists already"), "`edit` gives it the files of another directory")
        }
        ChangeKind::Edit if !skills.contains(skill) => {
            (format!("the skill `{skill}` does not exist by then"), "`add` it; the directory has the name of the skill")
        }
        ChangeKind::Remove if !skills.remove(skill) => {
            (format!("the skill `{skill}` does not exist by then"), "`remove` takes the name of a skill")
        }
        _ => return None,
    };
    Some(problem(change, message, help))
}

fn check_directory(change: &SkillChange, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let path = change.folder.as_ref()?.as_path();
    let shown = path.display();
    let help = &format!("name the directory of a skill, such as evals/changes/NAME; paths start in {SOURCES}");
    let kind = match tree.kind(path) {
        FileKind::Folder => None,
        FileKind::Missing => Some(format!("the directory {shown} does not exist")),
        FileKind::Symlink => Some(format!("the directory {shown} is reached through a symbolic link")),
        FileKind::Unreadable => Some(format!("the directory {shown} cannot be read")),
        FileKind::File | FileKind::Other => Some(format!("{shown} is not a directory")),
    };
    if let Some(message) = kind {
        return Some(problem(change, message, help));
    }
    let Ok(bytes) = tree.read(&path.join(SKILL_FILE)) else {
        return Some(problem(change, format!("the directory {shown} has no {SKILL_FILE}"), help));
    };
    let slug = SkillFile::parse(path, &bytes).skill.slug;
    if slug != change.skill {
        let message = format!("the skill in {shown} is called `{slug}`");
        return Some(problem(change, message, "give the directory the name in the front matter"));
    }
    material::of_case(path, change.origin.clone(), "skill", tree)
}

fn problem(change: &SkillChange, message: String, help: &str) -> Diagnostic {
    Diagnostic::new(Code::BadChange, change.origin.clone(), message).help(help)
}
