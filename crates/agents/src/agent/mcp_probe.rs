//! The MCP server that offers skills, ours or the repository's own: how agents start it, and what it offers. It is asked
//! before any agent starts, since agents report little or nothing about a server that does not work.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::handshake::{Handshake, ServerOffer};
use crate::agent::sandbox::{Place, find};
use crate::agent::trial_env::TrialEnv;
use crate::files::rooted::RootedPath;
use crate::mcp::ASKED_VARIABLE;
use crate::process::{self, Job};
use crate::settings::{FILE, ROOT, Settings, ToolNames};
use crate::skill::slug;
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::ServerMeta;

/// How long a server may take to list its tools.
const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
pub struct ServerCommand {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Its environment, in addition to the agent's.
    pub env: BTreeMap<String, String>,
    /// The names of the server and its tools.
    pub names: ToolNames,
    /// Whether claude shows its tools to the model from the start.
    pub always_load: bool,
    /// Whether it is the repository's own.
    is_own: bool,
}

impl ServerCommand {
    /// The server that the settings choose for the skills of this trial environment: the repository's own, or this program
    /// with the arguments `mcp --skills DIR`.
    pub fn new(settings: &Settings, root: &Path, trial_env: &TrialEnv) -> Result<Self, Trouble> {
        let skills = &trial_env.skills().to_string();
        let always_load = settings.mcp.always_load;
        let Some(own) = &settings.mcp.own else {
            let program = trial_env
                .show_this_program("skills-mcp")
                .map_err(|error| Trouble::new(TroubleKind::CouldNotStart, format!("the MCP server: {error}")))?;
            let args = vec!["mcp".to_owned(), "--skills".to_owned(), skills.to_owned()];
            let chosen = settings.mcp.built_in.chosen();
            let env = chosen.into_iter().map(|(_, variable, value)| (variable.to_owned(), value)).collect();
            return Ok(Self { program, args, env, names: ToolNames::default(), always_load, is_own: false });
        };
        let fill = |text: &String| text.replace("{skills}", skills).replace(ROOT, &root.to_string_lossy());
        let mut command = fill(&own.command);
        if command.contains('/') {
            command = root.join(&command).to_string_lossy().into_owned();
        }
        let program = find(settings, &command).ok_or_else(|| {
            let name = &own.names.server;
            let why =
                format!("the MCP server `{name}`: unknown program `{command}`; see `command` under [mcp] in {FILE}");
            Trouble::new(TroubleKind::NotDelivered, why)
        })?;
        Ok(Self {
            program,
            args: own.args.iter().map(fill).collect(),
            env: own.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            names: own.names.clone(),
            always_load,
            is_own: true,
        })
    }

    /// Has our server log its client's requests for lists in the file at `path`.
    #[must_use]
    pub fn logging_to(mut self, path: &RootedPath) -> Self {
        if !self.is_own {
            self.env.insert(ASKED_VARIABLE.to_owned(), path.to_string());
        }
        self
    }

    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Starts the server as an agent with this environment in this place would, requests its tools, and ends it. `skill` is the
    /// slug of the skill under test.
    pub fn probe(
        &self,
        trial_env: &TrialEnv,
        env: &BTreeMap<OsString, OsString>,
        place: &Place,
        redactor: &Redactor,
        skill: &str,
    ) -> Result<ServerMeta, Trouble> {
        let mut env = env.clone();
        let own = self.env.iter().filter(|(name, _)| *name != ASKED_VARIABLE);
        env.extend(own.map(|(name, value)| (name.into(), value.into())));
        let job = Job {
            start: place.start(&self.program, self.args.iter().map(Into::into).collect()),
            env,
            folder: trial_env.start_directory(),
            timeout: TIMEOUT,
            cpu_wait: None,
            stdout: trial_env.control().join("server-stdout"),
            appends: false,
            by_file: None,
            input: None,
            stderr: trial_env.control().join("server-stderr"),
            redactor,
            works_on: false,
            settled: None,
        };
        let mut handshake = Handshake::new(redactor);
        let ending = process::run(&job, &mut handshake)
            .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {error}", job.stdout.display())))?;
        if let Some(trouble) = ending.trouble {
            return Err(trouble);
        }
        let ServerOffer { tools, text } = handshake.result(&ending).map_err(|mut why| {
            if place.sandbox().is_some() && matches!(ending.exit_code, Some(126 | 127)) {
                let inside = place.isolation().surroundings();
                let _ =
                    write!(why, "; it runs inside {inside}: name in `isolation_read` in {FILE} what it calls there");
            }
            self.trouble(redactor, &why)
        })?;
        let tool = &self.names.skill;
        if !tools.contains(tool) {
            let tools = if tools.is_empty() { "no tools".to_owned() } else { tools.join(", ") };
            return Err(self.trouble(redactor, &format!(
                "it offers {tools}, and no tool `{tool}`; say as `tool` under [mcp] in {FILE} which one loads a skill"
            )));
        }
        let tells_of_skill = text.contains(skill) || slug(&text).contains(skill);
        let (names, always_load) = (self.names.clone(), self.always_load);
        Ok(ServerMeta { names, tools, tells_of_skill, always_load, start_ms: Some(ending.duration_ms) })
    }

    fn trouble(&self, redactor: &Redactor, why: &str) -> Trouble {
        let server = &self.names.server;
        let text = if self.is_own {
            let mut command = self.program.display().to_string();
            for arg in &self.args {
                let _ = write!(command, " {arg}");
            }
            format!("the MCP server `{server}` (`{command}`): {why}; it is started as [mcp] in {FILE} says")
        } else {
            // It has a path in the trial environment only.
            format!("the built-in MCP server `{server}`: {why}")
        };
        Trouble::new(TroubleKind::NotDelivered, redactor.mask_text(&text))
    }
}
