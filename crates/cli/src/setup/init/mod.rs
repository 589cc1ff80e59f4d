//! Adds evals to a repository: a first case, settings, and in Rust the crate and the harness. Existing files stay as they are, so a second `init` changes
//! nothing.

mod manifest;

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use thiserror::Error;

use crate::cases::case::Case;
use crate::cases::catalog::{Catalog, FoundSkill, PROMPTS};
use crate::cases::repository::{Layout, Repository, Scope};
use crate::files::at::PathError;
use crate::files::{bounded, inside, look};
use crate::run::stubs;
use crate::settings::load::{self, ConfigError};
use crate::settings::mode::AgentKind;
use crate::settings::{FILE, Trust};
use crate::setup::generate;
use crate::skill::{SKILL_FILE, SkillFile};
use crate::store::{self, RECORDINGS, StoreError, TrialFolder};
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::text::word_enum::word_enum;
use manifest::ManifestChange;

pub use manifest::CrateSource;

/// Rules for .gitignore: runs, and what cargo builds in the small crate.
const IGNORED: &str = "/artifacts/skill-evals/";
const TARGET: &str = "/evals/target";

/// The file of the harness, in its crate.
const MAIN: &str = "tests/skill_evals.rs";

/// The nextest settings of this repository.
const NEXTEST: &str = include_str!("nextest.toml");

/// Why `init` failed.
#[derive(Debug, Error)]
pub enum InitError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It is not known where the program or the crate is from.
    #[error("skill-evals is not published yet: say where it is from with --git URL or --path DIR; nothing was written")]
    NoSource,
    /// A directory is not a checkout of this crate.
    #[error("{0} is not a checkout of skill-evals")]
    NoCheckout(PathBuf),
    /// Nothing says which agent CI has to run.
    #[error("no recording says which agent CI is to run, and none can run here: name it with --agent")]
    NoAgent,
    /// npm does not have an agent.
    #[error("`init --ci` cannot install {0}, which npm does not have; --agent names another")]
    NotInNpm(&'static str),
    /// A directory is not the root of a git repository.
    #[error("{0} is not the root of a git repository: run `init --ci` there")]
    NoGitRoot(PathBuf),
    /// A checkout is somewhere that CI cannot see.
    #[error("--path {0}: CI sees only the repository: name a relative path in it, or --git URL")]
    NotInRepository(PathBuf),
    /// A Cargo.toml is invalid.
    #[error("{path}: {why}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
}

impl From<InitError> for Problem {
    fn from(error: InitError) -> Self {
        Self::Said(error.to_string())
    }
}

/// A file and what `init` did with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitStep {
    /// The file, relative to the directory of `init`.
    pub path: PathBuf,
    /// The change.
    pub action: FileAction,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// The file is new.
    Written,
    /// These parts were added.
    Added(String),
    /// The file was complete.
    IsThere,
    /// The file differs and was not changed. What to do by hand.
    LeftAlone(String),
}

/// The result of `init`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitSummary {
    /// The files, in order.
    pub steps: Vec<InitStep>,
    /// The directory of the crate with the harness, if there is one.
    pub harness: Option<PathBuf>,
}

/// Whether `init` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitMode {
    /// Files are written.
    Write,
    /// Nothing is written; the steps are what `Write` would do.
    Plan,
}

