//! A sandbox of ours around a program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A sandbox of ours: a program that runs another one behind its own arguments.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, up to where the other program's path comes.
    pub args: Vec<OsString>,
}

impl Sandbox {
    /// The command that runs `program` in it.
    #[must_use]
    pub fn around(&self, program: &Path, args: Vec<OsString>) -> (PathBuf, Vec<OsString>) {
        let mut all = self.args.clone();
        all.push(program.into());
        all.extend(args);
        (self.program.clone(), all)
    }
}
