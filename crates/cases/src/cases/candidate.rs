//! Whether a file that no format claims holds cases after all, and of which format they nearly are.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::cases::case::document::{Document, Node, NodeEntry, NodeValue, Syntax};
use crate::cases::case::evals_json::{case_lists, expectation_keys, is_result, list_names};
use crate::cases::case::key_words::{EXPECTATIONS, WEAK, is_expectation, is_prompt, plain};
use crate::cases::case::plugin_eval::{CASE, GRADERS, PROMPT};
use crate::cases::case::prompts_csv::utf_16;
use crate::cases::case::tessl::{CHECKLIST, CRITERIA, TASK};
use crate::cases::case::{ForeignFiles, foreign_formats, promptfoo, words};
use crate::cases::case_folders::is_in_cases;
use crate::cases::cases_in_markdown::{PageCases, cases_in};
use crate::cases::unread::is_part_of_case;
use crate::skill::SKILL_FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest};

/// The keys of lists of queries.
const TRIGGERS: [&str; 2] = ["should_trigger", "should_not_trigger"];

/// How deep in a file a list of cases is searched.
const MAX_DEPTH: usize = 5;

/// Ends of the names of files of cases, without the `s` of several.
const NAMES: &str = "activation case eval negative positive prompt querie query scenario suite test trigger";

const EVAL: &str = "eval";

/// Ends of the names of files of cases wherever they are, each with a dot before it.
const DOTTED: [&str; 4] = ["case", "cases", "eval", "evals"];

/// Names of files that are one case each, in a directory of its own.
const CASES: [&str; 3] = ["case", "scenario", "task"];

/// Where a file is that no format reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CandidatePlace {
    /// Directly in a directory of cases, or in one of a skill there.
    Direct,
    /// In a directory of cases.
    Cases,
    /// Anywhere else: its content alone can say that it holds cases.
    Elsewhere,
}

/// A file that no format reads.
pub(super) struct Candidate<'a> {
    pub path: &'a Path,
    pub bytes: &'a [u8],
    pub place: CandidatePlace,
    pub skills: &'a SkillWords<'a>,
}

/// The slugs of the repository's skills, those that are not read too.
pub(super) struct SkillWords<'a> {
    slugs: HashSet<&'a str>,
    /// Finds one, perhaps as a part of a word; `None` without skills.
    any: Option<Regex>,
}

impl<'a> SkillWords<'a> {
    pub fn new(slugs: impl Iterator<Item = &'a str>) -> Self {
        let slugs: HashSet<&str> = slugs.filter(|slug| !slug.is_empty()).collect();
        let mut longest_first: Vec<&str> = slugs.iter().copied().collect();
        longest_first.sort_by_key(|slug| std::cmp::Reverse(slug.len()));
        let any = longest_first.into_iter().map(regex::escape).collect::<Vec<_>>().join("|");
        // Names without special characters always compile, however many there are.
        let compiled = || RegexBuilder::new(&any).size_limit(usize::MAX).build().ok();
        let any = (!any.is_empty()).then(compiled).flatten();
        Self { slugs, any }
    }

    /// Whether a word of a text is one.
    fn are_named_in(&self, text: &[u8]) -> bool {
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "-_.".contains(c));
        let mut found = self.any.iter().flat_map(|any| any.find_iter(text));
        found.any(|found| {
            let before = String::from_utf8_lossy(&text[found.start().saturating_sub(LONGEST_CHAR)..found.start()]);
            let after = &text[found.end()..text.len().min(found.end() + LONGEST_CHAR)];
            !is_part(before.chars().next_back()) && !is_part(String::from_utf8_lossy(after).chars().next())
        })
    }
}

/// The most bytes of a character.
const LONGEST_CHAR: usize = 4;

