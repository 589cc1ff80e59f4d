//! Jobs of an engine that run a run in shards and merge them, as text.

use std::path::Path;

use serde_json::json;

use crate::settings::mode::AgentKind;
use crate::setup::init::github_nightly;
use crate::setup::init::{CrateSource, InitError};
use crate::text::escape;
use crate::text::problem::Problem;
use crate::text::word_enum::word_enum;

word_enum! {
    pub enum ClusterEngine {
        /// Slurm: an array job.
        Slurm = "slurm",
        /// GitHub Actions: a matrix.
        GitHub = "github",
        /// Kubernetes: an Indexed Job.
        Kubernetes = "kubernetes",
    }
}

/// The longest id of a run in Kubernetes: names of jobs have 63 characters, and `-merge` follows.
const LONGEST_NAME: usize = 57;

/// The id of a run whose script is submitted more than once.
const RUN_OF_SLURM: &str = r#""${SKILL_EVALS_RUN_ID:-slurm-$(date -u +%Y%m%d-%H%M%S)}""#;

pub struct ShardedRun<'a> {
    /// The repository.
    pub root: &'a Path,
    pub shards: u32,
    /// The id of the run; absent if the jobs choose it when they start.
    pub run_id: Option<&'a str>,
    /// Further options of `run`.
    pub options: &'a [String],
}

impl ShardedRun<'_> {
    /// A script that submits an array job and the merge job.
    pub fn slurm(&self) -> String {
        let root = escape::word(&self.root.display().to_string());
        include_str!("slurm.sh")
            .replace("@SHARDS@", &self.shards.to_string())
            .replace("@RUN@", self.run_id.unwrap_or(RUN_OF_SLURM))
            .replace("@ROOT@", &root)
            .replace("@OPTIONS@", &self.shell_options())
    }

    /// The nightly workflow of these agents.
    pub fn github(&self, source: &CrateSource, agents: &[AgentKind]) -> Result<String, InitError> {
        github_nightly(self.root, source, agents, self.shards, &self.shell_options())
    }

    /// An Indexed Job and the merge job. `now` is the id of a run that has none.
    pub fn kubernetes(&self, now: &str) -> Result<String, Problem> {
        let run = self.run_id.unwrap_or(now);
        let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if !run.bytes().all(is_plain) || run.ends_with('-') || run.len() > LONGEST_NAME {
            return Err(format!(
                "the run id `{run}` names a job of Kubernetes: use at most {LONGEST_NAME} lowercase letters, digits and `-`"
            ).into());
        }
        let shards = self.shards.to_string();
        let command = ["skill-evals", "run", "--resume", "--run-id", run, "--shard", "auto", "--shards", &shards];
        let command = command.into_iter().chain(self.options.iter().map(String::as_str));
        // Kubernetes puts variables in the place of `$(NAME)`, and `$` in that of `$$`.
        let command: Vec<String> = command.map(|word| word.replace('$', "$$")).collect();
        let text = include_str!("kubernetes.yml").replace("@SHARDS@", &shards).replace("@RUN@", run);
        Ok(text.replace("@COMMAND@", &json!(command).to_string()))
    }

    /// The options for a shell, each with a space before it.
    fn shell_options(&self) -> String {
        self.options.iter().map(|option| format!(" {}", escape::word(option))).collect::<Vec<_>>().concat()
    }
}
