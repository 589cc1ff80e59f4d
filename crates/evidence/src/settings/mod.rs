//! Settings: built in, then `evals/evals.toml`, then the environment, then the command line.

mod agents;
mod check;
mod formats;
mod keys;
pub mod limits;
pub mod load;
pub mod machine;
pub mod mode;
mod network;
mod problems;
mod server;
pub mod trials;
mod trust;
mod variables;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toml::Spanned;

use crate::settings::keys::Untrusted::{OfBase, Refused, RefusedIf};
use crate::settings::keys::{defaults, keys};
use crate::settings::limits::{DEFAULT_TIMEOUT, MOST_TURNS};
use crate::settings::mode::{AgentKind, Mode};
use crate::settings::problems::{Number, Problems, filled};
use crate::text::diagnostic::{Diagnostic, SourceLocation};
use crate::text::name::RelativePath;

pub use agents::{AgentSettings, CustomStart, fill};
pub use check::{CheckSettings, NamedScript};
pub use check::{DEFAULT_JUDGE_TIMEOUT, JudgeSettings, MOST_VOTES, PlayerSettings};
pub use check::{GateSettings, NothingCompared};
pub use check::{LintSettings, PathGlobs};
pub use formats::{OwnField, OwnFormat};
pub use keys::KeyRow;
pub use limits::{Calibrate, Stop};
pub use limits::{CostSource, PRICES_OF, Price, Prices, models};
pub use machine::{Home, Isolation, IsolationSettings};
pub use mode::ActivationRule;
use network::AllowedServer;
pub use network::{HostPort, Network, NetworkSettings};
pub use server::{
    AnswerText, CommandAnswer, LONGEST_DELAY, MOST_TIMES, PASSES_AND_ANSWERS, name_problem, pattern, target_problem,
};
pub use server::{BuiltIn, McpSettings, OwnServer, SkillResult, ToolNames, Wording};
pub use trials::{EffectiveRepetition, RepetitionSettings};
pub use trials::{Suite, TestSelection};
pub use trust::{Trust, ignored_keys};
pub use variables::{
    BACKGROUND_VARIABLE, PREFIX, ROOM_VARIABLE, SUPERVISOR_VARIABLE, TREE_VARIABLE, VARIABLES, Variable,
    WATCHDOG_VARIABLE,
};
pub use written::WrittenSettings;

/// The settings file, from the repository's root.
pub const FILE: &str = "evals/evals.toml";

/// The placeholder for the repository's root in variables and arguments of the settings file.
pub const ROOT: &str = "{root}";

