//! The commands that pages show.

use crate::support::repository;

/// A block of a page: what is behind its fence, and its commands.
pub struct Block {
    pub info: String,
    pub commands: Vec<Command>,
    pub text: String,
    /// The file that the sentence before the block names: "Write `FILE`:".
    pub file: Option<String>,
}

/// A command, and what the page says of how it ends.
pub struct Command {
    pub line: String,
    /// By `# exits with N`.
    pub exit: i32,
    /// By `# prints nothing`.
    pub silent: bool,
    /// The lines under it, in a block that marks commands with `$`.
    pub output: Vec<String>,
}

/// The fenced blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let text = std::fs::read_to_string(repository().join(page)).expect("the page");
    let parts: Vec<&str> = text.split("\n```").collect();
    // Prose and blocks take turns.
    parts.chunks_exact(2).map(|pair| block(pair[0], pair[1])).collect()
}

fn block(before: &str, block: &str) -> Block {
    let (info, text) = block.split_once('\n').expect("lines");
    let mut commands: Vec<Command> = Vec::new();
    for line in text.lines() {
        match commands.last_mut().filter(|_| info.starts_with("console") && !line.starts_with("$ ")) {
            Some(command) => command.output.push(line.to_owned()),
            None => commands.push(command(line)),
        }
    }
    let file = before.trim_end().strip_suffix("`:").and_then(|before| before.rsplit_once("Write `"));
    Block { info: info.to_owned(), commands, text: format!("{text}\n"), file: file.map(|(_, file)| file.to_owned()) }
}

fn command(line: &str) -> Command {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let (line, note) = line.split_once(" # ").unwrap_or((line, ""));
    let exit = note.strip_prefix("exits with ").map_or(0, |rest| rest[..1].parse().expect("an exit code"));
    Command { line: line.trim().to_owned(), exit, silent: note == "prints nothing", output: Vec::new() }
}
