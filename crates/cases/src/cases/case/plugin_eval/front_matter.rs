//! A Markdown file whose options are YAML between two lines `---`.

use crate::cases::case::document::{Document, Node, NodeValue};
use crate::text::diagnostic::Code;

/// The line before and after the options.
const FENCE: &str = "---";

/// The parts of a file.
pub(super) struct FrontMatter {
    /// The options with the bytes of the file before them, so that places are those of the file; empty if there are none.
    pub yaml: Vec<u8>,
    /// The rest.
    pub body: String,
    is_open: bool,
}

impl FrontMatter {
    pub fn split(mut bytes: Vec<u8>) -> Self {
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut lines = text.split_inclusive('\n');
        let is_fence = |line: &str| line.trim_end() == FENCE;
        let Some(first) = lines.next().filter(|line| is_fence(line)) else {
            return Self { yaml: Vec::new(), body: text.to_owned(), is_open: false };
        };
        let mut length = first.len();
        let mut is_open = true;
        for line in lines {
            if is_fence(line) {
                is_open = false;
                let body = text[length + line.len()..].to_owned();
                // What is not UTF-8 is longer in `text`; the reader of the options reports it.
                let start = bytes.iter().position(|byte| *byte == b'-').unwrap_or_default();
                bytes.truncate(start + length);
                // A comment in YAML.
                bytes[start] = b'#';
                return Self { yaml: bytes, body, is_open };
            }
            length += line.len();
        }
        Self { yaml: bytes, body: String::new(), is_open }
    }

    /// The options in a document of `yaml`: an object, which is empty if there are none. `None` with a problem.
    pub fn root(&self, document: &mut Document<'_>) -> Option<Node> {
        if self.is_open {
            document.problem(Code::YamlSyntax, 0..FENCE.len(), "the front matter has no end: a second line `---`");
            return None;
        }
        let empty = || Some(Node { value: NodeValue::Map(Vec::new()), range: 0..0 });
        let text = String::from_utf8_lossy(&self.yaml);
        if text
            .lines()
            .all(|line| line.trim().is_empty() || line.trim_start_matches('\u{feff}').trim().starts_with('#'))
        {
            return empty();
        }
        let root = document.root()?;
        match root.value {
            NodeValue::Map(_) => {
                document.duplicate_keys(&root, &[]);
                Some(root)
            }
            NodeValue::Null => empty(),
            _ => {
                document.wrong_type("the front matter", "an object", &root);
                None
            }
        }
    }
}
