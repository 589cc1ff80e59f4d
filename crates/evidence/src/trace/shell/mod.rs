//! Classifies shell commands: whether a command does more than inspect, and which scripts it runs.
//!
//! # Effective commands
//!
//! `max_commands` counts effective commands. A command is *not* effective if it only runs
//!
//! - `ls` and `pwd`, or
//! - plain readers (`cat`, `tac`, `head`, `tail`, `nl`, `wc`, `cut`, `less`, `more`, `bat`; `grep` and `rg` with named
//!   files; `sed` and `awk` that only select lines) if every operand is the SKILL.md of an offered skill, or if they read
//!   the output of such a command.
//!
//! Redirections may only go to `/dev/null` or another descriptor, and no expansion may run a command. `cd`, `true`,
//! `set -e`, an assignment of a plain value and an `echo` without letters and digits do not matter. `bash -c '…'`, `env`,
//! `timeout`, `nice` and the like are unwrapped, and loops over words are unrolled.
//!
//! Everything else is effective: other programs, other options of these programs (`sed -i`, `less -o`), programs outside
//! the system's directories, substitutions, functions, here-documents, a command that cannot be parsed, and an empty
//! command. A SKILL.md belongs to an offered skill if its directory has the skill's name and is in a directory `skills`.

mod effective;
mod script;

use script::{ShellWord, SimpleCommand, UNKNOWN};

use crate::profile::SHELLS;
pub use effective::{is_effective, only_reads, prints_skills};

/// Programs that run a script whose path is an argument.
const INTERPRETERS: [&str; 11] =
    ["python", "python3", "node", "bash", "sh", "ruby", "perl", "deno", "bun", "source", "."];

/// Programs of sandboxes, which begin their errors with their names.
const SANDBOXES: [&str; 2] = ["bwrap", "sandbox-exec"];

/// What else an agent's sandbox reports in its first line if it did not start a command.
const NOT_STARTED: [&str; 3] =
    ["panicked at linux-sandbox/", "Failed to create unified exec process", "error running landlock"];

/// How deep shells may start shells.
const MAX_SHELL_DEPTH: usize = 5;

/// Why the agent's sandbox did not start a failed command, if its output shows that. The command itself may start a sandbox.
pub fn why_not_started<'o>(command: &str, output: &'o str) -> Option<&'o str> {
    // Some agents put the exit status before the output.
    let is_status = |line: &str| line.trim_start_matches("Error: ").starts_with("Exit code ");
    let first = output.lines().map(str::trim).find(|line| !line.is_empty() && !is_status(line))?;
    let by_program = SANDBOXES
        .iter()
        .any(|name| first.strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")) && !command.contains(name));
    (by_program || NOT_STARTED.iter().any(|words| first.contains(words))).then_some(first)
}

/// The paths of the scripts that `command` runs, in order.
pub fn scripts(command: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut directory: Option<String> = None;
    for SimpleCommand { words, .. } in simple_commands(command, 0) {
        let words = strip(&words).unwrap_or(&words);
        let Some((program, arguments)) = words.split_first() else { continue };
        if program.text == "cd" {
            directory = arguments.first().map(|target| join(directory.as_deref(), &target.text));
        } else if let Some(script) = script_of(program, arguments).filter(|word| !word.glob) {
            scripts.push(join(directory.as_deref(), &script.text));
        }
    }
    scripts.retain(|path| !path.contains(UNKNOWN));
    scripts
}

/// The script that a program runs, or the program itself if its path is given.
fn script_of<'w>(program: &'w ShellWord, arguments: &'w [ShellWord]) -> Option<&'w ShellWord> {
    let name = program.text.rsplit('/').next().unwrap_or_default();
    if !INTERPRETERS.contains(&name) {
        return program.text.contains('/').then_some(program);
    }
    // With these options no script file runs. `-e` is something else for a shell, and `-n` for the others.
    let no_script = if is_shell(name) { "cn" } else { "ecp" };
    let count = arguments.iter().take_while(|word| word.text.starts_with('-')).count();
    for option in &arguments[..count] {
        let runs_no_script = match option.text.strip_prefix("--") {
            Some(long) => ["eval", "print", "check", "noexec"].contains(&long),
            None => option.text.contains(|letter| no_script.contains(letter)),
        };
        if runs_no_script {
            return None;
        }
    }
    arguments.get(count)
}

