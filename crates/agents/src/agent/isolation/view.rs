//! What an agent sees in its sandbox in addition to the system's directories.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use super::SandboxedProgram;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::sandbox::{Mount, SYSTEM, shows};
use crate::agent::trial_env::{CoveredProgram, TrialEnv};
use crate::files::look;
use crate::process::find_program;
use crate::profile::{self, Profile};
use crate::settings::ROOT;

/// Variables that name files or directories with certificates.
const CERTIFICATES: [&str; 3] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"];

/// Parts of a repository that stay hidden if an agent or an MCP server gets all of it.
const HIDDEN: [&str; 3] = ["evals", "artifacts", ".git"];

/// The paths that a sandbox shows and hides, canonical except for links.
struct SandboxView {
    private: PrivatePaths,
    /// The places of the agent's room. Every path there is the room's, whatever is at that path outside, and may be a link by now.
    room: Vec<PathBuf>,
    readable: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    /// Links by which programs are called, and their targets.
    links: Vec<(PathBuf, PathBuf)>,
}

/// What is at which path, deeper paths later. Programs on the PATH, and what resolves host names, may be those of the `image`.
pub(super) fn mounts(program: &SandboxedProgram<'_>, of_image: bool) -> Vec<(PathBuf, Mount)> {
    let SandboxedProgram { program, env, reads, server, root, trial_env, settings } = *program;
    let private = PrivatePaths::new(root, trial_env);
    let mounts = trial_env.mounts();
    let room = trial_env.places();
    let (readable, hidden, links) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let mut view = SandboxView { private, room, readable, hidden, links };
    view.add_program(program);
    if !of_image {
        view.add_search_path(env.get(OsStr::new("PATH")));
        // The target of this link often resolves host names.
        view.add(Path::new("/etc/resolv.conf"));
    }
    if let Some(server) = server {
        view.add_server(server);
    }
    // Values that name something in the repository for the agent.
    for (name, _) in settings.env.iter().filter(|(_, value)| value.contains(ROOT)) {
        if let Some(value) = env.get(OsStr::new(name)).and_then(|value| value.to_str()) {
            view.add_named(value);
        }
    }
    let certificates = CERTIFICATES.iter().filter_map(|name| env.get(OsStr::new(name))).map(Path::new);
    let shown = trial_env.shown();
    let more = reads.iter().chain(&settings.isolation.readable).map(PathBuf::as_path);
    for path in certificates.chain(more) {
        view.add(path);
    }
    view.hide();
    let mut all = view.mounts();
    all.extend(mocks(trial_env, &all, &PrivatePaths::new(root, trial_env)));
    all.extend(mounts.into_iter().map(|(directory, place)| (place.into(), Mount::Writable(directory.into()))));
    if let Some(skills) = trial_env.skills_to_mount() {
        let place = OsString::from(trial_env.skills());
        all.push((place.into(), Mount::ReadOnly(skills.into())));
    }
    let identity = trial_env.identity();
    all.extend(shown.into_iter().chain(identity).map(|(file, place)| (place, Mount::ReadOnly(file))));
    all
}

/// Mocks in the place of programs that the sandbox shows, and these programs elsewhere, with all that they find next to themselves.
fn mocks(trial_env: &TrialEnv, shown: &[(PathBuf, Mount)], private: &PrivatePaths) -> Vec<(PathBuf, Mount)> {
    let mut all = Vec::new();
    for CoveredProgram { place, mock, shows_real } in trial_env.covered() {
        if !shows(shown, &place) {
            continue;
        }
        let system = SYSTEM.into_iter().map(Path::new).find(|system| place.starts_with(system));
        let needed = system.map_or_else(|| needs(&place, private), |system| vec![system.to_path_buf()]);
        all.push((place, Mount::ReadOnly(mock)));
        for path in needed.into_iter().filter(|_| shows_real) {
            let real = (trial_env.real_place(&path), Mount::ReadOnly(path));
            if !all.contains(&real) {
                all.push(real);
            }
        }
    }
    all
}

