//! Isolation: on Linux an agent runs inside bubblewrap, if bubblewrap works, or in a container. It sees the system's programs, its
//! own, its trial environment and its skills. It sees no other process, no repository, no other trial environment and no home of a
//! user.
//! docs/reference/security.md lists what the isolation does not stop.

pub mod bwrap;
pub mod container;
mod view;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::command::{AgentCommand, Assignment};
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::sandbox::{Place, ProgramSandbox, SandboxMaker};
use crate::agent::trial_env::{RoomPaths, ScratchDir, TrialEnv, WorkspaceError};
use crate::files::look;
use crate::process::find_program;
use crate::process::opener::RoomNetwork;
use crate::settings::mode::AgentKind;
use crate::settings::{FILE, Isolation, IsolationSettings, Network, Settings};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::Ending;
use bwrap::Bwrap;
use container::ContainerEngine;
use view::PrivatePaths;

pub use view::interpreter;

/// What isolates agents on this machine.
#[derive(Debug)]
pub enum IsolationStatus {
    Bwrap(PathBuf),
    Container(Arc<ContainerEngine>),
    /// Only what agents do by themselves, and why.
    Nothing(String),
    /// Nothing, although the settings require isolation, and why.
    Refused(String),
}

/// A program in a sandbox, and what it needs there.
#[derive(Clone, Copy)]
pub struct SandboxedProgram<'a> {
    pub program: &'a Path,
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Files outside its trial environment that it has to read.
    pub reads: &'a [PathBuf],
    /// The MCP server that it starts.
    pub server: Option<&'a ServerCommand>,
    /// The repository, which it does not see.
    pub root: &'a Path,
    pub trial_env: &'a TrialEnv,
    pub settings: &'a Settings,
}

impl SandboxedProgram<'_> {
    /// Where it starts, and why it is not isolated, if so. Fails if isolation is required and there is none.
    #[expect(clippy::disallowed_methods, reason = "the one place that decides it")]
    pub fn place(&self) -> Result<(Place, Option<String>), Trouble> {
        let limit = self.settings.network.limit();
        let unlimited = |limit: &Network, why: &str| {
            let why = format!("`network` is \"{limit}\", which needs bubblewrap: {why}");
            Err(Trouble::new(TroubleKind::CouldNotStart, why))
        };
        match (status(&self.settings.isolation), limit) {
            (IsolationStatus::Bwrap(bwrap), _) => Ok((self.inside(Arc::new(Bwrap(bwrap)), false)?, None)),
            (IsolationStatus::Refused(why), _) => Err(Trouble::new(TroubleKind::CouldNotStart, why)),
            (IsolationStatus::Container(_), Some(limit)) => unlimited(limit, "`isolation` is \"docker\""),
            (IsolationStatus::Nothing(why), Some(limit)) => unlimited(limit, &why),
            (IsolationStatus::Container(engine), None) => Ok((self.inside(engine, true)?, None)),
            (IsolationStatus::Nothing(why), None) => Ok((Place::outside(), Some(why))),
        }
    }

    /// In a sandbox; `of_image` says whether its system is an image's.
    fn inside(&self, maker: Arc<dyn SandboxMaker>, of_image: bool) -> Result<Place, Trouble> {
        let workspace = OsString::from(self.trial_env.workspace()).into();
        let door = self.trial_env.door(&self.settings.network)?;
        let network = door.map(|door| -> Arc<dyn RoomNetwork> { door });
        Ok(Place::inside(ProgramSandbox { maker, mounts: view::mounts(self, of_image), workspace, network }))
    }
}

/// This process's directory for trials with these settings.
pub fn scratch(settings: &Settings) -> Result<ScratchDir, WorkspaceError> {
    let paths = match status(&settings.isolation) {
        IsolationStatus::Bwrap(_) => Some(RoomPaths::here()),
        IsolationStatus::Container(engine) => {
            Some(RoomPaths { search_path: Some(engine.search_path.clone()), ..RoomPaths::here() })
        }
        IsolationStatus::Nothing(_) | IsolationStatus::Refused(_) => None,
    };
    ScratchDir::open(settings.scratch.as_deref(), paths)
}

