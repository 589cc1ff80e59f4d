//! The front matter rules of agentskills.io, and the length of the body.

use std::ops::Range;
use std::path::PathBuf;

use serde_json::Value;

use crate::cases::catalog::FoundSkill;
use crate::lint::similar::place;
use crate::profile::{self, PROFILES};
use crate::skill::{FrontMatterField, SKILL_FILE, USER_ONLY, slug};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest, shorten};

/// The most characters of a name.
pub const LONGEST_NAME: usize = 64;

/// The most characters of a description.
pub const LONGEST_DESCRIPTION: usize = 1024;

/// The most characters of `compatibility`.
pub const LONGEST_COMPATIBILITY: usize = 500;

/// The most lines of a body that agents are meant to load whole.
pub const LONGEST_BODY: usize = 500;

/// The keys that agentskills.io defines.
const KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

pub(super) fn check(found: &FoundSkill) -> Vec<Diagnostic> {
    let mut checker = SkillChecker {
        found,
        path: found.skill().folder.join(SKILL_FILE),
        text: String::from_utf8_lossy(&found.bytes).into_owned(),
        problems: Vec::new(),
    };
    checker.body();
    // What stands in front matter that is missing or not YAML is guesswork: it has its one message.
    let unread = |problem: &Diagnostic| matches!(problem.code, Code::FrontMatterMissing | Code::FrontMatterYaml);
    if !found.file.problems.iter().any(|problem| unread(problem) && problem.place.path == checker.path) {
        checker.front_matter();
    }
    checker.problems
}

struct SkillChecker<'a> {
    found: &'a FoundSkill,
    path: PathBuf,
    text: String,
    problems: Vec<Diagnostic>,
}

