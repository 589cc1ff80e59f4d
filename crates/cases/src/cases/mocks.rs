//! What is answered from files in a case: the answers of commands and MCP servers, with the content of their files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use globset::GlobMatcher;

use crate::cases::case::{Case, MockFolders, plugin_eval};
use crate::cases::case_folders::{EVALS, evals_folder};
use crate::cases::repo_files::{FileKind, RepoFiles, plain_file};
use crate::checks::SOURCES;
use crate::settings::mode::Delivery;
use crate::settings::{AnswerText, CommandAnswer};
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::name::RelativePath;
use crate::trial::evidence::digest;
use crate::trial::input_file::{Bytes, MockServer, ReadyAnswer};

/// The largest output of one answer, in bytes.
const LARGEST_OUTPUT: usize = 16 << 20;

/// The directory with a directory of answers for each MCP server.
const MOCKS: &str = "mocks";

/// All that is answered from files in a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mocks {
    /// The answers of each command, in the order in which they are tried.
    pub commands: BTreeMap<String, Vec<ReadyAnswer>>,
    /// The MCP servers, by the names by which agents know them.
    pub servers: BTreeMap<String, MockServer>,
    /// The commands whose real programs are recorded where they answer.
    pub recorded: BTreeSet<String>,
    /// The digest of all of it, as [`digest_of`] computes it; `None` if nothing is answered.
    pub digest: Option<String>,
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
        let (mut commands, mut problems) = self::commands(tree, case.mocks.iter());
        let (of_all, of_settings) = self::commands(tree, of_all.iter());
        let folders = folders(case, delivery);
        let (servers, of_servers) = plugin_eval::servers(tree, &folders.folders);
        let known = KnownServers::new(&servers, of_servers);
        problems.extend(of_settings.into_iter().chain(known.problems_of(case)));
        if !problems.is_empty() {
            return Err(problems);
        }
        let digest = combined(&commands, commands_digest(&of_all).as_deref(), &known, &folders);
        for (command, answers) in of_all {
            commands.entry(command).or_default().extend(answers);
        }
        let servers = servers.into_iter().map(|server| (folders.server_name(&server.name), server)).collect();
        Ok(Self { commands, servers, recorded: BTreeSet::new(), digest })
    }
}

/// What is known of the MCP servers in some directories.
#[derive(Debug)]
struct KnownServers {
    names: Vec<String>,
    problems: Vec<Diagnostic>,
    /// `None` if there is no server.
    digest: Option<String>,
}

impl KnownServers {
    fn new(servers: &[MockServer], problems: Vec<Diagnostic>) -> Self {
        let text = if servers.is_empty() { None } else { serde_json::to_vec(servers).ok() };
        let names = servers.iter().map(|server| server.name.clone()).collect();
        Self { names, problems, digest: text.map(|text| digest(&text)) }
    }

    /// What is wrong with them for `case`.
    fn problems_of(&self, case: &Case) -> impl Iterator<Item = Diagnostic> {
        // What a case of another program asks for is known to be unsupported.
        let is_known = |problem: &&Diagnostic| problem.code == Code::Unsupported && case.mock_servers.is_some();
        self.problems.iter().filter(move |problem| !is_known(problem)).cloned()
    }
}

/// The MCP servers of a repository: the files of each are read once, although most cases have the same.
#[derive(Debug, Default)]
pub struct MockServers(Mutex<HashMap<Vec<PathBuf>, Arc<KnownServers>>>);

impl MockServers {
    fn of(&self, tree: &dyn RepoFiles, folders: &MockFolders) -> Arc<KnownServers> {
        // Few skills have a directory of their own.
        let there = |folder: &&PathBuf| tree.kind(folder) != FileKind::Missing;
        let folders: Vec<PathBuf> = folders.folders.iter().filter(there).cloned().collect();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.entry(folders).or_insert_with_key(|folders| {
            let (servers, problems) = plugin_eval::servers(tree, folders);
            Arc::new(KnownServers::new(&servers, problems))
        });
        Arc::clone(known)
    }
}

