//! Commands that search through folders. What they print of a skill is what matched, so that they are looks, unless that is
//! most of it.

use crate::cases::skill::SKILL_FILE;
use crate::trial::trace::shell::script::{Simple, UNKNOWN, Word};
use crate::trial::trace::shell::{Touch, names_skills, readers, simple_commands, simples, touches};

/// Programs that print nothing of a file.
const AROUND: [&str; 7] = ["cd", "echo", "ls", "printf", "pwd", "true", "wc"];

/// Programs that pass on or cut what a search printed, where they open no file themselves.
const FILTERS: [&str; 12] =
    ["awk", "cat", "cut", "egrep", "fgrep", "grep", "head", "nl", "sed", "sort", "tail", "uniq"];

/// Options with which `find` and `fd` run a program on what they found.
const RUNS: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// Whether all that `command` does is to search through folders: `grep -r`, `rg`, `find` and their like, without naming a
/// file of a skill.
pub(super) fn is_search(command: &str) -> bool {
    let mut searches = false;
    for simple in simples(command, 0) {
        let words: Vec<&str> = simple.words.iter().map(|word| word.text.as_str()).collect();
        let Some(program) = words.first().map(|word| word.rsplit('/').next().unwrap_or(word)) else { continue };
        match program {
            "grep" | "egrep" | "fgrep" if words.iter().any(|word| is_recursive(word)) => searches = true,
            "rg" | "ag" | "ack" => searches = true,
            "git" if words.get(1) == Some(&"grep") => searches = true,
            "find" | "fd" | "fdfind" if !words.iter().any(|word| RUNS.contains(word)) => searches = true,
            filter if FILTERS.contains(&filter) && !opens_files(filter, &simple) => {}
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

/// Whether a program that could be a filter opens files that may be a skill's: by names that the command does not tell
/// (`$(find …)`, `$f`, `*/*.md`), or a SKILL.md.
fn opens_files(program: &str, simple: &Simple) -> bool {
    let may_be_of_skill = |word: &&Word| word.glob || word.text.contains(UNKNOWN) || names_skills(&word.text);
    let files = readers::operands(program, &simple.words[1..]).unwrap_or_else(|| simple.words[1..].iter().collect());
    files.iter().chain(&simple.inputs.iter().collect::<Vec<_>>()).any(may_be_of_skill)
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
