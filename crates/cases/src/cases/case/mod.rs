//! A case: one prompt and what is expected of it.
//!
//! Each format of cases is a module and a line in [`FORMATS`]. The module says which files hold its cases and what its keys mean. A
//! skill without cases has three built-in ones ([`smoke`]). All become the one type [`Case`], and one function makes a field of it,
//! whatever it is written in ([`fields::CaseDraft::read`]).
//!
//! ```text
//! a cell of prompts.csv ──┐
//! a key of a task file ───┤
//! a key of [formats.x] ───┼─ a field (CORE, KINDS, LISTS) ──┐
//! a key of a KeyTable ────┤                                 ├─ CaseDraft ─ Case
//!   (of another program)  ├─ another word of Meaning ───────┤
//!                         └─ a function (Meaning::By) ──────┤
//! a grader of a program ──── a row of Graders ──────────────┘
//! ```

pub mod document;
pub mod evals_json;
pub mod fields;
mod foreign_reader;
mod format;
mod graders;
pub(in crate::cases) mod key_words;
mod lists;
mod named_files;
mod own_format;
pub mod plugin_eval;
pub mod promptfoo;
pub mod prompts_csv;
pub mod routing;
pub mod skillgrade;
pub mod skilljack;
pub mod smoke;
pub mod task_json;
pub mod tessl;
pub mod vally;
pub mod waza;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use serde::Serialize;

use crate::cases::plugin::server_name;
use crate::cases::repo_files::RepoFiles;
use crate::checks::{self, CaseCheck, Origin};
use crate::settings::trials::Repetition;
use crate::settings::{ActivationRule, CommandAnswer, NamedScript};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::RelativePath;
use crate::trace::file::SkillChange;
use crate::trial::input_file::{HistoryMessage, InputFile, Persona, Sandbox, Speaker};
use crate::trial::outcome::Weight;
use crate::trial::quarantine::Quarantine;

pub(super) use foreign_reader::words;
pub use format::{CaseFile, CaseFormat, FileCases, FileKeys, Files, ForeignFile, ForeignFiles, MOST_CASES, id_of};
pub use lists::written_answers;
pub(in crate::cases) use own_format::{files as own_files, unused as unused_fields};

/// The formats of cases that users write. A skill whose cases cannot be found has a broken case in the first.
pub static FORMATS: &[&CaseFormat] = &[
    &prompts_csv::FORMAT,
    &task_json::FORMAT,
    &evals_json::FORMAT,
    &evals_json::TRIGGERS,
    &prompts_csv::FOREIGN,
    &skillgrade::FORMAT,
    &skilljack::FORMAT,
    &waza::FORMAT,
    &vally::FORMAT,
    &vally::SCENARIOS,
    &promptfoo::FORMAT,
    &promptfoo::AGENTV,
    &routing::FORMAT,
    &plugin_eval::PROSE,
    &plugin_eval::YAML,
    &tessl::FORMAT,
    &own_format::FORMAT,
];

/// The formats of other programs with the files of each.
pub fn foreign_formats() -> impl Iterator<Item = (&'static CaseFormat, &'static ForeignFiles)> {
    FORMATS.iter().copied().filter_map(|format| Some((format, format.foreign.as_ref()?)))
}

/// Whether a file of this path may be of a format of another program, and if so, whether that is certain.
pub(in crate::cases) fn name_certainty(path: &Path) -> Option<bool> {
    /// Each name with its end, by which most files are told apart at once, and whether it is certain.
    static NAMES: LazyLock<Vec<(&str, &str, bool)>> = LazyLock::new(|| {
        let named = |(_, files): (_, &'static ForeignFiles)| {
            let certain = files.names.iter().map(|name| (*name, true));
            certain.chain(files.possible_names.iter().map(|name| (*name, false)))
        };
        let ends = foreign_formats().flat_map(named);
        ends.map(|(name, is_certain)| (name.rsplit('*').next().unwrap_or(name), name, is_certain)).collect()
    });
    let path = path.to_str()?.to_ascii_lowercase();
    let found = NAMES.iter().filter(|(end, name, _)| path.ends_with(end) && format::ends_with(&path, name));
    found.map(|(.., is_certain)| *is_certain).max()
}

