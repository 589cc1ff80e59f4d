//! Programs that run the command in their arguments: `env`, `timeout`, `bash -c`.

use super::script::{ShellWord, UNKNOWN};
use crate::profile::SHELLS;

/// Variables that only change how a program prints.
const HARMLESS_VARIABLES: [&str; 8] = ["LANG", "LANGUAGE", "TERM", "NO_COLOR", "COLUMNS", "LINES", "TZ", "CLICOLOR"];

/// The directories of the system's programs. A program in another directory can be anything.
const BIN_DIRECTORIES: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/usr/sbin/"];

/// Whether a variable only changes how a program prints.
pub(super) fn is_harmless(variable: &str) -> bool {
    variable.starts_with("LC_") || HARMLESS_VARIABLES.contains(&variable)
}

/// Whether a program of this name runs shell scripts.
pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// The script that a command passes to a shell, also through `env` and the like.
pub(super) fn shell_script(words: &[ShellWord]) -> Option<&str> {
    let (first, arguments) = strip(words)?.split_first()?;
    script_argument(arguments).filter(|_| program(first).is_some_and(is_shell))
}

/// The name of the program that a word names. `None` if it is not one of the system's programs.
pub(super) fn program(word: &ShellWord) -> Option<&str> {
    let text = word.text.as_str();
    if word.glob || text.contains(UNKNOWN) {
        return None;
    }
    let name = BIN_DIRECTORIES.iter().find_map(|directory| text.strip_prefix(directory)).unwrap_or(text);
    (!name.contains('/')).then_some(name)
}

/// The command without `env`, `timeout 10` and the like. `None` if one of them may do more than run it.
pub(super) fn strip(words: &[ShellWord]) -> Option<&[ShellWord]> {
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
pub(super) fn script_argument(arguments: &[ShellWord]) -> Option<&str> {
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