impl Candidate<'_> {
    /// The problem of a file that holds cases which nobody reads; `None` if it holds none.
    pub fn problem(&self) -> Option<Diagnostic> {
        if self.path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")) {
            return self.markdown();
        }
        if self.place == CandidatePlace::Elsewhere && !self.may_have_cases() {
            return None;
        }
        let text = String::from_utf8_lossy(self.bytes);
        // Half of the bytes of UTF-16 are zeros.
        let text = if self.bytes.contains(&0) { text.replace('\0', "").into() } else { text };
        if self.path.file_stem() == Path::new(CRITERIA).file_stem() && is_checklist(self.path, self.bytes, &text) {
            let lacks = format!("`Tessl scenario`, {TASK} is missing next to it");
            return Some(unread(self.path, "a part of a case", &lacks));
        }
        let separator = self.path.extension().and_then(OsStr::to_str).and_then(separator);
        let (place, prompt, keys) = match (Syntax::named(self.path), separator) {
            (Some(syntax), _) => match self.case_in_values(syntax, &text) {
                Ok((place, prompt)) => (place, prompt, assignments(&text).collect()),
                Err(other) => return other.map(|problem| *problem),
            },
            (None, Some(separator)) => {
                let header = text.lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
                let columns = header.split(separator).map(|cell| cell.trim_matches(['"', ' ', '\r']));
                let columns: HashSet<&str> = columns.collect();
                if prompt_of(&columns).is_none() && !self.is_named() {
                    return None;
                }
                let place = SourceLocation::in_text(self.path, self.bytes, 0..header.len());
                (place, prompt_of(&columns), columns)
            }
            (None, None) => {
                let keys: HashSet<&str> = assignments(&text).collect();
                let prompt = prompt_of(&keys);
                // The settings of a program for evals have that word, too.
                let may_be_settings = self.last_word() == EVAL && !text.contains("[[");
                if prompt.is_none() && (may_be_settings || !self.is_named()) {
                    return None;
                }
                (SourceLocation::file(self.path), prompt, keys)
            }
        };
        if let Some(problem) = utf_16(self.path, self.bytes).filter(|_| separator.is_some()) {
            return Some(problem);
        }
        let (format, lacks) = nearest_format(self.path, &keys)?;
        let message =
            format!("this file looks like cases and is not read: for the nearest format, `{format}`, {lacks}");
        let help = match (own_place(self.path, &keys), prompt) {
            (Some(place), _) => format!("if these are cases, move them to {place}"),
            (None, Some(prompt)) => format!("a prompt seems to be at `{prompt}`; {FORMATS}"),
            (None, None) if self.is_named() => format!("its name says that it holds cases; {FORMATS}"),
            (None, None) => format!("its list says what is expected; {FORMATS}"),
        };
        Some(Diagnostic::new(Code::UnreadCases, place, message).help(help))
    }

    /// The place of the first case in a file of values and the key of its prompt, if one is known; or what else is said of the file.
    fn case_in_values(
        &self,
        syntax: Syntax,
        text: &str,
    ) -> Result<(SourceLocation, Option<String>), Option<Box<Diagnostic>>> {
        let mut document = Document::new(self.path, self.bytes, syntax);
        let is_elsewhere = self.place == CandidatePlace::Elsewhere;
        let Some(root) = document.root() else {
            // Only a value could show that it holds no cases.
            let has_prompt = || prompt_of(&assignments(text).collect()).is_some();
            let is_named = !is_elsewhere && (self.is_named() || has_prompt());
            return Err(document.problems.into_vec().into_iter().next().filter(|_| is_named).map(Box::new));
        };
        if is_stored_result(&root) || is_workflow(&root) {
            return Err(None);
        }
        if let Some(what) = empty_list(&root).filter(|_| !is_elsewhere && (root.is_map() || self.is_named())) {
            let message = format!("this file has no cases: {what} is empty");
            let place = document.place(root.range.start..root.range.start + 1);
            let problem = Diagnostic::new(Code::UnreadCases, place, message);
            return Err(Some(Box::new(problem.help("write cases, or remove the file"))));
        }
        let has_cases = || has_list(&root, MAX_DEPTH) || root.entries().iter().any(|entry| is_prompt(&entry.key));
        let named = || Some((&root, None)).filter(|_| self.is_named() && has_cases());
        // What is asked may have any name in a list of cases that says what is expected.
        let expects = |item: &Node| item.entries().iter().any(|at| is_expectation(&at.key) && is_filled(&at.value));
        let says = |at: &NodeEntry| !is_expectation(&at.key) && has_sentence(&at.value, MAX_DEPTH);
        let is_case = |item: &Node| expects(item) && item.entries().iter().any(says);
        let of_list = |(_, list): (&str, &Node)| list.elements().is_some_and(|items| items.iter().any(is_case));
        let list = || Some((&root, None)).filter(|_| !is_elsewhere && case_lists(&root).any(of_list));
        let suite = || Some((&root, Some(PROMPT_LIST.to_owned()))).filter(|_| is_suite(&root));
        let found = case_in(&root, MAX_DEPTH, false).map(|(case, prompt)| (case, Some(prompt.to_owned())));
        let (case, prompt) = found.or_else(suite).or_else(named).or_else(list).ok_or(None)?;
        Ok((document.place(case.range.start..case.range.start + 1), prompt))
    }

    /// Whether its name and its place say that it holds cases.
    fn is_named(&self) -> bool {
        let is_placed = self.place != CandidatePlace::Elsewhere;
        self.has_name_of_case()
            || is_placed && self.is_one_case()
            || self.place == CandidatePlace::Direct && words(NAMES).contains(&&*self.last_word())
    }

    /// Whether its name is that of one case in a directory of its own.
    fn is_one_case(&self) -> bool {
        self.path.file_stem().is_some_and(|stem| CASES.iter().any(|name| stem.eq_ignore_ascii_case(name)))
    }

    /// The last word of its name, without the `s` of several.
    fn last_word(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        let word = stem.rsplit(|c: char| !c.is_alphanumeric() && c != '.').next().unwrap_or_default();
        word.strip_suffix('s').unwrap_or(word).to_owned()
    }

    /// Whether its name ends in `.case` or the like, before the ending of its syntax.
    fn has_name_of_case(&self) -> bool {
        let stem = self.path.file_stem().map(Path::new).and_then(Path::extension).and_then(OsStr::to_str);
        stem.is_some_and(|word| DOTTED.iter().any(|known| word.eq_ignore_ascii_case(known)))
    }

    /// Whether a file outside the directories of cases of skills may have some, by its bytes alone: most files of a tree are something
    /// else. It asks for something, expects something, and names a skill or is in a directory of cases of something.
    fn may_have_cases(&self) -> bool {
        static KEYS: LazyLock<Option<[Regex; 6]>> = LazyLock::new(|| {
            let key = |list: &str, rest: &str| {
                let end = r#"["']?[ \t]*(?:[:=,;\t]|\r?$)"#;
                let list = words(list).join("|");
                Regex::new(&format!(r#"(?im-u)(?:^|[\s"',;{{\[-])\w*(?:{list}){rest}{end}"#)).ok()
            };
            let any = r"\w*";
            let file = Regex::new(&format!("(?-u){}", regex::escape(SKILL_FILE))).ok()?;
            Some([
                key(ASKS, "")?,
                key(ASKS_AGENTS, "")?,
                key(EXPECTATIONS, any)?,
                key("skill", any)?,
                key("expect", r"\w*skill\w*")?,
                file,
            ])
        });
        let Some([asks, asks_agents, expects, about_skill, expects_skill, file]) = &*KEYS else { return false };
        let is_among_cases = || {
            is_in_cases(self.path)
                || self.has_name_of_case()
                || (self.is_one_case() || asks_agents.is_match(self.bytes)) && self.is_among_cases()
        };
        asks.is_match(self.bytes)
            && expects.is_match(self.bytes)
            && (is_among_cases()
                || file.is_match(self.bytes)
                || expects_skill.is_match(self.bytes)
                || about_skill.is_match(self.bytes) && self.skills.are_named_in(self.bytes))
    }

    /// Whether a word in the name of a directory around it is one of cases.
    fn is_among_cases(&self) -> bool {
        let folders = self.path.ancestors().skip(1).filter_map(Path::file_name).map(OsStr::to_string_lossy);
        let is_word = |word: &str| words(FOLDERS).contains(&&*word.to_lowercase());
        folders.into_iter().any(|name| name.split(|c: char| !c.is_alphanumeric()).any(is_word))
    }

    /// The problem of a Markdown file that is a case, has some, or is a part of one.
    fn markdown(&self) -> Option<Diagnostic> {
        let path = self.path;
        let stem = plain(&path.file_stem().unwrap_or_default().to_string_lossy());
        let is_placed = self.place != CandidatePlace::Elsewhere;
        if is_placed && is_part_of_case(path) {
            let message = "this file looks like a case and is not read: no file next to it says what is expected";
            let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message);
            return Some(problem.help("docs/formats.md lists the formats whose cases are directories"));
        }
        let is_page = ["readme", "skill"].contains(&&*stem);
        let options = if is_placed { front_matter(self.bytes) } else { HashSet::new() };
        if options.contains("type") && path.parent().is_some_and(|folder| folder.ends_with(GRADERS)) {
            let lacks = format!("`plugin eval`, there is no {PROMPT} or {CASE} next to {GRADERS}/");
            return Some(unread(path, "a part of a case", &lacks));
        }
        let is_case = !is_page && expectation_keys().any(|key| options.contains(key));
        let cases = cases_in(self.bytes, is_placed && !is_page, &self.skills.slugs);
        match cases {
            Some(PageCases { line, is_one: false }) => {
                let place = SourceLocation { line, column: 1, ..SourceLocation::file(path) };
                Some(Diagnostic {
                    place,
                    ..unread(path, "cases", "`trigger query` or `eval`, its name must end in .json, .yaml or .yml")
                })
            }
            None if !is_case => None,
            _ => {
                let lacks = format!("`plugin eval`, the prompt must be in {PROMPT}, next to {GRADERS}/");
                Some(unread(path, "a case", &lacks))
            }
        }
    }
}

