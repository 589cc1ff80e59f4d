//! The changes to the skills that a case asks for in mid-session: whether each can be made.

use std::collections::BTreeSet;

use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::repo_files::{FileKind, RepoFiles};
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
    // Those of one turn are made in the order in which they stand.
    changes.sort_by_key(|change| change.after_turn);
    changes.into_iter().filter_map(|change| order(change, &mut skills).or_else(|| folder(change, tree))).collect()
}

/// What is wrong with a change to these skills; they are as they are after it.
fn order<'a>(change: &'a SkillChange, skills: &mut BTreeSet<&'a str>) -> Option<Diagnostic> {
    let skill = change.skill.as_str();
    let problem =
        |message: String, help: &str| Some(Diagnostic::new(Code::BadChange, change.origin.clone(), message).help(help));
    match change.kind {
        ChangeKind::Add if !skills.insert(skill) => {
            problem(format!("there is a skill `{skill}` already"), "`edit` gives it the files of another directory")
        }
        ChangeKind::Edit if !skills.contains(skill) => problem(
            format!("the skill `{skill}` does not exist by then"),
            "`add` brings it; the directory has the name of the skill",
        ),
        ChangeKind::Remove if !skills.remove(skill) => {
            problem(format!("the skill `{skill}` does not exist by then"), "`remove` takes the name of a skill")
        }
        _ => None,
    }
}

/// What is wrong with the folder of a change.
fn folder(change: &SkillChange, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let path = change.folder.as_ref()?.as_path();
    let shown = path.display();
    let problem =
        |message: String, help: &str| Some(Diagnostic::new(Code::BadChange, change.origin.clone(), message).help(help));
    let help = "name the directory of a skill, from the repository's root; a place for it is evals/changes";
    match tree.kind(path) {
        FileKind::Folder => {}
        FileKind::Missing => return problem(format!("the directory {shown} is not there"), help),
        FileKind::Symlink => return problem(format!("the directory {shown} is reached through a symbolic link"), help),
        FileKind::File | FileKind::Other => return problem(format!("{shown} is not a directory"), help),
    }
    let Ok(bytes) = tree.read(&path.join(SKILL_FILE)) else {
        return problem(format!("the directory {shown} holds no {SKILL_FILE}"), help);
    };
    let named = SkillFile::parse(path, &bytes).skill.slug;
    if named != change.skill {
        let message = format!("the skill in {shown} is called `{named}`");
        return problem(message, "give the directory the name that the front matter says");
    }
    material::of_case(path, change.origin.clone(), "skill", tree)
}
