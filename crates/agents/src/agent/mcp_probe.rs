//! The MCP server that offers skills, ours or the repository's own: how agents start it, and what it offers. It is asked
//! before any agent starts, since agents report little or nothing about a server that does not work.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::files::json_line;
use crate::agent::sandbox::{Place, find};
use crate::agent::trial_env::TrialEnv;
use crate::files::rooted::RootedPath;
use crate::mcp::ASKED_VARIABLE;
use crate::process::{self, Job, OutputListener, Reply};
use crate::settings::{FILE, ROOT, Settings, ToolNames};
use crate::skill::slug;
use crate::text::redact::Redactor;
use crate::trace::excerpt;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::{Ending, ServerMeta};

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

// The start of a session between an MCP client and a server: initialize, then the list of tools.

/// The most pages of tools that are requested.
const MAX_PAGES: u64 = 20;

/// The requested version of the protocol; a server answers with its own.
const PROTOCOL: &str = "2025-06-18";

/// The client's side of the start.
#[derive(Debug)]
pub struct Handshake<'a> {
    /// Masks secrets in what the server wrote.
    redactor: &'a Redactor,
    /// The id of the last request.
    id: u64,
    offer: ServerOffer,
    is_complete: bool,
    failure: Option<String>,
}

/// What a server offers at the start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOffer {
    /// The server's names of its tools.
    pub tools: Vec<String>,
    /// All that a model sees at the start: the instructions, and the tools with their descriptions.
    pub text: String,
}

impl<'a> Handshake<'a> {
    pub fn new(redactor: &'a Redactor) -> Self {
        Self { redactor, id: 0, offer: ServerOffer::default(), is_complete: false, failure: None }
    }

    /// What the server offered, after it ended in this way.
    pub fn result(self, ending: &Ending) -> Result<ServerOffer, String> {
        if self.is_complete { Ok(self.offer) } else { Err(self.failure.unwrap_or_else(|| no_list(ending))) }
    }

    fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        self.id += 1;
        json_line(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))
    }

    fn fail(&mut self, why: String) -> Reply {
        self.failure = Some(why);
        Reply { end: true, close: true, ..Reply::default() }
    }
}

impl OutputListener for Handshake<'_> {
    fn opening(&mut self) -> Option<Vec<u8>> {
        let client = json!({ "name": "skill-evals", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
        Some(self.request("initialize", &params))
    }

    fn line(&mut self, text: &[u8]) -> Reply {
        if self.is_complete || self.failure.is_some() || text.is_empty() {
            return Reply::default();
        }
        let text = &*self.redactor.mask(text);
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            let text = excerpt(&String::from_utf8_lossy(text));
            return self.fail(format!("it printed a line that is not a message of the protocol: {text}"));
        };
        // The server's own requests and notifications are for agents.
        if message.get("id").and_then(Value::as_u64) != Some(self.id) || message.get("method").is_some() {
            return Reply::default();
        }
        if let Some(error) = message.get("error") {
            return self.fail(format!("it answered with an error: {}", excerpt(&error.to_string())));
        }
        let result = message.get("result").cloned().unwrap_or_default();
        if self.id == 1 {
            self.offer.text.push_str(result.get("instructions").and_then(Value::as_str).unwrap_or_default());
            let mut write = json_line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            write.extend(self.request("tools/list", &json!({})));
            return Reply { write, ..Reply::default() };
        }
        let Some(tools) = result.get("tools").and_then(Value::as_array) else {
            return self.fail(format!("its list of tools is none: {}", excerpt(&result.to_string())));
        };
        self.offer.tools.extend(tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())));
        self.offer.text.push_str(&Value::from(tools.clone()).to_string());
        match result.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) if self.id < MAX_PAGES => {
                Reply { write: self.request("tools/list", &json!({ "cursor": cursor })), ..Reply::default() }
            }
            _ => {
                self.is_complete = true;
                Reply { end: true, close: true, ..Reply::default() }
            }
        }
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        let start = excerpt(&self.redactor.mask_text(&String::from_utf8_lossy(start)));
        self.fail(format!("it printed a line of more than a megabyte: {start}"))
    }
}

fn no_list(ending: &Ending) -> String {
    let words = ending.last_words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
    match (ending.timed_out, ending.exit_code) {
        (true, _) => format!("it did not list its tools within {} s{words}", ending.duration_ms / 1000),
        (false, Some(code)) => format!("it ended with exit status {code} before it had listed its tools{words}"),
        (false, None) => format!("it was ended by a signal before it had listed its tools{words}"),
    }
}
