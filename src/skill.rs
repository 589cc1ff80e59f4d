//! A skill: a directory with a SKILL.md, read by the rules of agentskills.io.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::LONGEST_ID;

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The front matter key that stops models from calling a skill.
pub const USER_ONLY: &str = "disable-model-invocation";

/// The front matter key that stops users from calling a skill.
pub const USER_INVOCABLE: &str = "user-invocable";

/// The slug of a skill if its name and the name of its directory leave nothing: a directory needs a name.
const UNNAMED: &str = "unnamed";

/// A skill as its SKILL.md describes it.
#[derive(Clone, Debug)]
pub struct Skill {
    /// The front matter's `name`; without it the name of the directory.
    pub name: String,
    /// The name in a form that is safe for directories and test names.
    pub slug: String,
    /// The front matter's `description`; empty if it is missing.
    pub description: String,
    /// The skill's directory, relative to the repository's root.
    pub folder: PathBuf,
    /// Whether the front matter has `disable-model-invocation: true`: agents that honor it let only users call the skill.
    pub user_only: bool,
    /// Whether the front matter has `user-invocable: false`: agents that honor it let only models call the skill.
    pub model_only: bool,
}

/// A field of the front matter, with its byte ranges in SKILL.md.
#[derive(Clone, Debug)]
pub struct FrontMatterField {
    /// The key.
    pub key: String,
    /// The bytes of the key.
    pub key_range: Range<usize>,
    /// The value.
    pub value: Value,
    /// The bytes of the value.
    pub value_range: Range<usize>,
}

/// A parsed SKILL.md.
#[derive(Clone, Debug)]
pub struct SkillFile {
    /// The skill it describes.
    pub skill: Skill,
    /// The fields of the front matter in the order of the file.
    pub entries: Vec<FrontMatterField>,
    /// The bytes of the body.
    pub body: Range<usize>,
    /// Problems of the file's form. `lint` finds those of its values.
    pub problems: Vec<Diagnostic>,
}

/// A name in a form that is safe for directories: in lower case, without `/`, `\` and `:`. Runs of white space, and runs of
/// other characters outside `[a-z0-9._-]`, become `-`. It does not begin with `-` or `.`, does not end with `-`, and has at
/// most 100 bytes. It is empty if nothing is left.
pub fn slug(name: &str) -> String {
    let mut slug = String::with_capacity(name.len());
    let mut in_run = None;
    for c in name.trim().to_lowercase().chars() {
        let run = match c {
            '/' | '\\' | ':' => {
                // Such a character separates runs of white space, but not runs of other characters.
                in_run = in_run.filter(|run| *run == CharacterRun::Other);
                continue;
            }
            'a'..='z' | '0'..='9' | '.' | '_' | '-' => None,
            c if c.is_whitespace() => Some(CharacterRun::White),
            _ => Some(CharacterRun::Other),
        };
        match run {
            None => slug.push(c),
            Some(_) if in_run == run => {}
            Some(_) => slug.push('-'),
        }
        in_run = run;
    }
    // A directory whose name begins with a full stop is hidden.
    let slug = slug.trim_start_matches(['-', '.']);
    slug[..slug.len().min(LONGEST_ID)].trim_end_matches('-').to_owned()
}

#[derive(Clone, Copy, PartialEq)]
enum CharacterRun {
    White,
    Other,
}

impl SkillFile {
    /// Parses the SKILL.md of `folder`. It never fails: what cannot be read is reported in `problems`.
    pub fn parse(folder: impl Into<PathBuf>, bytes: &[u8]) -> Self {
        let folder = folder.into();
        let path = folder.join(SKILL_FILE);
        let mut problems = Vec::new();
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(error) => {
                let at = error.valid_up_to();
                problems.push(
                    Diagnostic::new(
                        Code::NotUtf8,
                        SourceLocation::in_text(&path, bytes, at..at + 1),
                        "this is not UTF-8 text",
                    )
                    .help("save the file as UTF-8"),
                );
                String::from_utf8_lossy(bytes).into_owned()
            }
        };
        if let Some(at) = bytes.iter().position(|&b| b == 0) {
            problems.push(Diagnostic::new(
                Code::NulByte,
                SourceLocation::in_text(&path, bytes, at..at + 1),
                "SKILL.md holds a NUL byte",
            ));
        }
        let (front, body) = split(&text);
        let entries = front_matter(&path, &text, front, &mut problems);
        let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name =
            string_field(&entries, "name").filter(|name| !slug(name).is_empty()).unwrap_or(&folder_name).to_owned();
        let slug = Some(slug(&name)).filter(|slug| !slug.is_empty()).unwrap_or_else(|| UNNAMED.to_owned());
        let (user_only, model_only) = (is_bool(&entries, USER_ONLY, true), is_bool(&entries, USER_INVOCABLE, false));
        let description = string_field(&entries, "description").unwrap_or_default().to_owned();
        let skill = Skill { name, slug, description, folder, user_only, model_only };
        Self { skill, entries, body, problems }
    }
}

/// The text of a field, if it is a string.
fn string_field<'a>(entries: &'a [FrontMatterField], key: &str) -> Option<&'a str> {
    entries.iter().find(|entry| entry.key == key)?.value.as_str().map(str::trim)
}

/// Whether a field has this value. Claude Code accepts the value in quotes too.
fn is_bool(entries: &[FrontMatterField], key: &str, value: bool) -> bool {
    let mut values = entries.iter().filter(|entry| entry.key == key).map(|entry| &entry.value);
    values.any(|found| *found == Value::Bool(value) || found.as_str() == Some(&value.to_string()))
}

