//! Classifies shell commands: whether a command does more than inspect, and which scripts it runs.
//!
//! # Effective commands
//!
//! `max_commands` counts effective commands. A command is *not* effective if it only runs
//!
//! - `ls` and `pwd`, or
//! - plain readers (`cat`, `tac`, `head`, `tail`, `nl`, `wc`, `cut`, `less`, `more`, `bat`; `grep` and `rg` with named
//!   files; `sed` and `awk` that only select lines) if every operand is the SKILL.md of an offered skill, or if they read
//!   the output of such a command.
//!
//! Redirections may only go to `/dev/null` or another descriptor, and no expansion may run a command. `cd`, `true`,
//! `set -e`, an assignment of a plain value and an `echo` without letters and digits do not matter. `bash -c '…'`, `env`,
//! `timeout`, `nice` and the like are unwrapped, and loops over words are unrolled.
//!
//! Everything else is effective: other programs, other options of these programs (`sed -i`, `less -o`), programs outside
//! the system's directories, substitutions, functions, here-documents, a command that cannot be parsed, and an empty
//! command. A SKILL.md belongs to an offered skill if its directory has the skill's name and is in a directory `skills`.

mod effective;

use std::collections::HashMap;

use tree_sitter::{Node, Parser};

use crate::profile::{self, SHELLS};

pub use effective::{is_effective, only_reads, prints_skills};

/// Programs that run a script whose path is an argument.
const INTERPRETERS: [&str; 11] =
    ["python", "python3", "node", "bash", "sh", "ruby", "perl", "deno", "bun", "source", "."];

/// Programs of sandboxes, which begin their errors with their names.
const SANDBOXES: [&str; 2] = ["bwrap", "sandbox-exec"];

/// What else an agent's sandbox reports in its first line if it did not start a command.
const NOT_STARTED: [&str; 3] =
    ["panicked at linux-sandbox/", "Failed to create unified exec process", "error running landlock"];

/// How deep shells may start shells.
const MAX_SHELL_DEPTH: usize = 5;

/// Why the agent's sandbox did not start a failed command, if its output shows that. The command itself may start a sandbox.
pub fn why_not_started<'o>(command: &str, output: &'o str) -> Option<&'o str> {
    // Some agents put the exit status before the output.
    let is_status = |line: &str| line.trim_start_matches("Error: ").starts_with("Exit code ");
    let first = output.lines().map(str::trim).find(|line| !line.is_empty() && !is_status(line))?;
    let by_program = SANDBOXES
        .iter()
        .any(|name| first.strip_prefix(name).is_some_and(|rest| rest.starts_with(": ")) && !command.contains(name));
    (by_program || NOT_STARTED.iter().any(|words| first.contains(words))).then_some(first)
}

/// The paths of the scripts that `command` runs, in order.
pub fn scripts(command: &str) -> Vec<String> {
    let mut scripts = Vec::new();
    let mut directory: Option<String> = None;
    for SimpleCommand { words, .. } in simple_commands(command, 0) {
        let words = strip(&words).unwrap_or(&words);
        let Some((program, arguments)) = words.split_first() else { continue };
        if program.text == "cd" {
            directory = arguments.first().map(|target| join(directory.as_deref(), &target.text));
        } else if let Some(script) = script_of(program, arguments).filter(|word| !word.glob) {
            scripts.push(join(directory.as_deref(), &script.text));
        }
    }
    scripts.retain(|path| !path.contains(UNKNOWN));
    scripts
}

/// The script that a program runs, or the program itself if its path is given.
fn script_of<'w>(program: &'w ShellWord, arguments: &'w [ShellWord]) -> Option<&'w ShellWord> {
    let name = program.text.rsplit('/').next().unwrap_or_default();
    if !INTERPRETERS.contains(&name) {
        return program.text.contains('/').then_some(program);
    }
    // With these options no script file runs. `-e` is something else for a shell, and `-n` for the others.
    let no_script = if is_shell(name) { "cn" } else { "ecp" };
    let count = arguments.iter().take_while(|word| word.text.starts_with('-')).count();
    for option in &arguments[..count] {
        let runs_no_script = match option.text.strip_prefix("--") {
            Some(long) => ["eval", "print", "check", "noexec"].contains(&long),
            None => option.text.contains(|letter| no_script.contains(letter)),
        };
        if runs_no_script {
            return None;
        }
    }
    arguments.get(count)
}

/// The files that `command` prints whole if it succeeds: it is one `cat` whose output goes nowhere else.
pub fn printed_whole(command: &str) -> Vec<String> {
    let (commands, true) = parsed_commands(command, 0) else { return Vec::new() };
    let [SimpleCommand { words, redirected: false, .. }] = &commands[..] else { return Vec::new() };
    let words = strip(words).unwrap_or(words);
    if words.first().and_then(program) != Some("cat") {
        return Vec::new();
    }
    let files = effective::operands("cat", &words[1..]).unwrap_or_default();
    files.into_iter().filter(|word| !word.glob && !word.text.contains(UNKNOWN)).map(|word| word.text.clone()).collect()
}

