//! Formats that a user describes in evals.toml: which files, where the cases are in them, and which key has which field of a case.
//!
//! ```toml
//! [formats.qa]
//! files = "qa/*.yaml"
//! cases = "/suites/*/questions"
//! prompt = "ask"
//! should_trigger = { key = "verdict", values = { fire = true, hold = false } }
//! ```
//!
//! A field has any name that it has in our own formats, and reads what it reads there. A key that a case lacks is taken from the objects
//! around it. A key that nothing reads makes the case unsupported, as in every format of another program.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::document::{Document, Node, NodeEntry, NodeValue, Syntax};
use super::evals_json::{NOTES, is_none};
use super::fields::{self, CaseField};
use super::foreign_reader::{ForeignReader, name, word};
use super::named_files::PathPatterns;
use super::prompts_csv;
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFile, ForeignFiles, file_formats};
use crate::cases::case_folders::case_folders;
use crate::cases::repo_files::RepoFiles;
use crate::checks::{self, FieldForm};
use crate::settings::{OwnField, OwnFormat};
use crate::text::diagnostic::{Code, Diagnostic, shorten, suggest};
use crate::text::name::RelativePath;

/// Cases of any format of the user's own. Its files are those that the settings name.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "case of an own format",
    ForeignFiles {
        names: &[],
        possible_names: &[],
        mark: "",
        keys: &[],
        about: "[a format of your own](#a-format-of-your-own)",
        all_keys: FileKeys::default,
        parse: |_| None,
    },
);

/// What a format says of a case besides its fields: its name, the skill under test, and the skill that should activate.
const ID: &str = "id";
const SKILL: &str = "skill";
const EXPECTED_SKILL: &str = "expected_skill";

/// The part of a path that stands for every element or every value.
const ANY: &str = "*";

/// The files of each of these formats, and what is wrong with the formats.
pub(in crate::cases) fn files<'a>(
    formats: &'a [OwnFormat],
    tree: &dyn RepoFiles,
) -> (BTreeMap<PathBuf, Vec<&'a OwnFormat>>, Vec<Diagnostic>) {
    let (mut files, mut problems): (BTreeMap<_, Vec<_>>, _) = (BTreeMap::new(), Vec::new());
    for format in formats {
        let wrong = wrong_fields(format);
        if !wrong.is_empty() {
            problems.extend(wrong);
            continue;
        }
        let problem = |message: String| Diagnostic::new(Code::Config, format.place.clone(), message);
        for pattern in &format.files {
            match PathPatterns::Node.files(pattern, Path::new(""), tree) {
                Ok(paths) if paths.is_empty() => {
                    let message =
                        format!("the pattern `{}` of the format `{}` names no file", shorten(pattern), format.name);
                    problems.push(problem(message).help("a pattern starts at the repository's root, as qa/**/*.yaml"));
                }
                Ok(paths) => {
                    for path in paths {
                        if let Some(why) = unfit(&path) {
                            let message = format!("{} of the format `{}` {why}", path.display(), format.name);
                            problems.push(problem(message).help("name other files"));
                        } else {
                            files.entry(path).or_default().push(format);
                        }
                    }
                }
                Err(why) => {
                    problems.push(problem(format!("`{}` of the format `{}` {why}", shorten(pattern), format.name)));
                }
            }
        }
    }
    (files, problems)
}

/// Why a file cannot be of an own format.
fn unfit(path: &Path) -> Option<&'static str> {
    let is_of_ours = file_formats().any(|(_, files)| files.have(path));
    let is_read = Syntax::named(path).is_some() || is_table(path);
    match (is_of_ours, is_read) {
        (true, _) => Some("is read already, as a file of prompts.csv or of a task"),
        (_, false) => Some("has an ending that is not read: .json, .jsonl, .yaml, .yml or .csv"),
        _ => None,
    }
}

fn is_table(path: &Path) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|end| end.eq_ignore_ascii_case("csv"))
}

