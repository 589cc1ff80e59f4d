//! `[mcp]`: the MCP server of skills, the built-in one or the repository's own. `[[mock]]`: what is answered from files.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use regex::{Regex, RegexBuilder};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use crate::profile::{PROFILES, Profile, SHELLS};
use crate::settings::Settings;
use crate::settings::keys::Untrusted::Refused;
use crate::settings::keys::{defaults, keys};
use crate::settings::problems::{Problems, filled};
use crate::text::diagnostic::SourceLocation;
use crate::text::name::RelativePath;
use crate::text::word_enum::word_enum;

/// The largest limit on files of the built-in server, in MiB.
const MOST_FILE_MB: u64 = 1024;

/// The variables that configure the built-in server. skilljack has the first too.
const MAX_FILE: &str = "MAX_FILE_SIZE_MB";
const RESULT: &str = "SKILLS_RESULT";
const WORDING: &str = "SKILLS_WORDING";

defaults! {
    /// Which MCP server offers the skills, and how agents load it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct McpSettings {
        /// The repository's own server, which is tested instead of the built-in one.
        pub own: Option<OwnServer> = None,
        /// The configuration of the built-in server.
        pub built_in: BuiltIn = BuiltIn::default(),
        /// Whether claude waits for the server and shows its tools to the model from the start, even if the model searches for
        /// other tools.
        pub always_load: bool = true,
    }
}

/// The configuration of the built-in server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuiltIn {
    /// The answer of the tool `skill`.
    pub result: SkillResult,
    /// How urgently models are asked to load skills.
    pub wording: Wording,
    /// The size of the largest file that is served, in MiB; `None` for a quarter of one.
    pub max_file_mb: Option<u32>,
}

word_enum! {
    /// The answer of the tool `skill`.
    #[derive(Default)]
    pub enum SkillResult {
        /// The skill's directory, the body of its SKILL.md, and the list of its files.
        #[default]
        Body = "body",
        /// The whole SKILL.md.
        Raw = "raw",
    }
}

word_enum! {
    /// How urgently models are asked to load skills.
    #[derive(Default)]
    pub enum Wording {
        /// When a skill fits.
        #[default]
        Mild = "mild",
        /// At once, before all else, as the server skilljack does.
        Skilljack = "skilljack",
    }
}

impl BuiltIn {
    /// The size of the largest file that is served, in bytes.
    pub fn max_file(&self) -> u64 {
        self.max_file_mb.map_or(256 * 1024, |mb| u64::from(mb) * 1024 * 1024)
    }

    /// The configuration by the variables that [`Self::chosen`] names. An error names the variable.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let mut built_in = Self::default();
        for name in [RESULT, WORDING, MAX_FILE] {
            let Some(value) = get(name).filter(|value| !value.is_empty()) else { continue };
            let set = match name {
                RESULT => value.parse().map(|result| built_in.result = result),
                WORDING => value.parse().map(|wording| built_in.wording = wording),
                _ => match value.parse::<i64>().map(|mb| (mb, u32::try_from(mb).unwrap_or_default())) {
                    Ok((_, mb)) if (1..=MOST_FILE_MB).contains(&mb.into()) => {
                        built_in.max_file_mb = Some(mb);
                        Ok(())
                    }
                    Ok((mb, _)) => Err(format!("it is {mb}; expected 1 to {MOST_FILE_MB}")),
                    Err(_) => Err(format!("{value:?} is not a whole number")),
                },
            };
            set.map_err(|why| format!("{name}: {why}"))?;
        }
        Ok(built_in)
    }

    /// What differs from the defaults: the key in the settings, the variable of the server, and the value.
    pub fn chosen(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut chosen = Vec::new();
        if self.result != SkillResult::default() {
            chosen.push(("result", RESULT, self.result.to_string()));
        }
        if self.wording != Wording::default() {
            chosen.push(("wording", WORDING, self.wording.to_string()));
        }
        chosen.extend(self.max_file_mb.map(|mb| ("max_file_mb", MAX_FILE, mb.to_string())));
        chosen
    }
}

/// An MCP server of skills that belongs to the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnServer {
    /// The program: on the PATH, or from the repository's root if it has a `/`.
    pub command: String,
    /// Its arguments; `{skills}` stands for the directory of the skills, `{root}` for the repository's root.
    pub args: Vec<String>,
    /// Variables added to the agent's environment, with the same placeholders.
    pub env: BTreeMap<String, String>,
    pub names: ToolNames,
}

