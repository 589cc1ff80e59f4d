//! The settings that decide trials, part by part, and who sees each part: with the parts of a case
//! ([`Case::parts`]), all that decides its trials besides the skills.
//!
//! It takes the settings and the mode apart by all their fields: a new one does not compile until somebody says who sees it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::cases::case::Case;
use crate::cases::case_parts::{MOST_TURNS, SeenBy};
use crate::settings::mode::{Mode, SkillSelection};
use crate::settings::{AgentSettings, CustomStart, IsolationSettings, JudgeSettings, McpSettings, OwnServer, Settings};
use crate::text::redact::looks_secret;

/// The name of the part for the model that is asked for.
pub const MODEL: &str = "setting model";

/// The name of the part for a repository's own MCP server of skills.
pub const OWN_SERVER: &str = "setting mcp";

/// A part of the settings: who sees it, its name in recordings, and its text.
pub type SettingPart = (SeenBy, String, String);

/// What decides the trials of `case` in `mode`. A part exists only if somebody chose it, so that a new setting does not make
/// old recordings stale. The threshold is not among them: a run knows it.
pub fn setting_parts(settings: &Settings, mode: &Mode, case: &Case) -> Vec<SettingPart> {
    #[rustfmt::skip]
    let Settings {
        timeout, create, env, pass_env, mcp, isolation, checks, judge, prices, partial,
        // What the functions below ask for.
        activation: _, agents: _, max_turns: _, model: _, root: _, secret_env: _, user: _,
        // A part of each case has these.
        mocks: _,
        // Which trials run, when and where, and what becomes of their results.
        repetition: _, skill_roots: _, trust_places: _, own_columns: _, harness: _, modes: _, selected_modes: _,
        default_modes: _, live: _, require_recordings: _, jobs: _, stop: _, lift: _, gate: _, lint: _, selection: _, run_id: _,
        resume: _, force: _, record: _, max_cost_usd: _, max_tokens: _, retries: _, retry_wait: _, scratch: _, calibrate: _,
        lead: _,
        // Trials store these by themselves.
        scripted: _, endpoint: _,
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
