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
    /// The options of bubblewrap.
    options: Vec<OsString>,
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
        Ok(Self { program: std::env::current_exe()?, args, options: Vec::new(), around: Around::Nothing })
    }

    /// bubblewrap. Its options give it a PID namespace. `call` is the program in it, with its arguments.
    pub fn sandbox(bwrap: PathBuf, options: Vec<OsString>, call: Vec<OsString>) -> Self {
        Self { program: bwrap, args: call, options, around: Around::Bwrap }
    }

    /// A container. `args` are those of `docker run`, and end in those of the program in it.
    pub fn container(client: PathBuf, args: Vec<OsString>) -> Self {
        Self { program: client, args, options: Vec::new(), around: Around::Container }
    }

    /// A program outside every sandbox. What a repository names, and an agent's program, only comes here if no sandbox
    /// works and none is required. `agent::isolation` decides that: clippy allows no other caller.
    pub fn outside(program: PathBuf, args: Vec<OsString>) -> Self {
        Self { program, args, options: Vec::new(), around: Around::Nothing }
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
            Around::Bwrap => bwrap_files(env, &self.options, command.env_clear())?,
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

/// The files that bubblewrap reads: its options with the variables of the program in it, and the calls that the kernel refuses.
/// The variables are not bubblewrap's own: `LD_PRELOAD` would have it load a library of the repository, outside. None of that is
/// in its arguments: other users see those, and the agent does, as the command line of its first process.
#[cfg(target_os = "linux")]
fn bwrap_files(
    env: &BTreeMap<OsString, OsString>,
    options: &[OsString],
    bwrap: &mut Command,
) -> io::Result<Vec<OwnedFd>> {
    let variables = env.iter().flat_map(|(name, value)| [OsStr::new("--setenv"), name, value]);
    let parts = variables.chain(options.iter().map(OsString::as_os_str));
    let options: Vec<u8> = parts.flat_map(|part| part.as_bytes().iter().chain(b"\0")).copied().collect();
    let mut files = Vec::new();
    for (option, content) in [("--args", Some(options)), ("--seccomp", super::seccomp::filter())] {
        let Some(content) = content else { continue };
        let file = sealed_input(&content)?;
        bwrap.args([option, &file.as_raw_fd().to_string()]);
        files.push(file);
    }
    bwrap.arg("--");
    Ok(files)
}

/// Other systems have no bubblewrap.
#[cfg(not(target_os = "linux"))]
fn bwrap_files(
    _env: &BTreeMap<OsString, OsString>,
    _options: &[OsString],
    _bwrap: &mut Command,
) -> io::Result<Vec<OwnedFd>> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_a_sandbox_are_not_in_the_command_line_that_the_agent_sees() {
        let options = ["--bind", "/secret/scratch", "/work"].map(OsString::from).into();
        let start = Start::sandbox("bwrap".into(), options, vec!["/bin/true".into(), "x".into()]);
        let env = BTreeMap::from([("NAME".into(), "/secret/value".into())]);
        let (command, files) = start.command(&env, "mark").expect("a command");
        let args: Vec<String> = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect();
        assert!(args.ends_with(&["--".to_owned(), "/bin/true".to_owned(), "x".to_owned()]), "{args:?}");
        assert!(!args.iter().any(|arg| arg.contains("secret")) && !files.is_empty(), "{args:?}");
    }
}
