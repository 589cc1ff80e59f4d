//! A file of prompts and tests.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::suite::{self, Placed, TestSuite};
use super::test_reader::TestReader;
use super::{Dialect, prompts, providers};
use crate::cases::case::document::{Document, Node, Syntax};
use crate::cases::case::named_files::PathPatterns;
use crate::cases::case::{Case, FileCases, ForeignFile};
use crate::settings::ActivationRule;
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::text::diagnostic::Code;

/// The keys of tests, the one that is read first.
const TESTS: [&str; 2] = ["tests", "scenarios"];

/// How the name of a file of tests may begin.
const SIGN: &str = "file://";

/// The ends of names of files of tests that are read.
const ENDS: [&str; 3] = ["yaml", "yml", "json"];

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
    mut document: Document<'_>,
    root: &Node,
) -> Option<FileCases> {
    let is_in_evals = file.is_in_evals_of_skill();
    let no_cases =
        |document: Document<'_>| Some(FileCases { problems: document.problems.into_vec(), ..FileCases::default() });
    let default = root.get(dialect.default_test);
    let Some(written) = TESTS.iter().find_map(|key| root.entry(key)).map(|entry| &entry.value) else {
        let is_suite = file.is_certain || dialect.implied_prompt.is_none() && root.get(prompts::KEY).is_some();
        let names_skill = || default.into_iter().chain([root]).any(|object| !suite::skills(object).is_empty());
        (is_suite && is_in_evals || names_skill()).then_some(())?;
        document.missing(root, TESTS[0]);
        return no_cases(document);
    };
    let (mut parts, mut files) = (Vec::new(), Vec::new());
    for entry in written.each() {
        let read = read_files(file, &mut document, entry);
        parts.push((entry, files.len()..files.len() + read.len()));
        files.extend(read);
    }
    let mut documents = vec![document];
    documents.extend(files.iter().map(|(path, bytes)| Document::new(path, bytes, Syntax::of(path))));
    let roots: Vec<Option<Node>> = documents.iter_mut().skip(1).map(Document::root).collect();
    let mut tests: Vec<Placed<'_>> = Vec::new();
    for (entry, named) in parts {
        tests.extend(named.is_empty().then_some((0, entry)));
        tests.extend(named.flat_map(|at| roots[at].iter().flat_map(Node::each).map(move |node| (at + 1, node))));
    }
    let lists = tests.iter().map(|(_, node)| *node).chain(default).chain([root]);
    let mut names = HashSet::new();
    let skills: Vec<String> = lists.flat_map(suite::skills).map(|(name, _)| name).collect();
    let skills = skills.iter().filter(|name| names.insert(*name)).map(|name| file.skill_slug(name));
    let skills: Vec<String> = skills.collect();
    // A file of tests that cannot be parsed may be about a skill too.
    let is_lost = || roots.iter().zip(&files).any(|(root, (_, bytes))| root.is_none() && suite::mentions_skill(bytes));
    if skills.is_empty() && !is_in_evals && !is_lost() {
        return None;
    }
    let base = base(dialect, file, &mut documents[0], root);
    let prompts = prompts::read(&mut documents[0], file, root, dialect.implied_prompt);
    if let Some(default) = default.filter(|default| !default.is_map() && default.text().is_none()) {
        documents[0].wrong_type(&format!("`{}`", dialect.default_test), "an object", default);
    }
    if tests.is_empty() && roots.iter().all(Option::is_some) {
        documents[0].problem(Code::EmptyValue, written.range.clone(), "the list of tests is empty");
    }
    let problems = documents.iter_mut().flat_map(|document| document.problems.take()).collect();
    let is_here = |slug: &&String| file.skills.contains(&slug.as_str());
    let other_skill = skills.iter().find(is_here).or(skills.first()).cloned();
    let mut suite = TestSuite { dialect, file, documents, root, default, base, other_skill, names: HashSet::new() };
    let mut cases = Vec::new();
    for (number, test) in (1..).zip(tests) {
        for (at, prompt) in prompts.iter().enumerate() {
            let part = (prompts.len() > 1).then_some(at + 1);
            cases.push(TestReader::found(&mut suite, prompt, part, test, number));
        }
    }
    Some(FileCases { cases, problems, ..FileCases::default() })
}

/// The files that an entry of the list of tests names; none if one of them cannot be read.
fn read_files(file: &ForeignFile<'_>, document: &mut Document<'_>, entry: &Node) -> Vec<(PathBuf, Vec<u8>)> {
    let name = entry.text().map(|text| text.strip_prefix(SIGN).unwrap_or(text));
    let is_read = |name: &&str| Path::new(name).extension().is_some_and(|end| ENDS.iter().any(|known| end == *known));
    let Some(name) = name.filter(is_read) else { return Vec::new() };
    match PathPatterns::Node.files(name, file) {
        Ok(paths) => {
            let read = paths.into_iter().map(|path| file.tree.read(&path).ok().map(|bytes| (path, bytes)));
            read.collect::<Option<_>>().unwrap_or_default()
        }
        Err(why) => {
            document.bad_path(name, &why, entry);
            Vec::new()
        }
    }
}

/// What the file asks of every case.
fn base(dialect: &Dialect, file: &ForeignFile<'_>, document: &mut Document<'_>, root: &Node) -> Case {
    let mut base = Case { should_trigger: true, default_activation: ActivationRule::Tool, ..Case::default() };
    let mut known = vec![TESTS[0], prompts::KEY, dialect.default_test, dialect.run_options];
    known.extend(providers::OF_FILE.iter().chain(dialect.keys));
    base.unsupported.extend(document.unsupported_keys(root, &known, dialect.notes));
    document.duplicate_keys(root, &TESTS);
    providers::read(document, file, root, &providers::OF_FILE, &mut base);
    (dialect.read_suite)(document, file, root, &mut base);
    let Some(options) = document.map(root, dialect.run_options) else { return base };
    base.unsupported.extend(document.unsupported_keys(options, &["repeat", dialect.timeout_ms], &RUN_NOTES));
    base.repetition.trials = document.trials(options, "repeat");
    if let Some(written) = options.get(dialect.timeout_ms) {
        let timeout = written.count().map(Duration::from_millis);
        match timeout.filter(|timeout| (Duration::from_secs(1)..=LONGEST_TIMEOUT).contains(timeout)) {
            Some(timeout) => base.timeout = Some(timeout),
            None => base.unsupported.push(document.unsupported("a timeout that is not 1 s to a day", written)),
        }
    }
    base
}
