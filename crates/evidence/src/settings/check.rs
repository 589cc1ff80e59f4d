//! What grades: `check`, the scripts of the repository and how long each may take; `judge` and `user`; `lint`; `gate`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use toml::Spanned;

use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::settings::Settings;
use crate::settings::keys::Untrusted::Refused;
use crate::settings::keys::{defaults, keys};
use crate::settings::mode::AgentKind;
use crate::settings::problems::{Number, Problems, filled};
use crate::text::diagnostic::{Code, Diagnostic, Level, Severity, SourceLocation, nearest_few};
use crate::text::name::RelativePath;
use crate::text::word_enum::word_enum;

/// A script that the settings file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedScript {
    /// Its path from the repository's root.
    pub path: RelativePath,
    /// Where the settings file names it.
    pub place: SourceLocation,
}

defaults! {
    /// The scripts that check every trial, or every trial of a skill.
    #[derive(Clone, Debug)]
    pub struct CheckSettings {
        all: Vec<NamedScript> = Vec::new(),
        of_skills: BTreeMap<String, Vec<NamedScript>> = BTreeMap::new(),
        /// Maximum duration of a program that answers a check.
        pub timeout: Duration = Duration::from_secs(60),
    }
}

impl CheckSettings {
    /// The scripts that check the trials of the skill with this slug.
    pub fn of(&self, skill: &str) -> impl Iterator<Item = &NamedScript> {
        self.all.iter().chain(self.of_skills.get(skill).into_iter().flatten())
    }

    /// Adds the scripts of every trial, or those of a skill: a path or a list of paths.
    pub(super) fn add(&mut self, skill: Option<String>, written: &Number, problems: &mut Problems<'_>) {
        let paths = match written.get_ref() {
            toml::Value::Array(paths) => paths.as_slice(),
            path => std::slice::from_ref(path),
        };
        let place = problems.place(written.span());
        let mut scripts = Vec::new();
        for path in paths {
            match path.as_str().map(RelativePath::parse) {
                Some(Ok(path)) => scripts.push(NamedScript { path, place: place.clone() }),
                Some(Err(why)) => problems.add(written.span(), format!("the check {path} {why}")),
                None => problems.add(written.span(), format!("`check` has {path}; expected a path or a list of paths")),
            }
        }
        match skill {
            Some(skill) => self.of_skills.entry(skill).or_default().extend(scripts),
            None => self.all.extend(scripts),
        }
    }
}

// `[judge]` and `[user]`: which agent judges by the rubric, and when, and which plays the user who answers.

pub const DEFAULT_JUDGE_TIMEOUT: Duration = Duration::from_secs(180);

/// Maximum number of votes on one trial.
pub const MOST_VOTES: u32 = 99;

/// What an untrusted repository would do with the keys of a judge, and of a user.
const JUDGE: &str = "the repository would choose its own judge";
const PLAYER: &str = "the repository would choose who plays its users";

defaults! {
    /// Which agent judges by the rubric, and when.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct JudgeSettings {
        /// Whether every trial is judged, or none; `None` if each case decides.
        pub wanted: Option<bool> = None,
        pub agent: AgentKind = AgentKind::default(),
        /// The model that judges; `None` for the agent's default, whatever model is under test.
        pub model: Option<String> = None,
        pub timeout: Duration = DEFAULT_JUDGE_TIMEOUT,
        /// How often each trial is judged; more than half have to agree.
        pub votes: u32 = 1,
        /// The template of the prompt, from the repository's root, if there is one.
        pub template: Option<RelativePath> = None,
    }
}

keys! {
    JudgeKeys of "[judge]" {
        agent: AgentKind as Refused(JUDGE), "`\"{agent}\"`", "the agent that judges", |to, agent, _| to.judge.agent = agent;
        #[serde(default, deserialize_with = "filled")]
        model: String as Refused(JUDGE), "the agent's default", "its model, independent of the model under test",
            |to, model, _| to.judge.model = Some(model);
        timeout_s: Number, "`180`", "judge timeout in seconds",
            |to, number, problems| to.apply_key("judge.timeout_s", &number, problems);
        votes: Number, "`1`", "how often each trial is judged; more than half must agree",
            |to, number, problems| to.apply_key("judge.votes", &number, problems);
        template: Spanned<String> as Refused("the repository would choose what its judge is asked"), "`evals/judge.md` if it exists, else the built-in template",
            "the prompt: see [the judge](../judge.md)",
            |to, path, problems| to.judge.template = problems.paths([path], "the judge's template").pop();
    }
}

/// Which agent plays the user of a case; without it, the agent that judges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerSettings {
    agent: Option<AgentKind>,
    model: Option<String>,
}

