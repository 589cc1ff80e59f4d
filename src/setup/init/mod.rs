//! Brings evals into a repository: the crate, the harness, a first case. Adds what is missing and changes nothing that
//! is there, so that a second time does nothing.

mod layout;
mod manifest;
mod way;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cases::catalog::{Catalog, PROMPTS, RESPONSE_SCHEMA};
use crate::cases::repository::{Layout, Repository, Scope};
use crate::files::bounded;
use crate::harness::stubs;
use crate::settings::FILE;
use crate::settings::load::{self, ConfigError};
use crate::setup::generate;
use crate::store::{self, StoreError};
use crate::text::diagnostic::Diagnostic;

use layout::{HarnessCrate, InitLayout};
pub use manifest::CrateSource;
use way::relative;

/// Ignored by git, from the root.
const IGNORED: &str = "/artifacts/skill-evals/";

/// The configuration of cargo-nextest that this repository has itself.
const NEXTEST: &str = include_str!("../../../.config/nextest.toml");

/// Why evals could not be brought in.
#[derive(Debug, Error)]
pub enum InitError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The settings are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A folder that is no checkout of this crate.
    #[error("{0} holds no crate skill-evals")]
    NoCheckout(PathBuf),
    /// A Cargo.toml that cannot be read.
    #[error("{path}: {why}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// What was done about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitStep {
    /// The file, from the folder that was named.
    pub path: PathBuf,
    /// What was done.
    pub done: FileAction,
}

/// What was done about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// It was not there and is now.
    Written,
    /// Something was added to it.
    Added(String),
    /// It is as it should be.
    IsThere,
    /// It is otherwise, and was left so; what to do by hand.
    LeftAlone(String),
}

/// What was done in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitSummary {
    /// File by file.
    pub steps: Vec<InitStep>,
    /// The arguments behind `cargo test` or `cargo nextest run` with which cargo finds the harness from the folder.
    pub cargo: &'static str,
}

/// Brings evals into the crate or the repository in `folder`, which is absolute. Skills and cases are those of the repository
/// around it, where there is one. `source` is where cargo gets this crate.
///
/// # Errors
/// When a file cannot be read or written. What was done before stays.
pub fn init(folder: &Path, source: &CrateSource) -> Result<InitSummary, InitError> {
    if let CrateSource::Path { folder, .. } = source
        && !manifest::is_checkout(&bounded::read_text(&folder.join("Cargo.toml")).unwrap_or_default())
    {
        return Err(InitError::NoCheckout(folder.clone()));
    }
    let place = InitLayout::of(folder)?;
    let mut init = Init { place, folder, steps: Vec::new() };
    init.cargo(source)?;
    init.first_case()?;
    init.harness()?;
    init.settings()?;
    let nextest = init.place.workspace.join(".config/nextest.toml");
    init.new_file(&nextest, NEXTEST, "it is yours; see `[profile.ci]` in that of skill-evals")?;
    init.ignore_rules()?;
    let cargo = match init.place.kind {
        HarnessCrate::Own => "--test skill_evals",
        HarnessCrate::Member => "-p evals --test skill_evals",
        HarnessCrate::Alone => "--manifest-path evals/Cargo.toml --test skill_evals",
    };
    Ok(InitSummary { steps: init.steps, cargo })
}

struct Init<'a> {
    place: InitLayout,
    folder: &'a Path,
    steps: Vec<InitStep>,
}

