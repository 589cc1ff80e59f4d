//! A file of prompts and tests.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use super::case_reader::{CaseReader, SuiteTest};
use super::{Dialect, prompts, skill_use, test_files, workspace};
use crate::cases::case::document::{Document, Node, NodeValue};
use crate::cases::case::{Case, FileCases, ForeignFile};
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::settings::trials::{MOST_TRIALS, Trials};
use crate::text::diagnostic::{Code, shorten};

/// The keys of tests, the one that is read first.
const TESTS: [&str; 2] = ["tests", "scenarios"];

/// The keys of the programs that answer.
const PROVIDERS: [&str; 2] = ["providers", "targets"];

/// The key of the directory in which such a program works.
const WORKING_DIR: &str = "working_dir";

/// Settings of such a program that change what it is asked. The mode sets all others.
const TOLD: [&str; 9] = [
    "system_prompt",
    "append_system_prompt",
    "custom_system_prompt",
    "output_format",
    "output_schema",
    "additional_directories",
    "prompts",
    "transform",
    "transformResponse",
];

/// The key of the skills that such a program is offered.
const SKILLS: &str = "skills";

/// What is said about runs and asks for nothing of a trial.
const RUN_NOTES: [&str; 11] = [
    "maxConcurrency",
    "max_concurrency",
    "showProgressBar",
    "delay",
    "cache",
    "generateSuggestions",
    "generate_suggestions",
    "maxEvalTimeMs",
    "max_eval_time_ms",
    "budget_usd",
    "eventSource",
];

/// Reads a file; `None` if it has nothing to do with skills.
pub(in crate::cases::case) fn parse(
    dialect: &'static Dialect,
    file: &ForeignFile<'_>,
    bytes: &[u8],
) -> Option<FileCases> {
    let mut document = Document::new(file.path, bytes, test_files::syntax(file.path));
    let Some(root) = document.root() else {
        let mark = skill_use::KIND.as_bytes();
        let is_ours = file.is_in_evals_of_skill() || bytes.windows(mark.len()).any(|part| part == mark);
        return is_ours.then(|| FileCases { problems: document.problems, cases: Vec::new() });
    };
    let written = TESTS.iter().find_map(|key| root.get(key))?;
    let (mut parts, mut files) = (Vec::new(), Vec::new());
    for entry in test_files::entries(written) {
        let named = entry.text().and_then(|text| read_files(file, text));
        match named {
            Some(read) => {
                parts.extend((files.len()..files.len() + read.len()).map(Part::File));
                files.extend(read);
            }
            None => parts.push(Part::Entry(entry)),
        }
    }
    let mut documents = vec![document];
    documents.extend(files.iter().map(|(path, bytes)| Document::new(path, bytes, test_files::syntax(path))));
    let roots: Vec<Option<Node>> = documents.iter_mut().skip(1).map(Document::root).collect();
    let mut tests = Vec::new();
    for part in parts {
        match part {
            Part::Entry(node) => tests.push(SuiteTest { document: 0, node }),
            Part::File(at) => {
                let nodes = roots[at].iter().flat_map(test_files::entries);
                tests.extend(nodes.map(|node| SuiteTest { document: at + 1, node }));
            }
        }
    }
    let default = root.get(dialect.default_test);
    let lists = tests.iter().map(|test| test.node).chain(default).chain([&root]);
    let skills: Vec<String> = lists.flat_map(skill_use::named).map(|(name, _)| name).collect();
    if skills.is_empty() && !file.is_in_evals_of_skill() {
        return None;
    }
    let base = base(dialect, file, &mut documents[0], &root);
    let prompts = prompts::read(&mut documents[0], file, &root, dialect.implied_prompt);
    if let Some(default) = default.filter(|default| !default.is_map()) {
        documents[0].wrong_type(&format!("`{}`", dialect.default_test), "an object", default);
    }
    if tests.is_empty() {
        documents[0].problem(Code::EmptyValue, written.range.clone(), "the list of tests is empty");
    }
    let problems = documents.iter_mut().flat_map(|document| std::mem::take(&mut document.problems)).collect();
    let mut reader = CaseReader { dialect, file, documents, root: &root, default, base, skills, names: HashSet::new() };
    let mut cases = Vec::new();
    for (number, test) in (1..).zip(&tests) {
        for (at, prompt) in prompts.iter().enumerate() {
            let part = (prompts.len() > 1).then_some(at + 1);
            cases.push(reader.found(prompt, part, test, number));
        }
    }
    Some(FileCases { cases, problems })
}

