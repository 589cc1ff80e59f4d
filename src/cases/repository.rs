//! Finds the skills and cases of a repository. Reads files; decides nothing about them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use std::sync::Arc;

use crate::cases::case::{
    BrokenCase, CaseFile, CaseFormat, FORMATS, FileCases, Files, FoundCase, file_formats, files_of_skill, smoke,
};
use crate::cases::catalog::{Catalog, FoundSkill, RESPONSE_SCHEMA, SKILL_EVALS};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::unread::{self, UnreadFile};
use crate::files::bounded;
use crate::files::material::{Material, MaterialProblem};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::name;
use crate::text::relative_path::RelativePath;

pub use crate::cases::layout::Layout;

/// What stands for a skill in the test's name of a case that names none that is here.
const NO_SKILL: &str = "tasks";

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

impl RepoFiles for Repository {
    fn kind(&self, path: &Path) -> FileKind {
        let mut at = self.root.clone();
        let mut kind = FileKind::Folder;
        for part in path.components() {
            at.push(part);
            kind = match fs::symlink_metadata(&at) {
                Err(_) => return FileKind::Missing,
                Ok(found) if found.is_symlink() => return FileKind::Symlink,
                Ok(found) if found.is_dir() => FileKind::Folder,
                Ok(found) if found.is_file() => FileKind::File,
                Ok(_) => FileKind::Other,
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

    fn material_problems(&self, path: &Path) -> Vec<MaterialProblem> {
        Material::list(&self.root.join(path)).problems
    }
}

impl Repository {
    /// Reads the catalog: the skills where `layout` says, and the cases in `scope`.
    pub fn catalog(&self, layout: Layout<'_>, scope: Scope<'_>) -> Catalog {
        let mut catalog = Catalog::default();
        self.read_skills(layout.skill_roots, &mut catalog);
        self.read_cases(layout, scope, &mut catalog);
        catalog
    }

    fn read_cases(&self, layout: Layout<'_>, scope: Scope<'_>, catalog: &mut Catalog) {
        let mut cases: HashMap<Arc<str>, Vec<FoundCase>> = HashMap::new();
        let folders: BTreeSet<&Path> = file_formats().map(|(_, files)| files.folder()).collect();
        for folder in folders {
            for name in self.names_in(folder, catalog) {
                // Cases of an unknown skill may be those of the one that is wanted.
                let of_wanted_skill = scope.wants_skill(&name) || catalog.skill(&name).is_none();
                if folder == Path::new(SKILL_EVALS) && of_wanted_skill {
                    self.skill_beside_cases(&name, catalog);
                }
                for (format, files) in file_formats().filter(|(_, files)| files.folder() == folder) {
                    let Some(open) = files.open_part(&name) else { continue };
                    let is_wanted = if files.are_of_skills() { of_wanted_skill } else { scope.wants_task(open) };
                    if is_wanted {
                        self.read_file(format, files, open, layout, catalog, &mut cases);
                    }
                }
            }
        }
        self.add_unread(scope, catalog, &mut cases);
        catalog.problems.extend(unread::settings(&self.root));
        self.add_smoke_cases(scope, catalog, &mut cases);
        let mut slugs: Vec<Arc<str>> = cases.keys().cloned().collect();
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
        let file = folder.join(SKILL_FILE);
        // Asked first: with many skills a look at the disk is cheaper than at all of them.
        if self.kind(&file) != FileKind::File {
            return;
        }
        let problem =
            |at: &Path, message, help| Diagnostic::new(Code::SkillRoot, SourceLocation::file(at), message).help(help);
        if !catalog.skills.iter().any(|found| found.skill().folder == folder) {
            let help = format!("name its directory too, in evals/evals.toml: {}", with_skill_evals(catalog));
            catalog.problems.push(problem(&file, "skill not tested: outside every skill root", help));
            return;
        }
        for cases in files_of_skill(slug).filter(|cases| self.kind(cases) == FileKind::File) {
            let help = "move the skill's directory to skills/: its cases stay here";
            let message = "these cases are in the skill's own directory: agents are given them, and what they expect";
            catalog.problems.push(problem(&cases, message, help.to_owned()));
        }
    }

    /// Reads a file of cases, if there is one with this name in the open part of its path.
    fn read_file(
        &self,
        format: &'static CaseFormat,
        files: &Files,
        open: &str,
        layout: Layout<'_>,
        catalog: &mut Catalog,
        cases: &mut HashMap<Arc<str>, Vec<FoundCase>>,
    ) {
        let of_skill = files.are_of_skills();
        // A file can have any name, a test cannot.
        let is_name = if of_skill { name::check_id(open).is_ok() } else { name::check_case_id(open).is_ok() };
        let name = if is_name { open.to_owned() } else { name::segment(open) };
        let file = CaseFile { path: files.path_of(open), name };
        let full = self.root.join(&file.path);
        let alone = |problem| FileCases { problems: vec![problem], ..FileCases::default() };
        let parsed = match bounded::read(&full) {
            Ok(_) if of_skill && catalog.skill(&file.name).is_none() => alone(orphan(&file, catalog)),
            Ok(bytes) => (files.parse)(&file, bytes, layout),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !full.is_symlink() => return,
            // `evals/skills/README.md` is no skill's folder.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return,
            Err(error) => alone(self.unreadable(&full, &error.to_string())),
        };
        let (errors, warnings): (Vec<_>, Vec<_>) = parsed.problems.into_iter().partition(Diagnostic::is_error);
        catalog.problems.extend(warnings);
        let (skill, id) = if of_skill { (&*file.name, base_name(&file.path)) } else { (NO_SKILL, &*file.name) };
        if let Some(found) = catalog.skill_mut(skill).filter(|_| of_skill) {
            found.curated = true;
        }
        let unread = (!errors.is_empty()).then(|| broken(format, skill, id, &file.path, errors));
        let read = parsed.cases.into_iter();
        let read = read.map(|found| if of_skill { found } else { self.of_known_skill(found, catalog) });
        for found in unread.into_iter().chain(read) {
            cases.entry(found.skill.clone()).or_default().push(found);
        }
    }

    /// The case if the skill that it names is here; else a broken one, whose test is found under [`NO_SKILL`].
    fn of_known_skill(&self, found: FoundCase, catalog: &mut Catalog) -> FoundCase {
        if let Some(skill) = catalog.skill_mut(&found.skill) {
            skill.curated = true;
            return found;
        }
        let problems = found.case().map_or_else(<[_]>::to_vec, |case| {
            let known = catalog.slugs();
            let message = format!("this {} names the skill `{}`, which is not here", found.format().name, case.skill);
            let file: PathBuf = [SKILL_EVALS, &case.skill, SKILL_FILE].iter().collect();
            let lies_here = || format!("it lies in {}: {}", file.display(), with_skill_evals(catalog));
            let help = if self.kind(&file) == FileKind::File { lies_here() } else { suggest(&case.skill, &known) };
            vec![Diagnostic::new(Code::UnknownSkill, case.origin.clone(), message).help(help)]
        });
        let source = BrokenCase { format: found.format(), problems };
        FoundCase::new(found.id, NO_SKILL, found.file, found.line, source)
    }

    /// Says which files look like cases and are not read. A skill without others has a broken case for each that may be its own,
    /// and none built in: these would pass for what the files ask.
    fn add_unread(&self, scope: Scope<'_>, catalog: &mut Catalog, cases: &mut HashMap<Arc<str>, Vec<FoundCase>>) {
        let lacks = |found: &FoundSkill| !found.curated && scope.wants_skill(&found.skill().slug);
        if !matches!(scope, Scope::All) && !catalog.skills.iter().any(lacks) {
            return;
        }
        let unread = unread::find(&self.root, catalog);
        let orphans = unread::orphans(catalog, cases);
        for found in catalog.skills.iter_mut().filter(|found| lacks(found)) {
            let slug = found.skill().slug.clone();
            let of_skill = |file: &&UnreadFile| file.skill.as_ref().is_none_or(|skill| *skill == slug);
            let files = unread.iter().chain(&orphans).filter(of_skill);
            let problems: Vec<Diagnostic> = files.map(|file| file.problem.clone()).collect();
            if let Some(first) = problems.first() {
                found.curated = true;
                let path = first.place.path.clone();
                let [format, ..] = FORMATS;
                let file = files_of_skill(&slug).next().unwrap_or_default();
                cases.entry(Arc::from(&*slug)).or_default().push(broken(
                    format,
                    &slug,
                    base_name(&file),
                    &path,
                    problems,
                ));
            }
        }
        catalog.problems.extend(unread.into_iter().map(|file| file.problem));
    }

    fn add_smoke_cases(&self, scope: Scope<'_>, catalog: &Catalog, cases: &mut HashMap<Arc<str>, Vec<FoundCase>>) {
        let schema =
            RelativePath::parse(RESPONSE_SCHEMA).ok().filter(|path| self.kind(path.as_path()) == FileKind::File);
        for found in catalog.skills.iter().filter(|found| !found.curated && scope.wants_skill(&found.skill().slug)) {
            let skill = found.skill();
            let smoke = smoke::cases(skill, schema.as_ref()).into_iter().map(|case| {
                let file = skill.folder.join(SKILL_FILE);
                FoundCase::new(case.id.clone(), &*skill.slug, file, 1, smoke::Smoke(case))
            });
            cases.entry(Arc::from(&*skill.slug)).or_default().extend(smoke);
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

    pub(super) fn unreadable(&self, path: &Path, why: &str) -> Diagnostic {
        let place = SourceLocation::file(crate::text::diagnostic::shown_path(&self.root, path));
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

/// That the skill of this file is not here.
fn orphan(file: &CaseFile, catalog: &Catalog) -> Diagnostic {
    let message = format!("unknown skill slug `{}`", file.name);
    let problem = Diagnostic::new(Code::OrphanCases, SourceLocation::file(&file.path), message);
    problem.help(suggest(&file.name, &catalog.slugs()))
}

fn base_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

fn broken(format: &'static CaseFormat, skill: &str, id: &str, path: &Path, problems: Vec<Diagnostic>) -> FoundCase {
    let line = problems.first().map_or(1, |problem| problem.place.line.max(1));
    let source = BrokenCase { format, problems };
    FoundCase::new(id.to_owned(), skill, path, line, source)
}

/// Turns every case whose test name an earlier one has into a broken one with a name of its own, which no other case has.
fn mark_duplicates(cases: &mut [FoundCase], tree: &dyn RepoFiles) {
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
        let place = written.unwrap_or_else(|| SourceLocation {
            line: found.line,
            column: 1,
            ..SourceLocation::file(&*found.file)
        });
        let message = format!(
            "the case id `{}` is taken by {}:{} (in tests' names all but letters and digits count as one)",
            found.id,
            taken.file.display(),
            taken.line
        );
        let problem =
            Diagnostic::new(Code::DuplicateCase, place, message).help("give each case of a skill a unique id");
        let mut id = format!("{}-line-{}", found.id, found.line);
        while first.contains_key(&name::segment(&id)) {
            id.push_str("-again");
        }
        first.insert(name::segment(&id), at);
        let source = BrokenCase { format: found.format(), problems: vec![problem] };
        cases[at] = FoundCase::new(id, found.skill.clone(), found.file.clone(), found.line, source);
    }
}
