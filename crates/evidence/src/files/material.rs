//! A directory whose content agents get: a skill, or the files of a workspace. It is listed once, with links resolved. Then each file is
//! copied and digested in one pass, so that the digest is that of the copy.
//!
//! A symbolic link that stays inside the directory counts as its target. A link that is absolute, broken or leads out is
//! a problem: on another machine it would lead elsewhere.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

use crate::files::at::PathError;
use crate::files::rooted::RootedPath;
use crate::files::{bounded, inside, look};

/// The most files and directories in one.
const MAX_ENTRIES: usize = 20_000;

/// The most bytes of all its files together.
pub const MAX_BYTES: u64 = 1 << 30;

/// How deep its directories may be nested.
pub const MAX_DEPTH: usize = 64;

/// The files and directories that an agent gets, by their relative paths.
#[derive(Debug, Default)]
pub struct Material {
    /// The files; each directory is sorted by name.
    pub files: Vec<MaterialFile>,
    /// The directories inside it, each before its content.
    pub directories: Vec<PathBuf>,
    /// Why it cannot be given to an agent.
    pub problems: Vec<MaterialProblem>,
    bytes: u64,
}

/// A file of a [`Material`].
#[derive(Debug)]
pub struct MaterialFile {
    /// Its relative path, as the agent gets it.
    pub path: PathBuf,
    content: MaterialContent,
    /// Whether any user may execute it.
    pub executable: bool,
}

/// What a [`MaterialFile`] holds.
#[derive(Debug)]
enum MaterialContent {
    /// The content of the file at this path, without links.
    At(PathBuf),
    Text(Vec<u8>),
}

impl MaterialContent {
    /// Opens it. Returns its size in bytes too.
    fn open(&self) -> io::Result<(Box<dyn Read + '_>, u64)> {
        match self {
            Self::At(path) => bounded::open(path).map(|(file, size)| (Box::new(file) as Box<dyn Read>, size)),
            Self::Text(text) => Ok((Box::new(text.as_slice()), text.len() as u64)),
        }
    }
}

/// Digests of a copied [`Material`].
#[derive(Debug)]
pub struct CopiedMaterial {
    /// The digest of all files with their paths, as [`Material::digest`] returns it.
    pub digest: String,
    /// The digest of each file's content, in the order of [`Material::files`].
    pub files: Vec<blake3::Hash>,
}

/// Why a directory cannot be given to an agent.
#[derive(Debug, Error)]
#[error("`{}` {why}", path.display())]
pub struct MaterialProblem {
    /// The relative path of the file.
    pub path: PathBuf,
    /// What is wrong with it, as the rest of a sentence that starts with the path.
    pub why: UnusableFile,
}

impl MaterialProblem {
    /// What is wrong, in words, unless nobody knows what is there.
    pub fn known(self) -> io::Result<String> {
        if self.hides() { Err(self.into()) } else { Ok(self.to_string()) }
    }

    fn hides(&self) -> bool {
        matches!(&self.why, UnusableFile::Unreadable(error) if !look::is_absent(error) && !look::is_loop(error))
    }
}

impl From<MaterialProblem> for io::Error {
    fn from(problem: MaterialProblem) -> Self {
        match problem {
            MaterialProblem { path, why: UnusableFile::Unreadable(source) } => PathError { path, source }.into(),
            problem => Self::other(problem),
        }
    }
}

/// Why a file cannot be given to an agent.
#[derive(Debug, Error)]
pub enum UnusableFile {
    /// A link with an absolute path.
    #[error("is a symbolic link to the absolute path `{}`", .0.display())]
    Absolute(PathBuf),
    /// A link to something outside the directory.
    #[error("is a symbolic link to `{}`, which is outside the directory", .0.display())]
    Leaving(PathBuf),
    /// A link to nothing.
    #[error("is a symbolic link to `{}`, which does not exist", .0.display())]
    Broken(PathBuf),
    /// A link to a directory that contains it, or to itself.
    #[error("is a symbolic link to `{}`, which leads back to itself", .0.display())]
    Loop(PathBuf),
    /// A pipe, a socket, a device.
    #[error("cannot be copied: {0}")]
    Special(io::Error),
    /// It cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// Too many files and directories.
    #[error("is one too many: at most {MAX_ENTRIES} files and directories are copied")]
    TooMany,
    /// Too many bytes.
    #[error("is too large: {bytes} bytes with what comes before it; at most {limit} are copied", bytes = .0, limit = bounded::bytes(MAX_BYTES))]
    TooLarge(u64),
    /// Nested too deep.
    #[error("lies too deep: at most {MAX_DEPTH} levels are copied")]
    TooDeep,
}

