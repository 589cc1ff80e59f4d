//! The rules of agentskills.io for the front matter, and the length of the body.

use std::ops::Range;

use crate::cases::catalog::FoundSkill;
use crate::profile;
use crate::profile::fault::readings;
use crate::skill::{SKILL_FILE, USER_INVOCABLE, USER_ONLY, slug};
use crate::text::diagnostic::{Code, Diagnostic, nearest, shorten};
use crate::text::node::{Node, NodeEntry, NodeValue};
use crate::text::problem_list::ProblemList;
use crate::text::source_text::SourceText;

/// Maximum characters of a name.
const LONGEST_NAME: usize = 64;

/// Maximum characters of a description.
pub const LONGEST_DESCRIPTION: usize = 1024;

/// Maximum characters of `compatibility`.
const LONGEST_COMPATIBILITY: usize = 500;

/// Recommended maximum lines of a body: agents load it whole.
const LONGEST_BODY: usize = 500;

/// The keys that agentskills.io defines.
const KEYS: [&str; 6] = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

/// The problems of its file. What agents read in different ways says which do.
pub(super) fn of_file(found: &FoundSkill) -> Vec<Diagnostic> {
    let mut faults = found.skill().faults.iter();
    let mut problems = found.file.problems.clone();
    for problem in &mut problems {
        let is_fault = matches!(problem.code, Code::FrontMatterMissing | Code::FrontMatterYaml);
        if let Some(fault) = is_fault.then(|| faults.next()).flatten() {
            problem.message = format!("{}: {}", problem.message, readings(*fault));
        }
    }
    problems
}

pub(super) fn check(found: &FoundSkill) -> Vec<Diagnostic> {
    let path = found.skill().folder.join(SKILL_FILE);
    let text = String::from_utf8_lossy(&found.bytes);
    let places = SourceText::new(&path, text.as_bytes());
    let mut checker = SkillChecker { found, text: &text, places, problems: ProblemList::of_file() };
    checker.body();
    // Front matter that is missing or not YAML has its own message.
    let is_unread = found.file.problems.iter().any(|problem| {
        matches!(problem.code, Code::FrontMatterMissing | Code::FrontMatterYaml) && problem.place.path == path
    });
    if !is_unread {
        checker.front_matter();
    }
    checker.problems.into_vec()
}

struct SkillChecker<'a> {
    found: &'a FoundSkill,
    /// Its SKILL.md. If bytes are not UTF-8, ranges count in the text with replacement characters.
    text: &'a str,
    places: SourceText<'a>,
    problems: ProblemList,
}

