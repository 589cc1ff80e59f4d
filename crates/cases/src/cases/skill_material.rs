//! The files of a skill that agents get.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::cases::case::{ForeignFile, file_formats, foreign_formats};
use crate::cases::case_folders::{FolderKind, TESTS, is_own};
use crate::cases::catalog::{ARTIFACTS, EVALS};
use crate::cases::plugin::{self, Plugin};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::unread::looks_like_cases;
use crate::checks::grading_input::WorkspaceProgram;
use crate::files::material::{Material, MaterialProblem};
use crate::files::{bounded, look};
use crate::settings::FILE;
use crate::skill::SKILL_FILE;
use crate::text::name::RelativePath;

/// The directory of our runs in [`ARTIFACTS`].
const PROGRAM: &str = "skill-evals";

/// The directory of recordings in [`EVALS`].
const RECORDINGS: &str = "recordings";

/// The directory of scripts that grade, by custom.
const GRADERS: &str = "graders";

/// The files in the directory of a skill, without those that belong to its repository: agents would read in files of cases, and
/// next to them in directories of cases, what is expected of them.
pub fn skill_material(folder: &Path) -> Material {
    // If it is not known what is withheld, nothing is given.
    withheld(folder).map_or_else(Material::unreadable, |withheld| material(folder, withheld))
}

/// The same of a plugin, for each of its skills too, without the paths that git ignores: users get none of these. Files for readers
/// of its repository are left out as well: texts at its root, and what is hidden there.
pub fn plugin_material(folder: &Path, plugin: &Plugin, ignored: Vec<String>) -> Material {
    let names = SkillFiles(folder).names(Path::new("")).unwrap_or_default();
    let names = names.iter().filter_map(|name| name.to_str());
    let is_for_readers = |name: &&str| {
        name.starts_with('.') && !plugin::is_read(name)
            || Path::new(name).extension() == Some(OsStr::new("md")) && *name != SKILL_FILE
    };
    let skills = plugin.skills_in(&SkillFiles(folder));
    let (around, mut left_out): (Vec<_>, Vec<_>) = names
        .filter(is_for_readers)
        .map(str::to_owned)
        .partition(|name| skills.iter().any(|skill| skill.starts_with(name)));
    left_out.extend(ignored);
    for part in std::iter::once(Path::new("")).chain(skills.iter().map(PathBuf::as_path)) {
        match withheld(&folder.join(part)) {
            Ok(paths) => left_out.extend(paths.iter().filter_map(|path| Some(part.join(path).to_str()?.to_owned()))),
            Err(error) => return Material::unreadable(error),
        }
    }
    let mut material = material(folder, left_out);
    // Of a hidden directory with skills, nothing but these.
    let is_hidden = |path: &Path| around.iter().any(|name| path.starts_with(name));
    let is_of_skill = |path: &Path| skills.iter().any(|skill| skill != Path::new("") && path.starts_with(skill));
    material.files.retain(|file| !is_hidden(&file.path) || is_of_skill(&file.path));
    material
        .directories
        .retain(|path| !is_hidden(path) || is_of_skill(path) || skills.iter().any(|skill| skill.starts_with(path)));
    material
}

/// The files in a directory without these paths and without files of cases.
fn material(folder: &Path, mut left_out: Vec<String>) -> Material {
    // A repository may be one skill: its directory then has our settings, recordings and runs.
    left_out.extend([".git".to_owned(), FILE.to_owned(), format!("{EVALS}/{RECORDINGS}")]);
    left_out.push(format!("{ARTIFACTS}/{PROGRAM}"));
    let left_out: Vec<&str> = left_out.iter().map(String::as_str).collect();
    let mut material = Material::list_without(folder, &left_out);
    let has_artifacts = material.files.iter().any(|file| file.path.starts_with(ARTIFACTS));
    material.directories.retain(|directory| has_artifacts || directory != Path::new(ARTIFACTS));
    let of_cases: BTreeSet<PathBuf> = material.files.iter().flat_map(|file| case_files(folder, &file.path)).collect();
    let is_hidden = |path: &Path| path.ancestors().any(|part| of_cases.contains(part));
    material.files.retain(|file| !is_hidden(&file.path));
    material.directories.retain(|directory| !is_hidden(directory));
    material
}

/// The directories of a skill where its cases lie, in order. Agents get nothing of them: whoever looks for cases there cannot know
/// of every file what it is.
pub fn withheld(folder: &Path) -> io::Result<Vec<String>> {
    let mut withheld = Vec::new();
    for around in ["", TESTS].map(Path::new) {
        for entry in look::entries(&folder.join(around))? {
            let path = around.join(entry.file_name());
            if is_own(&path) && (entry.file_type().is_symlink() || look::is_directory(entry.path())?) {
                withheld.extend(path.to_str().map(str::to_owned));
            }
        }
    }
    withheld.sort();
    Ok(withheld)
}

/// The files that hold cases by the file at `path` in the directory of a skill: itself, and those that it names or that belong to it.
/// They are those that the search for cases reads, or names because it does not. With them, the directories of the graders that its
/// cases name.
fn case_files(folder: &Path, path: &Path) -> Vec<PathBuf> {
    let itself = || vec![path.to_path_buf()];
    if file_formats().any(|(_, files)| files.have(path)) || looks_like_cases(folder, path) {
        return itself();
    }
    let is_searched = path.ancestors().skip(1).all(FolderKind::may_hold_cases);
    let certainty = foreign_formats().filter_map(|(_, files)| files.match_path(path)).max();
    let Some(is_certain) = certainty.filter(|_| is_searched) else { return Vec::new() };
    let Ok(bytes) = bounded::read(&folder.join(path)) else {
        return if is_certain { itself() } else { Vec::new() };
    };
    let (skill, tree) = (folder.file_name().and_then(OsStr::to_str), &SkillFiles(folder));
    let file = ForeignFile { skill, ..ForeignFile::at(path, tree) };
    let Some((_, parsed)) = file.read(&bytes) else { return Vec::new() };
    let cases = parsed.cases.iter().filter_map(|found| found.case().ok());
    let programs = cases.flat_map(|case| &case.checks).filter_map(|check| check.program());
    let directories = programs.flat_map(WorkspaceProgram::directories).map(RelativePath::as_path);
    // Any other directory may be part of what the skill does.
    let graders = directories.filter(|directory| directory.ends_with(GRADERS)).map(Path::to_path_buf);
    // The skill itself is more than a case.
    let claims = parsed.claims.iter().filter(|path| !path.as_os_str().is_empty()).cloned();
    parsed.cases.iter().map(|case| case.file.to_path_buf()).chain(claims).chain(itself()).chain(graders).collect()
}

/// The files of a skill, by paths relative to its directory.
struct SkillFiles<'a>(&'a Path);

impl RepoFiles for SkillFiles<'_> {
    fn kind(&self, path: &Path) -> FileKind {
        look::own_kind(&self.0.join(path)).map_or(FileKind::Unreadable, FileKind::from)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        bounded::read(&self.0.join(path))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        look::names(&self.0.join(path))
    }

    fn material_problems(&self, _path: &Path) -> Vec<MaterialProblem> {
        Vec::new()
    }
}
