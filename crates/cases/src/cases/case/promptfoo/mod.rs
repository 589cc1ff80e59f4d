//! Configurations of promptfoo: `promptfooconfig.yaml` with prompts and tests.
//!
//! ```yaml
//! prompts: ["{{request}}"]
//! tests:
//!   - description: greets
//!     vars: { request: Greet Ada }
//!     assert:
//!       - { type: skill-used, value: greeting }
//!       - { type: icontains, value: ada }
//! ```
//!
//! Each prompt with each test is a case. Most configurations test prompts and have nothing to do with skills. One holds cases
//! if an assertion in it names a skill, or if it is in the evals of a skill. What has no equal here makes its case unsupported.
//!
//! AgentV has the same assertions, and its own names for the keys around them: a `Dialect`.

mod agentv;
mod assertions;
mod template;
mod test_reader;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::document::{Document, Node, Syntax};
use super::foreign_reader::Meaning::{By, Field, Known, Object, Part};
use super::foreign_reader::{ForeignReader, KeyTable, words};
use super::named_files::PathPatterns;
use crate::cases::case::{CaseFormat, FileCases, FileKeys, ForeignFiles, Unsupported};
use crate::cases::repo_files::FileKind;
use crate::settings::ActivationRule;
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::text::diagnostic::{Code, shorten};
use crate::text::name::{RelativePath, resolved};
use crate::trial::input_file::{InputContent, InputFile};

pub use agentv::FORMAT as AGENTV;
pub(super) use test_reader::mentions_skill;

/// Prompts, and what is expected of the answers.
pub static FORMAT: CaseFormat = CaseFormat::foreign(
    "promptfoo test",
    ForeignFiles {
        names: &["promptfooconfig*.yaml", "promptfooconfig*.yml", "promptfooconfig*.json"],
        possible_names: &["promptfoo*.yaml", "promptfoo*.yml", "promptfoo*.json"],
        mark: "",
        keys: &["prompts", "tests", "assert"],
        about: "[configurations of promptfoo](#what-a-test-of-promptfoo-or-agentv-asks-for) and the files of tests that they name, if they are about a skill",
        all_keys: || keys(&DIALECT),
        parse: |reader| parse(&DIALECT, reader),
    },
);

/// The keys of a file, of a test and of what every test has.
fn keys(dialect: &'static Dialect) -> FileKeys {
    let mut keys = FileKeys::of(&[&dialect.file]);
    for key in test_reader::KEYS.iter().chain(dialect.test_keys) {
        if !keys.read.contains(key) {
            keys.read.push(key);
        }
    }
    keys.with_names(&assertions::ASSERTIONS)
}

/// What the files of a program call things.
#[derive(Debug)]
struct Dialect {
    file: KeyTable,
    /// The key of what every test has.
    default_test: &'static str,
    /// The key of the most that a trial may cost.
    cost: &'static str,
    /// More keys of a test.
    test_keys: &'static [&'static str],
    /// The prompt of a file without one.
    implied_prompt: Option<&'static str>,
    /// Whether a text among assertions is a criterion for the judge.
    has_criteria: bool,
    /// Whether the start, the end and all of a text are compared without the space around it.
    trims: bool,
    /// The score that is enough for a pass if a file names none; without it every assertion must hold.
    threshold: Option<f64>,
    /// The text of a variable that is a message.
    message: fn(&Node) -> Option<Result<String, String>>,
}

/// The keys of promptfoo.
static DIALECT: Dialect = Dialect {
    file: KeyTable::of(&[
        ("tests prompts defaultTest targets", Known),
        ("providers", By(of_file)),
        ("evaluateOptions", Object(&RUNS)),
    ])
    .and_notes(
        "$schema description tags metadata outputPath commandLineOptions sharing writeLatestResults tracing env derivedMetrics \
         nunjucksFilters",
    ),
    default_test: "defaultTest",
    cost: "threshold",
    test_keys: &[],
    implied_prompt: None,
    has_criteria: false,
    trims: false,
    threshold: None,
    message: |_| None,
};

static RUNS: KeyTable =
    KeyTable::of(&[("repeat", Field("trials")), ("timeoutMs", Part(milliseconds, LONG))]).and_notes(RUN_NOTES);

/// The timeouts that are not done.
const LONG: &str = "a timeout that is not 1 s to a day";

