//! Finds the skills of a repository.

use std::ffi::OsString;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::path::{Path, PathBuf};

use crate::cases::catalog::{ARTIFACTS, Catalog, FoundSkill, SKILL_EVALS};
use crate::cases::repository::Repository;
use crate::files::bounded;
use crate::profile;
use crate::skill::{SKILL_FILE, Skill, SkillFile};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::relative_path::RelativePath;

/// Folders in which skills are looked for where the settings name none: the first that holds any; if none does the whole
/// repository, and last [`SKILL_EVALS`], where skills that are there for the sake of evals lie beside their cases.
pub fn default_skill_roots() -> impl Iterator<Item = &'static str> {
    std::iter::once("skills").chain(profile::listed().filter_map(|profile| profile.skill_folders.first().copied()))
}

/// Folders of a repository in which no skills of its own lie: fixtures of evals, what was built, what was run.
const NO_SKILLS: [&str; 3] = ["evals", "target", ARTIFACTS];

/// How deep below a skill root skills are looked for.
const MAX_DEPTH: usize = 12;

impl Repository {
    /// Adds the skills in these roots, or in the default ones.
    pub(super) fn read_skills(&self, skill_roots: Option<&[RelativePath]>, catalog: &mut Catalog) {
        if let Some(roots) = skill_roots {
            for root in roots {
                self.read_named_root(root.as_path(), catalog);
            }
        } else {
            let roots = default_skill_roots().chain(["", SKILL_EVALS]).map(Path::new);
            for root in roots.filter(|root| self.root.join(root).is_dir()) {
                self.read_skill_root(root, catalog);
                if !catalog.skills.is_empty() {
                    break;
                }
            }
        }
        catalog
            .skills
            .sort_by(|a, b| a.skill().slug.cmp(&b.skill().slug).then(a.skill().folder.cmp(&b.skill().folder)));
        let mut unique: Vec<FoundSkill> = Vec::with_capacity(catalog.skills.len());
        for found in std::mem::take(&mut catalog.skills) {
            match unique.last_mut().filter(|first| first.skill().slug == found.skill().slug) {
                // The same folder reached by two roots is one skill.
                Some(first) if first.skill().folder == found.skill().folder => {}
                Some(first) => {
                    let taken = collision(found.skill(), first.skill());
                    // With the skill that keeps the slug: the other has no name to be reported under.
                    first.file.problems.push(taken);
                    first.file.problems.extend(found.file.problems);
                }
                None => unique.push(found),
            }
        }
        catalog.skills = unique;
    }

    fn read_named_root(&self, root: &Path, catalog: &mut Catalog) {
        if self.root.join(root).is_dir() {
            return self.read_skill_root(root, catalog);
        }
        let problem =
            Diagnostic::new(Code::Unreadable, SourceLocation::file(root), "this skill root is not a directory");
        catalog.problems.push(problem.help("fix `skill_roots` in evals/evals.toml"));
    }

    fn read_skill_root(&self, root: &Path, catalog: &mut Catalog) {
        for folder in self.skill_folders(root, &[SKILL_FILE], &mut catalog.problems) {
            let path = self.root.join(&folder).join(SKILL_FILE);
            match bounded::read(&path) {
                Ok(bytes) => {
                    let file = SkillFile::parse(folder, &bytes);
                    catalog.skills.push(FoundSkill { file, bytes, curated: false });
                }
                Err(error) => catalog.problems.push(self.unreadable(&path, &error.to_string())),
            }
        }
    }

    /// The folders in and below `root` that hold one of these `files`, by name; all paths are relative to the
    /// repository's root. What lies below a skill's folder belongs to that skill and is not searched. Reads no file.
    pub(crate) fn skill_folders(&self, root: &Path, files: &[&str], problems: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
        let whole = root.as_os_str().is_empty();
        let mut folders = Vec::new();
        // What is still to be looked at, the next one last.
        let mut waiting = vec![(self.root.join(root), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            // Below a root that is a link there are skills; it is none itself.
            if depth > 0 || !folder.is_symlink() {
                let path = skill_file(&folder, files);
                match fs::metadata(&path) {
                    Ok(found) if found.is_file() => {
                        folders.push(folder.strip_prefix(&self.root).unwrap_or(&folder).to_path_buf());
                        continue;
                    }
                    // Reading a pipe would wait for ever.
                    Ok(_) => problems.push(self.unreadable(&path, "it is not a file")),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => problems.push(self.unreadable(&path, &error.to_string())),
                }
            }
            // In the whole of a repository there are deep folders of all kinds.
            if depth == MAX_DEPTH && !whole {
                let place = SourceLocation::file(crate::text::diagnostic::shown_path(&self.root, &folder));
                let message = format!("skills are searched {MAX_DEPTH} directories deep, and not in this one");
                problems.push(Diagnostic::new(Code::SkillRoot, place, message));
            }
            if depth == MAX_DEPTH {
                continue;
            }
            match entries(&folder) {
                Ok(below) => {
                    let links = below.iter().filter(|(_, kind)| kind.is_symlink() && !whole);
                    problems.extend(links.filter_map(|(name, _)| self.link_beside_skills(&folder.join(name))));
                    // Below the repository's root itself there is more than skills.
                    let aside = |name: &OsString| whole && depth == 0 && NO_SKILLS.iter().any(|aside| name == aside);
                    let hidden = |name: &OsString| name.as_encoded_bytes().starts_with(b".") || name == "node_modules";
                    let wanted = below.iter().filter(|(name, kind)| kind.is_dir() && !hidden(name) && !aside(name));
                    waiting.extend(wanted.rev().map(|(name, _)| (folder.join(name), depth + 1)));
                }
                Err(error) => problems.push(self.unreadable(&folder, &error.to_string())),
            }
        }
        folders
    }

    /// Says that a link to a folder is not followed, or where it leads to nothing.
    fn link_beside_skills(&self, path: &Path) -> Option<Diagnostic> {
        let place = SourceLocation::file(crate::text::diagnostic::shown_path(&self.root, path));
        let message = match fs::metadata(path) {
            Ok(found) if found.is_dir() => "this link to a directory is not followed to find skills",
            Ok(_) => return None,
            Err(_) => "this link leads to nothing",
        };
        let problem = Diagnostic::new(Code::LinkedFolder, place, message);
        Some(problem.help("move the directory here, or name the one that holds it in evals/evals.toml: `skill_roots`"))
    }
}

/// What stands in a folder, by name.
fn entries(folder: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let entry = |entry: io::Result<DirEntry>| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)));
    let mut entries = fs::read_dir(folder)?.map(entry).collect::<io::Result<Vec<_>>>()?;
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(entries)
}

/// The first of `files` that `folder` holds, else the first.
fn skill_file(folder: &Path, files: &[&str]) -> PathBuf {
    let mut paths = files.iter().map(|name| folder.join(name));
    let first = paths.next().unwrap_or_else(|| folder.join(SKILL_FILE));
    if first.symlink_metadata().is_ok() {
        return first;
    }
    paths.find(|path| path.symlink_metadata().is_ok()).unwrap_or(first)
}

fn collision(second: &Skill, first: &Skill) -> Diagnostic {
    let message = format!(
        "the slug `{}` of the skill `{}` is also that of {}",
        second.slug,
        second.name,
        first.folder.join(SKILL_FILE).display()
    );
    Diagnostic::new(Code::SlugCollision, SourceLocation::file(second.folder.join(SKILL_FILE)), message)
        .help("rename one of the two: agents, tests and artifacts could not tell them apart")
}
