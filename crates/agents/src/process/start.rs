//! What to start, and in what.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::container;
use super::sealed_input::sealed_input;
use crate::trial::evidence::Ending;

/// A program with its arguments, and what is around it.
#[derive(Clone, Debug)]
pub struct Start {
    program: PathBuf,
    args: Vec<OsString>,
    around: Around,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Nothing,
    Bwrap,
    /// The program is the client of docker or podman.
    Container,
}

impl Start {
    /// This program itself.
    pub fn own(args: Vec<OsString>) -> io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, args, around: Around::Nothing })
    }

    /// bubblewrap. Its arguments give it a PID namespace, and end in the program that it starts.
    pub fn sandbox(bwrap: PathBuf, args: Vec<OsString>) -> Self {
        Self { program: bwrap, args, around: Around::Bwrap }
    }

    /// A container. `args` are those of `docker run`, and end in those of the program in it.
    pub fn container(client: PathBuf, args: Vec<OsString>) -> Self {
        Self { program: client, args, around: Around::Container }
    }

    /// A program outside every sandbox. What a repository names, and an agent's program, only comes here if no sandbox
    /// works and none is required. `agent::isolation` decides that: clippy allows no other caller.
    pub fn outside(program: PathBuf, args: Vec<OsString>) -> Self {
        Self { program, args, around: Around::Nothing }
    }

    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn is_bwrap(&self) -> bool {
        self.around == Around::Bwrap
    }

    pub(super) fn is_container(&self) -> bool {
        self.around == Around::Container
    }

    /// Why the program in a sandbox did not start, if the sandbox says so.
    pub(super) fn failure(&self, ending: &Ending) -> Option<String> {
        let words = ending.last_words.as_deref().unwrap_or_default();
        match (self.around, ending.exit_code?) {
            (Around::Bwrap, 1) if words.starts_with("bwrap: ") => Some(words.to_owned()),
            // Podman's first process in a container.
            (Around::Container, 1) if words.starts_with("ERROR (catatonit:") => {
                Some(format!("{words}; the image must have the program, and what runs it, such as `sh` or `node`"))
            }
            // The exit code of `docker run` for what is wrong with the container itself.
            (Around::Container, 125) if words.is_empty() => Some("the container did not start".to_owned()),
            (Around::Container, 125) => Some(words.to_owned()),
            _ => None,
        }
    }

    /// The program and its arguments.
    pub(super) fn call(&self) -> Vec<OsString> {
        std::iter::once(self.program.clone().into()).chain(self.args.iter().cloned()).collect()
    }

    /// The command that starts it with this environment, and the files that it has to inherit. A container gets a name by
    /// the mark of its tree.
    pub(super) fn command(
        &self,
        env: &BTreeMap<OsString, OsString>,
        mark: &str,
    ) -> io::Result<(Command, Vec<OwnedFd>)> {
        let mut command = Command::new(&self.program);
        let files = match self.around {
            Around::Nothing => {
                command.env_clear().envs(env);
                Vec::new()
            }
            Around::Bwrap => bwrap_files(env, command.env_clear())?,
            // The client has the runner's variables: they say where its daemon and its files are.
            Around::Container => {
                let file = sealed_input(&env_file(env)?)?;
                command.args(["run", "--name", &container::name(mark), "--env-file"]);
                command.arg(format!("/dev/fd/{}", file.as_raw_fd()));
                vec![file]
            }
        };
        command.args(&self.args);
        Ok((command, files))
    }
}

/// The variables of a program in a container, as its client reads them: a line each. They are not in its arguments, which other
/// users see, nor are they its own: `LD_PRELOAD` would have it load a library of the repository, outside.
fn env_file(env: &BTreeMap<OsString, OsString>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for (name, value) in env {
        if [name, value].iter().any(|text| text.as_bytes().contains(&b'\n')) {
            let why = format!("the variable {} has a line break, which a container cannot be given", name.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        lines.extend([name, OsStr::new("="), value, OsStr::new("\n")].iter().flat_map(|text| text.as_bytes()));
    }
    Ok(lines)
}

/// The files that bubblewrap reads: the variables of the program in it, and the calls that the kernel refuses. The variables
/// are not bubblewrap's own: `LD_PRELOAD` would have it load a library of the repository, outside. Nor are they in its
/// arguments, which other users see.
#[cfg(target_os = "linux")]
fn bwrap_files(env: &BTreeMap<OsString, OsString>, bwrap: &mut Command) -> io::Result<Vec<OwnedFd>> {
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
fn bwrap_files(_env: &BTreeMap<OsString, OsString>, _bwrap: &mut Command) -> io::Result<Vec<OwnedFd>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}