/// The formats of our own with the files of each.
pub fn file_formats() -> impl Iterator<Item = (&'static CaseFormat, &'static Files)> {
    FORMATS.iter().copied().filter_map(|format| Some((format, format.files.as_ref()?)))
}

/// The files, from the repository's root, that may hold the cases of the skill with this slug and of no other.
pub fn files_of_skill(slug: &str) -> impl Iterator<Item = PathBuf> {
    file_formats().filter(|(_, files)| files.are_of_skills()).map(move |(_, files)| files.path_of(slug))
}

/// One prompt and what is expected of the agent that gets it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// The name of the case within its skill.
    pub id: String,
    /// The slug of the skill under test.
    pub skill: String,
    /// Where it is written.
    pub origin: SourceLocation,
    /// Whether the skill under test should be activated.
    pub should_trigger: bool,
    /// What the agent is asked.
    pub prompt: String,
    /// Whether a call of the skill was put before the prompt, so that the skill must load.
    pub forced: bool,
    /// What is added to the agent's system prompt.
    pub system_prompt: Option<String>,
    /// What the agent may touch.
    pub sandbox: Sandbox,
    /// The timeout of the agent, if the case sets one.
    pub timeout: Option<Duration>,
    /// Maximum number of turns, if the case sets one; some agents have no such limit.
    pub max_turns: Option<u64>,
    /// A directory in the skill's eval directory that is copied into the workspace.
    pub fixture: Option<RelativePath>,
    /// A JSON Schema, from the repository's root, that the final message must follow.
    pub output_schema: Option<RelativePath>,
    /// What counts as an activation of the skill, if the case says so.
    pub activation: Option<ActivationRule>,
    /// The same by the case's format, if nothing else says so.
    pub default_activation: ActivationRule,
    /// Whether a judge grades it by the rubric.
    pub judge: bool,
    /// How often it runs and which share must pass, if the case says so.
    pub repetition: Repetition,
    /// Until when its trials fail nothing, if the case says so.
    pub quarantine: Option<Quarantine>,
    /// The changes to the skills during the session, if the agent is offered any.
    pub during: Vec<SkillChange>,
    /// What must hold of its trials, besides what must hold of every trial.
    pub checks: Vec<CaseCheck>,
    /// What a judge checks, one check each.
    pub assertions: Vec<Assertion>,
    /// The score from which on a trial passes. Without it every check must pass, and the score is information.
    pub least_score: Option<f64>,
    /// Which tools the agent may use; `None` if the case does not say.
    pub tools: Option<ToolLimits>,
    /// Variables of the agent's environment.
    pub env: Vec<(String, String)>,
    /// What it asks for and this program does not do.
    pub unsupported: Vec<Unsupported>,
    /// What its workspace holds at the start besides the fixture.
    pub files: Vec<InputFile>,
    /// Words by which cases are selected.
    pub tags: Vec<String>,
    /// The files of the reference solution, a file or a directory in the skill's eval directory. No agent gets them.
    pub solution: Option<RelativePath>,
    /// The final message of the reference solution, a file in the skill's eval directory.
    pub answer: Option<RelativePath>,
    /// Shell commands that prepare the workspace before the agent starts.
    pub setup: Vec<String>,
    /// The commands that are answered from files in this case; those of the settings follow.
    pub mocks: Vec<CommandAnswer>,
    /// Where the answers of MCP servers are, if the format says so.
    pub mock_servers: Option<MockFolders>,
    /// What the agent is asked next in the same session, each after it has answered.
    pub follow_ups: Vec<String>,
    /// Who answers the agent after that.
    pub user: Option<Persona>,
    /// The conversation that its session starts from, before the prompt.
    pub history: Vec<HistoryMessage>,
}

