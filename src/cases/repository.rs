//! Finds the skills and cases of a repository. Reads files; decides nothing about them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use std::sync::Arc;

use crate::cases::case::{Broken, Found, prompts_csv, smoke, task_json};
use crate::cases::catalog::{ARTIFACTS, Catalog, FoundSkill, PROMPTS, RESPONSE_SCHEMA, SKILL_EVALS, TASKS};
use crate::cases::name;
use crate::cases::repo_files::{Kind, Tree};
use crate::cases::skill::{SKILL_FILE, Skill, SkillFile};
use crate::files::bounded;
use crate::files::material::{Material, Problem};
use crate::text::diagnostic::{Code, Diagnostic, Place, suggest};
use crate::text::relative_path::RelativePath;

/// Folders in which skills are looked for where the settings name none: the first that holds any; if none does the whole
/// repository, and last [`SKILL_EVALS`], where skills that are there for the sake of evals lie beside their cases.
pub const DEFAULT_SKILL_ROOTS: [&str; 3] = ["skills", ".claude/skills", ".agents/skills"];

/// Folders of a repository in which no skills of its own lie: fixtures of evals, what was built, what was run.
const NO_SKILLS: [&str; 3] = ["evals", "target", ARTIFACTS];

/// How deep below a skill root skills are looked for.
const MAX_DEPTH: usize = 12;

/// The repository on disk.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Its root, absolute.
    pub root: PathBuf,
}

/// Which part of a repository is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// All skills and cases.
    All,
    /// The skill and the case with these test name segments, for a process that runs one test.
    Test {
        /// The first segment of the test's name.
        skill: &'a str,
        /// The second.
        case: &'a str,
    },
}

impl Scope<'_> {
    fn wants_skill(self, slug: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Test { skill, .. } => name::segment(slug) == skill,
        }
    }

    fn wants_task(self, stem: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Test { case, .. } => name::segment(stem) == case,
        }
    }
}

impl Tree for Repository {
    fn kind(&self, path: &Path) -> Kind {
        let mut at = self.root.clone();
        let mut kind = Kind::Folder;
        for part in path.components() {
            at.push(part);
            kind = match fs::symlink_metadata(&at) {
                Err(_) => return Kind::Missing,
                Ok(found) if found.is_symlink() => return Kind::Symlink,
                Ok(found) if found.is_dir() => Kind::Folder,
                Ok(found) if found.is_file() => Kind::File,
                Ok(_) => Kind::Other,
            };
        }
        kind
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        bounded::read(&self.root.join(path))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names =
            fs::read_dir(self.root.join(path))?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn material_problems(&self, path: &Path) -> Vec<Problem> {
        Material::list(&self.root.join(path)).problems
    }
}

impl Repository {
    /// Reads the catalog: skills below `skill_roots` (or the default ones), and the cases in `scope`.
    #[must_use]
    pub fn catalog(&self, skill_roots: Option<&[RelativePath]>, scope: Scope<'_>) -> Catalog {
        let mut catalog = Catalog::default();
        self.read_skills(skill_roots, &mut catalog);
        self.read_cases(scope, &mut catalog);
        catalog
    }

