//! What a shell command says about skills: which skill files it opens, and whether it does anything else.
//!
//! Agents run commands as one string, often wrapped in `bash -lc '…'`. This reads such a string as a careful person
//! would, not as a shell does: it splits it into simple commands and looks at their words.

/// How a command touches a skill's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Touch {
    /// It prints the skill's SKILL.md.
    SkillFile {
        /// The skill's folder name.
        skill: String,
    },
    /// It prints or runs another file of the skill.
    Resource {
        /// The skill's folder name.
        skill: String,
        /// The file, below the skill's folder.
        path: String,
    },
    /// It looks around among skills without opening one by name.
    Explore,
}

/// Programs that name files without printing what is in them.
const LOOKERS: [&str; 12] =
    ["ls", "find", "fd", "tree", "stat", "file", "test", "[", "wc", "du", "realpath", "readlink"];

/// Programs that only print.
const READERS: [&str; 14] =
    ["cat", "sed", "head", "tail", "less", "more", "bat", "nl", "awk", "grep", "rg", "printf", "echo", "cut"];

/// What `command` touches of the skills below any folder named `skills`, in order.
#[must_use]
pub fn touches(command: &str) -> Vec<Touch> {
    let mut touches = Vec::new();
    // `cd .agents/skills/greeting && cat SKILL.md`
    let mut folder: Option<(String, String)> = None;
    for words in simple_commands(unwrap(command)) {
        let Some(program) = words.first().map(|word| word.rsplit('/').next().unwrap_or(word)) else { continue };
        if program == "cd" {
            folder = words.get(1).and_then(|word| below_skills(word)).filter(|(skill, _)| !is_glob(skill));
            if folder.is_none() && words.get(1).is_some_and(|word| names_skills_folder(word)) {
                touches.push(Touch::Explore);
            }
            continue;
        }
        for word in &words {
            let found = match below_skills(word) {
                Some(found) => Some(found),
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
                Touch::Resource { skill, path }
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
        _ => Touch::Resource { skill, path },
    })
}

/// Whether a path or a pattern is about skills.
#[must_use]
pub fn names_skills(text: &str) -> bool {
    below_skills(text).is_some() || names_skills_folder(text) || is_skill_file(text)
}

/// Whether `command` does more than open a SKILL.md, or look around with a bare `ls` or `pwd`.
#[must_use]
pub fn is_effective(command: &str) -> bool {
    let inner = unwrap(command);
    if inner.contains(['>', '`']) || inner.contains("$(") {
        return true;
    }
    !simple_commands(inner).iter().all(|words| {
        let program = words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
        match program {
            "" | "pwd" | "true" | "ls" | "cd" => true,
            "sed" if words.iter().any(|word| word.starts_with("-i") || word == "--in-place") => false,
            _ if READERS.contains(&program) => {
                let mut files = words.iter().skip(1).filter(|word| word.contains('/') || word.contains('.'));
                let opens_skill = files.clone().any(|word| is_skill_file(word));
                // A separator printed between two files, or the end of a pipe that began with one.
                let no_file = files.clone().next().is_none();
                (opens_skill && files.all(|word| is_skill_file(word)))
                    || (no_file && inner.contains(crate::cases::skill::SKILL_FILE))
            }
            _ => false,
        }
    })
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

/// The script inside `bash -lc '…'`, or the command itself.
fn unwrap(command: &str) -> &str {
    let command = command.trim();
    let Some((shell, rest)) = command.split_once(char::is_whitespace) else { return command };
    if !matches!(shell.rsplit('/').next(), Some("bash" | "sh" | "zsh" | "dash")) {
        return command;
    }
    let rest = rest.trim_start();
    let Some((flags, script)) = rest.split_once(char::is_whitespace) else { return command };
    if !flags.starts_with('-') || !flags.contains('c') {
        return command;
    }
    let script = script.trim();
    for quote in ['\'', '"'] {
        if script.len() >= 2 && script.starts_with(quote) && script.ends_with(quote) {
            return &script[1..script.len() - 1];
        }
    }
    script
}

/// Splits at `&&`, `||`, `;`, `|`, `&` and line breaks outside quotes, and each part into words without their quotes.
fn simple_commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = script.chars();
    let end_word = |commands: &mut Vec<Vec<String>>, word: &mut Option<String>| {
        if let (Some(last), Some(word)) = (commands.last_mut(), word.take()) {
            last.push(word);
        }
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ';' | '&' | '|' | '\n') => {
                end_word(&mut commands, &mut word);
                commands.push(Vec::new());
            }
            (None, '<' | '>') => end_word(&mut commands, &mut word),
            (None, c) if c.is_whitespace() => end_word(&mut commands, &mut word),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut commands, &mut word);
    commands.retain(|words| !words.is_empty());
    commands
}
