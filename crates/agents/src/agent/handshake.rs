//! The start of a session between an MCP client and a server: initialize, then the list of tools.

use serde_json::{Value, json};

use crate::agent::files::json_line;
use crate::process::{OutputListener, Reply};
use crate::text::redact::Redactor;
use crate::trace::excerpt;
use crate::trial::evidence::Ending;

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