defaults! {
    #[derive(Clone, Debug)]
    pub struct Settings {
        /// The directories that hold skills, from the repository's root; `None` for the default ones.
        pub skill_roots: Option<Vec<RelativePath>> = None,
        /// Where evals.toml names each plugin that is trusted, as it is written.
        pub trust_places: BTreeMap<String, SourceLocation> = BTreeMap::new(),
        /// Files and directories that hold no cases, by patterns of their paths.
        pub not_cases: PathGlobs = PathGlobs::default(),
        /// Columns of prompts.csv that are the user's own and are not read.
        pub own_columns: Vec<String> = Vec::new(),
        /// Keys of cases that only label, in files of every format.
        pub own_keys: Vec<String> = Vec::new(),
        /// The formats of cases that the user describes.
        pub formats: Vec<OwnFormat> = Vec::new(),
        /// The name of the test that adds custom checks, after the directory of its crate if that is not the root.
        pub harness: Option<RelativePath> = None,
        /// The built-in modes and the file's own.
        pub modes: Vec<Arc<Mode>> = Mode::built_in().into_iter().map(Arc::new).collect(),
        /// The names of the selected modes; `None` for the default ones.
        pub selected_modes: Option<Vec<String>> = None,
        /// The modes that stand in for default ones, by the names of those.
        pub default_modes: BTreeMap<String, String> = BTreeMap::new(),
        /// Whether agents run; else recordings are replayed.
        pub live: bool = false,
        /// Whether a case without a recording is an error in replay, if set.
        pub require_recordings: Option<bool> = None,
        /// Whether a case that asks for something unsupported runs without it.
        pub partial: bool = false,
        /// The model that agents use, whatever the mode says.
        pub model: Option<String> = None,
        /// How often cases run, and which share of their trials must pass.
        pub repetition: RepetitionSettings = RepetitionSettings::default(),
        /// What counts as an activation in the cases of a skill, by its slug.
        pub activation: BTreeMap<String, ActivationRule> = BTreeMap::new(),
        /// Number of trials that run at once, if somebody says so.
        pub jobs: Option<usize> = None,
        /// The timeout of cases that set none.
        pub timeout: Duration = DEFAULT_TIMEOUT,
        /// When a live trial ends, if set.
        pub stop: Option<Stop> = None,
        /// Whether `run` also runs each case without the skills, in pairs, and says what the skills add.
        pub lift: bool = false,
        /// Maximum number of turns for cases that set none; `None` for no limit.
        pub max_turns: Option<u64> = None,
        /// The repository's root, if known.
        pub root: Option<PathBuf> = None,
        /// Directories that are created in every workspace before the agent starts.
        pub create: Vec<RelativePath> = Vec::new(),
        /// Variables added to the agents' environment; `{workspace}` is the trial's workspace, `{root}` the repository's root.
        pub env: BTreeMap<String, String> = BTreeMap::new(),
        /// Variables of the user's environment that agents may see, besides the built-in ones.
        pub pass_env: Vec<String> = Vec::new(),
        /// Variables whose values are masked in artifacts, besides those with names of secrets.
        pub secret_env: Vec<String> = Vec::new(),
        /// How agents are started, by name.
        pub agents: BTreeMap<String, AgentSettings> = BTreeMap::new(),
        /// The MCP server of skills.
        pub mcp: McpSettings = McpSettings::default(),
        /// The commands that are answered from files, in every case.
        pub mocks: Vec<CommandAnswer> = Vec::new(),
        /// The commands whose real programs are recorded where they answer.
        pub recorded_mocks: BTreeSet<String> = BTreeSet::new(),
        /// What keeps agents to their own directories.
        pub isolation: IsolationSettings = IsolationSettings::default(),
        /// Whether nobody has read the repository.
        pub untrusted: bool = false,
        /// What agents, setups and checks reach.
        pub network: NetworkSettings = NetworkSettings::default(),
        /// The scripts that check trials.
        pub checks: CheckSettings = CheckSettings::default(),
        /// Which agent judges by the rubric, and when.
        pub judge: JudgeSettings = JudgeSettings::default(),
        /// Which agent plays the user who answers.
        pub user: PlayerSettings = PlayerSettings::default(),
        /// What `gate` does.
        pub gate: GateSettings = GateSettings::default(),
        /// The severities of problems that `lint` finds.
        pub lint: LintSettings = LintSettings::default(),
        /// What the file has, for whoever says what to write there.
        pub written: WrittenSettings = WrittenSettings::default(),
        /// The selected cases.
        pub selection: TestSelection = TestSelection::default(),
        /// The run's id, if set.
        pub run_id: Option<String> = None,
        /// Whether results that the run already has are kept rather than measured again.
        pub resume: bool = false,
        /// Whether they are kept although their case or skill has changed.
        pub force: bool = false,
        /// Whether the run's trials become the recordings when it ends.
        pub record: bool = false,
        /// No trial starts once the run has cost this much, in US dollars.
        pub max_cost_usd: Option<f64> = None,
        /// No trial starts once the run has used this many tokens.
        pub max_tokens: Option<u64> = None,
        /// Whether nobody set these limits: what cannot be counted then stops nothing.
        pub limit_is_default: bool = false,
        /// What tokens cost if an agent does not report it.
        pub prices: Prices = Prices::default(),
        /// How often a trial or its judge is started again if the provider is temporarily unavailable.
        pub retries: u32 = 3,
        /// The first pause after the provider refused; later ones double.
        pub retry_wait: Duration = Duration::from_secs(5),
        /// The directory for workspaces and homes, if set.
        pub scratch: Option<PathBuf> = None,
        /// The name of the mock model, if the answers are not a model's own.
        pub scripted: Option<String> = None,
        /// Whether the model's answers come from recordings.
        pub replay_model: bool = false,
        /// The server that all agents ask, in place of their providers'.
        pub endpoint: Option<String> = None,
        /// Whether a live run calibrates agents first.
        pub calibrate: Calibrate = Calibrate::default(),
        /// Whether trials that share a prompt start when the first of them has begun to answer.
        pub lead: bool = true,
    }
}

