//! Decides whether a command is effective, by the rule in the [parent module](super).

use std::sync::LazyLock;

use regex::Regex;

use super::MAX_SHELL_DEPTH;
use super::{Script, ShellWord, SimpleCommand, UNKNOWN};
use crate::skill::{SKILL_FILE, slug};
use crate::trace::shell;

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
        let Some(Script { commands, plain: true }) = shell::parse_script(text) else { return CommandKind::Effect };
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
        if !variables.all(|name| shell::is_harmless(name)) {
            return CommandKind::Effect;
        }
        let Some((word, arguments)) = shell::strip(&simple.words).and_then(|words| words.split_first()) else {
            return CommandKind::Effect;
        };
        let Some(program) = shell::program(word) else { return CommandKind::Effect };
        match program {
            "ls" | "pwd" if simple.inputs.is_empty() => CommandKind::Inspect,
            "true" | ":" => CommandKind::Neutral,
            "set" if arguments.iter().all(is_shell_option) => CommandKind::Neutral,
            "echo" | "printf" if arguments.iter().all(is_separator) => CommandKind::Neutral,
            "cd" => self.cd(arguments),
            _ if shell::is_shell(program) => match shell::script_argument(arguments) {
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
        let Some(mut operands) = operands(program, arguments) else { return CommandKind::Effect };
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

// Programs that only print their operands, unless an option makes them do more.

/// The options of a program. An option that is not listed has no value, and only changes how a file is printed. Long options
/// are separated by spaces.
struct ProgramOptions {
    /// One-letter options with a value, in the same word or the next.
    valued: &'static str,
    /// Long options with a value, after `=` or in the next word.
    long_valued: &'static str,
    /// One-letter options with which it writes, runs a program, waits, or reads a file that is not an operand.
    effective: &'static str,
    /// Long options of this kind.
    long_effective: &'static str,
    /// Whether `-20` is a number of lines, and `+3` the first line.
    counts: bool,
}

const NONE: ProgramOptions =
    ProgramOptions { valued: "", long_valued: "", effective: "", long_effective: "", counts: false };

#[expect(clippy::too_many_lines, reason = "a table")]
fn options(program: &str) -> Option<ProgramOptions> {
    Some(match program {
        "cat" => NONE,
        "tac" => ProgramOptions { valued: "s", long_valued: "separator", ..NONE },
        "head" | "tail" => ProgramOptions {
            valued: "nc",
            long_valued: "lines bytes",
            effective: "fFs",
            long_effective: "follow retry pid sleep-interval",
            counts: true,
        },
        "nl" => ProgramOptions {
            valued: "bdfhilnsvw",
            long_valued: "body-numbering footer-numbering header-numbering join-blank-lines line-increment number-format \
                number-separator number-width section-delimiter starting-line-number",
            ..NONE
        },
        "wc" => ProgramOptions { long_effective: "files0-from", ..NONE },
        "cut" => {
            ProgramOptions { valued: "bcdf", long_valued: "bytes characters delimiter fields output-delimiter", ..NONE }
        }
        "less" => ProgramOptions {
            valued: "bhjpPxyz",
            long_valued: "jump-target max-back-scroll pattern prompt tabs window",
            effective: "kotTO",
            long_effective: "lesskey log-file LOG-FILE tag",
            counts: true,
        },
        "more" => ProgramOptions { valued: "n", long_valued: "lines", counts: true, ..NONE },
        "bat" | "batcat" => ProgramOptions {
            valued: "rlHm",
            long_valued: "binary color decorations diff-context file-name highlight-line ignored-suffix italic-text \
                language line-range map-syntax nonprintable-notation paging squeeze-limit strip-ansi style tabs \
                terminal-width theme theme-dark theme-light wrap",
            long_effective: "generate-config-file lessopen pager",
            ..NONE
        },
        "grep" | "egrep" | "fgrep" => ProgramOptions {
            valued: "ABCDdem",
            long_valued: "after-context before-context binary-files context devices directories exclude exclude-dir \
                group-separator include label max-count regexp",
            effective: "f",
            long_effective: "file exclude-from",
            counts: true,
        },
        "rg" => ProgramOptions {
            valued: "ABCEMTdegjmrt",
            long_valued: "after-context before-context color colors context context-separator dfa-size-limit encoding \
                engine field-context-separator field-match-separator glob hyperlink-format iglob max-columns \
                max-count max-depth maxdepth max-filesize path-separator regex-size-limit regexp replace sort \
                sortr threads type type-add type-clear type-not",
            effective: "fz",
            long_effective: "file hostname-bin ignore-file pre search-zip",
            counts: false,
        },
        "sed" => ProgramOptions {
            valued: "el",
            long_valued: "expression line-length",
            effective: "fi",
            long_effective: "file in-place",
            ..NONE
        },
        "awk" | "gawk" | "mawk" => ProgramOptions {
            valued: "Fv",
            long_valued: "assign field-separator",
            effective: "DEdefilop",
            long_effective: "debug dump exec file include load pretty profile source",
            ..NONE
        },
        _ => return None,
    })
}

/// The files that `program` prints. `None` if it is not a reader, or may do more than print.
pub(super) fn operands<'a>(program: &str, arguments: &'a [ShellWord]) -> Option<Vec<&'a ShellWord>> {
    let ParsedArguments { mut operands, mut scripts } = parse(&options(program)?, arguments)?;
    // Without an option for it, the pattern or script is the first operand.
    if scripts.is_empty() && matches!(program, "grep" | "egrep" | "fgrep" | "rg" | "sed" | "awk" | "gawk" | "mawk") {
        if operands.is_empty() {
            return None;
        }
        scripts.push(&operands.remove(0).text);
    }
    let only_prints = scripts.iter().all(|script| match program {
        "sed" => SED.is_match(script),
        "awk" | "gawk" | "mawk" => AWK.is_match(script),
        _ => true,
    });
    only_prints.then_some(operands)
}

