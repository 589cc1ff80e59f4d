//! The MCP server, driven through its standard input and output.

#[path = "mcp/addresses.rs"]
mod addresses;
#[path = "mcp/batches.rs"]
mod batches;
#[path = "mcp/changes.rs"]
mod changes;
#[path = "mcp/choices.rs"]
mod choices;
#[path = "mcp/escapes.rs"]
mod escapes;
#[path = "support/mcp_client.rs"]
mod mcp_client;
#[path = "support/mcp_http_bridge.rs"]
mod mcp_http_bridge;
#[path = "mcp/official.rs"]
mod official;
#[path = "mcp/robustness.rs"]
mod robustness;
#[path = "mcp/serving.rs"]
mod serving;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder with the skills `greeting` (one file) and `notes` (files of many kinds).
fn skills() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    skill(folder.path(), "greeting", "Greets a person. Use for <hello> & co.", "# Greeting\n\nSay hello.");
    skill(folder.path(), "notes", "Keeps notes.", "# Notes\n\nSee references/one.md.");
    let notes = folder.path().join("notes");
    put(&notes, "references/one.md", b"the first");
    put(&notes, "references/deep/two.md", b"the second");
    put(&notes, "assets/pixel.bin", &[0, 159, 146, 150]);
    put(&notes, "assets/100% new?.txt", "spaces and signs".as_bytes());
    folder
}

/// A SKILL.md with front matter. Returns its folder.
fn skill(skills: &Path, name: &str, description: &str, body: &str) -> PathBuf {
    let text = format!("---\nname: {name}\ndescription: {description:?}\n---\n{body}\n");
    put(&skills.join(name), "SKILL.md", text.as_bytes());
    skills.join(name)
}

fn put(folder: &Path, path: &str, bytes: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}
