//! The skills of a repository and their cases, those in Rust too.

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cases::case::task_json::{self, CONFIG};
use crate::cases::case::{Case, CaseFormat, FORMATS, FoundCase, ReadCase, fields, smoke};
use crate::cases::case_folders::case_folders_of;
use crate::cases::mocks::MockServers;
use crate::cases::other_skill::{FileStanding, NotRead, OtherSkill};
use crate::cases::plugin::Plugin;
use crate::settings::WrittenSettings;
use crate::settings::mode::{Delivery, Mode};
use crate::skill::{SKILL_FILE, Skill, SkillFile, named, slug};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::name;
use crate::text::problem::Problem;

pub use crate::cases::case_folders::{EVALS, SKILL_EVALS, evals_folder};

/// The schema that answers in built-in cases must follow if it exists, from the repository's root.
pub const RESPONSE_SCHEMA: &str = "evals/schemas/skill_response.schema.json";

/// What runs leave, from the repository's root: no skills or cases are in it.
pub const ARTIFACTS: &str = "artifacts";

/// The file of cases that `init` and `generate` write into the skill's directory in [`SKILL_EVALS`].
pub const PROMPTS: &str = "prompts.csv";

/// The first part of the test's name of a case whose skill is not here.
pub(super) const NO_SKILL: &str = "tasks";

/// The skills and cases of a repository, in a fixed order.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The skills, by slug.
    pub skills: Vec<FoundSkill>,
    /// The cases, by skill, then in the order of their files.
    pub cases: Vec<Arc<FoundCase>>,
    /// The files named SKILL.md that are no skills here, by path.
    pub others: Vec<OtherSkill>,
    /// The files that no case is in and no skill: those that led to cases in others, and those that are not read.
    pub passed_over: BTreeMap<PathBuf, FileStanding>,
    /// The directories that are not searched: installed packages, what is built.
    pub closed: Vec<PathBuf>,
    /// Problems that belong to no single case: unreadable files, duplicate slugs, cases without a skill.
    pub problems: Vec<Diagnostic>,
    /// The files and directories that it was made from besides skills, each with the file that led to it, often itself.
    pub sources: BTreeMap<PathBuf, Arc<Path>>,
    /// What the settings file has, for whoever says what to write there.
    pub(crate) written: WrittenSettings,
    /// What is answered from files in place of MCP servers, as far as somebody asked.
    pub mock_servers: MockServers,
}

/// A skill of a repository.
#[derive(Debug)]
pub struct FoundSkill {
    /// Its SKILL.md, parsed.
    pub file: SkillFile,
    /// The content of its SKILL.md.
    pub bytes: Vec<u8>,
    /// Whether it has cases of its own rather than the built-in ones.
    pub curated: bool,
    /// The plugin that it belongs to.
    pub plugin: Option<Arc<Plugin>>,
}

impl FoundSkill {
    pub fn skill(&self) -> &Skill {
        &self.file.skill
    }

    /// The plugin with which the agent of a trial gets the skill. One without plugins gets the skill's directory, and so does the
    /// agent of a case that changes skills during the session.
    pub fn plugin_for(&self, mode: &Mode, case: &Case) -> Option<&Arc<Plugin>> {
        let has_plugins = mode.delivery == Delivery::Native && mode.agent.profile().plugins.is_some();
        self.plugin.as_ref().filter(|_| has_plugins && case.during.is_empty())
    }

    /// Its name in the list of an agent that gets it with this plugin.
    pub fn name_in(&self, plugin: &Plugin) -> String {
        plugin.name_of(&self.skill().folder, &self.skill().name)
    }

    /// The directory of its eval material, from the repository's root.
    pub fn evals(&self) -> PathBuf {
        evals_folder(&self.file.skill.slug)
    }
}

impl Catalog {
    /// The skill with this slug.
    pub fn skill(&self, slug: &str) -> Option<&FoundSkill> {
        self.skills.get(self.position(slug)?)
    }

