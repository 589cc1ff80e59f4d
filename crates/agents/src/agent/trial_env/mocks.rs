//! What is answered from files, in the room.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

use serde::Serialize;

use super::skills::rooted_in_parent;
use super::{At, TrialEnv, WorkspaceError};
use crate::cases::mocks::Mocks;
use crate::files::rooted::{self, RootedPath};
use crate::mock::{COMMANDS, CallLog, LOG, SERVERS, SHARE};

/// The name of this program where no room shows it.
const OWN: &str = "program";

/// What shells read at the start of a login, before they run what an agent asks for. bash reads only the first of its own.
const LOGIN_FILES: [&str; 4] = [".bash_profile", ".bash_login", ".profile", ".zprofile"];

/// Those of them that are made.
const MADE: [&str; 2] = [".profile", ".zprofile"];

/// The largest of them that is read, in bytes.
const LARGEST_LOGIN: u64 = 1 << 20;

impl TrialEnv {
    /// Shows the commands that are answered from files, at the front of the agent's search path. Returns the record of their calls,
    /// which begins now.
    pub fn show_mocks(&self, mocks: &Mocks) -> Result<CallLog, WorkspaceError> {
        let control = RootedPath::open(&self.control()).at(&self.control())?;
        for (command, answers) in &mocks.commands {
            self.show_program_as(&control, &Path::new(COMMANDS).join(command), answers)?;
        }
        for (server, answers) in &mocks.servers {
            self.show_program_as(&control, &Path::new(SERVERS).join(server), answers)?;
        }
        let log = Path::new(SHARE).join(LOG);
        control.join(SHARE).create_dir_all()?;
        let path = self.control().join(&log);
        let calls = CallLog::open(&path).at(&path)?;
        self.add_shown(path, &log);
        self.put_first_at_login()?;
        Ok(calls)
    }

    /// Puts the commands at the front of the search path of login shells, which set it anew. What a setup command wrote for them stays.
    fn put_first_at_login(&self) -> Result<(), WorkspaceError> {
        let front = self.place_of(Path::new(COMMANDS)).to_string_lossy().replace('\'', r"'\''");
        let line = format!("\nexport PATH='{front}':\"$PATH\"\n");
        for name in LOGIN_FILES {
            let file = self.home().join(name);
            let before = file.read(LARGEST_LOGIN);
            if before.is_ok() || MADE.contains(&name) {
                file.replace(&[&*before.unwrap_or_default(), line.as_bytes()].concat(), rooted::COMMON)?;
            }
        }
        Ok(())
    }

    /// Shows this program as `program`, a path in a directory, and what it answers there.
    fn show_program_as(
        &self,
        control: &RootedPath,
        program: &Path,
        answers: &impl Serialize,
    ) -> Result<(), WorkspaceError> {
        let answers = serde_json::to_vec(answers).map_err(std::io::Error::from).at(program)?;
        let new = control.join(program);
        if let Some(directory) = program.parent() {
            control.join(directory).create_dir_all()?;
        }
        rooted_in_parent(&self.own_program(OWN)?)?.copy_to(&new)?;
        self.add_shown(self.control().join(program), program);
        let name = Path::new(SHARE).join(program);
        control.join(&name).replace(&answers, rooted::PRIVATE)?;
        self.add_shown(self.control().join(&name), &name);
        Ok(())
    }

    /// The MCP servers that are answered from files: the name of each, and the program that serves it.
    pub fn mocked_servers(&self) -> Vec<(String, PathBuf)> {
        let directory = self.place_of(Path::new(SERVERS));
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let places = shown.iter().map(|(_, place)| place).filter(|place| place.parent() == Some(&directory));
        let named = places.filter_map(|place| Some((place.file_name()?.to_string_lossy().into_owned(), place.clone())));
        named.collect()
    }

    /// A search path with the commands that are answered from files before all others, if there are some.
    pub fn search_path(&self, path: Option<&OsString>) -> Option<OsString> {
        let front = self.place_of(Path::new(COMMANDS));
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.iter().any(|(_, place)| place.parent() == Some(&front)).then(|| {
            let others = path.into_iter().flat_map(std::env::split_paths);
            let all: Vec<PathBuf> = std::iter::once(front.clone()).chain(others).collect();
            std::env::join_paths(all).unwrap_or_else(|_| front.clone().into())
        })
    }
}