impl Case {
    /// Whether a check looks at the activation of the skill.
    pub fn asks_for_trigger(&self) -> bool {
        self.checks.iter().any(|check| [checks::TRIGGERED, checks::NOT_TRIGGERED].contains(&check.kind.id))
    }

    /// Whether its agent gets more than one message.
    pub fn has_more_messages(&self) -> bool {
        !self.follow_ups.is_empty() || self.user.is_some()
    }

    /// Whether it can only be graded with the feature `schemas`.
    pub fn needs_schemas(&self) -> bool {
        self.output_schema.is_some() || self.judge || !self.assertions.is_empty()
    }

    /// Gives the checks and the assertions from these positions on a weight in the score.
    pub fn weigh(&mut self, checks: usize, assertions: usize, weight: Weight) {
        self.checks.iter_mut().skip(checks).for_each(|check| check.weight = Some(weight));
        self.assertions.iter_mut().skip(assertions).for_each(|assertion| assertion.weight = Some(weight));
    }

    /// Whether checks or assertions have weights.
    pub fn is_scored(&self) -> bool {
        let of_assertions = self.assertions.iter().map(|assertion| assertion.weight);
        self.checks.iter().map(|check| check.weight).chain(of_assertions).any(|weight| weight.is_some())
    }

    /// Whether a trial can fail by a check or an assertion.
    pub fn expects_something(&self) -> bool {
        let of_assertions = self.assertions.iter().map(|assertion| assertion.weight);
        let mut weights = self.checks.iter().map(|check| check.weight).chain(of_assertions);
        let is_score_required = self.least_score.is_none_or(|least| least > 0.0);
        weights.any(|weight| weight.is_none_or(|weight| weight.amount > 0.0 && is_score_required))
    }

    /// Whether it runs, although this program does not do all that it asks for. Of a case without a rest every trial would pass.
    pub fn runs(&self, partial: bool) -> bool {
        self.unsupported.is_empty() || (partial && self.expects_something())
    }

    /// What it asks for and this program does not do, with what comes of that.
    pub fn unsupported_parts(&self, partial: bool) -> Vec<Diagnostic> {
        let help = |part: &Unsupported, help: &str| {
            let labels = if part.is_key() { "; if the key only labels, name it in `own_keys` there" } else { "" };
            format!("{help}{labels}")
        };
        let told = |what: &str| {
            self.unsupported.iter().map(|part| part.diagnostic().help(help(part, what))).collect::<Vec<_>>()
        };
        if !partial {
            return told(
                "the case does not run; `partial = true` in evals/evals.toml runs the rest of it, if that expects something, and says so",
            );
        }
        if self.unsupported.is_empty() || self.expects_something() {
            return told("`partial = true` in evals/evals.toml: the rest of the case runs, and its results say so");
        }
        let message = "nothing is left of what this case expects, so it does not run";
        let left = Diagnostic::new(Code::Unsupported, self.origin.clone(), message);
        let help = "add an expectation that this program checks; `partial = true` runs only a case that still expects something";
        self.unsupported.iter().map(Unsupported::diagnostic).chain([left.help(help)]).collect()
    }

    /// What its agent was asked: the history, the prompt, and these messages after it.
    pub fn asked(&self, follow_ups: &[String]) -> String {
        let earlier = self.history.iter().map(|HistoryMessage { role, content }| match role {
            Speaker::User => format!("(Before, the user:)\n\n{content}\n\n"),
            Speaker::Assistant => format!("(Before, the agent:)\n\n{content}\n\n"),
        });
        let mark = if self.history.is_empty() { "" } else { "(The prompt:)\n\n" };
        let messages = follow_ups.iter().map(|message| format!("\n\n(The next message of the user:)\n\n{message}"));
        earlier.chain([format!("{mark}{}", self.prompt)]).chain(messages).collect()
    }

    /// The files that its workspace must hold.
    pub fn required_files(&self) -> impl Iterator<Item = &Path> {
        self.checks.iter().filter_map(|check| check.ask.names().file).map(RelativePath::as_path)
    }
}

