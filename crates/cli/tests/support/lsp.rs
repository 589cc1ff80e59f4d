//! A language client: as much of one as it takes to ask rust-analyzer for tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

/// A running rust-analyzer in a directory.
pub struct Analyzer {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    root: PathBuf,
    next: u64,
    /// Notifications that came while something else was waited for.
    heard: Vec<(String, Value)>,
}

/// The error of a question that was overtaken, by the Language Server Protocol.
const CONTENT_MODIFIED: i64 = -32801;

impl Drop for Analyzer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Analyzer {
    /// Starts it like VS Code with the Test Explorer, and waits until it has read the directory.
    pub fn start(mut command: Command, root: &Path) -> Self {
        let root = root.canonicalize().expect("a directory");
        command.current_dir(&root).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("rust-analyzer starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut analyzer = Self { child, input, output, root, next: 0, heard: Vec::new() };
        let options = json!({ "checkOnSave": false, "cachePriming": { "enable": false }, "procMacro": { "enable": false },
            "cargo": { "buildScripts": { "enable": false } }, "runnables": { "extraArgs": [] } });
        let capabilities = json!({ "experimental": { "testExplorer": true, "serverStatusNotification": true },
            "workspace": { "configuration": true } });
        analyzer.request(
            "initialize",
            &json!({ "processId": std::process::id(), "rootUri": analyzer.uri(""), "capabilities": capabilities,
                "initializationOptions": options }),
        );
        analyzer.send(&json!({ "jsonrpc": "2.0", "method": "initialized", "params": {} }));
        analyzer.wait_for(|method, params| method == "experimental/serverStatus" && params["quiescent"] == true);
        analyzer
    }

    /// The address of a file.
    pub fn uri(&self, file: &str) -> String {
        format!("file://{}", self.root.join(file).display())
    }

    /// Opens a file in the editor.
    pub fn open(&mut self, item: &Value) {
        let params = json!({ "textDocument": item });
        self.send(&json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params }));
    }

    /// Asks, and waits for the answer.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.read();
            if message["id"] == id && message.get("method").is_none() {
                // What it looked at has changed meanwhile: editors ask again.
                if message["error"]["code"] == CONTENT_MODIFIED {
                    return self.request(method, params);
                }
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
            self.hear(&message);
        }
    }

    /// The same until the answer is `whole`, or nothing has changed it for a while: the analyzer calls itself quiescent also between
    /// two parts of a crate that it loads.
    pub fn request_until(&mut self, method: &str, params: &Value, whole: impl Fn(&Value) -> bool) -> Value {
        for _ in 0..120 {
            let answer = self.request(method, params);
            if whole(&answer) {
                return answer;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        self.request(method, params)
    }

    /// Waits for a notification, and returns all that came up to it.
    pub fn wait_for(&mut self, wanted: impl Fn(&str, &Value) -> bool) -> Vec<(String, Value)> {
        loop {
            if let Some(at) = self.heard.iter().position(|(method, params)| wanted(method, params)) {
                return self.heard.drain(..=at).collect();
            }
            let message = self.read();
            self.hear(&message);
        }
    }

    fn hear(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else { return };
        if let Some(id) = message.get("id") {
            // It asks for settings, which it has, and wants to be allowed things.
            let items = message["params"]["items"].as_array().map_or(0, Vec::len);
            let result =
                if method == "workspace/configuration" { json!(vec![Value::Null; items]) } else { Value::Null };
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
            return;
        }
        self.heard.push((method.to_owned(), message.get("params").cloned().unwrap_or_default()));
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("rust-analyzer listens");
        self.input.flush().expect("rust-analyzer listens");
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("rust-analyzer speaks") > 0, "rust-analyzer went away");
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length:") {
                length = value.trim().parse().expect("a length");
            }
        }
        let mut bytes = vec![0; length];
        self.output.read_exact(&mut bytes).expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}