impl SandboxView {
    /// The path without links; `None` if nothing is there, or if it is in the room.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        if self.room.iter().any(|room| path.starts_with(room)) { None } else { path.canonicalize().ok() }
    }

    /// Shows a file or directory, under its own name and that of its target.
    fn add(&mut self, path: &Path) {
        let Some(real) = self.real(path) else { return };
        if real != path && path.is_absolute() {
            self.links.push((path.to_path_buf(), real.clone()));
        }
        self.readable.insert(real);
    }

    fn add_program(&mut self, program: &Path) {
        if program.parent() == Some(Path::new("")) {
            // A name, which is searched in the sandbox.
            return;
        }
        self.readable.extend(needs(program, &self.private));
        if let Ok(real) = program.canonicalize()
            && real != program
        {
            self.links.push((program.to_path_buf(), real));
        }
    }

    /// Shows the directories of the PATH. A directory of shims is useless without the shims' targets.
    fn add_search_path(&mut self, path: Option<&OsString>) {
        for directory in path.iter().flat_map(std::env::split_paths) {
            let Some(real) = self.real(&directory) else { continue };
            let is_system = SYSTEM.iter().any(|system| real.starts_with(system));
            if self.private.allows(&real) && !real.ends_with("shims") && !is_system {
                self.readable.extend(next_to_bin(&real));
                self.add(&directory);
            }
        }
    }

    /// Shows the MCP server's program, and what its arguments and variables name.
    fn add_server(&mut self, server: &ServerCommand) {
        if server.is_own() {
            self.add_program(&server.program);
        } else {
            self.add(&server.program);
        }
        for text in server.args.iter().chain(server.env.values()) {
            self.add_named(text);
        }
    }

    /// Shows the path that a text names, alone or after `=`: a directory, or a file with its directory.
    fn add_named(&mut self, text: &str) {
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        for path in [text, value].map(Path::new).into_iter().filter(|path| path.is_absolute()) {
            let Some(real) = self.real(path) else { continue };
            if look::is_usable_file(&real) {
                self.readable.insert(self.private.around(&real));
            } else if real == self.private.root || !self.private.root.starts_with(&real) {
                self.add(path);
            }
        }
    }

    /// Hides the private paths that are inside a shown directory.
    fn hide(&mut self) {
        let shown: Vec<&Path> = self.readable.iter().map(PathBuf::as_path).chain(SYSTEM.map(Path::new)).collect();
        let private = self.private.others.iter().chain([&self.private.root]);
        let hidden = private.filter(|path| shown.iter().any(|shown| path != shown && path.starts_with(shown)));
        self.hidden = hidden.cloned().collect();
        let root = &self.private.root;
        if self.readable.contains(root) {
            self.hidden.remove(root);
            self.hidden.extend(HIDDEN.map(|name| root.join(name)).into_iter().filter(|path| look::is_usable(path)));
        }
    }

    fn mounts(self) -> Vec<(PathBuf, Mount)> {
        let mut mounts = Vec::new();
        // Deeper paths come later: they are shown in hidden directories, and hidden in shown ones.
        let hidden = self.hidden.iter().map(|path| (path, false));
        let mut entries: Vec<(&PathBuf, bool)> = self.readable.iter().map(|path| (path, true)).chain(hidden).collect();
        entries.sort_by_key(|(path, _)| path.components().count());
        let mut written: Vec<(&Path, bool)> = SYSTEM.iter().map(|directory| (Path::new(*directory), true)).collect();
        for (path, is_shown) in entries {
            let parent = written.iter().rev().find(|(parent, _)| path.starts_with(parent));
            match (is_shown, parent) {
                // Its parent shows it.
                (true, Some((_, true))) => continue,
                (true, _) => mounts.push((path.clone(), Mount::ReadOnly(path.clone()))),
                (false, _) if look::is_usable_directory(path) => mounts.push((path.clone(), Mount::Empty)),
                (false, _) => mounts.push((path.clone(), Mount::ReadOnly("/dev/null".into()))),
            }
            written.push((path, is_shown));
        }
        let mut shown: Vec<&Path> = written.into_iter().filter(|(_, shown)| *shown).map(|(path, _)| path).collect();
        let mut links: Vec<&(PathBuf, PathBuf)> = self.links.iter().collect();
        links.sort_by_key(|(path, _)| path.components().count());
        for (path, target) in links {
            if !shown.iter().any(|shown| path.starts_with(shown)) {
                mounts.push((path.clone(), Mount::Link(target.clone())));
                shown.push(path);
            }
        }
        mounts
    }
}

// What a program needs to run: its file, what is next to it, and its interpreter.

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
fn next_to_bin(directory: &Path) -> Vec<PathBuf> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ScratchDir;
    use crate::agent::trial_env::RoomPaths;

    /// The machine may have files at the paths at which a room has its own.
    #[test]
    fn a_path_of_the_room_is_not_looked_up_outside() {
        let scratch = tempfile::tempdir().expect("a directory");
        let scratch = ScratchDir::open(Some(scratch.path()), Some(RoomPaths::here())).expect("a scratch directory");
        let trial_env = scratch.trial_env().expect("an environment");
        let paths = trial_env.paths().expect("the paths of a sandbox").clone();
        let schema = trial_env.show("schema.json", b"{}").expect("a file");
        let room = trial_env.places();
        for path in [&paths.home, &paths.tmp, &paths.skills, &schema] {
            assert!(room.contains(path), "{}: {room:?}", path.display());
        }
        assert!(!room.contains(&paths.shown), "the user may have files there: {room:?}");

        let outside = tempfile::tempdir().expect("a directory");
        let [ours, theirs] = ["bin", "data"].map(|name| outside.path().join(name));
        for directory in [&ours, &theirs] {
            std::fs::create_dir(directory).expect("a directory");
        }
        let (readable, hidden, links) = Default::default();
        let private = PrivatePaths { root: "/nowhere".into(), others: Vec::new() };
        let view = SandboxView { private, room: vec![ours.clone()], readable, hidden, links };
        assert_eq!(view.real(&ours), None);
        assert!(view.real(&theirs).is_some());
    }
}
