//! The rule by which a command counts as effective; [the module above](super) states it.

use super::readers;
use super::script::{self, Script, ShellWord, SimpleCommand, UNKNOWN};
use super::wrappers;
use crate::skill::{SKILL_FILE, slug};

/// How deep shells may start shells.
const DEEPEST: usize = 5;

/// Variables that change what the commands behind them do.
const LIVE_VARIABLES: [&str; 14] = [
    "PATH", "IFS", "HOME", "CDPATH", "ENV", "BASH", "SHELL", "LD_", "DYLD_", "LESS", "PAGER", "BAT_", "PROMPT", "GLOB",
];

/// Readers that print no more of a file than they find in it.
const SEARCHES: [&str; 5] = ["grep", "egrep", "fgrep", "rg", "wc"];

/// What a command is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandKind {
    /// It prints a SKILL.md.
    Print,
    /// It searches one, or lists files.
    Look,
    /// It searches what the command before it prints.
    Search,
    /// It does nothing by itself: `cd x`, `true`, a line of dashes between two files.
    Glue,
    /// Anything else.
    Effect,
}

/// See [`super::is_effective`].
pub(super) fn is_effective(command: &str, offered: Option<&[String]>) -> bool {
    !may_look(command) || !matches!(kind(command, offered), CommandKind::Look | CommandKind::Print)
}

/// See [`super::prints_skills`].
pub(super) fn prints_skills(command: &str) -> bool {
    may_look(command) && kind(command, None) == CommandKind::Print
}

fn kind(command: &str, offered: Option<&[String]>) -> CommandKind {
    CommandReader { offered, folder: Some(String::new()) }.script(command, 0)
}

/// Whether a command has a word without which it does not look: most have none, and need not be parsed.
fn may_look(command: &str) -> bool {
    let name = SKILL_FILE.split('.').next().unwrap_or(SKILL_FILE);
    let is_word = |word: &str| matches!(word, "ls" | "pwd") || word.contains(name);
    command.split(|c: char| !c.is_ascii_alphanumeric()).any(is_word)
}

struct CommandReader<'a> {
    /// Names of the skills that were offered, where that is known.
    offered: Option<&'a [String]>,
    /// The folder that the commands run in, seen from the first one's; `None` where the script does not tell.
    folder: Option<String>,
}