    /// The skill with this name, or what is wrong and what to write instead.
    pub fn named_skill(&self, name: &str) -> Result<&FoundSkill, Problem> {
        let slug = named(name);
        self.skill(&slug).ok_or_else(|| self.unknown_skill(name).into())
    }

    /// What is said of the name of a skill that is not here.
    pub fn unknown_skill(&self, name: &str) -> String {
        let slug = named(name);
        let unknown = || format!("unknown skill `{name}`; {}", suggest(&slug, &self.slugs()));
        self.unread_skill(&slug).unwrap_or_else(unknown)
    }

    /// The skill at this path from the repository's root: its directory, that of its cases, or a file of either.
    pub fn skill_at(&self, path: &str) -> Option<&FoundSkill> {
        let path = Path::new(path.strip_prefix("./").unwrap_or(path));
        let is_it = |folder: &Path| path == folder || path.parent() == Some(folder);
        let of_skill = |found: &&FoundSkill| {
            let folder = &found.skill().folder;
            !folder.as_os_str().is_empty() && (is_it(folder) || is_it(&found.evals()))
        };
        self.skills.iter().find(of_skill).filter(|_| path.components().count() > 1)
    }

    /// Why the skill with this slug is not here, if it is in the repository and cannot be read.
    pub fn unread_skill(&self, slug: &str) -> Option<String> {
        let file = Path::new(slug).join(SKILL_FILE);
        let is_it = |path: &Path| path.ends_with(&file) || path.ends_with(slug);
        let why =
            self.problems.iter().find(|problem| problem.code == Code::Unreadable && is_it(&problem.place.path))?;
        Some(format!("the skill `{slug}` is not known: {}: {}", why.place.path.display(), why.message))
    }

    /// The setting that leaves out what is at a path, if it holds no cases.
    pub(super) fn leave_out(&self, path: &Path) -> String {
        let way_out = self.written.add("not_cases", &[&path.display().to_string()]);
        format!("if it holds no cases of skills, {way_out}")
    }

    pub(super) fn skill_mut(&mut self, slug: &str) -> Option<&mut FoundSkill> {
        let position = self.position(slug)?;
        self.skills.get_mut(position)
    }

    /// Adds files that nothing else led to.
    pub(super) fn add_sources(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        self.sources.extend(paths.into_iter().map(|path| (path.clone(), path.into())));
    }

    fn position(&self, slug: &str) -> Option<usize> {
        self.skills.binary_search_by(|found| found.skill().slug.as_str().cmp(slug)).ok()
    }

    /// The slugs of its skills.
    pub fn slugs(&self) -> Vec<&str> {
        self.skills.iter().map(|found| found.skill().slug.as_str()).collect()
    }

    /// The slug of the skill in each directory that has one, read or not.
    pub(super) fn slugs_by_folder(&self) -> impl Iterator<Item = (&Path, &str)> {
        let skills = self.skills.iter().map(|found| (&*found.skill().folder, &*found.skill().slug));
        skills.chain(self.others.iter().map(|other| (other.folder(), &*other.slug)))
    }

    /// The cases of the skill with this slug.
    pub fn cases_of<'a>(&'a self, slug: &'a str) -> impl Iterator<Item = &'a Arc<FoundCase>> {
        let first = self.cases.partition_point(|case| &*case.skill < slug);
        self.cases[first..].iter().take_while(move |case| &*case.skill == slug)
    }
}

// Which skill a file is for, by its place.

/// The skills in and under each directory of a repository.
pub(super) struct SkillIndex {
    /// The directories of skills.
    skills: HashMap<PathBuf, SkillPlace>,
    /// The directories above them, without the root: the skill in it, if it is the only one.
    around: HashMap<PathBuf, Option<SkillPlace>>,
    /// The directories directly above them, without the root.
    holders: HashSet<PathBuf>,
    /// What is known of each directory that was asked about.
    asked: RefCell<HashMap<PathBuf, FolderPlace>>,
}