/// The ends of keys of what is asked, in a file that may be anything.
const ASKS: &str =
    "prompts? query queries questions? inputs? tasks? instructions? messages? requests? text turns? utterance scenario";

/// Those of them that only agents are asked.
const ASKS_AGENTS: &str = "prompts? query question utterance";

/// The words of directories of cases, wherever they are.
const FOLDERS: &str =
    "benchmark benchmarks cases conformance eval evals evaluation evaluations golden scenarios suites";

/// The keys of what a program has stored of its runs: their results, and when and how often.
const STORED: &str = "results runs";
const STORED_EACH: &str = "timestamp triggerrate";

/// Whether a value is what a program has stored of its runs, by the keys of it, of what is known of it, or of its first item.
fn is_stored_result(root: &Node) -> bool {
    let first = root.elements().and_then(<[Node]>::first).unwrap_or(root);
    let is_stored = |entry: &NodeEntry| {
        let (key, value) = (plain(&entry.key), &entry.value);
        words(STORED).contains(&&*key) && (value.is_map() || value.elements().is_some())
            || words(STORED_EACH).contains(&&*key)
    };
    first.entries().iter().any(is_stored) || root.get("metadata").is_some_and(is_result)
}

/// Whether a value is a workflow of GitHub, or an action.
fn is_workflow(root: &Node) -> bool {
    let is_action = |runs: &Node| runs.get("using").is_some();
    root.get("jobs").is_some_and(Node::is_map) && root.get("on").is_some() || root.get("runs").is_some_and(is_action)
}