impl CommandReader<'_> {
    fn script(&mut self, text: &str, depth: usize) -> CommandKind {
        let Some(Script { commands, plain: true }) = script::parse(text) else { return CommandKind::Effect };
        let mut all = CommandKind::Glue;
        let mut before = all;
        for simple in commands {
            if !simple.piped {
                before = all;
            }
            match self.simple(&simple, depth) {
                CommandKind::Print => all = CommandKind::Print,
                CommandKind::Search => all = if before == CommandKind::Print { before } else { CommandKind::Look },
                CommandKind::Look if all == CommandKind::Glue => all = CommandKind::Look,
                CommandKind::Look | CommandKind::Glue => {}
                CommandKind::Effect => return CommandKind::Effect,
            }
        }
        all
    }

    fn simple(&mut self, simple: &SimpleCommand, depth: usize) -> CommandKind {
        if simple.words.is_empty() {
            let live = |name: &str| LIVE_VARIABLES.iter().any(|live| name.starts_with(live));
            let plain = simple.inputs.is_empty() && !simple.assignments.iter().any(|(name, _)| live(name));
            return if plain { CommandKind::Glue } else { CommandKind::Effect };
        }
        if simple.assignments.iter().any(|(name, _)| !wrappers::is_harmless(name)) {
            return CommandKind::Effect;
        }
        let Some(words) = wrappers::strip(&simple.words) else { return CommandKind::Effect };
        let Some((program, arguments)) =
            words.split_first().and_then(|(word, rest)| Some((wrappers::program(word)?, rest)))
        else {
            return CommandKind::Effect;
        };
        match program {
            "ls" | "pwd" if simple.inputs.is_empty() => CommandKind::Look,
            "true" | ":" => CommandKind::Glue,
            "set" if arguments.iter().all(is_shell_option) => CommandKind::Glue,
            "echo" | "printf" if arguments.iter().all(is_rule) => CommandKind::Glue,
            "cd" => self.cd(arguments),
            _ if wrappers::is_shell(program) => match wrappers::script_of(arguments) {
                Some(text) if depth < DEEPEST => {
                    let folder = self.folder.clone();
                    let kind = self.script(text, depth + 1);
                    self.folder = folder;
                    kind
                }
                _ => CommandKind::Effect,
            },
            _ => self.reader(program, arguments, simple),
        }
    }

    /// A program that only prints what the files hold that it names.
    fn reader(&self, program: &str, arguments: &[ShellWord], simple: &SimpleCommand) -> CommandKind {
        let Some(mut operands) = readers::operands(program, arguments) else { return CommandKind::Effect };
        operands.extend(&simple.inputs);
        // Beside a SKILL.md, `/dev/null` only makes grep print names.
        let stdin = operands.iter().all(|word| matches!(word.text.as_str(), "-" | "/dev/null"));
        let fine = |word: &ShellWord| match word.text.as_str() {
            "-" => simple.piped,
            "/dev/null" => true,
            _ => self.is_skill_file(word),
        };
        match operands.into_iter().all(fine) && (simple.piped || !stdin) {
            true if stdin && SEARCHES.contains(&program) => CommandKind::Search,
            true if stdin || SEARCHES.contains(&program) => CommandKind::Look,
            true => CommandKind::Print,
            false => CommandKind::Effect,
        }
    }

    fn cd(&mut self, arguments: &[ShellWord]) -> CommandKind {
        let known = |word: &ShellWord| !word.glob && !word.text.contains(UNKNOWN);
        self.folder = match arguments {
            [] => Some("~".to_owned()),
            [to] if to.text != "-" && known(to) => self.path(&to.text).map(|parts| parts.join("/")),
            [_] => None,
            _ => return CommandKind::Effect,
        };
        CommandKind::Glue
    }

    /// The parts of a path, seen from where the first command runs. `None` where that is not known.
    fn path(&self, path: &str) -> Option<Vec<String>> {
        let whole = match &self.folder {
            _ if path.starts_with(['/', '~', UNKNOWN]) => path.to_owned(),
            Some(folder) if folder.is_empty() => path.to_owned(),
            Some(folder) => format!("{folder}/{path}"),
            None => return None,
        };
        let mut parts: Vec<String> = Vec::new();
        // That a path is absolute is kept as an empty first part.
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

    /// Whether a word names the SKILL.md of an offered skill, or of any skill in an agent's own folder of them.
    fn is_skill_file(&self, word: &ShellWord) -> bool {
        let parts = match self.path(&word.text) {
            Some(parts) => parts,
            // In an unknown folder a path may still say enough.
            None => word.text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect(),
        };
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (home, skill) = match parts.as_slice() {
            // codex keeps skills of its own one level deeper.
            [home @ .., "skills", ".system", skill, SKILL_FILE] | [home @ .., "skills", skill, SKILL_FILE] => {
                (home, *skill)
            }
            _ => return false,
        };
        let pattern = |part: &str| word.glob && part.contains(['*', '?', '[']);
        if skill.contains(UNKNOWN) || skill == ".." || home.iter().any(|part| pattern(part)) {
            return false;
        }
        if pattern(skill) {
            // All that matches in `.agents/skills/*` was offered; what matches elsewhere need not be.
            return home.last().is_some_and(|part| part.starts_with('.') && *part != "..");
        }
        let Some(offered) = self.offered else { return true };
        let folder = slug(skill);
        offered
            .iter()
            .any(|name| slug(name) == folder || name.rsplit(':').next().is_some_and(|own| slug(own) == folder))
    }
}

/// `-e`, `-euo`, `pipefail`: words of `set` that end no script and start none.
fn is_shell_option(word: &ShellWord) -> bool {
    let text = word.text.as_str();
    text == "pipefail"
        || text.strip_prefix(['-', '+']).is_some_and(|flags| flags.bytes().all(|b| b"eufxo".contains(&b)))
}

/// Whether a word of `echo` or `printf` says nothing: `---`, `\n`, `-n`.
fn is_rule(word: &ShellWord) -> bool {
    let text = ["\\n", "\\t", "%s"].iter().fold(word.text.clone(), |text, drawn| text.replace(drawn, ""));
    !word.glob
        && (matches!(text.as_str(), "-n" | "-e" | "-ne" | "-en")
            || !text.contains(|c: char| c.is_alphanumeric() || c == UNKNOWN))
}
