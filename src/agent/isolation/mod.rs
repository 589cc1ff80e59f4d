//! Isolation: on Linux an agent runs inside bubblewrap, where that works. It sees the system's programs, its own, its
//! room and the skills that it is given, and no other process; not the repository, no other room, no home of a user.
//! What leads out of that, and what does not, stands in docs/reference/security.md.

pub mod bwrap;
mod programs;
mod unseen;
mod view;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::sandbox::SandboxProgram;
use crate::agent::trial_env::TrialEnv;
use crate::settings::{FILE, Isolation, IsolationSettings, Settings};
use crate::trace::trouble::{Trouble, TroubleKind};

pub use unseen::{advice, not_found, unknown, unseen};

/// What will keep agents to their own folders here.
#[derive(Debug)]
pub enum IsolationStatus {
    /// This bubblewrap.
    Bwrap(PathBuf),
    /// Nothing but what they do by themselves, and why.
    Nothing(String),
    /// Nothing, though something is required, and why.
    Refused(String),
}

/// A program in a sandbox, and what it needs there.
#[derive(Clone, Copy)]
pub struct SandboxedProgram<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its whole environment.
    pub env: &'a BTreeMap<OsString, OsString>,
    /// Files outside its room that it has to read.
    pub reads: &'a [PathBuf],
    /// The MCP server that it starts.
    pub server: Option<&'a ServerCommand>,
    /// The repository, which it does not see.
    pub root: &'a Path,
    /// Where it lives.
    pub room: &'a TrialEnv,
    /// What was chosen.
    pub settings: &'a Settings,
}

impl SandboxedProgram<'_> {
    /// The sandbox for it, made by this bubblewrap.
    #[must_use]
    pub fn sandbox(&self, bwrap: PathBuf) -> SandboxProgram {
        SandboxProgram { program: bwrap, args: view::arguments(self) }
    }
}

/// What the settings come to on this machine: the same for a trial, a dry run and the doctor.
#[must_use]
pub fn held(wanted: &IsolationSettings) -> IsolationStatus {
    let why = match wanted.kind {
        Isolation::Bwrap => match bwrap::working() {
            Ok(bwrap) => return IsolationStatus::Bwrap(bwrap),
            Err(why) => why,
        },
        Isolation::Agent => "`isolation` is set to \"agent\"".to_owned(),
    };
    if wanted.required {
        return IsolationStatus::Refused(format!(
            "isolation is required (`require_isolation` in {FILE}) and there is none: {why}"
        ));
    }
    IsolationStatus::Nothing(why)
}

/// Puts the command into the sandbox that the settings want. Where that is not to be had and not required either, the
/// command stays as it is, and says what is not enforced.
///
/// # Errors
/// When isolation is required and there is none.
pub fn isolated(mut command: AgentCommand, assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    match held(&assignment.settings.isolation) {
        IsolationStatus::Bwrap(bwrap) => {
            let Assignment { root, room, settings, server, .. } = *assignment;
            let AgentCommand { program, env, reads, .. } = &command;
            let sandbox = SandboxedProgram { program, env, reads, server, root, room, settings }.sandbox(bwrap);
            let args = std::mem::take(&mut command.args);
            (command.program, command.args) = sandbox.around(&command.program, args);
            command.sandbox = Some(sandbox);
            Ok(command)
        }
        IsolationStatus::Refused(why) => Err(Trouble::new(TroubleKind::CouldNotStart, why)),
        IsolationStatus::Nothing(why) => {
            command.not_enforced.extend(command.open.iter().map(|open| (*open).to_owned()));
            command.not_enforced.push(format!("the agent is not isolated: {why}"));
            Ok(command)
        }
    }
}
