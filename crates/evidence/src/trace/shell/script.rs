//! Splits a shell script into simple commands, with tree-sitter's grammar of bash.
//!
//! The walk is an allow-list. Syntax that it does not fully know (a substitution, a function, a here-document, a syntax
//! error) marks the script as not [plain](Script::plain). The commands that it finds are kept.

use std::collections::HashMap;

use tree_sitter::{Node, Parser};

use crate::profile;

/// Maximum length of a script, in bytes. Inspections are short, and the grammar is slow for some long scripts.
const MAX_LENGTH: usize = 8 << 10;

/// Maximum number of pipes. The grammar's time grows with their square.
const MAX_PIPES: usize = 500;

/// Maximum nesting of a script.
pub(super) const MAX_DEPTH: usize = 40;

/// Maximum number of simple commands, with unrolled loops.
const MAX_COMMANDS: usize = 2_000;

/// Replaces a part of a word whose value the script does not show.
pub(super) const UNKNOWN: char = '\0';

/// A script as a list of simple commands.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// In order.
    pub commands: Vec<SimpleCommand>,
    /// Whether the script does nothing but run the commands.
    pub plain: bool,
}

/// A command of words and redirections.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    /// Variables that are set for this command or, if it has no words, for the shell.
    pub assignments: Vec<(String, ShellWord)>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
    /// Files of `<` redirections.
    pub inputs: Vec<ShellWord>,
    /// Whether its input is the output of the command before it.
    pub piped: bool,
    /// Whether a redirection sends its output elsewhere.
    pub redirected: bool,
}

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// Its text, with [`UNKNOWN`] for parts that the script does not show.
    pub text: String,
    /// Whether it is a pattern for file names.
    pub glob: bool,
}