/// Adds evals to the crate or repository in `folder`, an absolute path. Skills and cases are those of the repository around it. A
/// directory without Cargo.toml gets a harness only if `wants_rust`, or if it has one.
pub fn init(
    folder: &Path,
    source: Option<&CrateSource>,
    wants_rust: bool,
    mode: InitMode,
) -> Result<InitSummary, InitError> {
    if let Some(CrateSource::Path { folder, .. }) = source
        && !manifest::is_checkout(&bounded::read_text(&folder.join("Cargo.toml")).unwrap_or_default())
    {
        return Err(InitError::NoCheckout(folder.clone()));
    }
    let mut init = Init { layout: InitLayout::of(folder)?, files: InitFiles::new(folder, mode) };
    let is_alone = init.layout.kind == HarnessCrate::Alone;
    if is_alone && !wants_rust && init.files.read(&init.layout.package.join("Cargo.toml"))?.is_none() {
        init.first_case()?;
        init.settings(None)?;
        init.ignore_rules(&[IGNORED])?;
        return Ok(InitSummary { steps: init.files.steps, harness: None });
    }
    if let Some(other) = init.other_harness()? {
        let again = "it is the harness of this repository: a second one would run each trial once more";
        init.files.step(&other.join(MAIN), FileAction::LeftAlone(again.to_owned()));
        return Ok(InitSummary { steps: init.files.steps, harness: Some(other) });
    }
    init.manifest(source)?;
    init.first_case()?;
    init.harness()?;
    let package = init.layout.package.strip_prefix(&init.layout.root).unwrap_or(Path::new(""));
    let line = stubs::line(package, "skill_evals");
    init.settings(Some(&line))?;
    let nextest = init.layout.workspace.join(".config/nextest.toml");
    init.files.new_file(&nextest, NEXTEST, "it is yours; see `[profile.ci]` in that of skill-evals")?;
    init.ignore_rules(if is_alone { &[IGNORED, TARGET] } else { &[IGNORED] })?;
    Ok(InitSummary { steps: init.files.steps, harness: Some(init.layout.package) })
}

struct Init<'a> {
    layout: InitLayout,
    files: InitFiles<'a>,
}

