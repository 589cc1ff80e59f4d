//! A sandbox around a program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program that runs another program in a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxProgram {
    pub program: PathBuf,
    /// Its arguments, up to the other program's path.
    pub args: Vec<OsString>,
}

impl SandboxProgram {
    /// The command that runs `program` in the sandbox.
    pub fn around(&self, program: &Path, args: Vec<OsString>) -> (PathBuf, Vec<OsString>) {
        let mut all = self.args.clone();
        all.push(program.into());
        all.extend(args);
        (self.program.clone(), all)
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
