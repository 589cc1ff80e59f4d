//! Digests of everything that decides a trial, read from the repository as it is now. If they differ from those of a
//! recording, the recording is stale.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value as Json, json};

use crate::agent;
use crate::agent::snapshot::{SkillSnapshot, plugin_files};
use crate::cases::case::Case;
use crate::cases::case_parts::{CaseTree, TreeDigests, or_problem};
use crate::cases::case_parts::{MOST_TURNS, SeenBy};
use crate::cases::catalog::{Catalog, FoundSkill};
use crate::cases::plugin::PLUGINS;
use crate::settings::mode::{AgentKind, Delivery, Mode, SkillSelection};
use crate::settings::{
    AgentSettings, CustomStart, Home, IsolationSettings, JudgeSettings, McpSettings, OwnServer, Settings,
};
use crate::text::redact::looks_secret;
use crate::trial::evidence::{CATALOGUE_PART, Inputs, SKILL_PART};

/// The prefix of the name of a part that belongs to the user's setup.
pub const SETUP_PART: &str = "user's setup: ";

/// The part for the plugin that the agent gets.
pub(super) const PLUGIN_PART: &str = "plugin";

/// Digests parts of the repository, each directory once.
#[derive(Debug, Default)]
pub struct InputReader {
    known: TreeDigests,
    /// The user's setup, by agent.
    setups: Mutex<HashMap<AgentKind, BTreeMap<String, String>>>,
}

/// Where the skills are that agents get.
#[derive(Clone, Copy, Debug)]
pub enum SkillFolders<'a> {
    Snapshot(&'a SkillSnapshot),
    Repository,
}

/// What trials of a run see, besides their case and mode.
#[derive(Clone, Copy, Debug)]
pub struct DigestInputs<'a> {
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub catalog: &'a Catalog,
    /// The root of the tree that has these skills.
    pub skills_root: &'a Path,
    pub skills: SkillFolders<'a>,
}

impl InputReader {
    /// Everything that decides a trial of `case` in `mode`: what the agent sees, and how it is started. Of the skill under
    /// test and the skills in `opened`, all files count.
    pub fn read(&self, sources: &DigestInputs<'_>, case: &Case, mode: &Mode, opened: &[String]) -> io::Result<Inputs> {
        let settings = sources.settings;
        let mut inputs = Inputs::default();
        let tree = self.tree(sources, mode);
        for part in case.parts().into_iter().filter(|part| part.seen_by == SeenBy::Agent) {
            inputs.0.extend(part.digest(&tree)?.map(|digest| (part.name.into_owned(), digest)));
        }
        for (seen_by, name, text) in setting_parts(settings, mode, case) {
            if seen_by == SeenBy::Agent {
                inputs.add(name, text.as_bytes());
            }
        }
        if settings.live && settings.isolation.home == Home::User {
            self.add_setup(&mut inputs, mode.agent)?;
        }
        if mode.delivery != Delivery::None {
            self.add_skills(&mut inputs, sources, case, mode, opened)?;
        }
        Ok(inputs)
    }

    /// A digest of all that the agent of a trial of `case` in `mode` does not see and that decides its verdict.
    pub fn checks(&self, sources: &DigestInputs<'_>, case: &Case, mode: &Mode) -> io::Result<String> {
        let mut inputs = Inputs::default();
        let parts = setting_parts(sources.settings, mode, case);
        for (_, name, text) in parts.into_iter().filter(|(seen_by, ..)| *seen_by == SeenBy::Checks) {
            inputs.add(name, text.as_bytes());
        }
        inputs.0.insert("case".to_owned(), case.digest_of(SeenBy::Checks, &self.tree(sources, mode))?);
        Ok(inputs.digest())
    }

    fn tree<'a>(&'a self, sources: &DigestInputs<'a>, mode: &Mode) -> CaseTree<'a> {
        let DigestInputs { root, settings, catalog, .. } = *sources;
        CaseTree { root, settings, delivery: mode.delivery, mock_servers: &catalog.mock_servers, known: &self.known }
    }

