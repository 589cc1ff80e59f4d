//! The skills that are served, and their changes between two scans.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use thiserror::Error;

use crate::cases::repository::{Layout, Repository};
use crate::cases::skills::default_skill_roots;
use crate::files::bounded::Stamp;
use crate::files::inside::{self, WalkControl, WalkedFile};
use crate::files::{bounded, look};
use crate::mcp::NotAnswered;
use crate::settings::BuiltIn;
use crate::skill::{SKILL_FILE, Skill, SkillFile, USER_ONLY, slug};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::RelativePath;

/// Names of a skill's file: the name that agents know, and another that the server skilljack also accepts.
const SKILL_FILES: [&str; 2] = [SKILL_FILE, "skill.md"];

/// Maximum size of an answer with several files, in bytes, if a single file may not be larger.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Minimum number of skills per thread of a scan.
const SKILLS_PER_THREAD: usize = 64;

#[derive(Clone, Debug)]
pub(super) enum SkillSource {
    /// A directory that is a skill, or that has skills in it or in its default skill roots.
    Directory(PathBuf),
    /// A directory whose first default skill root with skills is used. The rest is not searched: a client's root may be
    /// too large.
    Repository(PathBuf),
}

#[derive(Clone, Debug)]
pub(super) struct ServedSkill {
    /// Its directory is relative to `root`.
    pub skill: Skill,
    /// The skill root, absolute.
    pub root: PathBuf,
    /// The name of its SKILL.md.
    pub file: &'static str,
    /// All its files, with its SKILL.md.
    pub files: Vec<ListedFile>,
    /// Maximum size of a file that is served, in bytes.
    pub max_file: u64,
    /// Problems that keep models from knowing when to call the skill.
    flaws: Vec<String>,
    stamp: Stamp,
}

/// The skills, by slug. If several skills have the same slug, the first one is served.
#[derive(Clone, Debug, Default)]
pub(super) struct Library {
    pub skills: Vec<ServedSkill>,
    /// What is not served, and why.
    pub problems: Vec<String>,
}

/// The difference between two scans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LibraryChange {
    /// A skill was added or removed, or its SKILL.md changed.
    pub skills: bool,
    /// A file was added or removed.
    pub files: bool,
    /// Addresses of the files that were added, removed or changed, and of everything that contains them.
    pub updated: BTreeSet<Address>,
}

impl SkillSource {
    /// The skills' directories, each with its skill root.
    fn skill_directories(&self, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
        match self {
            Self::Directory(directory) if look::is_usable_directory(directory) => {
                let mut found = skills_in(directory, problems);
                // Searching the directory skips hidden skill roots. A skill that is found twice is served once.
                found.extend(default_roots(directory).flat_map(|root| skills_in(&root, problems)));
                found
            }
            Self::Directory(directory) => {
                let location = SourceLocation::file(directory);
                problems.push(Diagnostic::new(Code::SkillRoot, location, "this is not a directory"));
                Vec::new()
            }
            Self::Repository(root) => default_roots(root)
                .map(|root| skills_in(&root, problems))
                .find(|found| !found.is_empty())
                .unwrap_or_default(),
        }
    }
}

fn default_roots(directory: &Path) -> impl Iterator<Item = PathBuf> {
    default_skill_roots().map(|name| directory.join(name)).filter(|root| look::is_usable_directory(root))
}

/// The skills in a directory, or the directory itself if it is a skill.
fn skills_in(directory: &Path, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
    // The name of a skill without a `name` is that of its directory, so its path must end with it.
    let skill = directory
        .canonicalize()
        .ok()
        .filter(|path| SKILL_FILES.iter().any(|name| look::is_usable_file(&path.join(name))));
    let (root, searched) = match skill.as_deref().and_then(|skill| Some((skill.parent()?, skill.file_name()?))) {
        Some((parent, name)) => (parent, Path::new(name)),
        // An empty path would be searched as a repository's root.
        None => (directory, Path::new(".")),
    };
    let repository = Repository::new(root);
    let found = repository.skill_folders(searched, &SKILL_FILES, problems);
    problems.extend(repository.unread(Layout::default()));
    found.into_iter().map(|skill| (root.to_path_buf(), skill)).collect()
}

impl ServedSkill {
    /// Reads `path` in the skill's directory.
    pub(super) fn read(&self, path: &str) -> Result<ServedContent, ResourceError> {
        self.read_up_to(path, self.max_file)
    }

