//! The MCP server that offers skills, ours or the repository's own: how agents start it, and what it offers, asked
//! before any agent is. Agents say little of a server that does not work, and some nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::handshake::{Handshake, ServerOffer};
use crate::agent::sandbox::SandboxProgram;
use crate::agent::trial_env::TrialEnv;
use crate::mcp::ASKED_VARIABLE;
use crate::process::{self, Job};
use crate::settings::ToolNames;
use crate::settings::{FILE, ROOT, Settings};
use crate::skill::slug;
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::ServerMeta;

/// How long a server may take until it has listed its tools.
const PATIENCE: Duration = Duration::from_secs(30);

/// How to start the server.
#[derive(Clone, Debug)]
pub struct ServerCommand {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside the agent's.
    pub env: BTreeMap<String, String>,
    /// What it and its tools are called.
    pub names: ToolNames,
    /// Whether claude shows its tools to the model from the start.
    pub always_load: bool,
    /// Whether it is the repository's own.
    own: bool,
}

impl ServerCommand {
    /// The server that the settings choose, over the skills in the folder `skills`: the repository's own, or this very
    /// program, which serves skills when it is started with `mcp --skills DIR`.
    ///
    /// # Errors
    /// When the program is missing.
    pub fn new(settings: &Settings, root: &Path, skills: &Path) -> Result<Self, Trouble> {
        let always_load = settings.mcp.always_load;
        let Some(own) = &settings.mcp.own else {
            let program = std::env::current_exe()
                .map_err(|error| Trouble::new(TroubleKind::CouldNotStart, format!("the MCP server: {error}")))?;
            let args = vec!["mcp".to_owned(), "--skills".to_owned(), skills.to_string_lossy().into_owned()];
            let chosen = settings.mcp.built_in.chosen();
            let env = chosen.into_iter().map(|(_, variable, value)| (variable.to_owned(), value)).collect();
            return Ok(Self { program, args, env, names: ToolNames::default(), always_load, own: false });
        };
        let fill =
            |text: &String| text.replace("{skills}", &skills.to_string_lossy()).replace(ROOT, &root.to_string_lossy());
        let command = fill(&own.command);
        let named = if command.contains('/') { root.join(&command).to_string_lossy().into_owned() } else { command };
        let program = process::find_program(&named).ok_or_else(|| {
            let name = &own.names.server;
            let why =
                format!("the MCP server `{name}`: unknown program `{named}`; see `command` under [mcp] in {FILE}");
            Trouble::new(TroubleKind::NotDelivered, why)
        })?;
        Ok(Self {
            program,
            args: own.args.iter().map(fill).collect(),
            env: own.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            names: own.names.clone(),
            always_load,
            own: true,
        })
    }

    /// Has the server note the lists that its client asks for in the file at `path`, where it is ours.
    #[must_use]
    pub fn noting(mut self, path: &Path) -> Self {
        if !self.own {
            self.env.insert(ASKED_VARIABLE.to_owned(), path.to_string_lossy().into_owned());
        }
        self
    }

    /// Whether it is the repository's own.
    pub(super) fn is_own(&self) -> bool {
        self.own
    }

    /// Starts the server as an agent in this environment and sandbox would, asks for its tools, and ends it. `skill` is the slug of the one under test.
    ///
    /// # Errors
    /// When it does not start, answers something else, or has no skill tool.
    pub fn probe(
        &self,
        room: &TrialEnv,
        env: &BTreeMap<OsString, OsString>,
        sandbox: Option<&SandboxProgram>,
        redactor: &Redactor,
        skill: &str,
    ) -> Result<ServerMeta, Trouble> {
        let mut env = env.clone();
        env.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        let args = self.args.iter().map(Into::into).collect();
        let (program, args) = match sandbox {
            Some(sandbox) => sandbox.around(&self.program, args),
            None => (self.program.clone(), args),
        };
        let job = Job {
            program,
            args,
            env,
            folder: room.workspace(),
            timeout: PATIENCE,
            stdout: room.path().join("server-stdout"),
            by_file: None,
            input: None,
            stderr: room.path().join("server-stderr"),
            redactor,
            namespace: sandbox.is_some(),
        };
        let mut handshake = Handshake::default();
        let ending = process::run(&job, &mut handshake)
            .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {error}", job.stdout.display())))?;
        if let Some(trouble) = ending.trouble {
            return Err(trouble);
        }
        let ServerOffer { tools, told } = handshake.result(&ending).map_err(|mut why| {
            if sandbox.is_some() && matches!(ending.exit_code, Some(126 | 127)) {
                let _ =
                    write!(why, "; it runs inside bubblewrap: name in `isolation_read` in {FILE} what it calls there");
            }
            self.trouble(&why)
        })?;
        let name = &self.names.skill;
        if !tools.contains(name) {
            let tools = if tools.is_empty() { "no tools".to_owned() } else { tools.join(", ") };
            let why = format!(
                "it offers {tools}, and no tool `{name}`; say as `tool` under [mcp] in {FILE} which one loads a skill"
            );
            return Err(self.trouble(&why));
        }
        let tells_of_skill = told.contains(skill) || slug(&told).contains(skill);
        let (names, always_load) = (self.names.clone(), self.always_load);
        Ok(ServerMeta { names, tools, tells_of_skill, always_load, start_ms: Some(ending.duration_ms) })
    }

    fn trouble(&self, why: &str) -> Trouble {
        let mut text = format!("the MCP server `{}` (`{}", self.names.server, self.program.display());
        for arg in &self.args {
            let _ = write!(text, " {arg}");
        }
        let _ = write!(text, "`): {why}");
        if self.own {
            let _ = write!(text, "; it is started as [mcp] in {FILE} says");
        }
        Trouble::new(TroubleKind::NotDelivered, text)
    }
}