    fn read_skills(&self, skill_roots: Option<&[RelativePath]>, catalog: &mut Catalog) {
        if let Some(roots) = skill_roots {
            for root in roots {
                self.read_named_root(root.as_path(), catalog);
            }
        } else {
            let roots = DEFAULT_SKILL_ROOTS.into_iter().chain(["", SKILL_EVALS]).map(Path::new);
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
        let problem = Diagnostic::new(Code::Unreadable, Place::file(root), "this skill root is no folder");
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
        let mut folders = Vec::new();
        let mut walk = WalkDir::new(self.root.join(root)).max_depth(MAX_DEPTH).sort_by_file_name().into_iter();
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_path_buf();
                    problems.push(self.unreadable(&path, &error.to_string()));
                    continue;
                }
            };
            if entry.path_is_symlink() && entry.depth() > 0 && !root.as_os_str().is_empty() {
                problems.extend(self.link_beside_skills(entry.path()));
            }
            if !entry.file_type().is_dir() {
                continue;
            }
            let hidden = entry.depth() > 0 && entry.file_name().to_string_lossy().starts_with('.');
            // Below the repository's root itself there is more than skills.
            let aside =
                root.as_os_str().is_empty() && entry.depth() == 1 && NO_SKILLS.iter().any(|n| entry.file_name() == *n);
            if hidden || aside || entry.file_name() == "node_modules" {
                walk.skip_current_dir();
                continue;
            }
            let path = skill_file(entry.path(), files);
            match fs::metadata(&path) {
                Ok(found) if found.is_file() => {
                    walk.skip_current_dir();
                    folders.push(entry.path().strip_prefix(&self.root).unwrap_or(entry.path()).to_path_buf());
                }
                // Reading a pipe would wait for ever.
                Ok(_) => problems.push(self.unreadable(&path, "it is no file")),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // In the whole of a repository there are deep folders of all kinds.
                    if entry.depth() == MAX_DEPTH && !root.as_os_str().is_empty() {
                        let place = Place::file(crate::text::diagnostic::shown_path(&self.root, entry.path()));
                        let message = format!("skills are looked for {MAX_DEPTH} folders deep, and not below this one");
                        problems.push(Diagnostic::new(Code::SkillRoot, place, message));
                    }
                }
                Err(error) => problems.push(self.unreadable(&path, &error.to_string())),
            }
        }
        folders
    }

    /// Says that a link to a folder is not followed, or where it leads to nothing.
    fn link_beside_skills(&self, path: &Path) -> Option<Diagnostic> {
        let place = Place::file(crate::text::diagnostic::shown_path(&self.root, path));
        let message = match fs::metadata(path) {
            Ok(found) if found.is_dir() => "this link to a folder is not followed to look for skills",
            Ok(_) => return None,
            Err(_) => "this link leads to nothing",
        };
        let problem = Diagnostic::new(Code::LinkedFolder, place, message);
        Some(problem.help("move the folder here, or name the one that holds it in evals/evals.toml: `skill_roots`"))
    }

    fn read_cases(&self, scope: Scope<'_>, catalog: &mut Catalog) {
        let mut cases: HashMap<String, Vec<Found>> = HashMap::new();
        for slug in self.names_in(Path::new(SKILL_EVALS), catalog) {
            if !scope.wants_skill(&slug) {
                continue;
            }
            self.skill_beside_cases(&slug, catalog);
            let path: PathBuf = [SKILL_EVALS, &slug, PROMPTS].iter().collect();
            // A folder can have any name, a test cannot.
            let slug = if name::check_id(&slug).is_ok() { slug } else { name::segment(&slug) };
            match bounded::read(&self.root.join(&path)) {
                Ok(bytes) => Self::read_sheet(&slug, &path, bytes, catalog, &mut cases),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // `evals/skills/README.md` is no skill's folder.
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
                Err(error) => {
                    let problem = self.unreadable(&self.root.join(&path), &error.to_string());
                    cases.entry(slug.clone()).or_default().push(broken(&slug, PROMPTS, &path, vec![problem]));
                }
            }
        }
        for name in self.names_in(Path::new(TASKS), catalog) {
            let Some(stem) = name.strip_suffix(".json").filter(|stem| scope.wants_task(stem)) else { continue };
            let path: PathBuf = [TASKS, &name].iter().collect();
            let found = self.read_task(stem, &path, catalog);
            cases.entry(found.skill.clone()).or_default().push(found);
        }
        self.add_smoke_cases(scope, catalog, &mut cases);
        let mut slugs: Vec<String> = cases.keys().cloned().collect();
        slugs.sort();
        for slug in slugs {
            let mut found = cases.remove(&slug).unwrap_or_default();
            mark_duplicates(&mut found, self);
            catalog.cases.extend(found.into_iter().map(Arc::new));
        }
    }

    /// Says where a skill lies beside its cases and in no skill root, so that nothing tests it; and where it does, that
    /// agents are given its cases with it.
    fn skill_beside_cases(&self, slug: &str, catalog: &mut Catalog) {
        let folder: PathBuf = [SKILL_EVALS, slug].iter().collect();
        let (file, cases) = (folder.join(SKILL_FILE), folder.join(PROMPTS));
        // Asked first: with many skills a look at the disk is cheaper than at all of them.
        if self.kind(&file) != Kind::File {
            return;
        }
        let problem = |at: &Path, message, help| Diagnostic::new(Code::SkillRoot, Place::file(at), message).help(help);
        if !catalog.skills.iter().any(|found| found.skill().folder == folder) {
            let help = format!("name its folder too, in evals/evals.toml: {}", with_skill_evals(catalog));
            catalog.problems.push(problem(&file, "this skill lies in no skill root: nothing tests it", help));
        } else if self.kind(&cases) == Kind::File {
            let help = "move the skill's folder to skills/: its cases stay here";
            let message =
                "these cases lie in the skill's own folder: agents are given them, and what they expect, with it";
            catalog.problems.push(problem(&cases, message, help.to_owned()));
        }
    }

    fn read_sheet(
        slug: &str,
        path: &Path,
        bytes: Vec<u8>,
        catalog: &mut Catalog,
        cases: &mut HashMap<String, Vec<Found>>,
    ) {
        let Some(skill) = catalog.skills.iter_mut().find(|found| found.skill().slug == slug) else {
            let known: Vec<String> = catalog.skills.iter().map(|found| found.skill().slug.clone()).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let problem = Diagnostic::new(
                Code::OrphanCases,
                Place::file(path),
                format!("there is no skill with the slug `{slug}`"),
            )
            .help(suggest(slug, &known));
            cases.entry(slug.to_owned()).or_default().push(broken(slug, PROMPTS, path, vec![problem]));
            return;
        };
        skill.curated = true;
        let parsed = prompts_csv::parse(path, bytes);
        let list = cases.entry(slug.to_owned()).or_default();
        let (errors, warnings): (Vec<_>, Vec<_>) = parsed.problems.into_iter().partition(Diagnostic::is_error);
        catalog.problems.extend(warnings);
        if !errors.is_empty() {
            list.push(broken(slug, PROMPTS, path, errors));
        }
        list.extend(parsed.rows.into_iter().map(|row| row.found(slug)));
    }

    fn read_task(&self, stem: &str, path: &Path, catalog: &mut Catalog) -> Found {
        let task = match bounded::read(&self.root.join(path)) {
            Ok(bytes) => task_json::parse(path, &bytes),
            Err(error) => Err(vec![self.unreadable(&self.root.join(path), &error.to_string())]),
        };
        let task = task.and_then(|case| {
            if let Some(skill) = catalog.skills.iter_mut().find(|found| found.skill().slug == case.skill) {
                skill.curated = true;
                return Ok(case);
            }
            let known: Vec<&str> = catalog.skills.iter().map(|found| found.skill().slug.as_str()).collect();
            let problem = Diagnostic::new(
                Code::UnknownSkill,
                case.origin.clone(),
                format!("`evalConfig.expectedSkillName` names the skill `{}`, which is not here", case.skill),
            );
            let file: PathBuf = [SKILL_EVALS, &case.skill, SKILL_FILE].iter().collect();
            let lies_here = || format!("it lies in {}: {}", file.display(), with_skill_evals(catalog));
            let help = if self.kind(&file) == Kind::File { lies_here() } else { suggest(&case.skill, &known) };
            Err(vec![problem.help(help)])
        });
        // A task that cannot be read belongs to no skill; its test is found under `tasks`.
        let skill = task.as_ref().map_or_else(|_| "tasks".to_owned(), |case| case.skill.clone());
        let id = if name::check_case_id(stem).is_ok() { stem.to_owned() } else { name::segment(stem) };
        let task = task_json::Task { file: path.to_path_buf(), case: task };
        Found::new(id, skill, path.to_path_buf(), 1, task)
    }

    fn add_smoke_cases(&self, scope: Scope<'_>, catalog: &Catalog, cases: &mut HashMap<String, Vec<Found>>) {
        let schema = RelativePath::parse(RESPONSE_SCHEMA).ok().filter(|path| self.kind(path.as_path()) == Kind::File);
        for found in catalog.skills.iter().filter(|found| !found.curated && scope.wants_skill(&found.skill().slug)) {
            let skill = found.skill();
            let smoke = smoke::cases(skill, schema.as_ref()).into_iter().map(|case| {
                let file = skill.folder.join(SKILL_FILE);
                Found::new(case.id.clone(), skill.slug.clone(), file, 1, smoke::Smoke(case))
            });
            cases.entry(skill.slug.clone()).or_default().extend(smoke);
        }
    }

    /// The names in a folder, sorted; none where it does not exist.
    fn names_in(&self, folder: &Path, catalog: &mut Catalog) -> Vec<String> {
        let entries = match fs::read_dir(self.root.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                catalog.problems.push(self.unreadable(&self.root.join(folder), &error.to_string()));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for entry in entries.filter_map(Result::ok) {
            match entry.file_name().into_string() {
                Ok(name) => names.push(name),
                Err(_) => catalog.problems.push(self.unreadable(&entry.path(), "its name is not UTF-8")),
            }
        }
        names.sort();
        names
    }

    fn unreadable(&self, path: &Path, why: &str) -> Diagnostic {
        let place = Place::file(crate::text::diagnostic::shown_path(&self.root, path));
        Diagnostic::new(Code::Unreadable, place, format!("cannot be read: {why}"))
    }
}