/// What the path of a directory says of the files directly in it.
#[derive(Clone)]
enum FolderPlace {
    /// They are for this skill: it is in the directory or around it.
    Inside(SkillPlace),
    /// The name of this skill is a part of the path, or a name is where that of a skill belongs.
    Named(Option<SkillPlace>),
    /// They are for the only skill around them, if there is one, unless their own names say more.
    Around(Option<SkillPlace>),
}

/// A skill of the catalog by its slug, or the number of one that is not read.
#[derive(Clone, PartialEq)]
enum SkillPlace {
    Skill(String),
    Other(usize),
}

impl SkillIndex {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let (skills, around, holders, asked) = Default::default();
        let mut index = Self { skills, around, holders, asked };
        for found in &catalog.skills {
            index.add(&found.skill().folder, &SkillPlace::Skill(found.skill().slug.clone()));
        }
        for (at, other) in catalog.others.iter().enumerate() {
            // The cases around a fixture are for others.
            if other.why == NotRead::Fixture || other.folder().iter().any(|part| part == "tests" || part == "test") {
                index.skills.insert(other.folder().to_path_buf(), SkillPlace::Other(at));
            } else {
                index.add(other.folder(), &SkillPlace::Other(at));
            }
        }
        index
    }

    fn add(&mut self, folder: &Path, place: &SkillPlace) {
        let holder = folder.parent().filter(|holder| !holder.as_os_str().is_empty());
        self.holders.extend(holder.map(Path::to_path_buf));
        self.skills.entry(folder.to_path_buf()).or_insert_with(|| place.clone());
        for above in folder.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let only = self.around.entry(above.to_path_buf()).or_insert_with(|| Some(place.clone()));
            if only.as_ref() != Some(place) {
                *only = None;
            }
        }
    }

    /// The skill that a path is for: the one whose directory holds it, whose name is a part of it, or the only one in the nearest
    /// directory around it that has any.
    fn place(&self, path: &Path, catalog: &Catalog) -> Option<SkillPlace> {
        let own = || path.file_name().and_then(|name| named_in(name, catalog));
        match self.place_of_folder(path, catalog) {
            FolderPlace::Inside(place) => Some(place),
            FolderPlace::Around(_) if path.to_str().is_some_and(|path| path.ends_with(".prompts.csv")) => own(),
            FolderPlace::Named(place) | FolderPlace::Around(place) => own().or(place),
        }
    }

    /// What the directory of a file says, searched once.
    fn place_of_folder(&self, path: &Path, catalog: &Catalog) -> FolderPlace {
        let folder = path.parent().unwrap_or(Path::new(""));
        let known = self.asked.borrow().get(folder).cloned();
        known.unwrap_or_else(|| {
            let found = self.folder_place(folder, catalog);
            self.asked.borrow_mut().insert(folder.to_path_buf(), found.clone());
            found
        })
    }

    fn folder_place(&self, folder: &Path, catalog: &Catalog) -> FolderPlace {
        let folders = || folder.ancestors().filter(|part| !part.as_os_str().is_empty());
        if let Some(place) = folders().find_map(|folder| self.skills.get(folder)) {
            return FolderPlace::Inside(place.clone());
        }
        let named = folder.iter().rev().find_map(|name| named_in(name, catalog));
        if named.is_some() || self.names_unknown(folder) {
            return FolderPlace::Named(named);
        }
        let only = || catalog.skills.first().filter(|_| catalog.skills.len() == 1);
        let only = || only().map(|found| SkillPlace::Skill(found.skill().slug.clone()));
        FolderPlace::Around(folders().find_map(|folder| self.around.get(folder)).cloned().unwrap_or_else(only))
    }

    /// Whether a directory that no skill's name is a part of has a name where that of a skill belongs.
    fn names_unknown(&self, folder: &Path) -> bool {
        let is_known = |folder: &Path| self.skills.contains_key(folder) || self.around.contains_key(folder);
        let is_next_to_skills = |folder: &Path| folder.parent().is_some_and(|holder| self.holders.contains(holder));
        let in_skill_evals = folder.strip_prefix(SKILL_EVALS).is_ok_and(|inside| inside.iter().next().is_some());
        let mut around = case_folders_of(folder);
        in_skill_evals || around.any(|folder| !is_known(folder) && is_next_to_skills(folder))
    }

    /// Whether a file is in the directory of a skill.
    pub(super) fn is_in_skill(&self, path: &Path, catalog: &Catalog) -> bool {
        matches!(self.place_of_folder(path, catalog), FolderPlace::Inside(_))
    }

    /// The slug of the skill that the place of a file stands for.
    pub(super) fn skill_of(&self, path: &Path, catalog: &Catalog) -> Option<String> {
        match self.place(path, catalog)? {
            SkillPlace::Skill(slug) => Some(slug),
            SkillPlace::Other(_) => None,
        }
    }

    /// The number of the skill that is not read and that a file is for.
    pub(super) fn other_of(&self, path: &Path, catalog: &Catalog) -> Option<usize> {
        if let SkillPlace::Other(at) = self.place(path, catalog)? { Some(at) } else { None }
    }
}

