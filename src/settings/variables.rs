//! The variables of the environment: one table says which there are and what each chooses.

use std::path::PathBuf;
use std::time::Duration;

use super::{INTERNAL, Isolation, LONGEST_RETRY_WAIT, MOST_COST, MOST_TOKENS, MOST_VOTES, Settings, Suite};
use crate::cases::case::LONGEST_TIMEOUT;
use crate::cases::case::repetition::{self, A_SHARE, TRIALS};
use crate::text::diagnostic::nearest;

/// The prefix of every variable of this program.
pub const PREFIX: &str = "SKILL_EVALS_";

/// The variables that are read, and what they choose. The list in docs/settings.md is this one.
pub const VARIABLES: [(&str, &str); 29] = [
    ("SKILL_EVALS_LIVE", "`1` runs the agents; `0`, the default, replays recordings"),
    ("SKILL_EVALS_SUITE", "a part of each skill's cases: `smoke` (all), `explicit`, `positive` or `negative`"),
    ("SKILL_EVALS_SKILL", "only these skills, comma-separated"),
    ("SKILL_EVALS_TASK", "only these tasks, by file name without `.json`, comma-separated"),
    ("SKILL_EVALS_CASE", "only these cases, as `id` or `skill/id`, comma-separated"),
    ("SKILL_EVALS_MAX_SKILLS", "at most so many skills"),
    ("SKILL_EVALS_MAX_CASES", "at most so many cases of each skill"),
    ("SKILL_EVALS_MODE", "modes to run in, comma-separated"),
    ("SKILL_EVALS_MODEL", "the model to ask the agent for"),
    (
        "SKILL_EVALS_TRIALS",
        "how often to run each case: 1 to 1000, `until decided` or `until decided at most N`, whatever the case says",
    ),
    (
        "SKILL_EVALS_THRESHOLD",
        "the share of a case's trials that must pass, above 0 and up to 1, whatever the case says",
    ),
    ("SKILL_EVALS_JOBS", "how many trials run at once, 1 to 1000"),
    ("SKILL_EVALS_TIMEOUT_S", "seconds for cases that name no timeout of their own, 1 to 86400"),
    ("SKILL_EVALS_JUDGE", "`1` has every trial judged by the rubric, `0` none; else each case says"),
    ("SKILL_EVALS_JUDGE_TIMEOUT_S", "how many seconds one judging may take, 1 to 86400"),
    ("SKILL_EVALS_JUDGE_VOTES", "how often each trial is judged, 1 to 99; more than half have to agree"),
    ("SKILL_EVALS_RUN_ID", "the run's folder below `artifacts/skill-evals`"),
    (
        "SKILL_EVALS_RESUME",
        "`1` lets results stand that the run of SKILL_EVALS_RUN_ID has already; `force` also those whose case or skill has changed since",
    ),
    ("SKILL_EVALS_RECORD", "`1` makes what a live run measured the recordings, when it ends"),
    ("SKILL_EVALS_MAX_COST_USD", "no trial starts once the run is known to have cost this much"),
    ("SKILL_EVALS_MAX_TOKENS", "no trial starts once the run is known to have taken this many tokens"),
    (
        "SKILL_EVALS_RETRIES",
        "how often a trial is started again, or its judge, that the provider refused for now, 1 to 100",
    ),
    ("SKILL_EVALS_RETRY_WAIT_S", "seconds of the first pause after a refusal; later ones double"),
    ("SKILL_EVALS_ROOT", "the repository's root, where it is not the one around the crate or the working folder"),
    ("SKILL_EVALS_HARNESS", "the harness to ask for the checks that a crate adds, where cargo is not to build it"),
    ("SKILL_EVALS_SCRATCH", "the folder for workspaces and homes, outside any repository"),
    ("SKILL_EVALS_ISOLATION", "`bwrap`, the default, runs agents inside bubblewrap where it works; `agent` does not"),
    ("SKILL_EVALS_REQUIRE_ISOLATION", "`1` makes a trial whose agent cannot run inside bubblewrap an error"),
    ("SKILL_EVALS_SCRIPTED", "says that the model is scripted, and by what; kept with the results"),
];