/// Parses `text` as a bash script. `None` if it is too long.
pub(super) fn parse(text: &str) -> Option<Script> {
    if text.len() > MAX_LENGTH || text.contains(UNKNOWN) || text.matches('|').count() > MAX_PIPES {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    let mut walk = ScriptWalk {
        text,
        script: Script { commands: Vec::new(), plain: true },
        variables: HashMap::new(),
        piped: false,
    };
    walk.script.plain = !tree.root_node().has_error();
    walk.statement(tree.root_node(), 0);
    Some(walk.script)
}

/// Walks a script's syntax tree. [`words`](super::words) has the part for words.
struct ScriptWalk<'a> {
    pub text: &'a str,
    pub script: Script,
    /// Variables that the script itself has set.
    pub variables: HashMap<String, ShellWord>,
    /// Whether the next command reads the output of the previous one.
    piped: bool,
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

impl<'a> ScriptWalk<'a> {
    pub fn source(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) {
        if depth > MAX_DEPTH || self.script.commands.len() > MAX_COMMANDS {
            self.script.plain = false;
            return;
        }
        match node.kind() {
            "program" | "list" | "subshell" | "compound_statement" | "negated_command" | "do_group" => {
                self.statements(node, depth);
            }
            "pipeline" => {
                let outer = self.piped;
                for child in children(node) {
                    match child.kind() {
                        "|" | "|&" => self.piped = true,
                        _ => self.statement(child, depth + 1),
                    }
                }
                self.piped = outer;
            }
            "command" => self.command(node),
            "redirected_statement" => self.redirected(node, depth),
            "variable_assignment" => {
                let simple = SimpleCommand { assignments: self.assignment(node), ..SimpleCommand::default() };
                self.variables.extend(simple.assignments.iter().cloned());
                self.script.commands.push(simple);
            }
            "for_statement" => self.for_each(node, depth),
            "comment" | ";" | "&" | "&&" | "||" | "(" | ")" | "{" | "}" | "!" | "do" | "done" | "\n" => {}
            _ => {
                self.script.plain = false;
                self.statements(node, depth);
            }
        }
    }

    fn statements(&mut self, node: Node<'_>, depth: usize) {
        for child in children(node) {
            self.statement(child, depth + 1);
        }
    }

    /// Unrolls `for s in a b; do cat $s; done`.
    fn for_each(&mut self, node: Node<'_>, depth: usize) {
        let mut cursor = node.walk();
        let (Some(name), Some(body)) = (node.child_by_field_name("variable"), node.child_by_field_name("body")) else {
            return self.script.plain = false;
        };
        let values: Vec<ShellWord> =
            node.children_by_field_name("value", &mut cursor).flat_map(|value| self.words(value)).collect();
        // `select` asks the user. Without values the loop is over unknown arguments.
        if values.is_empty() || node.child(0).is_none_or(|word| word.kind() != "for") {
            self.script.plain = false;
        }
        let name = self.source(name).to_owned();
        for value in values {
            self.variables.insert(name.clone(), value);
            self.statement(body, depth + 1);
        }
    }

    fn redirected(&mut self, node: Node<'_>, depth: usize) {
        let before = self.script.commands.len();
        let (redirects, bodies): (Vec<_>, Vec<_>) =
            children(node).into_iter().partition(|child| child.kind().ends_with("_redirect"));
        for body in bodies {
            self.statement(body, depth + 1);
        }
        // A redirection of a pipeline or group counts for its last command.
        let mut simple = match self.script.commands.pop() {
            Some(last) if self.script.commands.len() >= before => last,
            other => {
                self.script.commands.extend(other);
                SimpleCommand { piped: self.piped, ..SimpleCommand::default() }
            }
        };
        for redirect in redirects {
            self.redirect(redirect, &mut simple);
        }
        self.script.commands.push(simple);
    }

    fn command(&mut self, node: Node<'_>) {
        let mut simple = SimpleCommand { piped: self.piped, ..SimpleCommand::default() };
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => simple.assignments.extend(self.assignment(child)),
                "file_redirect" | "heredoc_redirect" | "herestring_redirect" => self.redirect(child, &mut simple),
                "command_name" => {
                    for name in children(child) {
                        simple.words.extend(self.words(name));
                    }
                }
                _ => simple.words.extend(self.words(child)),
            }
        }
        self.script.commands.push(simple);
    }

    fn assignment(&mut self, node: Node<'_>) -> Vec<(String, ShellWord)> {
        let (Some(name), Some(operator)) = (node.child_by_field_name("name"), node.child(1)) else {
            self.script.plain = false;
            return Vec::new();
        };
        if name.kind() != "variable_name" || operator.kind() != "=" {
            self.script.plain = false;
        }
        let value = node.child_by_field_name("value").map(|value| self.word(value)).unwrap_or_default();
        vec![(self.source(name).to_owned(), value)]
    }

    /// Accepts `2>/dev/null`, `2>&1` and `< file`. Otherwise the script is not plain.
    fn redirect(&mut self, node: Node<'_>, simple: &mut SimpleCommand) {
        if node.kind() != "file_redirect" {
            return self.script.plain = false;
        }
        let (mut descriptor, mut operator) = ("", "");
        let mut target = None;
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => descriptor = self.source(child),
                kind if !child.is_named() => operator = kind,
                // The grammar parses words after the target as further targets.
                _ if target.is_some() => simple.words.extend(self.words(child)),
                _ => target = Some(self.word(child)),
            }
        }
        let path = target.as_ref().map_or("", |word| word.text.as_str());
        let is_descriptor =
            !path.is_empty() && path.strip_suffix('-').unwrap_or(path).bytes().all(|b| b.is_ascii_digit());
        simple.redirected |= operator.contains('>') && matches!(descriptor, "" | "1");
        let is_harmless = matches!(path, "/dev/null" | "/dev/stdout" | "/dev/stderr");
        match operator {
            ">&-" | "<&-" => {}
            ">&" if is_descriptor || path == "/dev/null" => {}
            "<&" if is_descriptor => {}
            ">" | ">>" | ">|" | "&>" | "&>>" if is_harmless => {}
            "<" => simple.inputs.extend(target),
            _ => self.script.plain = false,
        }
    }
}

// The words of a script: quotes, escapes, braces, and variables that the script sets.

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
