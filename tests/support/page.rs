//! The commands that docs/tutorial.md shows.

use std::path::Path;

/// A block of the page: what stands behind its fence, and its commands.
pub struct Block {
    pub info: String,
    pub commands: Vec<Command>,
}

/// A command, and what the page says of how it ends.
pub struct Command {
    pub line: String,
    /// By `# exits with N`.
    pub exit: i32,
    /// By `# prints nothing`.
    pub silent: bool,
}

pub fn blocks() -> Vec<Block> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tutorial.md");
    let text = std::fs::read_to_string(path).expect("the page");
    let fenced = text.split("\n```").skip(1).step_by(2);
    fenced
        .map(|block| {
            let (info, lines) = block.split_once('\n').expect("lines");
            Block { info: info.to_owned(), commands: lines.lines().map(command).collect() }
        })
        .collect()
}

fn command(line: &str) -> Command {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let (line, note) = line.split_once(" # ").unwrap_or((line, ""));
    let exit = note.strip_prefix("exits with ").map_or(0, |rest| rest[..1].parse().expect("an exit code"));
    Command { line: line.trim().to_owned(), exit, silent: note == "prints nothing" }
}