keys! {
    UserKeys of "[user]" {
        agent: AgentKind as Refused(PLAYER), "the agent that judges", "the agent that plays [a user who answers](user.md)",
            |to, agent, _| to.user.agent = Some(agent);
        #[serde(default, deserialize_with = "filled")]
        model: String as Refused(PLAYER), "the judge's, if no agent is named here; else the agent's default", "its model",
            |to, model, _| to.user.model = Some(model);
    }
}

impl Settings {
    /// The agent that plays the user, and its model; `None` for the agent's default.
    pub fn player(&self) -> (AgentKind, Option<&String>) {
        let PlayerSettings { agent, model } = &self.user;
        let of_judge = self.judge.model.as_ref().filter(|_| agent.is_none());
        (agent.unwrap_or(self.judge.agent), model.as_ref().or(of_judge))
    }
}

// `[lint]`: which rules of `lint` may be broken, with the reason, and the severity of others.

/// The severities that differ from those of the rules, by rule, with the reason.
#[derive(Clone, Debug, Default)]
pub struct LintSettings(BTreeMap<Code, (Severity, Option<String>)>);

keys! {
    #[serde(expecting = "a table: `[lint]` with `allow`, `warning` or `error`")]
    LintKeys of "[lint]" {
        allow: Vec<Number>, "none", "rules to ignore, each with a reason: see [lint](lint.md)",
            |to, rules, problems| to.lint.set_all(Severity::Allowed, &rules, problems);
        warning: Vec<Number>, "none", "rules whose problems are warnings",
            |to, rules, problems| to.lint.set_all(Severity::Warning, &rules, problems);
        error: Vec<Number>, "none", "rules whose problems are errors",
            |to, rules, problems| to.lint.set_all(Severity::Error, &rules, problems);
    }
}

/// The form of a rule in `allow`.
const ALLOWED: &str = "{ rule = \"…\", reason = \"…\" }";

impl LintSettings {
    pub fn judged(&self, mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for problem in &mut problems {
            if let Some((severity, reason)) = self.0.get(&problem.code) {
                problem.severity = *severity;
                problem.reason.clone_from(reason);
            }
        }
        problems
    }

    /// Whether the settings ask for the problems of this rule.
    pub fn asks_for(&self, code: Code) -> bool {
        self.0.get(&code).is_some_and(|(severity, _)| *severity != Severity::Allowed)
    }

    fn set_all(&mut self, severity: Severity, rules: &[Number], problems: &mut Problems<'_>) {
        for rule in rules {
            let (name, reason) = match name_and_reason(rule.get_ref()) {
                Ok(rule) => rule,
                Err(why) => {
                    problems.add(rule.span(), why);
                    continue;
                }
            };
            let code = Code::ALL.iter().copied().find(|code| code.as_str() == name);
            let problem = match code {
                None => {
                    problems.add_with(rule.span(), || unknown_rule(name));
                    continue;
                }
                Some(code) if code.level() == Level::Fixed => format!(
                    "the rule `{code}` is always an error: what breaks it cannot be read, or cannot be given to an agent\nif its file holds no cases of skills, name that in `not_cases`"
                ),
                Some(_) if severity == Severity::Allowed && reason.is_none() => {
                    format!("what is allowed needs a reason: {ALLOWED}")
                }
                Some(code) if self.0.insert(code, (severity, reason)).is_some() => {
                    format!("the rule `{code}` is named twice")
                }
                Some(_) => continue,
            };
            problems.add(rule.span(), problem);
        }
    }
}

/// The message about an unknown rule. It takes time: a file may name a million.
fn unknown_rule(name: &str) -> String {
    let near = nearest_few(name, Code::ALL.iter().map(|code| code.as_str()), 3).join("`, `");
    format!("unknown rule `{name}`; nearest: `{near}` (all: docs/reference/lint.md)")
}

/// The name of a rule and the reason next to it.
fn name_and_reason(written: &toml::Value) -> Result<(&str, Option<String>), String> {
    if let Some(name) = written.as_str() {
        return Ok((name, None));
    }
    let table =
        written.as_table().ok_or_else(|| format!("this is {written}; expected the name of a rule, or {ALLOWED}"))?;
    if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "rule" | "reason")) {
        return Err(format!("unknown key `{key}`; expected {ALLOWED}"));
    }
    if table.get("reason").is_some_and(|reason| !reason.is_str()) {
        return Err(format!("`reason` is not text; expected {ALLOWED}"));
    }
    let text = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let name = text("rule").ok_or_else(|| format!("this names no rule; expected {ALLOWED}"))?;
    Ok((name, text("reason").map(str::to_owned)))
}

