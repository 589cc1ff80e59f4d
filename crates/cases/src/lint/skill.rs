//! The rules of agentskills.io for the front matter, the length of the body, its links, and what belongs to a skill.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::cases::case_folders::is_own;
use crate::cases::catalog::FoundSkill;
use crate::cases::repo_files::{FileKind, NoPlainFile, RepoFiles, plain_file};
use crate::cases::skills::default_skill_roots;
use crate::checks::schema::Schema;
use crate::files::material::{MaterialProblem, UnusableFile};
use crate::profile;
use crate::profile::fault::readings;
use crate::skill::{SKILL_FILE, USER_INVOCABLE, USER_ONLY, slug};
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, SourceText, nearest, shorten};
use crate::text::name::resolved;
use crate::text::node::{Node, NodeEntry, NodeValue};
use crate::text::problem::ProblemList;

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
            let place = &self.found.skill().folder;
            let help = if default_skill_roots().any(|root| place == Path::new(root)) {
                format!(
                    "move it to {}: each skill has a directory of its own",
                    place.join(name).join(SKILL_FILE).display()
                )
            } else {
                "give both the same name".to_owned()
            };
            self.problem(Code::SkillNameFolder, entry.value.range.clone(), message, help);
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

// Links in the body of a SKILL.md to missing files.

/// The longest target that is looked at, in bytes, with what is around it: no path is longer.
const LONGEST_TARGET: usize = 4096;

pub(super) fn check_links(found: &FoundSkill, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let text = String::from_utf8_lossy(&found.bytes);
    let folder = &found.skill().folder;
    let path = folder.join(SKILL_FILE);
    // If bytes are not UTF-8, ranges count in the text with replacement characters.
    let places = SourceText::new(&path, text.as_bytes());
    let mut problems = ProblemList::of_file();
    for range in targets(&text, found.file.body.clone()) {
        let target = &text[range.clone()];
        let Some(path) = file_of(target) else { continue };
        let path = resolved(&folder.join(&path));
        let exists = path.as_ref().is_some_and(|path| tree.kind(path) != FileKind::Missing);
        let is_withheld = || path.as_ref().and_then(|path| path.strip_prefix(folder).ok()).is_some_and(is_in_own_cases);
        let (why, help) = if !exists {
            let help = "links are relative to the skill's directory; agents follow them to load resources";
            ("does not point to a file in the repository", help)
        } else if is_withheld() {
            ("points into a directory of cases, which agents do not get", "move the file to another directory")
        } else {
            continue;
        };
        problems.add(Code::DeadLink, || {
            let message = format!("the link to `{}` {why}", shorten(target));
            Diagnostic::new(Code::DeadLink, places.place(range), message).help(help)
        });
    }
    problems.into_vec()
}

/// Whether a path in the directory of a skill is one of the skill's cases.
fn is_in_own_cases(path: &Path) -> bool {
    path.ancestors().any(is_own)
}

/// The target as a path. `None` for a URL, an anchor, an absolute path or a placeholder.
fn file_of(target: &str) -> Option<PathBuf> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    let scheme = path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let placeholder = path.contains(['{', '}', '<', '>', '$', '*', '\0']) || path.contains("...") || is_template(path);
    if path.is_empty() || scheme || placeholder || path.starts_with(['/', '\\', '~']) {
        return None;
    }
    Some(PathBuf::from(percent_decode_str(path).decode_utf8().unwrap_or(path.into()).as_ref()))
}

/// Whether a path stands for another one, in a template of a text: `url`, `path/to/file.md`, `FILE_NAME.md`.
fn is_template(path: &str) -> bool {
    let is_word = path.chars().all(|c| c.is_lowercase() || "-_".contains(c));
    let stem = path.rsplit('/').next().unwrap_or(path).split('.').next().unwrap_or_default();
    let is_name = stem.contains('_') && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_word || is_name || path.contains("path/to/") || path.contains("YYYY")
}

