//! A format of cases, and which files hold its cases.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::case::document::{Document, Node, NodeValue, Syntax};
use crate::cases::case::foreign_reader::ForeignReader;
use crate::cases::case::promptfoo::mentions_skill;
use crate::cases::case::{Case, FoundCase, foreign_formats, own_format};
use crate::cases::case_folders::{EVALS, case_folders};
use crate::cases::layout::Layout;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::profile::DEFAULT_MODE;
use crate::settings::OwnFormat;
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::LONGEST_ID;
use crate::text::name::RelativePath;
use crate::trial::input_file::InputContent;

#[derive(Debug)]
pub struct CaseFormat {
    /// What messages call one of its cases.
    pub name: &'static str,
    /// The mode in which its cases run by default: the one that the format was made for.
    pub default_mode: &'static str,
    /// The files that hold its cases; `None` for built-in cases and for formats of other programs.
    pub files: Option<Files>,
    /// The same for a format of another program.
    pub foreign: Option<ForeignFiles>,
}

/// The case files of another program. They are found anywhere in the repository by their names, and read as they are.
#[derive(Debug)]
pub struct ForeignFiles {
    /// The ends of their paths. `*` stands for a part of a file's name.
    pub names: &'static [&'static str],
    /// Ends of paths that other files have too: such a file is one only if its content says so.
    pub possible_names: &'static [&'static str],
    /// A key that every file of a possible name has if it is one; empty if the reader decides.
    pub mark: &'static str,
    /// The keys that every file has, for messages about files that lack one; empty for formats that nothing is nearly.
    pub keys: &'static [&'static str],
    /// What docs/formats.md calls its files.
    pub about: &'static str,
    /// The keys of its files, for that page.
    pub all_keys: fn() -> FileKeys,
    /// Reads a file with this value, which is null for a table; `None` if it is something else.
    pub parse: fn(ForeignReader<'_>) -> Option<FileCases>,
}

/// The keys of the files of a format.
#[derive(Debug, Default)]
pub struct FileKeys {
    /// Those that are read.
    pub read: Vec<&'static str>,
    /// Those that ask for nothing of a trial.
    pub notes: Vec<&'static str>,
    /// The graders that are read, and those that are known and have no equal here.
    pub graders: [Vec<&'static str>; 2],
    /// Keys whose values are not done, or some of them, each with what that is called.
    pub not_done: Vec<(&'static str, &'static str)>,
}

/// A file that may hold the cases of another program.
#[derive(Clone, Copy)]
pub struct ForeignFile<'a> {
    /// The file, from the repository's root.
    pub path: &'a Path,
    /// Whether only this format has files of this name.
    pub is_certain: bool,
    /// The slug of the skill that its place stands for, if it stands for one.
    pub skill: Option<&'a str>,
    /// The slugs of the repository's skills.
    pub skills: &'a [&'a str],
    /// The directories of these skills, from the repository's root, each with the slug.
    pub directories: &'a [(&'a Path, &'a str)],
    /// The other files of the repository.
    pub tree: &'a dyn RepoFiles,
    /// Keys and columns that only label, by the settings.
    pub own_keys: &'a [String],
    /// The formats of the user's own that name the file.
    pub formats: &'a [&'a OwnFormat],
}

impl<'a> ForeignFile<'a> {
    /// The file at this path, without anything around it.
    pub fn at(path: &'a Path, tree: &'a dyn RepoFiles) -> Self {
        Self { path, is_certain: false, skill: None, skills: &[], directories: &[], tree, own_keys: &[], formats: &[] }
    }

