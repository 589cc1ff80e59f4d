//! Commands that search through folders. What they print of a skill is what matched, so that they are looks, unless that is
//! most of it.

use crate::cases::skill::SKILL_FILE;
use crate::trial::trace::shell::{Touch, simple_commands, touches};

/// Programs that only pass on, cut or count what a search printed, or print nothing of a file.
const AROUND: [&str; 16] = [
    "awk", "cd", "cut", "echo", "grep", "head", "ls", "nl", "printf", "pwd", "sed", "sort", "tail", "true", "uniq",
    "wc",
];

/// Options with which `find` and `fd` run a program on what they found.
const RUNS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// Whether all that `command` does is to search through folders: `grep -r`, `rg`, `find` and their like, without naming a
/// file of a skill.
pub(super) fn is_search(command: &str) -> bool {
    let mut searches = false;
    for words in simple_commands(command, 0) {
        let Some(program) = words.first().map(|word| word.rsplit('/').next().unwrap_or(word)) else { continue };
        match program {
            "grep" | "egrep" | "fgrep" if words.iter().any(|word| is_recursive(word)) => searches = true,
            "rg" | "ag" | "ack" => searches = true,
            "git" if words.get(1).is_some_and(|word| word == "grep") => searches = true,
            "find" | "fd" | "fdfind" if !words.iter().any(|word| RUNS.contains(&word.as_str())) => searches = true,
            around if AROUND.contains(&around) => {}
            _ => return false,
        }
    }
    let is_file = |path: &str| path.rsplit('/').next().is_some_and(|name| name.contains('.'));
    let names_a_file = |touch: &Touch| match touch {
        Touch::SkillFile { .. } => true,
        Touch::Resource { path, .. } => is_file(path),
        Touch::Explore => false,
    };
    searches && !touches(command).iter().any(names_a_file)
}

/// Whether a search asks for skills: in their folders, or for their files by name.
pub(super) fn asks_for_skills(command: &str) -> bool {
    let by_name = |word: &String| word == SKILL_FILE || word.ends_with(&format!("={SKILL_FILE}"));
    !touches(command).is_empty() || simple_commands(command, 0).iter().flatten().any(by_name)
}

/// Whether a word of `grep` has it go through folders.
fn is_recursive(word: &str) -> bool {
    if let Some(long) = word.strip_prefix("--") {
        return long == "recursive" || long == "dereference-recursive";
    }
    // What follows an option with a value is the value.
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.chars().take_while(|letter| !"ABCDdefm".contains(*letter)).any(|letter| "rR".contains(letter))
}