    /// Adds the user's own setup of the agent, each part of it.
    fn add_setup(&self, inputs: &mut Inputs, agent: AgentKind) -> io::Result<()> {
        let mut setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = match setups.entry(agent) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(agent::own_setup(agent).map_err(|trouble| io::Error::other(trouble.detail))?)
            }
        };
        inputs.0.extend(parts.iter().map(|(path, digest)| (format!("{SETUP_PART}{path}"), digest.clone())));
        Ok(())
    }

    fn add_skills(
        &self,
        inputs: &mut Inputs,
        sources: &DigestInputs<'_>,
        case: &Case,
        mode: &Mode,
        opened: &[String],
    ) -> io::Result<()> {
        let DigestInputs { settings, catalog, skills_root, skills, .. } = *sources;
        let hides_user_only = hides_user_only(settings, mode);
        let list: Vec<(&str, &str)> = catalog
            .skills
            .iter()
            .map(FoundSkill::skill)
            .filter(|skill| mode.offer.includes(&case.skill, &skill.slug))
            .filter(|skill| !skill.user_only || !hides_user_only)
            .map(|skill| (skill.name.as_str(), skill.description.as_str()))
            .collect();
        inputs.add(CATALOGUE_PART, serde_json::to_string(&list)?.as_bytes());
        for slug in std::iter::once(&case.skill).chain(opened) {
            let Some(found) = catalog.skill(slug) else { continue };
            let digest = match skills {
                SkillFolders::Snapshot(snapshot) => or_problem(snapshot.digest(slug).map(str::to_owned)),
                SkillFolders::Repository => self.known.skill(&skills_root.join(&found.skill().folder))?,
            };
            inputs.0.insert(format!("{SKILL_PART}{slug}"), digest);
        }
        if let Some(plugin) = catalog.skill(&case.skill).and_then(|found| found.plugin_for(mode, case)) {
            let digest = match skills {
                SkillFolders::Snapshot(snapshot) => {
                    or_problem(snapshot.digest(&plugin.place().to_string_lossy()).map(str::to_owned))
                }
                SkillFolders::Repository => self
                    .known
                    .folder(&skills_root.join(&plugin.folder).join(PLUGINS), |_| plugin_files(skills_root, plugin))?,
            };
            inputs.0.insert(PLUGIN_PART.to_owned(), digest);
        }
        Ok(())
    }
}

/// Whether a model in this mode never sees skills that only users may call. The built-in MCP server does not serve them;
/// a repository's own server may.
fn hides_user_only(settings: &Settings, mode: &Mode) -> bool {
    let natively = mode.delivery.native() && !mode.agent.profile().hides_user_only;
    let by_mcp = mode.delivery.mcp() && settings.mcp.own.is_some();
    !(natively || by_mcp)
}

/// The skills whose whole directories a recording depends on.
pub fn opened_skills(inputs: &Inputs) -> Vec<String> {
    inputs.0.keys().filter_map(|name| name.strip_prefix(SKILL_PART)).map(str::to_owned).collect()
}

/// How what decides a trial has changed since its recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingDrift {
    /// The changed parts that make the recording stale.
    pub stale: Vec<String>,
    /// Whether the names or descriptions of the offered skills changed. The description of the skill under test is part of
    /// its files, which make the recording stale; a neighbor's only makes it aged.
    pub aged: bool,
}

impl RecordingDrift {
    /// Compares a recording with a trial `now`. If no model is requested now, any recorded model fits. The inputs `as_before` are
    /// those of `now` in the older forms that recordings may have.
    pub fn between(recorded: &Inputs, now: &Inputs, as_before: &Inputs) -> Self {
        let mut stale = recorded.differences(now);
        stale.retain(|part| part != MODEL || now.0.contains_key(MODEL));
        stale.retain(|part| !as_before.0.contains_key(part) || recorded.0.get(part) != as_before.0.get(part));
        let aged = stale.iter().any(|part| part == CATALOGUE_PART);
        stale.retain(|part| part != CATALOGUE_PART);
        Self { stale, aged }
    }
}