/// The skill that a name in a path is of, by the part before its first dot.
fn named_in(name: &OsStr, catalog: &Catalog) -> Option<SkillPlace> {
    let slug = slug(name.to_string_lossy().split('.').next().unwrap_or_default());
    catalog.skill(&slug).is_some().then_some(SkillPlace::Skill(slug))
}

// Cases that a harness has in Rust: as task files would have them, and in no file.

/// A case in Rust.
#[derive(Clone, Debug)]
pub struct RustCase {
    /// The slug of the skill under test.
    pub skill: String,
    /// The case's id.
    pub id: String,
    /// Where the harness adds it.
    pub place: SourceLocation,
    /// Its fields, by their names in any format of ours.
    pub fields: Map<String, Value>,
}

/// What tells cases apart in names of tests.
fn test_name(skill: &str, id: &str) -> (String, String) {
    (skill.to_owned(), name::segment(id))
}

fn place_of(found: &FoundCase) -> SourceLocation {
    SourceLocation { line: found.line, column: 1, ..SourceLocation::file(&*found.file) }
}

impl RustCase {
    /// Takes its test name. If an earlier case has it, the case gets another one and is an error.
    fn unique(&mut self, taken: &mut HashMap<(String, String), SourceLocation>) -> Result<(), Vec<Diagnostic>> {
        let earlier = match taken.entry(test_name(&self.skill, &self.id)) {
            Entry::Vacant(free) => {
                free.insert(self.place.clone());
                return Ok(());
            }
            Entry::Occupied(earlier) => earlier.get().clone(),
        };
        let message = format!("the case id `{}` of the skill `{}` is taken by {earlier}", self.id, self.skill);
        let again = (2..).map(|number| format!("{}-again-{number}", self.id));
        let is_free = |id: &String| !taken.contains_key(&test_name(&self.skill, id));
        self.id = again.take(taken.len() + 1).find(is_free).unwrap_or_default();
        taken.insert(test_name(&self.skill, &self.id), self.place.clone());
        let problem = Diagnostic::new(Code::DuplicateCase, self.place.clone(), message);
        Err(vec![problem.help("give each case of a skill a unique id")])
    }

    /// The case, or every problem of it.
    fn read(&self, repository: &Path) -> Result<Case, Vec<Diagnostic>> {
        if let Err(why) = name::check_case_id(&self.id) {
            return Err(vec![name::id_problem(&self.id, &why, self.place.clone())]);
        }
        let mut config = Map::from_iter([("skill".to_owned(), json!(self.skill))]);
        let mut root = Map::new();
        for (key, value) in &self.fields {
            let key = fields::named(key).map_or(key.as_str(), |field| field.key);
            let object = if task_json::ROOT.contains(&key) { &mut root } else { &mut config };
            object.insert(key.to_owned(), value.clone());
        }
        root.insert(CONFIG.to_owned(), Value::Object(config));
        let path = self.place.path.with_file_name(format!("{}.json", self.id));
        let case = task_json::parse(repository, &path, Value::Object(root).to_string().as_bytes());
        let case = case.map_err(|problems| {
            problems.into_iter().map(|problem| Diagnostic { place: self.place.clone(), ..problem }).collect::<Vec<_>>()
        })?;
        Ok(Case { id: self.id.clone(), origin: self.place.clone(), ..case })
    }
}

