//! What can be chosen: built in, then `evals/evals.toml`, then the environment, then the command line.

mod choice;
mod isolation;
mod judge;
mod lint;
pub mod load;
pub mod mode;
mod plain;
mod prices;
mod repetition;
pub mod selection;
mod server;
mod variables;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::cases::case::{Case, LONGEST_TIMEOUT, MOST_TURNS};
use crate::settings::mode::{AgentKind, Delivery, Mode, Offer};
use crate::text::diagnostic::{Code, Diagnostic, Place};
use crate::text::relative_path::RelativePath;

pub use choice::{Selection, Suite};
pub use isolation::{Isolation, IsolationSettings};
pub use judge::{DEFAULT_JUDGE_TIMEOUT, JudgeSettings, MOST_VOTES};
pub use lint::LintSettings;
pub use prices::{Price, Prices};
pub use repetition::{InForce, RepetitionSettings};
pub use server::{BuiltIn, McpSettings, OwnServer, SkillResult, ToolNames, Wording};
pub use variables::{PREFIX, VARIABLES};

/// The settings file, from the repository's root.
pub const FILE: &str = "evals/evals.toml";

/// What stands for the repository's root in variables and arguments of the settings file.
pub const ROOT: &str = "{root}";

/// Trials under way at once where nothing else is said: agents wait more than they work.
pub const DEFAULT_JOBS: usize = 8;

/// The variable that marks every process of an agent's tree, so that none is lost.
pub const TREE_VARIABLE: &str = "SKILL_EVALS_TREE";

/// Variables that this program passes to processes, not chosen by users.
pub(crate) const INTERNAL: [&str; 4] = [TREE_VARIABLE, WATCHDOG_VARIABLE, KEEPER_VARIABLE, BACKGROUND_VARIABLE];

/// The variable with which this program starts itself as the watchdog of a run.
pub const WATCHDOG_VARIABLE: &str = "SKILL_EVALS_WATCHDOG";

/// The variable with which this program starts itself as the keeper of an agent's processes. Its value is the number of
/// the process that starts it.
pub const KEEPER_VARIABLE: &str = "SKILL_EVALS_KEEPER";

/// The variable with which this program starts itself as a run in the background.
pub const BACKGROUND_VARIABLE: &str = "SKILL_EVALS_BACKGROUND";

/// How often a trial is started again that the provider refused, where nothing else is said.
pub const DEFAULT_RETRIES: u32 = 6;

/// The first pause after a refusal, where nothing else is said; later ones double.
pub const DEFAULT_RETRY_WAIT: Duration = Duration::from_secs(5);

/// The longest pause after a refusal.
pub const LONGEST_RETRY_WAIT: Duration = Duration::from_secs(300);

/// Most that a run may be limited to, in US dollars.
const MOST_COST: f64 = 1e9;

/// Most tokens that a run may be limited to.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// All that can be chosen.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "settings as users give them")]
pub struct Settings {
    /// Where skills are, from the repository's root; `None` for the default places.
    pub skill_roots: Option<Vec<RelativePath>>,
    /// The modes that exist: built-in ones and the file's own.
    pub modes: Vec<Arc<Mode>>,
    /// The names of the modes asked for; `None` for the default ones.
    pub selected_modes: Option<Vec<String>>,
    /// Whether agents run, rather than recordings being replayed.
    pub live: bool,
    /// The model to ask the agents for, whatever the mode says.
    pub model: Option<String>,
    /// How often cases run, and which share of their trials must pass.
    pub repetition: RepetitionSettings,
    /// Trials under way at once.
    pub jobs: usize,
    /// For cases that name no timeout of their own.
    pub timeout: Duration,
    /// For cases that name no limit on turns of their own; `None` for no limit.
    pub max_turns: Option<u64>,
    /// The repository's root, where it is known.
    pub root: Option<PathBuf>,
    /// Folders that are made in every workspace before the agent starts.
    pub create: Vec<RelativePath>,
    /// Added to the agents' environment; `{workspace}` stands for the trial's workspace, `{root}` for the repository's
    /// root.
    pub env: BTreeMap<String, String>,
    /// Variables of the user's environment that agents may see, beside the built-in ones.
    pub pass_env: Vec<String>,
    /// Variables whose values are masked in what is kept, beside those whose names say that they are secret.
    pub secret_env: Vec<String>,
    /// How each agent is started, where that is not the default.
    pub agents: BTreeMap<String, AgentSettings>,
    /// The MCP server of skills.
    pub mcp: McpSettings,
    /// What keeps agents to their own folders.
    pub isolation: IsolationSettings,
    /// Who judges by the rubric, and when.
    pub judge: JudgeSettings,
    /// How bad problems are that the lint finds.
    pub lint: LintSettings,
    /// Which cases are wanted.
    pub selection: Selection,
    /// The run's id, where one is given.
    pub run_id: Option<String>,
    /// Whether results that the run has already stand, rather than being measured anew.
    pub resume: bool,
    /// Whether they stand although what decides them has changed.
    pub force: bool,
    /// Whether what was measured becomes the recordings when the run ends.
    pub record: bool,
    /// No trial starts once the run is known to have cost this much, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// No trial starts once the run is known to have taken this many tokens.
    pub max_tokens: Option<u64>,
    /// What tokens cost where an agent does not say.
    pub prices: Prices,
    /// How often a trial is started again, or its judge, that the provider refused for now.
    pub retries: u32,
    /// The first pause after a refusal; later ones double.
    pub retry_wait: Duration,
    /// The folder for workspaces and homes, where one is given.
    pub scratch: Option<PathBuf>,
    /// Why answers are not a model's own.
    pub scripted: Option<String>,
}

