//! What to start, and in what.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

#[cfg(target_os = "linux")]
use super::sealed_input::sealed_input;

/// A program with its arguments, and what is around it.
#[derive(Clone, Debug)]
pub struct Start {
    program: PathBuf,
    args: Vec<OsString>,
    is_sandbox: bool,
}

impl Start {
    /// This program itself.
    pub fn own(args: Vec<OsString>) -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, args, is_sandbox: false })
    }

    /// bubblewrap. Its arguments give it a PID namespace, and end in the program that it starts.
    pub fn sandbox(bwrap: PathBuf, args: Vec<OsString>) -> Self {
        Self { program: bwrap, args, is_sandbox: true }
    }

    /// A program outside every sandbox. What a repository names, and an agent's program, only comes here if no sandbox
    /// works and none is required. `agent::isolation` decides that: clippy allows no other caller.
    pub fn outside(program: PathBuf, args: Vec<OsString>) -> Self {
        Self { program, args, is_sandbox: false }
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn is_sandbox(&self) -> bool {
        self.is_sandbox
    }

    /// The program and its arguments.
    pub(super) fn call(&self) -> Vec<OsString> {
        std::iter::once(self.program.clone().into()).chain(self.args.iter().cloned()).collect()
    }

    /// The command that starts it with this environment, and the files that it has to inherit.
    pub(super) fn command(&self, env: &BTreeMap<OsString, OsString>) -> io::Result<(Command, Vec<OwnedFd>)> {
        let mut command = Command::new(&self.program);
        command.env_clear();
        let files = if self.is_sandbox { sandbox_files(env, &mut command)? } else { Vec::new() };
        if !self.is_sandbox {
            command.envs(env);
        }
        command.args(&self.args);
        Ok((command, files))
    }
}

/// The files that bubblewrap reads: the variables of the program in it, and the calls that the kernel refuses. The variables
/// are not bubblewrap's own: `LD_PRELOAD` would have it load a library of the repository, outside. Nor are they in its
/// arguments, which other users see.
#[cfg(target_os = "linux")]
fn sandbox_files(env: &BTreeMap<OsString, OsString>, bwrap: &mut Command) -> io::Result<Vec<OwnedFd>> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;

    let mut variables = Vec::new();
    for (name, value) in env {
        for part in [b"--setenv", name.as_bytes(), value.as_bytes()] {
            variables.extend_from_slice(part);
            variables.push(0);
        }
    }
    let mut files = Vec::new();
    for (option, content) in [("--args", Some(variables)), ("--seccomp", super::seccomp::filter())] {
        let Some(content) = content else { continue };
        let file = sealed_input(&content)?;
        bwrap.args([option, &file.as_raw_fd().to_string()]);
        files.push(file);
    }
    Ok(files)
}

/// Other systems have no bubblewrap.
#[cfg(not(target_os = "linux"))]
fn sandbox_files(_env: &BTreeMap<OsString, OsString>, _bwrap: &mut Command) -> io::Result<Vec<OwnedFd>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