    /// Its format and its cases, if its name and its content are those of a file of cases.
    pub fn read(self, bytes: &[u8]) -> Option<(&'static CaseFormat, FileCases)> {
        if !self.formats.is_empty() {
            return Some((&own_format::FORMAT, own_format::read(&self, bytes)));
        }
        // Half of the bytes of UTF-16 are zeros.
        let text = String::from_utf8_lossy(bytes).replace('\0', "");
        let syntax = Syntax::named(self.path);
        let document = || Document::new(self.path, bytes, syntax.unwrap_or(Syntax::Json));
        let mut read = document();
        let table = syntax.is_none().then_some(Node { value: NodeValue::Null, range: 0..0 });
        let Some(root) = table.or_else(|| read.root()) else {
            let cases = FileCases { problems: read.problems.into_vec(), ..FileCases::default() };
            return self.claimed_by(&text).map(|format| (format, cases));
        };
        let is_in_cases = self.is_in_cases();
        let named = foreign_formats().filter_map(|(format, files)| {
            let is_named = files.match_path(self.path);
            let may_be = is_named.is_some() || is_in_cases && files.have_ending_of(self.path);
            may_be.then_some((is_named, format, files))
        });
        // A name that is a format's own comes before one that several have, wherever the format is in the list.
        let mut named: Vec<_> = named.collect();
        named.sort_by_key(|(is_named, ..)| std::cmp::Reverse(*is_named));
        named.into_iter().find_map(|(is_named, format, files)| {
            let is_certain = is_named == Some(true);
            // In a directory of cases, a file of any name must have all keys of a format that its reader does not know it by.
            let is_open = files.keys.len() > 1 && is_named.is_none() && syntax.is_some();
            let has_keys = !is_open || files.keys.iter().all(|key| has_key(&text, key));
            let is_possible = files.mark.is_empty() && has_keys
                || !files.mark.is_empty() && has_key(&text, files.mark)
                || files.claim(&self);
            let file = ForeignFile { is_certain, ..self };
            let read = || (files.parse)(ForeignReader::new(format, &file, document(), &root));
            // The content may say that it is of a format of the same reader.
            let of_cases = |cases: FileCases| (cases.cases.first().map_or(format, FoundCase::format), cases);
            is_possible.then(read).flatten().map(of_cases)
        })
    }