/// How an agent is started.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSettings {
    /// The program, looked up on the PATH.
    pub command: Option<String>,
    /// Arguments before the prompt, after our own.
    #[serde(default)]
    pub args: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            skill_roots: None,
            modes: Mode::built_in().into_iter().map(Arc::new).collect(),
            selected_modes: None,
            live: false,
            model: None,
            repetition: RepetitionSettings::default(),
            jobs: DEFAULT_JOBS,
            timeout: crate::cases::case::DEFAULT_TIMEOUT,
            max_turns: None,
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            secret_env: Vec::new(),
            agents: BTreeMap::new(),
            mcp: McpSettings::default(),
            isolation: IsolationSettings::default(),
            root: None,
            create: Vec::new(),
            judge: JudgeSettings::default(),
            lint: LintSettings::default(),
            selection: Selection::default(),
            run_id: None,
            resume: false,
            force: false,
            record: false,
            max_cost_usd: None,
            max_tokens: None,
            prices: Prices::default(),
            retries: DEFAULT_RETRIES,
            retry_wait: DEFAULT_RETRY_WAIT,
            scratch: None,
            scripted: None,
        }
    }
}

/// `evals.toml` as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    skill_roots: Option<Vec<toml::Spanned<String>>>,
    modes: Option<Vec<toml::Spanned<String>>>,
    model: Option<String>,
    trials: Option<toml::Spanned<toml::Value>>,
    threshold: Option<toml::Spanned<toml::Value>>,
    #[serde(default)]
    skills: BTreeMap<toml::Spanned<String>, repetition::SkillTable>,
    jobs: Option<toml::Spanned<i64>>,
    timeout_s: Option<toml::Spanned<i64>>,
    max_turns: Option<toml::Spanned<i64>>,
    retries: Option<toml::Spanned<i64>>,
    retry_wait_s: Option<toml::Spanned<f64>>,
    max_cost_usd: Option<toml::Spanned<f64>>,
    max_tokens: Option<toml::Spanned<i64>>,
    #[serde(default)]
    prices: BTreeMap<String, prices::PriceTable>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    pass_env: Vec<String>,
    #[serde(default)]
    secret_env: Vec<String>,
    #[serde(default)]
    agents: BTreeMap<toml::Spanned<String>, AgentSettings>,
    #[serde(default)]
    mode: BTreeMap<toml::Spanned<String>, OwnMode>,
    judge: Option<judge::JudgeTable>,
    lint: Option<lint::LintTable>,
    mcp: Option<toml::Spanned<server::McpTable>>,
    isolation: Option<Isolation>,
    require_isolation: Option<bool>,
    /// The older name of `require_isolation`.
    require_sandbox: Option<bool>,
    #[serde(default)]
    isolation_read: Vec<toml::Spanned<String>>,
    create: Option<Vec<toml::Spanned<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnMode {
    agent: AgentKind,
    delivery: Delivery,
    model: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    offer: Offer,
}

