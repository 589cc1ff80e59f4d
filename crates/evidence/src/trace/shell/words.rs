//! The words of a script: quotes, escapes, braces, and variables that the script sets.

use tree_sitter::Node;

use super::script::{MAX_DEPTH, ScriptWalk, ShellWord, UNKNOWN, children};
use crate::profile;

/// Whether a variable is the path of a directory, which almost never contains white space.
fn is_directory(variable: &str) -> bool {
    let of_agents = profile::of_all(|profile| profile.folder_variables.iter().copied());
    ["HOME", "PWD"].into_iter().chain(of_agents).any(|known| known == variable)
}

impl ScriptWalk<'_> {
    /// A word, or several words for `{a,b}`.
    pub fn words(&mut self, node: Node<'_>) -> Vec<ShellWord> {
        let raw = self.source(node);
        let word = self.word(node);
        let is_plain = raw.chars().all(|c| c.is_ascii_alphanumeric() || "/._-~{},*".contains(c));
        if is_plain && raw.contains('{') && !raw.contains("..") {
            return expand_braces(raw).into_iter().map(|text| ShellWord { glob: word.glob, text }).collect();
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
            _ if depth > MAX_DEPTH => self.script.plain = false,
            // The grammar has brackets and braces as words of their own: `[ab]`.
            "word" | "[" | "]" | "{" | "}" => self.bare(raw, word),
            "number" if node.named_child_count() == 0 => word.text.push_str(raw),
            "raw_string" => word.text.push_str(raw.trim_start_matches('\'').trim_end_matches('\'')),
            "string" => self.string(node, word),
            "concatenation" => children(node).into_iter().for_each(|child| self.append(child, word, depth + 1)),
            "simple_expansion" | "expansion" => self.variable(node, false, word),
            // A `$` without a name, and operators as words.
            "$" => word.text.push('$'),
            "=" | "==" | "=~" => word.text.push_str(raw),
            _ => {
                self.script.plain = false;
                word.text.push(UNKNOWN);
                // The commands in a substitution are also run.
                for child in children(node) {
                    self.statement(child, 1 + MAX_DEPTH / 2);
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

    /// Text in double quotes. Only `$`, a backquote and some backslashes are special in it.
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

    /// `$name` or `${name}`, with the value that the script sets.
    fn variable(&mut self, node: Node<'_>, quoted: bool, word: &mut ShellWord) {
        let parts = children(node);
        let (name, plain) = match parts.as_slice() {
            [sign, name] if sign.kind() == "$" => (*name, true),
            [open, name, close] if open.kind() == "${" && close.kind() == "}" => (*name, true),
            _ => (node, false),
        };
        if !plain || !matches!(name.kind(), "variable_name" | "special_variable_name") {
            // `${x:-$(rm y)}` can run a command.
            self.script.plain = false;
        }
        match self.variables.get(self.source(name)) {
            Some(value) if quoted || !value.text.contains(char::is_whitespace) => {
                word.glob |= value.glob && !quoted;
                word.text.push_str(&value.text);
            }
            // Without quotes it becomes several words.
            Some(_) => {
                self.script.plain = false;
                word.text.push(UNKNOWN);
            }
            // An unknown directory. A path in it may still name a skill.
            None if is_directory(self.source(name)) => {
                word.text.push_str("/~");
                word.text.push_str(self.source(name));
            }
            None => word.text.push(UNKNOWN),
        }
    }
}

/// Expands `x/{a,b}/y` to `x/a/y` and `x/b/y`. Does not expand nested braces.
fn expand_braces(raw: &str) -> Vec<String> {
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