keys! {
    /// `evals.toml` as written.
    SettingsKeys of "" {
        skill_roots: Vec<Spanned<String>>, "see [Skills](../formats.md#skills)",
            "directories to search for skills; `\".\"` is the whole repository",
            |to, roots, problems| to.skill_roots = Some(problems.directories(roots, "the skill root"));
        not_cases: Vec<Spanned<String>> as OfBase, "none",
            "files and directories that hold no cases of skills, as `evals/agents` or `**/baseline.json`; `lint --census` lists them",
            |to, globs, problems| to.not_cases = PathGlobs::of(&globs, problems);
        own_columns: Vec<String>, "none",
            "columns of prompts.csv that are not read, in addition to those that begin with `x_`",
            |to, columns, _| to.own_columns.extend(columns);
        own_keys: Vec<String>, "none",
            "keys and columns of case files that only label, as `owner`: they are not read, in files of every format",
            |to, keys, _| to.own_keys.extend(keys);
        formats: formats::FormatTables, "none", "table for each [format of your own](../formats.md#a-format-of-your-own)",
            |to, tables, problems| to.formats = formats::read(tables, problems);
        harness: Spanned<String>
            as Refused("cargo would build and start a program of the repository outside the sandbox"),
            "none",
            "name of the test with your [custom checks](../rust.md), after its crate's directory if that is not the root (`evals/skill_evals`). Commands have cargo build it",
            |to, name, problems| to.harness = problems.paths([name], "the harness").pop();
        modes: Spanned<Vec<Spanned<String>>> as OfBase, "`{agent}` for prompts.csv and built-in cases, `mcp` for task files", "modes in which cases run";
        #[serde(default, deserialize_with = "filled")]
        model: String as OfBase, "the agent's default", "model for modes that name none";
        trials: Number as OfBase, "`1`", "trials of each case, or `\"until decided\"`",
            |to, trials, problems| to.repetition.all.trials = trials::trials(&trials, problems);
        threshold: Number as OfBase, "`1.0`", "share of a case's trials that must pass",
            |to, share, problems| to.repetition.all.threshold = trials::threshold_of_key(&share, problems);
        skills: BTreeMap<Spanned<String>, trials::SkillKeys> as OfBase, "", "",
            |to, skills, problems| to.apply_skills(skills, problems);
        jobs: Number as OfBase, "4 for each core, as far as 512 MiB of free memory are left for each trial; 1 to 16",
            "trials that run at once. A run that chooses says so: `12 trials, 8 at once (2 cores, 15 GiB free)`. Limits of a container count",
            |to, number, problems| to.apply_key("jobs", &number, problems);
        timeout_s: Number as OfBase, "`180`", "timeout in seconds for cases that set none",
            |to, number, problems| to.apply_key("timeout_s", &number, problems);
        trial_end: Stop as OfBase, "`\"end\"`; in `gate` `\"settled\"`",
            "when a live trial ends: when its agent has finished, or as soon as [its verdict is settled](runs.md#trials-that-end-early)",
            |to, stop, _| to.stop = Some(stop);
        max_turns: Spanned<i64> as OfBase, "none", "model requests per trial for cases that set no limit; see [cases](../cases.md)",
            |to, turns, problems| to.max_turns = problems.number("max_turns", &turns, 1..=MOST_TURNS);
        retries: Number as OfBase, "`3`",
            "how often a trial or its judge restarts if the provider is temporarily unavailable (rate, quota, overload); up to 100",
            |to, number, problems| to.apply_key("retries", &number, problems);
        retry_wait_s: Number as OfBase, "`5`", "first pause in seconds before such a restart. Later pauses double, up to 300",
            |to, number, problems| to.apply_key("retry_wait_s", &number, problems);
        max_cost_usd: Number as OfBase, "none", "cost [limit](runs.md#limits) of a run in US dollars",
            |to, number, problems| to.apply_key("max_cost_usd", &number, problems);
        max_tokens: Number as OfBase, "none", "the same for tokens",
            |to, number, problems| to.apply_key("max_tokens", &number, problems);
        prices: BTreeMap<String, Spanned<limits::PriceKeys>> as OfBase, "", "", |to, tables, problems| for (name, table) in tables {
            to.prices.0.insert(name, table.get_ref().price(table.span(), problems));
        };
        env: BTreeMap<Spanned<String>, String>
            as Refused("variables can show paths in the sandbox, and send credentials to another server"),
            "none",
            "table of variables to set for the agents. `{root}` is the repository's root, `{workspace}` the trial's workspace",
            |to, table, problems| for (name, value) in table {
                if value.contains('\0') {
                    problems.add(name.span(), format!("the value of {:?} has a NUL, which ends it; remove it", name.get_ref()));
                }
                to.env.extend(problems.variables([name]).pop().map(|name| (name, value)));
            };
        pass_env: Vec<Spanned<String>>
            as Refused("the sandbox would show these variables of yours"),
            "none",
            "your variables that agents may see, in addition to the usual ones (PATH, language, proxies, their own credentials)",
            |to, names, problems| to.pass_env.extend(problems.variables(names));
        secret_env: Vec<Spanned<String>>, "none",
            "your variables whose values are masked too, besides those with [a name of a secret](security.md#secrets-in-stored-files). Evidence is masked before it is graded: a pattern that is not found in a masked final message is unknown",
            |to, names, problems| to.secret_env.extend(problems.variables(names));
        agents: BTreeMap<Spanned<String>, agents::AgentKeys>
            as Refused("the repository would choose the programs that get your credentials, and their arguments"),
            "", "";
        mode: BTreeMap<Spanned<String>, mode::ModeKeys> as OfBase, "", "";
        check: Spanned<toml::Value> as OfBase, "none",
            "script, or list of scripts, by paths from the repository's root, that [check every trial](../checks.md)",
            |to, scripts, problems| to.checks.add(None, &scripts, problems);
        check_timeout_s: Number as OfBase, "`60`", "timeout in seconds of a script that checks a trial",
            |to, number, problems| to.apply_key("check_timeout_s", &number, problems);
        judge: check::JudgeKeys as OfBase, "", "", |to, mut table, problems| table.apply(to, problems);
        user: check::UserKeys as OfBase, "", "", |to, mut table, problems| table.apply(to, problems);
        gate: check::GateKeys as OfBase, "", "", |to, mut table, problems| table.apply(to, problems);
        run: limits::RunKeys as OfBase, "", "", |to, mut table, problems| table.apply(to, problems);
        lint: check::LintKeys as OfBase, "", "", |to, mut table, problems| table.apply(to, problems);
        mcp: Spanned<server::McpKeys>, "", "", |to, table, problems| to.apply_mcp(table.span(), table.into_inner(), problems);
        mocks: server::MocksKeys, "", "", |to, mut table, problems| table.apply(to, problems);
        isolation: Isolation
            as RefusedIf("agent", "agents and scripts would run outside the sandbox"),
            "`\"bwrap\"`",
            "what confines agents: bubblewrap where it works, `\"docker\"` for [containers](security.md#what-an-agent-sees-in-a-container), or `\"agent\"` for only the agent's own sandbox",
            |to, kind, _| to.isolation.kind = kind;
        network: Spanned<toml::Value> as OfBase, "`\"host\"`; `\"provider\"` in an untrusted repository inside bubblewrap",
            "what agents, setups and checks [reach](security.md#what-an-agent-reaches): all that this machine does (`\"host\"`), `\"web\"`, only the agent's `\"provider\"`, or a list of hosts",
            |to, written, problems| to.network.reach = Network::of_key(&written, problems);
        network_allow: Vec<Spanned<String>> as OfBase, "none",
            "servers that they reach whatever `network` says, as `host:port`, also on this machine",
            |to, servers, problems| {
                let servers = servers.iter().filter_map(|server| problems.parsed::<AllowedServer>(server));
                to.network.allowed.extend(servers.map(|server| server.0));
            };
        home: Home
            as RefusedIf("user", "agents would have your own settings, plugins and skills"),
            "`\"isolated\"`", "whose setup agents have: `\"user\"` is [your own](../modes.md#your-own-setup)",
            |to, home, _| to.isolation.home = home;
        require_recordings: bool as OfBase, "`true` if the variable `CI` is set, and not to `0` or `false`",
            "whether a case without a recording is an error in replay",
            |to, flag, _| to.require_recordings = Some(flag);
        partial: bool as OfBase, "`false`",
            "whether a case of another program runs without what is [unsupported](../formats.md#unsupported); each of its results says so",
            |to, flag, _| to.partial = flag;
        calibrate: Calibrate
            as RefusedIf("off", "what is known to be read wrongly would count"),
            "`\"auto\"`",
            "which agents a live run first [calibrates](../troubleshooting.md#can-i-trust-the-numbers-of-this-agent): `\"auto\"` those of a version that nobody has measured, `\"off\"` none, `\"always\"` all",
            |to, which, _| to.calibrate = which;
        require_isolation: bool, "`false`", "whether a trial outside bubblewrap is an error",
            |to, flag, _| to.isolation.required = flag;
        require_sandbox: bool, "`false`", "old name of `require_isolation`", |to, flag, _| to.isolation.required = flag;
        isolation_read: Vec<Spanned<String>>
            as Refused("the sandbox would show these paths"),
            "none",
            "files and directories that agents may read, in addition to [what they see](security.md#what-an-agent-sees-inside-bubblewrap)",
            |to, paths, problems| to.isolation.read(paths, problems);
        create: Vec<Spanned<String>>, "none", "directories to make in every workspace before the agent starts",
            |to, paths, problems| to.create.extend(problems.paths(paths, "the directory to create"));
        trust: Vec<Spanned<String>>
            as Refused("hooks and servers of its plugins would run with your credentials"),
            "none",
            "directories of plugins whose [hooks, servers and commands](../plugins.md#who-agrees-that-a-plugin-runs-code) may run",
            |to, plugins, problems| {
                to.trust_places = problems.places(&plugins);
                to.isolation.trusted.extend(problems.directories(plugins, "the plugin"));
            };
    }
}