impl Settings {
    /// Applies the text of `evals.toml`.
    ///
    /// # Errors
    /// Every wrong value, each at its place; of syntax errors and wrong keys the first.
    pub fn apply_file(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let place = |range: std::ops::Range<usize>| Place::in_text(FILE, text.as_bytes(), range);
        let file: File = toml::from_str(text).map_err(|error| {
            let range = error.span().unwrap_or(0..0);
            vec![Diagnostic::new(Code::Config, place(range), plain::message(error.message()))]
        })?;
        let mut problems = Vec::new();
        let mut wrong = |range, message: String| problems.push(Diagnostic::new(Code::Config, place(range), message));
        self.apply_modes(file.mode, file.modes, &mut wrong);
        self.apply_create(file.create.unwrap_or_default(), &mut wrong);
        if let Some(roots) = file.skill_roots {
            self.apply_skill_roots(roots, &mut wrong);
        }
        let mut number = |value: Option<toml::Spanned<i64>>, name: &str, most: u64| {
            let value = value?;
            let read = u64::try_from(*value.get_ref()).ok().filter(|number| (1..=most).contains(number));
            if read.is_none() {
                wrong(value.span(), format!("`{name}` is {}; expected 1 to {most}", value.get_ref()));
            }
            read
        };
        let jobs = number(file.jobs, "jobs", 1000);
        let timeout = number(file.timeout_s, "timeout_s", LONGEST_TIMEOUT.as_secs());
        self.max_turns = number(file.max_turns, "max_turns", MOST_TURNS).or(self.max_turns);
        self.max_tokens = number(file.max_tokens, "max_tokens", MOST_TOKENS).or(self.max_tokens);
        self.jobs = jobs.and_then(|jobs| usize::try_from(jobs).ok()).unwrap_or(self.jobs);
        self.timeout = timeout.map_or(self.timeout, Duration::from_secs);
        self.apply_limits(file.retries.as_ref(), file.retry_wait_s.as_ref(), file.max_cost_usd.as_ref(), &mut wrong);
        self.repetition.apply(file.trials.as_ref(), file.threshold.as_ref(), &mut wrong);
        self.repetition.apply_skills(file.skills, place, &mut wrong);
        self.apply_agents(file.agents, &mut wrong);
        for (name, price) in file.prices {
            self.prices.0.insert(name, price.read(&mut wrong));
        }
        if let Some(table) = file.judge {
            self.judge.apply(table, &mut wrong);
        }
        if let Some(table) = file.lint {
            self.lint.apply(table, &mut wrong);
        }
        if let Some(table) = file.mcp {
            let place = table.span();
            self.mcp = table.into_inner().read(place, &mut wrong);
        }
        let required = file.require_isolation.or(file.require_sandbox);
        self.isolation.apply(file.isolation, required, file.isolation_read, &mut wrong);
        // The file's choice for every mode that has none of its own; the environment and the command line rule over both.
        for mode in self.modes.iter_mut().filter(|mode| mode.model.is_none()) {
            Arc::make_mut(mode).model.clone_from(&file.model);
        }
        self.env.extend(file.env);
        self.pass_env.extend(file.pass_env);
        self.secret_env.extend(file.secret_env);
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Takes how agents are started.
    fn apply_agents(
        &mut self,
        agents: BTreeMap<toml::Spanned<String>, AgentSettings>,
        wrong: &mut impl FnMut(std::ops::Range<usize>, String),
    ) {
        for (name, agent) in agents {
            let known = AgentKind::ALL.map(AgentKind::as_str);
            if !known.contains(&name.get_ref().as_str()) {
                let known = known.join(", ");
                wrong(name.span(), format!("there is no agent `{}`; known: {known}", name.get_ref()));
            }
            self.agents.insert(name.into_inner(), agent);
        }
    }

    /// Takes the folders to create in every workspace.
    fn apply_create(
        &mut self,
        folders: Vec<toml::Spanned<String>>,
        wrong: &mut impl FnMut(std::ops::Range<usize>, String),
    ) {
        for folder in folders {
            match RelativePath::parse(folder.get_ref()) {
                Ok(path) => self.create.push(path),
                Err(why) => wrong(folder.span(), format!("the folder to create {:?} {why}", folder.get_ref())),
            }
        }
    }

    /// Adds the file's own modes, and selects those that it names.
    fn apply_modes(
        &mut self,
        own: BTreeMap<toml::Spanned<String>, OwnMode>,
        selected: Option<Vec<toml::Spanned<String>>>,
        wrong: &mut impl FnMut(std::ops::Range<usize>, String),
    ) {
        for (name, mode) in own {
            let (range, name) = (name.span(), name.into_inner());
            if self.modes.iter().any(|known| known.name == name) {
                wrong(range, format!("the mode `{name}` exists already; give this one another name"));
            } else if let Err(why) = crate::cases::name::check_id(&name.replace('+', "-")) {
                wrong(range, format!("the mode name `{name}` {why}"));
            } else {
                let OwnMode { agent, delivery, model, args, offer } = mode;
                self.modes.push(Arc::new(Mode { name, agent, delivery, model, args, offer, commit: None }));
            }
        }
        if let Some(names) = selected {
            for name in &names {
                if let Err(message) = self.known_mode(name.get_ref()) {
                    wrong(name.span(), message);
                }
            }
            self.selected_modes = Some(names.into_iter().map(toml::Spanned::into_inner).collect());
        }
    }

    fn apply_skill_roots(
        &mut self,
        roots: Vec<toml::Spanned<String>>,
        wrong: &mut impl FnMut(std::ops::Range<usize>, String),
    ) {
        let mut read = Vec::new();
        for root in roots {
            match RelativePath::parse(root.get_ref()) {
                Ok(path) => read.push(path),
                Err(why) => wrong(root.span(), format!("the skill root {:?} {why}", root.get_ref())),
            }
        }
        self.skill_roots = Some(read);
    }

    /// Applies what keeps a run from asking too often or costing too much.
    fn apply_limits(
        &mut self,
        retries: Option<&toml::Spanned<i64>>,
        retry_wait_s: Option<&toml::Spanned<f64>>,
        max_cost_usd: Option<&toml::Spanned<f64>>,
        wrong: &mut impl FnMut(std::ops::Range<usize>, String),
    ) {
        if let Some(value) = retries {
            match u32::try_from(*value.get_ref()).ok().filter(|retries| (1..=100).contains(retries)) {
                Some(retries) => self.retries = retries,
                None => wrong(value.span(), format!("`retries` is {}; expected 1 to 100", value.get_ref())),
            }
        }
        let mut amount = |value: Option<&toml::Spanned<f64>>, name: &str, most: f64| {
            let value = value?;
            let read = Some(*value.get_ref()).filter(|amount| *amount > 0.0 && *amount <= most);
            if read.is_none() {
                wrong(value.span(), format!("`{name}` is {}; expected above 0 and up to {most}", value.get_ref()));
            }
            read
        };
        let wait = amount(retry_wait_s, "retry_wait_s", LONGEST_RETRY_WAIT.as_secs_f64());
        self.retry_wait = wait.map_or(self.retry_wait, Duration::from_secs_f64);
        self.max_cost_usd = amount(max_cost_usd, "max_cost_usd", MOST_COST).or(self.max_cost_usd);
    }

    /// Chooses modes by name.
    ///
    /// # Errors
    /// When there is no such mode; the message names those that there are.
    pub fn select_modes(&mut self, names: &[String]) -> Result<(), String> {
        names.iter().try_for_each(|name| self.known_mode(name))?;
        self.selected_modes = Some(names.to_vec());
        Ok(())
    }

    fn known_mode(&self, name: &str) -> Result<(), String> {
        if self.modes.iter().any(|mode| mode.name == name) {
            return Ok(());
        }
        let known: Vec<&str> = self.modes.iter().map(|mode| mode.name.as_str()).collect();
        Err(format!("there is no mode `{name}`; known: {}", known.join(", ")))
    }

    /// The model to ask for in `mode`.
    #[must_use]
    pub fn model_for<'a>(&'a self, mode: &'a Mode) -> Option<&'a str> {
        self.model.as_deref().or(mode.model.as_deref())
    }

    /// How often the model may be asked in this case.
    #[must_use]
    pub fn max_turns_of(&self, case: &Case) -> Option<u64> {
        case.max_turns.or(self.max_turns)
    }

    /// The mode of this name.
    #[must_use]
    pub fn mode(&self, name: &str) -> Option<&Arc<Mode>> {
        self.modes.iter().find(|mode| mode.name == name)
    }
}