/// The key of the prompts of a suite.
const PROMPT_LIST: &str = "prompts";

/// Whether a value is a suite of promptfoo, whose prompts may be programs.
fn is_suite(root: &Node) -> bool {
    let is_test =
        |test: &Node| test.get("assert").is_some() || test.text().is_some_and(|text| text.starts_with("file://"));
    root.get(PROMPT_LIST).is_some() && root.get("tests").is_some_and(|tests| tests.each().iter().any(is_test))
}

/// Where a table with our own columns belongs that is in the directory of cases under another name.
fn own_place(path: &Path, columns: &HashSet<&str>) -> Option<String> {
    let below = path.strip_prefix("evals/skills").ok()?;
    let skill = below.components().next()?.as_os_str().to_string_lossy();
    let skill = skill.split('.').next().unwrap_or_default();
    let is_own = ["id", "should_trigger", "prompt"].iter().all(|column| columns.contains(*column));
    is_own.then(|| format!("evals/skills/{skill}/prompts.csv"))
}

/// Whether a file that is named as the criteria of a scenario of Tessl holds some, or may.
fn is_checklist(path: &Path, bytes: &[u8], text: &str) -> bool {
    let is_broken = || path.ends_with(CRITERIA) && Document::new(path, bytes, Syntax::Json).root().is_none();
    assignments(text).any(|key| key == CHECKLIST) || is_broken()
}

