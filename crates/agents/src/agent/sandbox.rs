//! A sandbox around a program, and where a program runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::process::Start;
use crate::settings::Isolation;

/// A program that runs another program in a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxProgram {
    program: PathBuf,
    /// Its arguments, up to the other program's path.
    args: Vec<OsString>,
}

/// Where an agent's program and what the repository names start. Only `agent::isolation` makes one.
#[derive(Clone, Debug)]
pub struct Place(Option<SandboxProgram>);

impl Place {
    pub(super) fn inside(sandbox: SandboxProgram) -> Self {
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
            Some(sandbox) => sandbox.start(program, args),
            None => Start::outside(program.to_path_buf(), args),
        }
    }

    pub fn sandbox(&self) -> Option<&SandboxProgram> {
        self.0.as_ref()
    }

    pub fn isolation(&self) -> Isolation {
        if self.0.is_some() { Isolation::Bwrap } else { Isolation::Agent }
    }
}

impl SandboxProgram {
    pub(super) fn new(program: PathBuf, args: Vec<OsString>) -> Self {
        Self { program, args }
    }

    fn start(&self, program: &Path, args: Vec<OsString>) -> Start {
        let args = self.args.iter().cloned().chain([program.into()]).chain(args).collect();
        Start::sandbox(self.program.clone(), args)
    }

    /// Whether the sandbox shows a path of the machine. Later arguments cover earlier ones.
    pub fn shows(&self, path: &Path) -> bool {
        let mut shown = false;
        for words in self.args.windows(3) {
            let (first, second) = (Path::new(&words[1]), Path::new(&words[2]));
            match words[0].to_str() {
                Some("--bind" | "--ro-bind" | "--ro-bind-try" | "--symlink") if path.starts_with(second) => {
                    shown = true;
                }
                Some("--tmpfs") if path.starts_with(first) => shown = false,
                _ => {}
            }
        }
        shown
    }
}
