//! Commands and tools of MCP servers that are answered from files of the repository, and the record of their calls.

use std::collections::BTreeMap;
use std::ffi::OsString;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::text::escape;
use crate::trace::is_zero;

/// An answer with the content of its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadyAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<String>,
    #[serde(serialize_with = "as_base64", deserialize_with = "from_base64")]
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub exit_code: u8,
}

fn as_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MockCall {
    /// The command, or `<server>/<tool>`.
    pub name: String,
    /// The arguments as `line` writes them, or the input of the tool in JSON; only its start if it is long.
    pub input: String,
    /// Whether a file had an answer to it.
    pub answered: bool,
    /// How its input is not as a mock expects, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violated: Option<String>,
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
    fn calls_without_an_answer_are_named_once() {
        let call = |input: &str, answered| MockCall {
            name: "gh".to_owned(),
            input: input.to_owned(),
            answered,
            violated: None,
        };
        let calls = MockCalls { calls: vec![call("a", false), call("b", true), call("a", false)], lost: 0 };
        assert_eq!(calls.unanswered(), [("gh a".to_owned(), 2)]);
    }
}