    /// The format that a file has, or should have, whose text has no value: only a value could show that it is something else.
    pub fn claimed_by(&self, text: &str) -> Option<&'static CaseFormat> {
        let named = || foreign_formats().filter(|(_, files)| files.match_path(self.path).is_some());
        let certain = named().find(|(_, files)| files.match_path(self.path) == Some(true));
        let is_marked =
            |mark: &str| if mark.is_empty() { mentions_skill(text.as_bytes()) } else { has_key(text, mark) };
        let marked = || named().find(|(_, files)| is_marked(files.mark));
        let placed = || named().find(|(_, files)| files.claim(self));
        certain.or_else(marked).or_else(placed).map(|(format, _)| format)
    }

    /// Whether it is in a directory of cases.
    pub fn is_in_cases(&self) -> bool {
        case_folders(self.path).next().is_some()
    }

    /// Whether its directory is one of a skill, or of the evals of one.
    fn is_next_to_skill(&self) -> bool {
        let folder = self.path.parent();
        self.is_in_evals_of_skill() || self.directories.iter().any(|(directory, _)| Some(*directory) == folder)
    }

    /// Whether its place is a skill's own: the file is in the skill's directory, or in one of its evals.
    pub fn is_of_skill(&self) -> bool {
        let is_root = |folder: &Path| folder.as_os_str().is_empty();
        let holds = |folder: &Path| self.path.starts_with(folder) && (!is_root(folder) || self.is_in_cases());
        self.skill.is_some() && (self.is_in_named_evals() || self.directories.iter().any(|(folder, _)| holds(folder)))
    }

    /// Whether it is in a directory of cases of the repository, of a skill, or of what is around one.
    pub fn is_in_cases_of_skills(&self) -> bool {
        let holds_skill = |around: &Path| self.directories.iter().any(|(folder, _)| folder.starts_with(around));
        case_folders(self.path).any(|around| around.as_os_str().is_empty() || holds_skill(around))
    }

    /// The slugs of the skills around the directory of cases that it is in.
    pub fn skills_around(&self) -> Vec<String> {
        let around = case_folders(self.path).last();
        let inside =
            self.directories.iter().filter(|(folder, _)| around.is_some_and(|around| folder.starts_with(around)));
        inside.map(|(_, slug)| (*slug).to_owned()).collect()
    }

    /// The slug of the skill in the directory that has this directory of cases.
    pub fn skill_around(&self) -> Option<&str> {
        let is_around = |folder: &Path| case_folders(self.path).any(|around| around == folder);
        self.directories.iter().find(|(folder, _)| is_around(folder)).map(|(_, slug)| *slug)
    }

    /// Whether a directory in its path, in one of cases, has the name of a skill.
    pub fn is_named_as_skill(&self) -> bool {
        let folders = self.path.parent().into_iter().flat_map(Path::iter);
        self.is_in_cases() && self.skill.is_some_and(|skill| folders.into_iter().any(|name| name == skill))
    }

    /// Whether a skill of this name is here.
    pub fn has_skill(&self, name: &str) -> bool {
        self.skills.contains(&&*self.skill_slug(name))
    }

    /// The slug of the first of these skills that is here, or else of the first.
    pub fn first_here<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        let slugs: Vec<String> = names.into_iter().map(|name| self.skill_slug(name)).collect();
        let here = slugs.iter().find(|slug| self.skills.contains(&slug.as_str()));
        here.or(slugs.first()).cloned().unwrap_or_default()
    }

    /// Whether its directory is `evals/` of a skill, or is the skill's in `evals/`.
    pub fn is_in_evals_of_skill(&self) -> bool {
        // The path may begin in the skill's own directory.
        let is_here = || self.path.parent() == Some(Path::new(EVALS)) && self.skill.is_some();
        is_here() || self.is_in_named_evals()
    }

    /// The same by the names of directories alone.
    fn is_in_named_evals(&self) -> bool {
        let name = |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().to_os_string();
        let folder = self.path.parent();
        let [folder, above] = [name(folder), name(folder.and_then(Path::parent))];
        let is_skill = |name: &OsStr| {
            let directories = self.directories.iter().filter_map(|(directory, _)| directory.file_name());
            directories.chain(self.skills.iter().map(OsStr::new)).any(|known| name == known)
        };
        folder == EVALS && is_skill(&above) || above == EVALS && is_skill(&folder)
    }

    /// The id of the case with this name in the file. Files of one skill may number their cases alike, and names may have
    /// characters that no test's name can have.
    pub fn case_id(&self, name: &str) -> String {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or_default();
        id_of(&format!("{stem}-{name}"))
    }

    /// The file that is named `path` in this file: relative to its own directory, to one above that, or to the root. Programs
    /// differ in that.
    pub fn named_file(&self, path: &RelativePath) -> RelativePath {
        let folders = self.path.ancestors().skip(1);
        let mut found = folders.map(|folder| path.clone().under(folder));
        let exists = |path: &RelativePath| matches!(self.tree.kind(path.as_path()), FileKind::File | FileKind::Folder);
        found.find(exists).unwrap_or_else(|| path.clone().under(self.path.parent().unwrap_or(self.path)))
    }

    /// What a text in this file names, if it is the path of something of this kind.
    pub fn here(&self, text: &str, kind: FileKind) -> Option<RelativePath> {
        let path = RelativePath::parse(text.strip_prefix("./").unwrap_or(text)).ok()?;
        Some(self.named_file(&path)).filter(|path| self.tree.kind(path.as_path()) == kind)
    }

    /// The text of the file at this path from the repository's root, or why it has none.
    pub fn text_of(&self, path: &Path) -> Result<String, String> {
        let bytes = self.tree.read(path).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }

    /// The directory of the skill with this slug.
    pub fn directory_of(&self, slug: &str) -> Option<&Path> {
        self.directories.iter().find(|(_, known)| *known == slug).map(|(directory, _)| *directory)
    }

    /// The name in a path that is of a skill here which has the rest of the path: a skill may have pages of the name of a skill.
    pub fn skill_at<'p>(&self, path: &'p str) -> Option<&'p str> {
        let names = path.match_indices('/').map(|(at, _)| &path[at + 1..]);
        names.filter_map(|rest| rest.split_once('/')).find_map(|(name, rest)| {
            let folder = self.directory_of(&self.skill_slug(name))?;
            (self.tree.kind(&folder.join(rest)) == FileKind::Folder).then_some(name)
        })
    }

    /// The slug of the skill with this name, which may be that of its directory, or begin with the name of a plugin.
    pub fn skill_slug(&self, name: &str) -> String {
        let known = |slug: &String| self.skills.contains(&slug.as_str());
        let of_directory =
            || self.directories.iter().find(|(directory, _)| directory.file_name() == Some(OsStr::new(name)));
        let of_plugin = || name.rsplit_once(':').map(|(_, name)| slug(name)).filter(known);
        let whole = slug(name);
        if known(&whole) {
            return whole;
        }
        of_directory().map(|(_, slug)| (*slug).to_owned()).or_else(of_plugin).unwrap_or(whole)
    }
}