    /// Reads `path` in the skill's directory, at most this many bytes.
    pub(super) fn read_up_to(&self, path: &str, limit: u64) -> Result<ServedContent, ResourceError> {
        let path = RelativePath::parse(path).map_err(ResourceError::NotAllowed)?;
        read_in_skill(&self.root, &self.skill.folder, &path, limit)
    }

    /// Maximum size of an answer with several files, in bytes.
    pub(super) fn max_answer(&self) -> u64 {
        self.max_file.max(MAX_ANSWER)
    }

    /// What is wrong with the skill, and which files are not served.
    fn problems(&self) -> Vec<String> {
        let directory = self.directory();
        let mut problems = Vec::new();
        for flaw in &self.flaws {
            problems.push(format!("{} is served, but {flaw}", directory.display()));
        }
        for file in self.files.iter().filter(|file| file.size > self.max_file) {
            let why = ResourceError::TooLarge { size: file.size, limit: self.max_file };
            problems.push(format!("{} is not served: it {why}", directory.join(&file.path).display()));
        }
        problems
    }

    /// The skill's directory, absolute.
    pub(super) fn directory(&self) -> PathBuf {
        self.root.join(&self.skill.folder)
    }
}

impl Library {
    /// Scans `sources`. Does not read a SKILL.md again that has not changed since `previous`.
    pub(super) fn scan(sources: &[SkillSource], settings: BuiltIn, previous: &Self) -> Self {
        let known: HashMap<PathBuf, &ServedSkill> =
            previous.skills.iter().map(|served| (served.directory(), served)).collect();
        let mut diagnostics = Vec::new();
        let directories: Vec<_> =
            sources.iter().flat_map(|source| source.skill_directories(&mut diagnostics)).collect();
        let loaded = parallel_map(&directories, |(root, skill)| {
            load(root, skill, settings.max_file(), known.get(&root.join(skill)).copied())
        });
        let mut skills: BTreeMap<String, ServedSkill> = BTreeMap::new();
        let mut problems = Vec::new();
        for ((root, skill), loaded) in directories.iter().zip(loaded) {
            match loaded {
                Ok(served) => match skills.entry(served.skill.slug.clone()) {
                    // One skill root may be in another.
                    Entry::Occupied(first) if first.get().directory() == served.directory() => {}
                    Entry::Occupied(first) => problems.push(format!(
                        "{} is not served: its slug `{}` is also that of {}",
                        served.directory().display(),
                        served.skill.slug,
                        first.get().directory().display()
                    )),
                    Entry::Vacant(vacant) => problems.extend(vacant.insert(served).problems()),
                },
                Err(why) => problems.push(format!("{} is not served: {why}", root.join(skill).display())),
            }
        }
        problems.extend(diagnostics.iter().map(ToString::to_string));
        Self { skills: skills.into_values().collect(), problems }
    }

    /// The skill with this name, or with the slug of this name.
    pub(super) fn skill(&self, name: &str) -> Option<&ServedSkill> {
        let by_name = self.skills.iter().find(|served| served.skill.name == name);
        by_name.or_else(|| self.skills.iter().find(|served| served.skill.slug == slug(name)))
    }

    /// The changes since `previous`. `None` if there are none.
    pub(super) fn changes_since(&self, previous: &Self) -> Option<LibraryChange> {
        let (old, new) = (previous.file_stamps(), self.file_stamps());
        let mut change = LibraryChange {
            skills: !previous.skill_stamps().eq(self.skill_stamps()),
            files: !old.keys().eq(new.keys()),
            updated: BTreeSet::new(),
        };
        for key @ (slug, path) in old.keys().chain(new.keys()) {
            if old.get(key) != new.get(key) {
                change.updated.extend(Address::affected_by(slug, path, &SKILL_FILES));
            }
        }
        (change != LibraryChange::default()).then_some(change)
    }

    fn skill_stamps(&self) -> impl Iterator<Item = (PathBuf, &Stamp)> {
        self.skills.iter().map(|served| (served.directory(), &served.stamp))
    }

    /// The stamps of all files, by slug and path.
    fn file_stamps(&self) -> BTreeMap<(&str, &str), &Stamp> {
        let mut stamps = BTreeMap::new();
        for served in &self.skills {
            for file in &served.files {
                stamps.insert((served.skill.slug.as_str(), file.path.as_str()), &file.stamp);
            }
        }
        stamps
    }
}

