//! What a case gives to its trial: files of the workspace, an earlier conversation, a user who answers, a sandbox, and answers of
//! commands and tools.

use std::collections::BTreeMap;
use std::ffi::OsString;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::text::escape;
use crate::text::name::RelativePath;
use crate::text::word_enum::word_enum;
use crate::trace::{Usage, is_zero};
use crate::trial::agent_meta::AgentMeta;

/// A file or directory that the workspace holds at the start, besides the fixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Where the agent finds it in the workspace.
    pub path: RelativePath,
    /// What it holds.
    pub content: InputContent,
}

/// The content of an [`InputFile`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum InputContent {
    /// This text.
    Text(String),
    /// A copy of this file or directory, named from the repository's root.
    Source(RelativePath),
}

impl InputFile {
    /// A copy of the file or directory at this path from the repository's root, under its own name.
    pub fn copy_of(source: RelativePath) -> Self {
        Self { path: source.name(), content: InputContent::Source(source) }
    }

    /// What it is a copy of, if it is one.
    pub fn source(&self) -> Option<&RelativePath> {
        match &self.content {
            InputContent::Source(source) => Some(source),
            InputContent::Text(_) => None,
        }
    }
}

// The conversation that a session starts from, before its prompt.

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The user.
    User,
    /// The agent.
    Assistant,
}

impl Speaker {
    /// The words for both, in the order in which they speak.
    pub const WORDS: [&'static str; 2] = ["user", "assistant"];

    /// It as a word.
    pub fn as_str(self) -> &'static str {
        Self::WORDS[usize::from(self == Self::Assistant)]
    }

    /// Who writes the message with this index: the user begins, and each message is answered.
    pub fn of_message(index: usize) -> Self {
        if index.is_multiple_of(2) { Self::User } else { Self::Assistant }
    }
}

/// A message of the conversation before the prompt, in the form that model APIs use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMessage {
    /// Who wrote it.
    pub role: Speaker,
    /// Its text.
    pub content: String,
}

// A user who answers the agent: who that is in a case, and what became of it in a trial.

/// The user of a case, whom a model plays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Persona {
    /// Who it is and how it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// What it wants.
    pub goal: String,
    /// What it knows and tells only if it is asked: values by names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Maximum number of its messages after the prompt.
    pub max_turns: u64,
}

word_enum! {
    /// How a user ended the conversation.
    pub enum UserEnding {
        /// It has what it wants.
        Done = "done",
        /// It does not expect to get what it wants.
        GaveUp = "give-up",
        /// It has written as many messages as it may.
        MaxTurns = "max-turns",
    }
}

/// The user of a trial. Its messages are among the follow-ups of the trial's case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMeta {
    /// The agent that played it.
    pub player: AgentMeta,
    /// How it ended; absent if the agent or the player failed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<UserEnding>,
    /// Why it gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The facts that it told, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<ToldFact>,
    /// The player's tokens, which are not the agent's; absent if not all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A fact whose value is in a message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldFact {
    /// Its name.
    pub fact: String,
    /// The number of the message that tells it first, from 1; the prompt is message 1.
    pub message: usize,
    /// The words of the agent that asked for it; absent if its value was already in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// Whether a text has the value of a fact: its words in their order, whatever their case, what is between them, the script of
/// digits, and how these are grouped.
#[doc(hidden)]
pub fn has_value(text: &str, value: &str) -> bool {
    has_words(&normal(text), &normal(value)) || has_words(&normal(&ungrouped(text)), &normal(&ungrouped(value)))
}

fn has_words(text: &str, value: &str) -> bool {
    // Scripts that put no space between words have no ends of words.
    let is_in_word = |c: char| c.is_alphanumeric() && c < '\u{2e80}';
    let is_cut =
        |left: Option<char>, right: Option<char>| left.is_some_and(is_in_word) && right.is_some_and(is_in_word);
    !value.is_empty()
        && text.match_indices(value).any(|(at, found)| {
            let (before, after) = (&text[..at], &text[at + found.len()..]);
            !is_cut(before.chars().next_back(), found.chars().next())
                && !is_cut(found.chars().next_back(), after.chars().next())
        })
}