// `not_cases`: what holds no cases.

/// Patterns of paths from the repository's root.
#[derive(Clone, Debug, Default)]
pub struct PathGlobs(Vec<GlobMatcher>);

impl PathGlobs {
    pub(super) fn of(written: &[Spanned<String>], problems: &mut Problems<'_>) -> Self {
        let mut globs = Vec::new();
        for glob in written {
            // `/` is the root, as in the paths of cases.
            let text = glob.get_ref().trim_start_matches("./").trim_matches('/');
            match GlobBuilder::new(text).literal_separator(true).build() {
                Ok(built) if !text.is_empty() => globs.push(built.compile_matcher()),
                Ok(_) => problems.add(glob.span(), "`not_cases` has an empty pattern".to_owned()),
                Err(error) => problems.add(glob.span(), format!("`not_cases`: {error}")),
            }
        }
        Self(globs)
    }

    /// Whether a path, or a directory around it, has one of these patterns.
    pub fn have(&self, path: &Path) -> bool {
        !self.0.is_empty() && path.ancestors().any(|part| self.0.iter().any(|glob| glob.is_match(part)))
    }

    /// The patterns that none of these paths has, nor a directory around one.
    pub fn unused<'a>(&'a self, paths: &'a [PathBuf]) -> impl Iterator<Item = &'a str> {
        let is_unused =
            |glob: &&GlobMatcher| !paths.iter().flat_map(|path| path.ancestors()).any(|part| glob.is_match(part));
        self.0.iter().filter(is_unused).map(|glob| glob.glob().glob())
    }

    /// The pattern that one path has, and nothing else.
    pub fn glob_of(path: &Path) -> String {
        let is_special = |c: char| "*?[{".contains(c);
        let path = path.to_string_lossy();
        path.chars().map(|c| if is_special(c) { format!("[{c}]") } else { c.to_string() }).collect()
    }

    /// These patterns and those of these paths.
    #[must_use]
    pub fn with<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Self {
        let new = paths.into_iter().filter_map(|path| {
            let glob = GlobBuilder::new(&Self::glob_of(path)).literal_separator(true).build();
            glob.ok().map(|glob| glob.compile_matcher())
        });
        Self(self.0.iter().cloned().chain(new).collect())
    }
}

// `[gate]`: what `skill-evals gate` compares, what fails it, and what it may cost.

/// How many gates a year has if the settings do not say.
const GATES_A_YEAR: u32 = 500;

word_enum! {
    /// What becomes of a gate that could have compared something, and did not.
    #[derive(Default)]
    pub enum NothingCompared {
        /// It has an answer and an exit code of its own.
        #[default]
        Fail = "fail",
        Pass = "pass",
    }
}

defaults! {
    /// What a gate does if its command line does not say.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GateSettings {
        /// The git reference to compare with; `None` for the last commit in common with the default branch.
        pub base: Option<String> = None,
        /// The results that fail it; none for `broke` and `worse`.
        pub fail_on: Vec<CompareResult> = Vec::new(),
        /// When its comparison stops.
        pub plan: ComparePlan = ComparePlan::Quick,
        /// Maximum number of trials; `None` for that of the plan.
        pub max_trials: Option<u64> = None,
        /// How old a trial of an earlier gate may be that stands for one of the base.
        pub max_age: Duration = days(7),
        /// Number of similar skills whose positive cases run too if a description changed.
        pub neighbors: usize = 2,
        /// For how many gates together a false alarm has the chance of 5 % at most.
        pub promised_for: u32 = 1,
        pub nothing_compared: NothingCompared = NothingCompared::default(),
        max_cost_usd: Option<f64> = None,
        require_recordings: Option<bool> = None,
    }
}

