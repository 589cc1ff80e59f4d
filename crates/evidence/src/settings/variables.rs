//! The variables of the environment, in one table. Command line options and keys of evals.toml use its entries too.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use super::limits::LONGEST_RETRY_WAIT;
use super::network::AllowedServer;
use super::{Calibrate, Home, Isolation, MOST_VOTES, Settings, Suite};
use crate::settings::limits::LONGEST_TIMEOUT;
use crate::settings::problems::{Number, Problems};
use crate::settings::trials::{self, A_SHARE, TRIALS};
use crate::text::diagnostic::nearest;

/// The prefix of every variable of this program.
pub const PREFIX: &str = "SKILL_EVALS_";

/// The variable that CI servers set. There, nobody would see that a case was not run.
const CI: &str = "CI";

/// The variable that marks every process of an agent's tree, so that none is lost. Agents see it: its name says nothing.
pub const TREE_VARIABLE: &str = "PROCESS_TREE";

/// The variable with which this program starts itself as the watchdog of a run.
pub const WATCHDOG_VARIABLE: &str = "SKILL_EVALS_WATCHDOG";

/// The variable with which this program starts itself as the supervisor of an agent's processes. Its value is the id of the
/// process that starts it.
pub const SUPERVISOR_VARIABLE: &str = "SKILL_EVALS_SUPERVISOR";

/// The variable with which this program starts itself as the opener of a room, before it becomes the room's program.
pub const ROOM_VARIABLE: &str = "SKILL_EVALS_ROOM";

/// The variable with which this program starts itself as a run in the background.
pub const BACKGROUND_VARIABLE: &str = "SKILL_EVALS_BACKGROUND";

/// The variable that says what `--untrusted` says.
pub const UNTRUSTED_VARIABLE: &str = "SKILL_EVALS_UNTRUSTED";

/// Variables that this program passes to its processes; users do not set them.
const INTERNAL: [&str; 4] = [WATCHDOG_VARIABLE, SUPERVISOR_VARIABLE, BACKGROUND_VARIABLE, ROOM_VARIABLE];

/// Paths and a key, which are read where they are used, as bytes.
const BYTES: [&str; 3] = ["SKILL_EVALS_ROOT", "SKILL_EVALS_HARNESS", "SKILL_EVALS_KEPT_KEY"];

/// The largest cost limit of a run, in US dollars.
const MOST_COST: f64 = 1e9;

/// The largest token limit of a run.
const MOST_TOKENS: u64 = 1_000_000_000_000;

