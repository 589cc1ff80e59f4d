//! What an agent sees in its sandbox beside the system's folders, as arguments of bubblewrap.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::SandboxedProgram;
use super::bwrap::{SYSTEM, base};
use super::programs::{PrivatePaths, beside, needs};
use crate::agent::mcp_probe::ServerCommand;
use crate::settings::ROOT;

/// Variables that name files or folders with certificates.
const CERTIFICATES: [&str; 3] = ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"];

/// Parts of a repository that stay hidden where an agent or an MCP server is given the whole of it.
const HIDDEN: [&str; 3] = ["evals", "artifacts", ".git"];

/// What is shown and hidden. Paths are canonical but for those of links.
#[derive(Default)]
struct SandboxView {
    readable: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    /// Links by which programs are called, and what they lead to.
    links: Vec<(PathBuf, PathBuf)>,
}

/// The arguments for `bwrap`, up to the program's path.
pub(super) fn arguments(inside: &SandboxedProgram<'_>) -> Vec<OsString> {
    let SandboxedProgram { program, env, reads, server, root, room, settings } = *inside;
    let private = PrivatePaths::new(root, room);
    let mut view = SandboxView::default();
    view.program(program, &private);
    view.search_path(env.get(OsStr::new("PATH")), &private);
    if let Some(server) = server {
        view.server(server, &private);
    }
    // What the settings name for the agent in the repository is there to be used.
    let in_repository = settings.env.iter().filter(|(_, value)| value.contains(ROOT));
    let values = in_repository.filter_map(|(name, _)| env.get(OsStr::new(name))?.to_str());
    view.named(values, &private);
    let certificates = CERTIFICATES.iter().filter_map(|name| env.get(OsStr::new(name))).map(PathBuf::from);
    let named = certificates.chain(reads.iter().cloned());
    named.chain(settings.isolation.readable.iter().cloned()).for_each(|path| view.show(&path));
    // Names are often resolved by a file that this is a link to.
    view.show(Path::new("/etc/resolv.conf"));
    view.hide(&private);
    let mut args = base();
    view.write(&mut args);
    args.extend(["--bind".into(), room.path().into(), room.path().into()]);
    args.extend(["--ro-bind-try".into(), room.skills_to_mount().into(), room.skills().into()]);
    // Nothing that seems to be written elsewhere is lost without a word.
    args.extend(["--remount-ro".into(), "/".into()]);
    args.extend(["--chdir".into(), room.workspace().into_os_string(), "--".into()]);
    args
}

impl SandboxView {
    /// Shows a file or folder, under the name that it is called by too.
    fn show(&mut self, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        if real != path && path.is_absolute() {
            self.links.push((path.to_path_buf(), real.clone()));
        }
        self.readable.insert(real);
    }

    fn program(&mut self, program: &Path, private: &PrivatePaths) {
        self.readable.extend(needs(program, private));
        if let Ok(real) = program.canonicalize()
            && real != program
        {
            self.links.push((program.to_path_buf(), real));
        }
    }

    /// The folders where commands are looked for. A folder of shims is of no use without what they lead to.
    fn search_path(&mut self, path: Option<&OsString>, private: &PrivatePaths) {
        for folder in path.iter().flat_map(std::env::split_paths) {
            let Ok(real) = folder.canonicalize() else { continue };
            if private.allows(&real) && !real.ends_with("shims") && !is_system(&real) {
                self.readable.extend(beside(&real));
                self.show(&folder);
            }
        }
    }

    /// The MCP server's program, and what its arguments and variables name.
    fn server(&mut self, server: &ServerCommand, private: &PrivatePaths) {
        if server.is_own() {
            self.program(&server.program, private);
        } else {
            self.show(&server.program);
        }
        self.named(server.args.iter().chain(server.env.values()).map(String::as_str), private);
    }

    /// The files, with their folders, and the folders that these texts name by absolute path, alone or behind `=`.
    fn named<'a>(&mut self, texts: impl Iterator<Item = &'a str>, private: &PrivatePaths) {
        for text in texts {
            let value = text.split_once('=').map_or(text, |(_, value)| value);
            for path in [text, value].map(Path::new).into_iter().filter(|path| path.is_absolute()) {
                let Ok(real) = path.canonicalize() else { continue };
                if real.is_file() {
                    self.readable.insert(private.around(&real));
                } else if real == private.root || !private.root.starts_with(&real) {
                    self.show(path);
                }
            }
        }
    }

    /// Hides the repository and everybody's rooms where something shown holds them.
    fn hide(&mut self, private: &PrivatePaths) {
        for path in private.others.iter().chain([&private.root]) {
            let shown = |above: &Path| above != path && path.starts_with(above);
            if self.readable.iter().any(|readable| shown(readable))
                || SYSTEM.iter().any(|folder| shown(Path::new(folder)))
            {
                self.hidden.insert(path.clone());
            }
        }
        if self.readable.contains(&private.root) {
            self.hidden.remove(&private.root);
            self.hidden.extend(HIDDEN.map(|name| private.root.join(name)).into_iter().filter(|path| path.exists()));
        }
    }

    fn write(self, args: &mut Vec<OsString>) {
        // What lies deeper comes later, and so is shown in what is hidden and hidden in what is shown.
        let hidden = self.hidden.iter().map(|path| (path, false));
        let mut entries: Vec<(&PathBuf, bool)> = self.readable.iter().map(|path| (path, true)).chain(hidden).collect();
        entries.sort_by_key(|(path, _)| path.components().count());
        let mut written: Vec<(&Path, bool)> = SYSTEM.iter().map(|folder| (Path::new(*folder), true)).collect();
        for (path, shown) in entries {
            let above = written.iter().rev().find(|(above, _)| path.starts_with(above));
            match (shown, above) {
                // Shown already.
                (true, Some((_, true))) => continue,
                (true, _) => args.extend(["--ro-bind".into(), path.into(), path.into()]),
                (false, _) if path.is_dir() => args.extend(["--tmpfs".into(), path.into()]),
                (false, _) => args.extend(["--ro-bind".into(), "/dev/null".into(), path.into()]),
            }
            written.push((path, shown));
        }
        let mut known: Vec<&Path> = written.into_iter().filter(|(_, shown)| *shown).map(|(path, _)| path).collect();
        let mut links: Vec<&(PathBuf, PathBuf)> = self.links.iter().collect();
        links.sort_by_key(|(path, _)| path.components().count());
        for (path, real) in links {
            if !known.iter().any(|known| path.starts_with(known)) {
                args.extend(["--symlink".into(), real.into(), path.into()]);
                known.push(path);
            }
        }
    }
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}
