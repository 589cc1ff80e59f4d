//! The cases of another program while they are read, and what the keys of its files mean in a case.
//!
//! A format says in tables what its keys mean ([`KeyTable`]): most is one of the words of [`Meaning`], which are the same for all
//! formats. Only what is different in kind has a function ([`Meaning::By`]). A key that no table has makes the case unsupported.
//! A table that a user writes would be one without functions.

use std::collections::HashSet;
use std::ops::{Deref, DerefMut, Range};
use std::path::{Path, PathBuf};

use crate::cases::case::document::{Document, Node, NodeEntry, NodeValue};
use crate::cases::case::fields::{self, CaseDraft, CaseField, PROMPT, WrittenField};
pub use crate::cases::case::key_words::words;
use crate::cases::case::key_words::{is_expectation, is_prompt, kind_words};
use crate::cases::case::{Case, CaseFormat, FileCases, FileKeys, ForeignFile, FoundCase, ReadCase};
use crate::cases::repo_files::FileKind;
use crate::checks::TextPlace;
use crate::checks::pattern::{Pattern, Style};
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation};
use crate::text::name::RelativePath;
use crate::trial::input_file::{InputContent, InputFile};

/// The keys of an object of another program, in the order in which they are read.
#[derive(Debug)]
pub struct KeyTable {
    /// Keys with blanks between them, and what each means.
    keys: &'static [(&'static str, Meaning)],
    /// Keys that ask for nothing of a trial, with blanks between them.
    pub notes: &'static str,
}

impl KeyTable {
    pub const fn of(keys: &'static [(&'static str, Meaning)]) -> Self {
        Self { keys, notes: "" }
    }

    /// The keys, each with what it means.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, Meaning)> {
        self.keys.iter().flat_map(|(keys, meaning)| words(keys).into_iter().map(|key| (key, *meaning)))
    }

    /// The same with keys that ask for nothing.
    pub const fn and_notes(self, notes: &'static str) -> Self {
        Self { notes, ..self }
    }
}