/// What is wrong with the fields of a format.
fn wrong_fields(format: &OwnFormat) -> Vec<Diagnostic> {
    let known = || fields::all().map(|field| field.field().column).chain([ID, SKILL, EXPECTED_SKILL]);
    let is_known = |name: &str| fields::named(name).is_some() || known().any(|known| known == name);
    let unknown = format.fields.iter().filter(|field| !is_known(&field.name)).map(|field| {
        let message = format!("unknown field `{}` of the format `{}`", shorten(&field.name), format.name);
        let help = suggest(&field.name, &known().collect::<Vec<_>>());
        Diagnostic::new(Code::Config, field.place.clone(), message).help(help)
    });
    let lacks_prompt = !format.fields.iter().any(|field| field.name == fields::PROMPT);
    let missing = lacks_prompt.then(|| {
        let message = format!("the format `{}` has no `prompt`", format.name);
        Diagnostic::new(Code::Config, format.place.clone(), message).help("write prompt = \"ask\" if your key is `ask`")
    });
    unknown.chain(missing).collect()
}

/// The cases of a file by the formats that name it.
pub(super) fn read(file: &ForeignFile<'_>, bytes: &[u8]) -> FileCases {
    let mut document = Document::new(file.path, bytes, Syntax::of(file.path));
    let root =
        if is_table(file.path) { prompts_csv::table(file.path, bytes) } else { document.root().ok_or_else(Vec::new) };
    let root = match root {
        Ok(root) => root,
        Err(problems) => {
            let problems = problems.into_iter().chain(document.problems.into_vec()).collect();
            return FileCases { problems, ..FileCases::default() };
        }
    };
    let mut reader = ForeignReader::new(&FORMAT, file, document, &root);
    reader.duplicate_keys(&root, &[]);
    given_to_agents(&mut reader);
    let paths = file
        .formats
        .iter()
        .flat_map(|format| format.fields.iter().flat_map(|field| &field.keys).chain([&format.cases]));
    let paths: Vec<Vec<String>> = paths.map(|path| parts(path)).collect();
    let mut cases = Vec::new();
    for format in file.formats {
        let found = cases_at(&root, &format.cases);
        if found.is_empty() {
            let shown = if format.cases.is_empty() { "/*" } else { &format.cases };
            let message = format!("the format `{}` finds no cases here: nothing is at `{}`", format.name, shown);
            reader.problem(Code::MissingKey, root.range.start..root.range.start + 1, message);
        }
        cases.extend(found.into_iter().map(|case| (*format, case)));
    }
    let has = |case: &OwnCase<'_>, field: &OwnField| field.keys.iter().any(|key| case.value(key).is_some());
    let fields = cases.iter().flat_map(|(format, case)| format.fields.iter().map(move |field| (format, case, field)));
    let used = fields.filter(|(_, case, field)| has(case, field));
    let used = used.map(|(format, _, field)| (format.name.clone(), field.name.clone())).collect();
    let named = cases.iter().filter_map(|(format, case)| {
        let field = format.fields.iter().find(|field| field.name == EXPECTED_SKILL)?;
        field.keys.iter().find_map(|key| case.value(key)?.text())
    });
    let mut tested: Vec<String> = named.filter(|name| !is_none(name)).map(|name| file.skill_slug(name)).collect();
    if tested.is_empty() {
        // No skill is none of those that are here.
        tested.extend(file.skills.iter().map(|slug| (*slug).to_owned()));
    }
    tested.sort();
    tested.dedup();
    let read = reader.cases(&cases, |reader, (format, case), number| {
        let id = format.fields.iter().find(|field| field.name == ID);
        let id = id.and_then(|field| field.keys.iter().find_map(|key| case.value(key).and_then(name)));
        let id = id.or_else(|| case.name.clone()).unwrap_or_else(|| number.to_string());
        reader.start(reader.file.case_id(&id), case.node);
        skill(reader, format, case, &tested);
        for field in fields::all() {
            let name = field.field();
            for own in format.fields.iter().filter(|own| own.name == name.column || own.name == name.key) {
                read_field(reader, field, own, case);
            }
        }
        if reader.case.prompt.trim().is_empty() && reader.problems.is_empty() {
            let keys = format.fields.iter().filter(|field| field.name == fields::PROMPT).flat_map(|field| &field.keys);
            let keys: Vec<&str> = keys.map(String::as_str).collect();
            let message =
                format!("the case has no prompt: the format `{}` has it at `{}`", format.name, keys.join("`, `"));
            reader.problem(Code::EmptyValue, case.node.range.start..case.node.range.start + 1, message);
        }
        only_known(reader, case, &paths);
        reader.finish()
    });
    FileCases { used, ..read }
}

