//! What can be chosen: built in, then `evals/evals.toml`, then the environment, then the command line.

mod activation;
mod isolation;
mod judge;
pub mod limits;
mod lint;
pub mod load;
pub mod mode;
mod plain;
mod prices;
mod repetition;
mod selection;
mod server;
pub mod trials;
mod variables;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::settings::limits::MOST_TURNS;
use crate::settings::mode::{AgentKind, Delivery, Mode, SkillSelection};
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest};
use crate::text::relative_path::RelativePath;

pub use activation::ActivationRule;
pub use isolation::{Isolation, IsolationSettings};
pub use judge::{DEFAULT_JUDGE_TIMEOUT, JudgeSettings, MOST_VOTES};
pub use lint::LintSettings;
pub use prices::{Price, Prices};
pub use repetition::{EffectiveRepetition, RepetitionSettings};
pub use selection::{Suite, TestSelection};
pub use server::{BuiltIn, McpSettings, OwnServer, SkillResult, ToolNames, Wording};
pub use variables::{PREFIX, VARIABLES, Variable};

/// The settings file, from the repository's root.
pub const FILE: &str = "evals/evals.toml";

/// What stands for the repository's root in variables and arguments of the settings file.
pub const ROOT: &str = "{root}";

/// Trials under way at once where nothing else is said: agents wait more than they work.
pub const DEFAULT_JOBS: usize = 8;

/// The variable that marks every process of an agent's tree, so that none is lost.
pub const TREE_VARIABLE: &str = "SKILL_EVALS_TREE";

/// Variables that this program passes to processes, not chosen by users.
pub(crate) const INTERNAL: [&str; 4] = [TREE_VARIABLE, WATCHDOG_VARIABLE, SUPERVISOR_VARIABLE, BACKGROUND_VARIABLE];

/// The variable with which this program starts itself as the watchdog of a run.
pub const WATCHDOG_VARIABLE: &str = "SKILL_EVALS_WATCHDOG";

/// The variable with which this program starts itself as the supervisor of an agent's processes. Its value is the number of
/// the process that starts it.
pub const SUPERVISOR_VARIABLE: &str = "SKILL_EVALS_SUPERVISOR";

/// The variable with which this program starts itself as a run in the background.
pub const BACKGROUND_VARIABLE: &str = "SKILL_EVALS_BACKGROUND";

/// How often a trial is started again that the provider refused, where nothing else is said.
pub const DEFAULT_RETRIES: u32 = 3;

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
    /// Columns of prompts.csv that are the user's own and are not read.
    pub own_columns: Vec<String>,
    /// The test that adds checks to those of the cases: its name, behind the directory of its crate where that is not the root.
    pub harness: Option<RelativePath>,
    /// The modes that exist: built-in ones and the file's own.
    pub modes: Vec<Arc<Mode>>,
    /// The names of the modes asked for; `None` for the default ones.
    pub selected_modes: Option<Vec<String>>,
    /// Whether agents run, rather than recordings being replayed.
    pub live: bool,
    /// Whether a case without a recording is an error in replay, if that is set.
    pub require_recordings: Option<bool>,
    /// The model to ask the agents for, whatever the mode says.
    pub model: Option<String>,
    /// How often cases run, and which share of their trials must pass.
    pub repetition: RepetitionSettings,
    /// What counts as an activation in the cases of a skill, by its slug.
    pub activation: BTreeMap<String, ActivationRule>,
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
    pub selection: TestSelection,
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
            own_columns: Vec::new(),
            harness: None,
            modes: Mode::built_in().into_iter().map(Arc::new).collect(),
            selected_modes: None,
            live: false,
            require_recordings: None,
            model: None,
            repetition: RepetitionSettings::default(),
            activation: BTreeMap::new(),
            jobs: DEFAULT_JOBS,
            timeout: crate::settings::limits::DEFAULT_TIMEOUT,
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
            selection: TestSelection::default(),
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
struct SettingsFile {
    skill_roots: Option<Vec<toml::Spanned<String>>>,
    #[serde(default)]
    own_columns: Vec<String>,
    harness: Option<toml::Spanned<String>>,
    modes: Option<Vec<toml::Spanned<String>>>,
    model: Option<String>,
    trials: Option<toml::Spanned<toml::Value>>,
    threshold: Option<toml::Spanned<toml::Value>>,
    #[serde(default)]
    skills: BTreeMap<toml::Spanned<String>, repetition::SkillTable>,
    jobs: Option<toml::Spanned<toml::Value>>,
    timeout_s: Option<toml::Spanned<toml::Value>>,
    max_turns: Option<toml::Spanned<i64>>,
    retries: Option<toml::Spanned<toml::Value>>,
    retry_wait_s: Option<toml::Spanned<toml::Value>>,
    max_cost_usd: Option<toml::Spanned<toml::Value>>,
    max_tokens: Option<toml::Spanned<toml::Value>>,
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
    #[serde(default)]
    judge: judge::JudgeTable,
    lint: Option<lint::LintTable>,
    mcp: Option<toml::Spanned<server::McpTable>>,
    isolation: Option<Isolation>,
    require_recordings: Option<bool>,
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
    offer: SkillSelection,
    activation: Option<ActivationRule>,
}

