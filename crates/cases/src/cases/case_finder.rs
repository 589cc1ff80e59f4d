//! Finds the cases of a repository.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::candidate::{Candidate, CandidatePlace, SkillWords};
use crate::cases::case::{
    Case, CaseFile, CaseFormat, FORMATS, FileCases, Files, ForeignFile, FoundCase, ReadCase, file_formats,
    files_of_skill, id_of, name_certainty, own_files, smoke, unused_fields,
};
use crate::cases::case_folders::{is_direct, is_in_cases};
use crate::cases::catalog::{
    Catalog, FoundSkill, NO_SKILL, RESPONSE_SCHEMA, SKILL_EVALS, SkillIndex, broken, evals_folder, path_id,
};
use crate::cases::layout::Layout;
use crate::cases::other_skill::{FileStanding, NotRead, OtherSkill};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::repository::{Repository, Scope};
use crate::cases::skills;
use crate::cases::unread::{self, FoundFiles, UnreadFile, may_be_case};
use crate::cases::unread_settings::unread_settings;
use crate::files::inside;
use crate::settings::{NamedScript, OwnFormat};
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::name;
use crate::text::name::RelativePath;

impl Repository {
    /// Adds the cases in `scope` to a catalog that has the skills.
    pub(super) fn read_cases(&self, layout: Layout<'_>, scope: Scope<'_>, catalog: &mut Catalog) {
        let (own_files, problems) = own_files(layout.formats, self);
        catalog.problems.extend(problems);
        let (cases, unknown) = (HashMap::new(), Vec::new());
        let used = BTreeSet::new();
        CaseFinder { repository: self, layout, scope, catalog, own_files, used, cases, unknown }.add_cases();
    }
}

/// Adds cases to a catalog.
struct CaseFinder<'a> {
    repository: &'a Repository,
    layout: Layout<'a>,
    scope: Scope<'a>,
    catalog: &'a mut Catalog,
    /// The files of formats of the user's own.
    own_files: BTreeMap<PathBuf, Vec<&'a OwnFormat>>,
    /// Their fields whose keys a case has.
    used: BTreeSet<(String, String)>,
    /// The cases so far, by skill.
    cases: HashMap<Arc<str>, Vec<FoundCase>>,
    /// Those whose skill is not here.
    unknown: Vec<FoundCase>,
}

