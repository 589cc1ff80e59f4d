//! What a program needs to run: its file, what is next to it, and its interpreter.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::agent::trial_env::TrialEnv;
use crate::files::look;
use crate::process::find_program;
use crate::profile::{self, Profile};

/// Directories of a repository that are never shown as the directory of a program. The agents' own directories are more.
const PROTECTED: [&str; 4] = ["evals", "artifacts", "skills", ".git"];

/// Directories with files of all kinds.
const SHARED: [&str; 10] = ["/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/run", "/srv", "/mnt", "/media"];

/// How many interpreters of interpreters are followed.
const MAX_DEPTH: usize = 3;

/// The paths, canonical, that no program's directory may show.
pub(super) struct PrivatePaths {
    pub root: PathBuf,
    /// The user's home, and the directory with all trial environments.
    pub others: Vec<PathBuf>,
}

impl PrivatePaths {
    pub(super) fn new(repository: &Path, trial_env: &TrialEnv) -> Self {
        let scratch = trial_env.scratch_base().map(canonical);
        let home = std::env::home_dir().map(|home| canonical(&home));
        Self { root: canonical(repository), others: scratch.into_iter().chain(home).collect() }
    }

    /// Whether a directory, canonical, shows only what belongs to a program in it.
    pub(super) fn allows(&self, directory: &Path) -> bool {
        let shows_private = self.others.iter().chain([&self.root]).any(|path| path.starts_with(directory));
        if shows_private || SHARED.iter().any(|shared| directory == Path::new(shared)) {
            return false;
        }
        match directory.strip_prefix(&self.root) {
            Ok(path) => path.iter().next().is_some_and(|first| !protected().any(|name| first == name)),
            Err(_) => true,
        }
    }

    /// Whether a path, canonical, is in a part of the repository that is never shown as the directory of a program.
    pub(super) fn protects(&self, path: &Path) -> bool {
        protected().any(|name| path.starts_with(self.root.join(name)))
    }

    /// The directory of a file if it shows nothing else; otherwise the file.
    pub(super) fn around(&self, file: &Path) -> PathBuf {
        file.parent().filter(|directory| self.allows(directory)).unwrap_or(file).to_path_buf()
    }
}

fn protected() -> impl Iterator<Item = &'static str> {
    PROTECTED.into_iter().chain(profile::of_all(Profile::folders))
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// The files and directories, canonical, that `program` needs.
pub(super) fn needs(program: &Path, private: &PrivatePaths) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut next = Some(program.to_path_buf());
    for _ in 0..=MAX_DEPTH {
        let Some(file) = next.take().and_then(|program| program.canonicalize().ok()) else { break };
        let packages: PathBuf = file.iter().take_while(|part| *part != "node_modules").collect();
        let packages = packages.join("node_modules");
        // A Node package finds other packages next to its own.
        paths.push(if file.starts_with(&packages) { packages } else { private.around(&file) });
        paths.extend(file.parent().into_iter().flat_map(next_to_bin));
        paths.extend(library(&file));
        next = interpreter(&file);
    }
    paths
}

/// What programs in a directory `bin` need next to it: Node packages, a virtual environment of Python.
pub(super) fn next_to_bin(directory: &Path) -> Vec<PathBuf> {
    let Some(prefix) = directory.parent().filter(|_| directory.ends_with("bin")) else { return Vec::new() };
    let packages = prefix.join("lib/node_modules");
    let environment = look::is_usable_file(&prefix.join("pyvenv.cfg")).then(|| prefix.to_path_buf());
    look::is_usable_directory(&packages).then_some(packages).into_iter().chain(environment).collect()
}

/// The directory with the library of an interpreter of Python, which a virtual environment uses where it is.
fn library(program: &Path) -> Option<PathBuf> {
    let name = program.file_name()?.to_str()?;
    let library = program.parent()?.parent()?.join("lib");
    (name.starts_with("python") && look::is_usable_directory(&library.join(name))).then_some(library)
}

/// The program that runs a script, by the script's first line.
pub fn interpreter(file: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let program = Path::new(words.next()?);
    if program.file_name().is_some_and(|name| name == "env") {
        // `env -S node --flag`, `env NAME=value node`.
        return find_program(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    Some(program.to_path_buf())
}