/// The keys in front of a page.
fn front_matter(bytes: &[u8]) -> HashSet<String> {
    let text = String::from_utf8_lossy(bytes);
    let front = text.trim_start_matches('\u{feff}').strip_prefix("---").and_then(|rest| rest.split_once("\n---"));
    front.into_iter().flat_map(|(front, _)| assignments(front)).map(str::to_owned).collect()
}

/// The problem of a file that is something of a format that lacks something.
fn unread(path: &Path, what: &str, lacks: &str) -> Diagnostic {
    let message = format!("this file looks like {what} and is not read: for the nearest format, {lacks}");
    Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message).help(FORMATS)
}

/// Where formats are explained.
const FORMATS: &str = "docs/formats.md lists the keys and files of each format";

/// Whether a value has a list that is empty, or of texts or objects that are no results.
fn has_list(node: &Node, depth: usize) -> bool {
    if depth == 0 || is_result(node) || is_schema(node) {
        return false;
    }
    let is_item = |node: &Node| node.text().is_some() || node.is_map() && !is_result(node);
    node.elements().is_some_and(|items| items.is_empty() || items.iter().any(is_item))
        || node.entries().iter().any(|entry| has_list(&entry.value, depth - 1))
}

/// Whether an object is a JSON Schema, which has the keys of cases as the names of properties.
fn is_schema(node: &Node) -> bool {
    let has = |key: &str| node.get(key).is_some_and(Node::is_map);
    has("properties") && node.get("type").is_some() || has("$defs") && node.get("$schema").is_some()
}

/// What separates the cells of a table with this ending.
fn separator(ending: &str) -> Option<char> {
    match ending.to_ascii_lowercase().as_str() {
        "csv" => Some(','),
        "tsv" => Some('\t'),
        _ => None,
    }
}

/// The list of cases without any that a file is or has, if its name is one of lists of cases.
fn empty_list(root: &Node) -> Option<String> {
    let lists = || case_lists(root).filter_map(|(key, list)| Some((key, list.elements()?)));
    if root.elements().is_some_and(<[Node]>::is_empty) {
        return Some("its list".to_owned());
    }
    let (key, _) = lists().next().filter(|_| lists().all(|(_, list)| list.is_empty()))?;
    Some(format!("`{key}`"))
}

/// The format that has most of these keys, and what a file lacks to be one of it.
fn nearest_format(path: &Path, keys: &HashSet<&str>) -> Option<(&'static str, String)> {
    let shared = |of_format: &[&str]| of_format.iter().filter(|key| keys.contains(**key)).count();
    // A format whose files all have one name has no file of another.
    let may_be =
        |files: &ForeignFiles| !files.keys.is_empty() && (files.have_many_names() || files.are_nearly_named(path));
    let formats = foreign_formats().filter(|(_, files)| may_be(files));
    let (format, files) = formats.max_by_key(|(_, files)| {
        let (shared, all) = (shared(files.keys), files.keys.len());
        let is_whole = shared == all && all > 1;
        // Many files have one of several keys, such as `id`.
        let shared = if 2 * shared < all { 0 } else { shared };
        let is_named = files.are_nearly_named(path) && shared > 0;
        (is_whole && all > 2, files.have_ending_of(path), is_named, shared, std::cmp::Reverse(all))
    })?;
    let lacks = match files.keys.iter().find(|key| !keys.contains(**key)) {
        _ if !files.have_ending_of(path) => format!("its name must end in {}", files.endings().join(" or ")),
        Some(missing) => format!("the key `{missing}` is missing"),
        None if files.keys.len() == 1 && expectation_keys().any(|key| keys.contains(key)) => {
            format!("its list is at none of the keys {}", list_names())
        }
        None if files.keys.len() == 1 => "no known key says what is expected".to_owned(),
        // Their readers leave out what does not say which skill it is about.
        None if [promptfoo::FORMAT.name, promptfoo::AGENTV.name].contains(&format.name) => {
            "nothing that is read says which skill it is about".to_owned()
        }
        None if separator(&path.extension().unwrap_or_default().to_string_lossy()).is_some() => {
            "nothing says which skill it is about".to_owned()
        }
        None => format!("its list is at none of the keys {}", list_names()),
    };
    Some((format.name, lacks))
}