pub struct Variable {
    /// Its name. Without [`PREFIX`], it is the name of the key in evals.toml that sets the same, if there is one.
    pub name: &'static str,
    /// The option of commands that start agents, and the placeholder for its value in help. Empty without an option, or
    /// if the record of a run keeps its value.
    pub option: &'static [(&'static str, &'static str)],
    pub about: &'static str,
    set: fn(&mut Settings, GivenValue<'_>) -> Result<(), String>,
}

/// Defines the table of variables: name, option, what it sets, and how a value is applied.
macro_rules! variables {
    ($($name:ident $($option:literal $value:literal)?: $about:literal, |$settings:pat_param, $given:pat_param| $set:expr;)*) => {
        /// All variables. docs/reference/settings.md has the same list.
        pub static VARIABLES: [Variable; [$(stringify!($name)),*].len()] = [$(Variable {
            name: concat!("SKILL_EVALS_", stringify!($name)),
            option: &[$(($option, $value))?],
            about: $about,
            set: |$settings, $given| {
                let () = $set;
                Ok(())
            },
        }),*];
    };
}

variables! {
    LIVE: "`1` runs the agents; `0`, the default, replays recordings", |to, given| to.live = given.flag()?;
    REQUIRE_RECORDINGS:
        "`1` makes a case without a recording an error in replay, `0` does not; `1` is the default if `CI` is set",
        |to, given| to.require_recordings = Some(given.flag()?);
    SUITE: "a part of each skill's cases: `smoke` (all), `explicit`, `positive` or `negative`", |to, given| {
        to.selection.suite = Some(given.word(Suite::named, &Suite::WORDS, ", ")?.to_string());
    };
    SKILL: "only these skills, comma-separated", |to, given| to.selection.skills = given.list();
    TASK: "only these tasks, by file name without `.json`, comma-separated",
        |to, given| to.selection.tasks = given.list();
    CASE: "only these cases, as `id` or `skill/id`, comma-separated", |to, given| to.selection.cases = given.list();
    TAG: "only cases with one of these tags, and with none that has a `!` before, comma-separated",
        |to, given| to.selection.tags = given.list();
    MAX_SKILLS: "maximum number of skills", |to, given| to.selection.max_skills = Some(given.size(1_000_000)?);
    MAX_CASES: "maximum number of cases of each skill",
        |to, given| to.selection.max_cases = Some(given.size(1_000_000)?);
    // An empty value sets nothing.
    MODE: "modes to run in, comma-separated", |to, given| if !given.value.is_empty() {
        to.select_modes(&given.list()).map_err(|why| format!("{}: {why}", given.name))?;
    };
    MODEL: "the model to ask the agent for", |to, given| if !given.value.is_empty() {
        to.model = Some(given.value.to_owned());
    };
    TRIALS:
        "how often to run each case: 1 to 1000, `until decided` or `until decided at most N`, whatever the case says",
        |to, given| to.repetition.asked.trials = Some(given.value.parse().map_err(|_| given.not_allowed(TRIALS))?);
    THRESHOLD: "the share of a case's trials that must pass, above 0 and up to 1, whatever the case says",
        |to, given| to.repetition.asked.threshold = Some(given.share()?);
    JOBS "jobs" "N": "how many trials run at once, 1 to 1000 [default: by cores and free memory]",
        |to, given| to.jobs = Some(given.size(1000)?);
    TIMEOUT_S: "seconds for cases that name no timeout of their own, 1 to 86400",
        |to, given| to.timeout = given.seconds()?;
    CHECK_TIMEOUT_S: "seconds for a program that checks a trial, 1 to 86400",
        |to, given| to.checks.timeout = given.seconds()?;
    JUDGE: "`1` has every trial judged by the rubric, `0` none; else each case says",
        |to, given| if !given.value.is_empty() {
            to.judge.wanted = Some(given.flag()?);
        };
    JUDGE_TIMEOUT_S "judge-timeout-s" "SECONDS": "judge timeout in seconds, 1 to 86400",
        |to, given| to.judge.timeout = given.seconds()?;
    JUDGE_VOTES: "how often each trial is judged, 1 to 99; more than half have to agree",
        |to, given| to.judge.votes = given.count(MOST_VOTES)?;
    RUN_ID: "the run's directory under `artifacts/skill-evals`", |to, GivenValue { name, value, .. }| {
        crate::text::name::check_id(value).map_err(|why| format!("{name}: the run id {value:?} {why}"))?;
        to.run_id = Some(value.to_owned());
    };
    RESUME:
        "`1` lets results stand that the run of SKILL_EVALS_RUN_ID has already; `force` also those whose case or skill has changed since",
        |to, given| (to.resume, to.force) = match given.value {
            "1" | "true" => (true, false),
            "force" => (true, true),
            "" | "0" | "false" => (false, false),
            _ => return Err(given.not_allowed("0, 1 or force")),
        };
    RECORD: "`1` makes what a live run measured the recordings, when it ends", |to, given| to.record = given.flag()?;
    MAX_COST_USD "max-cost-usd" "DOLLARS": "start no trial once the run has cost this much",
        |to, given| to.max_cost_usd = Some(given.amount(MOST_COST)?);
    MAX_TOKENS "max-tokens" "N": "start no trial once the run has used this many tokens",
        |to, given| to.max_tokens = Some(given.number(MOST_TOKENS)?);
    RETRIES: "how often a trial is started again, or its judge, that the provider refused for now, 1 to 100",
        |to, given| to.retries = given.count(100)?;
    RETRY_WAIT_S: "seconds of the first pause after a refusal; later ones double",
        |to, given| to.retry_wait = Duration::from_secs_f64(given.amount(LONGEST_RETRY_WAIT.as_secs_f64())?);
    // These two are read when the repository is opened, and when custom checks are searched.
    ROOT: "the repository's root, if it is not the one around the crate or the working directory", |_, _| ();
    HARNESS: "the harness to ask for the checks that a crate adds, where cargo is not to build it", |_, _| ();
    SCRATCH: "the directory for workspaces and homes, outside any repository",
        |to, given| to.scratch = Some(PathBuf::from(given.value)).filter(|path| !path.as_os_str().is_empty());
    ISOLATION: "`bwrap`, the default, runs agents inside bubblewrap where it works, `docker` in containers; `agent` does not",
        |to, given| if !given.value.is_empty() {
            to.isolation.kind = given.word(Isolation::named, &Isolation::WORDS, " or ")?;
        };
    HOME "home" "WHOSE": "`user` runs agents with your own settings, plugins, MCP servers and skills; `isolated`, the default, does not",
        |to, given| if !given.value.is_empty() {
            to.isolation.home = given.word(Home::named, &Home::WORDS, " or ")?;
        };
    // An empty value sets nothing.
    NETWORK "network" "WHAT": "what agents reach: `host`, `web`, `provider`, or hosts, comma-separated",
        |to, given| if !given.value.is_empty() {
            to.network.reach = Some(given.value.parse().map_err(|why| format!("{}: {why}", given.name))?);
        };
    NETWORK_ALLOW: "servers that they reach whatever that says, as `host:port`, comma-separated, also on this machine",
        |to, given| for server in given.list() {
            let AllowedServer(server) = server.parse().map_err(|why| format!("{}: {why}", given.name))?;
            to.network.allowed.push(server);
        };
    REQUIRE_ISOLATION: "`1` makes a trial whose agent cannot run inside bubblewrap an error",
        |to, given| to.isolation.required = given.flag()?;
    // An empty value sets nothing.
    ENDPOINT "endpoint" "URL": "the server that the agents ask, in place of their providers'; it gets none of your credentials",
        |to, given| if !given.value.is_empty() {
            to.endpoint = Some(given.url()?);
        };
    CALIBRATE: "`auto`, the default, calibrates agents of unknown versions before a live run; `off` none; `always` all",
        |to, given| if !given.value.is_empty() {
            to.calibrate = given.word(Calibrate::named, &Calibrate::WORDS, ", ")?;
        };
    NO_LEAD: "`1` starts trials at once, for agents without a cache; `0`, the default, starts one before those that share its prompt",
        |to, given| to.lead = !given.flag()?;
    // Read before the settings file.
    UNTRUSTED: "`1` refuses settings by which a repository reaches outside a sandbox, and requires one; `0` keeps `gate` from doing so for forks",
        |_, given| given.flag().map(drop)?;
    // Read where kept trials are.
    KEPT_KEY: "the key with which `gate` seals the trials that it keeps, for CI; else a file in your cache directory", |_, _| ();
    SCRIPTED: "says that the model is scripted, and by what; kept with the results",
        |to, given| to.scripted = Some(given.value.to_owned()).filter(|text| !text.is_empty());
}

impl Variable {
    /// Applies `value`, which was given under this name.
    pub fn apply(&self, settings: &mut Settings, name: &str, value: &str) -> Result<(), String> {
        (self.set)(settings, GivenValue { name, value, shown: &format!("{value:?}") })
    }