/// Whether messages have the value of a fact, in one of them or in parts over several.
#[doc(hidden)]
pub fn have_value(messages: &[&str], value: &str) -> bool {
    let over_several = |between: &str| has_value(&messages.join(between), value);
    messages.iter().any(|message| has_value(message, value)) || over_several(" ") || over_several("")
}

/// The letters and digits of a text, in lower case and with the digits of ASCII; anything between them is one space.
#[doc(hidden)]
pub fn normal(text: &str) -> String {
    let text: String = text.chars().map(plain).collect();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The zeros of scripts with digits of their own, of which the nine others follow.
const ZEROS: [u32; 12] =
    [0x0660, 0x06f0, 0x07c0, 0x0966, 0x09e6, 0x0a66, 0x0ae6, 0x0b66, 0x0be6, 0x0e50, 0x17e0, 0x1_d7ce];

/// A character of full width, or a digit of another script, as that of ASCII.
fn plain(c: char) -> char {
    let code = u32::from(c);
    let ascii = match code {
        0xff01..=0xff5e => Some(code - 0xfee0),
        _ => ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&code)).map(|zero| code - zero + 0x30),
    };
    ascii.and_then(char::from_u32).unwrap_or(c)
}

/// A text without what groups the digits of its numbers: `1,200` is `1200`.
fn ungrouped(text: &str) -> String {
    let chars: Vec<char> = text.chars().map(plain).collect();
    let digits = |from: &[char]| from.iter().take_while(|c| c.is_ascii_digit()).count();
    let is_separator = |c: char| ",'’_ \u{a0}\u{202f}\u{2009}".contains(c);
    let mut in_group = false;
    let mut plain = String::new();
    for (at, c) in chars.iter().enumerate() {
        let before = chars[..at].iter().rev().take_while(|c| c.is_ascii_digit()).count();
        let starts = in_group && before == 3 || (1..=3).contains(&before);
        in_group = is_separator(*c) && starts && digits(&chars[at + 1..]) == 3 || in_group && c.is_ascii_digit();
        if !(in_group && is_separator(*c)) {
            plain.push(*c);
        }
    }
    plain
}

// What an agent may touch.

word_enum! {
    /// What the agent may touch. The words are also codex's.
    #[derive(Default)]
    pub enum Sandbox {
        /// It may read files only.
        ReadOnly = "read-only",
        /// It may also write in the workspace.
        #[default]
        WorkspaceWrite = "workspace-write",
    }
}

// Commands and tools of MCP servers that are answered from files of the repository, and the record of their calls.

/// An answer with the content of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    pub stdout: Bytes,
    pub stderr: String,
    pub exit_code: u8,
    /// A regular expression for the standard input, which is read only if an answer asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// What the call writes to files, by paths with groups of `args`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, Bytes>,
    /// How long the call takes, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_ms: u64,
    /// To how many calls it is given; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u64>,
    /// Whether the real program answers in its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passthrough: bool,
}

/// Bytes that need not be text: base64 in JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map(Self).map_err(serde::de::Error::custom)
    }
}

/// A server whose tools are answered from files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MockServer {
    /// The name of its directory.
    pub name: String,
    pub tools: Vec<MockTool>,
    /// Texts that answers insert, by their paths in that directory.
    pub fixtures: BTreeMap<String, String>,
}

/// A tool with one answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MockTool {
    pub name: String,
    /// As the real server describes it, if that is known.
    pub description: Option<String>,
    pub input_schema: Option<Map<String, Value>>,
    /// The answer, with places for parts of the input.
    pub body: String,
    /// Whether the answer is an error.
    pub is_error: bool,
    /// What the input must be, by the path of a part of it.
    pub expect: Vec<(String, Expected)>,
}

/// What a part of an input must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Expected {
    /// A value of this type of JSON.
    Type(String),
    /// A text that a regular expression of JavaScript matches.
    Pattern(String),
    /// One of these values.
    OneOf(Vec<Value>),
}