/// The names of the MCP server of skills and its tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolNames {
    pub server: String,
    /// The tool that loads a skill, by `name`.
    pub skill: String,
    /// The tool that reads files of a skill, by `skill` and `path`.
    pub resource: String,
}

impl Default for ToolNames {
    fn default() -> Self {
        Self { server: "skilljack".to_owned(), skill: "skill".to_owned(), resource: "skill-resource".to_owned() }
    }
}

impl ToolNames {
    pub fn skill_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.skill)
    }

    pub fn resource_tool(&self) -> String {
        format!("mcp__{}__{}", self.server, self.resource)
    }
}

keys! {
    McpKeys of "[mcp]" {
        #[serde(default, deserialize_with = "filled")]
        command: String as Refused("the sandbox would show the paths in the arguments and variables of this server"), "the built-in server", "your own server: see [the MCP server](mcp.md)";
        args: Vec<String>, "none", "its arguments; `{skills}` is the directory with the skills";
        env: BTreeMap<String, String>, "none", "its variables";
        name: Spanned<String>, "`skilljack`", "the name by which agents know it";
        tool: Spanned<String>, "`skill`", "its tool that loads a skill";
        resource_tool: Spanned<String>, "`skill-resource`", "its tool that reads a file of a skill";
        result: Spanned<String>, "`\"body\"`", "how the built-in server returns a skill; `\"raw\"` is the unchanged SKILL.md",
            |to, result, problems| to.mcp.built_in.result = problems.parsed(&result).unwrap_or_default();
        wording: Spanned<String>, "`\"mild\"`", "how urgently it asks to load a skill; or `\"skilljack\"`",
            |to, wording, problems| to.mcp.built_in.wording = problems.parsed(&wording).unwrap_or_default();
        max_file_mb: Spanned<i64>, "0.25", "the largest file that it serves, in MiB",
            |to, size, problems| to.mcp.built_in.max_file_mb = problems.number("max_file_mb", &size, 1..=MOST_FILE_MB);
        always_load: bool, "`true`", "whether agents that search for tools have these from the start", |to, flag, _| to.mcp.always_load = flag;
    }
}

impl Settings {
    /// Applies the table, which is at `range`.
    pub(super) fn apply_mcp(&mut self, range: Range<usize>, mut table: McpKeys, problems: &mut Problems<'_>) {
        let texts = [&table.result, &table.wording].into_iter().flatten().map(Spanned::span);
        for range in texts.chain(table.max_file_mb.as_ref().map(Spanned::span)).filter(|_| table.command.is_some()) {
            problems.add(range, "this is said to the built-in server, and `command` starts another".to_owned());
        }
        table.apply(self, problems);
        let McpKeys { command, args, env, name, tool, resource_tool, .. } = table;
        let (written, (args, env)) = ([name, tool, resource_tool], (args.unwrap_or_default(), env.unwrap_or_default()));
        let Some(command) = command else {
            if written.iter().any(Option::is_some) || !args.is_empty() || !env.is_empty() {
                let only = "`result`, `wording`, `max_file_mb` and `always_load`";
                problems.add(range, format!("`command` is missing: of the built-in server only {only} can be chosen"));
            }
            return;
        };
        let mut names = ToolNames::default();
        for (written, name) in written.into_iter().zip([&mut names.server, &mut names.skill, &mut names.resource]) {
            let Some(written) = written else { continue };
            if !is_tool_name(written.get_ref()) {
                let expected = "is not a name for a server or tool: use letters, digits, `-` and `_`";
                problems.add(written.span(), format!("{:?} {expected}", written.get_ref()));
            }
            *name = written.into_inner();
        }
        self.mcp.own = Some(OwnServer { command, args, env, names });
    }
}

/// Agents join the names of a server and a tool, and replace other characters in their own ways.
fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

// `[mocks]`: commands that are answered from files in place of the real ones.
//
// ```toml
// [[mocks.command.gh]]
// args = '^pr view 12\b'
// stdout_file = "evals/mocks/pr-12.json"
//
// [[mocks.command.gh]]
// args = '^auth status'
// stderr = "You are not logged in."
// exit_code = 1
// ```

/// The largest compiled pattern for arguments, in bytes.
const LARGEST_PATTERN: usize = 1 << 20;

