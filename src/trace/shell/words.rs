//! The words of a script: quotes, escapes, braces, and variables that the script itself has set.

use tree_sitter::Node;

use super::script::{DEEPEST, ScriptWalk, ShellWord, UNKNOWN, children};
use crate::profile;

/// Whether a variable holds a folder's path, without white space as good as always.
fn is_folder(variable: &str) -> bool {
    let of_agents = profile::of_all(|profile| profile.folder_variables.iter().copied());
    ["HOME", "PWD"].into_iter().chain(of_agents).any(|known| known == variable)
}

impl ScriptWalk<'_> {
    /// A word, or the several of `{a,b}`.
    pub fn words(&mut self, node: Node<'_>) -> Vec<ShellWord> {
        let raw = self.source(node);
        let bare = |c: char| c.is_ascii_alphanumeric() || "/._-~{},*".contains(c);
        let word = self.word(node);
        if raw.contains('{') && !raw.contains("..") && raw.chars().all(bare) {
            return braces(raw).into_iter().map(|text| ShellWord { glob: word.glob, text }).collect();
        }
        vec![word]
    }

    pub fn word(&mut self, node: Node<'_>) -> ShellWord {
        let mut word = ShellWord::default();
        self.append(node, &mut word, 0);
        word
    }

    fn append(&mut self, node: Node<'_>, word: &mut ShellWord, depth: usize) {
        let raw = self.source(node);
        match node.kind() {
            _ if depth > DEEPEST => self.script.plain = false,
            // Brackets and braces stand alone where a pattern could: `[ab]`.
            "word" | "[" | "]" | "{" | "}" => self.bare(raw, word),
            "number" if node.named_child_count() == 0 => word.text.push_str(raw),
            "raw_string" => word.text.push_str(raw.trim_start_matches('\'').trim_end_matches('\'')),
            "string" => self.string(node, word),
            "concatenation" => children(node).into_iter().for_each(|child| self.append(child, word, depth + 1)),
            "simple_expansion" | "expansion" => self.variable(node, false, word),
            // Behind `$` or `==` words may come without a name.
            "$" => word.text.push('$'),
            "=" | "==" | "=~" => word.text.push_str(raw),
            _ => {
                self.script.plain = false;
                word.text.push(UNKNOWN);
                // Commands in a substitution are commands too.
                for child in children(node) {
                    self.statement(child, 1 + DEEPEST / 2);
                }
            }
        }
    }

    /// Text outside quotes.
    fn bare(&mut self, raw: &str, word: &mut ShellWord) {
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => word.text.extend(chars.next().filter(|next| *next != '\n')),
                '$' | '`' | '(' | ')' | '<' | '>' | '"' | '\'' => {
                    self.script.plain = false;
                    word.text.push(UNKNOWN);
                }
                c => {
                    word.glob |= matches!(c, '*' | '?' | '[');
                    word.text.push(c);
                }
            }
        }
    }

    /// Text in double quotes, in which only `$`, a back-quote and a backslash before some characters mean anything.
    fn string(&mut self, node: Node<'_>, word: &mut ShellWord) {
        let mut at = node.start_byte() + 1;
        let end = node.end_byte().saturating_sub(1);
        for child in children(node).into_iter().filter(|child| child.is_named() && child.kind() != "string_content") {
            self.quoted(at, child.start_byte(), word);
            match child.kind() {
                "simple_expansion" | "expansion" => self.variable(child, true, word),
                _ => self.append(child, word, 0),
            }
            at = child.end_byte();
        }
        self.quoted(at, end, word);
    }

    fn quoted(&mut self, from: usize, to: usize, word: &mut ShellWord) {
        let mut chars = self.text.get(from..to).unwrap_or_default().chars().peekable();
        while let Some(c) = chars.next() {
            match (c, chars.peek()) {
                ('\\', Some('\n')) => _ = chars.next(),
                ('\\', Some('$' | '`' | '"' | '\\')) => word.text.extend(chars.next()),
                _ => word.text.push(c),
            }
        }
    }

    /// `$name` or `${name}`, by what the script set it to.
    fn variable(&mut self, node: Node<'_>, quoted: bool, word: &mut ShellWord) {
        let parts = children(node);
        let (name, plain) = match parts.as_slice() {
            [sign, name] if sign.kind() == "$" => (*name, true),
            [open, name, close] if open.kind() == "${" && close.kind() == "}" => (*name, true),
            _ => (node, false),
        };
        if !plain || !matches!(name.kind(), "variable_name" | "special_variable_name") {
            // `${x:-$(rm y)}` can run something.
            self.script.plain = false;
        }
        match self.variables.get(self.source(name)) {
            Some(value) if quoted || !value.text.contains(char::is_whitespace) => {
                word.glob |= value.glob && !quoted;
                word.text.push_str(&value.text);
            }
            // Outside quotes it becomes several words.
            Some(_) => {
                self.script.plain = false;
                word.text.push(UNKNOWN);
            }
            // Some folder; a path below it says all the same where it leads.
            None if is_folder(self.source(name)) => {
                word.text.push_str("/~");
                word.text.push_str(self.source(name));
            }
            None => word.text.push(UNKNOWN),
        }
    }
}

/// `x/{a,b}/y` as `x/a/y` and `x/b/y`. Nested braces stay as they are.
fn braces(raw: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut rest = raw;
    while let Some((before, inner, after)) = rest
        .split_once('{')
        .and_then(|(before, rest)| rest.split_once('}').map(|(inner, after)| (before, inner, after)))
    {
        let alternatives: Vec<&str> = inner.split(',').collect();
        if alternatives.len() < 2 || inner.contains('{') || words.len() * alternatives.len() > 1_000 {
            break;
        }
        words = words
            .iter()
            .flat_map(|word| alternatives.iter().map(move |choice| format!("{word}{before}{choice}")))
            .collect();
        rest = after;
    }
    words.into_iter().map(|word| word + rest).collect()
}
