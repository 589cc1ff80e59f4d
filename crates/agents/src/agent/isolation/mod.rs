//! Isolation: on Linux an agent runs inside bubblewrap, if bubblewrap works, or in a container. It sees the system's programs, its
//! own, its trial environment and its skills. It sees no other process, no repository, no other trial environment and no home of a
//! user.
//! docs/reference/security.md lists what the isolation does not stop.

pub mod bwrap;
pub mod container;
mod programs;
pub mod unseen;
mod view;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::sandbox::{Place, Sandbox, SandboxMaker};
use crate::agent::trial_env::{RoomPaths, ScratchDir, TrialEnv, WorkspaceError};
use crate::settings::{FILE, Isolation, IsolationSettings, Settings};
use crate::trace::trouble::{Trouble, TroubleKind};
use bwrap::Bwrap;
use container::Engine;

pub use programs::interpreter;
pub use unseen::{advice, not_found, unseen};

/// What isolates agents on this machine.
#[derive(Debug)]
pub enum IsolationStatus {
    Bwrap(PathBuf),
    Container(Arc<Engine>),
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
    pub fn place(&self) -> Result<(Place, Option<String>), String> {
        match status(&self.settings.isolation) {
            IsolationStatus::Bwrap(bwrap) => Ok((self.inside(Arc::new(Bwrap(bwrap)), false), None)),
            IsolationStatus::Container(engine) => Ok((self.inside(engine, true), None)),
            IsolationStatus::Nothing(why) => Ok((Place::outside(), Some(why))),
            IsolationStatus::Refused(why) => Err(why),
        }
    }

    /// In a sandbox; `of_image` says whether its system is an image's.
    fn inside(&self, maker: Arc<dyn SandboxMaker>, of_image: bool) -> Place {
        let workspace = OsString::from(self.trial_env.workspace()).into();
        Place::inside(Sandbox { maker, mounts: view::mounts(self, of_image), workspace })
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
            Err(why) => why,
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
    let (place, why) = program.place().map_err(|why| Trouble::new(TroubleKind::CouldNotStart, why))?;
    if let Some(why) = why {
        command.not_enforced.extend(command.open.iter().map(|open| (*open).to_owned()));
        command.not_enforced.push(format!("the agent is not isolated: {why}"));
    }
    Ok((command, place))
}