/// The inputs whose digests had another form until version 0.1, in that form.
pub fn as_before(settings: &Settings, mode: &Mode, case: &Case) -> Inputs {
    let mut inputs = Inputs::default();
    if let Some(tools) = &case.tools {
        inputs.add("tools", format!("{tools:?}").as_bytes());
    }
    if !case.env.is_empty() {
        inputs.add("environment", format!("{:?}", case.env).as_bytes());
    }
    if let Some(server) = settings.mcp.own.as_ref().filter(|_| mode.delivery.mcp()) {
        inputs.add(OWN_SERVER, format!("{server:?}").as_bytes());
    }
    inputs
}

// The settings that decide trials, part by part, and who sees each part: with the parts of a case
// (`Case::parts`), all that decides its trials besides the skills.
//
// It takes the settings and the mode apart by all their fields: a new one does not compile until somebody says who sees it.

/// The name of the part for the model that is asked for.
pub const MODEL: &str = "setting model";

/// The name of the part for a repository's own MCP server of skills.
const OWN_SERVER: &str = "setting mcp";

/// A part of the settings: who sees it, its name in recordings, and its text.
pub type SettingPart = (SeenBy, String, String);

/// What decides the trials of `case` in `mode`. A part exists only if somebody chose it, so that a new setting does not make
/// old recordings stale. The threshold is not among them: a run knows it.
fn setting_parts(settings: &Settings, mode: &Mode, case: &Case) -> Vec<SettingPart> {
    #[rustfmt::skip]
    let Settings {
        timeout, create, env, pass_env, mcp, isolation, network, checks, judge, prices, partial,
        // What the functions below ask for.
        activation: _, agents: _, max_turns: _, model: _, root: _, secret_env: _, user: _,
        // A part of each case has these.
        mocks: _,
        // Which trials run, when and where, and what becomes of their results.
        repetition: _, skill_roots: _, trust_places: _, not_cases: _, own_columns: _, own_keys: _, formats: _, harness: _, modes: _, selected_modes: _,
        default_modes: _, live: _, require_recordings: _, jobs: _, stop: _, lift: _, gate: _, lint: _, selection: _, run_id: _,
        resume: _, force: _, record: _, max_cost_usd: _, max_tokens: _, limit_is_default: _, retries: _, retry_wait: _, scratch: _, calibrate: _,
        lead: _,
        // Trials store these by themselves.
        scripted: _, endpoint: _, replay_model: _,
        // What it decides is in the others.
        untrusted: _,
        // Of no trial that is replayed or kept.
        recorded_mocks: _,
        // Only for messages.
        written: _,
    } = settings;
    // Isolation chosen in the environment belongs to a machine, and makes no recording stale.
    let IsolationSettings { declared, kind: _, required: _, image: _, home: _, readable: _, trusted: _ } = isolation;
    let mut parts = Parts(Vec::new());
    parts.agent("mode", start(mode));
    parts.agent_if(MODEL, settings.model_for(mode));
    parts.agent_if(MOST_TURNS, settings.max_turns_of(case.max_turns));
    parts.of_program(settings, mode);
    for (name, value) in env {
        parts.agent(format!("setting env.{name}"), public(settings, name, value));
    }
    parts.agent_if("setting pass_env", (!pass_env.is_empty()).then(|| pass_env.join("\0")));
    if mode.delivery.mcp() {
        parts.of_server(settings, mcp);
    }
    let folders: Vec<String> = create.iter().map(ToString::to_string).collect();
    parts.agent_if("setting create", (!folders.is_empty()).then(|| folders.join("\0")));
    parts.agent_if("setting isolation", declared.as_ref());
    parts.agent_if("setting network", network.declared.as_ref());
    let rule = case.activation.or_else(|| settings.activation_for(&case.skill, &mode.name));
    parts.checks("activation", &json!(rule));
    parts.checks("timeout", &json!([case.timeout.unwrap_or(*timeout), checks.timeout]));
    if case.is_judged(settings) {
        // The template is read for a part of the case.
        let JudgeSettings { wanted, agent, model, timeout, votes, template: _ } = judge;
        parts.checks("setting judge", &json!([wanted, agent.as_str(), model, timeout, votes]));
    }
    if case.user.is_some() {
        let (agent, model) = settings.player();
        parts.checks("setting user", &json!([agent.as_str(), model]));
    }
    if !case.unsupported.is_empty() {
        parts.checks("setting partial", &json!(partial));
    }
    parts.checks("setting prices", &json!(prices));
    parts.0
}

