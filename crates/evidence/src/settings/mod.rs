//! Settings: built in, then `evals/evals.toml`, then the environment, then the command line.

mod activation;
mod agents;
mod calibrate;
mod check;
mod gate;
mod isolation;
mod judge;
pub mod limits;
mod lint;
pub mod load;
pub mod machine;
mod mocks;
pub mod mode;
mod player;
pub mod price_table;
mod prices;
mod problems;
mod repetition;
mod run;
mod selection;
mod server;
mod stop;
pub mod trials;
mod trust;
mod variables;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::settings::limits::{DEFAULT_TIMEOUT, MOST_TURNS};
use crate::settings::mode::{AgentKind, Delivery, Mode, SkillSelection};
use crate::settings::problems::{Problems, filled};
use crate::settings::repetition::WrittenNumber;
use crate::skill::slug;
use crate::text::diagnostic::{Diagnostic, SourceLocation, suggest};
use crate::text::relative_path::RelativePath;

pub use activation::ActivationRule;
pub use agents::{AgentSettings, CustomStart, fill};
pub use calibrate::Calibrate;
pub use check::{CheckSettings, NamedScript};
pub use gate::{GateSettings, NothingCompared};
pub use isolation::{Home, Isolation, IsolationSettings};
pub use judge::{DEFAULT_JUDGE_TIMEOUT, JudgeSettings, MOST_VOTES};
pub use lint::LintSettings;
pub use mocks::{AnswerText, CommandAnswer, name_problem, pattern};
pub use player::PlayerSettings;
pub use prices::{CostSource, Price, Prices};
pub use repetition::{EffectiveRepetition, RepetitionSettings};
pub use selection::{Suite, TestSelection};
pub use server::{BuiltIn, McpSettings, OwnServer, SkillResult, ToolNames, Wording};
pub use stop::Stop;
pub use trust::{Trust, ignored_keys};
pub use variables::{
    BACKGROUND_VARIABLE, PREFIX, SUPERVISOR_VARIABLE, TREE_VARIABLE, VARIABLES, Variable, WATCHDOG_VARIABLE,
};

/// The settings file, from the repository's root.
pub const FILE: &str = "evals/evals.toml";

