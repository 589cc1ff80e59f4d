//! The MCP server that offers skills, ours or the repository's own: how agents start it, and what it offers, asked
//! before any agent is. Agents say little of a server that does not work, and some nothing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::room::Room;
use crate::cases::skill::slug;
use crate::process::{self, Job, Listener, Reply};
use crate::settings::ToolNames;
use crate::settings::{FILE, Settings};
use crate::text::redact::Redactor;
use crate::trial::evidence::{Ending, ServerMeta};
use crate::trial::trace::excerpt;
use crate::trial::trouble::{Trouble, TroubleKind};

/// How long a server may take until it has listed its tools.
const PATIENCE: Duration = Duration::from_secs(30);

/// Most pages of tools asked for.
const MAX_PAGES: u64 = 20;

/// The version of the protocol that is asked for; a server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";

/// How to start the server.
#[derive(Clone, Debug)]
pub struct SkillServer {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment beside the agent's.
    pub env: BTreeMap<String, String>,
    /// What it and its tools are called.
    pub names: ToolNames,
    /// Whether it is the repository's own.
    own: bool,
}

impl SkillServer {
    /// The server that the settings choose, over the skills in the folder `skills`: the repository's own, or this very
    /// program, which serves skills when it is started with `mcp --skills DIR`.
    ///
    /// # Errors
    /// When the program is missing.
    pub fn new(settings: &Settings, root: &Path, skills: &Path) -> Result<Self, Trouble> {
        let Some(own) = &settings.skill_server else {
            let program = std::env::current_exe()
                .map_err(|error| Trouble::new(TroubleKind::CouldNotStart, format!("the MCP server: {error}")))?;
            let args = vec!["mcp".to_owned(), "--skills".to_owned(), skills.to_string_lossy().into_owned()];
            return Ok(Self { program, args, env: BTreeMap::new(), names: ToolNames::default(), own: false });
        };
        let fill = |text: &String| {
            text.replace("{skills}", &skills.to_string_lossy()).replace("{root}", &root.to_string_lossy())
        };
        let command = fill(&own.command);
        let named = if command.contains('/') { root.join(&command).to_string_lossy().into_owned() } else { command };
        let program = process::find_program(&named).ok_or_else(|| {
            let name = &own.names.server;
            let why =
                format!("the MCP server `{name}`: there is no program `{named}`; see `command` under [mcp] in {FILE}");
            Trouble::new(TroubleKind::NotDelivered, why)
        })?;
        Ok(Self {
            program,
            args: own.args.iter().map(fill).collect(),
            env: own.env.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            names: own.names.clone(),
            own: true,
        })
    }

    /// Starts the server as an agent would, asks for its tools, and ends it. `skill` is the slug of the one under test.
    ///
    /// # Errors
    /// When it does not start, answers something else, or has no skill tool.
    pub fn probe(
        &self,
        room: &Room,
        env: &BTreeMap<OsString, OsString>,
        redactor: &Redactor,
        skill: &str,
    ) -> Result<ServerMeta, Trouble> {
        let mut env = env.clone();
        env.extend(self.env.iter().map(|(name, value)| (name.into(), value.into())));
        let job = Job {
            program: self.program.clone(),
            args: self.args.iter().map(Into::into).collect(),
            env,
            folder: room.workspace(),
            timeout: PATIENCE,
            stdout: room.path().join("server-stdout"),
            by_file: None,
            stderr: room.path().join("server-stderr"),
            redactor,
        };
        let mut talk = Talk::default();
        let ending = process::run(&job, &mut talk)
            .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {error}", job.stdout.display())))?;
        if let Some(trouble) = ending.trouble {
            return Err(trouble);
        }
        let name = &self.names.skill;
        if !talk.listed {
            return Err(self.trouble(&talk.wrong.unwrap_or_else(|| silence(&ending))));
        }
        if !talk.tools.contains(name) {
            let tools = if talk.tools.is_empty() { "no tools".to_owned() } else { talk.tools.join(", ") };
            let why = format!(
                "it offers {tools}, and no tool `{name}`; say as `tool` under [mcp] in {FILE} which one loads a skill"
            );
            return Err(self.trouble(&why));
        }
        let tells_of_skill = talk.told.contains(skill) || slug(&talk.told).contains(skill);
        Ok(ServerMeta { names: self.names.clone(), tools: talk.tools, tells_of_skill })
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

fn silence(ending: &Ending) -> String {
    let words = ending.last_words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
    match (ending.timed_out, ending.exit_code) {
        (true, _) => format!("it did not list its tools within {} s{words}", PATIENCE.as_secs()),
        (false, Some(code)) => format!("it ended with exit status {code} before it had listed its tools{words}"),
        (false, None) => format!("it was ended by a signal before it had listed its tools{words}"),
    }
}

/// The client's side of the start: initialize, then the list of tools.
#[derive(Debug, Default)]
struct Talk {
    /// The id of the last request.
    id: u64,
    tools: Vec<String>,
    /// All that a model is told at the start.
    told: String,
    listed: bool,
    wrong: Option<String>,
}

impl Talk {
    fn request(&mut self, method: &str, params: &Value) -> Vec<u8> {
        self.id += 1;
        line(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))
    }

    fn give_up(&mut self, why: String) -> Reply {
        self.wrong = Some(why);
        Reply { end: true, close: true, ..Reply::default() }
    }
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}

impl Listener for Talk {
    fn opening(&mut self) -> Option<Vec<u8>> {
        let client = json!({ "name": "skill-evals", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client });
        Some(self.request("initialize", &params))
    }

    fn line(&mut self, text: &[u8]) -> Reply {
        if self.listed || self.wrong.is_some() || text.is_empty() {
            return Reply::default();
        }
        let Ok(message) = serde_json::from_slice::<Value>(text) else {
            let text = excerpt(&String::from_utf8_lossy(text));
            return self.give_up(format!("it printed a line that is no message of the protocol: {text}"));
        };
        // Its own requests and notifications are none of our business.
        if message.get("id").and_then(Value::as_u64) != Some(self.id) || message.get("method").is_some() {
            return Reply::default();
        }
        if let Some(error) = message.get("error") {
            return self.give_up(format!("it answered with an error: {}", excerpt(&error.to_string())));
        }
        let result = message.get("result").cloned().unwrap_or_default();
        if self.id == 1 {
            self.told.push_str(result.get("instructions").and_then(Value::as_str).unwrap_or_default());
            let mut write = line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            write.extend(self.request("tools/list", &json!({})));
            return Reply { write, ..Reply::default() };
        }
        let Some(tools) = result.get("tools").and_then(Value::as_array) else {
            return self.give_up(format!("its list of tools is none: {}", excerpt(&result.to_string())));
        };
        self.tools.extend(tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())));
        self.told.push_str(&Value::from(tools.clone()).to_string());
        match result.get("nextCursor").and_then(Value::as_str) {
            Some(cursor) if self.id < MAX_PAGES => {
                Reply { write: self.request("tools/list", &json!({ "cursor": cursor })), ..Reply::default() }
            }
            _ => {
                self.listed = true;
                Reply { end: true, close: true, ..Reply::default() }
            }
        }
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        let start = excerpt(&String::from_utf8_lossy(start));
        self.give_up(format!("it printed a line of more than a megabyte: {start}"))
    }
}