/// Maps all items in order, on all processors: a scan of thousands of skills mostly waits for the file system.
fn parallel_map<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let chunks = items.chunks(items.len().div_ceil(threads).max(SKILLS_PER_THREAD));
    std::thread::scope(|scope| {
        let map = &map;
        let part = move |chunk: &'_ [T]| chunk.iter().map(map).collect::<Vec<R>>();
        let start = |chunk| std::thread::Builder::new().spawn_scoped(scope, move || part(chunk));
        // Where the system has no more threads, this one does the part.
        let threads: Vec<_> = chunks.map(|chunk| start(chunk).map_err(|_| part(chunk))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(|part| part.map_or_else(std::convert::identity, join)).collect()
    })
}

/// Loads the skill in the directory `skill` of `root`. `known` is the skill as the previous scan found it. The error is the
/// reason why the skill is not served.
fn load(root: &Path, skill: &Path, max_file: u64, known: Option<&ServedSkill>) -> Result<ServedSkill, String> {
    let unchanged = |file: &str, stamp: &Stamp| known.filter(|known| known.file == file && known.stamp == *stamp);
    let mut listed = None;
    let files = list_files_of_skill(root, skill, |file| {
        let name = SKILL_FILES.into_iter().find(|name| file.path == Path::new(name));
        if let (Some(name), None) = (name, &listed) {
            let content = unchanged(name, &file.stamp).ok_or_else(|| read_walked(file, max_file));
            listed = Some((name, file.stamp.clone(), content));
        }
    });
    let (file, stamp, content) = if let Some(listed) = listed {
        listed
    } else {
        // The stamp is that of the link's target, which may change while the link does not.
        let target = |name| Some((name, Stamp::of(&fs::metadata(root.join(skill).join(name)).ok()?)));
        let linked = SKILL_FILES.into_iter().find_map(target);
        let (name, stamp) = linked.ok_or_else(|| format!("its {SKILL_FILE} cannot be read"))?;
        let path = RelativePath::parse(name)?;
        let content = unchanged(name, &stamp).ok_or_else(|| read_in_skill(root, skill, &path, max_file));
        (name, stamp, content)
    };
    let (skill, flaws) = match content {
        Ok(known) => (Skill { folder: skill.to_path_buf(), ..known.skill.clone() }, known.flaws.clone()),
        Err(Ok(ServedContent::File(bytes))) => {
            let skill_file = SkillFile::parse(skill, &bytes);
            (skill_file.skill.clone(), flaws(&skill_file))
        }
        Err(Ok(ServedContent::Directory)) => return Err(format!("its {file} is a directory")),
        Err(Err(error)) => return Err(format!("its {file} {error}")),
    };
    if skill.slug.is_empty() {
        return Err("neither its `name` nor its directory gives a name to call it by".to_owned());
    }
    if skill.user_only {
        return Err(format!("`{USER_ONLY}` keeps models from calling it"));
    }
    Ok(ServedSkill { skill, root: root.to_path_buf(), file, files, max_file, flaws, stamp })
}

/// Problems that keep models from knowing when to call a skill.
fn flaws(skill_file: &SkillFile) -> Vec<String> {
    let mut flaws: Vec<String> = skill_file.problems.iter().map(|problem| problem.message.clone()).collect();
    if flaws.is_empty() && skill_file.skill.description.is_empty() {
        flaws.push(format!("its {SKILL_FILE} has no `description`"));
    }
    flaws
}

// Reads files of a skill's directory. Each name is opened in an open parent directory, so neither a link nor a directory
// that is replaced meanwhile leads out of the skill.

/// Maximum number of links on the way to one file.
const MAX_LINKS: usize = 40;

/// Maximum number of listed files of one skill.
const MAX_FILES: usize = 1000;

/// Why a file of a skill cannot be read. The message completes a sentence that starts with the path.
#[derive(Debug, Error)]
pub(super) enum ResourceError {
    #[error("{0}")]
    NotAllowed(&'static str),
    #[error("is not there")]
    Missing,
    #[error("is a symbolic link or lies behind one that leads out of the skill's directory")]
    LeadsOut,
    #[error("lies behind more than {MAX_LINKS} symbolic links")]
    Links,
    #[error("is neither a file nor a directory and is not opened")]
    Special,
    #[error("is a file of {size} bytes; the limit is {limit} bytes")]
    TooLarge { size: u64, limit: u64 },
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<ResourceError> for NotAnswered {
    fn from(error: ResourceError) -> Self {
        Self(error.to_string())
    }
}

impl From<Errno> for ResourceError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG => Self::Missing,
            // `O_NOFOLLOW` reports a link that was created a moment ago.
            Errno::ELOOP => Self::LeadsOut,
            errno => Self::Io(errno.into()),
        }
    }
}

