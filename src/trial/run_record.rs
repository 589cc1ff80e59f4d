//! What a run folder's own files hold, beside the trials: `run.json`, `progress.jsonl`, `current.json`, `runner.pid`.

use serde::{Deserialize, Serialize};

use crate::trial::evidence::Inputs;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Judged, Outcome, Status, Verdict};
use crate::trial::trouble::Trouble;

/// The number of the format of all of them.
pub const RUN_FORMAT: u32 = 1;

/// What a run was to do: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// The run's id.
    pub id: String,
    /// When it began, RFC 3339, UTC.
    pub created: String,
    /// The version of this program.
    pub version: String,
    /// How many trials it has.
    pub planned: usize,
    /// What was chosen: a resumed run takes these where nothing else is said.
    pub chosen: Chosen,
    /// The cases, skills and settings, each with its digest: a resumed run must find them as they were.
    pub inputs: Inputs,
}

/// What was chosen for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Chosen {
    /// The suite's name.
    pub suite: Option<String>,
    /// Skills by name.
    pub skills: Vec<String>,
    /// Tasks by name.
    pub tasks: Vec<String>,
    /// Cases by `id` or `skill/id`.
    pub cases: Vec<String>,
    /// At most so many skills.
    pub max_skills: Option<usize>,
    /// At most so many cases of each.
    pub max_cases: Option<usize>,
    /// Modes by name.
    pub modes: Vec<String>,
    /// The model.
    pub model: Option<String>,
    /// How often each case runs.
    pub trials: Option<u32>,
    /// Seconds for cases that name no timeout.
    pub timeout_s: Option<u64>,
    /// Whether a judge is asked, where that was said.
    pub judge: Option<bool>,
    /// How often, where that was said.
    pub judge_votes: Option<u32>,
    /// Whether recordings were replayed.
    pub replay: bool,
}

impl Chosen {
    /// Whether anything was said about which cases run.
    #[must_use]
    pub fn selects(&self) -> bool {
        self.suite.is_some()
            || !(self.skills.is_empty() && self.tasks.is_empty() && self.cases.is_empty())
            || self.max_skills.is_some()
            || self.max_cases.is_some()
    }

    /// These choices, and those of `earlier` where nothing was said. Which cases run is one choice: naming a case
    /// drops an earlier suite.
    #[must_use]
    pub fn or(self, earlier: Chosen) -> Chosen {
        let cases = if self.selects() { self.clone() } else { earlier.clone() };
        Chosen {
            modes: if self.modes.is_empty() { earlier.modes } else { self.modes },
            model: self.model.or(earlier.model),
            trials: self.trials.or(earlier.trials),
            timeout_s: self.timeout_s.or(earlier.timeout_s),
            judge: self.judge.or(earlier.judge),
            judge_votes: self.judge_votes.or(earlier.judge_votes),
            replay: self.replay || earlier.replay,
            ..cases
        }
    }
}

/// A trial that has ended: a line of `progress.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// What it came to.
    pub verdict: Verdict,
    /// Why it measured nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// The checks that failed, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<String>,
    /// Wall time of the agent in milliseconds.
    pub duration_ms: u64,
    /// Tokens read and written by the agent and its judge, where they told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars for both, where they told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How often the agent was started: more than once where the provider refused for now.
    #[serde(default = "once")]
    pub attempts: u32,
    /// Why the answers are not a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// When it ended, RFC 3339, UTC; absent where that is no longer known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

fn once() -> u32 {
    1
}

impl TrialRecord {
    /// What is noted of an outcome that took so many attempts.
    #[must_use]
    pub fn new(outcome: &Outcome, attempts: u32) -> Self {
        let grade = &outcome.grade;
        let failed = grade.checks.iter().filter(|check| check.status == Status::Fail);
        // The judge is paid too.
        let judge = match &grade.judged {
            Some(Judged::Asked { usage, .. }) => *usage,
            _ => None,
        };
        let usages = || [grade.metrics.usage, judge].into_iter().flatten();
        Self {
            id: outcome.id.clone(),
            verdict: grade.verdict,
            trouble: grade.trouble.clone(),
            failed: failed.map(|check| check.id.clone()).collect(),
            duration_ms: grade.metrics.duration_ms,
            tokens: sum(usages().map(|usage| Some(usage.total_tokens()))),
            cost_usd: sum(usages().map(|usage| usage.cost_usd)),
            attempts,
            scripted: outcome.scripted.clone(),
            ended: None,
        }
    }
}

/// The sum of what is known; nothing where nothing is.
fn sum<T: std::iter::Sum>(parts: impl Iterator<Item = Option<T>>) -> Option<T> {
    let mut known = parts.flatten().peekable();
    known.peek().is_some().then_some(())?;
    Some(known.sum())
}

/// What runs at this moment: the content of `current.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Current {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// When this was written, RFC 3339, UTC.
    pub updated: String,
    /// The trials under way, in the order in which they began.
    pub running: Vec<Running>,
}

/// A trial under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// When it began, RFC 3339, UTC.
    pub since: String,
}

/// The process that runs a run: the content of `runner.pid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// Its number.
    pub pid: i32,
    /// When it started, as its system counts: tells it from a later process of the same number. Absent where the
    /// system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
}
