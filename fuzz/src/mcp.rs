//! An MCP server answers any lines, the addresses of resources among them, in lines of JSON-RPC, and shows nothing that
//! lies outside of its skills.

use std::io::Cursor;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};

use super::{folder, parts, write};
use serde_json::{Value, json};
use tokio::io::AsyncWrite;

/// What is next to the skills.
const OUTSIDE: &str = "what nobody may read";

static SKILLS: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = folder();
    write(&folder.path().join("secret.txt"), OUTSIDE.as_bytes());
    let skill = folder.path().join("skills/a");
    write(&skill.join("SKILL.md"), b"---\nname: a\ndescription: Does a.\n---\nDo it.\n");
    write(&skill.join("references/b c.md"), b"text");
    std::os::unix::fs::symlink("../../secret.txt", skill.join("link")).expect("a link");
    folder
});

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.0.lock().expect("one thread").extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let [text, lines] = parts(bytes);
    let text = String::from_utf8_lossy(text);
    let ask = |id: u32, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    let hello =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "f", "version": "1"}});
    let mut input = [
        ask(1, "initialize", hello),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        ask(2, "resources/read", json!({"uri": text})),
        ask(3, "resources/read", json!({"uri": format!("skill://a/{text}")})),
        ask(4, "tools/call", json!({"name": "skill-resource", "arguments": {"skill": "a", "path": text}})),
        String::new(),
    ]
    .join("\n")
    .into_bytes();
    input.extend_from_slice(lines);
    let output = Output::default();
    let _ = skill_evals_agents::mcp::serve_on(
        &[SKILLS.path().join("skills")],
        skill_evals_evidence::settings::BuiltIn::default(),
        Cursor::new(input),
        output.clone(),
    );
    let output = output.0.lock().expect("one thread");
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let message: Value = serde_json::from_slice(line).expect("a line of JSON");
        assert_eq!(message["jsonrpc"], "2.0");
    }
    let shown = String::from_utf8_lossy(&output);
    assert!(!shown.contains(OUTSIDE) || String::from_utf8_lossy(bytes).contains(OUTSIDE));
}
