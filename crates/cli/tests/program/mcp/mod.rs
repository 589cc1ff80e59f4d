//! The MCP server, driven through its standard input and output.

mod addresses;
mod batches;
mod changes;
mod choices;
mod client;
mod escapes;
mod extension;
mod http_bridge;
mod official;
mod robustness;
mod serving;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A directory with the skills `greeting` (one file) and `notes` (files of many kinds).
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

/// A SKILL.md with front matter. Returns its directory.
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