/// A name as the id of a case.
pub fn id_of(name: &str) -> String {
    let mut id = String::new();
    for c in name.chars().skip_while(|c| !c.is_alphanumeric()) {
        let c = if c.is_alphanumeric() || c == '_' { c } else { '-' };
        if id.len() + c.len_utf8() > LONGEST_ID {
            break;
        }
        id.push(c);
    }
    id
}

/// Which files hold the cases of a format.
#[derive(Debug)]
pub struct Files {
    /// Their path from the repository's root. One part is open: `<skill>` is the slug of the skill under test, `<case>` the
    /// name of the only case in the file, which `--task` chooses.
    pub path: &'static str,
    /// Endings, in lowercase, of files that may hold such cases by mistake.
    pub endings: &'static [&'static str],
    /// Words that every such file has.
    pub marks: &'static [&'static str],
    /// Reads a file.
    pub parse: fn(&CaseFile, Vec<u8>, Layout<'_>) -> FileCases,
    /// Where in a file with this path and content the value of a key is, for cases that are read at once.
    pub place: fn(&Path, &[u8], &str) -> Option<SourceLocation>,
}

/// A file of cases that is not read yet.
#[derive(Debug)]
pub struct CaseFile {
    /// The repository's root.
    pub root: Arc<Path>,
    /// The file, from the repository's root.
    pub path: PathBuf,
    /// The open part of its path, in a form that can be part of a test's name.
    pub name: String,
}

/// The content of a file of cases.
#[derive(Debug, Default)]
pub struct FileCases {
    /// The cases, in the order of the file. A case that names no skill has an empty one.
    pub cases: Vec<FoundCase>,
    /// Problems of the file as a whole.
    pub problems: Vec<Diagnostic>,
    /// The other files and directories that belong to these cases, from the repository's root: no format reads them again.
    pub claims: Vec<PathBuf>,
    /// Of formats of the user's own: the format and the field of each key that a case here has.
    pub used: BTreeSet<(String, String)>,
}

/// The most cases in a file: some hundred megabytes of memory.
pub const MOST_CASES: usize = 100_000;

impl FileCases {
    /// The files and directories, from the repository's root, that its cases are made of besides it.
    pub fn claimed(&self) -> Vec<PathBuf> {
        // `FoundCase::case` would keep the case as it is before it has the scripts of its skill.
        let cases = self.cases.iter().filter_map(|found| found.source.case(&found.skill).ok());
        let of_case = |case: Case| {
            let sources = case.files.iter().filter_map(|file| match &file.content {
                InputContent::Source(source) => Some(source.as_path().to_path_buf()),
                InputContent::Text(_) => None,
            });
            sources.chain([case.origin.path.clone()]).collect::<Vec<_>>()
        };
        let problems =
            self.cases.iter().flat_map(|found| found.source.file_problems()).map(|problem| problem.place.path.clone());
        let files = self.cases.iter().map(|found| found.file.to_path_buf());
        self.claims.iter().cloned().chain(files).chain(problems).chain(cases.flat_map(of_case)).collect()
    }

    /// The cases of the file at `path`, or the problem that there are too many.
    #[must_use]
    pub fn bounded(self, path: &Path) -> Self {
        if self.cases.len() <= MOST_CASES {
            return self;
        }
        let message = format!("the file has more than {MOST_CASES} cases");
        let problem = Diagnostic::new(Code::TooManyCases, SourceLocation::file(path), message);
        let help = "remove cases; or divide them among files in evals/tasks, or among skills";
        Self { problems: vec![problem.help(help)], ..Self::default() }
    }
}

impl CaseFormat {
    /// The format of another program.
    pub const fn foreign(name: &'static str, files: ForeignFiles) -> Self {
        Self { name, default_mode: DEFAULT_MODE, files: None, foreign: Some(files) }
    }

    /// Whether its cases are in no file.
    pub fn is_built_in(&self) -> bool {
        self.files.is_none() && self.foreign.is_none()
    }

    /// Whether each file holds one case, which `--task` chooses by name.
    pub fn is_task(&self) -> bool {
        self.files.as_ref().is_some_and(|files| !files.are_of_skills())
    }
}

impl ForeignFiles {
    /// Whether a file of this path may be one, and if so, whether it is certain.
    pub fn match_path(&self, path: &Path) -> Option<bool> {
        let path = path.to_str()?.to_ascii_lowercase();
        let is_any = |names: &[&str]| names.iter().any(|name| ends_with(&path, name));
        if is_any(self.names) { Some(true) } else { is_any(self.possible_names).then_some(false) }
    }