/// How its agent is started and gets the skills.
fn start(mode: &Mode) -> String {
    // Its name and its commit say where the rest is from, which is here.
    let Mode { name: _, agent, delivery, model: _, args, offer, activation: _, commit: _ } = mode;
    let words = [format!("{} {}", agent.as_str(), delivery.as_str())];
    let offer = (*offer != SkillSelection::All).then(|| format!("offer {offer}"));
    words.into_iter().chain(args.iter().cloned()).chain(offer).collect::<Vec<_>>().join("\0")
}

/// The value of a variable. A digest of a short secret gives it away: of secrets only the name counts.
fn public(settings: &Settings, name: &String, value: &str) -> String {
    let is_secret = settings.secret_env.contains(name) || looks_secret(name, value);
    if is_secret { String::new() } else { value.to_owned() }
}

fn public_values<'a>(settings: &Settings, env: &'a BTreeMap<String, String>) -> Vec<(&'a String, String)> {
    env.iter().map(|(name, value)| (name, public(settings, name, value))).collect()
}

struct Parts(Vec<SettingPart>);

impl Parts {
    fn agent(&mut self, name: impl Into<String>, text: impl Into<String>) {
        self.0.push((SeenBy::Agent, name.into(), text.into()));
    }

    fn agent_if(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.agent(name, value.to_string());
        }
    }

    fn checks(&mut self, name: &str, value: &Json) {
        self.0.push((SeenBy::Checks, name.to_owned(), value.to_string()));
    }

    /// How the program of the mode's agent is started.
    fn of_program(&mut self, settings: &Settings, mode: &Mode) {
        let agent = mode.agent.as_str();
        // An endpoint is where the model is, and stored by itself. The program of a known agent reports its version.
        let Some(AgentSettings { command, args, endpoint: _, custom }) = settings.agents.get(agent) else { return };
        self.agent_if(&format!("setting agents.{agent}.args"), (!args.is_empty()).then(|| args.join("\0")));
        let Some(start) = custom else { return };
        let CustomStart { agent: custom, skills_place: _, args, env, authenticate, home_files: _ } = start;
        let env = public_values(settings, env);
        // A path of the repository is the same in every clone.
        let root = settings.root.as_ref().and_then(|root| std::path::absolute(root).ok()).unwrap_or_default();
        let command =
            command.as_ref().map(|command| Path::new(command).strip_prefix(&root).unwrap_or(command.as_ref()));
        let whole = json!([command, args, env, authenticate, custom.description]);
        self.agent(format!("setting agents.{agent}"), whole.to_string());
    }

    fn of_server(&mut self, settings: &Settings, mcp: &McpSettings) {
        let McpSettings { own, built_in, always_load } = mcp;
        let own = own.as_ref().map(|server| {
            let OwnServer { command, args, env, names } = server;
            json!([command, args, public_values(settings, env), names])
        });
        self.agent_if(OWN_SERVER, own);
        self.agent_if("setting mcp.always_load", (!always_load).then_some(false));
        for (key, _, value) in built_in.chosen() {
            self.agent(format!("setting mcp.{key}"), value);
        }
    }
}