/// Directories with a directory of answers for each MCP server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MockFolders {
    /// From the repository's root. The files of later ones replace those of earlier ones.
    pub folders: Vec<PathBuf>,
    /// The name of the plugin whose servers are among them.
    pub plugin: Option<String>,
    /// The names of the plugin's servers.
    pub of_plugin: Vec<String>,
}

impl MockFolders {
    /// The name by which agents know a server.
    pub fn server_name(&self, server: &str) -> String {
        match &self.plugin {
            Some(plugin) if self.of_plugin.iter().any(|own| own == server) => server_name(plugin, server),
            _ => server.to_owned(),
        }
    }
}

/// The tools that a case allows and forbids, by their names; a name may end with a pattern in parentheses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolLimits {
    pub allowed: Vec<String>,
    pub disallowed: Vec<String>,
}

impl ToolLimits {
    /// The name of a tool without its pattern.
    pub fn name(tool: &str) -> &str {
        tool.split('(').next().unwrap_or(tool).trim()
    }

    /// Whether a tool may be used in some way.
    pub fn allow(&self, tool: &str) -> bool {
        let is_it = |known: &String| Self::name(known) == tool;
        self.allowed.iter().any(is_it) && !self.disallowed.iter().any(is_it)
    }
}

/// A statement that a judge grades a trial by.
#[derive(Clone, Debug, PartialEq)]
pub struct Assertion {
    /// The statement.
    pub text: String,
    /// Its place in the file.
    pub place: SourceLocation,
    /// What it counts in the score of a trial. Without a weight it must hold.
    pub weight: Option<Weight>,
}

impl Assertion {
    /// What a judge is asked about something that must not happen.
    pub fn forbidding(what: &str) -> String {
        format!("This does not happen: {what}")
    }
}

/// What a case asks for and this program does not do. Without it, a trial could pass that should fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// What it asks for.
    pub what: String,
    /// The place in the file.
    pub place: SourceLocation,
}

impl Unsupported {
    /// Whether it is a key or a column, which may only label.
    fn is_key(&self) -> bool {
        ["the key `", "the column `"].iter().any(|start| self.what.starts_with(start))
    }

    fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(Code::Unsupported, self.place.clone(), format!("unsupported: {}", self.what))
    }
}

// A case as found in a file. Finding is cheap enough to list a hundred thousand cases; a case is read when it is needed.

/// A case that is read when it is needed.
pub trait CaseSource: fmt::Debug + Send + Sync {
    fn format(&self) -> &'static CaseFormat;

    /// Reads the case of the skill with this slug, or says every problem that keeps it from running. Called once.
    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>>;

    /// The problems that keep the case from running and are known before it is read.
    fn file_problems(&self) -> &[Diagnostic] {
        &[]
    }

    /// Whether the skill should trigger, if that is known before the case is read.
    fn should_trigger(&self) -> Option<bool>;

    /// The trials and threshold of the case, if they are known before it is read.
    fn repetition(&self) -> Repetition {
        Repetition::default()
    }

    /// The place of the value of `key`, or of `text` in it; `None` if the format cannot tell.
    fn place(&self, _key: &str, _text: Option<&str>, _tree: &dyn RepoFiles) -> Option<SourceLocation> {
        None
    }
}

/// A case that was read when it was found, or the problems that keep it from running.
#[derive(Clone, Debug)]
pub struct ReadCase {
    /// The format that it has, or should have.
    pub format: &'static CaseFormat,
    pub case: Result<Case, Vec<Diagnostic>>,
    /// The places of its fields' values, if its format cannot find them again.
    pub places: Vec<(&'static str, SourceLocation)>,
}

impl ReadCase {
    /// A case of this format whose places the format finds.
    pub fn new(format: &'static CaseFormat, case: Result<Case, Vec<Diagnostic>>) -> Self {
        Self { format, case, places: Vec::new() }
    }
}

impl CaseSource for ReadCase {
    fn format(&self) -> &'static CaseFormat {
        self.format
    }