impl Init<'_> {
    /// The crate: the one that is there, or a small one beside the cases.
    fn cargo(&mut self, source: &CrateSource) -> Result<(), InitError> {
        let path = self.place.package.join("Cargo.toml");
        let source = source.from(&self.place.package);
        if self.place.kind == HarnessCrate::Own {
            return self.edit(&path, |text| manifest::with_harness(text, &source));
        }
        let alone = self.place.kind == HarnessCrate::Alone;
        let there = self.read(&path)?;
        self.new_file(&path, &manifest::small_crate(&source, alone), "it has to have the harness as a test")?;
        // One that is there may be a workspace of its own.
        if !alone && there.is_none_or(|text| !manifest::is_workspace(&text)) {
            self.edit(&self.place.workspace.join("Cargo.toml"), manifest::with_member)?;
        }
        Ok(())
    }

    /// Changes a manifest.
    fn edit(
        &mut self,
        path: &Path,
        change: impl Fn(&str) -> Result<(String, manifest::ManifestChange), String>,
    ) -> Result<(), InitError> {
        let text = self.read(path)?.unwrap_or_default();
        let bad = |why| InitError::Manifest { path: relative(self.folder, path), why };
        let (new, added) = change(&text).map_err(bad)?;
        if new != text {
            store::write_whole(path, new.as_bytes())?;
        }
        let done = match added {
            manifest::ManifestChange::Nothing => FileAction::IsThere,
            manifest::ManifestChange::These(what) => FileAction::Added(what),
            manifest::ManifestChange::Cannot(why) => FileAction::LeftAlone(why),
        };
        self.step(path, done);
        Ok(())
    }

    /// Cases for a skill, as `generate` writes them, in a repository that has no case at all; and a skill, where there is none.
    fn first_case(&mut self) -> Result<(), InitError> {
        let root = self.place.root.clone();
        let mut catalog = self.catalog()?;
        if catalog.skills.is_empty() {
            self.new_file(&root.join("skills/hello/SKILL.md"), FIRST_SKILL, "")?;
            catalog = self.catalog()?;
        }
        if catalog.skills.iter().any(|found| found.curated) {
            return Ok(());
        }
        let good = |problems: &[Diagnostic]| !problems.iter().any(Diagnostic::is_error);
        if let Some(found) = catalog.skills.iter().find(|found| good(&found.file.problems)) {
            let script = generate::script(found, &Repository { root: root.clone() });
            let text = generate::prompts_csv(found.skill(), script.as_deref());
            // Rows without their schema could not run: the schema comes first.
            self.new_file(&root.join(RESPONSE_SCHEMA), generate::BUILT_IN_RESPONSE_SCHEMA, "")?;
            self.new_file(&root.join(found.evals()).join(PROMPTS), &text, "")?;
        }
        Ok(())
    }

    fn harness(&mut self) -> Result<(), InitError> {
        let main = if self.place.kind == HarnessCrate::Own { HARNESS } else { HARNESS_OF_SMALL_CRATE };
        let with = "its main has to return skill_evals::harness::main()";
        let package = self.place.package.clone();
        self.new_file(&package.join("tests/skill_evals.rs"), main, with)?;
        let text = stubs::current(&self.place.root, &self.catalog()?)?;
        self.new_file(&package.join(stubs::FILE), &text, "`skill-evals stubs` rewrites it")
    }

    /// evals.toml, with the line that names the harness: one without checks need not be built by other commands.
    fn settings(&mut self) -> Result<(), InitError> {
        let folder = self.place.package.strip_prefix(&self.place.root).unwrap_or(Path::new(""));
        let line = stubs::line(folder, "skill_evals");
        let text = format!("# Once the harness adds custom checks, this line makes every command ask it:\n# {line}\n");
        self.new_file(&self.place.root.join(FILE), &text, "")
    }

    fn ignore_rules(&mut self) -> Result<(), InitError> {
        let path = self.place.root.join(".gitignore");
        let old = self.read(&path)?;
        let mut rules = vec![IGNORED];
        if self.place.kind == HarnessCrate::Alone {
            rules.push("/evals/target");
        }
        let bare = |line: &str| line.trim().trim_matches('/').to_owned();
        let has = |rule: &str| old.iter().flat_map(|text| text.lines()).any(|line| bare(line) == bare(rule));
        rules.retain(|rule| !has(rule));
        if rules.is_empty() {
            self.step(&path, FileAction::IsThere);
            return Ok(());
        }
        let done = if old.is_some() { FileAction::Added(rules.join(", ")) } else { FileAction::Written };
        let mut text = old.unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.extend(rules.iter().flat_map(|rule| [rule, "\n"]));
        store::write_whole(&path, text.as_bytes())?;
        self.step(&path, done);
        Ok(())
    }

    fn catalog(&self) -> Result<Catalog, InitError> {
        let settings = load::read_file(&self.place.root)?;
        let repository = Repository { root: self.place.root.clone() };
        Ok(repository.catalog(Layout::of(&settings), Scope::All))
    }

    /// Writes a file that is not there. One that is there and says something else is left as it is, which may need
    /// something done `by_hand`.
    fn new_file(&mut self, path: &Path, text: &str, by_hand: &str) -> Result<(), InitError> {
        let done = match self.read(path)? {
            None => {
                store::write_whole(path, text.as_bytes())?;
                FileAction::Written
            }
            Some(old) if old == text || by_hand.is_empty() => FileAction::IsThere,
            Some(_) => FileAction::LeftAlone(by_hand.to_owned()),
        };
        self.step(path, done);
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        layout::read(path).map_err(|source| InitError::Io { path: relative(self.folder, path), source })
    }

    fn step(&mut self, path: &Path, done: FileAction) {
        self.steps.push(InitStep { path: relative(self.folder, path), done });
    }
}

const FIRST_SKILL: &str = "---\n\
    name: hello\n\
    description: Greets a person in the house style. Use when asked to greet or welcome somebody.\n\
    ---\n\n\
    # Hello\n\n\
    Say \"Welcome aboard, NAME!\" and nothing else.\n";

const HARNESS: &str = "//! The evals of this repository's skills, as tests: `cargo test --test skill_evals`.\n\n\
    // Shows the trials to IDEs; empty here. `skill-evals stubs` rewrites it.\n\
    include!(\"skill_evals/stubs.rs\");\n\n\
    fn main() -> ::std::process::ExitCode {\n    ::skill_evals::harness::main()\n}\n";

const HARNESS_OF_SMALL_CRATE: &str = "//! The evals of this repository's skills, as tests: `cargo test --test \
    skill_evals`.\n\n\
    // Shows the trials to IDEs; empty here. `skill-evals stubs` rewrites it.\n\
    include!(\"skill_evals/stubs.rs\");\n\n\
    fn main() -> ::std::process::ExitCode {\n    \
        ::skill_evals::harness::Harness::new().root(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/..\")).main()\n}\n";