/// The ranges of the targets of links and images, outside code.
fn targets(text: &str, body: Range<usize>) -> Vec<Range<usize>> {
    let mut targets = Vec::new();
    let mut fence: Option<&str> = None;
    let mut after_blank = true;
    let mut at = body.start.min(text.len());
    for line in text.get(body).unwrap_or_default().split_inclusive('\n') {
        let content = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| content.starts_with(mark));
        // Four spaces after a blank line mean code. In a list they do not: then a link is missed.
        let indented = line.starts_with("    ") || line.starts_with('\t');
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if indented && after_blank => {}
            (None, None) => {
                targets.extend(in_line(line).into_iter().map(|range| at + range.start..at + range.end));
                after_blank = content.is_empty();
            }
        }
        at += line.len();
    }
    targets
}

/// `[text](target)`, `![text](target "title")` and `[label]: target`, outside `code`.
fn in_line(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut targets = Vec::new();
    // A footnote has a text in place of a target.
    let mut is_first_label = line.trim_start().starts_with('[') && !line.trim_start().starts_with("[^");
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'`' => {
                let ticks = bytes[at..].iter().take_while(|&&b| b == b'`').count();
                // A code span ends at as many backticks; without them, these are plain text.
                let close = line[at + ticks..].find(&line[at..at + ticks]);
                at += ticks - 1 + close.map_or(0, |close| close + ticks);
            }
            b']' => {
                let next = bytes.get(at + 1);
                if (next == Some(&b'(') || next == Some(&b':') && is_first_label)
                    && let Some(target) = destination(line, at + 2)
                {
                    // No link begins in the target of another one.
                    at = target.end - 1;
                    targets.push(target);
                }
                is_first_label = false;
            }
            _ => {}
        }
        at += 1;
    }
    targets
}

/// The range of the target at `start`: inside `<…>`, or up to white space or the closing parenthesis.
fn destination(line: &str, start: usize) -> Option<Range<usize>> {
    let rest = line.get(start..)?;
    let (rest, _) = cut::bytes(rest, LONGEST_TARGET);
    let start = start + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    if let Some(inner) = rest.strip_prefix('<') {
        // Only a title may follow; otherwise this is a placeholder.
        let end = inner.find('>').filter(|end| inner[end + 1..].starts_with([')', ' ', '\n', '\r']))?;
        return Some(start + 1..start + 1 + end);
    }
    let mut depth = 0_usize;
    let mut end = rest.len();
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            c if c == ')' || c.is_whitespace() => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    (end > 0).then_some(start..start + end)
}

// Files that cannot be used: of a skill or a fixture, scripts of checks, and schemas.

/// The most problems that are reported of one skill: one cause often has many.
const MAX_PROBLEMS: usize = 10;

/// The files of a skill that cannot be copied.
pub(super) fn skill_material(found: &FoundSkill, tree: &dyn RepoFiles) -> Vec<Diagnostic> {
    let folder = &found.skill().folder;
    let problems = tree.material_problems(folder).into_iter().take(MAX_PROBLEMS);
    let diagnostics = problems.map(|problem| {
        let message = format!("this file of the skill {}", problem.why);
        diagnostic(&problem, SourceLocation::file(folder.join(&problem.path)), message)
    });
    diagnostics.collect()
}

/// The first problem of the directory at `path`: a case's fixture, or other `what`. `place` is where the case names it.
pub(super) fn case_material(
    path: &Path,
    place: SourceLocation,
    what: &str,
    tree: &dyn RepoFiles,
) -> Option<Diagnostic> {
    let problem = tree.material_problems(path).into_iter().next()?;
    let message = format!("the {what} cannot be used: {} {}", path.join(&problem.path).display(), problem.why);
    Some(diagnostic(&problem, place, message))
}

