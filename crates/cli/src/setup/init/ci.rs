//! The files of a CI service: lint and replay for every change, the gate with its comment where the key may be, a nightly run.

use std::path::Path;

use serde_json::Value;

use super::files::InitFiles;
use super::manifest::CrateSource;
use super::relative::relative;
use super::{InitError, InitMode, InitStep};
use crate::files::look;
use crate::text::escape;
use crate::text::word_enum::word_enum;

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

/// Adds the files of `service` to the repository in `folder`, an absolute path. They install the program from `source`.
pub fn init_ci(folder: &Path, service: CiService, source: &CrateSource) -> Result<Vec<InitStep>, InitError> {
    if !look::is_usable(&folder.join(".git")) {
        return Err(InitError::NoGitRoot(folder.to_path_buf()));
    }
    let (install, parts) = install(folder, source)?;
    let mut files = InitFiles::new(folder, InitMode::Write);
    for (path, text, by_hand) in service.files() {
        let text = with_source(&in_shards(text, SHARDS, OPTIONS), &install, &parts);
        files.new_file(&folder.join(path), &text, by_hand)?;
    }
    Ok(files.steps)
}

/// The workflow of a nightly run in this many shards, with these options of `run`: empty, or with a space before each.
pub fn github_nightly(folder: &Path, source: &CrateSource, shards: u32, options: &str) -> Result<String, InitError> {
    let (install, parts) = install(folder, source)?;
    Ok(with_source(&in_shards(NIGHTLY, shards, options), &install, &parts))
}

fn with_source(text: &str, install: &str, parts: &str) -> String {
    text.replace("@SOURCE@", install).replace("@FILES@", &format!("'.github/workflows/skill-evals*.yml'{parts}"))
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
        CrateSource::Release => Ok((concat!("skill-evals-cli@", env!("CARGO_PKG_VERSION")).to_owned(), String::new())),
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
