//! What a shell command says about skills: which skill files it names, and whether it does anything but look.
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
mod search;
mod words;
mod wrappers;

use script::Simple;

/// How a command touches a skill's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It prints the skill's SKILL.md.
    SkillFile {
        /// The skill's folder name.
        skill: String,
    },
    /// It names another file of the skill.
    Resource {
        /// The skill's folder name.
        skill: String,
        /// The file, below the skill's folder.
        path: String,
        /// What for.
        for_what: Purpose,
    },
    /// It looks around among skills without opening one by name.
    Explore,
}

/// What a command names a file for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To run it.
    Run,
    /// To print it.
    Print,
    /// For anything else: to copy it, to change it, to say its name.
    Other,
}

/// Programs that run a script named behind them.
const INTERPRETERS: [&str; 11] =
    ["python", "python3", "node", "bash", "sh", "ruby", "perl", "deno", "bun", "source", "."];

/// Programs that name files without printing what is in them.
const LOOKERS: [&str; 12] =
    ["ls", "find", "fd", "tree", "stat", "file", "test", "[", "wc", "du", "realpath", "readlink"];

/// What `command` touches of the skills below any folder named `skills`, in order.
#[must_use]
pub fn touches(command: &str) -> Vec<Touch> {
    let mut touches = Vec::new();
    // `cd .agents/skills/greeting && cat SKILL.md`
    let mut folder: Option<(String, String)> = None;
    // `cd .agents/skills && cat greeting/SKILL.md`
    let mut among_skills = false;
    for words in simple_commands(command, 0) {
        let Some(program) = words.first().map(|word| word.rsplit('/').next().unwrap_or(word)) else { continue };
        if program == "cd" {
            folder = words.get(1).and_then(|word| below_skills(word)).filter(|(skill, _)| !is_glob(skill));
            among_skills = words.get(1).is_some_and(|word| word.trim_end_matches('/').ends_with("/skills"));
            if folder.is_none() && words.get(1).is_some_and(|word| names_skills_folder(word)) {
                touches.push(Touch::Explore);
            }
            continue;
        }
        for (at, word) in words.iter().enumerate() {
            let found = match below_skills(word) {
                Some(found) => Some(found),
                None if among_skills && is_file_below(word) => {
                    below_skills(&format!("skills/{}", word.trim_start_matches("./")))
                }
                None if folder.is_some() && !word.starts_with(['/', '-', '~']) && word != &words[0] => {
                    folder.as_ref().map(|(skill, below)| (skill.clone(), join(below, word)))
                }
                None if names_skills_folder(word) => {
                    touches.push(Touch::Explore);
                    None
                }
                None => None,
            };
            let Some((skill, path)) = found else { continue };
            let in_folder = folder.is_some() && below_skills(word).is_none();
            let looks_like_file = path.contains('.') || path.contains('/');
            touches.push(if is_glob(&skill) || is_glob(&path) || LOOKERS.contains(&program) {
                Touch::Explore
            } else if path == crate::cases::skill::SKILL_FILE {
                Touch::SkillFile { skill }
            } else if path.is_empty() {
                Touch::Explore
            } else if in_folder && !looks_like_file {
                // A word of a command that merely runs in the skill's folder.
                continue;
            } else {
                Touch::Resource { skill, path, for_what: purpose(&words[..at]) }
            });
        }
    }
    touches
}

/// What opening the file at `path` touches of the skills.
#[must_use]
pub fn opens(path: &str) -> Option<Touch> {
    let (skill, path) = below_skills(path)?;
    Some(match path.as_str() {
        "" => Touch::Explore,
        crate::cases::skill::SKILL_FILE => Touch::SkillFile { skill },
        _ => Touch::Resource { skill, path, for_what: Purpose::Print },
    })
}

/// Whether all that `command` does is to search through folders, with `grep -r`, `rg`, `find` or their like.
#[must_use]
pub fn is_search(command: &str) -> bool {
    search::is_search(command)
}

/// Whether a search asks for skills: in their folders, or for their files by name.
#[must_use]
pub fn asks_for_skills(search: &str) -> bool {
    search::asks_for_skills(search)
}

