//! An HTTP front to the server on standard input and output: the conformance suite speaks streamable HTTP only. Each
//! session is a process of its own; a POST is a line to it, and the line with its id the answer. Streams of
//! notifications are not offered (GET is answered 405, as the protocol allows).

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::Value;

struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

type Sessions = Arc<Mutex<HashMap<String, Arc<Mutex<Session>>>>>;

/// Serves the skills in `skills` on a port of this machine until the test ends.
pub fn serve(skills: &Path) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sessions, skills) = (Sessions::default(), skills.to_path_buf());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (sessions, skills) = (sessions.clone(), skills.clone());
            thread::spawn(move || while answer(&stream, &sessions, &skills).is_ok_and(|more| more) {});
        }
    });
    address
}

/// Answers one request. Whether there may be another on the connection.
fn answer(stream: &TcpStream, sessions: &Sessions, skills: &Path) -> io::Result<bool> {
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(false);
    }
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    loop {
        line.clear();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    if method != "POST" {
        return respond(stream, if method == "DELETE" { "200 OK" } else { "405 Method Not Allowed" }, "", "");
    }
    let Ok(message) = serde_json::from_slice::<Value>(&body) else {
        return respond(stream, "400 Bad Request", "", "");
    };
    let (id, session) = if let Some(id) = headers.get("mcp-session-id") {
        (id.clone(), sessions.lock().unwrap().get(id).cloned())
    } else {
        let session = Arc::new(Mutex::new(start(skills)));
        let id = session.lock().unwrap().child.id().to_string();
        sessions.lock().unwrap().insert(id.clone(), session.clone());
        (id, Some(session))
    };
    let Some(session) = session else { return respond(stream, "404 Not Found", "", "") };
    let mut session = session.lock().unwrap();
    writeln!(session.stdin, "{message}")?;
    if message.get("id").is_none() || message.get("method").is_none() {
        return respond(stream, "202 Accepted", &id, "");
    }
    loop {
        line.clear();
        if session.stdout.read_line(&mut line)? == 0 {
            return respond(stream, "500 Internal Server Error", &id, "");
        }
        if serde_json::from_str::<Value>(&line).is_ok_and(|answer| answer["id"] == message["id"]) {
            return respond(stream, "200 OK", &id, line.trim_end());
        }
    }
}

fn start(skills: &Path) -> Session {
    let mut child = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["mcp", "--skills"])
        .arg(skills)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    Session { child, stdin, stdout }
}

fn respond(mut stream: &TcpStream, status: &str, session: &str, body: &str) -> io::Result<bool> {
    let session = if session.is_empty() { String::new() } else { format!("mcp-session-id: {session}\r\n") };
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    write!(stream, "HTTP/1.1 {status}\r\n{kind}{session}content-length: {}\r\n\r\n{body}", body.len())?;
    Ok(true)
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