/// The warnings about fields whose keys no case of their format has, by those that are `used`.
pub(in crate::cases) fn unused<'a>(
    formats: impl Iterator<Item = &'a OwnFormat>,
    used: &BTreeSet<(String, String)>,
) -> Vec<Diagnostic> {
    // Of files without cases, something else is said.
    let formats = formats.filter(|format| used.iter().any(|(name, _)| *name == format.name));
    let fields = formats.flat_map(|format| format.fields.iter().map(move |field| (format, field)));
    let is_unused = |(format, field): &(&OwnFormat, &OwnField)| {
        !field.keys.is_empty() && !used.contains(&(format.name.clone(), field.name.clone()))
    };
    let warning = |(format, field): (&OwnFormat, &OwnField)| {
        let keys = field.keys.join("` or `");
        let message = format!("no case of the format `{}` has the key `{keys}`", format.name);
        let problem = Diagnostic::new(Code::UnusedSetting, field.place.clone(), message);
        problem.help(format!("write the key that has `{}` in your files, or remove the line", field.name))
    };
    fields.filter(is_unused).map(warning).collect()
}

/// Reports a file that agents would get with the skill.
fn given_to_agents(reader: &mut ForeignReader<'_>) {
    let file = reader.file;
    let is_in = |folder: &Path| !folder.as_os_str().is_empty() && file.path.starts_with(folder);
    let given = file
        .directories
        .iter()
        .any(|(folder, _)| is_in(folder) && !case_folders(file.path).any(|around| around == *folder));
    if given {
        let message = "agents would get this file with the skill, and read what is expected of them";
        reader.problem_with_help(
            Code::BadPath,
            0..0,
            message,
            "move it to the skill's directory evals/, or out of the skill",
        );
    }
}

/// A case in a file.
struct OwnCase<'n> {
    node: &'n Node,
    /// Its key, if it has one. In a list at a key, with its number.
    name: Option<String>,
    /// The objects around it, from the outside.
    around: Vec<&'n Node>,
}

impl<'n> OwnCase<'n> {
    /// The value at a key or a pointer in the case, or else in the nearest object around it that has one.
    fn value(&self, path: &str) -> Option<&'n Node> {
        let parts = parts(path);
        let mut objects = [self.node].into_iter().chain(self.around.iter().rev().copied());
        // What is `null` here is not taken from around it.
        let has = |object: &&Node| {
            let first = parts.first();
            let is_at =
                |part: &&str| part.parse().is_ok_and(|at: usize| object.elements().is_some_and(|list| at < list.len()));
            first.is_none_or(|part| object.entry(part).is_some() || is_at(&&**part))
        };
        objects.find(has).and_then(|object| {
            parts.iter().try_fold(object, |node, part| match node.elements() {
                Some(list) => list.get(part.parse::<usize>().ok()?),
                None => node.get(part),
            })
        })
    }
}

impl<'n> OwnCase<'n> {
    /// What this part of a path leads to from here.
    fn inside(&self, part: &str) -> Vec<OwnCase<'n>> {
        let node = self.node;
        if part == ANY {
            let numbered = |number: usize| self.name.as_ref().map(|name| format!("{name}-{number}"));
            let elements =
                (1..).zip(node.elements().unwrap_or_default()).map(|(number, node)| (numbered(number), node));
            let entries = node.entries().iter().map(|entry| (Some(entry.key.clone()), &entry.value));
            let all = elements.chain(entries);
            return all.map(|(name, node)| OwnCase { node, name, around: self.around.clone() }).collect();
        }
        let around = self.around.iter().copied().chain([node]).collect();
        node.get(part).map(|node| OwnCase { node, name: self.name.clone(), around }).into_iter().collect()
    }
}