    fn case(&self, _skill: &str) -> Result<Case, Vec<Diagnostic>> {
        self.case.clone()
    }

    fn file_problems(&self) -> &[Diagnostic] {
        self.case.as_ref().err().map_or(&[], Vec::as_slice)
    }

    fn should_trigger(&self) -> Option<bool> {
        self.case.as_ref().ok().filter(|case| case.asks_for_trigger()).map(|case| case.should_trigger)
    }

    fn repetition(&self) -> Repetition {
        self.case.as_ref().map(|case| case.repetition).unwrap_or_default()
    }

    fn place(&self, key: &str, _text: Option<&str>, tree: &dyn RepoFiles) -> Option<SourceLocation> {
        let case = self.case.as_ref().ok()?;
        if let Some(place) = self.places.iter().find(|(name, _)| *name == key) {
            return Some(place.1.clone());
        }
        let path = &case.origin.path;
        (self.format.files.as_ref()?.place)(path, &tree.read(path).ok()?, key)
    }
}

#[derive(Clone, Debug)]
pub struct FoundCase {
    /// The id as written, or another one if that cannot be a name.
    pub id: String,
    /// The slug of the skill it belongs to, shared by all cases of a file.
    pub skill: Arc<str>,
    /// The file, from the repository's root, shared too.
    pub file: Arc<Path>,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// Scripts that check it although it does not name them.
    pub scripts: Vec<NamedScript>,
    /// Reads the case.
    pub source: Arc<dyn CaseSource>,
    parsed: OnceLock<Box<ParsedCase>>,
}

#[derive(Clone, Debug)]
struct ParsedCase {
    case: Result<Case, Vec<Diagnostic>>,
    /// The errors that lint finds in it.
    errors: OnceLock<Vec<Diagnostic>>,
}

impl FoundCase {
    /// A case in `file` at `line`, from 1.
    pub fn new(
        id: String,
        skill: impl Into<Arc<str>>,
        file: impl Into<Arc<Path>>,
        line: usize,
        source: impl CaseSource + 'static,
    ) -> Self {
        let (skill, file) = (skill.into(), file.into());
        Self { id, skill, file, line, scripts: Vec::new(), source: Arc::new(source), parsed: OnceLock::new() }
    }

    /// The case, or every problem that keeps it from running. It is read at the first call.
    pub fn case(&self) -> Result<&Case, &[Diagnostic]> {
        self.parsed().case.as_ref().map_err(Vec::as_slice)
    }

    /// Adds the scripts of its skill and of the repository to its checks, each once.
    fn add_scripts(&self, case: &mut Case) {
        for NamedScript { path, place } in &self.scripts {
            if !case.checks.iter().any(|check| check.script() == Some(path)) {
                let origin = Origin { elsewhere: Some(place.clone()), ..Origin::default() };
                case.checks.push(CaseCheck { origin, ..checks::script(path.clone()) });
            }
        }
    }

    fn parsed(&self) -> &ParsedCase {
        self.parsed.get_or_init(|| {
            let mut case = self.source.case(&self.skill);
            if let Ok(case) = &mut case {
                case.id.clone_from(&self.id);
                self.add_scripts(case);
            }
            Box::new(ParsedCase { case, errors: OnceLock::new() })
        })
    }

    /// The problems that keep it from running in its repository. `check` finds them at the first call, for all its trials.
    pub fn refused(&self, check: impl FnOnce(&Self) -> Vec<Diagnostic>) -> &[Diagnostic] {
        self.parsed().errors.get_or_init(|| check(self))
    }

    /// Whether the skill should trigger, if that is known before the case is read.
    pub fn should_trigger(&self) -> Option<bool> {
        self.source.should_trigger()
    }

    /// The trials and threshold of the case, if they are known before it is read.
    pub fn repetition(&self) -> Repetition {
        self.source.repetition()
    }

    /// The format it is written in.
    pub fn format(&self) -> &'static CaseFormat {
        self.source.format()
    }
}
