//! The vocabulary of graders: what graders of other programs ask for, whatever they call it.
//!
//! A program has a table of its graders ([`Graders`]): a row for each name, and what it asks for. That is one of [`Asks`]: a text, a
//! file, work of the agent, or what a table of keys asks for. Only what is different in kind has a function. A name that no row has
//! makes the case unsupported.

use std::ptr;

use crate::cases::case::document::Node;
use crate::cases::case::foreign_reader::{ForeignReader, KeyTable, Meaning, words};
use crate::cases::case::{Assertion, FileKeys};
use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::TextTest;
use crate::checks::{self, CaseCheck, FileWant, InvalidCheck, Origin, TextPlace, Work};
use crate::skill::slug;
use crate::text::diagnostic::{Code, nearest, shorten};
use crate::trial::outcome::Weight;

/// The graders of a program, each with what it asks for.
#[derive(Debug)]
pub struct Graders<T: 'static = Asks> {
    /// What messages call one.
    word: &'static str,
    /// What is between the words of a name, and what is there if it asks for the opposite.
    signs: Option<[&'static str; 2]>,
    /// Names with blanks between them, and what they ask for.
    rows: &'static [(&'static str, T)],
    /// Names of graders that the program has and that have no equal here.
    others: &'static str,
}

/// What a grader asks for.
#[derive(Debug)]
pub enum Asks {
    /// A text of this place has a text, or a match of a pattern, that is at the first of these keys.
    Text(TextPlace, &'static str, Style),
    /// The file at `path` has it.
    FileText(&'static str, Style),
    /// There is the file at `path`.
    File,
    /// There is a final message.
    Done,
    /// What these keys ask for.
    Keys(&'static KeyTable),
    /// What these keys ask for, and what this makes of the grader and the object with the keys.
    By(&'static KeyTable, fn(&mut ForeignReader<'_>, &Node, &Node)),
}

impl<T> Graders<T> {
    pub const fn of(word: &'static str, rows: &'static [(&'static str, T)]) -> Self {
        Self { word, signs: None, rows, others: "" }
    }

    /// The same with the sign between the words of names, and the one of an opposite.
    pub const fn and_opposites(self, signs: [&'static str; 2]) -> Self {
        Self { signs: Some(signs), ..self }
    }

    /// The same with names that have no equal here.
    pub const fn and_others(self, others: &'static str) -> Self {
        Self { others, ..self }
    }

    /// What the grader of this name asks for.
    pub fn find(&self, name: &str) -> Option<&'static T> {
        self.rows.iter().find(|(names, _)| words(names).contains(&name)).map(|(_, asks)| asks)
    }

    /// The names of those that are read, and of the others.
    pub fn names(&self) -> [Vec<&'static str>; 2] {
        [self.rows.iter().flat_map(|(names, _)| words(names)).collect(), words(self.others)]
    }
}

impl Graders {
    /// What the grader of this name asks for, and whether that is the opposite.
    fn asked(&self, name: &str) -> Option<(&'static Asks, bool)> {
        let positive = self.signs.filter(|[_, not]| name.contains(not)).map(|[sign, not]| name.replacen(not, sign, 1));
        match positive {
            Some(name) => self.find(&name).filter(|asks| asks.has_opposite()).map(|asks| (asks, true)),
            None => self.find(name).map(|asks| (asks, false)),
        }
    }

    /// The names of opposites.
    fn opposites(&self) -> Vec<String> {
        let rows = self.rows.iter().filter(|(_, asks)| asks.has_opposite());
        let names = |[sign, not]: [&'static str; 2]| rows.map(move |(name, _)| name.replacen(sign, not, 1)).collect();
        self.signs.map(names).unwrap_or_default()
    }
}

impl Asks {
    fn has_opposite(&self) -> bool {
        matches!(self, Self::Text(..) | Self::FileText(..) | Self::File)
    }

    /// The keys of its object.
    pub fn keys(&self) -> Vec<&'static str> {
        match self {
            Self::Text(_, keys, _) => words(keys),
            Self::FileText(keys, _) => ["path"].into_iter().chain(words(keys)).collect(),
            Self::File => vec!["path"],
            Self::Done => Vec::new(),
            Self::Keys(table) | Self::By(table, _) => table.keys().map(|(key, _)| key).collect(),
        }
    }

    fn notes(&self) -> &'static str {
        if let Self::Keys(table) | Self::By(table, _) = self { table.notes } else { "" }
    }
}

impl FileKeys {
    /// The same with these graders, and with what of their keys is not done.
    #[must_use]
    pub fn with_graders(self, graders: &'static Graders) -> Self {
        let mut keys = self.with_names(graders);
        for (_, asks) in graders.rows {
            if let Asks::Keys(table) | Asks::By(table, _) = asks {
                keys.add_reasons(table);
            }
        }
        keys
    }

    /// The same with the names of these graders.
    #[must_use]
    pub fn with_names<T>(self, graders: &Graders<T>) -> Self {
        Self { graders: graders.names(), ..self }
    }
}

/// The check that a text of this place has a pattern, or that none has.
pub fn said(place: TextPlace, pattern: Pattern, negated: bool) -> CaseCheck {
    checks::text(place, TextTest { negated, ..pattern.into() })
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

// Names of tools: each agent has its own, so a name stands for work.

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

/// What keys and graders ask for, as checks and statements.
impl ForeignReader<'_> {
    pub fn read_list(&mut self, object: &Node, key: &'static str, meaning: Meaning) {
        let list = self.list(object, key).unwrap_or_default();
        for element in list {
            match meaning {
                Meaning::Each(table) => self.read(element, table),
                Meaning::EachBy(read) => read(self, element),
                Meaning::Tools(is_required) => self.calls_tool(element, list, is_required),
                Meaning::Said(place, style, negated) => {
                    if let Some(pattern) = self.text_or_pattern(key, element, style) {
                        self.case.checks.push(said(place, pattern, negated));
                    }
                }
                Meaning::Files(exists) => self.file_check(element, FileWant::Exists(exists)),
                Meaning::Content(negated) => {
                    if let Some(path) = object.get("path")
                        && let Some(pattern) = (self.read_pattern)(self, key, element)
                    {
                        self.file_check(path, FileWant::Content(TextTest { negated, ..pattern.into() }));
                    }
                }
                _ => {}
            }
        }
    }

    /// A regular expression, or a text of another style, in a list at `key`.
    fn text_or_pattern(&mut self, key: &str, written: &Node, style: Style) -> Option<Pattern> {
        if style == Style::Exact {
            return (self.read_pattern)(self, key, written);
        }
        if written.text().is_none() {
            self.wrong_type(&format!("an element of `{key}`"), "a string", written);
        }
        Some(Pattern { text: written.text()?.to_owned(), style })
    }

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

    /// Adds a check that is written in `value`, the value of `key`.
    pub fn add_at(&mut self, key: &str, value: &Node, check: CaseCheck) {
        let origin = Origin { key: key.to_owned().into(), line: self.line_of(value.range.start), elsewhere: None };
        self.case.checks.push(CaseCheck { origin, ..check });
    }

    /// Says that the checks which this adds are written in `node`, at `key`.
    pub fn located(&mut self, key: &str, node: &Node, add: impl FnOnce(&mut Self)) {
        let before = self.case.checks.len();
        add(self);
        let place = self.place(node.range.clone());
        for check in &mut self.case.checks[before..] {
            check.origin = Origin { key: key.to_owned().into(), line: place.line, elsewhere: Some(place.clone()) };
        }
    }

    /// Gives what this adds to the case a weight in the score.
    pub fn weighed(&mut self, weight: Weight, add: impl FnOnce(&mut Self)) {
        let (checks, assertions) = (self.case.checks.len(), self.case.assertions.len());
        add(self);
        self.case.weigh(checks, assertions, weight);
    }

    /// A grader that has no equal here, or whose name is nearly that of one that has.
    pub fn unknown_grader<T>(&mut self, table: &Graders<T>, name: &str, grader: &Node, opposites: &[String]) {
        let node = grader.get("type").unwrap_or(grader);
        let (known, word) = (table.names().concat(), table.word);
        let known = known.into_iter().chain(opposites.iter().map(String::as_str));
        let Some(near) = nearest(name, known).filter(|near| *near != name) else {
            return self.not_done(node, format!("the {word} `{}`", shorten(name)));
        };
        let (message, help) = (format!("unknown {word} `{}`", shorten(name)), format!("did you mean `{near}`?"));
        self.problem_with_help(Code::InvalidCheck, node.range.clone(), message, help);
    }

    /// Adds a check of the file at the path in `node`, where nothing stands for several files.
    pub fn file_check(&mut self, node: &Node, want: FileWant) {
        match node.text() {
            Some(text) if text.contains(['*', '?', '[', '{']) => self.not_done(node, "a path with a sign of globs"),
            Some(text) => self.add(node, checks::file(text, want)),
            None => self.wrong_type("a path", "a string", node),
        }
    }

    /// Adds the checks of a grader of this name, whose parameters are in `config`. In an object of their own, they may have the options
    /// `negate` and `case_sensitive` if `has_options`.
    pub fn grader(&mut self, grader: &Node, config: &Node, name: &str, table: &'static Graders, has_options: bool) {
        let Some((asks, is_not)) = table.asked(name) else {
            return self.unknown_grader(table, name, grader, &table.opposites());
        };
        let options: &[&str] = match asks {
            Asks::Text(.., Style::Literal) if has_options => &["negate", "case_sensitive"],
            _ if has_options && asks.has_opposite() => &["negate"],
            _ => &[],
        };
        // Next to the parameters there is the name.
        let is_apart = !ptr::eq(grader, config);
        let own: &[&str] = if is_apart { &[] } else { &["type"] };
        if is_apart || !has_options {
            self.only_keys(config, &[&asks.keys()[..], options, own].concat(), asks.notes());
        }
        let mut flag = |key| options.contains(&key) && self.flag(config, key) == Some(true);
        let (negated, is_exact) = (is_not != flag("negate"), flag("case_sensitive"));
        match *asks {
            Asks::Text(place, key, style) => {
                let style = if is_exact { Style::Verbatim } else { style };
                let pattern = self.wanted(config, key, style);
                self.case.checks.extend(pattern.map(|pattern| said(place, pattern, negated)));
            }
            Asks::FileText(key, style) => {
                let Some(pattern) = self.wanted(config, key, style) else { return };
                self.file_at_path(config, FileWant::Content(TextTest { negated, ..pattern.into() }));
            }
            Asks::File => self.file_at_path(config, FileWant::Exists(!negated)),
            Asks::Done => self.case.checks.push(checks::final_message()),
            Asks::Keys(keys) => self.read_keys(config, keys),
            Asks::By(keys, read) => {
                self.read_keys(config, keys);
                read(self, grader, config);
            }
        }
    }

    /// The text or the pattern at a key, which must be there.
    fn wanted(&mut self, config: &Node, key: &'static str, style: Style) -> Option<Pattern> {
        if style == Style::Exact {
            return self.required(config, key).and_then(|written| (self.read_pattern)(self, key, written));
        }
        self.required_text(config, key).map(|text| Pattern { text: text.to_owned(), style })
    }

    /// Adds a check of the files at `path`, which may be a glob.
    fn file_at_path(&mut self, config: &Node, want: FileWant) {
        if let Some(path) = self.required_text(config, "path") {
            self.add(config, checks::file(path.strip_prefix("./").unwrap_or(path), want));
        }
    }

    /// Whether these skills are only the one under test, so that its activation is triggering, which has a check of its own and is also
    /// counted over all cases. What is said of it may be said before only if it may be `repeated`.
    pub fn triggers(&mut self, skills: &[String], should: bool, repeated: bool) -> bool {
        let is_own = !skills.is_empty() && skills.iter().all(|name| slug(name) == self.case.skill);
        let is_said = is_own && self.case.should_trigger.is_none_or(|said| repeated && said == should);
        self.case.should_trigger = if is_said { Some(should) } else { self.case.should_trigger };
        is_said
    }

    /// Skills are activated, or none of them is.
    pub fn names_skills(&mut self, names: Vec<String>, is_required: bool) {
        if !names.is_empty() {
            self.case.checks.push(if is_required { checks::activates(names, false) } else { checks::rejects(names) });
        }
    }

    /// Whether what a place says of triggering agrees with all that others say.
    pub fn agrees(&mut self, should: bool) -> bool {
        *self.case.should_trigger.get_or_insert(should) == should
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
}