/// The cases at this path: what it leads to, or the elements of such a list.
fn cases_at<'n>(root: &'n Node, path: &str) -> Vec<OwnCase<'n>> {
    let whole = vec![OwnCase { node: root, name: None, around: Vec::new() }];
    let found = parts(path).iter().fold(whole, |found, part| found.iter().flat_map(|case| case.inside(part)).collect());
    let elements = |case: OwnCase<'n>| if case.node.elements().is_some() { case.inside(ANY) } else { vec![case] };
    found.into_iter().flat_map(elements).collect()
}

/// The parts of a path: a key is one.
fn parts(path: &str) -> Vec<String> {
    match path.strip_prefix('/') {
        Some(pointer) => pointer.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect(),
        None if path.is_empty() => Vec::new(),
        None => vec![path.to_owned()],
    }
}

/// Keys that no path leads to make the case unsupported: its own, those of the objects around it, and those of objects in it that hold
/// values which are read.
fn only_known(reader: &mut ForeignReader<'_>, case: &OwnCase<'_>, paths: &[Vec<String>]) {
    let known: BTreeSet<&str> = paths.iter().flatten().map(String::as_str).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let before = |path: &Vec<String>| (1..path.len()).map(|end| path[..end].to_vec()).collect::<Vec<_>>();
    let inner: BTreeSet<Vec<String>> = paths.iter().flat_map(before).collect();
    let inner = inner.iter().filter_map(|path| path.iter().try_fold(case.node, |node, part| node.get(part)));
    for object in case.around.iter().copied().chain([case.node]).chain(inner) {
        reader.only_keys(object, &known, NOTES);
    }
}

/// Reads which skill a case is about, and whether it should trigger by the name of one that should.
fn skill(reader: &mut ForeignReader<'_>, format: &OwnFormat, case: &OwnCase<'_>, tested: &[String]) {
    let file = reader.file;
    let named = |reader: &mut ForeignReader<'_>, field: &str| {
        let field = format.fields.iter().find(|own| own.name == field)?;
        let (key, written) = values(reader, field, case).into_iter().next()?;
        match &written.value {
            NodeValue::Null => Some(None),
            NodeValue::Text(text) if is_none(text) => Some(None),
            NodeValue::Text(text) => Some(Some(file.skill_slug(text))),
            _ => {
                reader.wrong_type(&format!("`{key}`"), "the name of a skill", &written);
                None
            }
        }
    };
    let own = named(reader, SKILL);
    if own == Some(None) && file.skill.is_none() && !format.fields.iter().any(|field| field.name == EXPECTED_SKILL) {
        let message = "the case is about no skill, since its key of `skill` says none";
        let help =
            format!("if no skill should activate, the key is that of `{EXPECTED_SKILL}`: write so in evals/evals.toml");
        reader.problem_with_help(Code::EmptyValue, case.node.range.start..case.node.range.start + 1, message, help);
    }
    let own = own.flatten().or_else(|| file.skill.map(str::to_owned));
    let expected = named(reader, EXPECTED_SKILL);
    let is_about = |name: &String| own.as_ref().is_none_or(|own| own == name);
    match expected {
        Some(Some(name)) if is_about(&name) => (reader.case.should_trigger, reader.case.skill) = (Some(true), name),
        Some(Some(name)) => {
            (reader.case.should_trigger, reader.case.skill) = (Some(false), own.unwrap_or_default());
            reader.names_skills(vec![name], true);
        }
        Some(None) => {
            reader.case.should_trigger = Some(false);
            if own.is_none() && tested.len() > 1 {
                reader.case.checks.push(checks::rejects(tested.to_vec()));
            }
            reader.case.skill = own.or_else(|| tested.first().cloned()).unwrap_or_default();
        }
        None => reader.case.skill = own.unwrap_or_default(),
    }
}

