//! Qwen Code (`qwen --output-format=stream-json`).
//!
//! Standard output (`trace.jsonl`) has the conversation and the states of the MCP servers. Its session file (`session.jsonl`)
//! has the times, what the model saw of each call, the exit codes, and each request that failed. Neither has the list of
//! skills: Qwen Code logs its requests, and the trial adds the list of the first one to the session file.

mod lines;

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::agent::command::{
    self, AgentCommand, Assignment, LONGEST_ARGUMENT, environment, mcp_file, model_and_settings, refuse,
    session_and_prompt, with,
};
use crate::agent::files::{merge, read_jsonc, write_private};
use crate::agent::interface::Agent;
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, values_of, without_secrets};
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::users_path;
use crate::files::rooted::RootedPath;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;
use crate::trial::sandbox::Sandbox;

/// The directory of the logged requests, in the trial's home.
const REQUESTS: &str = ".qwen/requests";

#[derive(Debug)]
pub struct Qwen;

impl JsonLinesAgent for Qwen {
    const KIND: AgentKind = AgentKind::Qwen;
    type Reader = lines::QwenLines;
    const ARGUMENTS: &[&str] = &["--output-format=stream-json", "--approval-mode=yolo", "--openai-logging"];
    const LOGIN: FindLogin = find_login;
    const COMMAND: FillCommand = fill_command;
    const SETUP: ReadSetup = users_setup;
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = |_, args, message| command::resumed_by_arguments(args, message, "--resume=");
    const SLIM_SESSION: SlimSession = |line, skills| lines::slim_session(&line, skills);

    /// `projects/<working directory>/chats/<id>.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 3 && path.iter().nth(1).is_some_and(|name| name == "chats")
    }

    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        lines::in_first_request(trial_env)
    }

    fn slim(line: Value, _: &[&str]) -> Value {
        let keys = ["type", "subtype", "qwen_code_version", "model", "mcp_servers", "slash_commands"];
        if line["subtype"] != "init" {
            return line;
        }
        keys.into_iter().map(|key| (key.to_owned(), json!(line[key]))).collect::<serde_json::Map<_, _>>().into()
    }
}

// How to start `qwen` for a trial.

fn fill_command(assignment: &Assignment<'_>, command: &mut AgentCommand) -> Result<(), Trouble> {
    let Assignment { case, settings, trial_env, server, .. } = *assignment;
    let system_prompt = case.system_prompt.as_deref();
    let is_long = system_prompt.is_some_and(|text| text.len() > LONGEST_ARGUMENT);
    refuse(assignment, &[("a system prompt of more than 100,000 bytes", is_long)])?;
    let users = QwenUserSettings::read(settings.isolation.home)?;
    let (key_variables, mut secrets) = (users.key_variables(), users.secrets());
    let home = trial_env.home().join(".qwen");
    write_settings(&home, users.copied, case.sandbox == Sandbox::ReadOnly)?;
    let visible: Vec<&str> = KEYS.into_iter().chain(PROVIDER).chain(key_variables.iter().map(String::as_str)).collect();
    let mut env = environment(assignment, &visible);
    env.insert("QWEN_CODE_SUPPRESS_YOLO_WARNING".into(), "1".into());
    secrets.extend(values_of(&env, &key_variables));

    let args = &mut command.args;
    args.push(with("--openai-logging-dir=", trial_env.home().join(REQUESTS)));
    if let Some(server) = server {
        // Its tools are offered at once, and not only to a search for tools.
        args.push(with("--mcp-config=", mcp_file(assignment, server, json!({ "alwaysLoadTools": true }))?));
    }
    args.extend(system_prompt.map(|text| with("--append-system-prompt=", text)));
    args.extend(model_and_settings(assignment));
    args.extend(session_and_prompt(assignment)?);
    // With its own limit on turns, Qwen Code ends as if it had failed.
    (command.env, command.secrets) = (env, secrets);
    Ok(())
}

/// The settings: the user's provider, and nothing that reports, updates, or asks the model on its own account.
fn write_settings(home: &RootedPath, settings: Map<String, Value>, is_read_only: bool) -> Result<(), Trouble> {
    let own = json!({
        "general": { "enableAutoUpdate": false },
        "memory": { "enableManagedAutoMemory": false, "enableManagedAutoDream": false },
        "privacy": { "usageStatisticsEnabled": false },
        "telemetry": { "enabled": false },
    });
    let mut settings = Value::from(settings);
    merge(&mut settings, own);
    if is_read_only {
        merge(&mut settings, json!({ "permissions": { "deny": Qwen.kind().profile().tools.edits } }));
    }
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())
}

// The credentials that Qwen Code would use: variables, or what the user's `settings.json` says.

