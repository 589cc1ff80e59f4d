//! `[mocks]`: commands that are answered from files in place of the real ones.
//!
//! ```toml
//! [[mocks.command.gh]]
//! args = '^pr view 12\b'
//! stdout_file = "evals/mocks/pr-12.json"
//!
//! [[mocks.command.gh]]
//! args = '^auth status'
//! stderr = "You are not logged in."
//! exit_code = 1
//! ```

use std::collections::BTreeMap;
use std::fmt;

use regex::{Regex, RegexBuilder};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use toml::Spanned;

use crate::profile::{PROFILES, Profile, SHELLS};
use crate::settings::keys::keys;
use crate::settings::problems::Problems;
use crate::text::diagnostic::SourceLocation;
use crate::text::relative_path::RelativePath;

/// The largest compiled pattern for arguments, in bytes.
const LARGEST_PATTERN: usize = 1 << 20;

/// An answer of a command, as a case or the settings write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandAnswer {
    /// The name of the command, as it is on the PATH.
    pub command: String,
    /// A regular expression for [`line`](crate::trial::mock::line) of the arguments; `None` for all.
    pub args: Option<String>,
    pub stdout: AnswerText,
    pub stderr: String,
    pub exit_code: u8,
    /// Where it is written.
    #[serde(skip)]
    pub place: SourceLocation,
}

impl CommandAnswer {
    /// The file with its output, if it has one.
    pub fn source(&self) -> Option<&RelativePath> {
        match &self.stdout {
            AnswerText::File(path) => Some(path),
            AnswerText::Here(_) => None,
        }
    }
}

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
                f.write_str("an answer, or a list of answers")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Answers, A::Error> {
                AnswerKeys::deserialize(MapAccessDeserializer::new(map)).map(|one| Answers(vec![one]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Answers, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Answers)
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

impl AnswerKeys {
    /// The answer of this command.
    fn of(self, command: &Spanned<String>, problems: &mut Problems<'_>) -> CommandAnswer {
        let Self { args, stdout, stdout_file, stderr, exit_code } = self;
        if let Some((args, Err(why))) = args.as_ref().map(|args| (args, pattern(args.get_ref()))) {
            problems.add(args.span(), format!("`args`: {why}"));
        }
        let exit_code = exit_code.and_then(|code| problems.number("exit_code", &code, 0..=255));
        if let (Some(_), Some(file)) = (&stdout, &stdout_file) {
            problems.add(file.span(), "`stdout` and `stdout_file` both say the output; remove one".to_owned());
        }
        let file = problems.paths(stdout_file, "the output").pop();
        CommandAnswer {
            command: command.get_ref().clone(),
            args: args.map(Spanned::into_inner),
            stdout: file.map_or_else(|| AnswerText::Here(stdout.unwrap_or_default()), AnswerText::File),
            stderr: stderr.unwrap_or_default(),
            exit_code: exit_code.unwrap_or_default(),
            place: problems.place(command.span()),
        }
    }
}

/// A pattern for arguments.
pub fn pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(LARGEST_PATTERN).build().map_err(|error| error.to_string())
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
