//! Our side of the Agent Client Protocol, version 1: JSON-RPC, a message on each line.
//!
//! It advertises neither files nor terminals, so that the agent works by itself, inside its sandbox.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::assignment::Assignment;
use crate::agent::files::json_line;
use crate::process::{OutputListener, Reply};
use crate::trial::sandbox::Sandbox;

/// The version of the protocol.
pub(super) const VERSION: u64 = 1;

/// The ids of our requests. Those of prompts are the last one and higher.
pub(super) const INITIALIZE: u64 = 1;
pub(super) const AUTHENTICATE: u64 = 2;
pub(super) const SESSION: u64 = 3;
pub(super) const PROMPT: u64 = 10;

/// The code of the error that asks for `authenticate`.
pub(super) const NOT_AUTHENTICATED: i64 = -32000;

/// The method by which an agent asks for permission.
pub(super) const PERMISSION: &str = "session/request_permission";

/// The kinds of calls that change files.
const CHANGES: [&str; 3] = ["edit", "delete", "move"];

/// How long the agent may take to exit. The protocol does not ask it to.
const PATIENCE: Duration = Duration::from_secs(10);

/// The most calls whose kinds are kept.
const MAX_CALLS: usize = 10_000;

pub(super) struct AcpClient {
    folder: String,
    servers: Value,
    /// The first message.
    prompt: String,
    /// The method to authenticate by, until it is used.
    authenticate: Option<String>,
    is_read_only: bool,
    session: String,
    /// The id of the request that the agent has not answered.
    open: u64,
    /// The kinds of calls, by id: a request for permission may not repeat them.
    kinds: HashMap<String, String>,
}

impl AcpClient {
    pub(super) fn new(assignment: &Assignment<'_>, authenticate: Option<String>) -> Self {
        let Assignment { case, trial_env, server, .. } = *assignment;
        let server = server.map(|server| {
            let env: Vec<Value> =
                server.env.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
            json!({ "name": server.names.server, "command": server.program, "args": server.args, "env": env })
        });
        Self {
            folder: trial_env.workspace().to_string(),
            servers: server.into_iter().collect(),
            prompt: case.prompt.clone(),
            authenticate,
            is_read_only: case.sandbox == Sandbox::ReadOnly,
            session: String::new(),
            open: INITIALIZE,
            kinds: HashMap::new(),
        }
    }

    fn request(&mut self, id: u64, method: &str, params: &Value) -> Vec<u8> {
        self.open = id;
        json_line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    fn begin_session(&mut self) -> Vec<u8> {
        let params = json!({ "cwd": self.folder, "mcpServers": self.servers });
        self.request(SESSION, "session/new", &params)
    }

    /// What follows after the agent has answered our request.
    fn answered(&mut self, message: &Value) -> Reply {
        let result = &message["result"];
        let error = message.get("error");
        let asks_for_login = error.is_some_and(|error| error["code"] == NOT_AUTHENTICATED);
        match self.open {
            INITIALIZE if error.is_none() && result["protocolVersion"] == VERSION => written(self.begin_session()),
            SESSION if asks_for_login && self.authenticate.is_some() => {
                let params = json!({ "methodId": self.authenticate.take() });
                written(self.request(AUTHENTICATE, "authenticate", &params))
            }
            AUTHENTICATE if error.is_none() => written(self.begin_session()),
            SESSION if result["sessionId"].is_string() => {
                result["sessionId"].as_str().unwrap_or_default().clone_into(&mut self.session);
                let prompt = std::mem::take(&mut self.prompt);
                written(self.message(&prompt))
            }
            // Nothing more is asked of a session whose turn did not end by itself.
            PROMPT.. if result["stopReason"] == "end_turn" => Reply { answered: true, ..Reply::default() },
            _ => Reply { close: true, ..Reply::default() },
        }
    }

    /// Our answer to a request of the agent.
    fn answer(&self, id: &Value, method: &str, params: &Value) -> Vec<u8> {
        if method == PERMISSION {
            return json_line(&json!({ "jsonrpc": "2.0", "id": id, "result": { "outcome": self.outcome(params) } }));
        }
        let error = json!({ "code": -32601, "message": format!("this client has no {method}") });
        json_line(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn outcome(&self, params: &Value) -> Value {
        let call = &params["toolCall"];
        let known = call["toolCallId"].as_str().and_then(|id| self.kinds.get(id)).map(String::as_str);
        let changes = call["kind"].as_str().or(known).is_some_and(|kind| CHANGES.contains(&kind));
        let wanted = if self.is_read_only && changes {
            ["reject_once", "reject_always"]
        } else {
            ["allow_once", "allow_always"]
        };
        let options = params["options"].as_array().map_or(&[][..], Vec::as_slice);
        let option = |kind: &&str| options.iter().find(|option| option["kind"] == **kind);
        match wanted.iter().find_map(option) {
            Some(option) => json!({ "outcome": "selected", "optionId": option["optionId"] }),
            None => json!({ "outcome": "cancelled" }),
        }
    }

    fn note_kind(&mut self, update: &Value) {
        if let (Some(id), Some(kind), true) =
            (update["toolCallId"].as_str(), update["kind"].as_str(), self.kinds.len() < MAX_CALLS)
        {
            self.kinds.insert(id.to_owned(), kind.to_owned());
        }
    }
}

fn written(write: Vec<u8>) -> Reply {
    Reply { write, ..Reply::default() }
}

impl OutputListener for AcpClient {
    fn opening(&mut self) -> Option<Vec<u8>> {
        let client = json!({ "name": "skill-evals", "version": env!("CARGO_PKG_VERSION") });
        let files = json!({ "readTextFile": false, "writeTextFile": false });
        let params = json!({
            "protocolVersion": VERSION,
            "clientCapabilities": { "fs": files, "terminal": false },
            "clientInfo": client,
        });
        Some(self.request(INITIALIZE, "initialize", &params))
    }

    fn message(&mut self, text: &str) -> Vec<u8> {
        let params = json!({ "sessionId": self.session, "prompt": [{ "type": "text", "text": text }] });
        let id = if self.open < PROMPT { PROMPT } else { self.open + 1 };
        self.request(id, "session/prompt", &params)
    }

    fn line(&mut self, line: &[u8]) -> Reply {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return Reply::default() };
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(id)) => written(self.answer(id, method, &message["params"])),
            (Some(_), None) => {
                self.note_kind(&message["params"]["update"]);
                Reply::default()
            }
            (None, Some(id)) if *id == self.open => self.answered(&message),
            _ => Reply::default(),
        }
    }

    fn patience(&self) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn long_line(&mut self, line: &[u8]) -> Reply {
        self.line(line)
    }
}