/// The files that `command` prints whole if it succeeds: it is one `cat` whose output goes nowhere else.
pub fn printed_whole(command: &str) -> Vec<String> {
    let (commands, true) = parsed_commands(command, 0) else { return Vec::new() };
    let [SimpleCommand { words, redirected: false, .. }] = &commands[..] else { return Vec::new() };
    let words = strip(words).unwrap_or(words);
    if words.first().and_then(program) != Some("cat") {
        return Vec::new();
    }
    let files = effective::operands("cat", &words[1..]).unwrap_or_default();
    files.into_iter().filter(|word| !word.glob && !word.text.contains(UNKNOWN)).map(|word| word.text.clone()).collect()
}

/// Whether the answer to a call shows that its command printed nothing.
pub fn printed_nothing(output: &str) -> bool {
    // Gemini CLI and Qwen Code put what a command printed among other lines.
    output.trim().is_empty() || output.lines().any(|line| line == "Output: (empty)")
}

fn join(directory: Option<&str>, path: &str) -> String {
    match directory {
        Some(directory) if !path.starts_with(['/', '~', UNKNOWN]) => format!("{directory}/{path}"),
        _ => path.to_owned(),
    }
}

/// The commands that a script runs, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCommands {
    /// Each command as its words, without quotes, with spaces between them, without `env`, `timeout` and the like.
    pub commands: Vec<String>,
    /// What `sudo`, `xargs` and the like may run besides: the words behind them, from each word on.
    pub perhaps: Vec<String>,
    /// Whether these are surely all.
    pub all: bool,
}

/// Programs that run a command in their arguments.
const LAUNCHERS: [&str; 18] = [
    "command", "doas", "env", "eval", "exec", "find", "nice", "nohup", "parallel", "setsid", "ssh", "stdbuf", "sudo",
    "time", "timeout", "trap", "watch", "xargs",
];

/// Programs that say where a program is, and start none.
const LOOKUPS: [&str; 4] = ["hash", "type", "whereis", "which"];

/// Whether a command only says where a program is: `which gh`, `command -v gh`.
fn looks_up(command: &str) -> bool {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    LOOKUPS.contains(&program) || (program == "command" && matches!(words.next(), Some("-v" | "-V")))
}

/// The commands that `script` runs.
pub fn run_commands(script: &str) -> RunCommands {
    let (simple, mut all) = parsed_commands(script, 0);
    let (mut commands, mut perhaps) = (Vec::new(), Vec::new());
    for SimpleCommand { words, .. } in &simple {
        let words = strip(words).unwrap_or(words);
        let text = |words: &[ShellWord]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let command = text(words);
        all &= !command.contains(UNKNOWN);
        let launches = words.first().and_then(program).is_some_and(|program| LAUNCHERS.contains(&program));
        if launches && !looks_up(&command) {
            perhaps.extend((1..words.len()).map(|first| text(&words[first..]).replace(UNKNOWN, "?")));
        }
        if !command.is_empty() {
            commands.push(command.replace(UNKNOWN, "?"));
        }
    }
    RunCommands { commands, perhaps, all }
}

/// How many commands of `script` name such a program: by a word, or by a path with such a part. A command that only reads, or says
/// where a program is, runs none, and another program's own arguments do not matter.
pub fn naming(script: &str, is_it: &dyn Fn(&str) -> bool) -> u64 {
    let names_it = |word: &&str| word.split('/').any(is_it);
    let RunCommands { commands, all, .. } = run_commands(script);
    let count = |commands: usize| u64::try_from(commands).unwrap_or(u64::MAX);
    if !all {
        let is_part = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
        return count(script.split(|c| !is_part(c)).filter(names_it).count());
    }
    let runs_it = |command: &&String| {
        let is_first = command.split(' ').next().is_some_and(|program| names_it(&program));
        is_first
            || (!looks_up(command) && !only_reads(command) && command.split_whitespace().any(|word| names_it(&word)))
    };
    count(commands.iter().filter(runs_it).count())
}

/// The script in `bash -lc '…'`, or else the whole command.
pub fn passed_script(command: &str) -> String {
    let parsed = script::parse(command);
    let inner = parsed.as_ref().and_then(|script| match &script.commands[..] {
        [only] => shell_script(&only.words),
        _ => None,
    });
    inner.unwrap_or(command).to_owned()
}

/// The simple commands of a script. `bash -lc '…'` is replaced by its commands.
fn simple_commands(text: &str, depth: usize) -> Vec<SimpleCommand> {
    parsed_commands(text, depth).0
}

