//! A sandbox around a program, and where a program runs.

use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::process::Start;
use crate::process::opener::RoomNetwork;
use crate::settings::{Isolation, Settings};

/// Directories with the system's programs, libraries and settings. Those that exist are shown.
pub(super) const SYSTEM: [&str; 11] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/run/current-system"];

/// What makes a sandbox.
pub(super) trait SandboxMaker: Debug + Send + Sync {
    fn isolation(&self) -> Isolation;

    /// How to start a program in this sandbox.
    fn start(&self, sandbox: &ProgramSandbox, program: &Path, args: Vec<OsString>) -> Start;
}

/// What a sandbox shows at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Mount {
    /// A file or directory of the machine.
    ReadOnly(PathBuf),
    Writable(PathBuf),
    /// An empty directory.
    Empty,
    /// A link to this path.
    Link(PathBuf),
}

/// A program in a sandbox sees this, besides the system's directories.
#[derive(Clone, Debug)]
pub struct ProgramSandbox {
    pub(super) maker: Arc<dyn SandboxMaker>,
    /// By place. Later ones cover earlier ones.
    pub(super) mounts: Vec<(PathBuf, Mount)>,
    /// The working directory.
    pub(super) workspace: PathBuf,
    /// Its network, if that is not the machine's.
    pub(super) network: Option<Arc<dyn RoomNetwork>>,
}

/// Where an agent's program and what the repository names start. Only `agent::isolation` makes one.
#[derive(Clone, Debug)]
pub struct Place(Option<ProgramSandbox>);

impl Place {
    pub(super) fn inside(sandbox: ProgramSandbox) -> Self {
        Self(Some(sandbox))
    }

    /// Outside every sandbox: none works, and none is required.
    pub(super) fn outside() -> Self {
        Self(None)
    }

    /// How to start a program there.
    #[expect(clippy::disallowed_methods, reason = "no sandbox works, and none is required")]
    pub fn start(&self, program: &Path, args: Vec<OsString>) -> Start {
        match &self.0 {
            Some(sandbox) => {
                let start = sandbox.maker.start(sandbox, program, args);
                sandbox.network.iter().cloned().fold(start, Start::in_network)
            }
            None => Start::outside(program.to_path_buf(), args),
        }
    }

    pub fn sandbox(&self) -> Option<&ProgramSandbox> {
        self.0.as_ref()
    }

    pub fn isolation(&self) -> Isolation {
        self.0.as_ref().map_or(Isolation::Agent, |sandbox| sandbox.maker.isolation())
    }
}

impl ProgramSandbox {
    /// Whether the sandbox shows a path of the machine, or has its own there.
    pub fn shows(&self, path: &Path) -> bool {
        shows(&self.mounts, path)
    }
}

/// Whether a sandbox with these mounts shows a path of the machine, or has its own there.
pub(super) fn shows(mounts: &[(PathBuf, Mount)], path: &Path) -> bool {
    let last = mounts.iter().rev().find(|(place, _)| path.starts_with(place));
    match last {
        Some((_, mount)) => *mount != Mount::Empty,
        None => SYSTEM.iter().any(|system| path.starts_with(system)),
    }
}

/// Whether a program is one of a container's image: a name, which is searched there.
pub(super) fn is_of_image(settings: &Settings, program: &Path) -> bool {
    settings.isolation.kind == Isolation::Docker && program.parent() == Some(Path::new(""))
}

/// A program that starts in a room.
pub(super) fn find(settings: &Settings, name: &str) -> Option<PathBuf> {
    let program = PathBuf::from(name);
    if is_of_image(settings, &program) { Some(program) } else { crate::process::find_program(name) }
}
