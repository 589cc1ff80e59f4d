//! A skill: a directory with a SKILL.md, read by the rules of agentskills.io.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::LONGEST_ID;
use crate::text::node::{self, Node, NodeEntry, NodeValue, SyntaxProblem};
use crate::text::word_enum::word_enum;

/// The file that makes a directory a skill.
pub const SKILL_FILE: &str = "SKILL.md";

/// The front matter key that stops models from calling a skill.
pub const USER_ONLY: &str = "disable-model-invocation";

/// The front matter key that stops users from calling a skill.
pub const USER_INVOCABLE: &str = "user-invocable";

/// The byte order mark.
const MARK: char = '\u{feff}';

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
    /// What of its front matter agents read in different ways.
    pub faults: Vec<Fault>,
}

impl Skill {
    /// What of its front matter may keep an agent that nobody measured from offering it.
    pub fn may_be_left_out(&self) -> Option<&'static str> {
        let fault = self.faults.first().map(|fault| fault.as_str());
        fault.or_else(|| self.description.is_empty().then_some("no description"))
    }
}

/// A parsed SKILL.md.
#[derive(Clone, Debug)]
pub struct SkillFile {
    /// The skill it describes.
    pub skill: Skill,
    /// The fields of the front matter in the order of the file, with their bytes in it.
    pub entries: Vec<NodeEntry>,
    /// The bytes of the body.
    pub body: Range<usize>,
    /// Problems of the file's form. `lint` finds those of its values.
    pub problems: Vec<Diagnostic>,
}

/// The slug of a skill from what a user names it by: its name, its directory, that of its cases, or a file in either.
pub fn named(text: &str) -> String {
    let path = Path::new(text);
    let is_file = path.ends_with(SKILL_FILE) || path.extension().is_some_and(|end| end == "csv");
    let path = if is_file { path.parent().unwrap_or(path) } else { path };
    slug(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
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

/// The skill's own name in `plugin:skill`, as agents write the skills of plugins.
pub fn of_plugin(name: &str) -> Option<&str> {
    Some(name.rsplit_once(':')?.1.trim()).filter(|own| !own.is_empty())
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
        let mut faults = Vec::new();
        let entries = read_front_matter(&path, &text, front, &mut problems, &mut faults);
        let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name =
            string_field(&entries, "name").filter(|name| !slug(name).is_empty()).unwrap_or(&folder_name).to_owned();
        let slug = Some(slug(&name)).filter(|slug| !slug.is_empty()).unwrap_or_else(|| UNNAMED.to_owned());
        let (user_only, model_only) = (is_bool(&entries, USER_ONLY, true), is_bool(&entries, USER_INVOCABLE, false));
        let description = string_field(&entries, "description").unwrap_or_default().to_owned();
        let skill = Skill { name, slug, description, folder, user_only, model_only, faults };
        Self { skill, entries, body, problems }
    }
}

/// The text of a field, if it is a string.
fn string_field<'a>(entries: &'a [NodeEntry], key: &str) -> Option<&'a str> {
    entries.iter().find(|entry| entry.key == key)?.value.text().map(str::trim)
}

/// Whether a field has this value. Claude Code accepts the value in quotes too.
fn is_bool(entries: &[NodeEntry], key: &str, value: bool) -> bool {
    let mut values = entries.iter().filter(|entry| entry.key == key).map(|entry| &entry.value);
    values.any(|found| found.value == NodeValue::Flag(value) || found.text() == Some(&value.to_string()))
}

/// The fields of the front matter in the bytes `front`, with its problems and what agents read in different ways.
fn read_front_matter(
    path: &Path,
    text: &str,
    front: Option<Range<usize>>,
    problems: &mut Vec<Diagnostic>,
    faults: &mut Vec<Fault>,
) -> Vec<NodeEntry> {
    let place = |range: Range<usize>| SourceLocation::in_text(path, text.as_bytes(), range);
    let mut report = |code, range, fault, why: &str, fix: &str| {
        faults.push(fault);
        problems.push(Diagnostic::new(code, place(range), format!("{why} ({})", fault.as_str())).help(fix));
    };
    let Some(front) = front else {
        let first_line = 0..text.find('\n').unwrap_or(text.len());
        let (why, fix) = if text[first_line.clone()].trim_end() == "---" {
            ("the front matter is not closed: expected a second line `---`", "write a line `---` behind its last key")
        } else {
            (
                "SKILL.md has no front matter: expected a first line `---`, YAML, and a closing line `---`",
                "start the file with\n---\nname: <the directory's name>\ndescription: <what it does and when to use it>\n---",
            )
        };
        report(Code::FrontMatterMissing, first_line, Fault::Missing, why, fix);
        return Vec::new();
    };
    if text.starts_with(MARK) {
        let fix = "save the file as UTF-8 without a byte order mark";
        report(
            Code::FrontMatterYaml,
            0..MARK.len_utf8(),
            Fault::ByteOrderMark,
            "some agents do not find the front matter",
            fix,
        );
    }
    let (entries, problem) = match fields(&text[front.clone()], front.start) {
        Ok(fields) => fields,
        Err(problem) => (loose_entries(text, &front), Some((problem, fault_of(&text[front.clone()])))),
    };
    if let Some((SyntaxProblem { range, message, help }, fault)) = problem {
        let range = range.start + front.start..range.end + front.start;
        report(Code::FrontMatterYaml, range, fault, &message, help.unwrap_or("put quotes around the value"));
    }
    if let Some(description) = entries.iter().find(|entry| entry.key == "description") {
        if description.value.elements().is_some() {
            faults.push(Fault::List);
        }
        problems.extend(changed_description(path, text, description.value.range.clone()));
    }
    entries
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

/// The fields of a YAML mapping, and the problem of a key that it has twice: most agents read the last.
type Fields = (Vec<NodeEntry>, Option<(SyntaxProblem, Fault)>);

/// The fields of a YAML mapping that begins at the byte `start` of its file.
fn fields(yaml: &str, start: usize) -> Result<Fields, SyntaxProblem> {
    let Some(mut root) = node::parse_yaml(yaml)? else { return Ok((Vec::new(), None)) };
    let repeated = root.repeated_keys(&[]).first().map(|entry| {
        let help = Some("remove one of the two");
        let message = format!("duplicate key `{}`", entry.key);
        (SyntaxProblem { range: entry.key_range.clone(), message, help }, Fault::Repeated)
    });
    if !root.is_map() && root.value != NodeValue::Null {
        let message = format!("the front matter is {}; expected keys and values", root.kind());
        let help = Some("write `name: ` and `description: `, each on a line of its own");
        return Err(SyntaxProblem { range: root.range, message, help });
    }
    root.shift(start);
    let mut entries = if let NodeValue::Map(entries) = root.value { entries } else { Vec::new() };
    if repeated.is_some() {
        let mut later = HashSet::new();
        entries.reverse();
        entries.retain(|entry| later.insert(entry.key.clone()));
        entries.reverse();
    }
    Ok((entries, repeated))
}

/// A text without the quotes around it, if these are all that it has.
fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote).filter(|inner: &&str| !inner.contains(quote));
    ['"', '\''].into_iter().find_map(inner).unwrap_or(text)
}