impl Catalog {
    /// Adds these cases of the repository behind those of their skills, which need no built-in cases then. A skill that is not here is an error of its
    /// case, and so is an id that an earlier case has.
    pub fn add_rust_cases(&mut self, repository: &Path, cases: impl IntoIterator<Item = RustCase>) {
        let mut cases = cases.into_iter().peekable();
        if cases.peek().is_none() {
            return;
        }
        let mut taken: HashMap<(String, String), SourceLocation> =
            self.cases.iter().map(|found| (test_name(&found.skill, &found.id), place_of(found))).collect();
        for mut rust in cases {
            let case = if self.skill(&rust.skill).is_some() {
                if self.drop_built_in(&rust.skill) {
                    taken.retain(|(skill, _), _| *skill != rust.skill);
                }
                rust.unique(&mut taken).and_then(|()| rust.read(repository))
            } else {
                let message = format!("the case `{}` is about the skill `{}`, which is not here", rust.id, rust.skill);
                let hint = suggest(&rust.skill, &self.slugs());
                Err(vec![Diagnostic::new(Code::UnknownSkill, rust.place.clone(), message).help(hint)])
            };
            let source = ReadCase::new(&task_json::NEUTRAL, case);
            self.insert(FoundCase::new(rust.id, rust.skill, rust.place.path, rust.place.line, source));
        }
    }

    /// Adds a case that cannot run for each of these problems of what could not be read, unless one stands for the file: nobody knows
    /// what is in it.
    pub(super) fn add_unread<'p>(&mut self, problems: impl Iterator<Item = &'p Diagnostic>) {
        let index = SkillIndex::of(self);
        for problem in problems {
            let path = &*problem.place.path;
            if self.cases.iter().any(|found| &*found.file == path && found.case().is_err()) {
                continue;
            }
            let skill = index.skill_of(path, self).filter(|slug| self.skill(slug).is_some());
            if let Some(slug) = &skill {
                self.drop_built_in(slug);
            }
            let skill = skill.as_deref().unwrap_or(NO_SKILL);
            self.insert(broken(FORMATS[0], skill, &path_id(path), path, vec![problem.clone()]));
        }
    }

    /// Adds a case behind those of its skill.
    fn insert(&mut self, found: FoundCase) {
        let end = self.cases.partition_point(|known| *known.skill <= *found.skill);
        self.cases.insert(end, Arc::new(found));
    }

    /// Removes the built-in cases of a skill. Returns whether it had no others.
    fn drop_built_in(&mut self, slug: &str) -> bool {
        let had_none = self.skill_mut(slug).is_some_and(|skill| !std::mem::replace(&mut skill.curated, true));
        if had_none {
            self.cases.retain(|found| *found.skill != *slug || found.format().name != smoke::FORMAT.name);
        }
        had_none
    }
}

/// The id of the broken case that stands for a file.
pub(super) fn path_id(path: &Path) -> String {
    path.to_string_lossy().replace('/', "-").trim_start_matches('.').to_owned()
}

pub(super) fn broken(
    format: &'static CaseFormat,
    skill: &str,
    id: &str,
    path: &Path,
    problems: Vec<Diagnostic>,
) -> FoundCase {
    let line = problems.first().map_or(1, |problem| problem.place.line.max(1));
    FoundCase::new(id.to_owned(), skill, path, line, ReadCase::new(format, Err(problems)))
}