/// Whether a path or a pattern is about skills.
#[must_use]
pub fn names_skills(text: &str) -> bool {
    below_skills(text).is_some() || names_skills_folder(text) || is_skill_file(text)
}

/// Whether `command` does more than look: see [the rule](self#effective-commands). `offered` are the names of the
/// skills that the agent offered; without them the SKILL.md in any folder of skills counts as an offered one's.
#[must_use]
pub fn is_effective(command: &str, offered: Option<&[String]>) -> bool {
    effective::is_effective(command, offered)
}

/// What a command names a file for behind these words.
fn purpose(before: &[String]) -> Purpose {
    let name = |word: &String| word.rsplit('/').next().unwrap_or_default().to_owned();
    let last = before.iter().rposition(|word| !word.starts_with('-'));
    match (last, before.first()) {
        (None, _) => Purpose::Run,
        (Some(last), _) if runs_scripts(&name(&before[last]), &before[last + 1..]) => Purpose::Run,
        (_, Some(program)) if readers::prints(&name(program)) => Purpose::Print,
        _ => Purpose::Other,
    }
}

/// Whether what follows a program and these options is the file of a script that runs, and neither code nor one to be looked at.
fn runs_scripts(program: &str, options: &[String]) -> bool {
    // Shells read no code from `-e`, and with `-n` they run nothing.
    let others = if wrappers::is_shell(program) { "cn" } else { "ecp" };
    let is_other = |option: &String| match option.strip_prefix("--") {
        Some(long) => ["eval", "print", "check", "noexec"].contains(&long),
        None => option.contains(|letter| others.contains(letter)),
    };
    INTERPRETERS.contains(&program) && !options.iter().any(is_other)
}

/// Whether a word is a path below here to what looks like a file: `greeting/SKILL.md`, and not `s/a/b/`.
fn is_file_below(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let (folder, name) = word.trim_start_matches("./").rsplit_once('/').unwrap_or_default();
    !folder.is_empty()
        && folder != "s"
        && !word.starts_with(['/', '-'])
        && name.contains('.')
        && word.chars().all(is_plain)
}

fn is_skill_file(word: &str) -> bool {
    word.rsplit('/').next() == Some(crate::cases::skill::SKILL_FILE)
}

fn is_glob(text: &str) -> bool {
    text.contains(['*', '?', '{', '['])
}

fn join(below: &str, word: &str) -> String {
    let word = word.trim_start_matches("./");
    if below.is_empty() { word.to_owned() } else { format!("{below}/{word}") }
}

/// The skill and the path below it, for a word like `/w/.agents/skills/greeting/SKILL.md`.
fn below_skills(word: &str) -> Option<(String, String)> {
    let word = word.trim_matches(['(', ')', ',']);
    let at = if word.starts_with("skills/") { 0 } else { word.rfind("/skills/")? + 1 };
    let rest = word[at + "skills/".len()..].trim_end_matches('/');
    // codex keeps skills of its own one level deeper.
    let rest = rest.strip_prefix(".system/").unwrap_or(rest);
    let (skill, path) = rest.split_once('/').unwrap_or((rest, ""));
    if skill.is_empty() { None } else { Some((skill.to_owned(), path.trim_start_matches("./").to_owned())) }
}

fn names_skills_folder(word: &str) -> bool {
    let word = word.trim_end_matches('/');
    matches!(word, ".agents" | ".codex" | ".claude") || word.ends_with("/skills")
}

/// The simple commands of a script in words, those inside `bash -lc '…'` in its place.
fn simple_commands(text: &str, depth: usize) -> Vec<Vec<String>> {
    let words = |simple: Simple| simple.words.into_iter().chain(simple.inputs).map(|word| word.text).collect();
    simples(text, depth).into_iter().map(words).collect()
}

/// The simple commands of a script, those inside `bash -lc '…'` in its place.
fn simples(text: &str, depth: usize) -> Vec<Simple> {
    let mut commands = Vec::new();
    for simple in script::parse(text).unwrap_or_default().commands {
        match wrappers::inner(&simple.words) {
            Some(script) if depth < 5 => commands.extend(simples(script, depth + 1)),
            _ => commands.push(simple),
        }
    }
    commands
}
