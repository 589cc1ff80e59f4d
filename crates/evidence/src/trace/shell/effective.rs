//! Decides whether a command is effective, by the rule in the [parent module](super).

use super::script::{self, Script, ShellWord, SimpleCommand, UNKNOWN};
use super::{MAX_SHELL_DEPTH, readers, wrappers};
use crate::skill::{SKILL_FILE, slug};

/// Prefixes of variables that change what later commands do.
const ACTIVE_VARIABLES: [&str; 14] = [
    "PATH", "IFS", "HOME", "CDPATH", "ENV", "BASH", "SHELL", "LD_", "DYLD_", "LESS", "PAGER", "BAT_", "PROMPT", "GLOB",
];

/// Readers that print only a part of a file, or numbers.
const SEARCHES: [&str; 5] = ["grep", "egrep", "fgrep", "rg", "wc"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandKind {
    /// Prints a SKILL.md.
    Print,
    /// Searches a SKILL.md, or lists files.
    Inspect,
    /// Searches the output of the command before it.
    Filter,
    /// Does nothing by itself: `cd x`, `true`, a line of dashes.
    Neutral,
    /// Anything else.
    Effect,
}

/// Whether `command` does more than inspect: see [the rule](super#effective-commands). `offered` are the names of the
/// skills that the agent offered. `None` accepts the SKILL.md of any skill.
pub fn is_effective(command: &str, offered: Option<&[String]>) -> bool {
    !may_inspect(command) || !matches!(kind(command, offered), CommandKind::Inspect | CommandKind::Print)
}

/// Whether `command` only prints the SKILL.md of skills. A search or a list is not enough.
pub fn prints_skills(command: &str) -> bool {
    may_inspect(command) && kind(command, None) == CommandKind::Print
}

/// Whether `command` only reads files: plain readers with any operands, and what inspects.
pub fn only_reads(command: &str) -> bool {
    let mut reader = CommandReader { offered: None, any_file: true, directory: Some(String::new()) };
    reader.script(command, 0) != CommandKind::Effect
}

fn kind(command: &str, offered: Option<&[String]>) -> CommandKind {
    CommandReader { offered, any_file: false, directory: Some(String::new()) }.script(command, 0)
}

/// Whether a command contains a word of an inspection. Most commands contain none, and need not be parsed.
fn may_inspect(command: &str) -> bool {
    let name = SKILL_FILE.split('.').next().unwrap_or(SKILL_FILE);
    let mut words = command.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| matches!(word, "ls" | "pwd") || word.contains(name))
}

struct CommandReader<'a> {
    /// The names of the offered skills, if they are known.
    offered: Option<&'a [String]>,
    /// Whether all files count as a SKILL.md.
    any_file: bool,
    /// The current directory, relative to the first one. `None` if the script does not show it.
    directory: Option<String>,
}