impl Settings {
    /// Applies the variables that start with [`PREFIX`]; others are passed over.
    ///
    /// # Errors
    /// A message for every variable that is unknown or has a value that is not allowed.
    pub fn apply_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        for (name, value) in variables {
            if !name.starts_with(PREFIX) || INTERNAL.contains(&name.as_str()) {
                continue;
            }
            if let Err(why) = self.apply_variable(&name, value.trim()) {
                problems.push(why);
            }
        }
        problems.sort();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    fn apply_variable(&mut self, name: &str, value: &str) -> Result<(), String> {
        let given = Given { name, value };
        match name.strip_prefix(PREFIX).unwrap_or_default() {
            "LIVE" => self.live = given.flag()?,
            "SUITE" => {
                let suite = Suite::named(value).ok_or_else(|| given.not_allowed(&Suite::NAMES.join(", ")))?;
                self.selection.suite = suite;
            }
            "SKILL" => self.selection.skills = given.list(),
            "TASK" => self.selection.tasks = given.list(),
            "CASE" => self.selection.cases = given.list(),
            "MAX_SKILLS" => self.selection.max_skills = Some(given.size(1_000_000)?),
            "MAX_CASES" => self.selection.max_cases = Some(given.size(1_000_000)?),
            // As everywhere, nothing chooses nothing.
            "MODE" | "ISOLATION" if value.is_empty() => {}
            "MODE" => self.select_modes(&given.list()).map_err(|why| format!("{name}: {why}"))?,
            "MODEL" => self.model = Some(value.to_owned()).filter(|model| !model.is_empty()).or(self.model.take()),
            "TRIALS" => self.repetition.asked.trials = Some(value.parse().map_err(|_| given.not_allowed(TRIALS))?),
            "THRESHOLD" => self.repetition.asked.threshold = Some(given.share()?),
            "JOBS" => self.jobs = given.size(1000)?,
            "TIMEOUT_S" => self.timeout = Duration::from_secs(given.number(LONGEST_TIMEOUT.as_secs())?),
            "JUDGE" => self.judge.apply_wanted(value).map_err(|expected| given.not_allowed(expected))?,
            "JUDGE_TIMEOUT_S" => self.judge.timeout = Duration::from_secs(given.number(LONGEST_TIMEOUT.as_secs())?),
            "JUDGE_VOTES" => self.judge.votes = u32::try_from(given.number(u64::from(MOST_VOTES))?).unwrap_or(1),
            "RUN_ID" => {
                crate::cases::name::check_id(value).map_err(|why| format!("{name}: the run id {value:?} {why}"))?;
                self.run_id = Some(value.to_owned());
            }
            "RESUME" => {
                (self.resume, self.force) = match value {
                    "1" | "true" => (true, false),
                    "force" => (true, true),
                    "" | "0" | "false" => (false, false),
                    _ => return Err(given.not_allowed("0, 1 or force")),
                };
            }
            "RECORD" => self.record = given.flag()?,
            "MAX_COST_USD" => self.max_cost_usd = Some(given.amount(MOST_COST)?),
            "MAX_TOKENS" => self.max_tokens = Some(given.number(MOST_TOKENS)?),
            "RETRIES" => self.retries = u32::try_from(given.number(100)?).unwrap_or(1),
            "RETRY_WAIT_S" => {
                self.retry_wait = Duration::from_secs_f64(given.amount(LONGEST_RETRY_WAIT.as_secs_f64())?);
            }
            // Read where the repository is opened, and where checks are looked for.
            "ROOT" | "HARNESS" => {}
            "SCRATCH" => self.scratch = Some(PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty()),
            "ISOLATION" => {
                self.isolation.kind = Isolation::named(value).ok_or_else(|| given.not_allowed("bwrap or agent"))?;
            }
            "REQUIRE_ISOLATION" => {
                self.isolation.required = given.flag()?;
            }
            "SCRIPTED" => self.scripted = Some(value.to_owned()).filter(|text| !text.is_empty()),
            _ => {
                let known = VARIABLES.map(|(name, _)| name);
                let near = nearest(name, known).map_or_else(String::new, |near| format!("did you mean {near}? "));
                return Err(format!("{name} is no variable of skill-evals; {near}known: {}", known.join(", ")));
            }
        }
        Ok(())
    }
}

/// A variable as it was given.
#[derive(Clone, Copy)]
struct Given<'a> {
    name: &'a str,
    value: &'a str,
}

impl Given<'_> {
    fn not_allowed(self, expected: &str) -> String {
        format!("{} is {:?}; expected {expected}", self.name, self.value)
    }

    /// A whole number from 1.
    fn number(self, most: u64) -> Result<u64, String> {
        let digits = !self.value.is_empty() && self.value.bytes().all(|b| b.is_ascii_digit());
        let number = digits.then(|| self.value.parse::<u64>().ok()).flatten();
        number.filter(|number| (1..=most).contains(number)).ok_or_else(|| self.not_allowed(&format!("1 to {most}")))
    }

    fn size(self, most: u64) -> Result<usize, String> {
        self.number(most).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
    }

    /// A number above 0.
    fn amount(self, most: f64) -> Result<f64, String> {
        let amount = self.value.parse::<f64>().ok().filter(|amount| *amount > 0.0 && *amount <= most);
        amount.ok_or_else(|| self.not_allowed(&format!("above 0 and up to {most}")))
    }

    fn share(self) -> Result<f64, String> {
        self.value.parse().ok().and_then(repetition::threshold).ok_or_else(|| self.not_allowed(A_SHARE))
    }

    fn flag(self) -> Result<bool, String> {
        match self.value {
            "1" | "true" => Ok(true),
            "" | "0" | "false" => Ok(false),
            _ => Err(self.not_allowed("0 or 1")),
        }
    }

    fn list(self) -> Vec<String> {
        self.value.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }
}
