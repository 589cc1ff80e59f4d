//! What a program did not find inside the sandbox although it exists outside. The script that starts an agent may start
//! programs in any place.

use std::path::{Path, PathBuf};

use super::programs::PrivatePaths;
use crate::agent::sandbox::Sandbox;
use crate::agent::trial_env::TrialEnv;
use crate::files::look;
use crate::process::find_program;
use crate::settings::FILE;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::Ending;

/// The most words that are joined to a path with spaces.
const MAX_WORDS: usize = 8;

/// The paths that the sandbox does not show although the program's last words name them, by path or as a program on the PATH.
/// Instead of a program, the list has its directory if that shows nothing private.
pub fn unseen(last_words: &str, sandbox: &Sandbox, repository: &Path, trial_env: &TrialEnv) -> Vec<PathBuf> {
    let private = PrivatePaths::new(repository, trial_env);
    let mut paths: Vec<PathBuf> = Vec::new();
    let words: Vec<&str> = last_words.split_whitespace().collect();
    for at in 0..words.len() {
        let Some((path, real)) = named(&words[at..]) else { continue };
        let shown = if look::is_usable_directory(&real) { real.clone() } else { private.around(&real) };
        if (look::is_usable_directory(&shown) && !private.allows(&shown)) || private.protects(&real) {
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

/// The path that the first words name (a path, maybe with spaces, or a program on the PATH), and its canonical path.
fn named(words: &[&str]) -> Option<(PathBuf, PathBuf)> {
    let first = trimmed(words.first()?);
    let candidates: Vec<PathBuf> = if first.starts_with('/') {
        let longest_first = (1..=words.len().min(MAX_WORDS)).rev();
        longest_first.map(|count| PathBuf::from(trimmed(&words[..count].join(" ")))).collect()
    } else {
        find_program(first).into_iter().collect()
    };
    candidates.into_iter().find_map(|path| Some((path.clone(), path.canonicalize().ok()?)))
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric() && !"/._-".contains(c))
}

/// The setting that shows these paths; `None` if there are none.
pub fn advice(paths: &[PathBuf]) -> Option<String> {
    let quoted: Vec<String> = paths.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
    (!paths.is_empty()).then(|| format!("add {} to `isolation_read` in {FILE}", quoted.join(", ")))
}

/// The trouble of an agent that ended because a program is not in the sandbox.
pub fn not_found(
    agent: AgentKind,
    ending: &Ending,
    sandbox: &Sandbox,
    repository: &Path,
    trial_env: &TrialEnv,
) -> Option<Trouble> {
    // The exit codes of a shell that cannot start a program, or does not find it.
    let status = ending.exit_code.filter(|code| matches!(code, 126 | 127))?;
    let words = ending.last_words.as_deref().unwrap_or("no word");
    let advice = advice(&unseen(words, sandbox, repository, trial_env)).unwrap_or_else(|| unknown(agent));
    let place = sandbox.maker.isolation().surroundings();
    let why = format!("exit status {status} inside {place}: {words}; {advice}; `skill-evals doctor` tries it out");
    Some(Trouble::new(TroubleKind::CouldNotStart, why))
}

/// What to do if no path is known.
pub fn unknown(agent: AgentKind) -> String {
    let name = agent.as_str();
    format!(
        "name the program itself, not a script that calls it, as `command` under [agents.{name}] in {FILE}, or what it \
         needs in `isolation_read`"
    )
}