impl CaseFinder<'_> {
    fn add_cases(mut self) {
        let folders: BTreeSet<&Path> = file_formats().map(|(_, files)| files.folder()).collect();
        for folder in folders {
            for name in self.names_in(folder) {
                // Cases of an unknown skill may be meant for the skill in scope.
                let wants_skill = self.scope.wants_skill(&name) || self.catalog.skill(&name).is_none();
                if folder == Path::new(SKILL_EVALS) && wants_skill {
                    self.check_skill_next_to_cases(&name);
                }
                for (format, files) in file_formats().filter(|(_, files)| files.folder() == folder) {
                    let Some(open) = files.open_part(&name) else { continue };
                    if if files.are_of_skills() { wants_skill } else { self.scope.wants_task(open) } {
                        self.read_file(format, files, open);
                    }
                }
            }
        }
        self.add_found_by_walk();
        self.catalog.problems.extend(unread_settings(self.repository));
        self.add_smoke_cases();
        let mut cases: Vec<(Arc<str>, Vec<FoundCase>)> = self.cases.into_iter().collect();
        cases.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (skill, mut cases) in cases {
            let scripts = self.layout.checks.into_iter().flat_map(|checks| checks.of(&skill));
            let scripts: Vec<NamedScript> = scripts.cloned().collect();
            for case in &mut cases {
                case.scripts.clone_from(&scripts);
            }
            name_apart(&mut cases);
            mark_duplicates(&mut cases, self.repository);
            self.catalog.cases.extend(cases.into_iter().map(Arc::new));
        }
    }

    /// The names in a directory, sorted; empty if the directory does not exist.
    fn names_in(&mut self, folder: &Path) -> Vec<String> {
        let path = self.repository.root.join(folder);
        let found = match self.repository.names(folder) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
            Err(error) => {
                self.catalog.problems.push(self.repository.unreadable(&path, &error.to_string()));
                return Vec::new();
            }
        };
        let mut names = Vec::new();
        for name in found {
            match name.into_string() {
                Ok(name) => names.push(name),
                Err(name) => {
                    let path = path.join(name);
                    self.catalog.problems.push(self.repository.unreadable(&path, "its name is not UTF-8"));
                }
            }
        }
        names
    }

    /// Reports a skill that is next to its cases: nothing tests it if no skill root holds it; else agents get its cases too.
    fn check_skill_next_to_cases(&mut self, slug: &str) {
        let folder = evals_folder(slug);
        let file = folder.join(SKILL_FILE);
        // Asked first: with many skills, the disk answers faster than a search in all of them.
        if self.repository.kind(&file) != FileKind::File {
            return;
        }
        if !self.catalog.skills.iter().any(|found| found.skill().folder == folder) {
            let help = format!("to test it, {}", self.repository.roots_line(self.catalog, &[&folder]));
            let message = "skill not tested: outside every skill root";
            let problem = Diagnostic::new(Code::SkillRoot, SourceLocation::file(&file), message);
            self.catalog.problems.push(problem.help(help));
            return;
        }
        for cases in files_of_skill(slug).filter(|cases| self.repository.kind(cases) == FileKind::File) {
            let message = "these cases are in the skill's own directory: agents are given them, and what they expect";
            let problem = Diagnostic::new(Code::SkillRoot, SourceLocation::file(&cases), message);
            let help = "move the skill's directory to skills/: its cases stay here";
            self.catalog.problems.push(problem.help(help));
        }
    }

    /// Reads the file with this open part of its path, if there is one.
    fn read_file(&mut self, format: &'static CaseFormat, files: &Files, open: &str) {
        let of_skill = files.are_of_skills();
        // A file can have any name, a test cannot.
        let is_name = if of_skill { name::check_id(open).is_ok() } else { name::check_case_id(open).is_ok() };
        let name = if is_name { open.to_owned() } else { name::segment(open) };
        let root = self.repository.root.as_path().into();
        let file = CaseFile { root, path: files.path_of(open), name };
        if self.layout.leaves_out(&file.path) {
            // Built-in cases never stand in for what is in the place of cases.
            let is_here = of_skill && self.repository.kind(&file.path) != FileKind::Missing;
            if let Some(skill) = self.catalog.skill_mut(&file.name).filter(|_| is_here) {
                skill.curated = true;
            }
            return;
        }
        let path = self.repository.root.join(&file.path);
        let found = self.repository.read(&file.path);
        self.catalog.add_sources(found.is_ok().then(|| file.path.clone()));
        let parsed = match found {
            Ok(_) if of_skill && self.catalog.skill(&file.name).is_none() => {
                FileCases { problems: vec![self.orphan(&file)], ..FileCases::default() }
            }
            Ok(bytes) => (files.parse)(&file, bytes, self.layout),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.repository.is_link(&path) => return,
            // `evals/skills/README.md` is not the directory of a skill. A file by the name of a skill stands where its cases belong.
            Err(error)
                if error.kind() == io::ErrorKind::NotADirectory
                    && !self.catalog.slugs().contains(&file.name.as_str()) =>
            {
                return;
            }
            Err(error) => {
                let problem = self.repository.unreadable(&path, &error.to_string());
                FileCases { problems: vec![problem], ..FileCases::default() }
            }
        };
        let parsed = parsed.bounded(&file.path);
        let errors = self.errors(parsed.problems);
        if of_skill && let Some(skill) = self.catalog.skill_mut(&file.name) {
            skill.curated = true;
        }
        if !errors.is_empty() {
            let (skill, id) = if of_skill { (&*file.name, base_name(&file.path)) } else { (NO_SKILL, &*file.name) };
            self.add(broken(format, skill, id, &file.path, errors));
        }
        for case in parsed.cases {
            if of_skill { self.add(case) } else { self.add_case(case) }
        }
    }

    /// What is said of cases at the place of a skill that is not here. It may be here by another name than that of its directory.
    fn orphan(&self, file: &CaseFile) -> Diagnostic {
        let unread = self.catalog.unread_skill(&file.name);
        let mut skills = self.catalog.skills.iter().map(FoundSkill::skill);
        let help = match skills.find(|skill| skill.folder.ends_with(&file.name)) {
            Some(skill) => {
                let (path, name) = (skill.folder.join(SKILL_FILE), &skill.name);
                Some(format!("{} is named {name:?}: give both the same name", path.display()))
            }
            None => unread.is_none().then(|| suggest(&file.name, &self.catalog.slugs())),
        };
        let message = unread.unwrap_or_else(|| format!("unknown skill slug `{}`", file.name));
        let problem = Diagnostic::new(Code::OrphanCases, SourceLocation::file(&file.path), message);
        let way_out = self.catalog.leave_out(&file.path);
        match help {
            Some(help) => problem.help(format!("{help}; {way_out}")),
            None => problem,
        }
    }

    /// Those of these problems of a file that are errors by the settings. The others break nothing: they are of the catalog.
    fn errors(&mut self, problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let (errors, others) = self.layout.judged(problems).into_iter().partition(Diagnostic::is_error);
        self.catalog.problems.extend::<Vec<_>>(others);
        errors
    }

    fn add(&mut self, case: FoundCase) {
        self.cases.entry(case.skill.clone()).or_default().push(case);
    }

    /// Adds a case if the skill that it names is here. Others wait until all are read.
    fn add_case(&mut self, found: FoundCase) {
        if let Some(skill) = self.catalog.skill_mut(&found.skill) {
            skill.curated = true;
            return self.add(found);
        }
        self.unknown.push(found);
    }

    /// Adds the cases whose skill is not here, as broken ones of [`NO_SKILL`], unless the settings allow that.
    fn add_unknown(&mut self) {
        let unknown = std::mem::take(&mut self.unknown);
        let files: BTreeSet<PathBuf> = unknown.iter().map(|found| found.file.to_path_buf()).collect();
        let read = self.read_files();
        for found in unknown {
            let problems = match found.case() {
                Ok(case) => {
                    let (problem, file) = (self.unknown_skill(&found, case), found.file.to_path_buf());
                    // To leave out the file would lose its other cases.
                    let way_out = if read.contains(&file) {
                        let way_out = self.catalog.written.warn_of(&[problem.code.as_str()]);
                        format!("if it is not about a skill, {way_out}")
                    } else {
                        self.catalog.leave_out(unread::left_out(&file, &files, &read))
                    };
                    let help = format!("{}; {way_out}", problem.help.as_deref().unwrap_or_default());
                    let problems = self.errors(vec![problem.help(help)]);
                    if problems.is_empty() {
                        self.catalog.passed_over.insert(file, FileStanding::NotCases);
                        continue;
                    }
                    problems
                }
                Err(problems) => problems.to_vec(),
            };
            let source = ReadCase::new(found.format(), Err(problems));
            self.add(FoundCase::new(found.id, NO_SKILL, found.file, found.line, source));
        }
    }

    /// The files of which a skill or a case is read.
    fn read_files(&self) -> BTreeSet<PathBuf> {
        let skills = self.catalog.skills.iter().map(|found| found.skill().folder.join(SKILL_FILE));
        let mut of_cases: Vec<&Arc<Path>> = self.cases.values().flatten().map(|found| &found.file).collect();
        of_cases.dedup_by(|one, other| Arc::ptr_eq(one, other));
        skills.chain(of_cases.into_iter().map(|file| file.to_path_buf())).collect()
    }

    /// What is said of a case that names no skill of the repository.
    fn unknown_skill(&self, found: &FoundCase, case: &Case) -> Diagnostic {
        let format = found.format().name;
        let message = if case.skill.is_empty() {
            format!("this {format} names no skill, and its file is in no skill's directory")
        } else {
            format!("this {format} names the skill `{}`, which is not here", case.skill)
        };
        let folder = evals_folder(&case.skill);
        let other = self.catalog.others.iter().find(|other| other.slug == case.skill);
        let help = if let Some(other) = other {
            format!("it is {}, which is not read", other.file.display())
        } else if let (true, Some(first)) = (self.catalog.skills.is_empty(), self.catalog.others.first()) {
            let (file, all) = (first.file.display(), self.catalog.others.len());
            format!("no skill is read here; {file} is one of {all} that are not: `lint --census` lists them")
        } else if self.repository.kind(&folder.join(SKILL_FILE)) == FileKind::File {
            format!("it lies in {}: {}", folder.display(), self.repository.roots_line(self.catalog, &[&folder]))
        } else {
            suggest(&case.skill, &self.catalog.slugs())
        };
        Diagnostic::new(Code::UnknownSkill, case.origin.clone(), message).help(help)
    }

    /// Adds what a walk of the repository finds: cases of other programs, and problems of files that look like our own and are
    /// not read. A process that runs one test does not walk if it has the case already.
    fn add_found_by_walk(&mut self) {
        if let Scope::Test { skill, case } = self.scope {
            let mut of_skill = self.cases.iter().filter(|(slug, _)| name::segment(slug) == skill);
            if of_skill.any(|(_, cases)| cases.iter().any(|found| name::segment(&found.id) == case)) {
                return self.add_unknown();
            }
        }
        let mut files = unread::walk(self.repository, self.catalog, self.layout);
        let problems = std::mem::take(&mut files.problems);
        self.catalog.problems.extend(self.repository.without_links_to_skills(problems, self.catalog));
        self.name_other_skills(&files.skills);
        let index = SkillIndex::of(self.catalog);
        self.leave_to_other_skills(&mut files, &index);
        files.foreign.retain(|path| !self.own_files.contains_key(path));
        files.foreign.extend(self.own_files.keys().cloned());
        if matches!(self.scope, Scope::All) {
            let findings = self.repository.findings(self.catalog);
            self.catalog.problems.extend(findings);
        }
        let (tasks, warning) = unread::harbor_tasks(&files.foreign);
        self.catalog.problems.extend(warning);
        // Harbor's own files: the two of a task, and its directories. Other files next to them may be cases.
        let is_own = |path: &PathBuf| {
            let is_file = unread::HARBOR.iter().any(|name| path.ends_with(name));
            path.ancestors().skip(if is_file { 1 } else { 2 }).any(|folder| tasks.contains(folder))
        };
        let (own, foreign): (Vec<_>, Vec<_>) = std::mem::take(&mut files.foreign).into_iter().partition(is_own);
        let foreign = self.once_for_each_skill(foreign, &index);
        let (read, left): (Vec<_>, Vec<_>) = foreign
            .into_iter()
            .map(|path| (self.parse_foreign(&path, &index), path))
            .partition(|(read, _)| read.is_some());
        let left: Vec<PathBuf> = left.into_iter().map(|(_, path)| path).collect();
        let (mut claimed, mut parts) = (BTreeSet::new(), BTreeSet::new());
        for (parsed, path) in read.iter().filter_map(|(read, path)| Some((&read.as_ref()?.1, path))) {
            let of_file = parsed.claimed();
            let folder = path.parent().filter(|_| files.placed.contains(path));
            let is_inside = |part: &Path| folder.is_some_and(|folder| part.starts_with(folder) && part != folder);
            let is_part = |part: &&PathBuf| *part != path && is_inside(part);
            parts.extend(of_file.iter().filter(is_part).cloned());
            let lead: Arc<Path> = path.as_path().into();
            self.catalog.sources.extend(of_file.iter().chain([path]).map(|part| (part.clone(), Arc::clone(&lead))));
            claimed.extend(of_file);
        }
        for (read, path) in read {
            // A part of the cases of another file, as one that the agent gets, has none of its own.
            let is_part = name_certainty(&path) != Some(true) && path.ancestors().any(|part| parts.contains(part));
            if let Some((format, parsed)) = read.filter(|_| !is_part) {
                self.add_foreign(format, &path, parsed, &index);
            }
            claimed.insert(path);
        }
        self.pass_over(&mut files, tasks, &index);
        claimed.extend(own);
        files.elsewhere.extend(left);
        let of_cases: HashSet<&Path> = claimed.iter().map(PathBuf::as_path).collect();
        files.elsewhere.retain(|path| !path.ancestors().any(|part| of_cases.contains(part)));
        self.add_unknown();
        self.add_unread(files, &claimed, &index);
    }

    /// Notes what is not read: tasks of Harbor, and what the settings leave out of what looks like cases.
    fn pass_over(&mut self, files: &mut FoundFiles, tasks: BTreeSet<PathBuf>, index: &SkillIndex) {
        self.catalog.passed_over.extend(tasks.into_iter().map(|task| (task, FileStanding::NotRead)));
        self.catalog.closed.append(&mut files.closed);
        if !matches!(self.scope, Scope::All) {
            return;
        }
        let (placed, slugs) = (BTreeSet::new(), self.slugs());
        let is_ours = |path: &Path| file_formats().any(|(_, files)| files.have(path)) || unread::is_nearly_ours(path);
        let is_one = |path: &PathBuf| {
            let is_named = unread::is_placed(path) || is_ours(path) || path.ends_with(SKILL_FILE);
            let is_example = || index.is_in_skill(path, self.catalog) && !is_in_cases(path);
            is_named
                || self.own_files.contains_key(path)
                || name_certainty(path).is_some()
                || !is_example() && self.candidate(path, &placed, &slugs).is_some()
        };
        files.not_cases.retain(is_one);
        self.note_unused_settings(files);
        // It is listed as read.
        files.not_cases.retain(|path| !self.own_files.contains_key(path));
        self.catalog.passed_over.extend(files.not_cases.drain(..).map(|path| (path, FileStanding::NotCases)));
    }

    /// Notes keys of own formats that no file has, patterns that leave out nothing, and files that are left out and read.
    fn note_unused_settings(&mut self, files: &FoundFiles) {
        let is_read = |format: &&OwnFormat| self.own_files.values().flatten().any(|read| read.name == format.name);
        let unused = unused_fields(self.layout.formats.iter().filter(is_read), &self.used);
        self.catalog.problems.extend(unused);
        let both = self.own_files.iter().filter(|(path, _)| files.not_cases.contains(path));
        let both = both.flat_map(|(path, formats)| formats.iter().map(move |format| (path.display(), format)));
        self.catalog.problems.extend(both.map(|(path, format)| {
            let message =
                format!("{path} is read, by the format `{}`, although `not_cases` leaves it out", format.name);
            let problem = Diagnostic::new(Code::UnusedSetting, format.place.clone(), message);
            problem.help("name it in one of the two")
        }));
        self.catalog.problems.extend(self.layout.unused_patterns(&files.not_cases));
    }

    /// The slugs of all skills, those that are not read too.
    fn slugs(&self) -> SkillWords<'_> {
        let others = self.catalog.others.iter().map(|other| &*other.slug);
        SkillWords::new(self.catalog.slugs().into_iter().chain(others))
    }

    /// Leaves out the files of skills that are not read, and what a skill has as examples.
    fn leave_to_other_skills(&mut self, files: &mut FoundFiles, index: &SkillIndex) {
        // A skill may have examples of anything.
        let is_example = |path: &Path| may_be_case(path) && !is_in_cases(path) && index.is_in_skill(path, self.catalog);
        files.elsewhere.retain(|path| index.other_of(path, self.catalog).is_none() && !is_example(path));
        let of_others = files.foreign.iter().filter_map(|path| Some((path, index.other_of(path, self.catalog)?)));
        let of_others: BTreeMap<PathBuf, usize> = of_others.map(|(path, at)| (path.clone(), at)).collect();
        files.foreign.retain(|path| !of_others.contains_key(path));
        let slugs = self.slugs();
        let has_cases = |path: &Path, at: usize| {
            let is_read = || self.parse_foreign(path, index).is_some();
            let is_one = || is_read() || self.candidate(path, &files.placed, &slugs).is_some();
            may_be_case(path) && !self.is_copied(at, path) && is_one()
        };
        let with_cases: Vec<_> = of_others.iter().filter(|(path, at)| has_cases(path, **at)).collect();
        for (path, at) in with_cases {
            self.catalog.others[*at].case_files += 1;
            self.catalog.passed_over.insert(path.clone(), FileStanding::NotRead);
        }
    }

    /// Whether the skill of which a skill that is not read is a copy has the same file, too.
    fn is_copied(&self, other: usize, path: &Path) -> bool {
        let other = &self.catalog.others[other];
        let read = |path: &Path| self.repository.read(path).ok();
        other.why == NotRead::Copy
            && self.catalog.skill(&other.slug).is_some_and(|known| {
                let inside = path.strip_prefix(other.folder());
                inside.is_ok_and(|inside| read(path) == read(&known.skill().folder.join(inside)))
            })
    }

    /// Adds what is named SKILL.md and no skill.
    fn name_other_skills(&mut self, files: &[PathBuf]) {
        let folders = self.catalog.skills.iter().map(|found| found.skill().folder.clone()).collect();
        let of = |file: &PathBuf| skills::other_skill(file, self.catalog, &folders, self.repository);
        let mut others: Vec<OtherSkill> = files.iter().filter_map(of).collect();
        let ignored = self.ignored(others.iter().map(|other| other.file.clone()));
        others.iter_mut().filter(|other| ignored.contains(&other.file)).for_each(|other| other.why = NotRead::Ignored);
        self.catalog.others = others;
    }

    /// Those of these files that git ignores.
    fn ignored(&mut self, files: impl Iterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
        let files: BTreeSet<PathBuf> = files.collect();
        let ask = self.layout.ignored.filter(|_| !files.is_empty());
        match ask.map(|ask| ask(&self.repository.root, &files)) {
            Some(Ok(ignored)) => ignored,
            Some(Err(error)) => {
                self.catalog.problems.push(self.repository.unreadable(&self.repository.root, &error.to_string()));
                BTreeSet::new()
            }
            None => BTreeSet::new(),
        }
    }

    /// These paths without those that lead to a file of another one, by a link: of the paths that stand for one skill, or for none if
    /// others stand for one, the first. Files of our own formats are read already.
    fn once_for_each_skill(&self, mut paths: Vec<PathBuf>, index: &SkillIndex) -> Vec<PathBuf> {
        let is_link = |path: &Path| self.repository.kind(path) == FileKind::Symlink;
        let mut own: Vec<&Arc<Path>> = self.cases.values().flatten().map(|found| &found.file).collect();
        // The cases of a file share its path, and there may be very many.
        own.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let linked = own.into_iter().filter(|path| is_link(path));
        let linked: BTreeSet<PathBuf> =
            linked.filter_map(|path| self.repository.root.join(path).canonicalize().ok()).collect();
        if linked.is_empty() && !paths.iter().any(|path| is_link(path)) {
            return paths;
        }
        let root = self.repository.root.canonicalize().unwrap_or_default();
        let is_own = |file: &Path| {
            let path = file.strip_prefix(&root).unwrap_or(file);
            linked.contains(file) || file_formats().any(|(_, files)| files.have(path))
        };
        let skill = |path: &PathBuf| index.skill_of(path, self.catalog);
        paths.sort_by_cached_key(|path| (skill(path).is_none(), is_link(path)));
        let mut seen: BTreeSet<(PathBuf, Option<String>)> = BTreeSet::new();
        paths.retain(|path| {
            let file = self.repository.root.join(path).canonicalize().unwrap_or_else(|_| path.clone());
            if is_own(&file) || unread::is_part_of_case(path) {
                return !is_own(&file);
            }
            let skill = skill(path);
            let is_known = skill.is_none() && seen.iter().any(|(known, _)| *known == file);
            !is_known && seen.insert((file, skill))
        });
        paths
    }

    /// The format and the cases of a file that may hold another program's cases, if it does.
    fn parse_foreign(&self, path: &Path, index: &SkillIndex) -> Option<(&'static CaseFormat, FileCases)> {
        let skill = index.skill_of(path, self.catalog);
        let (skill, skills, tree) = (skill.as_deref(), &self.catalog.slugs()[..], self.repository);
        let directories = self.catalog.skills.iter().map(FoundSkill::skill);
        let directories = directories.map(|skill| (&*skill.folder, &*skill.slug));
        let directories = &directories.collect::<Vec<_>>()[..];
        let (own_keys, formats) = (self.layout.own_keys, self.own_files.get(path).map_or(&[][..], Vec::as_slice));
        let file = ForeignFile { skill, skills, directories, own_keys, formats, ..ForeignFile::at(path, tree) };
        match self.repository.read(path) {
            Ok(bytes) => {
                let read = file.read(&bytes)?;
                let names_none = |found: &FoundCase| found.case().is_ok_and(|case| case.skill.is_empty());
                // What names no skill is for the one around it: other skills may be in the directory of one, as in the root.
                let around = file.skill_around().filter(|_| skill.is_none() && read.1.cases.iter().any(names_none));
                if around.is_some() { ForeignFile { skill: around, ..file }.read(&bytes) } else { Some(read) }
            }
            Err(error) => file.claimed_by("").map(|format| {
                let problem = self.repository.unreadable(&self.repository.root.join(path), &error.to_string());
                (format, FileCases { problems: vec![problem], ..FileCases::default() })
            }),
        }
    }

    fn add_foreign(&mut self, format: &'static CaseFormat, path: &Path, parsed: FileCases, index: &SkillIndex) {
        let parsed = parsed.bounded(path);
        self.used.extend(parsed.used);
        let errors = parsed.problems.into_iter().map(|problem| self.with_way_out(problem)).collect();
        let errors = self.errors(errors);
        if !errors.is_empty() {
            let skill = index.skill_of(path, self.catalog);
            let skill = skill.filter(|slug| self.catalog.skill_mut(slug).map(|found| found.curated = true).is_some());
            self.add(broken(format, skill.as_deref().unwrap_or(NO_SKILL), &path_id(path), path, errors));
        }
        if !parsed.cases.is_empty() && parsed.cases.iter().all(|case| &*case.file != path) {
            self.catalog.passed_over.insert(path.to_path_buf(), FileStanding::Read);
        }
        for mut case in parsed.cases {
            let problems = case.source.file_problems();
            if problems.iter().any(|problem| problem.code == Code::MisplacedCases) {
                let problems = problems.iter().cloned().map(|problem| self.with_way_out(problem)).collect();
                case.source = Arc::new(ReadCase::new(case.format(), Err(problems)));
            }
            self.add_case(case);
        }
    }

    /// The problem of a file, with the setting that leaves out the file if it is in a wrong place.
    fn with_way_out(&self, problem: Diagnostic) -> Diagnostic {
        if problem.code != Code::MisplacedCases {
            return problem;
        }
        let way_out = self.catalog.leave_out(&problem.place.path);
        helped(problem, &way_out)
    }

    /// Reports files that look like cases and are not read. If that is an error, there is one broken case for those of a skill, and one
    /// for each that is of no known skill. No built-in cases run for such a skill: they would pass in place of what the files ask.
    fn add_unread(&mut self, files: FoundFiles, read: &BTreeSet<PathBuf>, index: &SkillIndex) {
        let scope = self.scope;
        let lacks_cases = |found: &FoundSkill| !found.curated && scope.wants_skill(&found.skill().slug);
        if !matches!(scope, Scope::All) && !self.catalog.skills.iter().any(lacks_cases) {
            return;
        }
        let unread = self.unread_files(files, read, index).into_iter();
        let unread = unread.filter(|file| file.skill.as_deref().is_none_or(|slug| scope.wants_skill(slug)));
        let judged = |UnreadFile { skill, problem }| (skill, self.layout.judged(vec![problem]).remove(0));
        let (errors, warnings): (Vec<_>, Vec<_>) = unread.map(judged).partition(|(_, problem)| problem.is_error());
        let mut broken_of: BTreeMap<Option<String>, Vec<Diagnostic>> = BTreeMap::new();
        self.catalog.problems.extend(errors.iter().map(|(_, problem)| problem.clone()));
        for (skill, problem) in errors {
            broken_of.entry(skill).or_default().push(problem);
        }
        let lacking = |slug: &String| self.catalog.skill(slug).is_some_and(lacks_cases);
        for UnreadFile { skill, problem } in unread::orphans(self.catalog, &self.cases) {
            if skill.as_ref().is_some_and(lacking) {
                broken_of.entry(skill).or_default().push(problem);
            }
        }
        let named = warnings.into_iter().map(|(skill, problem)| {
            let lacking = skill.as_ref().filter(|slug| lacking(slug) && !broken_of.contains_key(&skill));
            let Some(slug) = lacking else { return problem };
            let message = format!("{}; `{slug}` has no other cases, so its built-in ones run", problem.message);
            Diagnostic { message, ..problem }
        });
        let named: Vec<Diagnostic> = named.collect();
        self.catalog.problems.extend(named);
        for (skill, problems) in broken_of {
            let Some(slug) = skill else {
                for problem in problems {
                    let path = problem.place.path.clone();
                    self.add(broken(FORMATS[0], NO_SKILL, &path_id(&path), &path, vec![problem]));
                }
                continue;
            };
            if let Some(found) = self.catalog.skill_mut(&slug) {
                found.curated = true;
            }
            let (file, path) = (files_of_skill(&slug).next().unwrap_or_default(), problems[0].place.path.clone());
            self.add(broken(FORMATS[0], &slug, base_name(&file), &path, problems));
        }
    }

    /// The files that look like cases and are not read.
    fn unread_files(&self, mut files: FoundFiles, read: &BTreeSet<PathBuf>, index: &SkillIndex) -> Vec<UnreadFile> {
        let mut elsewhere = std::mem::take(&mut files.elsewhere);
        // One test needs no warnings.
        elsewhere.retain(|path| matches!(self.scope, Scope::All) || files.placed.contains(path));
        let slugs = self.slugs();
        let mut unread = unread::misplaced(self.repository, self.catalog, files.others(), read, index);
        let path = |file: &UnreadFile| file.problem.place.path.clone();
        let ours: BTreeSet<PathBuf> = unread.iter().map(path).filter(|path| unread::is_nearly_ours(path)).collect();
        let candidates = elsewhere.into_iter().filter(|path| !ours.contains(path)).filter_map(|path| {
            let problem = self.candidate(&path, &files.placed, &slugs)?;
            Some(UnreadFile { skill: index.skill_of(&path, self.catalog), problem })
        });
        let candidates: Vec<UnreadFile> = candidates.collect();
        let named: BTreeSet<PathBuf> = candidates.iter().map(path).collect();
        unread.retain(|file| ours.contains(&file.problem.place.path) || !named.contains(&file.problem.place.path));
        unread.extend(candidates);
        let (all, read) = (unread.iter().map(path).collect(), self.read_files());
        let with_way_out = |UnreadFile { skill, problem }| {
            let way_out = self.catalog.leave_out(unread::left_out(&problem.place.path, &all, &read));
            UnreadFile { skill, problem: helped(problem, &way_out) }
        };
        unread.into_iter().map(with_way_out).collect()
    }

    /// The problem of a file that no format reads, if it holds cases.
    fn candidate(&self, path: &Path, placed: &BTreeSet<PathBuf>, skills: &SkillWords<'_>) -> Option<Diagnostic> {
        let is_of_skill = || {
            let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
            let is_evals = |name: &str| path == evals_folder(name).join(base_name(path));
            folder.is_some_and(|name| self.catalog.skill(name).is_some() || is_evals(name))
        };
        let place = match placed.contains(path) {
            true if is_direct(path) || is_of_skill() => CandidatePlace::Direct,
            true => CandidatePlace::Cases,
            false => CandidatePlace::Elsewhere,
        };
        match self.repository.read(path) {
            Ok(bytes) => Candidate { path, bytes: &bytes, place, skills }.problem(),
            // A commit has nothing of what is outside.
            Err(_) if place == CandidatePlace::Elsewhere || inside::leads_out(&self.repository.root, path) => None,
            Err(error) => Some(self.repository.unreadable(&self.repository.root.join(path), &error.to_string())),
        }
    }

    fn add_smoke_cases(&mut self) {
        let schema = RelativePath::parse(RESPONSE_SCHEMA).ok();
        let schema = schema.filter(|path| self.repository.kind(path.as_path()) == FileKind::File);
        for found in self.catalog.skills.iter().filter(|found| !found.curated) {
            let skill = found.skill();
            if !self.scope.wants_skill(&skill.slug) {
                continue;
            }
            for case in smoke::cases(skill, schema.as_ref()) {
                let (id, file) = (case.id.clone(), skill.folder.join(SKILL_FILE));
                let case = ReadCase::new(&smoke::FORMAT, Ok(case));
                let found = FoundCase::new(id, &*skill.slug, file, 1, case);
                self.cases.entry(found.skill.clone()).or_default().push(found);
            }
        }
    }
}

