//! What an agent sees in its sandbox in addition to the system's directories.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::SandboxedProgram;
use super::programs::{PrivatePaths, needs, next_to_bin};
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::sandbox::{Mount, SYSTEM};
use crate::files::look;
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
    all.extend(mounts.into_iter().map(|(directory, place)| (place.into(), Mount::Writable(directory.into()))));
    if let Some(skills) = trial_env.skills_to_mount() {
        let place = OsString::from(trial_env.skills());
        all.push((place.into(), Mount::ReadOnly(skills.into())));
    }
    let identity = trial_env.identity();
    all.extend(shown.into_iter().chain(identity).map(|(file, place)| (place, Mount::ReadOnly(file))));
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
