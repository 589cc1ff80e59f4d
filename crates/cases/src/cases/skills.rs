//! Finds the skills of a repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::catalog::{ARTIFACTS, Catalog, FoundSkill, SKILL_EVALS};
use crate::cases::manifests;
use crate::cases::plugin::{self, Plugin};
use crate::cases::repository::Repository;
use crate::files::{inside, look};
use crate::profile;
use crate::skill::{SKILL_FILE, Skill, SkillFile};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shown_path};
use crate::text::relative_path::RelativePath;

/// Where skills usually are: what a repository publishes, then what its maintainers' agents get.
pub fn default_skill_roots() -> impl Iterator<Item = &'static str> {
    std::iter::once("skills").chain(agent_folders())
}

/// The directories in which agents look for skills, each once.
fn agent_folders() -> impl Iterator<Item = &'static str> {
    let all = || profile::listed().flat_map(|profile| profile.skill_folders.iter().copied());
    all()
        .enumerate()
        .filter(move |(at, folder)| !all().take(*at).any(|earlier| earlier == *folder))
        .map(|(_, folder)| folder)
}

/// The directory of the plugins that a repository publishes, each with skills of its own.
const PLUGINS: &str = "plugins";

/// Directories of a repository that hold no skills of its own: fixtures of evals, build outputs, artifacts of runs.
const NO_SKILLS: [&str; 3] = ["evals", "target", ARTIFACTS];

/// Directories whose skills are published only if there are no others.
const NOT_PUBLISHED: [&str; 6] = ["examples", "fixtures", "template", "templates", "test", "tests"];

/// How deep in a skill root skills are searched.
const MAX_DEPTH: usize = 12;

impl Repository {
    /// Adds the skills in these roots, or in the default ones.
    pub(super) fn read_skills(&self, skill_roots: Option<&[RelativePath]>, catalog: &mut Catalog) {
        if let Some(roots) = skill_roots {
            for root in roots {
                self.read_named_root(root.as_path(), catalog);
            }
        } else {
            self.read_default_roots(catalog);
        }
        let problems = std::mem::take(&mut catalog.problems);
        catalog.problems = self.without_links_to_skills(problems, catalog);
        catalog
            .skills
            .sort_by(|a, b| a.skill().slug.cmp(&b.skill().slug).then(a.skill().folder.cmp(&b.skill().folder)));
        let mut unique: Vec<FoundSkill> = Vec::with_capacity(catalog.skills.len());
        for found in std::mem::take(&mut catalog.skills) {
            match unique.last_mut().filter(|first| first.skill().slug == found.skill().slug) {
                // Two roots may lead to the same directory, also one by a link.
                Some(first) if self.directory(first) == self.directory(&found) => {
                    if self.directory(&found) == found.skill().folder {
                        *first = found;
                    }
                }
                Some(first) => {
                    let duplicate = self.duplicate_slug(found.skill(), first.skill());
                    // Reported with the first skill: the second has no name of its own.
                    first.file.problems.push(duplicate);
                    first.file.problems.extend(found.file.problems);
                }
                None => unique.push(found),
            }
        }
        let mut plugins = BTreeMap::new();
        for found in &mut unique {
            let Some((folder, manifest)) = plugin::around(self, &found.skill().folder) else { continue };
            let read = |path: &PathBuf| Plugin::read(self, folder, path).map(Arc::new);
            let plugin: &Option<Arc<Plugin>> = plugins.entry(manifest).or_insert_with_key(read);
            found.plugin = plugin.clone().filter(|plugin| plugin.has(&found.skill().folder));
        }
        catalog.add_sources(plugins.into_keys());
        catalog.skills = unique;
    }

    /// The directory of a skill, whichever links lead to it.
    fn directory(&self, found: &FoundSkill) -> PathBuf {
        let folder = &found.skill().folder;
        inside::place(&self.root, folder).map_or_else(|_| folder.clone(), |place| place.relative().to_path_buf())
    }

    fn duplicate_slug(&self, second: &Skill, first: &Skill) -> Diagnostic {
        let plugin = |skill: &Skill| Some(plugin::around(self, &skill.folder)?.0.to_path_buf());
        let of = |skill: &Skill| match plugin(skill).filter(|_| plugin(first) != plugin(second)) {
            Some(folder) if folder == Path::new("") => " of the plugin of the repository".to_owned(),
            Some(folder) => format!(" of the plugin {}", folder.display()),
            None => String::new(),
        };
        let Skill { name, slug, folder, .. } = second;
        let other = first.folder.join(SKILL_FILE);
        let message = format!(
            "the slug `{slug}` of the skill `{name}`{} is also that of {}{}",
            of(second),
            other.display(),
            of(first)
        );
        Diagnostic::new(Code::SlugCollision, SourceLocation::file(folder.join(SKILL_FILE)), message)
            .help("rename one of the two: agents, tests and artifacts could not tell them apart")
    }

