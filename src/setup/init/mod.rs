//! Brings evals into a repository: the crate, the harness, a first case. Adds what is missing and changes nothing that
//! is there, so that a second time does nothing.

mod manifest;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cases::catalog::{Catalog, PROMPTS, RESPONSE_SCHEMA};
use crate::cases::repository::{Repository, Scope};
use crate::files::bounded;
use crate::harness::stubs;
use crate::settings::load::{self, ConfigError};
use crate::setup::generate;
use crate::store::{self, StoreError};

/// Where a repository without a crate of its own gets one.
const OWN_CRATE: &str = "evals";

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
pub struct Step {
    /// The file, from the root.
    pub path: PathBuf,
    /// What was done.
    pub done: Done,
}

/// What was done about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// It was not there and is now.
    Written,
    /// Something was added to it.
    Added(String),
    /// It is as it should be.
    IsThere,
    /// It is otherwise, and was left so; what to do by hand.
    LeftAlone(String),
}

/// Brings evals into the repository at `root`.
///
/// # Errors
/// When a file cannot be read or written. What was done before stays.
pub fn init(root: &Path) -> Result<Vec<Step>, InitError> {
    let mut init = Init { root, steps: Vec::new() };
    let folder = init.cargo()?;
    init.first_case()?;
    init.harness(&folder)?;
    init.new_file(
        &folder.join(".config/nextest.toml"),
        NEXTEST,
        "it is yours; see `[profile.ci]` in that of skill-evals",
    )?;
    init.ignore_rules(&folder)?;
    Ok(init.steps)
}

struct Init<'a> {
    root: &'a Path,
    steps: Vec<Step>,
}

impl Init<'_> {
    /// The crate: the repository's own, or a small one beside the cases. Returns its folder, from the root.
    fn cargo(&mut self) -> Result<PathBuf, InitError> {
        let own = Path::new("Cargo.toml");
        let small = Path::new(OWN_CRATE).join("Cargo.toml");
        let text = self.read(own)?;
        let has_package = text.as_deref().map(|text| manifest::has_package(text).map_err(|why| bad(own, why)));
        if !has_package.transpose()?.unwrap_or(false) {
            self.new_file(&small, &manifest::small_crate(), "it has to have the harness as a test")?;
            return Ok(PathBuf::from(OWN_CRATE));
        }
        let text = text.unwrap_or_default();
        let (new, added) = manifest::with_harness(&text).map_err(|why| bad(own, why))?;
        let done = match added {
            manifest::Added::Nothing => Done::IsThere,
            manifest::Added::These(what) => Done::Added(what),
            manifest::Added::Cannot(why) => Done::LeftAlone(why),
        };
        if new != text {
            store::write_whole(&self.root.join(own), new.as_bytes())?;
        }
        self.step(own, done);
        Ok(PathBuf::new())
    }

    /// Cases for the skills that have none, in a repository that has no case at all; and a skill, where there is none.
    fn first_case(&mut self) -> Result<(), InitError> {
        let mut catalog = self.catalog()?;
        if catalog.skills.is_empty() {
            self.new_file(Path::new("skills/hello/SKILL.md"), FIRST_SKILL, "")?;
            catalog = self.catalog()?;
        }
        if catalog.skills.iter().any(|found| found.curated) {
            return Ok(());
        }
        if let Some(found) = catalog.skills.first() {
            let script = generate::script(found, &Repository { root: self.root.to_path_buf() });
            let text = generate::prompts_csv(found.skill(), script.as_deref());
            // Rows without their schema could not run: the schema comes first.
            self.new_file(Path::new(RESPONSE_SCHEMA), generate::BUILT_IN_RESPONSE_SCHEMA, "")?;
            self.new_file(&found.evals().join(PROMPTS), &text, "")?;
        }
        Ok(())
    }

    fn harness(&mut self, folder: &Path) -> Result<(), InitError> {
        let main = if folder.as_os_str().is_empty() { HARNESS } else { HARNESS_OF_SMALL_CRATE };
        let with = "its main has to return skill_evals::harness::main()";
        self.new_file(&folder.join("tests/skill_evals.rs"), main, with)?;
        let text = stubs::current(self.root, &self.catalog()?)?;
        self.new_file(&folder.join(stubs::FILE), &text, "`skill-evals stubs` writes it anew")
    }

    fn ignore_rules(&mut self, folder: &Path) -> Result<(), InitError> {
        let path = Path::new(".gitignore");
        let old = self.read(path)?;
        let mut rules = vec![IGNORED.to_owned()];
        if !folder.as_os_str().is_empty() {
            rules.push(format!("/{}/target", folder.display()));
        }
        let has = |rule: &String| {
            let bare = |line: &str| line.trim().trim_matches('/').to_owned();
            old.iter().flat_map(|text| text.lines()).any(|line| bare(line) == bare(rule))
        };
        rules.retain(|rule| !has(rule));
        if rules.is_empty() {
            self.step(path, Done::IsThere);
            return Ok(());
        }
        let done = if old.is_some() { Done::Added(rules.join(", ")) } else { Done::Written };
        let mut text = old.unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.extend(rules.iter().flat_map(|rule| [rule.as_str(), "\n"]));
        store::write_whole(&self.root.join(path), text.as_bytes())?;
        self.step(path, done);
        Ok(())
    }

    fn catalog(&self) -> Result<Catalog, InitError> {
        let settings = load::read_file(self.root)?;
        let repository = Repository { root: self.root.to_path_buf() };
        Ok(repository.catalog(settings.skill_roots.as_deref(), Scope::All))
    }

    /// Writes a file that is not there. One that is there and says something else is left as it is, which may need
    /// something done `by_hand`.
    fn new_file(&mut self, path: &Path, text: &str, by_hand: &str) -> Result<(), InitError> {
        let done = match self.read(path)? {
            None => {
                store::write_whole(&self.root.join(path), text.as_bytes())?;
                Done::Written
            }
            Some(old) if old == text || by_hand.is_empty() => Done::IsThere,
            Some(_) => Done::LeftAlone(by_hand.to_owned()),
        };
        self.step(path, done);
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        match bounded::read_text(&self.root.join(path)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(InitError::Io { path: path.to_path_buf(), source }),
        }
    }

    fn step(&mut self, path: &Path, done: Done) {
        self.steps.push(Step { path: path.to_path_buf(), done });
    }
}

fn bad(path: &Path, why: String) -> InitError {
    InitError::Manifest { path: path.to_path_buf(), why }
}

const FIRST_SKILL: &str = "---\n\
    name: hello\n\
    description: Greets a person in the house style. Use when asked to greet or welcome somebody.\n\
    ---\n\n\
    # Hello\n\n\
    Say \"Welcome aboard, NAME!\" and nothing else.\n";

const HARNESS: &str = "//! The evals of this repository's skills, as tests: `cargo test --test skill_evals`.\n\n\
    // Shows the trials to IDEs; empty here. `skill-evals stubs` writes it anew.\n\
    include!(\"skill_evals/stubs.rs\");\n\n\
    fn main() -> ::std::process::ExitCode {\n    ::skill_evals::harness::main()\n}\n";

const HARNESS_OF_SMALL_CRATE: &str = "//! The evals of this repository's skills, as tests: `cargo test --test \
    skill_evals`.\n\n\
    // Shows the trials to IDEs; empty here. `skill-evals stubs` writes it anew.\n\
    include!(\"skill_evals/stubs.rs\");\n\n\
    fn main() -> ::std::process::ExitCode {\n    \
        ::skill_evals::harness::Harness::new().root(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/..\")).main()\n}\n";