/// The first object in a value that asks for something and expects something, and the key of what it asks.
fn case_in<'n>(node: &'n Node, depth: usize, is_in_list: bool) -> Option<(&'n Node, &'n str)> {
    if is_result(node) || is_schema(node) {
        return None;
    }
    // Queries that should trigger a skill are prompts with what is expected.
    let is_side = |entry: &&NodeEntry| {
        entry.value.elements().is_some_and(|list| !list.is_empty()) && nearest(&entry.key, TRIGGERS).is_some()
    };
    if let Some(queries) = node.entries().iter().find(is_side) {
        return Some((node, &queries.key));
    }
    // Some formats have the prompt in an object of its own.
    let inner = |entry: &'n NodeEntry| entry.value.entries().iter().map(move |prompt| (entry, prompt));
    let own = node.entries().iter().map(|entry| (entry, entry));
    let prompts = own.chain(node.entries().iter().flat_map(inner)).filter(|(_, prompt)| {
        is_prompt(&prompt.key)
            && is_filled(&prompt.value)
            && (is_in_list || !words(WEAK).contains(&&*plain(&prompt.key)))
    });
    let expects = |at: &NodeEntry| {
        let mut others = node.entries().iter().filter(|entry| entry.key != at.key);
        others.any(|entry| is_expectation(&entry.key) && is_filled(&entry.value))
    };
    if let Some((_, prompt)) = prompts.into_iter().find(|(at, _)| expects(at)) {
        return Some((node, &prompt.key));
    }
    if depth == 0 {
        return None;
    }
    let in_lists = node.elements().unwrap_or_default().iter().map(|inner| (inner, true));
    let inner = in_lists.chain(node.entries().iter().map(|entry| (&entry.value, false)));
    inner.take(100).find_map(|(inner, is_in_list)| case_in(inner, depth - 1, is_in_list))
}

/// Whether a value has a text of several words.
fn has_sentence(node: &Node, depth: usize) -> bool {
    let of_list = node.elements().unwrap_or_default().iter();
    let mut inner = of_list.chain(node.entries().iter().map(|entry| &entry.value));
    match node.text() {
        Some(text) => text.split_whitespace().nth(1).is_some(),
        None => depth > 0 && inner.any(|inner| has_sentence(inner, depth - 1)),
    }
}

/// Whether a value says something.
fn is_filled(node: &Node) -> bool {
    match &node.value {
        NodeValue::Null => false,
        NodeValue::Flag(_) | NodeValue::Number(_) => true,
        NodeValue::Text(text) => !text.trim().is_empty(),
        NodeValue::List(elements) => !elements.is_empty(),
        NodeValue::Map(entries) => !entries.is_empty(),
    }
}

/// The key of a prompt, if another one says what is expected.
fn prompt_of(keys: &HashSet<&str>) -> Option<String> {
    let prompt = keys.iter().filter(|key| is_prompt(key)).min()?;
    keys.iter().any(|key| is_expectation(key)).then(|| (*prompt).to_owned())
}

/// The words before `:` or `=` at the starts of lines and of what braces, brackets and commas part, in a text of any syntax.
fn assignments(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '{', '[', ',']).filter_map(|part| {
        let (key, _) = part.split_once([':', '='])?;
        let key = key.trim_matches(|c: char| !c.is_alphanumeric());
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
        is_key.then_some(key)
    })
}
