//! What is answered from files: this program, in a trial's room, in the place of commands and MCP servers.
//!
//! A mock is a copy of this program that ends in its [`MockRole`]: what it stands in for, and where it asks. So it is one under any
//! name and at any path, also as a copy of a copy, and nothing is in the environment. It knows no answer. It asks the runner, which
//! records the call first. In a sandbox nobody can read or replace the pipe for requests, so that nobody there can take a call out
//! of the record, or get an answer without a record. A call can be forged only by whoever could have made it.

mod answers;
mod log;
mod protocol;
mod tools;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::{Deserialize, Serialize};

use crate::files::bounded;
use crate::mcp::{NotAnswered, serve_tools};
use crate::process::{self, find_program_in};
use crate::text::problem::Problem;
use crate::trial::input_file::{Bytes, ProgramOutput, line};
use protocol::{Call, MAX_INPUT, MAX_OUTPUT, Reply, Request};

pub use log::CallLog;

/// The directory of commands.
pub const COMMANDS: &str = "bin";

/// The directory of MCP servers.
pub const SERVERS: &str = "lib";

/// The directory by which mocks ask.
pub const SHARE: &str = "share";

/// The directory with the real programs of commands, by their paths.
pub const REAL: &str = "opt";

/// The status that a shell reports of a program which SIGPIPE ended.
const BROKEN_PIPE: u8 = 141;

/// How a mock ends.
const SIGN: [u8; 16] = [0x9d, b'r', b'o', b'l', b'e', 0x1b, 0xe2, 0x07, 0xc1, 0x5e, 0x88, 0xf3, 0x40, 0xaa, 0x16, 0x9d];

/// The longest role, in bytes.
const LONGEST: u32 = 1 << 16;

/// What a mock stands in for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockRole {
    /// The MCP server, or the commands that lead to the file in whose place it is.
    pub names: Vec<String>,
    /// Whether it is a server.
    pub serves: bool,
    /// The program in whose place it is, if other commands lead there too.
    pub shared: Option<PathBuf>,
    /// Where it asks.
    pub share: PathBuf,
}

impl MockRole {
    /// What follows this program in the file of a mock.
    pub fn trailer(&self) -> io::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        text.extend(length.to_le_bytes());
        text.extend(SIGN);
        Ok(text)
    }

    /// The role of a program, if it is a mock.
    fn of(program: &mut (impl Read + Seek)) -> Option<Self> {
        const END: usize = SIGN.len() + 4;
        let mut end = [0; END];
        program.seek(SeekFrom::End(-i64::try_from(END).ok()?)).ok()?;
        program.read_exact(&mut end).ok()?;
        let (length, sign) = end.split_at(4);
        let length = u32::from_le_bytes(length.try_into().ok()?);
        if sign != SIGN || length > LONGEST {
            return None;
        }
        program.seek(SeekFrom::End(-i64::try_from(END).ok()? - i64::from(length))).ok()?;
        let mut text = Vec::new();
        program.take(length.into()).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// The command as which it was called; `None` if it is another one that leads to the same program.
    fn called_as<'a>(&'a self, called: &'a str) -> Option<&'a str> {
        if self.names.iter().any(|name| name == called) {
            return Some(called);
        }
        // Whoever calls it by a path may say any name.
        self.names.first().map(String::as_str).filter(|_| self.shared.is_none())
    }
}

/// Answers as the command or server that this process was started as, if it was.
#[expect(clippy::disallowed_methods, reason = "an agent reads it, as it would read the other program's output")]
pub fn take_over() -> Option<ExitCode> {
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { std::env::current_exe().ok()? };
    let first = std::env::args_os().next().unwrap_or_default();
    // A loader that is told to start a mock is the program of the process. A name is not a path: it may be that of any file here.
    let programs = std::iter::once(program).chain(Some(PathBuf::from(&first)).filter(|path| path.is_absolute()));
    let role = programs
        .filter_map(|program| bounded::open(&program).ok())
        .find_map(|(mut file, _)| MockRole::of(&mut file))?;
    let called = Path::new(&first).file_name().unwrap_or_default().to_string_lossy();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (name, ended) = match (role.serves, role.called_as(&called), &role.shared) {
        (true, ..) => (role.names.concat(), serve(&role).map_err(|why| io::Error::other(why.to_string()))),
        (_, Some(name), _) => (name.to_owned(), answer_command(name, &args, &role.share)),
        (_, None, real) => {
            let real = real.as_deref().ok_or(io::Error::from(io::ErrorKind::NotFound));
            (called.to_string(), real.and_then(|real| Err(process::become_program(real, &first, &args, None))))
        }
    };
    Some(ended.unwrap_or_else(|error| {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // Nobody reads on, which ends other programs in silence.
            return ExitCode::from(BROKEN_PIPE);
        }
        let _ = writeln!(io::stderr(), "{name}: {error}");
        ExitCode::FAILURE
    }))
}