/// The line of evals.toml that has skills looked for where they were found, and beside their cases too.
fn with_skill_evals(catalog: &Catalog) -> String {
    let folders = catalog.skills.iter().map(|found| found.skill().folder.as_path());
    // The repository's root itself cannot be named: there each skill is a root of its own.
    let root =
        |folder: &Path| folder.parent().filter(|root| root.iter().next().is_some()).unwrap_or(folder).to_path_buf();
    let roots: BTreeSet<PathBuf> = folders.map(root).chain([PathBuf::from(SKILL_EVALS)]).collect();
    let roots: Vec<String> = roots.iter().map(|root| format!("{:?}", root.to_string_lossy())).collect();
    format!("skill_roots = [{}]", roots.join(", "))
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
    Diagnostic::new(Code::SlugCollision, Place::file(second.folder.join(SKILL_FILE)), message)
        .help("rename one of the two: agents, tests and artifacts could not tell them apart")
}

fn broken(skill: &str, id: &str, path: &Path, problems: Vec<Diagnostic>) -> Found {
    let line = problems.first().map_or(1, |problem| problem.place.line.max(1));
    let source = Broken { format: &prompts_csv::FORMAT, problems };
    Found::new(id.to_owned(), skill.to_owned(), path.to_path_buf(), line, source)
}

