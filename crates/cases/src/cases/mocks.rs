//! What is answered from files in a case: the answers of commands and MCP servers, with the content of their files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use globset::GlobMatcher;
use serde::Serialize;

use crate::cases::case::{Case, MockFolders, plugin_eval};
use crate::cases::catalog::{EVALS, evals_folder};
use crate::cases::repo_files::{RepoFiles, plain_file};
use crate::checks::SOURCES;
use crate::settings::mode::Delivery;
use crate::settings::{AnswerText, CommandAnswer};
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::relative_path::RelativePath;
use crate::trial::evidence::digest;
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
    /// What is answered in `case`, in a mode with this delivery: its own answers come before those `of_all` cases. The error has what
    /// cannot be answered.
    pub fn of(
        tree: &dyn RepoFiles,
        of_all: &[CommandAnswer],
        case: &Case,
        delivery: Delivery,
    ) -> Result<Self, Vec<Diagnostic>> {
        let (commands, mut problems) = commands(tree, case.mocks.iter().chain(of_all));
        let folders = folders(case, delivery);
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

    /// The digest of all of it; `None` if nothing is answered.
    pub fn digest(&self) -> Option<String> {
        let text = if self.is_empty() { None } else { serde_json::to_vec(self).ok() };
        text.map(|text| digest(&text))
    }
}

/// Where the answers of servers are. Those of a plugin come with it, and so with skills.
fn folders(case: &Case, delivery: Delivery) -> MockFolders {
    match &case.mock_servers {
        Some(_) if delivery == Delivery::None => MockFolders::default(),
        Some(of_plugin) => of_plugin.clone(),
        None => {
            let folders = [PathBuf::from(EVALS), evals_folder(&case.skill)].map(|folder| folder.join(MOCKS));
            MockFolders { folders: folders.to_vec(), ..MockFolders::default() }
        }
    }
}

/// The names of what is answered from files in a case.
#[derive(Clone, Debug, Default)]
pub struct MockNames {
    pub commands: BTreeSet<String>,
    /// The MCP servers, by the names by which agents know them, with those of their directories.
    pub servers: BTreeMap<String, String>,
}

impl MockNames {
    /// The names in `case`, in a mode with this delivery. No answer is read.
    pub fn of(tree: &dyn RepoFiles, of_all: &[CommandAnswer], case: &Case, delivery: Delivery) -> Self {
        let folders = folders(case, delivery);
        let servers = plugin_eval::server_names(tree, &folders.folders);
        Self {
            commands: case.mocks.iter().chain(of_all).map(|answer| answer.command.clone()).collect(),
            servers: servers.into_iter().map(|name| (folders.server_name(&name), name)).collect(),
        }
    }

    /// Whether a check with this pattern is about one of them. Also calls of tools without an answer are recorded, so of a tool only
    /// the server counts.
    pub fn have(&self, pattern: &GlobMatcher) -> bool {
        let text = pattern.glob().glob();
        let of_server = text.split_once('/').map(|(server, _)| globset::Glob::new(server));
        let is_server = |name: &String| match &of_server {
            Some(Ok(server)) => server.compile_matcher().is_match(name),
            // `{gh,jira/get}`
            Some(Err(_)) => true,
            None => pattern.is_match(format!("{name}/tool")),
        };
        self.commands.iter().any(|name| pattern.is_match(name)) || self.servers.values().any(is_server)
    }
}

/// The files and directories of the repository with the answers of `case` and those `of_all` cases.
pub fn sources<'a>(of_all: &'a [CommandAnswer], case: &'a Case) -> impl Iterator<Item = PathBuf> + use<'a> {
    let files = case.mocks.iter().chain(of_all).filter_map(|answer| match &answer.stdout {
        AnswerText::Here(_) => None,
        AnswerText::File(path) => Some(path.as_path().to_path_buf()),
    });
    files.chain(folders(case, Delivery::Native).folders)
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
                problems.push(
                    problem.help(format!("in a case, it is a path from {SOURCES}; in the settings, from the root")),
                );
                Vec::new()
            }),
        };
        let ready = ReadyAnswer { args: args.clone(), stdout, stderr: stderr.clone(), exit_code: *exit_code };
        commands.entry(command.clone()).or_default().push(ready);
    }
    (commands, problems)
}

fn content(tree: &dyn RepoFiles, path: &RelativePath) -> Result<Vec<u8>, String> {
    let bytes = plain_file(tree, path.as_path()).map_err(|why| why.to_string())?;
    match bytes.len() {
        0..=LARGEST_OUTPUT => Ok(bytes),
        size => Err(format!("has {size} bytes; at most {LARGEST_OUTPUT} are answered")),
    }
}
