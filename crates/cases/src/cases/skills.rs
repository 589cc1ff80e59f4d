//! Finds the skills of a repository.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::case::document::{Document, Node, Syntax};
use crate::cases::case_folders::FolderKind;
use crate::cases::catalog::{ARTIFACTS, Catalog, FoundSkill, SKILL_EVALS};
use crate::cases::other_skill::{NotRead, OtherSkill};
use crate::cases::plugin::{self, Plugin};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::repository::Repository;
use crate::files::{inside, look};
use crate::profile;
use crate::settings::FILE;
use crate::skill::{SKILL_FILE, SkillFile};
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shown_path};
use crate::text::name::{RelativePath, resolved};

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
        // Of two skills of one name, the first is the skill. Two roots may lead to one directory, too.
        catalog.skills.sort_by(|a, b| a.skill().slug.cmp(&b.skill().slug));
        catalog.skills.dedup_by(|second, first| second.skill().slug == first.skill().slug);
        let mut plugins = BTreeMap::new();
        let mut deep = Vec::new();
        for found in &mut catalog.skills {
            let Some((folder, manifest)) = plugin::around(self, &found.skill().folder) else { continue };
            let read = |path: &PathBuf| Plugin::read(self, folder, path).map(Arc::new);
            let plugin: &Option<Arc<Plugin>> = plugins.entry(manifest).or_insert_with_key(read);
            if plugin.as_ref().is_some_and(|plugin| plugin.has_too_deep(&found.skill().folder)) {
                deep.push(found.skill().folder.join(SKILL_FILE).display().to_string());
            }
            found.plugin = plugin.clone().filter(|plugin| plugin.has(&found.skill().folder));
        }
        catalog.add_sources(plugins.into_keys());
        catalog.problems.extend(too_deep(&deep));
    }

    /// The directory of a skill, whichever links lead to it.
    fn directory(&self, folder: PathBuf) -> PathBuf {
        inside::place(&self.root, &folder).map_or(folder, |place| place.relative().to_path_buf())
    }

    /// Adds the skills of the first of these that has any: what is published, the whole repository, agents' own directories,
    /// examples and the like, skills that exist only for evals.
    fn read_default_roots(&self, catalog: &mut Catalog) {
        let mut published = published_skills(self, catalog);
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

    /// Adds the skills in `root`.
    fn add_new_skills(&self, root: &Path, is_published: bool, catalog: &mut Catalog) {
        let known = catalog.skills.len();
        self.read_skill_root(root, catalog);
        let added = catalog.skills.split_off(known);
        let is_kind = |part: &OsStr| matches!(FolderKind::of(part), Some(FolderKind::Examples | FolderKind::Fixtures));
        let is_example = |folder: &Path| folder.iter().any(is_kind);
        let is_new = |found: &FoundSkill| !(is_published && is_example(&found.skill().folder));
        catalog.skills.extend(added.into_iter().filter(is_new));
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

    /// Adds the skills in `root`. Of two of one name, the first is the one that agents would find: the one less deep, then one with
    /// cases, then one in a directory of its name.
    fn read_skill_root(&self, root: &Path, catalog: &mut Catalog) {
        let mut skills = Vec::new();
        for folder in self.skill_folders(root, &[SKILL_FILE], &mut catalog.problems) {
            let path = folder.join(SKILL_FILE);
            match inside::read(&self.root, &path) {
                Ok(bytes) => {
                    let file = SkillFile::parse(self.directory(folder), &bytes);
                    skills.push(FoundSkill { file, bytes, curated: false, plugin: None });
                }
                Err(error) => catalog.problems.push(self.unreadable(&self.root.join(path), &error.to_string())),
            }
        }
        skills.sort_by_cached_key(|found| self.rank(&found.skill().folder, &found.skill().slug));
        catalog.skills.append(&mut skills);
    }

    /// The order of the skills of one name in a root.
    fn rank(&self, folder: &Path, slug: &str) -> (usize, bool, bool) {
        let has_cases = FolderKind::Cases.names().iter().any(|name| self.has_directory(&folder.join(name)));
        (folder.components().count(), !has_cases, folder.file_name() != Some(OsStr::new(slug)))
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
                let kind = FolderKind::of(name);
                let holds_none = matches!(kind, Some(FolderKind::Cases | FolderKind::Builds)) || name == ARTIFACTS;
                let is_excluded = is_repository && depth == 0 && holds_none || kind == Some(FolderKind::Packages);
                let is_hidden = name.as_encoded_bytes().starts_with(b".") && (!is_in_skills || name == ".git");
                entry.file_type().is_dir() && !is_hidden && !is_excluded
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

// The files named SKILL.md that are no skills of the catalog. Each is named: nobody may believe that it was checked.

/// The most names of skills that a message has of one directory.
const MOST_NAMES: usize = 30;

/// Whether a directory of this name has material of tests.
pub(super) fn is_fixture(name: &OsStr) -> bool {
    matches!(FolderKind::of(name), Some(FolderKind::Cases | FolderKind::Fixtures))
}

/// Whether a file of this name is meant to be a SKILL.md: some editors add an ending, some file systems ignore case.
pub(super) fn may_be_skill_file(name: &OsStr) -> bool {
    [SKILL_FILE, "SKILL.md.txt", "SKILL.markdown"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The skill at `file`, if the catalog does not have it.
pub(super) fn other_skill(
    file: &Path,
    catalog: &Catalog,
    folders: &BTreeSet<PathBuf>,
    tree: &dyn RepoFiles,
) -> Option<OtherSkill> {
    let folder = file.parent()?;
    let is_named = file.file_name()? == SKILL_FILE;
    if is_named && folders.contains(folder) {
        return None;
    }
    let bytes = tree.read(file).unwrap_or_default();
    let slug = SkillFile::parse(folder, &bytes).skill.slug;
    let why = if !is_named {
        // The file systems of some machines do not tell the two apart.
        if folders.contains(folder) {
            return None;
        }
        NotRead::FileName
    } else if folder.iter().any(is_fixture) {
        NotRead::Fixture
    } else if catalog.skill(&slug).is_some_and(|known| known.bytes == bytes) {
        NotRead::Copy
    } else if catalog.skill(&slug).is_some() {
        NotRead::SameName
    } else if folder.ancestors().skip(1).any(|above| folders.contains(above) && !above.as_os_str().is_empty()) {
        NotRead::InSkill
    } else {
        NotRead::Outside
    };
    Some(OtherSkill { file: file.to_path_buf(), slug, why, case_files: 0 })
}

/// The skill root that is usual for the skill in this directory.
fn root_of(folder: &Path) -> &Path {
    let is_hidden = folder.iter().any(|part| part.as_encoded_bytes().starts_with(b"."));
    let usual =
        ["skills", "plugins"].map(Path::new).into_iter().find(|root| folder.starts_with(root) && *root != folder);
    let usual = usual.filter(|root| !is_hidden || *root == Path::new("skills"));
    // The repository's root is none: each skill in it is one.
    let parent = || folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(folder);
    usual.unwrap_or_else(parent)
}

/// The warning about skills that are deeper in a plugin than agents look.
fn too_deep(files: &[String]) -> Option<Diagnostic> {
    let message = format!(
        "deeper in a plugin than agents look, which is directly in a directory of its skills: {}",
        cut::names(files, MOST_NAMES)
    );
    let problem = Diagnostic::new(Code::SkillRoot, SourceLocation::file(files.first()?), message);
    Some(problem.help("move the skill's directory up, or name the directory around it in `skills` of the manifest"))
}

impl Repository {
    /// What to write so that the skills in these directories are read too, as the end of a sentence. It is tried first: with the
    /// line, each of them is read without an error, and each that is read today. Those with errors are left out.
    pub(super) fn roots_line(&self, catalog: &Catalog, added: &[&Path]) -> String {
        let known: BTreeSet<&Path> = catalog.skills.iter().map(|found| &*found.skill().folder).collect();
        let is_skill = |above: &Path| !above.as_os_str().is_empty() && known.contains(above);
        let is_in_skill = |folder: &Path| folder.ancestors().skip(1).any(is_skill);
        let usual = |folder: &Path| if is_in_skill(folder) { folder } else { root_of(folder) }.to_path_buf();
        let roots = |added: &[&Path], of_added: &dyn Fn(&Path) -> PathBuf| -> BTreeSet<PathBuf> {
            known.iter().map(|folder| usual(folder)).chain(added.iter().map(|folder| of_added(folder))).collect()
        };
        let (faulty, rest): (Vec<&Path>, Vec<&Path>) = added.iter().partition(|folder| self.has_faulty_skill(folder));
        let whole = [roots(added, &usual), roots(added, &Path::to_path_buf)];
        let without = [roots(&rest, &usual), roots(&rest, &Path::to_path_buf)];
        let slugs: HashMap<&Path, &str> = catalog.slugs_by_folder().collect();
        let is_good = |roots: &&BTreeSet<PathBuf>| {
            let found: BTreeSet<PathBuf> = self.skills_with(roots, &slugs).into_values().collect();
            !rest.is_empty() && known.iter().chain(&rest).all(|folder| found.contains(*folder))
        };
        let Some(roots) = whole.iter().filter(|_| faulty.is_empty()).chain(&without).find(is_good) else {
            return format!("name their directories in {FILE}: `skill_roots`; as they are, they have errors");
        };
        let roots: Vec<String> = roots.iter().map(|root| shown(root)).collect();
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        let left = if faulty.is_empty() { String::new() } else { format!(" ({} more have errors)", faulty.len()) };
        catalog.written.set("skill_roots", &roots) + &left
    }

    /// Whether the skill in this directory could not be read without an error.
    fn has_faulty_skill(&self, folder: &Path) -> bool {
        let skill = self.skill_in(folder);
        skill.is_none_or(|file| file.problems.iter().any(Diagnostic::is_error))
            || !self.material_problems(folder).is_empty()
    }

    fn skill_in(&self, folder: &Path) -> Option<SkillFile> {
        let bytes = inside::read(&self.root, &folder.join(SKILL_FILE)).ok()?;
        Some(SkillFile::parse(folder, &bytes))
    }

    /// The directories of the skills that these roots would have, by slug. Only skills that nobody has read so far are read.
    fn skills_with(&self, roots: &BTreeSet<PathBuf>, known: &HashMap<&Path, &str>) -> BTreeMap<String, PathBuf> {
        let mut skills = BTreeMap::new();
        for root in roots {
            let folders = self.skill_folders(root, &[SKILL_FILE], &mut Vec::new()).into_iter();
            let named = folders.map(|folder| self.directory(folder)).filter_map(|folder| {
                let read = || self.skill_in(&folder).map(|file| file.skill.slug);
                let slug = known.get(&*folder).map(|slug| (*slug).to_owned()).or_else(read)?;
                Some((slug, folder))
            });
            let mut named: Vec<(String, PathBuf)> = named.collect();
            named.sort_by_cached_key(|(slug, folder)| self.rank(folder, slug));
            for (slug, folder) in named {
                skills.entry(slug).or_insert(folder);
            }
        }
        skills
    }

    /// What is said of the skills that are not read: one finding for all that a setting would add, one for each other reason.
    pub(super) fn findings(&self, catalog: &Catalog) -> Vec<Diagnostic> {
        let of = |why: NotRead| catalog.others.iter().filter(move |other| other.why == why);
        let mut findings = Vec::new();
        let mut by_root: BTreeMap<&Path, Vec<&OtherSkill>> = BTreeMap::new();
        for other in of(NotRead::Outside) {
            by_root.entry(root_of(other.folder())).or_default().push(other);
        }
        for other in of(NotRead::InSkill) {
            by_root.entry(other.folder()).or_default().push(other);
        }
        if let Some(first) = by_root.values().flatten().next() {
            let places = by_root.iter().map(|(root, others)| format!("{} ({})", shown(root), names(others)));
            let count: usize = by_root.values().map(Vec::len).sum();
            let read = catalog.skills.len();
            let message = format!(
                "{} outside every skill root and not read{}: {}; {read} of {} read",
                if count == 1 { "a skill is".to_owned() } else { format!("{count} skills are") },
                with_cases(by_root.values().flatten().copied()),
                places.collect::<Vec<_>>().join(", "),
                read + count
            );
            let mut slugs = BTreeSet::new();
            let added = by_root.values().flatten().filter(|other| slugs.insert(&other.slug));
            let added: Vec<&Path> = added.map(|other| other.folder()).collect();
            let help = format!("to test them too, {}", self.roots_line(catalog, &added));
            findings.push(Diagnostic::new(Code::SkillRoot, SourceLocation::file(&first.file), message).help(help));
        }
        // A copy without cases loses nothing.
        let of_one_name = of(NotRead::SameName).chain(of(NotRead::Copy).filter(|other| other.case_files > 0));
        let help = format!("rename one of each two, or name the directory of one in {FILE}: `skill_roots`");
        findings.extend(not_read("because another skill has the same name", &of_one_name.collect::<Vec<_>>(), &help));
        let help = format!("if it is a skill, rename the file to {SKILL_FILE}");
        let misnamed: Vec<&OtherSkill> = of(NotRead::FileName).collect();
        findings.extend(not_read(&format!("since agents find only files named {SKILL_FILE}"), &misnamed, &help));
        findings
    }
}

/// What is said of skills that are not read for one reason.
fn not_read(why: &str, others: &[&OtherSkill], help: &str) -> Option<Diagnostic> {
    let first = others.first()?;
    let files: Vec<String> = others.iter().map(|other| other.file.display().to_string()).collect();
    let with_cases = with_cases(others.iter().copied());
    let message = format!("not read{with_cases}, {why}: {}", cut::names(&files, MOST_NAMES));
    Some(Diagnostic::new(Code::SkillRoot, SourceLocation::file(&first.file), message).help(help))
}

/// The files of cases that are not read with these skills, as the end of a sentence.
fn with_cases<'a>(others: impl Iterator<Item = &'a OtherSkill>) -> String {
    match others.map(|other| other.case_files).sum::<usize>() {
        0 => String::new(),
        1 => ", nor is a file of cases".to_owned(),
        cases => format!(", nor are {cases} files of cases"),
    }
}

fn shown(root: &Path) -> String {
    if root.as_os_str().is_empty() { ".".to_owned() } else { root.display().to_string() }
}

fn names(others: &[&OtherSkill]) -> String {
    let names: Vec<&str> = others.iter().map(|other| other.slug.as_str()).collect();
    cut::names(&names, MOST_NAMES)
}

// What the manifests of plugins publish: `plugin.json`, and `marketplace.json` with a list of plugins.
//
// A manifest is in the directory of the plugin, or in a hidden directory of it: `.claude-plugin`, `.codex-plugin`,
// `.github/plugin`, `.agents/plugins`. A key `skills` is a path or a list of paths, relative to the plugin. Without it, and
// next to it, the skills are in `skills`.

/// The names of manifests.
const NAMES: [&str; 2] = ["plugin.json", "marketplace.json"];

/// The directories of manifests in a hidden directory of a plugin.
const FOLDERS: [&str; 3] = ["", "plugin", "plugins"];

/// The key of a plugin's directories of skills.
const SKILLS: &str = "skills";

/// The directories that the manifests of the repository publish skills in, in their order. Adds the manifests and their problems to
/// the catalog.
pub(super) fn published_skills(tree: &dyn RepoFiles, catalog: &mut Catalog) -> Vec<PathBuf> {
    let mut reader = Reader { tree, roots: Vec::new(), seen: BTreeSet::new(), catalog };
    reader.plugin(Path::new(""));
    reader.roots
}

struct Reader<'a> {
    tree: &'a dyn RepoFiles,
    roots: Vec<PathBuf>,
    /// The plugins that are read: two may list each other.
    seen: BTreeSet<PathBuf>,
    catalog: &'a mut Catalog,
}

impl Reader<'_> {
    /// Reads the manifests of the plugin in `folder`.
    fn plugin(&mut self, folder: &Path) {
        if !self.seen.insert(folder.to_path_buf()) {
            return;
        }
        let names = self.tree.names(folder).unwrap_or_default();
        let hidden = names.iter().filter(|name| name.as_encoded_bytes().starts_with(b".") && *name != ".git");
        let folders = hidden.flat_map(|hidden| FOLDERS.map(|inner| folder.join(hidden).join(inner)));
        let folders: Vec<PathBuf> = std::iter::once(folder.to_path_buf()).chain(folders).collect();
        for path in folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name))) {
            if self.tree.kind(&path) == FileKind::File {
                self.manifest(folder, &path);
            }
        }
    }

    fn manifest(&mut self, folder: &Path, path: &Path) {
        self.catalog.add_sources([path.to_path_buf()]);
        let Ok(bytes) = self.tree.read(path) else { return };
        let mut document = Document::new(path, &bytes, Syntax::Json);
        let Some(root) = document.root() else {
            for problem in document.problems.into_vec() {
                let message = format!("this manifest is not read, nor what it publishes: {}", problem.message);
                self.catalog.problems.push(Diagnostic::new(Code::SkillRoot, problem.place, message));
            }
            return;
        };
        if !root.is_map() {
            let message = format!("this manifest is {}; expected an object", root.kind());
            let problem =
                Diagnostic::new(Code::SkillRoot, document.place(root.range.start..root.range.start + 1), message);
            return self.catalog.problems.push(problem.help("nothing that it publishes is read"));
        }
        self.paths(&document, folder, &root);
        let base = root.get("metadata").and_then(|metadata| metadata.get("pluginRoot")).and_then(Node::text);
        for entry in root.get("plugins").and_then(Node::elements).unwrap_or_default() {
            let Some(plugin) = self.source(&document, &folder.join(base.unwrap_or_default()), base.is_some(), entry)
            else {
                continue;
            };
            self.paths(&document, &plugin, entry);
            if plugin != folder {
                self.usual(&plugin);
                self.plugin(&plugin);
            }
        }
    }

    /// The directory of a plugin of a list, if it is in this repository. A source that is an object is another one; so is a text that
    /// is no path, `owner/name`, unless the list says where its paths begin.
    fn source(&mut self, document: &Document<'_>, base: &Path, begins: bool, entry: &Node) -> Option<PathBuf> {
        let written = entry.get("source")?;
        let path = written.text().filter(|path| path.starts_with('.') || begins)?;
        let found = resolved(&base.join(path));
        let is_here = found.as_ref().is_some_and(|found| self.tree.kind(found) != FileKind::Missing);
        if !is_here {
            let message = match found {
                Some(_) => "this manifest publishes a plugin in a directory that is not here",
                None => "this manifest publishes a plugin outside the repository",
            };
            let problem = Diagnostic::new(Code::SkillRoot, document.place(written.range.clone()), message);
            self.catalog.problems.push(problem.help("fix the path, or remove the plugin"));
        }
        found.filter(|_| is_here)
    }

    /// Adds the directories that an object names.
    fn paths(&mut self, document: &Document<'_>, plugin: &Path, object: &Node) {
        for written in object.get(SKILLS).map(Node::each).unwrap_or_default() {
            let path = written.text().and_then(|path| resolved(&plugin.join(path)));
            match path.filter(|path| self.tree.kind(path) != FileKind::Missing) {
                Some(path) if path.ends_with(SKILL_FILE) => self.roots.extend(path.parent().map(Path::to_path_buf)),
                Some(path) => self.roots.push(path),
                // A plugin without skills may have the usual path all the same.
                None if written.text().is_some_and(|path| path.trim_matches(['.', '/']) == SKILLS) => {}
                None => {
                    let (message, help) = match written.text() {
                        Some(path) if path.contains(['*', '?', '[', '{']) => {
                            ("this manifest publishes skills by a pattern, which is not read", "name the directories")
                        }
                        Some(_) => ("this manifest publishes skills in a directory that is not here", "fix the path"),
                        None => ("this manifest publishes skills by something other than a path", "write a path"),
                    };
                    let place = document.place(written.range.clone());
                    self.catalog.problems.push(Diagnostic::new(Code::SkillRoot, place, message).help(help));
                }
            }
        }
    }

    /// Adds the directory of skills that a plugin has without saying so, or the plugin itself if it is one skill.
    fn usual(&mut self, plugin: &Path) {
        let skills = plugin.join(SKILLS);
        if self.tree.kind(&skills) == FileKind::Folder {
            self.roots.push(skills);
        } else if self.tree.kind(&plugin.join(SKILL_FILE)) == FileKind::File {
            self.roots.push(plugin.to_path_buf());
        }
    }
}
