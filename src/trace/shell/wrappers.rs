//! Programs that run the command in their own words: `env`, `timeout`, `bash -c`.

use super::script::{ShellWord, UNKNOWN};

/// Variables that change how a program prints, and nothing else.
const HARMLESS_VARIABLES: [&str; 8] = ["LANG", "LANGUAGE", "TERM", "NO_COLOR", "COLUMNS", "LINES", "TZ", "CLICOLOR"];

/// Where programs of the system lie; one of the same name elsewhere can be anything.
const BIN_FOLDERS: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/usr/sbin/"];

/// Whether setting this variable changes nothing but how a program prints.
pub(super) fn is_harmless(variable: &str) -> bool {
    variable.starts_with("LC_") || HARMLESS_VARIABLES.contains(&variable)
}

/// Whether a program of this name runs scripts in the shell's language.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(program, "bash" | "sh" | "zsh" | "dash" | "ksh" | "ash")
}

/// The script that a command hands to a shell, `env` and its like seen through.
pub(super) fn inner(words: &[ShellWord]) -> Option<&str> {
    let (first, arguments) = strip(words)?.split_first()?;
    script_of(arguments).filter(|_| program(first).is_some_and(is_shell))
}

/// The program that a word names, where it is one of the system's.
pub(super) fn program(word: &ShellWord) -> Option<&str> {
    let text = word.text.as_str();
    let in_bin = || BIN_FOLDERS.iter().find_map(|folder| text.strip_prefix(folder));
    if word.glob || text.contains(UNKNOWN) {
        return None;
    }
    if text.contains('/') { in_bin().filter(|name| !name.contains('/')) } else { Some(text) }
}

/// The command behind `env`, `timeout 10` and their like.
pub(super) fn strip(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let mut words = words;
    loop {
        let (first, mut rest) = words.split_first()?;
        let mut skip_options = |valued: &[&str], plain: &[&str]| -> Option<()> {
            while let Some((word, after)) = rest.split_first().filter(|(word, _)| word.text.starts_with('-')) {
                let text = word.text.as_str();
                rest = match text {
                    "--" => {
                        rest = after;
                        return Some(());
                    }
                    _ if plain.contains(&text) => after,
                    _ if valued.contains(&text) => after.get(1..)?,
                    // `-n5`, `--signal=KILL`
                    _ if valued.iter().any(|name| text.starts_with(name)) => after,
                    _ => return None,
                };
            }
            Some(())
        };
        match program(first)? {
            "command" | "builtin" | "exec" => skip_options(&[], &[])?,
            "time" => skip_options(&[], &["-p"])?,
            "nice" => skip_options(&["-n", "--adjustment"], &[])?,
            "stdbuf" => skip_options(&["-i", "-o", "-e"], &[])?,
            "timeout" => {
                skip_options(&["-k", "-s", "--kill-after", "--signal"], &["--foreground", "--preserve-status", "-v"])?;
                rest = rest.get(1..)?;
            }
            "env" => {
                skip_options(&["-u", "--unset"], &["-i", "-", "--ignore-environment"])?;
                while let Some((name, _)) = rest.first().and_then(|word| word.text.split_once('=')) {
                    if !is_harmless(name) {
                        return None;
                    }
                    rest = &rest[1..];
                }
            }
            _ => return Some(words),
        }
        words = rest;
    }
}

/// The script of `bash -lc '…'`, where the script tells it.
pub(super) fn script_of(arguments: &[ShellWord]) -> Option<&str> {
    let mut asked = false;
    let mut words = arguments.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            "--login" | "--noprofile" | "--norc" | "--posix" => {}
            _ if word.len() > 1
                && word.starts_with(['-', '+'])
                && word[1..].bytes().all(|b| b"lceuxvfimo".contains(&b)) =>
            {
                asked |= word.starts_with('-') && word.contains('c');
                if word.contains('o') {
                    // `-euo pipefail`
                    words.next()?;
                }
            }
            script => return Some(script).filter(|script| asked && !script.contains(UNKNOWN)),
        }
    }
    None
}