impl Init<'_> {
    /// The directory of another crate that has a harness for the same repository, unless this one has a harness already.
    fn other_harness(&self) -> Result<Option<PathBuf>, InitError> {
        let InitLayout { root, package, .. } = &self.layout;
        let is_harness = |folder: &Path| -> Result<bool, InitError> {
            Ok(self.files.read(&folder.join(MAIN))?.is_some_and(|text| text.contains("skill_evals::harness")))
        };
        if is_harness(package)? {
            return Ok(None);
        }
        for folder in stubs::crates(root) {
            let found = root.join(&folder);
            // A crate with skills or evals of its own is a repository of its own, but for the small crate.
            let is_of_root = stubs::CRATES.iter().any(|known| folder == Path::new(known))
                || Repository::around(&found).is_ok_and(|around| around.is_some_and(|around| around.root == *root));
            if is_of_root && is_harness(&found)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The Cargo.toml of the existing crate, or of a small crate next to the cases.
    fn manifest(&mut self, source: Option<&CrateSource>) -> Result<(), InitError> {
        let path = self.layout.package.join("Cargo.toml");
        let existing = self.files.read(&path)?;
        if source.is_none() && !existing.as_deref().is_some_and(manifest::depends) {
            return Err(InitError::NoSource);
        }
        // A stored answer of a judge counts, whether its case asks for a judge or not.
        let is_judged = |trial: &TrialFolder| !matches!(trial.judgment(), Ok(None));
        let needs_schemas = self.catalog()?.cases.iter().any(|found| found.case().is_ok_and(Case::needs_schemas))
            || store::trials_below(&self.layout.root.join(RECORDINGS))?.iter().any(is_judged);
        let features: &[&str] = if needs_schemas { &["schemas"] } else { &[] };
        let source = source.map(|source| source.from(&self.layout.package, features));
        if existing.is_some() {
            // Ordinary tests in that file would no longer run.
            let test = self.files.read(&self.layout.package.join(MAIN))?;
            let is_harness = test.is_none_or(|text| text.contains("skill_evals::harness"));
            self.files.edit(&path, |text| manifest::with_harness(text, source.as_ref(), is_harness))?;
        } else if let Some(source) = source {
            let alone = self.layout.kind == HarnessCrate::Alone;
            self.files.new_file(&path, &manifest::small_crate(&source, alone), "")?;
        }
        // The existing crate may be a workspace of its own.
        if self.layout.kind == HarnessCrate::Member && existing.is_none_or(|text| !manifest::is_workspace(&text)) {
            self.files.edit(&self.layout.workspace.join("Cargo.toml"), manifest::with_member)?;
        }
        Ok(())
    }

    /// Cases for a skill, as `generate` writes them, if the repository has no case. Without a skill, the skill too.
    fn first_case(&mut self) -> Result<(), InitError> {
        let root = self.layout.root.clone();
        let catalog = self.catalog()?;
        let first;
        let found = if catalog.skills.is_empty() {
            let folder = Path::new("skills/hello");
            self.files.new_file(&root.join(folder).join(SKILL_FILE), FIRST_SKILL, "")?;
            let file = SkillFile::parse(folder, FIRST_SKILL.as_bytes());
            first = FoundSkill { file, bytes: FIRST_SKILL.into(), curated: false, plugin: None };
            &first
        } else {
            let usable = catalog.skills.iter().find(|found| !found.file.problems.iter().any(Diagnostic::is_error));
            let Some(found) = usable.filter(|_| !catalog.skills.iter().any(|found| found.curated)) else {
                return Ok(());
            };
            found
        };
        let cases = generate::cases(found, &catalog);
        self.files.new_file(&root.join(found.evals()).join(PROMPTS), &generate::prompts_csv(&cases), "")
    }

    fn harness(&mut self) -> Result<(), InitError> {
        let main = if self.layout.kind == HarnessCrate::Own { HARNESS } else { HARNESS_OF_SMALL_CRATE };
        let package = self.layout.package.clone();
        let by_hand = "its main has to return skill_evals::harness::main()";
        self.files.new_file(&package.join(MAIN), main, by_hand)?;
        let text = stubs::current(&self.layout.root, &self.catalog()?)?;
        self.files.new_file(&package.join(stubs::FILE), &text, "`skill-evals stubs` rewrites it")
    }

    /// evals.toml. Its line that names the harness is a comment: without custom checks, commands need not build the harness.
    fn settings(&mut self, harness: Option<&str>) -> Result<(), InitError> {
        let harness = harness.map_or_else(String::new, |line| {
            format!("# Once the harness adds custom checks, this line makes every command ask it:\n# {line}\n\n")
        });
        let text = format!(
            "{harness}# What `skill-evals gate` compares a change with, what fails it, and what it may cost:\n\
             # [gate]\n# base = \"origin/main\"\n# fail_on = [\"broke\", \"worse\"]\n# plan = \"quick\"\n\
             # max_cost_usd = 5.0\n# require_recordings = true\n"
        );
        self.files.new_file(&self.layout.root.join(FILE), &text, "")
    }

    fn ignore_rules(&mut self, rules: &[&str]) -> Result<(), InitError> {
        let path = self.layout.root.join(".gitignore");
        let old = self.files.read(&path)?;
        let known: Vec<&str> =
            old.iter().flat_map(|text| text.lines()).map(|line| line.trim().trim_matches('/')).collect();
        let is_new = |rule: &&str| !known.contains(&rule.trim_matches('/'));
        let rules: Vec<&str> = rules.iter().copied().filter(is_new).collect();
        if rules.is_empty() {
            self.files.step(&path, FileAction::IsThere);
            return Ok(());
        }
        let action = if old.is_some() { FileAction::Added(rules.join(", ")) } else { FileAction::Written };
        let mut text = old.unwrap_or_default();
        let end = line_end(&text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(end);
        }
        text.extend(rules.iter().flat_map(|rule| [rule, end]));
        self.files.write(&path, &text)?;
        self.files.step(&path, action);
        Ok(())
    }

    fn catalog(&self) -> Result<Catalog, InitError> {
        let settings = load::read_file(&self.layout.root, Trust::Trusted)?;
        let repository = Repository::new(self.layout.root.clone());
        Ok(repository.catalog(Layout::of(&settings), Scope::All))
    }
}

const FIRST_SKILL: &str = "---\n\
    name: hello\n\
    description: Greets a person in the house style. Use when asked to greet or welcome somebody. Not for questions about the \
    customs of a country when people meet.\n\
    ---\n\n\
    # Hello\n\n\
    Say \"Welcome aboard, NAME!\" and nothing else.\n";

const HARNESS: &str = "//! The evals of this repository's skills, as tests: `cargo test --test skill_evals`.\n\n\
    // Shows the trials to IDEs; the harness does not contain it. `skill-evals stubs` rewrites it.\n\
    include!(\"skill_evals/stubs.rs\");\n\n\
    fn main() -> ::std::process::ExitCode {\n    ::skill_evals::harness::main()\n}\n";

const HARNESS_OF_SMALL_CRATE: &str = "//! The evals of this repository's skills, as tests: `cargo test --test \
    skill_evals`.\n\n\
    // Shows the trials to IDEs; the harness does not contain it. `skill-evals stubs` rewrites it.\n\
    include!(\"skill_evals/stubs.rs\");\n\n\
    fn main() -> ::std::process::ExitCode {\n    \
        ::skill_evals::harness::Harness::new().root(\"..\").main()\n}\n";

// The files of a CI service: lint and replay for every change, the gate with its comment where the key may be, a nightly run.

word_enum! {
    /// A CI service.
    pub enum CiService {
        /// GitHub Actions.
        GitHub = "github",
        /// GitLab CI.
        GitLab = "gitlab",
    }
}

/// A file from the root of the repository: its path, its content, and what to do if there is another one.
type CiFile = (&'static str, &'static str, &'static str);

const DELETE_FIRST: &str = "it differs from what this command writes: delete it first to replace it";

const NIGHTLY: &str = include_str!("ci/github-nightly.yml");

/// The shards of a nightly run, and their options.
const SHARDS: u32 = 4;
const OPTIONS: &str = " --keep --max-cost-usd 5";

const GITHUB: [CiFile; 2] = [
    (".github/workflows/skill-evals.yml", include_str!("ci/github.yml"), DELETE_FIRST),
    (".github/workflows/skill-evals-nightly.yml", NIGHTLY, DELETE_FIRST),
];

const GITLAB: [CiFile; 2] = [
    (".gitlab/skill-evals.yml", include_str!("ci/gitlab.yml"), DELETE_FIRST),
    (".gitlab-ci.yml", include_str!("ci/gitlab-ci.yml"), "it needs `include: [{local: .gitlab/skill-evals.yml}]`"),
];

impl CiService {
    /// What is left to do by hand.
    pub fn next(self) -> &'static str {
        match self {
            Self::GitHub => {
                "commit these; add the environment `skill-evals` with the secret that they name; require the job `free`"
            }
            Self::GitLab => "commit these; add the variables that .gitlab/skill-evals.yml names",
        }
    }

    fn files(self) -> [CiFile; 2] {
        match self {
            Self::GitHub => GITHUB,
            Self::GitLab => GITLAB,
        }
    }
}

/// Adds the files of `service` to the repository in `folder`, an absolute path. They install the program from `source`, and these agents.
pub fn init_ci(
    folder: &Path,
    service: CiService,
    source: &CrateSource,
    agents: &[AgentKind],
) -> Result<Vec<InitStep>, InitError> {
    if !look::is_usable(&folder.join(".git")) {
        return Err(InitError::NoGitRoot(folder.to_path_buf()));
    }
    let job = CiJob::of(folder, source, agents)?;
    let is_recorded = is_recorded(folder)?;
    let mut files = InitFiles::new(folder, InitMode::Write);
    for (path, text, by_hand) in service.files() {
        files.new_file(&folder.join(path), &job.filled(&in_shards(text, SHARDS, OPTIONS)), by_hand)?;
    }
    if !is_recorded {
        files.edit(&folder.join(FILE), manifest::without_required_recordings)?;
    }
    Ok(files.steps)
}

/// Whether every case of the repository has a recording.
fn is_recorded(root: &Path) -> Result<bool, InitError> {
    let settings = load::read_file(root, Trust::Trusted)?;
    let mut recordings = store::Recordings::new(root);
    for found in &Repository::new(root.to_path_buf()).catalog(Layout::of(&settings), Scope::All).cases {
        if recordings.modes(&found.skill, &found.id)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The workflow of a nightly run of these agents in this many shards, with these options of `run`: empty, or with a space before each.
pub fn github_nightly(
    folder: &Path,
    source: &CrateSource,
    agents: &[AgentKind],
    shards: u32,
    options: &str,
) -> Result<String, InitError> {
    Ok(CiJob::of(folder, source, agents)?.filled(&in_shards(NIGHTLY, shards, options)))
}

/// What the jobs of a repository install and get.
struct CiJob {
    /// The arguments of `cargo install`.
    source: String,
    /// The files on which the program depends, for a cache.
    files: String,
    /// The packages of the agents, for npm. Empty if the agent is that of this program.
    packages: String,
    /// The variables with the agents' credentials.
    variables: BTreeSet<&'static str>,
}

impl CiJob {
    fn of(folder: &Path, source: &CrateSource, agents: &[AgentKind]) -> Result<Self, InitError> {
        let (source, parts) = install(folder, source)?;
        let files = format!("'.github/workflows/skill-evals*.yml'{parts}");
        let (mut packages, mut variables) = (BTreeSet::new(), BTreeSet::new());
        for profile in agents.iter().map(|agent| agent.profile()) {
            if profile.ci_variables.is_empty() {
                return Err(InitError::NotInNpm(profile.name));
            }
            variables.extend(profile.ci_variables);
            let package = profile.packages.first().zip(profile.measured.last());
            packages.extend(package.map(|(package, version)| format!("{package}@{version}")));
        }
        if variables.is_empty() {
            return Err(InitError::NoAgent);
        }
        let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
        Ok(Self { source, files, packages, variables })
    }

    /// The text of a file for this job.
    fn filled(&self, text: &str) -> String {
        let Self { source, files, packages, variables } = self;
        // Without a package there is nothing to install or cache.
        let lines = text.lines().filter(|line| !packages.is_empty() || !line.contains("@AGENTS@"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let names = variables.iter().copied().collect::<Vec<_>>().join(", ");
        let secrets: Vec<String> =
            variables.iter().map(|name| format!("{name}: \"${{{{ secrets.{name} }}}}\"")).collect();
        text.replace("@SOURCE@", source)
            .replace("@FILES@", files)
            .replace("@AGENTS@", packages)
            .replace("@VARIABLES@", &names)
            .replace("@SECRETS@", &secrets.join(", "))
    }
}

fn in_shards(text: &str, shards: u32, options: &str) -> String {
    let list: Vec<String> = (1..=shards).map(|number| number.to_string()).collect();
    let run = format!("skill-evals run --shard \"$SHARD/{shards}\" --run-id \"$RUN\"{options}");
    // In YAML, these end a text without quotes. JSON's quotes are YAML's.
    let run = if run.contains(": ") || run.contains(" #") { Value::from(run).to_string() } else { run };
    text.replace("@LIST@", &list.join(", ")).replace("@SHARDS@", &shards.to_string()).replace("@RUN@", &run)
}

/// The arguments of `cargo install`, and the further files on which the program depends, for a cache.
fn install(folder: &Path, source: &CrateSource) -> Result<(String, String), InitError> {
    match source {
        CrateSource::Git { url, rev } => {
            let rev = rev.as_ref().map(|rev| format!(" --rev {}", escape::word(rev))).unwrap_or_default();
            Ok((format!("--git {}{rev} skill-evals-cli", escape::word(url)), String::new()))
        }
        CrateSource::Path { folder: checkout, is_relative } => {
            let path = relative(folder, checkout);
            if !is_relative || path.starts_with("..") {
                return Err(InitError::NotInRepository(checkout.clone()));
            }
            let path = path.display().to_string();
            let parts = format!(", '{path}/Cargo.lock', '{path}/src/**', '{path}/crates/**'");
            Ok((format!("--path {}", escape::word(&format!("{path}/crates/cli"))), parts))
        }
    }
}

// The files that `init` writes.

/// How the first line of a text ends: what is added to it ends so, too.
fn line_end(text: &str) -> &'static str {
    let is_crlf = text.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r'));
    if is_crlf { "\r\n" } else { "\n" }
}

/// Writes files, or only plans them.
struct InitFiles<'a> {
    /// The directory of `init`.
    folder: &'a Path,
    mode: InitMode,
    steps: Vec<InitStep>,
}

impl<'a> InitFiles<'a> {
    fn new(folder: &'a Path, mode: InitMode) -> Self {
        Self { folder, mode, steps: Vec::new() }
    }

    /// Writes a file that does not exist. An existing file stays as it is, and may need a change `by_hand`.
    fn new_file(&mut self, path: &Path, text: &str, by_hand: &str) -> Result<(), InitError> {
        let action = match self.read(path)? {
            None => {
                self.write(path, text)?;
                FileAction::Written
            }
            Some(old) if old == text || by_hand.is_empty() => FileAction::IsThere,
            Some(_) => FileAction::LeftAlone(by_hand.to_owned()),
        };
        self.step(path, action);
        Ok(())
    }

    /// Changes a manifest or settings as `change` says, and keeps the rest and its line ends.
    fn edit(
        &mut self,
        path: &Path,
        change: impl Fn(&str) -> Result<(String, ManifestChange), String>,
    ) -> Result<(), InitError> {
        let old = self.read(path)?;
        let text = old.as_deref().unwrap_or_default();
        let (new, change) =
            change(text).map_err(|why| InitError::Manifest { path: relative(self.folder, path), why })?;
        if let ManifestChange::Added(_) = change {
            // The editor of TOML ends all lines with `\n`.
            self.write(path, &new.replace("\r\n", "\n").replace('\n', line_end(text)))?;
        }
        let action = match change {
            ManifestChange::Nothing => FileAction::IsThere,
            ManifestChange::Added(_) if old.is_none() => FileAction::Written,
            ManifestChange::Added(what) => FileAction::Added(what),
            ManifestChange::Impossible(why) => FileAction::LeftAlone(why),
        };
        self.step(path, action);
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), InitError> {
        if self.mode == InitMode::Write {
            inside::write(self.root_of(path), path, text.as_bytes()).map_err(StoreError::from)?;
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        match inside::read_text(self.root_of(path), path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(InitError::Io { path: relative(self.folder, path), source }),
        }
    }

    /// The repository of a file: the git work tree, or the directory that it shares with that of `init`.
    fn root_of(&self, path: &Path) -> &'a Path {
        let around = || self.folder.ancestors().filter(|folder| path.starts_with(folder));
        around().find(|folder| look::is_usable(&folder.join(".git"))).or_else(|| around().next()).unwrap_or(self.folder)
    }

    fn step(&mut self, path: &Path, action: FileAction) {
        self.steps.push(InitStep { path: relative(self.folder, path), action });
    }
}

// Where evals go in a repository: the crate of the harness, its workspace, the root.

/// The directory of a small crate for the harness.
const SMALL_CRATE: &str = "evals";

/// The crate of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HarnessCrate {
    /// The crate in the directory.
    Own,
    /// A small crate in `evals`, a member of the workspace in the directory.
    Member,
    /// A small crate in `evals`, with a workspace of its own.
    Alone,
}

/// Where evals go. All paths are absolute.
struct InitLayout {
    kind: HarnessCrate,
    /// The crate of the harness.
    package: PathBuf,
    /// Its workspace: nextest reads its settings there.
    workspace: PathBuf,
    /// The repository with the skills.
    root: PathBuf,
}

impl InitLayout {
    fn of(folder: &Path) -> Result<Self, InitError> {
        let path = folder.join("Cargo.toml");
        let bad = |why| InitError::Manifest { path: relative(folder, &path), why };
        let text = read(&path).map_err(|source| InitError::Io { path: relative(folder, &path), source })?;
        let Some(text) = text else { return Ok(Self::small(folder, HarnessCrate::Alone)) };
        if !manifest::has_package(&text).map_err(bad)? {
            return Ok(Self::small(folder, HarnessCrate::Member));
        }
        Ok(Self {
            kind: HarnessCrate::Own,
            package: folder.to_path_buf(),
            workspace: workspace(folder, &text),
            // The harness finds skills in parent directories too.
            root: Repository::around(folder)
                .map_err(|PathError { path, source }| InitError::Io { path, source })?
                .map_or_else(|| folder.to_path_buf(), |repository| repository.root),
        })
    }

    fn small(folder: &Path, kind: HarnessCrate) -> Self {
        let (package, root) = (folder.join(SMALL_CRATE), folder.to_path_buf());
        let workspace = if kind == HarnessCrate::Member { root.clone() } else { package.clone() };
        Self { kind, package, workspace, root }
    }
}

/// The workspace of the crate in `folder`, as cargo finds it.
fn workspace(folder: &Path, manifest: &str) -> PathBuf {
    if let Some(named) = manifest::names_workspace(manifest) {
        return normal(&folder.join(named));
    }
    for parent in folder.ancestors() {
        let Ok(Some(text)) = read(&parent.join("Cargo.toml")) else { continue };
        if manifest::is_workspace(&text) {
            let is_excluded = manifest::excludes(&text, folder.strip_prefix(parent).unwrap_or(folder));
            return if is_excluded { folder } else { parent }.to_path_buf();
        }
    }
    folder.to_path_buf()
}

/// The text of a file; `None` if it does not exist.
fn read(path: &Path) -> io::Result<Option<String>> {
    match bounded::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

// Relative paths between absolute ones. Pure.

/// The path of `to` from the directory `from`. Both are absolute.
pub fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to) = (normal(from), normal(to));
    let shared = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}