/// The calls of what was answered from files, as far as they were recorded. Whoever can call can add to the record; nobody in a
/// sandbox can take anything out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockCalls {
    /// Those that a mock saw, in the order in which they began; then those of tools that no file answers.
    pub calls: Vec<MockCall>,
    /// Parts of the record that cannot be read or were too many: that many calls, or more, may be missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}

/// A call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockCall {
    /// The command, or `<server>/<tool>`.
    pub name: String,
    /// The arguments as `line` writes them, or the input of the tool in JSON; only its start if it is long.
    pub input: String,
    /// Whether it had an answer, from a file or by the real program.
    pub answered: bool,
    /// Whether the real program answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed_through: bool,
    /// What it read from standard input; only its start if it is long. Absent if no answer asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// How its input is not as a mock expects, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violated: Option<String>,
}

/// What a real program printed, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProgramOutput {
    pub stdout: Bytes,
    pub stderr: Bytes,
    pub exit_code: u8,
}

/// A call that the real program answered, to become an answer from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    pub command: String,
    /// The arguments as `line` writes them.
    pub args: String,
    /// What it read from standard input, if it was told to.
    pub stdin: Option<String>,
    /// `None` if it printed too much, did not end, or its reader did not read all.
    pub output: Option<ProgramOutput>,
}

impl MockCalls {
    /// The calls that no file answered, each once, with how often.
    pub fn unanswered(&self) -> Vec<(String, usize)> {
        let mut all: Vec<(String, usize)> = Vec::new();
        for MockCall { name, input, .. } in self.calls.iter().filter(|call| !call.answered) {
            let call = format!("{name} {input}");
            match all.iter_mut().find(|(known, _)| *known == call) {
                Some((_, times)) => *times += 1,
                None => all.push((call, 1)),
            }
        }
        all
    }
}

/// Arguments on a line, each as a shell needs it. What is not UTF-8 becomes U+FFFD.
pub fn line(args: impl Iterator<Item = OsString>) -> String {
    args.map(|arg| escape::quoted(&arg.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    fn line_of(args: &[&str]) -> String {
        line(args.iter().map(OsString::from))
    }

    #[test]
    fn a_line_of_arguments_says_where_each_ends() {
        assert_eq!(line_of(&["pr", "view", "--json=title,body", "12"]), "pr view --json=title,body 12");
        assert_eq!(
            line_of(&["-t", "a b", "", "it's", "x\ny"]),
            r"-t 'a b' '' 'it'\''s' 'x
y'"
        );
        assert_ne!(line_of(&["a b"]), line_of(&["a", "b"]));
        assert_eq!(line([OsString::from_vec(vec![b'a', 0xff])].into_iter()), "'a\u{fffd}'");
        assert_eq!(line_of(&[]), "");
    }

    #[test]
    fn a_value_is_found_in_other_digits_in_groups_and_over_several_messages() {
        for (text, value) in [
            ("Version ２．４, please", "2.4"),
            ("النسخة ٢٫٤", "2.4"),
            ("about 1,200 of them", "1200"),
            ("1 200 000", "1200000"),
            ("1200", "1,200"),
            ("第３章", "3"),
        ] {
            assert!(has_value(text, value), "{text}: {value}");
        }
        for (text, value) in [("12,00 and 34", "1200"), ("version 24", "2.4"), ("in 2024 100 people", "2024100")] {
            assert!(!has_value(text, value), "{text}: {value}");
        }
        assert!(have_value(&["It is in Mar", "ch, the 3rd"], "March"));
        assert!(
            have_value(&["on the 3rd of", "May"], "3rd of May") && !have_value(&["on the 3rd", "or in May"], "3rd May")
        );
    }

    #[test]
    fn calls_without_an_answer_are_named_once() {
        let call = |input: &str, answered| MockCall {
            name: "gh".to_owned(),
            input: input.to_owned(),
            answered,
            ..MockCall::default()
        };
        let calls = MockCalls { calls: vec![call("a", false), call("b", true), call("a", false)], lost: 0 };
        assert_eq!(calls.unanswered(), [("gh a".to_owned(), 2)]);
    }
}