/// The problem with one more thing to do.
fn helped(problem: Diagnostic, way_out: &str) -> Diagnostic {
    match problem.help.clone() {
        Some(help) => problem.help(format!("{help}; {way_out}")),
        None => problem.help(way_out),
    }
}

fn base_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Gives cases of several files of other programs whose ids are alike longer ones: with the whole name of the file, then with the
/// directories around it. The ids of all other cases stay as they are.
fn name_apart(cases: &mut [FoundCase]) {
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, found) in cases.iter().enumerate() {
        alike.entry(name::segment(&found.id)).or_default().push(at);
    }
    let mut taken: HashSet<String> = alike.keys().cloned().collect();
    for group in alike.into_values().filter(|group| group.len() > 1) {
        let files: BTreeSet<&Path> = group.iter().map(|at| &*cases[*at].file).collect();
        let is_foreign =
            |at: &usize| cases[*at].format().foreign.is_some() && cases[*at].source.file_problems().is_empty();
        if files.len() < group.len() || !group.iter().all(is_foreign) {
            continue;
        }
        let deepest = files.iter().map(|file| file.components().count()).max().unwrap_or_default();
        let longer = |depth: usize| group.iter().map(|at| longer_id(&cases[*at], depth)).collect::<Vec<String>>();
        let is_free = |ids: &Vec<String>| {
            let new: BTreeSet<String> = ids.iter().map(|id| name::segment(id)).collect();
            new.len() == ids.len() && new.iter().all(|id| !taken.contains(id))
        };
        let Some(ids) = (0..deepest).map(longer).find(is_free) else { continue };
        taken.extend(ids.iter().map(|id| name::segment(id)));
        group.iter().zip(ids).for_each(|(at, id)| cases[*at].id = id);
    }
}