    /// Adds the skills of the first of these that has any: what is published, the whole repository, agents' own directories,
    /// examples and the like, skills that exist only for evals.
    fn read_default_roots(&self, catalog: &mut Catalog) {
        let mut published = manifests::published(self, catalog);
        published.extend(["skills", PLUGINS].map(PathBuf::from));
        let own = agent_folders().map(PathBuf::from).collect();
        let whole = || vec![PathBuf::new()];
        for (number, roots) in [published, whole(), own, whole(), vec![SKILL_EVALS.into()]].into_iter().enumerate() {
            let mut leaves = false;
            for root in roots {
                // A root that leads out of the repository is reported, and no other one taken for it.
                let leads_out = inside::place(&self.root, &root).is_err();
                leaves |= leads_out;
                if leads_out || self.has_directory(&root) {
                    self.add_new_skills(&root, number == 1, catalog);
                }
            }
            if leaves || !catalog.skills.is_empty() {
                break;
            }
        }
    }

    /// Adds the skills in `root`, except those of a name that an earlier root has: copies of them.
    fn add_new_skills(&self, root: &Path, is_published: bool, catalog: &mut Catalog) {
        let mut found = Catalog::default();
        self.read_skill_root(root, &mut found);
        let known: BTreeSet<&str> = catalog.skills.iter().map(|known| known.skill().slug.as_str()).collect();
        let is_new = |found: &FoundSkill| {
            let folder = &found.skill().folder;
            let is_example = folder.iter().any(|part| NOT_PUBLISHED.iter().any(|name| part == *name));
            !(known.contains(found.skill().slug.as_str()) || is_published && is_example)
        };
        found.skills.retain(is_new);
        // Plugins may have skills of one name. Two in the directory of published skills are an error.
        if root != Path::new("skills") {
            let mut slugs = BTreeSet::new();
            found.skills.retain(|found| slugs.insert(found.skill().slug.clone()));
        }
        catalog.skills.append(&mut found.skills);
        catalog.problems.append(&mut found.problems);
    }

    /// These problems without those of links that lead to skills of the catalog.
    pub(super) fn without_links_to_skills(&self, mut problems: Vec<Diagnostic>, catalog: &Catalog) -> Vec<Diagnostic> {
        let known: BTreeSet<PathBuf> = catalog.skills.iter().map(|found| found.skill().folder.clone()).collect();
        problems.retain(|problem| problem.code != Code::LinkedFolder || !self.leads_to(&problem.place.path, &known));
        problems
    }

    /// Whether the link at `path` leads to one of these skills, or to a directory that holds only such.
    fn leads_to(&self, path: &Path, skills: &BTreeSet<PathBuf>) -> bool {
        let Ok(target) = inside::place(&self.root, path).map(|place| place.relative().to_path_buf()) else {
            return false;
        };
        // Nobody reads a directory of skills that holds itself to the end.
        let is_loop = path.starts_with(&target)
            && path.parent().is_some_and(|parent| skills.iter().any(|skill| skill.starts_with(parent)));
        !is_loop && skills.iter().any(|skill| skill.starts_with(&target))
    }

    fn read_named_root(&self, root: &Path, catalog: &mut Catalog) {
        if inside::leads_out(&self.root, root) || self.has_directory(root) {
            return self.read_skill_root(root, catalog);
        }
        let problem =
            Diagnostic::new(Code::Unreadable, SourceLocation::file(root), "this skill root is not a directory");
        catalog.problems.push(problem.help("fix `skill_roots` in evals/evals.toml"));
    }

    fn read_skill_root(&self, root: &Path, catalog: &mut Catalog) {
        for folder in self.skill_folders(root, &[SKILL_FILE], &mut catalog.problems) {
            let path = folder.join(SKILL_FILE);
            match inside::read(&self.root, &path) {
                Ok(bytes) => {
                    let file = SkillFile::parse(folder, &bytes);
                    catalog.skills.push(FoundSkill { file, bytes, curated: false, plugin: None });
                }
                Err(error) => catalog.problems.push(self.unreadable(&self.root.join(path), &error.to_string())),
            }
        }
    }