impl<'a> SkillChecker<'a> {
    fn entry(&self, key: &str) -> Option<&'a NodeEntry> {
        self.found.file.entries.iter().find(|entry| entry.key == key)
    }

    fn problem(&mut self, code: Code, range: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        self.problems.add(code, || Diagnostic::new(code, self.places.place(range), message).help(help));
    }

    fn body(&mut self) {
        let body = self.found.file.body.clone();
        let text = self.text.get(body.clone()).unwrap_or_default();
        let lines = text.trim().lines().count();
        if lines > LONGEST_BODY {
            let first = body.start + (text.len() - text.trim_start().len());
            let first_line = self.text[first..].lines().next().map_or(0, str::len);
            let message = format!("the body has {lines} lines; at most {LONGEST_BODY} are recommended");
            self.problem(Code::LongBody, first..first + first_line, message, "move details to files and link to them");
        }
    }

    fn front_matter(&mut self) {
        self.name();
        self.description();
        self.string("license");
        if let Some((text, range)) = self.string("compatibility") {
            let length = text.chars().count();
            if text.trim().is_empty() || length > LONGEST_COMPATIBILITY {
                let message = if text.trim().is_empty() {
                    "`compatibility` is empty".to_owned()
                } else {
                    format!("`compatibility` has {length} characters; at most {LONGEST_COMPATIBILITY}")
                };
                let help = "name only what the skill needs, or leave the key out";
                self.problem(Code::SkillCompatibility, range, message, help);
            }
        }
        self.metadata();
        self.allowed_tools();
        self.flag(USER_ONLY);
        self.flag(USER_INVOCABLE);
        self.user_only();
        let known: Vec<&str> =
            KEYS.into_iter().chain(profile::of_all(|profile| profile.skill_keys.iter().copied())).collect();
        for entry in &self.found.file.entries {
            let key = entry.key.as_str();
            if !known.contains(&key) {
                let code = Code::FrontMatterUnknownKey;
                self.problems.add(code, || {
                    let help = match nearest(key, known.iter().copied()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("keys of agentskills.io: {}; others belong under `metadata`", KEYS.join(", ")),
                    };
                    let message = format!("agentskills.io does not define the key `{}`", shorten(key));
                    Diagnostic::new(code, self.places.place(entry.key_range.clone()), message).help(help)
                });
            }
        }
    }

    /// The value of a key that must be true or false, which agents also read in quotes. YAML 1.2 reads `yes` as a text.
    fn flag(&mut self, key: &str) {
        let Some(entry) = self.entry(key) else { return };
        let is_flag = matches!(entry.value.value, NodeValue::Flag(_));
        if !is_flag && !matches!(entry.value.text(), Some("true" | "false")) {
            self.wrong_type(entry, "true or false");
        }
    }

    fn user_only(&mut self) {
        let Some(entry) = self.entry(USER_ONLY).filter(|_| self.found.skill().user_only) else { return };
        let (mut hiding, mut ignoring, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        for profile in profile::listed() {
            let name = profile.name;
            if profile.hides_user_only {
                hiding.push(format!("{name} does not offer it to its model"));
            } else {
                ignoring.push(format!("{name} does not know the key"));
            }
            calls.extend(profile.calls_skill.map(|call| format!("`{call}` in {name}")));
        }
        let (hiding, ignoring, calls) = (hiding.join(", "), ignoring.join(", "), calls.join(" and "));
        let message = format!("only users may call this skill: {hiding}, nor does the MCP server; {ignoring}");
        let help =
            format!("test it with prompts that call it, {calls}; remove the key to test whether it triggers by itself");
        self.problem(Code::UserOnly, entry.key_range.clone(), message, help);
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
            self.problem(Code::SkillNameFolder, entry.value.range.clone(), message, "give both the same name");
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
        // Agents read other values in it than texts, too.
        if !matches!(entry.value.value, NodeValue::Map(_) | NodeValue::Null) {
            self.wrong_type(entry, "an object");
        }
    }

    fn allowed_tools(&mut self) {
        let Some(entry) = self.entry("allowed-tools") else { return };
        // Every agent reads a list of names, too.
        let is_name = |node: &Node| node.text().is_some();
        if entry.value.elements().is_some_and(|names| names.iter().all(is_name)) {
            return;
        }
        let Some(tools) = entry.value.text() else {
            return self.wrong_type(entry, "names separated by spaces");
        };
        // A comma in parentheses belongs to the pattern of a tool.
        let mut depth = 0_usize;
        for c in tools.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    let message = "`allowed-tools` has commas; agentskills.io separates the names by spaces";
                    self.problem(Code::AllowedTools, entry.value.range.clone(), message, "remove the commas");
                    return;
                }
                _ => {}
            }
        }
    }

    /// The value of a key that must be a string, if it is one.
    fn string(&mut self, key: &str) -> Option<(&'a str, Range<usize>)> {
        let entry = self.entry(key)?;
        let text = entry.value.text();
        if text.is_none() {
            self.wrong_type(entry, "a string");
        }
        Some((text?, entry.value.range.clone()))
    }

    fn wrong_type(&mut self, entry: &NodeEntry, expected: &str) {
        let message = format!("`{}` is {}; expected {expected}", entry.key, entry.value.kind());
        // An empty value has no place of its own.
        let (range, help) = match entry.value.value {
            NodeValue::Null => (&entry.key_range, "write a value, or leave the key out".to_owned()),
            NodeValue::Flag(_) | NodeValue::Number(_) if expected == "a string" => {
                (&entry.value.range, "put quotes around the value".to_owned())
            }
            _ => (&entry.value.range, format!("write {expected}")),
        };
        self.problem(Code::FrontMatterType, range.clone(), message, help);
    }

    fn missing(&mut self, code: Code, key: &str, help: &str) {
        let start = self.text.len() - self.text.trim_start_matches('\u{feff}').len();
        self.problem(code, start..start + 3, format!("the front matter has no `{key}`"), help);
    }
}

/// The rule that a name breaks, as the end of a sentence that starts with the name.
fn check_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    let bad = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-'));
    match bad {
        _ if name.trim().is_empty() => Err("is empty".to_owned()),
        _ if length > LONGEST_NAME => Err(format!("has {length} characters; at most {LONGEST_NAME}")),
        Some(bad) => Err(format!("contains {bad:?}; only a-z, 0-9 and `-` are allowed")),
        None if name.starts_with('-') || name.ends_with('-') => Err("starts or ends with `-`".to_owned()),
        None if name.contains("--") => Err("contains `--`".to_owned()),
        None => Ok(()),
    }
}
