//! The first words between an MCP client and a server: initialize, then the list of tools.

use serde_json::{Value, json};

use crate::process::{OutputListener, Reply};
use crate::trace::excerpt;
use crate::trial::evidence::Ending;

/// Most pages of tools asked for.
const MAX_PAGES: u64 = 20;

/// The version of the protocol that is asked for; a server answers with the one that it speaks.
const PROTOCOL: &str = "2025-06-18";

/// The client's side of the start: initialize, then the list of tools.
#[derive(Debug, Default)]
pub struct Handshake {
    /// The id of the last request.
    id: u64,
    offer: ServerOffer,
    listed: bool,
    wrong: Option<String>,
}

/// What a server offers to begin with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOffer {
    /// Its tools, by their own names.
    pub tools: Vec<String>,
    /// All that a model is told at the start: instructions, and the tools with their descriptions.
    pub told: String,
}

impl Handshake {
    /// What the server offered, once it has ended; `ending` is how.
    ///
    /// # Errors
    /// What it did instead of listing its tools, in words that follow "the server: ".
    pub fn result(self, ending: &Ending) -> Result<ServerOffer, String> {
        if self.listed { Ok(self.offer) } else { Err(self.wrong.unwrap_or_else(|| silence(ending))) }
    }

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

impl OutputListener for Handshake {
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
            return self.give_up(format!("it printed a line that is not a message of the protocol: {text}"));
        };
        // Its own requests and notifications are for agents.
        if message.get("id").and_then(Value::as_u64) != Some(self.id) || message.get("method").is_some() {
            return Reply::default();
        }
        if let Some(error) = message.get("error") {
            return self.give_up(format!("it answered with an error: {}", excerpt(&error.to_string())));
        }
        let result = message.get("result").cloned().unwrap_or_default();
        if self.id == 1 {
            self.offer.told.push_str(result.get("instructions").and_then(Value::as_str).unwrap_or_default());
            let mut write = line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            write.extend(self.request("tools/list", &json!({})));
            return Reply { write, ..Reply::default() };
        }
        let Some(tools) = result.get("tools").and_then(Value::as_array) else {
            return self.give_up(format!("its list of tools is none: {}", excerpt(&result.to_string())));
        };
        self.offer.tools.extend(tools.iter().filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())));
        self.offer.told.push_str(&Value::from(tools.clone()).to_string());
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

fn silence(ending: &Ending) -> String {
    let words = ending.last_words.as_ref().map_or_else(String::new, |words| format!(": {words}"));
    match (ending.timed_out, ending.exit_code) {
        (true, _) => format!("it did not list its tools within {} s{words}", ending.duration_ms / 1000),
        (false, Some(code)) => format!("it ended with exit status {code} before it had listed its tools{words}"),
        (false, None) => format!("it was ended by a signal before it had listed its tools{words}"),
    }
}