/// What cannot be answered in `case`, but for the answers of all cases.
pub fn problems(tree: &dyn RepoFiles, case: &Case, servers: &MockServers) -> Vec<Diagnostic> {
    let (_, mut problems) = commands(tree, case.mocks.iter());
    problems.extend(servers.of(tree, &folders(case, Delivery::Native)).problems_of(case));
    problems
}

/// The digest of what is answered in `case`, in a mode with this delivery; `None` if nothing is. `of_all` is that of the commands of
/// all cases. The error has what cannot be answered.
pub fn digest_of(
    tree: &dyn RepoFiles,
    of_all: Option<&str>,
    case: &Case,
    delivery: Delivery,
    servers: &MockServers,
) -> Result<Option<String>, Vec<Diagnostic>> {
    let (commands, mut problems) = commands(tree, case.mocks.iter());
    let folders = folders(case, delivery);
    let servers = servers.of(tree, &folders);
    problems.extend(servers.problems_of(case));
    if problems.is_empty() { Ok(combined(&commands, of_all, &servers, &folders)) } else { Err(problems) }
}

fn combined(
    own: &BTreeMap<String, Vec<ReadyAnswer>>,
    of_all: Option<&str>,
    servers: &KnownServers,
    folders: &MockFolders,
) -> Option<String> {
    let own = commands_digest(own);
    let names: Vec<String> = servers.names.iter().map(|name| folders.server_name(name)).collect();
    let is_any = own.is_some() || of_all.is_some() || servers.digest.is_some();
    is_any.then(|| digest(format!("{own:?} {of_all:?} {:?} {names:?}", servers.digest).as_bytes()))
}

/// The digest of the answers of commands; `None` if there is none.
pub fn commands_digest(commands: &BTreeMap<String, Vec<ReadyAnswer>>) -> Option<String> {
    let text = if commands.is_empty() { None } else { serde_json::to_vec(commands).ok() };
    text.map(|text| digest(&text))
}

/// Where the answers of servers are. Those of a plugin come with it, and so with skills.
pub(in crate::cases) fn folders(case: &Case, delivery: Delivery) -> MockFolders {
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
    /// The names in `case`, in a mode with this delivery.
    pub fn of(
        tree: &dyn RepoFiles,
        of_all: &[CommandAnswer],
        case: &Case,
        delivery: Delivery,
        servers: &MockServers,
    ) -> Self {
        let folders = folders(case, delivery);
        let servers = servers.of(tree, &folders);
        Self {
            commands: case.mocks.iter().chain(of_all).map(|answer| answer.command.clone()).collect(),
            servers: servers.names.iter().map(|name| (folders.server_name(name), name.clone())).collect(),
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

/// The answers of each command, with the content of their files. What cannot be answered is a problem.
pub fn commands<'a>(
    tree: &dyn RepoFiles,
    answers: impl Iterator<Item = &'a CommandAnswer>,
) -> (BTreeMap<String, Vec<ReadyAnswer>>, Vec<Diagnostic>) {
    let (mut commands, mut problems): (BTreeMap<_, Vec<_>>, _) = (BTreeMap::new(), Vec::new());
    for answer in answers {
        let CommandAnswer {
            command,
            args,
            stdout,
            stderr,
            exit_code,
            stdin,
            files,
            delay_ms,
            times,
            passthrough,
            place,
        } = answer;
        let mut read = |path: &RelativePath| {
            Bytes(content(tree, path).unwrap_or_else(|why| {
                let message = format!("the output `{path}` of `{command}` {why}");
                let problem = Diagnostic::new(Code::Unreadable, place.clone(), message);
                problems.push(
                    problem.help(format!("in a case, it is a path from {SOURCES}; in the settings, from the root")),
                );
                Vec::new()
            }))
        };
        let ready = ReadyAnswer {
            args: args.clone(),
            stdout: match stdout {
                AnswerText::Here(text) => Bytes(text.clone().into_bytes()),
                AnswerText::File(path) => read(path),
            },
            stderr: stderr.clone(),
            exit_code: *exit_code,
            stdin: stdin.clone(),
            files: files.iter().map(|(to, from)| (to.clone(), read(from))).collect(),
            delay_ms: delay_ms.unwrap_or_default(),
            times: *times,
            passthrough: *passthrough,
        };
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