/// Whether a file of TOML has settings of this program: as many keys of its top are ours as are not. `None` if it cannot be read.
pub fn are_ours(text: &str) -> Option<bool> {
    let table: toml::Table = text.parse().ok()?;
    let ours = table.keys().filter(|key| SettingsKeys::ROWS.iter().any(|row| row.key == *key)).count();
    Some(ours > 0 && 2 * ours >= table.len())
}

/// All keys of evals.toml.
pub fn key_rows() -> impl Iterator<Item = &'static KeyRow> {
    let tables = [
        SettingsKeys::ROWS,
        agents::AgentKeys::ROWS,
        mode::ModeKeys::ROWS,
        trials::SkillKeys::ROWS,
        limits::PriceKeys::ROWS,
        limits::RunKeys::ROWS,
        check::GateKeys::ROWS,
        check::LintKeys::ROWS,
        check::JudgeKeys::ROWS,
        check::UserKeys::ROWS,
        server::MocksKeys::ROWS,
        server::AnswerKeys::ROWS,
        server::McpKeys::ROWS,
    ];
    tables.into_iter().flatten()
}

impl Settings {
    /// Applies the text of `evals.toml`. The error has every invalid value, but of syntax errors and unknown keys the first.
    pub fn apply_file(&mut self, text: &str) -> Result<(), Vec<Diagnostic>> {
        let mut file: SettingsKeys = toml::from_str(text).map_err(|error| vec![problems::of_parser(text, &error)])?;
        let mut problems = Problems::of(text);
        self.written = WrittenSettings::of(text);
        self.apply_agents(file.agents.take().unwrap_or_default(), &mut problems);
        self.apply_modes(file.mode.take().unwrap_or_default(), file.modes.take(), &mut problems);
        // The model of every mode that has none. The environment and the command line override both.
        for mode in self.modes.iter_mut().filter(|mode| mode.model.is_none()) {
            Arc::make_mut(mode).model.clone_from(&file.model);
        }
        file.require_sandbox = file.require_sandbox.filter(|_| file.require_isolation.is_none());
        let readable: Vec<String> = file.isolation_read.iter().flatten().map(|path| path.get_ref().clone()).collect();
        let says_isolation = file.isolation.is_some() || file.require_isolation.or(file.require_sandbox).is_some();
        let says_network = file.network.is_some() || file.network_allow.is_some();
        file.apply(self, &mut problems);
        if says_network {
            self.network.declare();
        }
        if says_isolation || !readable.is_empty() {
            self.isolation.declare(&readable);
        }
        if problems.list.is_empty() { Ok(()) } else { Err(problems.list.into_vec()) }
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