    /// The directories in `root`, or `root` itself, that hold one of these `files`, in order. All paths are relative to the
    /// repository's root. The directory of a skill is not searched further. Reads no file.
    pub fn skill_folders(&self, root: &Path, files: &[&str], problems: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
        let is_repository = root.as_os_str().is_empty();
        if let Err(error) = inside::place(&self.root, root) {
            problems.push(self.unreadable(&self.root.join(root), &error.to_string()));
            return Vec::new();
        }
        let mut folders = Vec::new();
        // What is still to be searched, the next directory last.
        let mut waiting = vec![(self.root.join(root), 0)];
        while let Some((folder, depth)) = waiting.pop() {
            // A root that is a link may hold skills, but is not one.
            if depth > 0 || !self.is_link(&folder) {
                let path = skill_file(&folder, files);
                let found = fs::metadata(&path);
                // Reading says of a link that it leads out of the repository.
                let leads_out = || self.is_link(&path) && inside::leads_out(&self.root, &path);
                if found.as_ref().is_ok_and(fs::Metadata::is_file) || leads_out() {
                    folders.push(folder.strip_prefix(&self.root).unwrap_or(&folder).to_path_buf());
                    continue;
                }
                match found {
                    // To read a pipe could take forever.
                    Ok(_) => problems.push(self.unreadable(&path, "it is not a file")),
                    Err(error) => self.note(&path, &error),
                }
            }
            if depth == MAX_DEPTH {
                // A whole repository has deep directories of all kinds.
                if !is_repository {
                    let message = format!("skills are searched {MAX_DEPTH} directories deep, and not in this one");
                    let place = SourceLocation::file(shown_path(&self.root, &folder));
                    problems.push(Diagnostic::new(Code::SkillRoot, place, message));
                }
                continue;
            }
            let entries = self.noting(look::entries(&folder)).unwrap_or_default();
            if !is_repository {
                let links = entries.iter().filter(|entry| entry.file_type().is_symlink());
                problems.extend(links.filter_map(|entry| self.link_in_skill_root(entry.path())));
            }
            // Published skills may be in hidden directories of `skills`, as `skills/.curated`.
            let path = folder.strip_prefix(&self.root).unwrap_or(Path::new(""));
            let is_in_skills = path.iter().any(|part| part == "skills");
            let searched = entries.into_iter().rev().filter(|entry| {
                let name = entry.file_name();
                let is_excluded = is_repository && depth == 0 && NO_SKILLS.iter().any(|excluded| name == *excluded);
                let is_hidden = name.as_encoded_bytes().starts_with(b".") && (!is_in_skills || name == ".git");
                entry.file_type().is_dir() && !is_hidden && name != "node_modules" && !is_excluded
            });
            waiting.extend(searched.map(|entry| (entry.into_path(), depth + 1)));
        }
        folders
    }

    /// Whether a link is at this path.
    pub(super) fn is_link(&self, path: &Path) -> bool {
        self.noting(look::own_kind(path)).flatten().is_some_and(|kind| kind.is_symlink())
    }

    /// Reports a link to a directory, which is not followed, and a link that leads to nothing.
    fn link_in_skill_root(&self, path: &Path) -> Option<Diagnostic> {
        let message = match fs::metadata(path) {
            _ if inside::leads_out(&self.root, path) => "this link leads out of the repository and is not followed",
            Ok(metadata) if metadata.is_dir() => "this link to a directory is not followed to find skills",
            Ok(_) => return None,
            Err(error) if look::is_absent(&error) || look::is_loop(&error) => "this link leads to nothing",
            Err(error) => {
                self.note(path, &error);
                return None;
            }
        };
        let place = SourceLocation::file(shown_path(&self.root, path));
        let problem = Diagnostic::new(Code::LinkedFolder, place, message);
        Some(problem.help("move the directory here, or name the one that holds it in evals/evals.toml: `skill_roots`"))
    }
}

/// The first of `files` that the directory has, or else would have.
fn skill_file(folder: &Path, files: &[&str]) -> PathBuf {
    let mut paths = files.iter().map(|name| folder.join(name));
    let existing = paths.find(|path| path.symlink_metadata().is_ok());
    existing.unwrap_or_else(|| folder.join(files.first().unwrap_or(&SKILL_FILE)))
}