/// Whether the answer to a call shows that its command printed nothing.
pub fn printed_nothing(output: &str) -> bool {
    // Gemini CLI and Qwen Code put what a command printed among other lines.
    output.trim().is_empty() || output.lines().any(|line| line == "Output: (empty)")
}

fn join(directory: Option<&str>, path: &str) -> String {
    match directory {
        Some(directory) if !path.starts_with(['/', '~', UNKNOWN]) => format!("{directory}/{path}"),
        _ => path.to_owned(),
    }
}

/// The commands that a script runs, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCommands {
    /// Each command as its words, without quotes, with spaces between them, without `env`, `timeout` and the like.
    pub commands: Vec<String>,
    /// What `sudo`, `xargs` and the like may run besides: the words behind them, from each word on.
    pub perhaps: Vec<String>,
    /// Whether these are surely all.
    pub all: bool,
}

/// Programs that run a command in their arguments.
const LAUNCHERS: [&str; 18] = [
    "command", "doas", "env", "eval", "exec", "find", "nice", "nohup", "parallel", "setsid", "ssh", "stdbuf", "sudo",
    "time", "timeout", "trap", "watch", "xargs",
];

/// Programs that say where a program is, and start none.
const LOOKUPS: [&str; 4] = ["hash", "type", "whereis", "which"];

/// Whether a command only says where a program is: `which gh`, `command -v gh`.
fn looks_up(command: &str) -> bool {
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    LOOKUPS.contains(&program) || (program == "command" && matches!(words.next(), Some("-v" | "-V")))
}

/// The commands that `script` runs.
pub fn run_commands(script: &str) -> RunCommands {
    let (simple, mut all) = parsed_commands(script, 0);
    let (mut commands, mut perhaps) = (Vec::new(), Vec::new());
    for SimpleCommand { words, .. } in &simple {
        let words = strip(words).unwrap_or(words);
        let text = |words: &[ShellWord]| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
        let command = text(words);
        all &= !command.contains(UNKNOWN);
        let launches = words.first().and_then(program).is_some_and(|program| LAUNCHERS.contains(&program));
        if launches && !looks_up(&command) {
            perhaps.extend((1..words.len()).map(|first| text(&words[first..]).replace(UNKNOWN, "?")));
        }
        if !command.is_empty() {
            commands.push(command.replace(UNKNOWN, "?"));
        }
    }
    RunCommands { commands, perhaps, all }
}

/// How many commands of `script` name such a program: by a word, or by a path with such a part. A command that only reads, or says
/// where a program is, runs none, and another program's own arguments do not matter.
pub fn naming(script: &str, is_it: &dyn Fn(&str) -> bool) -> u64 {
    let names_it = |word: &&str| word.split('/').any(is_it);
    let RunCommands { commands, all, .. } = run_commands(script);
    let count = |commands: usize| u64::try_from(commands).unwrap_or(u64::MAX);
    if !all {
        let is_part = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
        return count(script.split(|c| !is_part(c)).filter(names_it).count());
    }
    let runs_it = |command: &&String| {
        let is_first = command.split(' ').next().is_some_and(|program| names_it(&program));
        is_first
            || (!looks_up(command) && !only_reads(command) && command.split_whitespace().any(|word| names_it(&word)))
    };
    count(commands.iter().filter(runs_it).count())
}

/// The script in `bash -lc '…'`, or else the whole command.
pub fn passed_script(command: &str) -> String {
    let parsed = parse_script(command);
    let inner = parsed.as_ref().and_then(|script| match &script.commands[..] {
        [only] => shell_script(&only.words),
        _ => None,
    });
    inner.unwrap_or(command).to_owned()
}

/// The simple commands of a script. `bash -lc '…'` is replaced by its commands.
fn simple_commands(text: &str, depth: usize) -> Vec<SimpleCommand> {
    parsed_commands(text, depth).0
}

/// The same, and whether the script does nothing else.
fn parsed_commands(text: &str, depth: usize) -> (Vec<SimpleCommand>, bool) {
    let Some(Script { commands, plain }) = parse_script(text) else { return (Vec::new(), false) };
    let (mut simple_commands, mut all) = (Vec::new(), plain);
    for simple in commands {
        match shell_script(&simple.words) {
            Some(script) if depth < MAX_SHELL_DEPTH => {
                let (mut inner, is_plain) = parsed_commands(script, depth + 1);
                for command in &mut inner {
                    command.redirected |= simple.redirected;
                }
                simple_commands.extend(inner);
                all &= is_plain;
            }
            Some(_) => all = false,
            None => simple_commands.push(simple),
        }
    }
    (simple_commands, all)
}

// Programs that run the command in their arguments: `env`, `timeout`, `bash -c`.

/// Variables that only change how a program prints.
const HARMLESS_VARIABLES: [&str; 8] = ["LANG", "LANGUAGE", "TERM", "NO_COLOR", "COLUMNS", "LINES", "TZ", "CLICOLOR"];

/// The directories of the system's programs. A program in another directory can be anything.
const BIN_DIRECTORIES: [&str; 5] = ["/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/", "/usr/sbin/"];