#[expect(clippy::disallowed_methods, reason = "an agent reads it, as it would read the other program's output")]
fn answer_command(name: &str, args: &[OsString], share: &Path) -> io::Result<ExitCode> {
    let line = line(args.iter().cloned());
    let mut call = Call { name: name.to_owned(), args: line.clone(), read: None };
    let (mut reply, mut id) = protocol::ask(share, &Request::Call(call.clone()))?;
    let mut read = None;
    if matches!(reply, Reply::ReadInput) {
        let mut input = Vec::new();
        io::stdin().lock().take(bounded::MAX_FILE).read_to_end(&mut input)?;
        let sent = input.iter().take(usize::try_from(MAX_INPUT).unwrap_or(usize::MAX)).copied().collect();
        call.read = Some((Bytes(sent), id));
        (reply, id) = protocol::ask(share, &Request::Call(call))?;
        read = Some(input);
    }
    match reply {
        Reply::Output { stdout, stderr, exit_code, files } => {
            for (path, Bytes(content)) in files {
                let folder = Path::new(&path).parent().map_or(Ok(()), fs::create_dir_all);
                let written = folder.and_then(|()| fs::write(&path, content));
                written.map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))?;
            }
            io::stderr().write_all(stderr.as_bytes())?;
            let mut output = io::stdout().lock();
            output.write_all(&stdout.0)?;
            output.flush()?;
            Ok(ExitCode::from(exit_code))
        }
        Reply::RealProgram { program, is_recorded } => {
            let program = program.or_else(|| find_program_in(&rest_of_path(share), name));
            let program = program.ok_or_else(|| io::Error::other("the real program is not here"))?;
            let first = std::env::args_os().next().unwrap_or_else(|| name.into());
            if !is_recorded {
                return Err(process::become_program(&program, &first, args, read.as_deref()));
            }
            let (exit_code, streams) = process::relay_program(&program, &first, args, read.as_deref(), MAX_OUTPUT)?;
            if let Some([stdout, stderr]) = streams.map(|streams| streams.map(Bytes)) {
                protocol::ask(share, &Request::Ended { id, output: ProgramOutput { stdout, stderr, exit_code } })?;
            }
            Ok(ExitCode::from(exit_code))
        }
        _ => Err(io::Error::other(format!("not available here: {name} {line}"))),
    }
}

/// The PATH without the mocks of commands.
fn rest_of_path(share: &Path) -> OsString {
    let mocks = share.with_file_name(COMMANDS);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).filter(|directory| *directory != mocks);
    std::env::join_paths(others).unwrap_or_default()
}

/// Serves the tools of an MCP server until the agent leaves.
fn serve(role: &MockRole) -> Result<ExitCode, Problem> {
    let (server, share) = (role.names.concat(), role.share.clone());
    let (Reply::Tools(name, tools), _) = protocol::ask(&share, &Request::Tools(server.clone()))? else {
        return Err("nothing answers here".into());
    };
    serve_tools(
        &name,
        tools,
        Box::new(move |tool, input| {
            let request = Request::Tool { server: server.clone(), tool: tool.to_owned(), input: input.clone() };
            match protocol::ask(&share, &request)?.0 {
                Reply::Text(answer) => answer.map_err(NotAnswered),
                _ => Err(format!("not available here: {tool}").into()),
            }
        }),
    )?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(names: &[&str], shared: Option<&str>) -> MockRole {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        MockRole { names, serves: false, shared: shared.map(Into::into), share: "/mnt/share".into() }
    }

    #[test]
    fn a_copy_of_this_program_is_a_mock_by_its_end_alone() {
        let role = role(&["gh"], None);
        let mut program =
            io::Cursor::new([b"\x7fELF and much else".to_vec(), role.trailer().expect("an end")].concat());
        assert_eq!(MockRole::of(&mut program), Some(role));
        for other in [
            &b"\x7fELF"[..],
            &[b'x'; 100],
            &SIGN,
            &[&[255; 4], &SIGN[..]].concat(),
            &[&[1, 0, 0, 0], &SIGN[..]].concat(),
        ] {
            assert_eq!(MockRole::of(&mut io::Cursor::new(other)), None);
        }
    }

    #[test]
    fn a_mock_is_its_command_under_every_name_and_leaves_other_commands_of_its_file_alone() {
        assert_eq!(role(&["gh"], None).called_as("anything"), Some("gh"));
        let python = role(&["python3.12", "python3"], None);
        assert_eq!(["python3", "x"].map(|name| python.called_as(name)), [Some("python3"), Some("python3.12")]);
        let busybox = role(&["wget"], Some("/mnt/opt/bin/busybox"));
        assert_eq!(["wget", "sh"].map(|name| busybox.called_as(name)), [Some("wget"), None]);
    }
}