/// A part of the list of tests: an entry of it, or a file by its position.
enum Part<'n> {
    Entry(&'n Node),
    File(usize),
}

/// The files that a text names, if all can be read.
fn read_files(file: &ForeignFile<'_>, text: &str) -> Option<Vec<(PathBuf, Vec<u8>)>> {
    let paths = test_files::named(file, text)?;
    paths.into_iter().map(|path| file.tree.read(&path).ok().map(|bytes| (path, bytes))).collect()
}

/// What the file asks of every case.
fn base(dialect: &Dialect, file: &ForeignFile<'_>, document: &mut Document<'_>, root: &Node) -> Case {
    let mut base = Case::default();
    let mut known = vec![TESTS[0], prompts::KEY, dialect.default_test, dialect.run_options];
    known.extend(PROVIDERS.iter().chain(dialect.keys));
    base.unsupported.extend(document.unsupported_keys(root, &known, dialect.notes));
    document.duplicate_keys(root, &TESTS);
    (dialect.read_suite)(document, file, root, &mut base);
    runs(dialect, document, root, &mut base);
    for key in PROVIDERS {
        providers(document, file, root.get(key), &mut base);
    }
    base
}

fn runs(dialect: &Dialect, document: &mut Document<'_>, root: &Node, base: &mut Case) {
    let Some(options) = document.map(root, dialect.run_options) else { return };
    base.unsupported.extend(document.unsupported_keys(options, &["repeat", dialect.timeout_ms], &RUN_NOTES));
    if let Some(repeat) = options.get("repeat") {
        match number(repeat).and_then(|times| u32::try_from(times).ok()) {
            Some(times @ 1..=MOST_TRIALS) => base.repetition.trials = Some(Trials::Times(times)),
            _ => document.wrong_type("`repeat`", "a number of trials", repeat),
        }
    }
    if let Some(written) = options.get(dialect.timeout_ms) {
        let timeout = number(written).map(Duration::from_millis);
        match timeout.filter(|timeout| (Duration::from_secs(1)..=LONGEST_TIMEOUT).contains(timeout)) {
            Some(timeout) => base.timeout = Some(timeout),
            None => base.unsupported.push(document.unsupported("a timeout that is not 1 s to a day", written)),
        }
    }
}

fn number(node: &Node) -> Option<u64> {
    if let NodeValue::Number(number) = &node.value { number.parse().ok() } else { None }
}

/// What the settings of the programs that answer say about the task.
fn providers(document: &Document<'_>, file: &ForeignFile<'_>, written: Option<&Node>, base: &mut Case) {
    let mut folders: Vec<Option<&Node>> = Vec::new();
    for provider in written.map_or(&[][..], |list| list.elements().unwrap_or(std::slice::from_ref(list))) {
        // A provider may be an object whose only key is its id.
        let provider = match provider.entries() {
            [only] if only.value.is_map() => &only.value,
            _ => provider,
        };
        let config = provider.get("config").unwrap_or(provider);
        folders.push(config.get(WORKING_DIR));
        for object in [provider, config].into_iter().take(if std::ptr::eq(provider, config) { 1 } else { 2 }) {
            for told in TOLD.iter().filter_map(|key| object.entry(key)) {
                let what = format!("the setting `{}` of an agent", told.key);
                base.unsupported.push(document.unsupported(what, &told.value));
            }
        }
        if let Some(skills) = config.get(SKILLS).filter(|skills| skills.elements().is_some()) {
            base.unsupported.push(document.unsupported("that only some skills are offered", skills));
        }
    }
    let Some(folder) = folders.iter().flatten().next() else { return };
    if folders.iter().any(|other| other.map(|node| &node.value) != Some(&folder.value)) {
        return base.unsupported.push(document.unsupported("several working directories", folder));
    }
    match folder.text() {
        Some(text) if text.contains("{{") => {
            let what = format!("the working directory `{}`", shorten(text));
            base.unsupported.push(document.unsupported(what, folder));
        }
        _ => workspace::read(document, file, folder, base),
    }
}