/// These paths, as far as they are allowed; `what` they are begins the problem of one that is not.
fn paths(
    written: impl IntoIterator<Item = toml::Spanned<String>>,
    what: &str,
    wrong: &mut impl FnMut(std::ops::Range<usize>, String),
) -> Vec<RelativePath> {
    let mut read = Vec::new();
    for path in written {
        match RelativePath::parse(path.get_ref()) {
            Ok(path) => read.push(path),
            Err(why) => wrong(path.span(), format!("{what} {:?} {why}", path.get_ref())),
        }
    }
    read
}

impl Settings {
    /// Applies the text of `evals.toml`.
    ///
    /// # Errors
    /// Every wrong value, each at its place; of syntax errors and wrong keys the first.
    pub fn apply_file(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let place = |range: std::ops::Range<usize>| SourceLocation::in_text(FILE, text.as_bytes(), range);
        let mut file: SettingsFile = toml::from_str(text).map_err(|error| vec![plain::problem(text, &error)])?;
        let mut problems = Vec::new();
        let mut wrong = |range, message: String| problems.push(Diagnostic::new(Code::Config, place(range), message));
        self.apply_modes(file.mode, file.modes, &mut wrong);
        self.create.extend(paths(file.create.unwrap_or_default(), "the directory to create", &mut wrong));
        if let Some(roots) = file.skill_roots {
            self.skill_roots = Some(paths(roots, "the skill root", &mut wrong));
        }
        self.harness = paths(file.harness, "the harness", &mut wrong).pop().or(self.harness.take());
        let numbers = [
            ("jobs", file.jobs),
            ("timeout_s", file.timeout_s),
            ("retries", file.retries),
            ("retry_wait_s", file.retry_wait_s),
            ("max_cost_usd", file.max_cost_usd),
            ("max_tokens", file.max_tokens),
            ("judge.timeout_s", file.judge.timeout_s.take()),
            ("judge.votes", file.judge.votes.take()),
        ];
        for (key, value) in numbers.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            self.apply_key(key, value.get_ref()).unwrap_or_else(|why| wrong(value.span(), why));
        }
        if let Some(value) = file.max_turns {
            match u64::try_from(*value.get_ref()) {
                Ok(most @ 1..=MOST_TURNS) => self.max_turns = Some(most),
                _ => wrong(value.span(), format!("`max_turns` is {}; expected 1 to {MOST_TURNS}", value.get_ref())),
            }
        }
        self.repetition.apply(file.trials.as_ref(), file.threshold.as_ref(), &mut wrong);
        let rules = file.skills.iter().filter_map(|(name, table)| Some((slug(name.get_ref()), table.activation?)));
        self.activation.extend(rules);
        self.repetition.apply_skills(file.skills, place, &mut wrong);
        self.apply_agents(file.agents, &mut wrong);
        for (name, price) in file.prices {
            self.prices.0.insert(name, price.read(&mut wrong));
        }
        self.judge.apply(file.judge, &mut wrong);
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
        self.require_recordings = file.require_recordings.or(self.require_recordings);
        self.own_columns.extend(file.own_columns);
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
                wrong(name.span(), format!("unknown agent `{}`; known: {known}", name.get_ref()));
            }
            self.agents.insert(name.into_inner(), agent);
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
            } else if let Err(why) = crate::text::name::check_id(&name.replace('+', "-")) {
                wrong(range, format!("the mode name `{name}` {why}"));
            } else {
                let OwnMode { agent, delivery, model, args, offer, activation } = mode;
                self.modes.push(Arc::new(Mode { model, args, offer, activation, ..Mode::new(&name, agent, delivery) }));
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
        Err(self.unknown_mode(name))
    }

    /// What to say of a mode that does not exist: the nearest one, else all with their agents.
    #[must_use]
    pub fn unknown_mode(&self, name: &str) -> String {
        if let Some(near) = nearest(name, self.modes.iter().map(|mode| mode.name.as_str())) {
            return format!("unknown mode `{name}`; did you mean `{near}`?");
        }
        let told =
            |mode: &Arc<Mode>| format!("{} ({}, {})", mode.name, mode.agent.profile().name, mode.delivery.as_str());
        let known: Vec<String> = self.modes.iter().map(told).collect();
        format!("unknown mode `{name}`; known: {}", known.join(", "))
    }

    /// Whether a case without a recording is an error: never if agents run.
    #[must_use]
    pub fn needs_recordings(&self) -> bool {
        !self.live && self.require_recordings == Some(true)
    }

    /// The model to ask for in `mode`.
    #[must_use]
    pub fn model_for<'a>(&'a self, mode: &'a Mode) -> Option<&'a str> {
        self.model.as_deref().or(mode.model.as_deref())
    }

    /// How often the model may be asked in a case that says `own` of itself.
    #[must_use]
    pub fn max_turns_of(&self, own: Option<u64>) -> Option<u64> {
        own.or(self.max_turns)
    }

    /// What counts as an activation in a case of this skill that runs in this mode, where the case does not say it. The mode of
    /// an arm of a comparison is called by what it was made from, a dot and what differs.
    #[must_use]
    pub fn activation_for(&self, skill: &str, mode: &str) -> Option<ActivationRule> {
        let is_from = |base: &str| mode.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let base = self.modes.iter().filter(|base| is_from(&base.name)).max_by_key(|base| base.name.len());
        self.activation.get(skill).copied().or_else(|| base?.activation)
    }

    /// The mode of this name.
    #[must_use]
    pub fn mode(&self, name: &str) -> Option<&Arc<Mode>> {
        self.modes.iter().find(|mode| mode.name == name)
    }
}