/// The placeholder for the repository's root in variables and arguments of the settings file.
pub const ROOT: &str = "{root}";

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "settings as users give them")]
pub struct Settings {
    /// The directories that hold skills, from the repository's root; `None` for the default ones.
    pub skill_roots: Option<Vec<RelativePath>>,
    /// Where evals.toml names each plugin that is trusted, as it is written.
    pub trust_places: BTreeMap<String, SourceLocation>,
    /// Columns of prompts.csv that are the user's own and are not read.
    pub own_columns: Vec<String>,
    /// The name of the test that adds custom checks, after the directory of its crate if that is not the root.
    pub harness: Option<RelativePath>,
    /// The built-in modes and the file's own.
    pub modes: Vec<Arc<Mode>>,
    /// The names of the selected modes; `None` for the default ones.
    pub selected_modes: Option<Vec<String>>,
    /// The modes that stand in for default ones, by the names of those.
    pub default_modes: BTreeMap<String, String>,
    /// Whether agents run; else recordings are replayed.
    pub live: bool,
    /// Whether a case without a recording is an error in replay, if set.
    pub require_recordings: Option<bool>,
    /// Whether a case that asks for something unsupported runs without it.
    pub partial: bool,
    /// The model that agents use, whatever the mode says.
    pub model: Option<String>,
    /// How often cases run, and which share of their trials must pass.
    pub repetition: RepetitionSettings,
    /// What counts as an activation in the cases of a skill, by its slug.
    pub activation: BTreeMap<String, ActivationRule>,
    /// Number of trials that run at once, if somebody says so.
    pub jobs: Option<usize>,
    /// The timeout of cases that set none.
    pub timeout: Duration,
    /// When a live trial ends, if set.
    pub stop: Option<Stop>,
    /// Whether `run` also runs each case without the skills, in pairs, and says what the skills add.
    pub lift: bool,
    /// Maximum number of turns for cases that set none; `None` for no limit.
    pub max_turns: Option<u64>,
    /// The repository's root, if known.
    pub root: Option<PathBuf>,
    /// Directories that are created in every workspace before the agent starts.
    pub create: Vec<RelativePath>,
    /// Variables added to the agents' environment; `{workspace}` is the trial's workspace, `{root}` the repository's root.
    pub env: BTreeMap<String, String>,
    /// Variables of the user's environment that agents may see, besides the built-in ones.
    pub pass_env: Vec<String>,
    /// Variables whose values are masked in artifacts, besides those with names of secrets.
    pub secret_env: Vec<String>,
    /// How agents are started, by name.
    pub agents: BTreeMap<String, AgentSettings>,
    /// The MCP server of skills.
    pub mcp: McpSettings,
    /// The commands that are answered from files, in every case.
    pub mocks: Vec<CommandAnswer>,
    /// What keeps agents to their own directories.
    pub isolation: IsolationSettings,
    /// The scripts that check trials.
    pub checks: CheckSettings,
    /// Which agent judges by the rubric, and when.
    pub judge: JudgeSettings,
    /// Which agent plays the user who answers.
    pub user: PlayerSettings,
    /// What `gate` does.
    pub gate: GateSettings,
    /// The severities of problems that `lint` finds.
    pub lint: LintSettings,
    /// The selected cases.
    pub selection: TestSelection,
    /// The run's id, if set.
    pub run_id: Option<String>,
    /// Whether results that the run already has are kept rather than measured again.
    pub resume: bool,
    /// Whether they are kept although their case or skill has changed.
    pub force: bool,
    /// Whether the run's trials become the recordings when it ends.
    pub record: bool,
    /// No trial starts once the run has cost this much, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// No trial starts once the run has used this many tokens.
    pub max_tokens: Option<u64>,
    /// What tokens cost if an agent does not report it.
    pub prices: Prices,
    /// How often a trial or its judge is started again if the provider is temporarily unavailable.
    pub retries: u32,
    /// The first pause after the provider refused; later ones double.
    pub retry_wait: Duration,
    /// The directory for workspaces and homes, if set.
    pub scratch: Option<PathBuf>,
    /// The name of the mock model, if the answers are not a model's own.
    pub scripted: Option<String>,
    /// The server that all agents ask, in place of their providers'.
    pub endpoint: Option<String>,
    /// Whether a live run calibrates agents first.
    pub calibrate: Calibrate,
    /// Whether trials that share a prompt start when the first of them has begun to answer.
    pub lead: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            skill_roots: None,
            trust_places: BTreeMap::new(),
            own_columns: Vec::new(),
            harness: None,
            modes: Mode::built_in().into_iter().map(Arc::new).collect(),
            selected_modes: None,
            default_modes: BTreeMap::new(),
            live: false,
            require_recordings: None,
            partial: false,
            model: None,
            repetition: RepetitionSettings::default(),
            activation: BTreeMap::new(),
            jobs: None,
            timeout: DEFAULT_TIMEOUT,
            stop: None,
            lift: false,
            max_turns: None,
            env: BTreeMap::new(),
            pass_env: Vec::new(),
            secret_env: Vec::new(),
            agents: BTreeMap::new(),
            mcp: McpSettings::default(),
            mocks: Vec::new(),
            isolation: IsolationSettings::default(),
            root: None,
            create: Vec::new(),
            checks: CheckSettings::default(),
            judge: JudgeSettings::default(),
            user: PlayerSettings::default(),
            gate: GateSettings::default(),
            lint: LintSettings::default(),
            selection: TestSelection::default(),
            run_id: None,
            resume: false,
            force: false,
            record: false,
            max_cost_usd: None,
            max_tokens: None,
            prices: Prices::default(),
            retries: 3,
            retry_wait: Duration::from_secs(5),
            scratch: None,
            scripted: None,
            endpoint: None,
            calibrate: Calibrate::default(),
            lead: true,
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
    modes: Option<toml::Spanned<Vec<toml::Spanned<String>>>>,
    #[serde(default, deserialize_with = "filled")]
    model: Option<String>,
    trials: WrittenNumber,
    threshold: WrittenNumber,
    #[serde(default)]
    skills: BTreeMap<toml::Spanned<String>, repetition::SkillTable>,
    jobs: WrittenNumber,
    timeout_s: WrittenNumber,
    trial_end: Option<Stop>,
    max_turns: Option<toml::Spanned<i64>>,
    retries: WrittenNumber,
    retry_wait_s: WrittenNumber,
    max_cost_usd: WrittenNumber,
    max_tokens: WrittenNumber,
    #[serde(default)]
    prices: BTreeMap<String, prices::PriceTable>,
    #[serde(default)]
    env: BTreeMap<toml::Spanned<String>, String>,
    #[serde(default)]
    pass_env: Vec<toml::Spanned<String>>,
    #[serde(default)]
    secret_env: Vec<toml::Spanned<String>>,
    #[serde(default)]
    agents: BTreeMap<toml::Spanned<String>, agents::AgentTable>,
    #[serde(default)]
    mode: BTreeMap<toml::Spanned<String>, OwnMode>,
    check: Option<toml::Spanned<toml::Value>>,
    check_timeout_s: WrittenNumber,
    #[serde(default)]
    judge: judge::JudgeTable,
    #[serde(default)]
    user: PlayerSettings,
    gate: Option<gate::GateTable>,
    #[serde(default)]
    run: run::RunTable,
    lint: Option<lint::LintTable>,
    mcp: Option<toml::Spanned<server::McpTable>>,
    #[serde(default)]
    mocks: mocks::MocksTable,
    isolation: Option<Isolation>,
    home: Option<Home>,
    require_recordings: Option<bool>,
    partial: Option<bool>,
    calibrate: Option<Calibrate>,
    require_isolation: Option<bool>,
    /// The older name of `require_isolation`.
    require_sandbox: Option<bool>,
    #[serde(default)]
    isolation_read: Vec<toml::Spanned<String>>,
    create: Option<Vec<toml::Spanned<String>>>,
    #[serde(default)]
    trust: Vec<toml::Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnMode {
    agent: Option<toml::Spanned<String>>,
    delivery: Option<Delivery>,
    #[serde(default, deserialize_with = "filled")]
    model: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    offer: SkillSelection,
    activation: Option<ActivationRule>,
}

impl Settings {
    /// Applies the text of `evals.toml`. The error has every invalid value, but of syntax errors and unknown keys the first.
    pub fn apply_file(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let mut file: SettingsFile = toml::from_str(text).map_err(|error| vec![problems::of_parser(text, &error)])?;
        let mut problems = Problems::of(text);
        self.apply_agents(file.agents, &mut problems);
        self.apply_modes(file.mode, file.modes, &mut problems);
        self.create.extend(problems.paths(file.create.unwrap_or_default(), "the directory to create"));
        let roots = file.skill_roots.map(|roots| problems.directories(roots, "the skill root"));
        self.skill_roots = roots.or(self.skill_roots.take());
        self.harness = problems.paths(file.harness, "the harness").pop().or(self.harness.take());
        for (key, number) in [
            ("jobs", file.jobs),
            ("timeout_s", file.timeout_s),
            ("check_timeout_s", file.check_timeout_s),
            ("retries", file.retries),
            ("retry_wait_s", file.retry_wait_s),
            ("max_cost_usd", file.max_cost_usd),
            ("max_tokens", file.max_tokens),
            ("judge.timeout_s", file.judge.timeout_s.take()),
            ("judge.votes", file.judge.votes.take()),
        ] {
            if let Some(number) = number
                && let Err(why) = self.apply_key(key, number.get_ref())
            {
                problems.add(number.span(), why);
            }
        }
        (self.stop, self.calibrate) = (file.trial_end.or(self.stop), file.calibrate.unwrap_or(self.calibrate));
        file.run.apply(self);
        self.apply_max_turns(file.max_turns, &mut problems);
        self.repetition.apply(&file.trials, &file.threshold, &mut problems);
        self.apply_skills(file.skills, file.check.as_ref(), &mut problems);
        for (name, table) in file.prices {
            self.prices.0.insert(name, table.price(&mut problems));
        }
        self.judge.apply(file.judge, &mut problems);
        if let Some(table) = file.gate {
            self.gate = table.settings(&mut problems);
        }
        if let Some(table) = file.lint {
            self.lint.apply(table, &mut problems);
        }
        if let Some(table) = file.mcp {
            let range = table.span();
            self.mcp = table.into_inner().settings(range, &mut problems);
        }
        self.mocks.extend(file.mocks.answers(&mut problems));
        let (required, trusted) = (file.require_isolation.or(file.require_sandbox), problems.places(&file.trust));
        (self.isolation.home, self.trust_places) = (file.home.unwrap_or(self.isolation.home), trusted);
        self.isolation.apply(file.isolation, required, (file.isolation_read, file.trust), &mut problems);
        // The model of every mode that has none. The environment and the command line override both.
        for mode in self.modes.iter_mut().filter(|mode| mode.model.is_none()) {
            Arc::make_mut(mode).model.clone_from(&file.model);
        }
        for (name, value) in file.env {
            self.env.extend(problems.variables([name]).pop().map(|name| (name, value)));
        }
        self.pass_env.extend(problems.variables(file.pass_env));
        self.secret_env.extend(problems.variables(file.secret_env));
        self.require_recordings = file.require_recordings.or(self.require_recordings);
        (self.user, self.partial) = (file.user, file.partial.unwrap_or(self.partial));
        self.own_columns.extend(file.own_columns);
        if problems.list.is_empty() { Ok(()) } else { Err(problems.list.into_vec()) }
    }