/// The fields of the front matter in the bytes `front`.
fn front_matter(
    path: &Path,
    text: &str,
    front: Option<Range<usize>>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<FrontMatterField> {
    let Some(front) = front else {
        let first_line = 0..text.find('\n').unwrap_or(text.len());
        problems.push(
            Diagnostic::new(
                Code::FrontMatterMissing,
                SourceLocation::in_text(path, text.as_bytes(), first_line),
                "SKILL.md has no front matter: expected a first line `---`, YAML, and a closing line `---`",
            )
            .help(
                "start the file with\n---\nname: <the directory's name>\n\
                 description: <what it does and when to use it>\n---",
            ),
        );
        return Vec::new();
    };
    match serde_saphyr::from_str::<Entries>(&text[front.clone()]) {
        Ok(read) => read.entries(text, &front),
        Err(error) => {
            problems.push(yaml_problem(path, text, &front, &error));
            loose_entries(text, &front)
        }
    }
}

/// The byte ranges of the front matter's YAML and of the body.
fn split(text: &str) -> (Option<Range<usize>>, Range<usize>) {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lines = text[start..].split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return (None, start..text.len());
    };
    let yaml_start = start + first.len();
    let mut at = yaml_start;
    for line in lines {
        if line.trim_end() == "---" {
            return (Some(yaml_start..at), at + line.len()..text.len());
        }
        at += line.len();
    }
    (None, start..text.len())
}

fn yaml_problem(path: &Path, text: &str, front: &Range<usize>, error: &serde_saphyr::Error) -> Diagnostic {
    // The first line of the error is "error: line L column C: what". The diagnostic itself shows the location.
    let whole = error.to_string();
    let first = whole.lines().next().unwrap_or_default();
    let what = first.splitn(3, ": ").nth(2).unwrap_or(first);
    let offset = error.location().map_or(front.start, |location| {
        let line = usize::try_from(location.line()).unwrap_or(1);
        let column = usize::try_from(location.column()).unwrap_or(1);
        offset_of(&text[front.clone()], line, column) + front.start
    });
    let mut problem = Diagnostic::new(
        Code::FrontMatterYaml,
        SourceLocation::in_text(path, text.as_bytes(), offset..offset + 1),
        format!("the front matter is not valid YAML: {what}"),
    );
    if what.contains("tabs") {
        problem = problem.help("indent with spaces; YAML allows no tabs");
    } else if what.contains("mapping values are not allowed") {
        problem = problem.help("put quotes around a value that holds `: `");
    } else if what.contains("recursive") {
        problem = problem.help("write the value out instead of an alias to itself");
    }
    problem
}

/// The byte offset of a line and a column in characters, both from 1.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let line_start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    text[line_start.min(text.len())..]
        .char_indices()
        .nth(column.saturating_sub(1))
        .map_or(text.len(), |(at, _)| line_start + at)
}

/// The `key: value` lines of front matter that is not YAML. Other runners read it so, and its cases still run.
fn loose_entries(text: &str, front: &Range<usize>) -> Vec<FrontMatterField> {
    let mut entries: Vec<FrontMatterField> = Vec::new();
    let mut at = front.start;
    for line in text[front.clone()].split_inclusive('\n') {
        if let Some((key, value)) = line.split_once(':') {
            let key = key.trim();
            let value = value.trim().trim_matches(['\'', '"']);
            if !key.is_empty() && !line.starts_with([' ', '\t']) && entries.iter().all(|entry| entry.key != key) {
                let range = at..at + line.trim_end().len();
                entries.push(FrontMatterField {
                    key: key.to_owned(),
                    key_range: range.clone(),
                    value: Value::String(value.to_owned()),
                    value_range: range,
                });
            }
        }
        at += line.len();
    }
    entries
}

/// A YAML mapping in the order of the file, with the location of each key and value.
struct Entries(Vec<(Spanned<String>, Spanned<Value>)>);

impl Entries {
    fn entries(self, text: &str, front: &Range<usize>) -> Vec<FrontMatterField> {
        let range = |location: serde_saphyr::Location| {
            let number = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
            // YAML also ends lines elsewhere, so a byte offset is more reliable than a line.
            let known = number(location.span().byte_offset()).map(|offset| front.start + offset);
            let start = known.filter(|start| text.is_char_boundary(*start)).unwrap_or_else(|| {
                let line = number(Some(location.line())).unwrap_or(1);
                let column = number(Some(location.column())).unwrap_or(1);
                front.start + offset_of(&text[front.clone()], line, column)
            });
            let rest_of_line = text[start..].find('\n').unwrap_or(text.len() - start);
            let len = number(location.span().byte_len()).filter(|len| (1..=rest_of_line).contains(len));
            let len = len.filter(|len| text.is_char_boundary(start + len)).unwrap_or(rest_of_line);
            start..start + len
        };
        let entry = |(key, value): (Spanned<String>, Spanned<Value>)| FrontMatterField {
            key_range: range(key.referenced),
            key: key.value,
            value_range: range(value.referenced),
            value: value.value,
        };
        self.0.into_iter().map(entry).collect()
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Mapping;
        impl<'de> Visitor<'de> for Mapping {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping of keys to values")
            }

            fn visit_unit<E>(self) -> Result<Entries, E> {
                Ok(Entries(Vec::new()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Mapping)
    }
}