/// An answer of a command, as a case or the settings write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandAnswer {
    /// The name of the command, as it is on the PATH.
    pub command: String,
    /// A regular expression for [`line`](crate::trial::input_file::line) of the arguments; `None` for all.
    pub args: Option<String>,
    pub stdout: AnswerText,
    pub stderr: String,
    pub exit_code: u8,
    /// A regular expression for the standard input; `None` if the call reads none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Files with what the call writes, by the paths where it writes: they may have groups of `args`, as `$1`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, RelativePath>,
    /// How long the call takes, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
    /// To how many calls of a trial it is given; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Whether the real program answers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub passthrough: bool,
    /// Where it is written.
    #[serde(skip)]
    pub place: SourceLocation,
}

impl CommandAnswer {
    /// One that prints nothing and ends well.
    pub fn new(command: String, place: SourceLocation) -> Self {
        let (stdout, stderr) = (AnswerText::Here(String::new()), String::new());
        let (args, exit_code, stdin, files, delay_ms, times, passthrough) = Default::default();
        Self { command, args, stdout, stderr, exit_code, stdin, files, delay_ms, times, passthrough, place }
    }

    /// The files with what it prints and writes.
    pub fn sources(&self) -> impl Iterator<Item = &RelativePath> {
        let output = match &self.stdout {
            AnswerText::File(path) => Some(path),
            AnswerText::Here(_) => None,
        };
        output.into_iter().chain(self.files.values())
    }

    /// What it says besides that the real program answers, if that is what it says.
    pub fn against_passthrough(&self) -> bool {
        let Self { stdout, stderr, exit_code, files, .. } = self;
        let is_silent = *stdout == AnswerText::Here(String::new()) && stderr.is_empty();
        self.passthrough && !(is_silent && *exit_code == 0 && files.is_empty())
    }
}

/// What is said of an answer that has its own output and the real program's.
pub const PASSES_AND_ANSWERS: &str =
    "`passthrough` has the real program answer, so the answer has no output of its own";

/// The longest delay, in milliseconds: a day.
pub const LONGEST_DELAY: u64 = 86_400_000;

/// The most calls to which an answer may be limited.
pub const MOST_TIMES: u64 = 1000;

/// Where a text is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum AnswerText {
    Here(String),
    /// In a file, from the repository's root. It need not be text.
    File(RelativePath),
}

keys! {
    #[serde(expecting = "a table with `command`")]
    MocksKeys of "[mocks]" {
        command: BTreeMap<Spanned<String>, Answers>, "", "", |to, commands, problems| for (command, Answers(answers)) in commands {
            if let Some(why) = name_problem(command.get_ref()) {
                problems.add(command.span(), format!("{:?} {why}", command.get_ref()));
            } else {
                to.mocks.extend(answers.into_iter().map(|answer| answer.of(&command, problems)));
            }
        };
    }
}

keys! {
    AnswerKeys of "[mocks.command.<name>]" {
        args: Spanned<String>, "every call",
            "a regular expression for the arguments of a command that is [answered from files](../mocks.md)";
        stdout: String, "none", "what it prints";
        stdout_file: Spanned<String>, "none", "a file with that, from the repository's root";
        stderr: String, "none", "what it prints to standard error";
        exit_code: Spanned<i64>, "0", "its exit code";
        stdin: Spanned<String>, "any, and unread", "a regular expression for what it reads from standard input";
        files: BTreeMap<String, Spanned<String>>, "none",
            "files with what it writes, by the paths where it writes, which may have groups of `args`";
        delay_ms: Spanned<i64>, "0", "how long it takes, in milliseconds";
        times: Spanned<i64>, "every call", "to how many calls of a trial it is given";
        passthrough: Spanned<bool>, "`false`", "whether the real program answers";
    }
}