/// The `key: value` lines of front matter that is not YAML. Other runners read it so, and its cases still run.
fn loose_entries(text: &str, front: &Range<usize>) -> Vec<NodeEntry> {
    let mut entries = Vec::new();
    let mut known = HashSet::new();
    let mut at = front.start;
    for line in text[front.clone()].split_inclusive('\n') {
        if let Some((key, value)) = line.split_once(':') {
            let (key, value) = (key.trim(), unquoted(value.trim()));
            if !key.is_empty() && !line.starts_with([' ', '\t']) && known.insert(key) {
                let range = at..at + line.trim_end().len();
                let value = Node { value: NodeValue::Text(value.to_owned()), range: range.clone() };
                entries.push(NodeEntry { key: key.to_owned(), key_range: range, value });
            }
        }
        at += line.len();
    }
    entries
}

// Front matter that is not YAML, and what agents make of it. Agents have parsers of their own, and many skip a fault.

word_enum! {
    /// A fault of front matter that agents read in different ways.
    pub enum Fault {
        /// A value without quotes has `: `.
        Colon = "`: ` in a value without quotes",
        /// A value without quotes ends with `:`.
        ColonAtEnd = "`:` at the end of a value without quotes",
        /// A value without quotes begins with `[`, `{`, `@` or a backtick.
        Symbol = "a value that begins with a bracket, `@` or a backtick",
        /// The same with `*`, `%`, `|` or `>`, and something behind it.
        Mark = "a value that begins with `*` or `%`",
        /// The same with `!`.
        Tag = "a value that begins with `!`",
        /// A quote that does not end where its value ends.
        Quote = "a quote that does not end its value",
        /// A line is indented with tabs.
        Tab = "tabs as indentation",
        /// A key twice.
        Repeated = "a duplicate key",
        /// A description that is a list.
        List = "a list as the description",
        /// No front matter.
        Missing = "no front matter",
        /// A byte order mark before it.
        ByteOrderMark = "a byte order mark at the start of the file",
        /// Anything else that is not YAML.
        Other = "front matter that is not YAML",
    }
}

/// The first fault of front matter, `text`, that a parser of YAML refuses.
fn fault_of(text: &str) -> Fault {
    let of_line = |line: &str| {
        let content = line.trim_start();
        if line[..line.len() - content.len()].contains('\t') {
            return Some(Fault::Tab);
        }
        let (_, value) = content.split_once(':').filter(|(key, _)| !key.contains(' '))?;
        let value = value.trim();
        match value.chars().next()? {
            quote @ ('"' | '\'') if !value[1..].ends_with(quote) || value[1..value.len() - 1].contains(quote) => {
                Some(Fault::Quote)
            }
            '"' | '\'' => None,
            '[' | '{' if value.ends_with([']', '}']) => None,
            '[' | '{' | '@' | '`' => Some(Fault::Symbol),
            '*' | '%' => Some(Fault::Mark),
            '!' => Some(Fault::Tag),
            _ if value.contains(": ") => Some(Fault::Colon),
            _ => value.ends_with(':').then_some(Fault::ColonAtEnd),
        }
    };
    text.lines().find_map(of_line).unwrap_or(Fault::Other)
}

/// The warnings of a `description`, at `value` of the file, that every parser changes in silence.
fn changed_description(path: &Path, text: &str, value: Range<usize>) -> Option<Diagnostic> {
    let start = text[..value.start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let (_, written) = line.split_once(':')?;
    let written = written.trim_start();
    let first = written.chars().next()?;
    if "\"'|>".contains(first) {
        return None;
    }
    let at = start + line.len() - written.len();
    let (range, what) = match written.find(" #") {
        Some(hash) => {
            (at + hash + 1..start + line.len(), "` #` begins a comment: agents do not see the rest of the description")
        }
        None if first == '&' => {
            (at..at + 1, "`&` begins the name of an anchor: agents do not see the first word of the description")
        }
        None => return None,
    };
    let problem = Diagnostic::new(Code::CutDescription, SourceLocation::in_text(path, text.as_bytes(), range), what);
    Some(problem.help("put quotes around the description"))
}
