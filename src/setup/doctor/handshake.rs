//! The first words between an MCP client and a server: initialize, then tools/list.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::probe::Probes;
use crate::process::{Listener, Reply};

/// Starts a server and asks for its tools. The inner error says what it did instead of answering.
pub(super) fn shake(probes: &Probes<'_>, program: &Path, args: &[OsString]) -> io::Result<Result<Vec<String>, String>> {
    let mut client = Client { tools: None, refused: None };
    let ran = probes.talk(program, args, &mut client)?;
    let nothing = || client.refused.unwrap_or_else(|| format!("no answer: {}", ran.last_words()));
    Ok(client.tools.ok_or_else(nothing))
}

struct Client {
    tools: Option<Vec<String>>,
    refused: Option<String>,
}

impl Listener for Client {
    fn opening(&mut self) -> Option<Vec<u8>> {
        let client = json!({ "name": "skill-evals doctor", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        Some(line(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })))
    }

    fn line(&mut self, text: &[u8]) -> Reply {
        // What is no JSON does not belong here, and is no answer.
        let Ok(message) = serde_json::from_slice::<Value>(text) else { return Reply::default() };
        if let Some(error) = message.get("error") {
            self.refused = Some(format!("the server refuses: {error}"));
            return Reply { write: Vec::new(), close: true, end: false };
        }
        match message.get("id").and_then(Value::as_u64) {
            Some(1) => {
                let mut write = line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
                write.extend(line(&json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })));
                Reply { write, close: false, end: false }
            }
            Some(2) => {
                let tools = message.pointer("/result/tools").and_then(Value::as_array).into_iter().flatten();
                let names = tools.filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned));
                self.tools = Some(names.collect());
                Reply { write: Vec::new(), close: true, end: false }
            }
            _ => Reply::default(),
        }
    }
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