/// What is said about runs and asks for nothing of a trial.
const RUN_NOTES: &str = "maxConcurrency max_concurrency showProgressBar delay cache generateSuggestions generate_suggestions \
                         maxEvalTimeMs max_eval_time_ms budget_usd eventSource";

const PROMPTS: &str = "prompts";

/// The keys of tests, the one that is read first.
const TESTS: [&str; 2] = ["tests", "scenarios"];

/// The keys of the programs that answer, in a test. A text there is the name of one of the file.
const PROVIDERS: [&str; 2] = ["provider", "providers"];

/// Settings of such a program that change what it is asked. The mode sets all others.
const TOLD: &str = "system_prompt append_system_prompt custom_system_prompt output_format output_schema \
    additional_directories prompts transform transformResponse";

/// How the name of a file may begin.
const SIGN: &str = "file://";

/// A file of tests.
struct TestsFile<'a> {
    dialect: &'static Dialect,
    /// What every test has.
    default: Option<&'a Node>,
    /// The slug of the skill of a test that names none which is here: the first one of the file that is.
    other_skill: Option<String>,
    /// The prompts with variables, each with why it cannot be asked as it is meant.
    prompts: Vec<(String, Vec<Unsupported>)>,
}

/// Reads a file; `None` if it has nothing to do with skills.
fn parse(dialect: &'static Dialect, mut reader: ForeignReader<'_>) -> Option<FileCases> {
    let (file, root) = (reader.file, reader.root);
    let is_in_evals = file.is_in_evals_of_skill() || dialect.implied_prompt.is_none() && file.is_named_as_skill();
    let default = root.get(dialect.default_test);
    let Some(written) = TESTS.iter().find_map(|key| root.entry(key)).map(|entry| &entry.value) else {
        let is_suite = file.is_certain || dialect.implied_prompt.is_none() && root.get(PROMPTS).is_some();
        let names_skill = || default.into_iter().chain([root]).any(|object| !test_reader::skills(object).is_empty());
        (is_suite && is_in_evals || names_skill()).then_some(())?;
        reader.missing(root, TESTS[0]);
        return Some(reader.no_cases());
    };
    let (mut parts, mut files) = (Vec::new(), Vec::new());
    for entry in written.each() {
        let read = read_files(&mut reader, entry);
        reader.claims.extend(read.iter().map(|(path, _)| path.clone()));
        parts.push((entry, files.len()..files.len() + read.len()));
        files.extend(read);
    }
    let mut documents: Vec<_> =
        files.iter().map(|(path, bytes)| Document::new(path, bytes, Syntax::of(path))).collect();
    let roots: Vec<Option<Node>> = documents.iter_mut().map(Document::root).collect();
    let mut reader = reader;
    reader.documents.append(&mut documents);
    let mut tests: Vec<(usize, &Node)> = Vec::new();
    for (entry, named) in parts {
        tests.extend(named.is_empty().then_some((0, entry)));
        tests.extend(named.flat_map(|at| roots[at].iter().flat_map(Node::each).map(move |node| (at + 1, node))));
    }
    let lists = tests.iter().map(|(_, node)| *node).chain(default).chain([root]);
    let named = lists.clone().flat_map(test_reader::skills).map(|(name, _)| name);
    let named = named.chain(lists.filter_map(|object| test_reader::skill_of_vars(object, file)));
    let skills: Vec<String> = named.map(|name| file.skill_slug(&name)).collect();
    // A file of tests that cannot be parsed may be about a skill too.
    let is_lost = || roots.iter().zip(&files).any(|(root, (_, bytes))| root.is_none() && mentions_skill(bytes));
    if skills.is_empty() && !is_in_evals && !is_lost() {
        return None;
    }
    reader.case.default_activation = ActivationRule::Tool;
    reader.read_root(&dialect.file, &TESTS);
    let prompts = prompts(&mut reader, dialect.implied_prompt);
    if let Some(default) = default.filter(|default| !default.is_map() && default.text().is_none()) {
        reader.wrong_type(&format!("`{}`", dialect.default_test), "an object", default);
    }
    if tests.is_empty() && roots.iter().all(Option::is_some) {
        reader.problem(Code::EmptyValue, written.range.clone(), "the list of tests is empty");
    }
    let other_skill = Some(file.first_here(skills.iter().map(String::as_str))).filter(|slug| !slug.is_empty());
    let suite = TestsFile { dialect, default, other_skill, prompts };
    let tests = (1..).zip(tests).flat_map(|test| (0..suite.prompts.len()).map(move |prompt| (test, prompt)));
    let tests: Vec<_> = tests.collect();
    Some(reader.cases(&tests, |reader, ((number, test), prompt), _| {
        test_reader::found(reader, &suite, *prompt, *test, *number)
    }))
}