keys! {
    GateKeys of "[gate]" {
        base: String, "the last commit in common with the default branch",
            "git reference that a [gate](../gate.md) compares with", |to, base, _| to.gate.base = Some(base);
        fail_on: Spanned<Vec<Spanned<String>>>, "`broke` and `worse`", "results of the comparison that fail the gate",
            |to, names, problems| {
                if names.get_ref().is_empty() {
                    let write = "write `fail_on = [\"broke\", \"worse\"]`, or leave it out for the same";
                    problems.add(names.span(), format!("`fail_on` is empty, so nothing would fail the gate; {write}"));
                }
                for name in names.get_ref() {
                    let known = || CompareResult::GATED.map(|known| known.as_str().replace(' ', "-"));
                    let result = problems.word("result", name, |name| name.parse::<CompareResult>().ok(), known);
                    to.gate.fail_on.extend(result);
                }
            };
        plan: Spanned<String>, "`\"quick\"`", "when its comparison stops: `quick`, `standard` or `until-decided`",
            |to, plan, problems| {
                let known = problems.word("plan", &plan, ComparePlan::named, || ComparePlan::WORDS);
                to.gate.plan = known.unwrap_or(to.gate.plan);
            };
        max_trials: Spanned<i64>, "by the plan and the number of cases", "maximum number of trials of both sides",
            |to, most, problems| to.gate.max_trials = problems.number("max_trials", &most, 2..=1_000_000);
        max_cost_usd: Spanned<f64>, "`max_cost_usd` at the top of the file; 5 if nothing limits the gate", "the same for a gate",
            |to, cost, problems| {
                to.gate.max_cost_usd = Some(*cost.get_ref()).filter(|cost| *cost > 0.0 && cost.is_finite());
                if to.gate.max_cost_usd.is_none() {
                    problems.add(cost.span(), format!("`max_cost_usd` is {}; expected above 0", cost.get_ref()));
                }
            };
        max_age_days: Spanned<i64>, "`7`", "days for which trials of earlier gates are used; `0` measures all",
            |to, most, problems| if let Some(most) = problems.number("max_age_days", &most, 0..=365) {
                to.gate.max_age = days(most);
            };
        require_recordings: bool, "`require_recordings` at the top of the file", "the same for a gate",
            |to, flag, _| to.gate.require_recordings = Some(flag);
        neighbors: Spanned<i64>, "`2`", "number of similar skills whose positive cases run too if a description changed",
            |to, number, problems| {
                to.gate.neighbors = problems.number("neighbors", &number, 0..=1000).unwrap_or(to.gate.neighbors);
            };
        promise: Spanned<String>, "`\"gate\"`",
            "for which gates together a false alarm has a chance of 5 % at most: each gate by itself, or all gates of a `\"year\"`",
            |to, promise, problems| {
                let gates = |word: &str| [("gate", 1), ("year", GATES_A_YEAR)].into_iter().find(|known| known.0 == word);
                let known = problems.word("promise", &promise, gates, || ["gate", "year"]);
                to.gate.promised_for = known.map_or(1, |(_, gates)| gates);
            };
        gates_a_year: Spanned<i64>, "`500`", "how many gates a year has, with `promise = \"year\"`",
            |to, gates, problems| {
                if to.gate.promised_for == 1 {
                    problems.add(gates.span(), "`gates_a_year` is only read with `promise = \"year\"`".to_owned());
                }
                to.gate.promised_for = problems.number("gates_a_year", &gates, 1..=100_000).unwrap_or(GATES_A_YEAR);
            };
        nothing_compared: Spanned<String>, "`\"fail\"`",
            "what becomes of a gate that measured no case although the change touches a skill that has some: exit code 5, or `\"pass\"`",
            |to, written, problems| {
                let known = problems.word("nothing_compared", &written, NothingCompared::named, || NothingCompared::WORDS);
                to.gate.nothing_compared = known.unwrap_or_default();
            };
    }
}

impl GateSettings {
    /// The chance of a false alarm of one gate. By Bonferroni's inequality the sum over the gates of the promise is 5 %, whatever they
    /// share: kept trials, the provider's bad days. So nothing about earlier gates has to be stored.
    pub fn alpha(&self) -> f64 {
        Rule::default().alpha / f64::from(self.promised_for)
    }

    /// How sure a gate is.
    pub fn rule(&self) -> Rule {
        Rule { alpha: self.alpha(), margin: Some(MARGIN), ..Rule::default() }
    }

    /// Refuses to fail on a result that the plan never has. `quick` and `standard` are undecided only for lost trials, which are
    /// `not measured`, and at a limit.
    pub fn check_reachable(&self) -> Result<(), String> {
        let never = match self.plan {
            ComparePlan::UntilDecided => CompareResult::NoHarmSeen,
            _ => CompareResult::Undecided,
        };
        if !self.fail_on.contains(&never) {
            return Ok(());
        }
        let (plan, result) = (self.plan.as_str(), never.as_str().replace(' ', "-"));
        Err(format!(
            "`{result}` never fails a gate with the plan `{plan}`: take it out of what fails the gate, or choose another plan"
        ))
    }
}

impl Settings {
    /// The settings of the file for a gate: its table overrides the rest.
    #[must_use]
    pub fn for_gate(mut self) -> Self {
        self.max_cost_usd = self.gate.max_cost_usd.or(self.max_cost_usd);
        self.require_recordings = self.gate.require_recordings.or(self.require_recordings);
        self
    }
}

fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 3600)
}