/// The id of a case with the whole name of its file in place of the start of it, and with so many directories around the file.
fn longer_id(found: &FoundCase, depth: usize) -> String {
    let stem = found.file.file_stem().unwrap_or_default().to_string_lossy();
    let start = stem.split('.').find(|part| !part.is_empty()).unwrap_or_default();
    let rest = found.id.strip_prefix(start).map_or(&*found.id, |rest| rest.trim_start_matches('-'));
    let around: Vec<_> = found.file.parent().into_iter().flatten().map(OsStr::to_string_lossy).collect();
    let around = &around[around.len().saturating_sub(depth)..];
    let parts = around.iter().map(|part| &**part).chain([&*stem, rest]);
    id_of(&parts.collect::<Vec<_>>().join("-"))
}

/// Replaces every case whose test name an earlier case has by a broken one with a unique name.
fn mark_duplicates(cases: &mut [FoundCase], tree: &dyn RepoFiles) {
    let mut first: HashMap<String, usize> = HashMap::with_capacity(cases.len());
    let mut duplicates = Vec::new();
    for (at, found) in cases.iter().enumerate() {
        match first.entry(name::segment(&found.id)) {
            Entry::Vacant(free) => _ = free.insert(at),
            Entry::Occupied(taken) => duplicates.push((at, *taken.get())),
        }
    }
    // The new name of a duplicate may be the id of a later case, so all ids are collected before.
    for (at, taken) in duplicates {
        let (found, taken) = (&cases[at], &cases[taken]);
        let place = found.source.place("id", None, tree).unwrap_or_else(|| SourceLocation {
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
        let id = format!("{}-line-{}", found.id, found.line);
        // Thousands of cases may be on one line.
        let numbered = (at + 1..).map(|number| format!("-case-{number}"));
        let ends = [String::new(), "-again".to_owned()].into_iter().chain(numbered);
        let is_free = |id: &String| !first.contains_key(&name::segment(id));
        let id = ends.map(|end| format!("{id}{end}")).find(is_free).unwrap_or_default();
        first.insert(name::segment(&id), at);
        // A case that is broken before it is read has one cause: its id may be made up.
        let is_named = found.source.file_problems().is_empty();
        let others = found.case().err().unwrap_or_default().iter().cloned();
        let problems = is_named.then_some(problem).into_iter().chain(others).collect();
        let source = ReadCase::new(found.format(), Err(problems));
        cases[at] = FoundCase::new(id, found.skill.clone(), found.file.clone(), found.line, source);
    }
}