/// Whether a variable only changes how a program prints.
fn is_harmless(variable: &str) -> bool {
    variable.starts_with("LC_") || HARMLESS_VARIABLES.contains(&variable)
}

/// Whether a program of this name runs shell scripts.
fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// The script that a command passes to a shell, also through `env` and the like.
fn shell_script(words: &[ShellWord]) -> Option<&str> {
    let (first, arguments) = strip(words)?.split_first()?;
    script_argument(arguments).filter(|_| program(first).is_some_and(is_shell))
}

/// The name of the program that a word names. `None` if it is not one of the system's programs.
fn program(word: &ShellWord) -> Option<&str> {
    let text = word.text.as_str();
    if word.glob || text.contains(UNKNOWN) {
        return None;
    }
    let name = BIN_DIRECTORIES.iter().find_map(|directory| text.strip_prefix(directory)).unwrap_or(text);
    (!name.contains('/')).then_some(name)
}

/// The command without `env`, `timeout 10` and the like. `None` if one of them may do more than run it.
fn strip(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let mut words = words;
    loop {
        let (first, arguments) = words.split_first()?;
        words = match program(first)? {
            "command" | "builtin" | "exec" => skip_options(arguments, &[], &[])?,
            "time" => skip_options(arguments, &[], &["-p"])?,
            "nice" => skip_options(arguments, &["-n", "--adjustment"], &[])?,
            "stdbuf" => skip_options(arguments, &["-i", "-o", "-e"], &[])?,
            "timeout" => {
                let valued = ["-k", "-s", "--kill-after", "--signal"];
                skip_options(arguments, &valued, &["--foreground", "--preserve-status", "-v"])?.get(1..)?
            }
            "env" => {
                let mut rest = skip_options(arguments, &["-u", "--unset"], &["-i", "-", "--ignore-environment"])?;
                while let Some((name, _)) = rest.first().and_then(|word| word.text.split_once('=')) {
                    if !is_harmless(name) {
                        return None;
                    }
                    rest = &rest[1..];
                }
                rest
            }
            _ => return Some(words),
        };
    }
}

/// Skips options with a value and plain ones. `None` if there is another option.
fn skip_options<'w>(words: &'w [ShellWord], valued: &[&str], plain: &[&str]) -> Option<&'w [ShellWord]> {
    let mut words = words;
    while let Some((word, rest)) = words.split_first().filter(|(word, _)| word.text.starts_with('-')) {
        let text = word.text.as_str();
        words = match text {
            "--" => return Some(rest),
            _ if plain.contains(&text) => rest,
            _ if valued.contains(&text) => rest.get(1..)?,
            // `-n5`, `--signal=KILL`
            _ if valued.iter().any(|name| text.starts_with(name)) => rest,
            _ => return None,
        };
    }
    Some(words)
}

/// The script of `bash -lc '…'`, from the shell's arguments.
fn script_argument(arguments: &[ShellWord]) -> Option<&str> {
    let mut has_script = false;
    let mut words = arguments.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            "--login" | "--noprofile" | "--norc" | "--posix" => {}
            _ if word.len() > 1
                && word.starts_with(['-', '+'])
                && word[1..].bytes().all(|b| b"lceuxvfimo".contains(&b)) =>
            {
                has_script |= word.starts_with('-') && word.contains('c');
                if word.contains('o') {
                    // `-euo pipefail`
                    words.next()?;
                }
            }
            script => return Some(script).filter(|script| has_script && !script.contains(UNKNOWN)),
        }
    }
    None
}

// Splits a shell script into simple commands, with tree-sitter's grammar of bash.
//
// The walk is an allow-list. Syntax that it does not fully know (a substitution, a function, a here-document, a syntax
// error) marks the script as not plain. The commands that it finds are kept.

/// Maximum length of a script, in bytes. Inspections are short, and the grammar is slow for some long scripts.
const MAX_LENGTH: usize = 8 << 10;

/// Maximum number of pipes. The grammar's time grows with their square.
const MAX_PIPES: usize = 500;

/// Maximum nesting of a script.
const MAX_DEPTH: usize = 40;

/// Maximum number of simple commands, with unrolled loops.
const MAX_COMMANDS: usize = 2_000;

/// Replaces a part of a word whose value the script does not show.
const UNKNOWN: char = '\0';

/// A script as a list of simple commands.
#[derive(Debug, Default)]
struct Script {
    /// In order.
    pub commands: Vec<SimpleCommand>,
    /// Whether the script does nothing but run the commands.
    pub plain: bool,
}

/// A command of words and redirections.
#[derive(Debug, Default)]
struct SimpleCommand {
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
struct ShellWord {
    /// Its text, with [`UNKNOWN`] for parts that the script does not show.
    pub text: String,
    /// Whether it is a pattern for file names.
    pub glob: bool,
}

/// Parses `text` as a bash script. `None` if it is too long.
fn parse_script(text: &str) -> Option<Script> {
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

fn children(node: Node<'_>) -> Vec<Node<'_>> {
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