/// The isolation that these settings give on this machine.
pub fn status(settings: &IsolationSettings) -> IsolationStatus {
    let why = match settings.kind {
        Isolation::Bwrap => match bwrap::working() {
            Ok(bwrap) => return IsolationStatus::Bwrap(bwrap),
            Err(why) => why.to_string(),
        },
        // Without it the programs are others, too.
        Isolation::Docker => {
            return match container::working(settings.image()) {
                Ok(engine) => IsolationStatus::Container(engine),
                Err(why) => IsolationStatus::Refused(format!("`isolation` is \"docker\", and {why}")),
            };
        }
        Isolation::Agent => "`isolation` is set to \"agent\"".to_owned(),
    };
    if settings.required {
        return IsolationStatus::Refused(format!(
            "isolation is required (`require_isolation` in {FILE}) and there is none: {why}"
        ));
    }
    IsolationStatus::Nothing(why)
}

/// Where the command starts. Without a sandbox, if the settings do not require one, the command lists what is not enforced.
pub fn isolated(mut command: AgentCommand, assignment: &Assignment<'_>) -> Result<(AgentCommand, Place), Trouble> {
    let Assignment { root, trial_env, settings, server, .. } = *assignment;
    let AgentCommand { program, env, reads, .. } = &command;
    let program = SandboxedProgram { program, env, reads, server, root, trial_env, settings };
    let (place, why) = program.place()?;
    if let Some(why) = why {
        command.not_enforced.extend(command.open.iter().map(|open| (*open).to_owned()));
        command.not_enforced.push(format!("the agent is not isolated: {why}"));
    }
    Ok((command, place))
}

// What a program did not find inside the sandbox although it exists outside. The script that starts an agent may start
// programs in any place.

/// The most words that are joined to a path with spaces.
const MAX_WORDS: usize = 8;

/// The paths that the sandbox does not show although the program's last words name them, by path or as a program on the PATH.
/// Instead of a program, the list has its directory if that shows nothing private.
pub fn unseen(last_words: &str, sandbox: &ProgramSandbox, repository: &Path, trial_env: &TrialEnv) -> Vec<PathBuf> {
    let private = PrivatePaths::new(repository, trial_env);
    let mut paths: Vec<PathBuf> = Vec::new();
    let words: Vec<&str> = last_words.split_whitespace().collect();
    for at in 0..words.len() {
        let Some((path, real)) = named(&words[at..]) else { continue };
        let shown = if look::is_usable_directory(&real) { real.clone() } else { private.around(&real) };
        if (look::is_usable_directory(&shown) && !private.allows(&shown)) || private.protects(&real) {
            continue;
        }
        if path != real && path.is_absolute() && !sandbox.shows(&path) {
            paths.push(path);
        }
        if !sandbox.shows(&real) {
            paths.push(shown);
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The path that the first words name (a path, maybe with spaces, or a program on the PATH), and its canonical path.
fn named(words: &[&str]) -> Option<(PathBuf, PathBuf)> {
    let first = trimmed(words.first()?);
    let candidates: Vec<PathBuf> = if first.starts_with('/') {
        let longest_first = (1..=words.len().min(MAX_WORDS)).rev();
        longest_first.map(|count| PathBuf::from(trimmed(&words[..count].join(" ")))).collect()
    } else {
        find_program(first).into_iter().collect()
    };
    candidates.into_iter().find_map(|path| Some((path.clone(), path.canonicalize().ok()?)))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric() && !"/._-".contains(c))
}

/// The setting that shows these paths; `None` if there are none.
pub fn advice(paths: &[PathBuf]) -> Option<String> {
    let quoted: Vec<String> = paths.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    (!paths.is_empty()).then(|| format!("add {} to `isolation_read` in {FILE}", quoted.join(", ")))
}

/// The trouble of an agent that ended because a program is not in the sandbox.
pub fn not_found(
    agent: AgentKind,
    ending: &Ending,
    sandbox: &ProgramSandbox,
    repository: &Path,
    trial_env: &TrialEnv,
) -> Option<Trouble> {
    // The exit codes of a shell that cannot start a program, or does not find it.
    let status = ending.exit_code.filter(|code| matches!(code, 126 | 127))?;
    let words = ending.last_words.as_deref().unwrap_or("no word");
    let advice = advice(&unseen(words, sandbox, repository, trial_env)).unwrap_or_else(|| unknown(agent));
    let place = sandbox.maker.isolation().surroundings();
    let why = format!("exit status {status} inside {place}: {words}; {advice}; `skill-evals doctor` tries it out");
    Some(Trouble::new(TroubleKind::CouldNotStart, why))
}

/// What to do if no path is known.
pub fn unknown(agent: AgentKind) -> String {
    let name = agent.as_str();
    format!(
        "name the program itself, not a script that calls it, as `command` under [agents.{name}] in {FILE}, or what it \
         needs in `isolation_read`"
    )
}