    fn apply_bytes(&self, settings: &mut Settings, value: &OsStr) -> Result<(), String> {
        match value.to_str() {
            Some(text) => self.apply(settings, self.name, text.trim()),
            None if BYTES.contains(&self.name) => Ok(()),
            None => Err(format!("{} is {:?}; expected UTF-8 text", self.name, value.to_string_lossy())),
        }
    }
}

impl Settings {
    /// Applies the variables that start with [`PREFIX`]. The error has a message for each that is unknown or invalid.
    pub fn apply_environment(
        &mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<(), Vec<String>> {
        let mut problems = Vec::new();
        for (name, value) in variables {
            let name = name.to_string_lossy();
            if name == CI && !matches!(value.to_string_lossy().trim(), "" | "0" | "false") {
                self.require_recordings.get_or_insert(true);
            }
            if !name.starts_with(PREFIX) || INTERNAL.contains(&&*name) {
                continue;
            }
            let known = VARIABLES.iter().find(|variable| variable.name == name).ok_or_else(|| unknown(&name));
            problems.extend(known.and_then(|variable| variable.apply_bytes(self, &value)).err());
        }
        problems.sort();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Applies a number in evals.toml whose key a variable has too.
    pub(super) fn apply_key(&mut self, key: &str, number: &Number, problems: &mut Problems<'_>) {
        let shown = number.get_ref().as_float().map_or_else(|| number.get_ref().to_string(), |float| float.to_string());
        // A string is not a number, whatever its content.
        let value = if number.get_ref().is_integer() || number.get_ref().is_float() { shown.as_str() } else { "" };
        let name = key.replace('.', "_");
        let variable = VARIABLES.iter().find(|variable| variable.name[PREFIX.len()..].eq_ignore_ascii_case(&name));
        let given = GivenValue { name: &format!("`{key}`"), value, shown: &shown };
        if let Some(Err(why)) = variable.map(|variable| (variable.set)(self, given)) {
            problems.add(number.span(), why);
        }
    }
}

/// What the address of a server looks like.
pub(super) const A_URL: &str = "an address as http://127.0.0.1:8080";

/// Whether this is the address of a server.
pub(super) fn is_url(text: &str) -> bool {
    let host = ["http://", "https://"].iter().find_map(|start| text.strip_prefix(start));
    host.is_some_and(|host| !host.is_empty())
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"')
}

fn unknown(name: &str) -> String {
    let known = VARIABLES.iter().map(|variable| variable.name).collect::<Vec<_>>();
    let near = nearest(name, known.iter().copied()).map_or_else(String::new, |near| format!("did you mean {near}? "));
    format!("unknown variable {name}; {near}known: {}", known.join(", "))
}

#[derive(Clone, Copy)]
struct GivenValue<'a> {
    /// The variable, key or option.
    name: &'a str,
    value: &'a str,
    /// The value as messages quote it.
    shown: &'a str,
}

impl GivenValue<'_> {
    fn not_allowed(self, expected: &str) -> String {
        format!("{} is {}; expected {expected}", self.name, self.shown)
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

    fn count(self, most: u32) -> Result<u32, String> {
        self.number(u64::from(most)).map(|number| u32::try_from(number).unwrap_or(most))
    }

    fn seconds(self) -> Result<Duration, String> {
        self.number(LONGEST_TIMEOUT.as_secs()).map(Duration::from_secs)
    }

    /// A number above 0.
    fn amount(self, most: f64) -> Result<f64, String> {
        let amount =
            self.value.trim_start_matches('$').parse::<f64>().ok().filter(|amount| *amount > 0.0 && *amount <= most);
        amount.ok_or_else(|| self.not_allowed(&format!("above 0 and up to {most}")))
    }

    fn url(self) -> Result<String, String> {
        is_url(self.value).then(|| self.value.to_owned()).ok_or_else(|| self.not_allowed(A_URL))
    }

    fn share(self) -> Result<f64, String> {
        self.value.parse().ok().and_then(trials::threshold).ok_or_else(|| self.not_allowed(A_SHARE))
    }

    fn flag(self) -> Result<bool, String> {
        match self.value {
            "1" | "true" => Ok(true),
            "" | "0" | "false" => Ok(false),
            _ => Err(self.not_allowed("0 or 1")),
        }
    }

    fn word<T>(self, named: fn(&str) -> Option<T>, words: &[&str], between: &str) -> Result<T, String> {
        named(self.value).ok_or_else(|| self.not_allowed(&words.join(between)))
    }

    fn list(self) -> Vec<String> {
        self.value.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }
}