    /// Applies what the file says about all cases, and about those of single skills.
    fn apply_skills(
        &mut self,
        skills: BTreeMap<toml::Spanned<String>, repetition::SkillTable>,
        scripts: Option<&toml::Spanned<toml::Value>>,
        problems: &mut Problems<'_>,
    ) {
        if let Some(scripts) = scripts {
            self.checks.add(None, scripts, problems);
        }
        for (name, table) in &skills {
            let skill = slug(name.get_ref());
            if let Some(scripts) = &table.check {
                self.checks.add(Some(skill.clone()), scripts, problems);
            }
            self.activation.extend(table.activation.map(|rule| (skill, rule)));
        }
        self.repetition.apply_skills(skills, problems);
    }

    fn apply_max_turns(&mut self, turns: Option<toml::Spanned<i64>>, problems: &mut Problems<'_>) {
        let Some(turns) = turns else { return };
        self.max_turns = u64::try_from(*turns.get_ref()).ok().filter(|most| (1..=MOST_TURNS).contains(most));
        if self.max_turns.is_none() {
            let message = format!("`max_turns` is {}; expected 1 to {MOST_TURNS}", turns.get_ref());
            problems.add(turns.span(), message);
        }
    }

    /// Adds the file's own modes, and selects those that it names.
    fn apply_modes(
        &mut self,
        own: BTreeMap<toml::Spanned<String>, OwnMode>,
        selected: Option<toml::Spanned<Vec<toml::Spanned<String>>>>,
        problems: &mut Problems<'_>,
    ) {
        for (name, mode) in own {
            let (range, name) = (name.span(), name.into_inner());
            if self.agent_named(&name).is_some_and(|agent| matches!(agent, AgentKind::Custom(_))) {
                problems.add(range, format!("[agents.{name}] makes the mode `{name}`; give this one another name"));
            } else if self.mode(&name).is_some() {
                let message =
                    format!("`{name}` is a built-in mode and cannot be changed; give your own mode another name");
                problems.add(range, message);
            } else if let Err(why) = crate::text::name::check_id(&name.replace('+', "-")) {
                problems.add(range, format!("the mode name `{name}` {why}"));
            } else {
                let OwnMode { agent, delivery, model, args, offer, activation } = mode;
                let known = agent.as_ref().map(|agent| self.agent_named(agent.get_ref()));
                if let (Some(agent), Some(None)) = (&agent, known) {
                    let names: Vec<&str> =
                        AgentKind::names().into_iter().chain(self.custom_agents().map(AgentKind::as_str)).collect();
                    problems.add(agent.span(), format!("unknown agent; {}", suggest(agent.get_ref(), &names)));
                    continue;
                }
                let (Some(agent), Some(delivery)) = (known.flatten(), delivery) else {
                    let missing = if agent.is_none() { "agent" } else { "delivery" };
                    problems.add(range, format!("the mode `{name}` has no `{missing}`; add one"));
                    continue;
                };
                if delivery.mcp() && !self.has_server_mode(agent) {
                    let agent = agent.profile().name;
                    let why = format!(
                        "{agent} has no mode with the built-in server; give `delivery` as \"native\" or \"none\""
                    );
                    problems.add(range, why);
                    continue;
                }
                self.modes.push(Arc::new(Mode { model, args, offer, activation, ..Mode::new(&name, agent, delivery) }));
            }
        }
        let Some(names) = selected else { return };
        if names.get_ref().is_empty() {
            problems.add(names.span(), "no mode is named; name one, or remove the key".to_owned());
        }
        let names = names.into_inner();
        for name in names.iter().filter(|name| self.mode(name.get_ref()).is_none()) {
            problems.add(name.span(), self.unknown_mode(name.get_ref()));
        }
        self.selected_modes = Some(names.into_iter().map(toml::Spanned::into_inner).collect());
    }