impl Material {
    /// Lists the directory `directory`, whose own path may go through links.
    pub fn list(directory: &Path) -> Self {
        Self::list_without(directory, &[])
    }

    /// Lists the directory `path` of the repository at `root`.
    pub fn list_in(root: &Path, path: &Path) -> Self {
        inside::real(root, path).map_or_else(Self::unreadable, |found| Self::list(&found))
    }

    /// A directory that cannot be read.
    pub fn unreadable(error: io::Error) -> Self {
        let mut material = Self::default();
        material.problem(Path::new(""), UnusableFile::Unreadable(error));
        material
    }

    /// The same without what has these paths in it.
    pub fn list_without(directory: &Path, left_out: &[&str]) -> Self {
        let left_out: HashSet<&Path> = left_out.iter().map(Path::new).collect();
        let mut material = Self::default();
        match directory.canonicalize() {
            Ok(root) => {
                MaterialWalk { root: &root, open: vec![root.clone()], left_out: &left_out, material: &mut material }
                    .directory(Path::new(""));
            }
            Err(error) => material.problem(Path::new(""), UnusableFile::Unreadable(error)),
        }
        material
    }

    /// Adds the file or directory `source` of the repository at `root`, which replaces files that are at `path` so far.
    pub fn add(&mut self, path: &Path, root: &Path, source: &Path) {
        let mut added = Self::default();
        match inside::real(root, source).and_then(|source| source.canonicalize()) {
            Ok(root) if look::is_usable_directory(&root) => {
                added.directories.push(path.to_path_buf());
                MaterialWalk { root: &root, open: vec![root.clone()], left_out: &HashSet::new(), material: &mut added }
                    .directory(path);
            }
            Ok(file) => {
                let root = file.parent().unwrap_or(&file).to_path_buf();
                MaterialWalk { root: &root, open: Vec::new(), left_out: &HashSet::new(), material: &mut added }
                    .entry(path, file);
            }
            Err(error) => added.problem(path, UnusableFile::Unreadable(error)),
        }
        self.overlay(path, added);
    }

    /// Adds a file with this text, which replaces the one that is at `path` so far.
    pub fn add_text(&mut self, path: &Path, text: &str) {
        let content = MaterialContent::Text(text.as_bytes().to_vec());
        let file = MaterialFile { path: path.to_path_buf(), content, executable: false };
        self.overlay(path, Self { files: vec![file], bytes: text.len() as u64, ..Self::default() });
    }