    /// The endings of their names, each with its dot.
    pub fn endings(&self) -> Vec<String> {
        let names = self.names.iter().chain(self.possible_names);
        let mut endings: Vec<String> = Vec::new();
        for ending in names.filter_map(|name| name.rsplit_once('.')).map(|(_, ending)| format!(".{ending}")) {
            if !endings.contains(&ending) {
                endings.push(ending);
            }
        }
        endings
    }

    /// Whether some of them have the ending of this file.
    pub fn have_ending_of(&self, path: &Path) -> bool {
        let ending = path.extension().map(|end| format!(".{}", end.to_string_lossy().to_ascii_lowercase()));
        ending.is_some_and(|ending| self.endings().contains(&ending))
    }

    /// Whether their names have parts that are open.
    pub fn have_many_names(&self) -> bool {
        self.names.iter().chain(self.possible_names).any(|name| name.contains('*'))
    }

    /// Whether a file has the name of one, or would have with another ending. The name `*.json` alone says nothing.
    pub fn are_nearly_named(&self, path: &Path) -> bool {
        let stem = |path: &Path| path.with_extension("").to_string_lossy().to_ascii_lowercase();
        let names = self.names.iter().chain(self.possible_names).filter(|name| !name.contains("/*."));
        names.map(|name| stem(Path::new(name))).any(|name| ends_with(&stem(path), &name))
    }

    /// Whether the name and the place of a file say that it is one. The name `*.json` alone says nothing.
    fn claim(&self, file: &ForeignFile<'_>) -> bool {
        let path = file.path.to_string_lossy().to_ascii_lowercase();
        let mut names = self.possible_names.iter().filter(|name| !name.contains("/*."));
        self.match_path(file.path) == Some(true) || file.is_next_to_skill() && names.any(|name| ends_with(&path, name))
    }
}

/// Whether a text has this key, in JSON or YAML that may be broken.
fn has_key(text: &str, key: &str) -> bool {
    text.match_indices(key).any(|(at, _)| {
        let before = text[..at].trim_end_matches([' ', '\t', '"', '\'']);
        let after = text[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
        (before.is_empty() || before.ends_with(['\n', '\r', '\u{feff}', '{', ',', '-'])) && after.starts_with(':')
    })
}

/// Whether a path ends with these parts, the last of which may have a `*`.
pub(super) fn ends_with(path: &str, end: &str) -> bool {
    match end.split_once('*') {
        Some((before, after)) => {
            let (parent, file) = path.rsplit_once('/').map_or(("", path), |(parent, file)| (parent, file));
            let (folder, start) = before.rsplit_once('/').map_or(("", before), |(folder, start)| (folder, start));
            let has_name = file.strip_prefix(start).is_some_and(|rest| rest.ends_with(after));
            has_name && (folder.is_empty() || ends_with(parent, folder))
        }
        None => path.strip_suffix(end).is_some_and(|rest| end.is_empty() || rest.is_empty() || rest.ends_with('/')),
    }
}

impl Files {
    /// The path before its open part, and behind it.
    fn around(&self) -> (&'static str, &'static str) {
        let (before, rest) = self.path.split_once('<').unwrap_or((self.path, ""));
        (before, rest.split_once('>').unwrap_or_default().1)
    }

    /// Whether their paths name the skill under test.
    pub fn are_of_skills(&self) -> bool {
        self.path.contains("<skill>")
    }

    /// The directory whose entries are the open part of the path.
    pub fn folder(&self) -> &'static Path {
        Path::new(self.around().0)
    }

    /// The file with this open part.
    pub fn path_of(&self, open: &str) -> PathBuf {
        let (before, after) = self.around();
        PathBuf::from([before, open, after].concat())
    }

    /// The open part of the path that leads through this entry of [`Files::folder`], if there may be one.
    pub fn open_part<'a>(&self, entry: &'a str) -> Option<&'a str> {
        let after = self.around().1;
        if after.starts_with('/') { Some(entry) } else { entry.strip_suffix(after) }
    }

    /// Whether `path` is one of them.
    pub fn have(&self, path: &Path) -> bool {
        let (before, after) = self.around();
        let open = path.to_str().and_then(|path| path.strip_prefix(before)?.strip_suffix(after));
        open.is_some_and(|open| !open.contains('/'))
    }
}