/// The values of a field in a case, each with its key.
fn values(reader: &mut ForeignReader<'_>, field: &OwnField, case: &OwnCase<'_>) -> Vec<(String, Node)> {
    if let Some(value) = &field.value {
        return vec![(field.name.clone(), node_of(value, &case.node.range))];
    }
    let mut values = Vec::new();
    for key in &field.keys {
        let parts = parts(key);
        // A key that says nothing says that, if words stand for values.
        let null = || parts.first().and_then(|key| case.node.entry(key)).map(|entry| &entry.value);
        let Some(written) = case.value(key).or_else(null) else { continue };
        let word = word(written);
        match word.as_ref().and_then(|word| field.values.get(word)) {
            Some(value) => values.push((key.clone(), node_of(value, &written.range))),
            None if field.values.is_empty() => values.push((key.clone(), written.clone())),
            None => {
                let known: Vec<&str> = field.values.keys().map(String::as_str).collect();
                let shown = word.map_or_else(|| written.kind().to_owned(), |word| format!("`{}`", shorten(&word)));
                let message = format!("`{key}` is {shown}; expected {}", known.join(" or "));
                let help = format!("add it to `values` of `{}` in evals/evals.toml", field.name);
                reader.problem_with_help(Code::BadChoice, written.range.clone(), message, help);
            }
        }
    }
    values
}

fn read_field(reader: &mut ForeignReader<'_>, field: CaseField, own: &OwnField, case: &OwnCase<'_>) {
    for (key, written) in values(reader, own, case) {
        if written.value == NodeValue::Null {
            continue;
        }
        let form = field.field().form;
        reader.locate_value(field.field().column, Some(&written));
        let written = match field {
            // Its own function reads it.
            CaseField::List(_) => written,
            _ if is_table(reader.file.path) => resolved(reader, of_cell(written, form), form),
            _ => resolved(reader, written, form),
        };
        reader.read_field(field, &key, field.field().column, written);
    }
}

/// The text of a cell as the value that JSON would have.
fn of_cell(cell: Node, form: FieldForm) -> Node {
    let Some(text) = cell.text() else { return cell };
    let value = match form {
        FieldForm::Flag if text.eq_ignore_ascii_case("true") => NodeValue::Flag(true),
        FieldForm::Flag if text.eq_ignore_ascii_case("false") => NodeValue::Flag(false),
        FieldForm::Number { .. } | FieldForm::Share | FieldForm::Amount => NodeValue::Number(text.to_owned()),
        _ if form.is_list() => {
            let parts = form.split(text).into_iter();
            NodeValue::List(
                parts.map(|part| Node { value: NodeValue::Text(part), range: cell.range.clone() }).collect(),
            )
        }
        _ => return cell,
    };
    Node { value, range: cell.range }
}

/// The paths of files of the repository where these are: next to the file, in a directory above it, or at the root.
fn resolved(reader: &ForeignReader<'_>, written: Node, form: FieldForm) -> Node {
    let is_source = matches!(form, FieldForm::Source | FieldForm::Sources | FieldForm::Files);
    match written.value {
        NodeValue::Text(text) if is_source => {
            let path = RelativePath::parse(text.strip_prefix("./").unwrap_or(&text)).ok();
            let found = path.map_or(text, |path| format!("/{}", reader.file.named_file(&path)));
            Node { value: NodeValue::Text(found), range: written.range }
        }
        NodeValue::List(list) if is_source => {
            let list = list.into_iter().map(|node| resolved(reader, node, form)).collect();
            Node { value: NodeValue::List(list), range: written.range }
        }
        _ => written,
    }
}

/// A value of the settings as one of the file, at this place.
fn node_of(value: &Json, range: &Range<usize>) -> Node {
    let inner = |value: &Json| node_of(value, range);
    let value = match value {
        Json::Null => NodeValue::Null,
        Json::Bool(flag) => NodeValue::Flag(*flag),
        Json::Number(number) => NodeValue::Number(number.to_string()),
        Json::String(text) => NodeValue::Text(text.clone()),
        Json::Array(list) => NodeValue::List(list.iter().map(inner).collect()),
        Json::Object(map) => {
            let entry = |(key, value): (&String, _)| NodeEntry {
                key: key.clone(),
                key_range: range.clone(),
                value: inner(value),
            };
            NodeValue::Map(map.iter().map(entry).collect())
        }
    };
    Node { value, range: range.clone() }
}
