//! What a shell command does: whether it does anything but look, and which scripts it runs.
//!
//! # Effective commands
//!
//! `max_commands` counts commands that do something. A command is *not* effective if all that it runs is
//!
//! - `ls` and `pwd`, or
//! - plain readers (`cat`, `tac`, `head`, `tail`, `nl`, `wc`, `cut`, `less`, `more`, `bat`; `grep` and `rg` in named
//!   files; `sed` and `awk` where they only select lines) whose every operand is the SKILL.md of an offered skill, or
//!   which filter what such a command printed,
//!
//! with redirections to `/dev/null` or another descriptor at most, and no expansion that can run something. `cd`,
//! `true`, `set -e`, an assignment of a plain value and an `echo` of nothing but punctuation may stand between them.
//! `bash -c '…'`, `env`, `timeout`, `nice` and their like are seen through, and so are loops over words.
//!
//! What is not in that list is effective: other programs, other options of these programs (`sed -i`, `less -o`),
//! programs that do not lie in a folder of the system, substitutions, functions, here-documents, a command that cannot
//! be parsed, and an empty one, of which nothing is known. A SKILL.md belongs to an offered skill when it lies in a
//! folder of that skill's name below one called `skills`.

mod effective;
mod readers;
mod script;
mod words;
mod wrappers;

use script::{ShellWord, SimpleCommand, UNKNOWN};

/// Programs that run a script named behind them.
const INTERPRETERS: [&str; 11] =
    ["python", "python3", "node", "bash", "sh", "ruby", "perl", "deno", "bun", "source", "."];

/// Whether `command` does more than look: see [the rule](self#effective-commands). `offered` are the names of the
/// skills that the agent offered; without them the SKILL.md in any folder of skills counts as an offered one's.
#[must_use]
pub fn is_effective(command: &str, offered: Option<&[String]>) -> bool {
    effective::is_effective(command, offered)
}

/// Whether all that `command` does is to print the SKILL.md of skills, and not to search them or to list their names.
#[must_use]
pub fn prints_skills(command: &str) -> bool {
    effective::prints_skills(command)
}

/// The paths of the scripts that `command` runs, in order.
#[must_use]
pub fn scripts(command: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut folder: Option<String> = None;
    for SimpleCommand { words, .. } in simples(command, 0) {
        let words = wrappers::strip(&words).unwrap_or(&words);
        let Some((program, arguments)) = words.split_first() else { continue };
        if program.text == "cd" {
            folder = arguments.first().map(|to| join(folder.as_deref(), &to.text));
        } else if let Some(script) = script_of(program, arguments).filter(|word| !word.glob) {
            scripts.push(join(folder.as_deref(), &script.text));
        }
    }
    scripts.retain(|path| !path.contains(UNKNOWN));
    scripts
}

/// The script that a program is given to run, or that it is itself.
fn script_of<'w>(program: &'w ShellWord, arguments: &'w [ShellWord]) -> Option<&'w ShellWord> {
    let name = program.text.rsplit('/').next().unwrap_or_default();
    if !INTERPRETERS.contains(&name) {
        return program.text.contains('/').then_some(program);
    }
    // Shells read no code from `-e`, and with `-n` they run nothing.
    let others = if wrappers::is_shell(name) { "cn" } else { "ecp" };
    let is_other = |option: &ShellWord| match option.text.strip_prefix("--") {
        Some(long) => ["eval", "print", "check", "noexec"].contains(&long),
        None => option.text.contains(|letter| others.contains(letter)),
    };
    let options = arguments.iter().take_while(|word| word.text.starts_with('-')).count();
    (!arguments[..options].iter().any(is_other)).then(|| arguments.get(options)).flatten()
}

fn join(folder: Option<&str>, path: &str) -> String {
    match folder {
        Some(folder) if !path.starts_with(['/', '~', UNKNOWN]) => format!("{folder}/{path}"),
        _ => path.to_owned(),
    }
}

/// The simple commands of a script, those inside `bash -lc '…'` in its place.
fn simples(text: &str, depth: usize) -> Vec<SimpleCommand> {
    let mut commands = Vec::new();
    for simple in script::parse(text).unwrap_or_default().commands {
        match wrappers::inner(&simple.words) {
            Some(script) if depth < 5 => commands.extend(simples(script, depth + 1)),
            _ => commands.push(simple),
        }
    }
    commands
}
