//! What a program needs to run: its file, what lies beside it, and its interpreter.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::agent::trial_env::TrialEnv;
use crate::process::find_program;
use crate::profile::{self, Profile};

/// Folders of a repository that are never shown as the folder of a program, beside those of agents.
const PROTECTED: [&str; 4] = ["evals", "artifacts", "skills", ".git"];

fn protected() -> impl Iterator<Item = &'static str> {
    PROTECTED.into_iter().chain(profile::of_all(Profile::folders))
}

/// Folders that hold everybody's things.
const COMMON: [&str; 10] = ["/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/run", "/srv", "/mnt", "/media"];

/// How many interpreters of interpreters are followed.
const MAX_DEPTH: usize = 3;

/// What is not to be seen through a program's folder, canonical.
pub(super) struct PrivatePaths {
    /// The repository.
    pub root: PathBuf,
    /// The user's home, and the folder with everybody's rooms.
    pub others: Vec<PathBuf>,
}

impl PrivatePaths {
    /// What a trial in `room` is not to see of the repository and of what is around it.
    pub(super) fn new(repository: &Path, room: &TrialEnv) -> Self {
        let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let scratch = room.path().parent().and_then(Path::parent).map(canonical);
        let home = std::env::home_dir().map(|home| canonical(&home));
        Self { root: canonical(repository), others: scratch.into_iter().chain(home).collect() }
    }

    /// Whether a folder, canonical, shows nothing but what belongs to a program in it.
    pub(super) fn allows(&self, folder: &Path) -> bool {
        let shows = |private: &PathBuf| private.starts_with(folder);
        if COMMON.iter().any(|common| folder == Path::new(common)) || shows(&self.root) || self.others.iter().any(shows)
        {
            return false;
        }
        match folder.strip_prefix(&self.root) {
            Ok(below) => below.iter().next().is_some_and(|first| !protected().any(|name| first == name)),
            Err(_) => true,
        }
    }

    /// Whether a path, canonical, lies in a part of the repository that is never shown as the directory of a program.
    pub(super) fn protects(&self, path: &Path) -> bool {
        protected().any(|name| path.starts_with(self.root.join(name)))
    }

    /// A file's folder where that shows nothing else, or the file alone.
    pub(super) fn around(&self, file: &Path) -> PathBuf {
        file.parent().filter(|folder| self.allows(folder)).unwrap_or(file).to_path_buf()
    }
}

/// The files and folders that `program` needs, canonical.
pub(super) fn needs(program: &Path, private: &PrivatePaths) -> Vec<PathBuf> {
    let mut found = Vec::new();
    gather(program, private, MAX_DEPTH, &mut found);
    found
}

fn gather(program: &Path, private: &PrivatePaths, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(file) = program.canonicalize() else { return };
    let packages: PathBuf = file.iter().take_while(|part| *part != "node_modules").collect();
    let packages = packages.join("node_modules");
    if file.starts_with(&packages) {
        // A package of Node finds others beside its own.
        found.push(packages);
    } else {
        found.push(private.around(&file));
    }
    if let Some(folder) = file.parent() {
        found.extend(beside(folder));
    }
    if let Some(interpreter) = interpreter(&file).filter(|_| depth > 0) {
        gather(&interpreter, private, depth - 1, found);
    }
}

/// What programs in a folder `bin` have beside it: packages of Node, a virtual environment of Python.
pub(super) fn beside(folder: &Path) -> Vec<PathBuf> {
    let Some(prefix) = folder.parent().filter(|_| folder.ends_with("bin")) else { return Vec::new() };
    let packages = prefix.join("lib/node_modules");
    let environment = prefix.join("pyvenv.cfg").is_file().then(|| prefix.to_path_buf());
    packages.is_dir().then_some(packages).into_iter().chain(environment).collect()
}

/// The program that runs a script: what its first line names, or what `env` there would find.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    std::fs::File::open(file).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).into_owned();
    let mut words = line.split_whitespace();
    let first = Path::new(words.next()?);
    if first.file_name().is_some_and(|name| name == "env") {
        // `env -S node --flag`, `env NAME=value node`.
        return find_program(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    Some(first.to_path_buf())
}
