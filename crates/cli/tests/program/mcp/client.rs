//! A client of an MCP server on standard input and output, small enough to send what no decent client would.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(10);

pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What came while something else was waited for.
    notifications: Vec<Value>,
    next_id: u64,
    /// What `roots/list` is answered with.
    pub roots: Vec<Value>,
    /// How it calls itself.
    pub name: &'static str,
}

impl Client {
    /// Starts `skill-evals mcp` in `folder` and sends nothing.
    pub fn start(folder: &Path, args: &[&str]) -> Self {
        Self::start_in(folder, args, &[])
    }

    /// The same with these variables.
    pub fn start_in(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
            .arg("mcp")
            .args(args)
            .envs(env.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (send, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines() {
                if line.map(|line| send.send(line)).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, notifications: Vec::new(), next_id: 0, roots: Vec::new(), name: "test" }
    }

    /// Starts it on the skills in `skills` and shakes hands.
    pub fn serving(skills: &Path) -> Self {
        let mut client = Self::start(skills, &["--skills", skills.to_str().unwrap()]);
        client.shake_hands(&json!({}));
        client
    }

    /// The answer to `initialize`.
    pub fn shake_hands(&mut self, capabilities: &Value) -> Value {
        self.shake_hands_in("2025-06-18", capabilities)
    }

    /// The same in this version of the protocol.
    pub fn shake_hands_in(&mut self, version: &str, capabilities: &Value) -> Value {
        let answer = self.request(
            "initialize",
            &json!({
                "protocolVersion": version,
                "capabilities": capabilities,
                "clientInfo": { "name": self.name, "version": "1" },
            }),
        );
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer["result"].clone()
    }

    pub fn send_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// The whole answer: `result` or `error` is in it.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let deadline = Instant::now() + PATIENCE;
        loop {
            let message = self.next(deadline).unwrap_or_else(|| panic!("no answer to {method}"));
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.take(message);
        }
    }

    /// The text and the `isError` of a tool's answer.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = answer.get("result").unwrap_or_else(|| panic!("{tool} {arguments}: {answer}"));
        (result["content"][0]["text"].as_str().unwrap().to_owned(), result["isError"] == true)
    }

    /// Waits for a notification of this method, unless it has come already. Whether it came in time.
    pub fn is_told(&mut self, method: &str, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            if let Some(at) = self.notifications.iter().position(|message| message["method"] == method) {
                self.notifications.remove(at);
                return true;
            }
            let Some(message) = self.next(deadline) else { return false };
            self.take(message);
        }
    }

    /// The same for one of the resource at `uri`.
    pub fn is_told_of(&mut self, method: &str, uri: &str, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        loop {
            let is_it = |message: &Value| message["method"] == method && message["params"]["uri"] == uri;
            if self.notifications.iter().any(is_it) {
                return true;
            }
            let Some(message) = self.next(deadline) else { return false };
            self.take(message);
        }
    }

    pub fn forget_notifications(&mut self) {
        self.notifications.clear();
    }

    /// Ends the input. How the server ended, and when after that.
    pub fn end(mut self) -> (ExitStatus, Duration) {
        drop(self.stdin.take());
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, start.elapsed());
            }
            assert!(start.elapsed() < PATIENCE, "the server goes on after the end of its input");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn take(&mut self, message: Value) {
        if message["method"] == "roots/list" {
            let roots = self.roots.clone();
            self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "roots": roots } }));
        } else if message.get("method").is_some() {
            self.notifications.push(message);
        }
    }

    /// The next message. Everything on standard output must be one.
    pub fn next(&mut self, deadline: Instant) -> Option<Value> {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                let all = message.as_array().map_or(std::slice::from_ref(&message), Vec::as_slice);
                assert!(all.iter().all(|message| message["jsonrpc"] == "2.0"), "{line}");
                Some(message)
            }
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the server ended"),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
