//! The history of a case as a rollout, which `codex exec resume` continues.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::evidence::SESSIONS;
use crate::agent::assignment::Assignment;
use crate::agent::command::common_environment;
use crate::agent::history;
use crate::agent::isolation::SandboxedProgram;
use crate::agent::trial_env::TrialEnv;
use crate::files::bounded;
use crate::process::{self, Job};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::history::{HistoryMessage, Speaker};

/// How long codex may take to print its version.
const PATIENCE: Duration = Duration::from_secs(20);

/// Writes the rollout into the home. `version` is codex's, which does not write it into a session that it resumes. Returns the
/// session's id.
pub(super) fn write(trial_env: &TrialEnv, messages: &[HistoryMessage], version: &str) -> Result<String, Trouble> {
    let id = trial_env.session_id().to_owned();
    let name = format!("1970/01/01/rollout-1970-01-01T00-00-00-{id}.jsonl");
    let now = jiff::Timestamp::now().to_string();
    let first = json!({
        "timestamp": now,
        "type": "session_meta",
        "payload": {
            "id": id, "timestamp": now, "cwd": trial_env.workspace().to_string(), "originator": "skill-evals",
            "cli_version": version,
        },
    });
    history::write(&trial_env.home().join(SESSIONS).join(name), &format!("{first}\n"), messages.iter().map(line))?;
    Ok(id)
}

fn line(message: &HistoryMessage) -> Value {
    let kind = match message.role {
        Speaker::User => "input_text",
        Speaker::Assistant => "output_text",
    };
    let content = json!([{ "type": kind, "text": message.content }]);
    json!({ "type": "response_item", "payload": { "type": "message", "role": message.role, "content": content } })
}

/// The version that `codex --version` prints: the last word. Empty if it prints none. It runs where trials run, without a login.
pub(super) fn version(program: &Path, assignment: &Assignment<'_>) -> Result<String, Trouble> {
    let Assignment { root, trial_env, settings, redactor, .. } = *assignment;
    let env = common_environment(trial_env);
    let sandboxed = SandboxedProgram { program, env: &env, reads: &[], server: None, root, trial_env, settings };
    let (place, _) = sandboxed.place().map_err(|why| Trouble::new(TroubleKind::CouldNotStart, why))?;
    let [stdout, stderr] = ["version", "version-stderr"].map(|name| trial_env.control().join(name));
    let job = Job {
        start: place.start(program, vec!["--version".into()]),
        env,
        folder: trial_env.start_directory(),
        timeout: PATIENCE,
        cpu_wait: None,
        stdout: stdout.clone(),
        appends: false,
        by_file: None,
        input: None,
        stderr,
        redactor,
        works_on: false,
        settled: None,
    };
    let printed = process::run(&job, &mut ()).and_then(|_| bounded::read_text(&stdout)).unwrap_or_default();
    Ok(printed.split_whitespace().last().unwrap_or_default().to_owned())
}
