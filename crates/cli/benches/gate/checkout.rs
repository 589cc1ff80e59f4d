//! Checkouts of the remote, in which gates run.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::agent::{DRAWS, PERFECT, SEED};
use super::pull_requests::{CASES, Change, git, publish, write, write_skills};
use super::table::{GateRun, TrialRun};
use super::{AGENT, program};

const SETTINGS: &str = "isolation = \"agent\"\ntrial_end = \"STOP\"\n\n[prices.codex]\ninput = 1.25\ncached_input = 0.125\noutput = 10.0\n";

/// A checkout with an agent, a home and a scratch directory of its own.
pub struct Checkout {
    folder: PathBuf,
}

impl Checkout {
    /// The first one, with every case recorded as passed. Every second skill has five cases, the others four.
    pub fn first(folder: PathBuf, stop: &str) -> Self {
        let four: Vec<&str> = CASES.into_iter().filter(|id| *id != "implicit-2").collect();
        let checkout = Self::new(folder);
        write_skills(&checkout.root(), |at| if at % 2 == 0 { &CASES } else { &four });
        write(&checkout.root(), "evals/evals.toml", &SETTINGS.replace("STOP", stop));
        fs::write(checkout.folder.join("state").join(SEED), PERFECT).expect("a seed");
        let ran = checkout.program(&["run", "--record", "--trial-end", "end", "--quiet"]);
        assert_eq!(ran.status.code(), Some(0), "{}", text(&ran));
        checkout
    }

    /// A bare remote with a branch for each change.
    pub fn publish(&self) -> PathBuf {
        publish(&self.root(), &self.folder, &Change::ALL)
    }

    /// A clone of the remote, as a CI job makes one.
    pub fn clone_of(remote: &Path, folder: PathBuf) -> Self {
        let checkout = Self::new(folder);
        let [remote, root] = [remote, &checkout.root()].map(|path| path.display().to_string());
        git(&checkout.folder, &["clone", "--quiet", &remote, &root]);
        checkout
    }

    fn new(folder: PathBuf) -> Self {
        for name in ["bin", "state", "scratch", "home"] {
            fs::create_dir_all(folder.join(name)).expect("a directory");
        }
        let agent = folder.join("bin/codex");
        let (program, state) = (program(), folder.join("state"));
        let script = format!("#!/bin/sh\nexec '{}' {AGENT} '{}' \"$@\"\n", program.display(), state.display());
        fs::write(&agent, script).expect("a script");
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).expect("permissions");
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.join("repository")
    }

    /// Runs the gate on the branch of a change once for each of `bases`: as the first one ever, and with the base's trials that
    /// the one before kept.
    pub fn gates(&self, change: Change, plan: &str, bases: &[&str], seed: usize) -> Vec<GateRun> {
        git(&self.root(), &["checkout", "--quiet", change.branch()]);
        let _ = fs::remove_dir_all(self.root().join("artifacts"));
        let seed = |base: &str| format!("{plan} {} {seed} {base}", change.branch());
        let gate = |base: &&str| {
            // A gate of the same contents would have the answer of the one before.
            let _ = fs::remove_dir_all(self.root().join("artifacts/skill-evals/kept/comparisons"));
            self.gate(change, plan, &seed(base), base)
        };
        bases.iter().map(gate).collect()
    }

    fn gate(&self, change: Change, plan: &str, seed: &str, id: &str) -> GateRun {
        let state = self.folder.join("state");
        fs::write(state.join(SEED), seed).expect("a seed");
        let _ = fs::remove_dir_all(state.join(DRAWS));
        fs::create_dir(state.join(DRAWS)).expect("a directory");
        let id = &format!("base-{id}");
        let ran = self.program(&["gate", "--plan", plan, "--quiet", "--run-id", id]);
        let run = self.root().join("artifacts/skill-evals").join(id);
        let comparison =
            fs::read(run.join("comparison.json")).unwrap_or_else(|error| panic!("{change:?}: {error}\n{}", text(&ran)));
        let comparison: Value = serde_json::from_slice(&comparison).expect("JSON");
        let progress = fs::read_to_string(run.join("progress.jsonl")).expect("trials");
        let trials = progress.lines().filter_map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let trial = TrialRun {
                tokens: line["tokens"].as_u64().unwrap_or_default(),
                milliseconds: line["duration_ms"].as_u64().unwrap_or_default(),
                cost: line["cost_usd"].as_f64().unwrap_or_default(),
                ended_early: line["settled"] == true,
            };
            // A kept trial was paid for by the gate before.
            (!line["verdict"].is_null() && line["kept"].is_null()).then_some(trial)
        });
        let results = comparison["comparison"]["results"].as_array().expect("results");
        GateRun {
            exit: ran.status.code().unwrap_or(-1),
            results: results.iter().filter_map(|result| Some(result.as_str()?.to_owned())).collect(),
            trials: trials.collect(),
        }
    }

    fn program(&self, args: &[&str]) -> Output {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.folder.join("bin")).chain(std::env::split_paths(&path));
        Command::new(env!("CARGO_BIN_EXE_skill-evals"))
            .args(args)
            .current_dir(self.root())
            .env("PATH", std::env::join_paths(folders).expect("a PATH"))
            .env("HOME", self.folder.join("home"))
            .env("SKILL_EVALS_SCRATCH", self.folder.join("scratch"))
            .env("OPENAI_API_KEY", "of-a-stand-in")
            .env("SKILL_EVALS_SCRIPTED", "stand-in agent")
            .env_remove("CODEX_HOME")
            .env_remove("CI")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    }
}

fn text(ran: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))
}