fn diagnostic(problem: &MaterialProblem, place: SourceLocation, message: String) -> Diagnostic {
    let (code, help) = match &problem.why {
        UnusableFile::Absolute(_) | UnusableFile::Leaving(_) => {
            (Code::Symlink, "copy what it points to into the directory: agents get this directory and nothing else")
        }
        UnusableFile::Broken(_) | UnusableFile::Loop(_) => {
            (Code::Symlink, "remove the link, or point it to a file of this directory")
        }
        UnusableFile::Special(_) => {
            (Code::NotCopied, "remove it: only files, directories and links between them can be copied")
        }
        UnusableFile::Unreadable(_) => (Code::NotCopied, "make it readable, or remove it"),
        UnusableFile::TooMany | UnusableFile::TooLarge(_) | UnusableFile::TooDeep => {
            (Code::NotCopied, "make the directory smaller: it is copied for every trial that runs at the same time")
        }
    };
    Diagnostic::new(code, place, message).help(help)
}

/// The first line of scripts, by the ending of the file.
const FIRST_LINES: [(&str, &str); 6] = [
    ("py", "#!/usr/bin/env python3"),
    ("sh", "#!/bin/sh"),
    ("bash", "#!/usr/bin/env bash"),
    ("js", "#!/usr/bin/env node"),
    ("mjs", "#!/usr/bin/env node"),
    ("rb", "#!/usr/bin/env ruby"),
];

/// What keeps the script at `path` from being started, if anything: the kind, the message and what helps. `sources` says where paths start.
pub(super) fn script_material(path: &Path, sources: &str, tree: &dyn RepoFiles) -> Option<(Code, String, String)> {
    let shown = path.display();
    let problem = |code, message: String, help: &str| Some((code, message, help.to_owned()));
    let bytes = match plain_file(tree, path) {
        Ok(bytes) => bytes,
        Err(why) => {
            let (code, help) = match why {
                NoPlainFile::Missing => (Code::MissingCheck, sources),
                NoPlainFile::Symlink => (Code::Symlink, "name the file that the link leads to"),
                NoPlainFile::NoFile => (Code::MissingCheck, "name a script in it"),
                NoPlainFile::Unreadable(_) => (Code::Unreadable, "make it readable"),
            };
            return problem(code, format!("the check {shown} {why}"), help);
        }
    };
    // A compiled program has such a byte in its header.
    let is_script = !bytes.iter().take(256).any(|byte| *byte == 0);
    if is_script && !bytes.starts_with(b"#!") {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let line =
            FIRST_LINES.iter().find(|(known, _)| *known == ending).map_or("#!/usr/bin/env …", |(_, line)| line);
        let message = format!("the check {shown} does not say which program runs it");
        return problem(Code::BadCheck, message, &format!("begin it with the line `{line}`"));
    }
    if !tree.is_executable(path) {
        let help = format!("run: chmod +x {shown}");
        return problem(Code::BadCheck, format!("the check {shown} is not executable"), &help);
    }
    None
}

/// The problems of schema files. Many cases share a file.
#[derive(Default)]
pub(super) struct Schemas(HashMap<PathBuf, Option<(Code, String)>>);

impl Schemas {
    pub(super) fn problem(&mut self, path: &Path, tree: &dyn RepoFiles) -> Option<(Code, String)> {
        self.0.entry(path.to_path_buf()).or_insert_with(|| schema(path, tree).err()).clone()
    }
}

fn schema(path: &Path, tree: &dyn RepoFiles) -> Result<(), (Code, String)> {
    let shown = path.display();
    let bytes = plain_file(tree, path).map_err(|why| {
        let code = match why {
            NoPlainFile::Missing | NoPlainFile::NoFile => Code::MissingSchema,
            NoPlainFile::Symlink => Code::Symlink,
            NoPlainFile::Unreadable(_) => Code::Unreadable,
        };
        (code, format!("the schema {shown} {why}"))
    })?;
    match Schema::parse(&bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err((Code::BadSchema, format!("the schema {shown} {error}"))),
    }
}