impl<'a> SkillChecker<'a> {
    fn entry(&self, key: &str) -> Option<&'a FrontMatterField> {
        self.found.file.entries.iter().find(|entry| entry.key == key)
    }

    fn place(&self, range: Range<usize>) -> SourceLocation {
        place(&self.path, &self.found.bytes, range)
    }

    fn problem(&mut self, code: Code, range: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let place = self.place(range);
        self.problems.push(Diagnostic::new(code, place, message).help(help));
    }

    fn body(&mut self) {
        let body = self.found.file.body.clone();
        let text = self.text.get(body.clone()).unwrap_or_default();
        let lines = text.trim().lines().count();
        if lines > LONGEST_BODY {
            let first = body.start + (text.len() - text.trim_start().len());
            let first_line = self.text[first..].lines().next().map_or(0, str::len);
            let message = format!("the body has {lines} lines; agents are meant to load at most {LONGEST_BODY}");
            self.problem(Code::LongBody, first..first + first_line, message, "move details to files that it links to");
        }
    }

    fn front_matter(&mut self) {
        self.name();
        self.description();
        self.string("license");
        if let Some((text, range)) = self.string("compatibility") {
            let length = text.chars().count();
            if text.trim().is_empty() || length > LONGEST_COMPATIBILITY {
                let message = match length {
                    _ if text.trim().is_empty() => "`compatibility` is empty".to_owned(),
                    length => format!("`compatibility` has {length} characters; at most {LONGEST_COMPATIBILITY}"),
                };
                self.problem(
                    Code::SkillCompatibility,
                    range,
                    message,
                    "name only what the skill needs, or leave the key out",
                );
            }
        }
        self.metadata();
        self.allowed_tools();
        self.user_only();
        for entry in &self.found.file.entries {
            let key = entry.key.as_str();
            let known = || KEYS.into_iter().chain(profile::of_all(|profile| profile.skill_keys.iter().copied()));
            if !known().any(|known| known == key) {
                let shown = shorten(key);
                let help = match nearest(key, known()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("keys of agentskills.io: {}; others belong below `metadata`", KEYS.join(", ")),
                };
                let message = format!("agentskills.io defines no key `{shown}`");
                self.problem(Code::FrontMatterUnknownKey, entry.key_range.clone(), message, help);
            }
        }
    }

    fn user_only(&mut self) {
        if let Some(entry) = self.entry(USER_ONLY).filter(|_| self.found.skill().user_only) {
            let says = |hides: bool, what: &str| {
                let names = PROFILES.iter().filter(|profile| profile.hides_user_only == hides);
                names.map(|profile| format!("{} {what}", profile.name)).collect::<Vec<_>>().join(", ")
            };
            let message = format!(
                "only users may call this skill: {}, nor does the MCP server; {}",
                says(true, "does not offer it to its model"),
                says(false, "does not know the key")
            );
            let calls = profile::listed().map(|profile| format!("`{}` in {}", profile.calls_skill, profile.name));
            let calls = calls.collect::<Vec<_>>().join(" and ");
            let help = format!(
                "test it with prompts that call it, {calls}; remove the key to test whether it triggers by itself"
            );
            self.problem(Code::UserOnly, entry.key_range.clone(), message, help);
        }
    }

    fn name(&mut self) {
        let Some(entry) = self.entry("name") else {
            self.missing(Code::SkillName, "name", "add `name: ` and the directory's name");
            return;
        };
        let Some((name, range)) = self.string("name") else { return };
        let folder = self.found.skill().folder.file_name().map(|name| name.to_string_lossy().into_owned());
        if let Err(why) = check_name(name) {
            let shown = shorten(name);
            let better = slug(name).replace(['.', '_'], "-");
            let help = match check_name(&better) {
                Ok(()) => format!("for example `{better}`; the directory has the same name"),
                Err(_) => "letters a-z, digits and single `-` between them; the directory has the same name".to_owned(),
            };
            self.problem(Code::SkillName, range, format!("the name {shown:?} {why}"), help);
        } else if let Some(folder) = folder.filter(|folder| folder != name) {
            let message = format!("the skill is named `{name}`, but its directory `{folder}`");
            self.problem(Code::SkillNameFolder, entry.value_range.clone(), message, "give both the same name");
        }
    }

    fn description(&mut self) {
        if self.entry("description").is_none() {
            self.missing(Code::SkillDescription, "description", "say what the skill does and when to use it");
            return;
        }
        let Some((text, range)) = self.string("description") else { return };
        let length = text.chars().count();
        if text.trim().is_empty() {
            let help = "say what the skill does and when to use it";
            self.problem(Code::SkillDescription, range, "the description is empty", help);
        } else if length > LONGEST_DESCRIPTION {
            let message = format!("the description has {length} characters; at most {LONGEST_DESCRIPTION}");
            self.problem(Code::SkillDescription, range, message, "move details to the body");
        }
    }

    fn metadata(&mut self) {
        let Some(entry) = self.entry("metadata") else { return };
        let map = match &entry.value {
            Value::Object(map) => map,
            Value::Null => return,
            other => return self.wrong_type(entry, "`metadata`", "a mapping of strings to strings", other),
        };
        for (key, value) in map.iter().filter(|(_, value)| !value.is_string()) {
            let range = self.nested(entry, key);
            let message = format!("`metadata.{key}` is {}; expected a string", type_name(value));
            self.problem(Code::FrontMatterType, range, message, "put quotes around the value");
        }
    }

    fn allowed_tools(&mut self) {
        let Some(entry) = self.entry("allowed-tools") else { return };
        let Value::String(tools) = &entry.value else {
            return self.wrong_type(entry, "`allowed-tools`", "a string of names separated by spaces", &entry.value);
        };
        // A comma inside parentheses belongs to a tool's own pattern.
        let mut depth = 0_usize;
        let comma = tools.chars().any(|c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        });
        if comma {
            let message = "`allowed-tools` has commas; agentskills.io parts the names by spaces";
            self.problem(Code::AllowedTools, entry.value_range.clone(), message, "drop the commas");
        }
    }

    /// The value of a key that must be a string, if it is one.
    fn string(&mut self, key: &str) -> Option<(&'a str, Range<usize>)> {
        let entry = self.entry(key)?;
        match &entry.value {
            Value::String(text) => Some((text, entry.value_range.clone())),
            other => {
                self.wrong_type(entry, &format!("`{key}`"), "a string", other);
                None
            }
        }
    }

    fn wrong_type(&mut self, entry: &FrontMatterField, what: &str, expected: &str, found: &Value) {
        let message = format!("{what} is {}; expected {expected}", type_name(found));
        let scalar = matches!(found, Value::Bool(_) | Value::Number(_));
        let help = match (scalar && expected == "a string", found) {
            (true, _) => "put quotes around the value".to_owned(),
            (false, Value::Null) => "write a value, or leave the key out".to_owned(),
            (false, _) => format!("write {expected}"),
        };
        // A value that is nothing has no place of its own.
        let range = if found.is_null() { entry.key_range.clone() } else { entry.value_range.clone() };
        self.problem(Code::FrontMatterType, range, message, help);
    }

    fn missing(&mut self, code: Code, key: &str, help: &str) {
        let start = self.text.len() - self.text.trim_start_matches('\u{feff}').len();
        self.problem(code, start..start + 3, format!("the front matter has no `{key}`"), help);
    }

    /// Where a key below `entry` stands; `entry` itself where it is written in a way not looked for.
    fn nested(&self, entry: &FrontMatterField, key: &str) -> Range<usize> {
        let end = self.found.file.body.start.min(self.text.len());
        let start = entry.key_range.end.min(end);
        let mut at = start;
        for line in self.text.get(start..end).unwrap_or_default().split_inclusive('\n') {
            let indent = line.len() - line.trim_start().len();
            let bare = line.trim().trim_start_matches(['"', '\'']);
            if bare.strip_prefix(key).is_some_and(|rest| rest.trim_start_matches(['"', '\'']).starts_with(':')) {
                return at + indent..at + line.trim_end().len();
            }
            at += line.len();
        }
        entry.key_range.clone()
    }
}

/// Says, as the end of a sentence that starts with the name, which rule it breaks.
fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    let bad = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-'));
    match bad {
        _ if name.trim().is_empty() => Err("is empty".to_owned()),
        _ if length > LONGEST_NAME => Err(format!("has {length} characters; at most {LONGEST_NAME}")),
        Some(bad) => Err(format!("holds {bad:?}; only a-z, 0-9 and `-` are allowed")),
        None if name.starts_with('-') || name.ends_with('-') => Err("starts or ends with `-`".to_owned()),
        None if name.contains("--") => Err("holds `--`".to_owned()),
        None => Ok(()),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