impl CommandReader<'_> {
    fn script(&mut self, text: &str, depth: usize) -> CommandKind {
        let Some(Script { commands, plain: true }) = script::parse(text) else { return CommandKind::Effect };
        let mut total = CommandKind::Neutral;
        let mut before_pipeline = total;
        for simple in commands {
            if !simple.piped {
                before_pipeline = total;
            }
            match self.simple(&simple, depth) {
                CommandKind::Print => total = CommandKind::Print,
                CommandKind::Filter if before_pipeline == CommandKind::Print => total = CommandKind::Print,
                CommandKind::Filter => total = CommandKind::Inspect,
                CommandKind::Inspect if total == CommandKind::Neutral => total = CommandKind::Inspect,
                CommandKind::Inspect | CommandKind::Neutral => {}
                CommandKind::Effect => return CommandKind::Effect,
            }
        }
        total
    }

    fn simple(&mut self, simple: &SimpleCommand, depth: usize) -> CommandKind {
        let mut variables = simple.assignments.iter().map(|(name, _)| name);
        if simple.words.is_empty() {
            let has_effect = !simple.inputs.is_empty()
                || variables.any(|name| ACTIVE_VARIABLES.iter().any(|prefix| name.starts_with(prefix)));
            return if has_effect { CommandKind::Effect } else { CommandKind::Neutral };
        }
        if !variables.all(|name| wrappers::is_harmless(name)) {
            return CommandKind::Effect;
        }
        let Some((word, arguments)) = wrappers::strip(&simple.words).and_then(|words| words.split_first()) else {
            return CommandKind::Effect;
        };
        let Some(program) = wrappers::program(word) else { return CommandKind::Effect };
        match program {
            "ls" | "pwd" if simple.inputs.is_empty() => CommandKind::Inspect,
            "true" | ":" => CommandKind::Neutral,
            "set" if arguments.iter().all(is_shell_option) => CommandKind::Neutral,
            "echo" | "printf" if arguments.iter().all(is_separator) => CommandKind::Neutral,
            "cd" => self.cd(arguments),
            _ if wrappers::is_shell(program) => match wrappers::script_argument(arguments) {
                Some(text) if depth < MAX_SHELL_DEPTH => {
                    let directory = self.directory.clone();
                    let kind = self.script(text, depth + 1);
                    self.directory = directory;
                    kind
                }
                _ => CommandKind::Effect,
            },
            _ => self.reader(program, arguments, simple),
        }
    }

    /// The kind of a program that may be a plain reader.
    fn reader(&self, program: &str, arguments: &[ShellWord], simple: &SimpleCommand) -> CommandKind {
        let Some(mut operands) = readers::operands(program, arguments) else { return CommandKind::Effect };
        operands.extend(&simple.inputs);
        let mut reads_file = false;
        for word in operands {
            match word.text.as_str() {
                "-" if simple.piped => {}
                // Next to a SKILL.md, `/dev/null` makes grep print file names.
                "/dev/null" => {}
                _ if self.any_file || self.is_skill_file(word) => reads_file = true,
                _ => return CommandKind::Effect,
            }
        }
        match (reads_file, SEARCHES.contains(&program)) {
            (false, _) if !simple.piped => CommandKind::Effect,
            (false, true) => CommandKind::Filter,
            (true, false) => CommandKind::Print,
            (false, false) | (true, true) => CommandKind::Inspect,
        }
    }

    fn cd(&mut self, arguments: &[ShellWord]) -> CommandKind {
        self.directory = match arguments {
            [] => Some("~".to_owned()),
            [target] if target.text == "-" || target.glob || target.text.contains(UNKNOWN) => None,
            [target] => self.path(&target.text).map(|parts| parts.join("/")),
            _ => return CommandKind::Effect,
        };
        CommandKind::Neutral
    }

    /// The parts of a path, relative to the first directory. `None` if the current directory is unknown.
    fn path(&self, path: &str) -> Option<Vec<String>> {
        let whole = match &self.directory {
            _ if path.starts_with(['/', '~', UNKNOWN]) => path.to_owned(),
            Some(directory) if directory.is_empty() => path.to_owned(),
            Some(directory) => format!("{directory}/{path}"),
            None => return None,
        };
        let mut parts: Vec<String> = Vec::new();
        // An absolute path has an empty first part.
        if whole.starts_with('/') {
            parts.push(String::new());
        }
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." if parts.last().is_some_and(|last| last != ".." && last != "~" && !last.contains(UNKNOWN)) => {
                    parts.pop();
                }
                part => parts.push(part.to_owned()),
            }
        }
        Some(parts)
    }

    /// Whether a word names the SKILL.md of an offered skill, or matches SKILL.md files in an agent's own directory.
    fn is_skill_file(&self, word: &ShellWord) -> bool {
        let parts = match self.path(&word.text) {
            Some(parts) => parts,
            // The path may be long enough without the current directory.
            None => word.text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect(),
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (home, skill) = match parts.as_slice() {
            // codex has its own skills one level deeper.
            [home @ .., "skills", ".system", skill, SKILL_FILE] | [home @ .., "skills", skill, SKILL_FILE] => {
                (home, *skill)
            }
            _ => return false,
        };
        let is_pattern = |part: &str| word.glob && part.contains(['*', '?', '[']);
        if skill.contains(UNKNOWN) || skill == ".." || home.iter().any(|part| is_pattern(part)) {
            return false;
        }
        if is_pattern(skill) {
            // All matches in `.agents/skills/*` are offered. Matches in other directories may not be.
            return home.last().is_some_and(|part| part.starts_with('.') && *part != "..");
        }
        let Some(offered) = self.offered else { return true };
        let skill = slug(skill);
        // A plugin's skill is offered as `plugin:skill`.
        offered.iter().any(|name| slug(name) == skill || name.rsplit(':').next().is_some_and(|own| slug(own) == skill))
    }
}

/// Whether an argument of `set` starts no command: `-e`, `-euo`, `pipefail`.
fn is_shell_option(word: &ShellWord) -> bool {
    let text = word.text.as_str();
    text == "pipefail"
        || text.strip_prefix(['-', '+']).is_some_and(|flags| flags.bytes().all(|b| b"eufxo".contains(&b)))
}

/// Whether an argument of `echo` or `printf` has no letters and digits: `---`, `\n`, `-n`.
fn is_separator(word: &ShellWord) -> bool {
    let text = word.text.replace("\\n", "").replace("\\t", "").replace("%s", "");
    !word.glob
        && (matches!(text.as_str(), "-n" | "-e" | "-ne" | "-en")
            || !text.contains(|c: char| c.is_alphanumeric() || c == UNKNOWN))
}