impl FileKeys {
    /// The keys of these tables and of those in them, each once.
    pub fn of(tables: &[&'static KeyTable]) -> Self {
        let mut keys = Self::default();
        for table in tables {
            keys.add(table);
        }
        keys
    }

    fn add(&mut self, table: &'static KeyTable) {
        self.add_reasons(table);
        for (key, meaning) in table.keys() {
            if !self.read.contains(&key) && !matches!(meaning, Meaning::Not(_)) {
                self.read.push(key);
            }
            if let Meaning::Object(inner) | Meaning::Each(inner) = meaning {
                self.add(inner);
            }
        }
        let notes: Vec<&str> = words(table.notes).into_iter().filter(|note| !self.notes.contains(note)).collect();
        self.notes.extend(notes);
    }

    /// Adds the keys of a table whose values are not done, or some of them, each with what that is called.
    pub fn add_reasons(&mut self, table: &KeyTable) {
        let reasons = table.keys().filter_map(|(key, meaning)| Some((key, meaning.not_done()?)));
        let reasons: Vec<_> = reasons.filter(|reason| !self.not_done.contains(reason)).collect();
        self.not_done.extend(reasons);
    }
}

/// What the value of a key means in a case.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// It is read with another key.
    Known,
    /// What it means at the field with this column, as in a task file and in a format of the user's own.
    Field(&'static str),
    /// A list of texts, in place of this one.
    List(fn(&mut Case) -> &mut Vec<String>),
    /// An object with these keys.
    Object(&'static KeyTable),
    /// A list of such objects.
    Each(&'static KeyTable),
    /// A list whose elements this reads.
    EachBy(fn(&mut ForeignReader<'_>, &Node)),
    /// Names of skills that are activated, or of which none is.
    Skills(bool),
    /// Names of tools that are called, or are not.
    Tools(bool),
    /// A number from the least to the most, which messages call so, and what it says.
    Number(u64, u64, &'static str, fn(&mut Case, u64)),
    /// Texts or patterns that a text of this place has, or that none has.
    Said(TextPlace, Style, bool),
    /// Paths of files that there are, or are not.
    Files(bool),
    /// Patterns that the content of the file at `path` has, or has not.
    Content(bool),
    /// A statement for the judge, and whether it must be there.
    Judged(bool),
    /// No value is done, which is called so.
    Not(&'static str),
    /// Anything but this text is not done.
    Only(&'static str, &'static str),
    /// This reads the value of the key in the object. What it returns is not done.
    Part(Part, &'static str),
    /// This reads the value of the key in the object.
    By(fn(&mut ForeignReader<'_>, &Node, &'static str)),
}

/// Reads the value of a key, and returns the one that is not done.
pub type Part = for<'n> fn(&mut ForeignReader<'_>, &'n Node, &'static str) -> Option<&'n Node>;

impl Meaning {
    /// What is not done of the values of the key.
    fn not_done(&self) -> Option<&'static str> {
        match self {
            Self::Not(what) | Self::Only(_, what) | Self::Part(_, what) => Some(what),
            _ => None,
        }
    }
}

/// A file of another program while its cases are read, one after another.
pub struct ForeignReader<'a> {
    pub format: &'static CaseFormat,
    pub file: &'a ForeignFile<'a>,
    /// The value of the file.
    pub root: &'a Node,
    /// The file, and the files that it names.
    pub documents: Vec<Document<'a>>,
    /// The position of the document that is read.
    pub at: usize,
    /// The case that is read; before the first, what the file asks of every case.
    pub case: CaseDraft,
    /// Reads a regular expression at a key: their syntax differs between programs.
    pub read_pattern: fn(&mut ForeignReader<'_>, &str, &Node) -> Option<Pattern>,
    base: Case,
    /// Where the values of fields are written.
    places: Vec<(&'static str, SourceLocation)>,
    ids: HashSet<String>,
    /// The files that its cases are made of besides it.
    pub claims: Vec<PathBuf>,
    /// Warnings that keep no case from running.
    warnings: Vec<Diagnostic>,
}

impl<'a> Deref for ForeignReader<'a> {
    type Target = Document<'a>;

    fn deref(&self) -> &Document<'a> {
        &self.documents[self.at]
    }
}

impl<'a> DerefMut for ForeignReader<'a> {
    fn deref_mut(&mut self) -> &mut Document<'a> {
        &mut self.documents[self.at]
    }
}

/// Files and their cases.
impl<'a> ForeignReader<'a> {
    pub fn new(format: &'static CaseFormat, file: &'a ForeignFile<'a>, document: Document<'a>, root: &'a Node) -> Self {
        Self {
            format,
            file,
            root,
            documents: vec![document],
            at: 0,
            case: CaseDraft::default(),
            read_pattern: |reader, key, node| reader.pattern(key, node),
            base: Case::default(),
            places: Vec::new(),
            ids: HashSet::new(),
            claims: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The directory of the file.
    pub fn folder(&self) -> &'a Path {
        self.file.path.parent().unwrap_or(Path::new(""))
    }

    /// The file without cases, with its problems.
    pub fn no_cases(&mut self) -> FileCases {
        FileCases { problems: self.problems.take(), ..FileCases::default() }
    }

    /// The cases that this reads of each element of a list with its number, from 1. All begin with what the file asks of every case.
    pub fn cases<T>(&mut self, list: &[T], mut read: impl FnMut(&mut Self, &T, usize) -> FoundCase) -> FileCases {
        self.leave_labels();
        self.base = (*std::mem::take(&mut self.case)).clone();
        let mut problems: Vec<Diagnostic> =
            self.documents.iter_mut().flat_map(|document| document.problems.take()).collect();
        let cases = (1..).zip(list).map(|(number, element)| read(self, element, number)).collect();
        problems.append(&mut self.warnings);
        problems.extend(self.documents[0].unread_keys());
        FileCases { cases, problems, claims: std::mem::take(&mut self.claims), ..FileCases::default() }
    }

    /// Leaves out keys of the file that no trial depends on: the others make all its cases unsupported.
    fn leave_labels(&mut self) {
        let unsupported = std::mem::take(&mut self.case.unsupported);
        for part in unsupported {
            let is_it = |entry: &&NodeEntry| self.place(entry.key_range.clone()) == part.place;
            let is_label =
                |entry: &&NodeEntry| !asks(entry) && !self.names_file(&entry.value) && !self.names_skill(&entry.value);
            match self.root.entries().iter().find(is_it).filter(is_label) {
                Some(entry) => self.documents[0].not_read(&entry.key, &entry.key_range),
                None => self.case.unsupported.push(part),
            }
        }
    }

    /// Whether a value names a skill here that the place of the file does not say.
    fn names_skill(&self, node: &Node) -> bool {
        let own = self.file.skill.map(|own| self.file.skill_slug(own));
        let names = node.each().iter().filter_map(Node::text).filter(|name| self.file.has_skill(name));
        names.map(|name| self.file.skill_slug(name)).any(|slug| own.as_ref() != Some(&slug))
    }

    /// Whether a value is the path of a file here.
    fn names_file(&self, node: &Node) -> bool {
        let text = node.text().filter(|text| !text.contains(char::is_whitespace));
        text.is_some_and(|text| self.file.here(text, FileKind::File).is_some())
    }

    /// The cases of a list of objects, each with an id and a prompt at these keys.
    pub fn tasks(&mut self, tasks: &[Node], id: &'static str, prompt: &str, keys: &KeyTable) -> FileCases {
        self.cases(tasks, |reader, task, number| {
            let name = task.get(id).and_then(name).unwrap_or_else(|| number.to_string());
            reader.start(reader.file.case_id(&name), task);
            reader.locate_value("prompt", task.get(prompt));
            if task.is_map() {
                reader.duplicate_keys(task, &[]);
                reader.required(task, id);
                reader.read(task, keys);
            } else {
                reader.wrong_type("a task", "an object", task);
            }
            reader.finish()
        })
    }

    /// Warns of something in `node` that keeps no case from running, once for the file.
    pub fn warn(&mut self, code: Code, node: &Node, message: String, help: String) {
        self.warn_at(code, self.place(node.range.clone()), message, help);
    }

    fn warn_at(&mut self, code: Code, place: SourceLocation, message: String, help: String) {
        if !self.warnings.iter().any(|known| known.message == message) {
            let problem = Diagnostic::new(code, place, message).help(help);
            self.warnings.push(Diagnostic { severity: Severity::Warning, ..problem });
        }
    }

    /// Begins with the case of this id, which is written in `node`.
    pub fn start(&mut self, id: String, node: &Node) {
        let origin = self.place(node.range.start..node.range.start + 1);
        self.places = vec![("id", origin.clone())];
        self.case = CaseDraft::of(Case { id, origin, ..self.base.clone() });
    }

    /// Notes where the value of a field is written.
    pub fn locate_value(&mut self, key: &'static str, value: Option<&Node>) {
        let place = value.map(|value| (key, self.place(value.range.clone())));
        self.places.extend(place);
    }

    /// The case, unless it has problems.
    pub fn finish(&mut self) -> FoundCase {
        let mut problems = self.documents[0].problems.take();
        problems.append(&mut self.problems.take());
        let draft = std::mem::take(&mut self.case);
        let Case { id, skill, origin: SourceLocation { path, line, .. }, .. } = &*draft;
        let (id, skill, path, line) = (id.clone(), skill.clone(), path.clone(), *line);
        let case = if problems.is_empty() { Ok(draft.finish_foreign()) } else { Err(problems) };
        let places = std::mem::take(&mut self.places);
        FoundCase::new(id, skill, path, line, ReadCase { format: self.format, case, places })
    }

    /// A case that cannot be read.
    pub fn broken(&self, id: String, path: &Path, problems: Vec<Diagnostic>) -> FoundCase {
        let line = problems.first().map_or(1, |problem| problem.place.line.max(1));
        FoundCase::new(id, self.base.skill.as_str(), path, line, ReadCase::new(self.format, Err(problems)))
    }

    /// An id that no other case of the file has: of `name`, or of the `longer` one.
    pub fn free_id(&mut self, name: &str, longer: impl FnOnce() -> String) -> String {
        let mut id = self.file.case_id(name);
        if self.ids.contains(&id) {
            id = self.file.case_id(&longer());
        }
        self.ids.insert(id.clone());
        id
    }
}

/// Keys and what they mean.
impl ForeignReader<'_> {
    /// Reads an object by a table.
    pub fn read(&mut self, object: &Node, table: &KeyTable) {
        self.check_keys(object, table);
        self.read_keys(object, table);
    }

    /// Reads what a file says of all its cases. Each case in one of the `lists` looks at its own keys.
    pub fn read_root(&mut self, table: &KeyTable, lists: &[&str]) {
        let root = self.root;
        self.check_keys(root, table);
        self.duplicate_keys(root, lists);
        self.read_keys(root, table);
    }

    /// Keys that the table does not have make the case unsupported.
    pub fn check_keys(&mut self, object: &Node, table: &KeyTable) {
        self.only_keys(object, &table.keys().map(|(key, _)| key).collect::<Vec<_>>(), table.notes);
    }

    pub fn read_keys(&mut self, object: &Node, table: &KeyTable) {
        for (key, meaning) in table.keys() {
            self.read_key(object, key, meaning);
        }
    }

    pub fn read_key(&mut self, object: &Node, key: &'static str, meaning: Meaning) {
        match meaning {
            Meaning::Known => {}
            Meaning::By(read) => read(self, object, key),
            Meaning::Field(column) => {
                let field = fields::all().find(|field| field.field().column == column);
                // Every case has a prompt.
                let is_there = column != PROMPT || self.required_text(object, key).is_some();
                if let (Some(field), Some(written), true) = (field, object.get(key), is_there) {
                    self.read_field(field, key, key, written.clone());
                }
            }
            Meaning::List(list) => {
                if object.get(key).is_some() {
                    *list(&mut self.case) = self.text_list(object, key);
                }
            }
            Meaning::Number(least, most, expected, say) => {
                if let Some(number) = self.count(object, key, least..=most, expected) {
                    say(&mut self.case, number);
                }
            }
            Meaning::Object(table) => {
                if let Some(inner) = self.map(object, key) {
                    self.read(inner, table);
                }
            }
            Meaning::Skills(is_required) => {
                let names = self.texts(object, key);
                self.names_skills(names, is_required);
            }
            Meaning::Judged(is_required) => {
                let text = (is_required || object.get(key).is_some()).then(|| self.required_text(object, key));
                if let (Some(text), Some(written)) = (text.flatten(), object.get(key)) {
                    self.judge(written, text);
                }
            }
            Meaning::Not(what) => self.not_done_of(object.get(key), what),
            Meaning::Only(text, what) => {
                self.not_done_of(object.get(key).filter(|written| written.text() != Some(text)), what);
            }
            Meaning::Part(read, what) => {
                let part = read(self, object, key);
                self.not_done_of(part, what);
            }
            Meaning::Each(_)
            | Meaning::EachBy(_)
            | Meaning::Tools(_)
            | Meaning::Said(..)
            | Meaning::Files(_)
            | Meaning::Content(_) => self.read_list(object, key, meaning),
        }
    }

    /// Reads a value as that of a field, which messages call `name`, and checks `key`. A text may be in place of a list.
    pub fn read_field(&mut self, field: CaseField, name: &str, key: &'static str, node: Node) {
        let node = match (field, &node.value) {
            (CaseField::List(_), NodeValue::Text(_)) => {
                Node { range: node.range.clone(), value: NodeValue::List(vec![node]) }
            }
            _ => node,
        };
        let document = &mut self.documents[self.at];
        let line = document.line_of(node.range.start);
        self.case.read(document, field, WrittenField { name, key, line, node: &node });
        if let (PROMPT, Some(text)) = (field.field().column, node.text()) {
            self.case.prompt = self.prompt_in(text, node.range.clone());
        }
    }

    /// Keys that are neither `known` nor `notes`, nor of the user's own, make the case unsupported.
    pub fn only_keys(&mut self, object: &Node, known: &[&str], notes: &str) {
        let own = self.file.own_keys.iter().map(String::as_str);
        let is_both = |entry: &&NodeEntry| known.contains(&&*entry.key) && own.clone().any(|own| own == entry.key);
        for entry in object.entries().iter().filter(is_both) {
            let (message, help) = no_label(&entry.key);
            let place = self.place(entry.key_range.clone());
            self.warn_at(Code::UnusedSetting, place, message, help);
        }
        let notes: Vec<&str> = words(notes).into_iter().chain(own).collect();
        let unknown = self.unsupported_keys(object, known, &notes);
        self.case.unsupported.extend(unknown);
    }

    /// Reads a prompt that is never a path.
    pub fn literal_prompt(&mut self, object: &Node, key: &str) {
        if let Some(prompt) = self.required_text(object, key) {
            prompt.clone_into(&mut self.case.prompt);
        }
    }

    /// The prompt that a text at `range` says: itself, or what is in the file of the repository whose path it is.
    pub fn prompt_in(&mut self, text: &str, range: Range<usize>) -> String {
        let written = text.trim();
        let is_path =
            [".md", ".txt"].iter().any(|end| written.ends_with(end)) && !written.contains(char::is_whitespace);
        let path = Some(written).filter(|_| is_path).and_then(|path| self.file.here(path, FileKind::File));
        let Some(path) = path.map(|path| path.as_path().to_path_buf()) else { return text.to_owned() };
        let Some(prompt) = self.text_of(&path, range) else { return text.to_owned() };
        self.claims.push(path);
        prompt.trim().to_owned()
    }

    /// The text of a file that a value at `range` names, or the problem that there is none.
    pub fn text_of(&mut self, path: &Path, range: Range<usize>) -> Option<String> {
        let (code, why) = match self.file.text_of(path) {
            Ok(text) if !text.trim().is_empty() => return Some(text),
            Ok(_) => (Code::EmptyValue, "is empty".to_owned()),
            Err(why) => (Code::Unreadable, format!("cannot be read: {why}")),
        };
        self.problem(code, range, format!("the file {} {why}", path.display()));
        None
    }

    /// Adds what the agent finds in its workspace at a path.
    pub fn add_file(&mut self, path: RelativePath, content: InputContent) {
        self.case.files.push(InputFile { path, content });
    }

    /// Adds the file of the workspace that `written` says: its path, and its content, or else this file of the repository.
    pub fn input_file(
        &mut self,
        written: &Node,
        path: &str,
        content: Option<&str>,
        source: impl FnOnce(RelativePath) -> RelativePath,
    ) {
        match RelativePath::parse(path.strip_prefix("./").unwrap_or(path)) {
            Ok(path) => {
                let content = content.map(|text| InputContent::Text(text.to_owned()));
                let content = content.unwrap_or_else(|| InputContent::Source(source(path.clone())));
                self.add_file(path, content);
            }
            Err(why) => self.bad_path(path, why, written),
        }
    }

    fn not_done_of(&mut self, part: Option<&Node>, what: &str) {
        if let Some(node) = part {
            self.not_done(node, what);
        }
    }

    /// What is not done of the case.
    pub fn not_done(&mut self, node: &Node, what: impl Into<String>) {
        let unsupported = self.unsupported(what, node);
        self.case.unsupported.push(unsupported);
    }
}

/// What is said of a key that the settings call a label, and that its format reads.
pub fn no_label(key: &str) -> (String, String) {
    let message = format!("`{key}` is read here, although the settings say that it only labels");
    (message, format!("remove it from `own_keys` or `own_columns`; if `{key}` only labels here, give it another name"))
}

/// How the words of keys begin of what a trial is given.
const GIVEN: &str = "after before command container context docker env file fixture history hook image memory mock persona plugin repo \
                     sandbox script prefix server setup suffix system teardown template tool workspace";

/// Words in the keys of flags that change what the expectations of a file mean.
const TURNS: &str = "activation case invert inverted negate negated not opposite reverse reversed sensitive";

/// Whether a key may ask for something of a trial: it is one of a case, or names what the agent is asked, is given, or what is expected,
/// or a key in its value does. Another number tunes, and another flag, unless it turns something into its opposite.
fn asks(entry: &NodeEntry) -> bool {
    let NodeEntry { key, value, .. } = entry;
    let of_case = |word: &String| {
        let is_given = words(GIVEN).iter().any(|start| word.starts_with(start));
        is_given || is_expectation(word) || is_prompt(word.trim_end_matches('s'))
    };
    let is_field = || fields::named(key).is_some() || fields::named(&camel(key)).is_some();
    match value.value {
        NodeValue::Null => false,
        NodeValue::Number(_) => is_field(),
        NodeValue::Flag(_) => {
            let turns = |word: &String| words(TURNS).contains(&&**word);
            is_field() || kind_words(key).iter().any(|word| of_case(word) || turns(word))
        }
        _ => {
            let mut inside = value.entries().iter().chain(value.each().iter().flat_map(Node::entries));
            is_field() || kind_words(key).iter().any(of_case) || inside.any(asks)
        }
    }
}

/// A key as task files write it.
fn camel(key: &str) -> String {
    let words = kind_words(key);
    let capital =
        |word: &String| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)).collect();
    let rest = words.iter().skip(1).map(capital);
    words.first().cloned().into_iter().chain(rest).collect()
}

/// The text of a value that is one word: also of a number, and of true and false.
pub fn word(node: &Node) -> Option<String> {
    if let NodeValue::Flag(flag) = node.value { Some(flag.to_string()) } else { name(node) }
}

/// The text of a name, which may be a number.
pub fn name(node: &Node) -> Option<String> {
    match &node.value {
        NodeValue::Text(name) | NodeValue::Number(name) => Some(name.clone()),
        _ => None,
    }
}