/// The same, and whether the script does nothing else.
fn parsed_commands(text: &str, depth: usize) -> (Vec<SimpleCommand>, bool) {
    let Some(script::Script { commands, plain }) = script::parse(text) else { return (Vec::new(), false) };
    let (mut simple_commands, mut all) = (Vec::new(), plain);
    for simple in commands {
        match shell_script(&simple.words) {
            Some(script) if depth < MAX_SHELL_DEPTH => {
                let (mut inner, is_plain) = parsed_commands(script, depth + 1);
                for command in &mut inner {
                    command.redirected |= simple.redirected;
                }
                simple_commands.extend(inner);
                all &= is_plain;
            }
            Some(_) => all = false,
            None => simple_commands.push(simple),
        }
    }
    (simple_commands, all)
}

// Programs that run the command in their arguments: `env`, `timeout`, `bash -c`.

/// Variables that only change how a program prints.
const HARMLESS_VARIABLES: [&str; 8] = ["LANG", "LANGUAGE", "TERM", "NO_COLOR", "COLUMNS", "LINES", "TZ", "CLICOLOR"];

/// The directories of the system's programs. A program in another directory can be anything.
const BIN_DIRECTORIES: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/usr/sbin/"];

/// Whether a variable only changes how a program prints.
fn is_harmless(variable: &str) -> bool {
    variable.starts_with("LC_") || HARMLESS_VARIABLES.contains(&variable)
}

/// Whether a program of this name runs shell scripts.
fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// The script that a command passes to a shell, also through `env` and the like.
fn shell_script(words: &[ShellWord]) -> Option<&str> {
    let (first, arguments) = strip(words)?.split_first()?;
    script_argument(arguments).filter(|_| program(first).is_some_and(is_shell))
}

/// The name of the program that a word names. `None` if it is not one of the system's programs.
fn program(word: &ShellWord) -> Option<&str> {
    let text = word.text.as_str();
    if word.glob || text.contains(UNKNOWN) {
        return None;
    }
    let name = BIN_DIRECTORIES.iter().find_map(|directory| text.strip_prefix(directory)).unwrap_or(text);
    (!name.contains('/')).then_some(name)
}

/// The command without `env`, `timeout 10` and the like. `None` if one of them may do more than run it.
fn strip(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let mut words = words;
    loop {
        let (first, arguments) = words.split_first()?;
        words = match program(first)? {
            "command" | "builtin" | "exec" => skip_options(arguments, &[], &[])?,
            "time" => skip_options(arguments, &[], &["-p"])?,
            "nice" => skip_options(arguments, &["-n", "--adjustment"], &[])?,
            "stdbuf" => skip_options(arguments, &["-i", "-o", "-e"], &[])?,
            "timeout" => {
                let valued = ["-k", "-s", "--kill-after", "--signal"];
                skip_options(arguments, &valued, &["--foreground", "--preserve-status", "-v"])?.get(1..)?
            }
            "env" => {
                let mut rest = skip_options(arguments, &["-u", "--unset"], &["-i", "-", "--ignore-environment"])?;
                while let Some((name, _)) = rest.first().and_then(|word| word.text.split_once('=')) {
                    if !is_harmless(name) {
                        return None;
                    }
                    rest = &rest[1..];
                }
                rest
            }
            _ => return Some(words),
        };
    }
}

/// Skips options with a value and plain ones. `None` if there is another option.
fn skip_options<'w>(words: &'w [ShellWord], valued: &[&str], plain: &[&str]) -> Option<&'w [ShellWord]> {
    let mut words = words;
    while let Some((word, rest)) = words.split_first().filter(|(word, _)| word.text.starts_with('-')) {
        let text = word.text.as_str();
        words = match text {
            "--" => return Some(rest),
            _ if plain.contains(&text) => rest,
            _ if valued.contains(&text) => rest.get(1..)?,
            // `-n5`, `--signal=KILL`
            _ if valued.iter().any(|name| text.starts_with(name)) => rest,
            _ => return None,
        };
    }
    Some(words)
}

/// The script of `bash -lc '…'`, from the shell's arguments.
fn script_argument(arguments: &[ShellWord]) -> Option<&str> {
    let mut has_script = false;
    let mut words = arguments.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            "--login" | "--noprofile" | "--norc" | "--posix" => {}
            _ if word.len() > 1
                && word.starts_with(['-', '+'])
                && word[1..].bytes().all(|b| b"lceuxvfimo".contains(&b)) =>
            {
                has_script |= word.starts_with('-') && word.contains('c');
                if word.contains('o') {
                    // `-euo pipefail`
                    words.next()?;
                }
            }
            script => return Some(script).filter(|script| has_script && !script.contains(UNKNOWN)),
        }
    }
    None
}
