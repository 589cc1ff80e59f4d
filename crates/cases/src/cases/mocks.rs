//! What is answered from files in a case: the answers of commands and MCP servers, with the content of their files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use crate::cases::case::{Case, MockFolders, plugin_eval};
use crate::cases::catalog::{EVALS, evals_folder};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::settings::{AnswerText, CommandAnswer};
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::relative_path::RelativePath;
use crate::trial::mock::{MockServer, ReadyAnswer};

/// The largest output of one answer, in bytes.
const LARGEST_OUTPUT: usize = 16 << 20;

/// The directory with a directory of answers for each MCP server.
const MOCKS: &str = "mocks";

/// All that is answered from files in a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mocks {
    /// The answers of each command, in the order in which they are tried.
    pub commands: BTreeMap<String, Vec<ReadyAnswer>>,
    /// The MCP servers, by the names by which agents know them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub servers: BTreeMap<String, MockServer>,
}

impl Mocks {
    /// What is answered in `case`: its own answers come before those `of_all` cases. The error has what cannot be answered.
    pub fn of(tree: &dyn RepoFiles, of_all: &[CommandAnswer], case: &Case) -> Result<Self, Vec<Diagnostic>> {
        let (commands, mut problems) = commands(tree, case.mocks.iter().chain(of_all));
        let own = || {
            let folders = [PathBuf::from(EVALS), evals_folder(&case.skill)].map(|folder| folder.join(MOCKS));
            MockFolders { folders: folders.to_vec(), ..MockFolders::default() }
        };
        let folders = case.mock_servers.clone().unwrap_or_else(own);
        let (servers, of_servers) = plugin_eval::servers(tree, &folders.folders);
        let servers = servers.into_iter().map(|server| (folders.server_name(&server.name), server)).collect();
        // What a case of another program asks for is known to be unsupported.
        let is_known = |problem: &Diagnostic| problem.code == Code::Unsupported && case.mock_servers.is_some();
        problems.extend(of_servers.into_iter().filter(|problem| !is_known(problem)));
        if problems.is_empty() { Ok(Self { commands, servers }) } else { Err(problems) }
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.servers.is_empty()
    }
}

/// The answers of each command, with the content of their files. What cannot be answered is a problem.
pub fn commands<'a>(
    tree: &dyn RepoFiles,
    answers: impl Iterator<Item = &'a CommandAnswer>,
) -> (BTreeMap<String, Vec<ReadyAnswer>>, Vec<Diagnostic>) {
    let (mut commands, mut problems): (BTreeMap<_, Vec<_>>, _) = (BTreeMap::new(), Vec::new());
    for answer in answers {
        let CommandAnswer { command, args, stdout, stderr, exit_code, place } = answer;
        let stdout = match stdout {
            AnswerText::Here(text) => text.clone().into_bytes(),
            AnswerText::File(path) => content(tree, path).unwrap_or_else(|why| {
                let message = format!("the output `{path}` of `{command}` {why}");
                let problem = Diagnostic::new(Code::Unreadable, place.clone(), message);
                problems.push(problem.help("it is a path from the repository's root"));
                Vec::new()
            }),
        };
        let ready = ReadyAnswer { args: args.clone(), stdout, stderr: stderr.clone(), exit_code: *exit_code };
        commands.entry(command.clone()).or_default().push(ready);
    }
    (commands, problems)
}

fn content(tree: &dyn RepoFiles, path: &RelativePath) -> Result<Vec<u8>, String> {
    match tree.kind(path.as_path()) {
        FileKind::File => {}
        FileKind::Missing => return Err("does not exist".to_owned()),
        FileKind::Symlink => return Err("is reached through a symbolic link".to_owned()),
        FileKind::Folder | FileKind::Other => return Err("is not a file".to_owned()),
    }
    let bytes = tree.read(path.as_path()).map_err(|error| format!("cannot be read: {error}"))?;
    match bytes.len() {
        0..=LARGEST_OUTPUT => Ok(bytes),
        size => Err(format!("has {size} bytes; at most {LARGEST_OUTPUT} are answered")),
    }
}
