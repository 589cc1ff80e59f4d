//! What a program inside the sandbox looked for in vain, though it is there outside: a script that an agent is called by may
//! start a program anywhere.

use std::path::{Path, PathBuf};

use super::programs::PrivatePaths;
use crate::agent::sandbox::SandboxProgram;
use crate::agent::trial_env::TrialEnv;
use crate::process::find_program;
use crate::settings::FILE;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::Ending;

/// Whether a program ended as a shell does that cannot start another one, or finds none.
#[must_use]
pub fn lacks_program(ending: &Ending) -> bool {
    matches!(ending.exit_code, Some(126 | 127))
}

/// The paths to show, so that what the words of a program name is there: what is on this machine and not in the sandbox, by
/// its path or as a program on the PATH. Of a program all of its directory, where that shows nothing private.
#[must_use]
pub fn unseen(words: &str, sandbox: &SandboxProgram, repository: &Path, room: &TrialEnv) -> Vec<PathBuf> {
    let private = PrivatePaths::new(repository, room);
    let mut paths: Vec<PathBuf> = Vec::new();
    let words: Vec<&str> = words.split_whitespace().collect();
    for at in 0..words.len() {
        let Some((path, real)) = named(&words[at..]) else { continue };
        let shown = if real.is_dir() { real.clone() } else { private.around(&real) };
        if (shown.is_dir() && !private.allows(&shown)) || private.protects(&real) {
            continue;
        }
        if path != real && path.is_absolute() && !sandbox.shows(&path) {
            paths.push(path);
        }
        if !sandbox.shows(&real) {
            paths.push(shown);
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// Most words that a path with spaces in it is taken from.
const MOST_WORDS: usize = 8;

/// What the first of these words names: a path, with spaces or without, or a program on the PATH. With what it leads to.
fn named(words: &[&str]) -> Option<(PathBuf, PathBuf)> {
    let real = |path: PathBuf| Some((path.clone(), path.canonicalize().ok()?));
    let trimmed = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric() && !"/._-".contains(c)).to_owned();
    let first = trimmed(words.first()?);
    if !first.starts_with('/') {
        return find_program(&first).and_then(real);
    }
    let longest_first = (1..=words.len().min(MOST_WORDS)).rev();
    longest_first.map(|count| trimmed(&words[..count].join(" "))).find_map(|path| real(path.into()))
}

/// What to do about it, where that is known.
#[must_use]
pub fn advice(paths: &[PathBuf]) -> Option<String> {
    let quoted: Vec<String> = paths.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    (!paths.is_empty()).then(|| format!("add {} to `isolation_read` in {FILE}", quoted.join(", ")))
}

/// The trouble of an agent that ended for want of a program which is not in the sandbox, if it did.
#[must_use]
pub fn not_found(
    agent: AgentKind,
    ending: &Ending,
    sandbox: &SandboxProgram,
    repository: &Path,
    room: &TrialEnv,
) -> Option<Trouble> {
    let status = ending.exit_code.filter(|_| lacks_program(ending))?;
    let words = ending.last_words.as_deref().unwrap_or("no word");
    let advice = advice(&unseen(words, sandbox, repository, room)).unwrap_or_else(|| unknown(agent));
    let why = format!("exit status {status} inside bubblewrap: {words}; {advice}; `skill-evals doctor` tries it out");
    Some(Trouble::new(TroubleKind::CouldNotStart, why))
}

/// What to do where no path is known.
#[must_use]
pub fn unknown(agent: AgentKind) -> String {
    let name = agent.as_str();
    format!(
        "name the program itself, not a script that calls it, as `command` under [agents.{name}] in {FILE}, or what it \
         needs in `isolation_read`"
    )
}
