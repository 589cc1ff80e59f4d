//! Takes a shell script apart into its simple commands, by a kept grammar of bash.
//!
//! The walk is an allow-list: whatever it does not know in full (a substitution, a function, a here-document, text
//! that does not parse) leaves the script's commands in the list, and marks the script as not [plain](Script::plain).

use std::collections::HashMap;

use tree_sitter::{Node, Parser};

/// Longer scripts are not taken apart: what only looks is short, and the grammar needs time for some long ones.
const LONGEST: usize = 8 << 10;

/// Most pipes of a script; the grammar's time grows with their square.
const MAX_PIPES: usize = 500;

/// How deep a script may nest.
pub(super) const DEEPEST: usize = 40;

/// Most simple commands of a script, loops unrolled.
const MAX_COMMANDS: usize = 2_000;

/// Stands in a word for a part whose value the script does not tell.
pub(super) const UNKNOWN: char = '\0';

/// A script in its simple commands.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// In the order in which they stand.
    pub commands: Vec<SimpleCommand>,
    /// Whether the commands are all that the script does.
    pub plain: bool,
}

/// A command of words and redirections.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    /// Variables set for this command, or in the shell where there are no words.
    pub assignments: Vec<(String, ShellWord)>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
    /// Files it reads by `<`.
    pub inputs: Vec<ShellWord>,
    /// Whether its input comes from the command before it.
    pub piped: bool,
}

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    /// Its text; [`UNKNOWN`] stands for what the script does not tell.
    pub text: String,
    /// Whether it stands for the files that it matches as a pattern.
    pub glob: bool,
}

/// Reads `text` as bash does. `None` where it is no script, or longer than is looked at.
pub(super) fn parse(text: &str) -> Option<Script> {
    if text.len() > LONGEST || text.contains(UNKNOWN) || text.matches('|').count() > MAX_PIPES {
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

/// Goes over a script's syntax tree; how it reads words is [beside](super::words).
pub(super) struct ScriptWalk<'a> {
    pub text: &'a str,
    pub script: Script,
    /// Variables that the script itself has set.
    pub variables: HashMap<String, ShellWord>,
    /// Whether what comes now reads what came before.
    piped: bool,
}

pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

impl<'a> ScriptWalk<'a> {
    pub fn source(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    pub fn statement(&mut self, node: Node<'_>, depth: usize) {
        if depth > DEEPEST || self.script.commands.len() > MAX_COMMANDS {
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

    /// `for s in a b; do cat $s; done`, once for each value.
    fn for_each(&mut self, node: Node<'_>, depth: usize) {
        let mut cursor = node.walk();
        let (Some(name), Some(body)) = (node.child_by_field_name("variable"), node.child_by_field_name("body")) else {
            return self.script.plain = false;
        };
        let values: Vec<ShellWord> =
            node.children_by_field_name("value", &mut cursor).flat_map(|value| self.words(value)).collect();
        // `select` asks, and without values the loop goes over arguments that are not told.
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
        // A redirection of a whole pipeline or group is one of its last command.
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

    /// `2>/dev/null`, `2>&1`, `< file`. Of anything else the script is not plain.
    fn redirect(&mut self, node: Node<'_>, simple: &mut SimpleCommand) {
        if node.kind() != "file_redirect" {
            return self.script.plain = false;
        }
        let mut operator = "";
        let mut target = None;
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => {}
                kind if !child.is_named() => operator = kind,
                // The grammar takes words behind the target for more targets.
                _ if target.is_some() => simple.words.extend(self.words(child)),
                _ => target = Some(self.word(child)),
            }
        }
        let to = target.as_ref().map_or("", |word| word.text.as_str());
        let descriptor = !to.is_empty() && to.strip_suffix('-').unwrap_or(to).bytes().all(|b| b.is_ascii_digit());
        let nowhere = matches!(to, "/dev/null" | "/dev/stdout" | "/dev/stderr");
        match operator {
            ">&-" | "<&-" => {}
            ">&" if descriptor || to == "/dev/null" => {}
            "<&" if descriptor => {}
            ">" | ">>" | ">|" | "&>" | "&>>" if nowhere => {}
            "<" => simple.inputs.extend(target),
            _ => self.script.plain = false,
        }
    }
}