    /// Adds what is at `path` and in it.
    fn overlay(&mut self, path: &Path, added: Self) {
        let new: HashSet<&Path> = added.files.iter().map(|file| file.path.as_path()).collect();
        self.files.retain(|file| !new.contains(file.path.as_path()));
        let parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).map(Path::to_path_buf);
        let parents: Vec<PathBuf> = parents.collect();
        let known: HashSet<PathBuf> = self.directories.iter().cloned().collect();
        let directories = parents.into_iter().rev().chain(added.directories);
        self.directories.extend(directories.filter(|directory| !known.contains(directory)));
        self.files.extend(added.files);
        self.problems.extend(added.problems);
        self.bytes = self.bytes.saturating_add(added.bytes);
        if self.bytes > MAX_BYTES {
            self.problem(path, UnusableFile::TooLarge(self.bytes));
        } else if self.files.len() + self.directories.len() > MAX_ENTRIES {
            self.problem(path, UnusableFile::TooMany);
        }
    }

    /// The content of the file at `path`, at most `limit` bytes.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = self.files.iter().find(|file| file.path == path).ok_or(io::ErrorKind::NotFound)?;
        match &file.content {
            MaterialContent::At(path) => bounded::read_at_most(path, limit),
            MaterialContent::Text(text) if text.len() as u64 > limit => Err(io::ErrorKind::FileTooLarge.into()),
            MaterialContent::Text(text) => Ok(text.clone()),
        }
    }

    /// The material if it has no problems.
    pub fn whole(mut self) -> Result<Self, MaterialProblem> {
        if self.problems.is_empty() { Ok(self) } else { Err(self.problems.swap_remove(0)) }
    }

    /// The same, unless nobody knows whether it is all.
    pub fn seen(mut self) -> io::Result<Self> {
        match self.problems.iter().position(MaterialProblem::hides) {
            Some(at) => Err(self.problems.swap_remove(at).into()),
            None => Ok(self),
        }
    }

    /// The digest of the files with their paths.
    pub fn digest(&self) -> Result<String, MaterialProblem> {
        let mut digester = MaterialDigester::default();
        for file in &self.files {
            file.pass(&mut digester, &mut io::sink()).map_err(|error| file.unreadable(error))?;
        }
        Ok(digester.finish())
    }

    /// The paths of the executable files, in lines. The digest does not show which files are executable.
    pub fn programs(&self) -> String {
        let programs = self.files.iter().filter(|file| file.executable);
        programs.map(|file| format!("{}\n", file.path.display())).collect::<Vec<_>>().concat()
    }

    /// Copies everything into the directory `to`, and digests it. `mode` returns the permissions of a file that is executable
    /// or not.
    pub fn copy(&self, to: &RootedPath, mode: fn(bool) -> u32) -> Result<CopiedMaterial, MaterialProblem> {
        let failed =
            |path: &Path, error| MaterialProblem { path: path.to_path_buf(), why: UnusableFile::Unreadable(error) };
        for directory in &self.directories {
            to.join(directory).create_dir_all().map_err(|error| failed(directory, error.source))?;
        }
        let mut digester = MaterialDigester::default();
        let mut files = Vec::with_capacity(self.files.len());
        for file in &self.files {
            let copied = file.copy(&to.join(&file.path), mode, &mut digester);
            files.push(copied.map_err(|error| file.unreadable(error))?);
        }
        Ok(CopiedMaterial { digest: digester.finish(), files })
    }

    fn problem(&mut self, path: &Path, why: UnusableFile) {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        self.problems.push(MaterialProblem { path: path.to_path_buf(), why });
    }
}

impl MaterialFile {
    fn unreadable(&self, error: io::Error) -> MaterialProblem {
        MaterialProblem { path: self.path.clone(), why: UnusableFile::Unreadable(error) }
    }

    fn copy(
        &self,
        to: &RootedPath,
        mode: fn(bool) -> u32,
        digester: &mut MaterialDigester,
    ) -> io::Result<blake3::Hash> {
        let mode = mode(self.executable);
        let mut copy = to.create(mode).map_err(|error| error.source)?;
        let content = self.pass(digester, &mut copy)?;
        copy.set_permissions(Permissions::from_mode(mode))?;
        Ok(content)
    }

    /// Writes the content to the digest of all files and to `copy`. Returns the digest of the content alone.
    fn pass(&self, digester: &mut MaterialDigester, copy: &mut dyn Write) -> io::Result<blake3::Hash> {
        let (file, size) = self.content.open()?;
        digester.header(&self.path, size);
        let mut file = file.take(size);
        let mut left = size;
        let mut content = blake3::Hasher::new();
        let mut buffer = vec![0; usize::try_from(size.clamp(1, 1 << 18)).unwrap_or(1)];
        while left > 0 {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
            }
            digester.0.update(&buffer[..read]);
            content.update(&buffer[..read]);
            copy.write_all(&buffer[..read])?;
            left -= read as u64;
        }
        Ok(content.finalize())
    }
}

/// Digests files with their paths.
#[derive(Default)]
struct MaterialDigester(blake3::Hasher);

impl MaterialDigester {
    /// With the size in it, no path can pass for content.
    fn header(&mut self, path: &Path, size: u64) {
        self.0.update(path.as_os_str().as_bytes()).update(format!("\0{size}\0").as_bytes());
    }

    fn finish(self) -> String {
        // Recordings contain the digest of the digest.
        blake3::hash(self.0.finalize().as_bytes()).to_hex()[..32].to_owned()
    }
}

struct MaterialWalk<'a> {
    /// The directory, without links in its path.
    root: &'a Path,
    /// The directories from the root to the current one, without links: none is entered again inside itself.
    open: Vec<PathBuf>,
    /// Paths that are not listed.
    left_out: &'a HashSet<&'a Path>,
    material: &'a mut Material,
}