/// Variables that hold credentials.
const KEYS: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DASHSCOPE_API_KEY",
    "BAILIAN_CODING_PLAN_API_KEY",
];

/// Variables that choose a provider and its model.
const PROVIDER: [&str; 10] = [
    "OPENAI_BASE_URL",
    "OPENAI_MODEL",
    "QWEN_MODEL",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "GEMINI_MODEL",
    "GOOGLE_MODEL",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "QWEN_DEFAULT_AUTH_TYPE",
];

/// What Qwen Code needs to choose a provider by itself.
const BY_VARIABLES: [&[&str]; 5] = [
    &["OPENAI_API_KEY", "OPENAI_MODEL", "OPENAI_BASE_URL"],
    &["OPENAI_API_KEY", "QWEN_MODEL", "OPENAI_BASE_URL"],
    &["GEMINI_API_KEY", "GEMINI_MODEL"],
    &["GOOGLE_API_KEY", "GOOGLE_MODEL"],
    &["ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "ANTHROPIC_BASE_URL"],
];

/// What of the user's `settings.json` trials get.
struct QwenUserSettings {
    pub copied: Map<String, Value>,
}

impl QwenUserSettings {
    fn read(setup: Home) -> Result<Self, Trouble> {
        let mut copied = read_jsonc(&users_path(AgentKind::Qwen, ".qwen/settings.json"))?;
        if setup == Home::User {
            return Ok(Self { copied });
        }
        copied.retain(|key, _| ["env", "model", "modelProviders", "security"].contains(&key.as_str()));
        let mut users = Self { copied };
        // The user's own limits and features are not the case's.
        users.keep("security", |key| key == "auth");
        users.keep("model", |key| key == "name" || key == "generationConfig");
        let names = users.key_variables();
        let is_known = |name: &str| KEYS.contains(&name) || PROVIDER.contains(&name);
        users.keep("env", |name| is_known(name) || names.iter().any(|known| known == name));
        Ok(users)
    }

    /// Drops the other keys of a part of the settings.
    fn keep(&mut self, part: &str, is_kept: impl Fn(&str) -> bool) {
        if let Some(part) = self.copied.get_mut(part).and_then(Value::as_object_mut) {
            part.retain(|key, _| is_kept(key));
        }
    }

    /// The variables with the keys of configured providers.
    fn key_variables(&self) -> Vec<String> {
        let providers = self.copied.get("modelProviders").and_then(Value::as_object);
        let models = providers.into_iter().flat_map(Map::values).filter_map(Value::as_array).flatten();
        models.filter_map(|model| Some(model.get("envKey")?.as_str()?.to_owned())).collect()
    }

    /// The credentials in them.
    fn secrets(&self) -> Vec<String> {
        let env = self.copied.get("env");
        let named = self.key_variables().into_iter().filter_map(|name| Some(env?.get(name)?.as_str()?.to_owned()));
        secrets_in(&Value::Object(self.copied.clone())).into_iter().chain(named).collect()
    }

    fn auth_type(&self) -> Option<&str> {
        self.copied.get("security")?.pointer("/auth/selectedType")?.as_str()
    }
}

fn find_login(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    if around.has_argument() {
        return Ok(Login::Unknown("the agent's own arguments choose the provider".to_owned()));
    }
    let users = QwenUserSettings::read(Home::Isolated)?;
    if let Some(kind) = users.auth_type() {
        let names = users.key_variables();
        let is_set = |name: &String| around.variable(name).is_some();
        let name = names.iter().find(|name| is_set(name)).map(String::as_str).or_else(|| around.first(&KEYS));
        return Ok(match name {
            _ if !users.secrets().is_empty() => Login::Found(format!("{kind}, in Qwen Code's settings.json")),
            Some(name) => Login::Found(format!("{kind} in Qwen Code's settings.json, and {name} is set")),
            None => Login::Unknown(format!("{kind}, without a key in Qwen Code's settings.json")),
        });
    }
    let all_set = |names: &&[&str]| names.iter().all(|name| around.variable(name).is_some());
    Ok(match BY_VARIABLES.into_iter().find(all_set) {
        Some(names) => Login::Set(names[0].to_owned()),
        None => Login::Missing(
            "set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL, or choose a provider in Qwen Code's settings.json"
                .to_owned(),
        ),
    })
}

/// The variables that choose the provider, and the settings without secrets.
fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let users = QwenUserSettings::read(setup)?;
    let names = users.key_variables();
    let mut copied = without_secrets(Value::Object(users.copied));
    if let Some(env) = copied.get_mut("env").and_then(Value::as_object_mut) {
        env.retain(|name, _| !names.contains(name));
    }
    Ok((PROVIDER.map(str::to_owned).to_vec(), copied.to_string()))
}