/// The files that an entry of the list of tests names; none if one of them cannot be read.
fn read_files(reader: &mut ForeignReader<'_>, entry: &Node) -> Vec<(PathBuf, Vec<u8>)> {
    let name = entry.text().map(|text| text.strip_prefix(SIGN).unwrap_or(text));
    let is_read = |name: &&str| {
        let end = Path::new(name).extension().and_then(OsStr::to_str);
        end.is_some_and(|end| ["yaml", "yml", "json"].contains(&end))
    };
    let Some(name) = name.filter(is_read) else { return Vec::new() };
    let tree = reader.file.tree;
    match PathPatterns::Node.files(name, reader.folder(), reader.file.tree) {
        Ok(paths) => {
            let read = paths.into_iter().map(|path| tree.read(&path).ok().map(|bytes| (path, bytes)));
            read.collect::<Option<_>>().unwrap_or_default()
        }
        Err(why) => {
            reader.bad_path(name, &why, entry);
            Vec::new()
        }
    }
}

fn milliseconds<'n>(reader: &mut ForeignReader<'_>, options: &'n Node, key: &'static str) -> Option<&'n Node> {
    let written = options.get(key)?;
    let timeout = written.count().map(Duration::from_millis);
    let timeout = timeout.filter(|timeout| (Duration::from_secs(1)..=LONGEST_TIMEOUT).contains(timeout));
    reader.case.timeout = timeout.or(reader.case.timeout);
    timeout.is_none().then_some(written)
}

/// The prompts of a suite.
fn prompts(reader: &mut ForeignReader<'_>, implied: Option<&str>) -> Vec<(String, Vec<Unsupported>)> {
    let root = reader.root;
    let Some(written) = root.get(PROMPTS) else {
        if implied.is_none() {
            reader.missing(root, PROMPTS);
        }
        return vec![plain(implied.unwrap_or_default())];
    };
    let mut prompts = Vec::new();
    for prompt in written.each() {
        let raw = prompt.get("raw").or_else(|| prompt.get("id"));
        match prompt.text().or_else(|| raw.and_then(Node::text)) {
            Some(text) => {
                let unknown = reader.unsupported_keys(prompt, &["raw", "id", "label"], &[]);
                for (template, mut not_done) in prompts_in(reader, prompt, text) {
                    not_done.extend(unknown.iter().cloned());
                    prompts.push((template, not_done));
                }
            }
            None => prompts.push(unsupported(reader, prompt, "this form of a prompt")),
        }
    }
    if prompts.is_empty() {
        reader.problem(Code::EmptyValue, written.range.clone(), format!("`{PROMPTS}` is empty"));
        prompts.push(plain(""));
    }
    prompts
}

fn plain(template: &str) -> (String, Vec<Unsupported>) {
    (template.to_owned(), Vec::new())
}

fn unsupported(document: &Document<'_>, node: &Node, what: &str) -> (String, Vec<Unsupported>) {
    (String::new(), vec![document.unsupported(what, node)])
}

/// Whether the file at a path is a text by its name.
fn is_text_file(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|end| end == "txt" || end == "md")
}

/// The prompts that a text is, or that the file named by it holds.
fn prompts_in(reader: &ForeignReader<'_>, node: &Node, text: &str) -> Vec<(String, Vec<Unsupported>)> {
    let (file, name) = (reader.file, text.strip_prefix(SIGN));
    let path = resolved(&reader.folder().join(name.unwrap_or(text)));
    let path = path.filter(|path| file.tree.kind(path) == FileKind::File);
    let is_one_line = !text.contains('\n');
    let end = Path::new(text).extension().and_then(OsStr::to_str).unwrap_or_default();
    let content = match (name, path) {
        (_, Some(path)) if is_one_line && is_text_file(text) => file.text_of(&path).ok(),
        (None, path) if path.is_none() || !is_one_line => {
            let is_chat =
                text.trim_start().starts_with(['[', '{']) && serde_json::from_str::<serde_json::Value>(text).is_ok();
            return vec![if is_chat { unsupported(reader, node, "a prompt that is JSON") } else { plain(text) }];
        }
        _ => None,
    };
    match content {
        Some(content) if end == "md" => vec![plain(&content)],
        Some(content) => {
            let lines: Vec<&str> = content.lines().collect();
            // The line between the prompts of a text file.
            let parts = lines.split(|line| line.trim() == "---").map(|lines| lines.join("\n"));
            parts.filter(|part| !part.trim().is_empty()).map(|part| plain(part.trim())).collect()
        }
        None => vec![unsupported(reader, node, &format!("the prompt file `{}`", shorten(text)))],
    }
}

