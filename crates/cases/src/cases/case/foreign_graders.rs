//! The vocabulary of graders: what graders of other programs ask for, whatever they call it.

use super::document::Node;
use super::foreign_reader::{ForeignReader, words};
use crate::cases::case::Assertion;
use crate::checks::pattern::{Pattern, Style};
use crate::checks::{self, CaseCheck, FileWant, InvalidCheck, Work};
use crate::text::diagnostic::shorten;
use crate::text::relative_path::RelativePath;
use crate::trial::input_file::{InputContent, InputFile};

/// The names of the tools that create and edit files.
const WRITERS: [&str; 2] = ["create", "edit"];

/// The names of tools that run commands.
const SHELLS: [&str; 4] = ["bash", "powershell", "pwsh", "shell"];

/// The name of the tool that activates skills.
const SKILL: &str = "skill";

/// Names of other tools, by which a pattern of names is tried.
const OTHERS: &str = "view create edit grep glob task web_fetch web_search read_file write_file create_file \
    str_replace_editor update_todo";

/// A tool that each agent has under a name of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownTool {
    /// It runs commands.
    Shell,
    /// It activates skills.
    Skill,
}

impl KnownTool {
    /// The tool that a pattern of names is for, if it is for no other.
    pub fn of(names: &str) -> Option<Self> {
        let pattern = Pattern { text: names.to_owned(), style: Style::Exact };
        let search = pattern.compile().ok()?;
        let is_match = |name: &&str| search.matches(name, 1).is_ok_and(|found| !found.is_empty());
        match (SHELLS.iter().any(is_match), is_match(&SKILL), words(OTHERS).iter().any(is_match)) {
            (true, false, false) => Some(Self::Shell),
            (false, true, false) => Some(Self::Skill),
            _ => None,
        }
    }

    /// The tool is called, or if not `is_required`, it is not.
    pub fn called(self, is_required: bool) -> CaseCheck {
        let any = || vec!["*".to_owned()];
        match (self, is_required) {
            (Self::Shell, _) => checks::work(Work::Commands, is_required),
            (Self::Skill, true) => checks::activates(any(), false),
            (Self::Skill, false) => checks::rejects(any()),
        }
    }
}

impl ForeignReader<'_> {
    /// Adds a statement for the judge.
    pub fn judge(&mut self, node: &Node, text: impl Into<String>) {
        let place = self.place(node.range.clone());
        self.case.assertions.push(Assertion { text: text.into(), place, weight: None });
    }

    /// Adds a check that is written in `node`, or the problem of its values.
    pub fn add(&mut self, node: &Node, check: Result<CaseCheck, InvalidCheck>) {
        let check = self.check(node, check);
        self.case.checks.extend(check);
    }

    /// Says that the checks from this position on are written in `node`, at `key`.
    pub fn locate_checks(&mut self, key: &'static str, node: &Node, from: usize) {
        let (documents, checks) = (&self.documents, &mut self.case.checks);
        documents[self.at].locate(key, node, &mut checks[from..]);
    }

    /// A grader that has no equal here.
    pub fn unknown_grader(&mut self, word: &str, kind: &str, node: &Node, known: &[&str]) {
        let unknown = self.unsupported_grader(word, kind, node.get("type").unwrap_or(node), known);
        self.case.unsupported.extend(unknown);
    }

    /// Adds a check of the file at the path in `node`, where nothing stands for several files.
    pub fn file_check(&mut self, node: &Node, want: FileWant) {
        match node.text() {
            Some(text) if text.contains(['*', '?', '[', '{']) => self.not_done(node, "a path with a sign of globs"),
            Some(text) => self.add(node, checks::file(text, want)),
            None => self.wrong_type("a path", "a string", node),
        }
    }

    /// Skills are activated, or none of them is.
    pub fn names_skills(&mut self, names: Vec<String>, is_required: bool) {
        if !names.is_empty() {
            self.case.checks.push(if is_required { checks::activates(names, false) } else { checks::rejects(names) });
        }
    }

    /// Whether what a place says of triggering agrees with all that others say.
    pub fn agrees(&mut self, should: bool) -> bool {
        *self.should_trigger.get_or_insert(should) == should
    }

    /// Adds the check of a tool by its name alone, which is a pattern, in a list of them.
    pub fn calls_tool(&mut self, tool: &Node, list: &[Node], is_required: bool) {
        let Some(written) = tool.text() else { return self.wrong_type("a tool", "a string", tool) };
        let name = written.trim_start_matches('^').trim_end_matches('$');
        if let Some(known) = KnownTool::of(written) {
            self.case.checks.push(known.called(is_required));
        } else if WRITERS.contains(&name) && !is_required {
            let is_in_list = |name: &&str| list.iter().any(|tool| tool.text() == Some(name));
            match WRITERS.iter().all(is_in_list) {
                // One check for both.
                true if name != WRITERS[0] => {}
                true => self.case.checks.push(checks::work(Work::Changes, false)),
                false => self.case.checks.push(checks::work(Work::SomeChanges, false)),
            }
        } else {
            self.other_tool(tool, written);
        }
    }

    /// A call of a tool that only some agents have.
    pub fn other_tool(&mut self, node: &Node, name: &str) {
        self.not_done(node, format!("a call of the tool `{}`", shorten(name)));
    }

    /// Adds what the agent finds in its workspace at a path.
    pub fn add_file(&mut self, path: RelativePath, content: InputContent) {
        self.case.files.push(InputFile { path, content });
    }
}