/// The answers of a command: a table, or a list of tables.
#[derive(Debug)]
struct Answers(Vec<AnswerKeys>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = Answers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an answer, or a list with answers")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Answers, A::Error> {
                AnswerKeys::deserialize(MapAccessDeserializer::new(map)).map(|one| Answers(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Answers, A::Error> {
                let answers = Vec::deserialize(SeqAccessDeserializer::new(list))?;
                // Nobody would hear that this command is no mock.
                if answers.is_empty() { Err(A::Error::invalid_length(0, &self)) } else { Ok(Answers(answers)) }
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

impl AnswerKeys {
    /// The answer of this command.
    fn of(self, command: &Spanned<String>, problems: &mut Problems<'_>) -> CommandAnswer {
        let Self { args, stdout, stdout_file, stderr, exit_code, stdin, files, delay_ms, times, passthrough } = self;
        for (key, text) in [("args", &args), ("stdin", &stdin)] {
            if let Some((text, Err(why))) = text.as_ref().map(|text| (text, pattern(text.get_ref()))) {
                problems.add(text.span(), format!("`{key}`: {why}"));
            }
        }
        let exit_code = exit_code.and_then(|code| problems.number("exit_code", &code, 0..=255));
        let delay_ms = delay_ms.and_then(|delay| problems.number("delay_ms", &delay, 0..=LONGEST_DELAY));
        let times = times.and_then(|times| problems.number("times", &times, 1..=MOST_TIMES));
        if let (Some(_), Some(file)) = (&stdout, &stdout_file) {
            problems.add(file.span(), "`stdout` and `stdout_file` both say the output; remove one".to_owned());
        }
        let file = problems.paths(stdout_file, "the output").pop();
        let files = files.unwrap_or_default();
        for (to, from) in &files {
            if let Some(why) = target_problem(to, args.as_ref().map(|args| args.get_ref().as_str())) {
                problems.add(from.span(), why);
            }
        }
        let files = files.into_iter();
        let files = files.filter_map(|(to, from)| Some((to, problems.paths(Some(from), "a file").pop()?))).collect();
        let answer = CommandAnswer {
            args: args.map(Spanned::into_inner),
            stdout: file.map_or_else(|| AnswerText::Here(stdout.unwrap_or_default()), AnswerText::File),
            stderr: stderr.unwrap_or_default(),
            exit_code: exit_code.unwrap_or_default(),
            stdin: stdin.map(Spanned::into_inner),
            files,
            delay_ms,
            times,
            passthrough: passthrough.as_ref().is_some_and(|passes| *passes.get_ref()),
            ..CommandAnswer::new(command.get_ref().clone(), problems.place(command.span()))
        };
        if let Some(key) = passthrough.filter(|_| answer.against_passthrough()) {
            problems.add(key.span(), PASSES_AND_ANSWERS.to_owned());
        }
        answer
    }
}

/// A pattern for arguments.
pub fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(LARGEST_PATTERN).build().map_err(|error| {
        // The lines before show the pattern, which its place does too.
        let error = error.to_string();
        let why = error.lines().last().unwrap_or_default();
        let why = why.strip_prefix("error: ").unwrap_or(why);
        format!("the pattern {text:?} does not compile: {why} (patterns of mocks have no look-around and no back-references)")
    })
}

/// What is wrong with a path at which an answer writes a file, for a call with arguments of this pattern.
pub fn target_problem(path: &str, args: Option<&str>) -> Option<String> {
    if path.is_empty() {
        return Some("the path of a file that a call writes is empty".to_owned());
    }
    let pattern = args.and_then(|args| pattern(args).ok());
    let is_group = |name: &str| {
        let names = || pattern.iter().flat_map(Regex::capture_names);
        name.parse().map_or_else(|_| names().any(|known| known == Some(name)), |number: usize| number < names().count())
    };
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('$') {
        // As the expansion of a match reads it: `$$`, `${name}`, or the longest name.
        rest = after.strip_prefix('$').unwrap_or(after);
        if rest.len() < after.len() {
            continue;
        }
        let name = match after.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some((name, _)) => name,
            None => &after[..after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len())],
        };
        if !name.is_empty() && !is_group(name) {
            return Some(format!(
                "the path {path:?} has `${name}`, and `args` has no such group; write `${{1}}` for the first"
            ));
        }
    }
    None
}

/// Why no command of this name can be answered from files; `None` if one can.
pub fn name_problem(name: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) || name.starts_with(['-', '.', '+']) {
        return Some("is not the name of a command: use letters, digits, `-`, `_`, `.` and `+`");
    }
    if SHELLS.contains(&name) {
        return Some("is a shell, by which agents run all other commands");
    }
    if name == "env" {
        return Some("starts other programs, and so agents");
    }
    let is_agent = |profile: &&Profile| profile.program == name;
    PROFILES.iter().any(is_agent).then_some("is the program of an agent")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_their_directory_or_that_agents_need_are_refused() {
        for name in ["", "../x", "a/b", ".", "..", ".x", "-x", "a b", "a\nb", "é", "a\0"] {
            assert!(name_problem(name).is_some_and(|why| why.contains("not the name")), "{name:?}");
        }
        for name in ["bash", "sh", "zsh", "claude", "codex", "gemini", "skill-evals"] {
            assert!(name_problem(name).is_some(), "{name}");
        }
        for name in ["gh", "g++", "kubectl", "python3.12", "7z", "aws_cli"] {
            assert_eq!(name_problem(name), None, "{name}");
        }
    }
}