struct ParsedArguments<'a> {
    operands: Vec<&'a ShellWord>,
    /// Values of `-e`, `--expression` and `--regexp`.
    scripts: Vec<&'a str>,
}

fn parse<'a>(options: &ProgramOptions, arguments: &'a [ShellWord]) -> Option<ParsedArguments<'a>> {
    let mut parsed = ParsedArguments { operands: Vec::new(), scripts: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            parsed.operands.extend(words);
            return Some(parsed);
        }
        if options.counts && text.strip_prefix(['-', '+']).is_some_and(is_number) {
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            if name.contains(UNKNOWN) || options.long_effective.split(' ').any(|option| is_name_of(name, option)) {
                return None;
            }
            if options.long_valued.split(' ').any(|option| option == name) {
                let value = value.or_else(|| words.next().map(|word| word.text.as_str()))?;
                parsed.scripts.extend(matches!(name, "expression" | "regexp").then_some(value));
            }
            continue;
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            parsed.operands.push(word);
            continue;
        };
        if text.contains(UNKNOWN) {
            return None;
        }
        for (at, letter) in letters.char_indices() {
            if options.effective.contains(letter) {
                return None;
            }
            if !options.valued.contains(letter) {
                continue;
            }
            let rest = &letters[at + letter.len_utf8()..];
            let value = if rest.is_empty() { words.next()?.text.as_str() } else { rest };
            parsed.scripts.extend((letter == 'e').then_some(value));
            break;
        }
    }
    Some(parsed)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether `name` is a long option, an abbreviation of the option, or the option with a further word.
fn is_name_of(name: &str, option: &str) -> bool {
    !name.is_empty()
        && !option.is_empty()
        && (option.starts_with(name) || name.strip_prefix(option).is_some_and(|rest| rest.starts_with('-')))
}

#[expect(clippy::expect_used, reason = "a test compiles these patterns")]
fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern compiles")
}

/// sed commands that print or skip lines: `1,80p`, `/^#/,$p`, `20q`, separated by `;`.
static SED: LazyLock<Regex> = LazyLock::new(|| {
    let address = r"(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/I?)";
    let command = format!(r"\s*(?:{address}(?:\s*,\s*(?:{address}|\+\d+))?)?\s*!?\s*(?:[pdl=]|q\d*)?\s*");
    fixed(&format!(r"\A{command}(?:[;\n]{command})*\z"))
});

/// awk programs that print lines by their number: `NR<=50`, `NR>=10 && NR<=20 {print}`.
static AWK: LazyLock<Regex> = LazyLock::new(|| {
    let test = r"F?NR\s*(?:<=?|>=?|==)\s*\d+";
    fixed(&format!(r"\A\s*(?:{test}(?:\s*(?:&&|\|\||,)\s*{test})*|1)?\s*(?:\{{\s*print(?:\s+\$0)?\s*;?\s*\}})?\s*\z"))
});