pub(super) enum ServedContent {
    File(Vec<u8>),
    Directory,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedFile {
    /// Relative to the skill's directory, with `/` between the parts.
    pub path: String,
    /// In bytes.
    pub size: u64,
    pub stamp: Stamp,
}

const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_CLOEXEC);

/// Reads `path` in the skill's directory `skill` of `root`, at most `limit` bytes. `root` may be behind a link, `skill` may
/// not. A link in the skill is followed if it stays in the skill.
fn read_in_skill(root: &Path, skill: &Path, path: &RelativePath, limit: u64) -> Result<ServedContent, ResourceError> {
    // From the skill's directory to the current one. `..` in a link goes back along them, never above the skill.
    let mut directories = vec![open_skill(root, skill)?];
    let mut names: Vec<OsString> = path.as_path().iter().rev().map(OsStr::to_owned).collect();
    let mut links = 0;
    while let (Some(name), Some(parent)) = (names.pop(), directories.last()) {
        if name == ".." {
            directories.pop();
            continue;
        }
        let name = Path::new(&name);
        let kind = kind(parent, name)?;
        if !is_listed(parent, name)? {
            return Err(ResourceError::Missing);
        }
        match kind {
            SFlag::S_IFDIR => directories.push(openat(parent, name, DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?),
            SFlag::S_IFREG if names.is_empty() => return read_file(parent, name, limit).map(ServedContent::File),
            SFlag::S_IFREG => return Err(ResourceError::Missing),
            SFlag::S_IFLNK if links == MAX_LINKS => return Err(ResourceError::Links),
            SFlag::S_IFLNK => {
                links += 1;
                names.extend(link_target(parent, name)?.into_iter().rev());
            }
            _ => return Err(ResourceError::Special),
        }
    }
    if directories.is_empty() { Err(ResourceError::LeadsOut) } else { Ok(ServedContent::Directory) }
}

fn open_skill(root: &Path, skill: &Path) -> Result<OwnedFd, ResourceError> {
    let mut directory = open(root, DIRECTORY, Mode::empty())?;
    for name in skill {
        // Does not check the exact name: the skill was found by listing, and `root` may list thousands of skills.
        match kind(&directory, Path::new(name))? {
            SFlag::S_IFDIR => directory = openat(&directory, name, DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?,
            SFlag::S_IFLNK => return Err(ResourceError::LeadsOut),
            _ => return Err(ResourceError::Missing),
        }
    }
    Ok(directory)
}

/// The names in the target of the link `name`.
fn link_target(parent: &OwnedFd, name: &Path) -> Result<Vec<OsString>, ResourceError> {
    let target = readlinkat(parent, name)?;
    let mut names = Vec::new();
    for part in Path::new(&target).components() {
        match part {
            Component::Normal(_) | Component::ParentDir => names.push(part.as_os_str().to_owned()),
            Component::CurDir => {}
            // An absolute path leads elsewhere once the skill is installed, even if it leads to the skill now.
            Component::RootDir | Component::Prefix(_) => return Err(ResourceError::LeadsOut),
        }
    }
    Ok(names)
}

/// The kind of the file `name`, without opening it: opening a pipe or a device has effects.
fn kind(parent: &OwnedFd, name: &Path) -> Result<SFlag, ResourceError> {
    let status = fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    Ok(SFlag::from_bits_truncate(status.st_mode & SFlag::S_IFMT.bits()))
}

/// Whether the directory lists exactly this name. Some file systems ignore case, or have several spellings of a letter.
fn is_listed(parent: &OwnedFd, name: &Path) -> Result<bool, ResourceError> {
    let mut directory = Dir::openat(parent, ".", DIRECTORY, Mode::empty())?;
    for entry in directory.iter() {
        if entry?.file_name().to_bytes() == name.as_os_str().as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_file(parent: impl AsFd, name: &Path, limit: u64) -> Result<Vec<u8>, ResourceError> {
    // `O_NONBLOCK` does not wait for ever if the file is now a pipe.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::from(openat(parent, name, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ResourceError::Special);
    }
    read_open(file, metadata.len(), limit)
}

fn read_open(file: File, size: u64, limit: u64) -> Result<Vec<u8>, ResourceError> {
    bounded::read_sized(file, size, limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => ResourceError::TooLarge { size, limit },
        _ => ResourceError::Io(error),
    })
}

/// Reads a file during [`list_files_of_skill`], at most `limit` bytes.
fn read_walked(file: &WalkedFile<'_>, limit: u64) -> Result<ServedContent, ResourceError> {
    read_open(file.open()?, file.size, limit).map(ServedContent::File)
}

/// Lists the files of the skill's directory `skill` of `root` by path, at most 1000. Leaves out links, special files, hidden
/// directories, `node_modules` and names that are not UTF-8. Calls `visit` with each file.
fn list_files_of_skill(root: &Path, skill: &Path, mut visit: impl FnMut(&WalkedFile<'_>)) -> Vec<ListedFile> {
    let is_skipped = |name: &OsStr| name.as_bytes().starts_with(b".") || name == "node_modules";
    let mut files = Vec::new();
    // A directory that cannot be opened has no files to serve.
    let _ = inside::walk_beneath(root, skill, is_skipped, &mut |file| {
        if let Some(path) = file.path.to_str() {
            files.push(ListedFile { path: path.to_owned(), size: file.size, stamp: file.stamp.clone() });
            visit(file);
        }
        if files.len() < MAX_FILES { WalkControl::On } else { WalkControl::Stop }
    });
    files
}

// URIs: `skill://<slug>/<path>` for resources, and `file:` for a client's roots.

const SCHEME: &str = "skill://";

/// URI template, name and description of each kind of address except `skill://`.
pub(super) const URI_TEMPLATES: [(&str, &str, &str); 3] = [
    ("skill://{skill}", "skill", "The SKILL.md of a skill"),
    ("skill://{skill}/", "skill-files", "The other files of a skill, all at once"),
    ("skill://{skill}/{+path}", "skill-file", "A file of a skill"),
];

/// The characters of a path that are escaped.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// What a URI names. A skill is named by its name or its slug.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Address {
    /// `skill://`: the skill list.
    All,
    /// `skill://<slug>`: its SKILL.md.
    Skill(String),
    /// `skill://<slug>/`: its other files.
    Files(String),
    /// `skill://<slug>/<path>`. The path is decoded and not checked yet.
    File(String, String),
}

impl Address {
    /// Parses a URI. The error completes a sentence that starts with the URI.
    pub(super) fn parse(uri: &str) -> Result<Self, &'static str> {
        let rest = uri.strip_prefix(SCHEME).ok_or("does not start with `skill://`")?;
        if rest.contains(['?', '#']) {
            return Err("has a query or a fragment; write `%3F` for `?` and `%23` for `#` in a path");
        }
        Ok(match rest.split_once('/') {
            None if rest.is_empty() => Self::All,
            None => Self::Skill(decode_uri(rest)?),
            Some((name, "")) => Self::Files(decode_uri(name)?),
            Some((name, path)) => Self::File(decode_uri(name)?, decode_uri(path)?),
        })
    }

    /// Replaces the skill's name by its slug.
    pub(super) fn by_slug(self) -> Self {
        match self {
            Self::All => Self::All,
            Self::Skill(name) => Self::Skill(slug(&name)),
            Self::Files(name) => Self::Files(slug(&name)),
            Self::File(name, path) => Self::File(slug(&name), path),
        }
    }

    /// The addresses that change with the file at `path`. `skill_files` are the names of a SKILL.md.
    fn affected_by(slug: &str, path: &str, skill_files: &[&str]) -> Vec<Self> {
        let slug = || slug.to_owned();
        let mut affected = vec![Self::All, Self::Files(slug()), Self::File(slug(), path.to_owned())];
        affected.extend(skill_files.contains(&path).then(|| Self::Skill(slug())));
        affected
    }

    pub(super) fn uri(&self) -> String {
        match self {
            Self::All => SCHEME.to_owned(),
            Self::Skill(slug) => format!("{SCHEME}{slug}"),
            Self::Files(slug) => format!("{SCHEME}{slug}/"),
            Self::File(slug, path) => format!("{SCHEME}{slug}/{}", utf8_percent_encode(path, ESCAPED)),
        }
    }
}

fn decode_uri(text: &str) -> Result<String, &'static str> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| "is not UTF-8 once decoded")?;
    Ok(text.into_owned())
}

/// The path of a `file:` URI. `None` if the URI names another machine.
pub(super) fn local_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    (path.starts_with('/') && !bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}