/// Turns every case whose test name an earlier one has into a broken one with a name of its own, which no other case has.
fn mark_duplicates(cases: &mut [Found], tree: &dyn Tree) {
    let mut first: HashMap<String, usize> = HashMap::with_capacity(cases.len());
    let mut repeated = Vec::new();
    for (at, found) in cases.iter().enumerate() {
        match first.entry(name::segment(&found.id)) {
            Entry::Vacant(free) => _ = free.insert(at),
            Entry::Occupied(taken) => repeated.push((at, *taken.get())),
        }
    }
    // Only now: what a repeated case is called may be the id of a later one.
    for (at, taken) in repeated {
        let (found, taken) = (&cases[at], &cases[taken]);
        let written = found.source.place("id", None, tree);
        let place = written.unwrap_or_else(|| Place { line: found.line, column: 1, ..Place::file(&found.file) });
        let message = format!(
            "the case id `{}` is taken by {}:{} (in tests' names all but letters and digits count as one)",
            found.id,
            taken.file.display(),
            taken.line
        );
        let problem =
            Diagnostic::new(Code::DuplicateCase, place, message).help("give every case of a skill an id of its own");
        let mut id = format!("{}-line-{}", found.id, found.line);
        while first.contains_key(&name::segment(&id)) {
            id.push_str("-again");
        }
        first.insert(name::segment(&id), at);
        let source = Broken { format: found.format(), problems: vec![problem] };
        cases[at] = Found::new(id, found.skill.clone(), found.file.clone(), found.line, source);
    }
}