impl MaterialWalk<'_> {
    /// Lists the current directory, which the agent gets at `path`.
    fn directory(&mut self, path: &Path) {
        let Some(real) = self.open.last().cloned() else { return };
        // More could not be copied anyway.
        let mut names = match look::names_at_most(&real, MAX_ENTRIES + 1) {
            Ok(names) => names,
            Err(error) => return self.material.problem(path, UnusableFile::Unreadable(error)),
        };
        names.retain(|name| self.left_out.is_empty() || !self.left_out.contains(&*path.join(name)));
        for name in names {
            if !self.entry(&path.join(&name), real.join(&name)) {
                return;
            }
        }
    }

    /// Adds the file or directory at `real`, which the agent gets at `path`. Returns whether there is room for more.
    fn entry(&mut self, path: &Path, real: PathBuf) -> bool {
        // These problems are reported only once.
        if self
            .material
            .problems
            .iter()
            .any(|problem| matches!(problem.why, UnusableFile::TooMany | UnusableFile::TooLarge(_)))
        {
            return false;
        }
        if self.material.files.len() + self.material.directories.len() == MAX_ENTRIES {
            self.material.problem(path, UnusableFile::TooMany);
            return false;
        }
        let found = match fs::symlink_metadata(&real) {
            Ok(found) if found.is_symlink() => match self.target(&real) {
                Ok(target) => {
                    fs::symlink_metadata(&target).map(|found| (target, found)).map_err(UnusableFile::Unreadable)
                }
                Err(why) => Err(why),
            },
            Ok(found) => Ok((real, found)),
            Err(error) => Err(UnusableFile::Unreadable(error)),
        };
        match found {
            Err(why) => self.material.problem(path, why),
            Ok((real, found)) if found.is_dir() => {
                if self.open.len() > MAX_DEPTH {
                    self.material.problem(path, UnusableFile::TooDeep);
                    return true;
                }
                self.material.directories.push(path.to_path_buf());
                self.open.push(real);
                self.directory(path);
                self.open.pop();
            }
            Ok((source, found)) => {
                if let Err(error) = bounded::check_kind(found.file_type()) {
                    self.material.problem(path, UnusableFile::Special(error));
                    return true;
                }
                if let Err(error) = look::check_readable(&source) {
                    self.material.problem(path, UnusableFile::Unreadable(error));
                    return true;
                }
                self.material.bytes = self.material.bytes.saturating_add(found.len());
                if self.material.bytes > MAX_BYTES {
                    let bytes = self.material.bytes;
                    self.material.problem(path, UnusableFile::TooLarge(bytes));
                    return false;
                }
                let executable = found.permissions().mode() & 0o111 != 0;
                let content = MaterialContent::At(source);
                self.material.files.push(MaterialFile { path: path.to_path_buf(), content, executable });
            }
        }
        true
    }

    /// Where the link at `real` leads, without links.
    fn target(&self, real: &Path) -> Result<PathBuf, UnusableFile> {
        let written = fs::read_link(real).map_err(UnusableFile::Unreadable)?;
        if written.is_absolute() {
            return Err(UnusableFile::Absolute(written));
        }
        let target = match real.canonicalize() {
            Ok(target) => target,
            Err(error) if look::is_loop(&error) => return Err(UnusableFile::Loop(written)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let leaving = self.leaves(real, &written);
                return Err(if leaving { UnusableFile::Leaving(written) } else { UnusableFile::Broken(written) });
            }
            Err(error) => return Err(UnusableFile::Unreadable(error)),
        };
        // Another link on the way may lead out too.
        if !target.starts_with(self.root) || self.leaves(real, &written) {
            return Err(UnusableFile::Leaving(written));
        }
        if self.open.contains(&target) {
            return Err(UnusableFile::Loop(written));
        }
        Ok(target)
    }

    /// Whether `written`, the text of the link at `real`, leaves the root on its way, even if it comes back. In a copy of the
    /// root such a link leads elsewhere.
    fn leaves(&self, real: &Path, written: &Path) -> bool {
        let mut at = real.parent().unwrap_or(self.root).to_path_buf();
        for part in written.components() {
            match part {
                Component::ParentDir => {
                    at.pop();
                }
                Component::Normal(name) => at.push(name),
                _ => {}
            }
            if !at.starts_with(self.root) {
                return true;
            }
        }
        false
    }
}