fn of_file(reader: &mut ForeignReader<'_>, root: &Node, key: &'static str) {
    let written = [key, "targets"].into_iter().filter_map(|key| root.get(key)).flat_map(Node::each);
    providers(reader, root, &written.collect::<Vec<_>>());
}

/// Reads the programs that answer, as far as their settings say something about the task.
fn providers(reader: &mut ForeignReader<'_>, object: &Node, providers: &[&Node]) {
    let mut folders: Vec<Option<&Node>> = Vec::new();
    for provider in providers {
        // A provider may be an object whose only key is its id.
        let provider = match provider.entries() {
            [only] if only.value.is_map() => &only.value,
            _ => provider,
        };
        let config = provider.get("config");
        for told in [Some(provider), config].into_iter().flatten().flat_map(Node::entries) {
            if words(TOLD).contains(&told.key.as_str()) {
                reader.not_done(&told.value, format!("the setting `{}` of an agent", told.key));
            }
        }
        let config = config.unwrap_or(provider);
        folders.push(config.get("working_dir"));
        if let Some(skills) = config.get("skills").filter(|skills| skills.elements().is_some()) {
            reader.not_done(skills, "that only some skills are offered");
        }
    }
    let folder = folders.iter().flatten().next().copied();
    let value = |folder: Option<&'_ Node>| folder.map(|folder| folder.value.clone());
    if folders.iter().any(|other| value(*other) != value(folder))
        || !folders.is_empty() && !reader.case.files.is_empty()
    {
        return reader.not_done(folder.unwrap_or(object), "several working directories");
    }
    let Some(folder) = folder else { return };
    match folder.text() {
        Some(text) if text.contains("{{") => {
            reader.not_done(folder, format!("the working directory `{}`", shorten(text)));
        }
        _ => working_directory(reader, folder),
    }
}

/// Adds the files of the directory in which the agent works: those of the workspace.
fn working_directory(reader: &mut ForeignReader<'_>, node: &Node) {
    let (name, here) = (node.text().unwrap_or_default(), reader.folder());
    let folder = resolved(&here.join(name)).filter(|folder| reader.file.tree.kind(folder) == FileKind::Folder);
    let files = folder.as_ref().map(|folder| files(reader, folder));
    let why = match files {
        None => "which is not a directory of the repository",
        Some(_) if folder.as_ref().is_some_and(|folder| here.starts_with(folder)) => "which holds the cases",
        Some(None) => "which cannot be read",
        Some(Some(files)) => return reader.case.files.extend(files),
    };
    reader.not_done(node, format!("the working directory `{}`, {why}", shorten(name)));
}

/// The files and directories in `folder`, without the skills in an agent's own directory: agents get the repository's in their place.
fn files(reader: &ForeignReader<'_>, folder: &Path) -> Option<Vec<InputFile>> {
    const SKILLS: &str = "skills";
    let tree = reader.file.tree;
    let copy = |path: &Path| {
        let source = RelativePath::parse(folder.join(path).to_str()?).ok()?;
        Some(InputFile { path: RelativePath::parse(path.to_str()?).ok()?, content: InputContent::Source(source) })
    };
    let mut files = Vec::new();
    for name in tree.names(folder).ok()? {
        let path = Path::new(&name);
        let is_hidden = name.to_string_lossy().starts_with('.');
        if !is_hidden || tree.kind(&folder.join(path).join(SKILLS)) != FileKind::Folder {
            files.push(copy(path)?);
            continue;
        }
        for inner in tree.names(&folder.join(path)).ok()?.into_iter().filter(|inner| inner != SKILLS) {
            files.push(copy(&path.join(inner))?);
        }
    }
    Some(files)
}