    /// Selects modes by name. The error about an unknown mode names the known ones.
    pub fn select_modes(&mut self, names: &[String]) -> Result<(), String> {
        if names.is_empty() {
            return Err("no mode is named".to_owned());
        }
        if let Some(unknown) = names.iter().find(|name| self.mode(name).is_none()) {
            return Err(self.unknown_mode(unknown));
        }
        self.selected_modes = Some(names.to_vec());
        Ok(())
    }

    /// Whether a case without a recording is an error. It never is if agents run.
    pub fn needs_recordings(&self) -> bool {
        !self.live && self.require_recordings == Some(true)
    }

    /// The model that the agent uses in `mode`.
    pub fn model_for<'a>(&'a self, mode: &'a Mode) -> Option<&'a str> {
        self.model.as_deref().or(mode.model.as_deref())
    }

    /// The server that an agent asks, if it is not its provider's.
    pub fn endpoint_of(&self, agent: AgentKind) -> Option<&str> {
        let own = self.agents.get(agent.as_str()).and_then(|agent| agent.endpoint.as_deref());
        own.or(self.endpoint.as_deref())
    }

    /// Maximum number of turns of a case that itself says `own`.
    pub fn max_turns_of(&self, own: Option<u64>) -> Option<u64> {
        own.or(self.max_turns)
    }

    /// What counts as an activation in a case of this skill in this mode, if the case does not say so. The mode of a side of
    /// a comparison has the name of its base, a dot and what differs.
    pub fn activation_for(&self, skill: &str, mode: &str) -> Option<ActivationRule> {
        let bases = self
            .modes
            .iter()
            .filter(|base| mode.strip_prefix(&base.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
        let base = bases.max_by_key(|base| base.name.len());
        self.activation.get(skill).copied().or_else(|| base?.activation)
    }

    pub fn mode(&self, name: &str) -> Option<&Arc<Mode>> {
        self.modes.iter().find(|mode| mode.name == name)
    }
}
