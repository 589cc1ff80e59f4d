//! The credentials that Qwen Code would use: variables, or what the user's `settings.json` says.

use serde_json::{Map, Value};

use crate::agent::files::read_jsonc;
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::user_home::users_path;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// Variables that hold credentials.
pub(super) const KEYS: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DASHSCOPE_API_KEY",
    "BAILIAN_CODING_PLAN_API_KEY",
];

/// Variables that choose a provider and its model.
pub(super) const PROVIDER: [&str; 10] = [
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
pub(super) struct QwenUserSettings {
    pub copied: Map<String, Value>,
}

impl QwenUserSettings {
    pub(super) fn read(setup: Home) -> Result<Self, Trouble> {
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
    pub(super) fn key_variables(&self) -> Vec<String> {
        let providers = self.copied.get("modelProviders").and_then(Value::as_object);
        let models = providers.into_iter().flat_map(Map::values).filter_map(Value::as_array).flatten();
        models.filter_map(|model| Some(model.get("envKey")?.as_str()?.to_owned())).collect()
    }

    /// The credentials in them.
    pub(super) fn secrets(&self) -> Vec<String> {
        let env = self.copied.get("env");
        let named = self.key_variables().into_iter().filter_map(|name| Some(env?.get(name)?.as_str()?.to_owned()));
        secrets_in(&Value::Object(self.copied.clone())).into_iter().chain(named).collect()
    }

    fn auth_type(&self) -> Option<&str> {
        self.copied.get("security")?.pointer("/auth/selectedType")?.as_str()
    }
}

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
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
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let users = QwenUserSettings::read(setup)?;
    let names = users.key_variables();
    let mut copied = without_secrets(Value::Object(users.copied));
    if let Some(env) = copied.get_mut("env").and_then(Value::as_object_mut) {
        env.retain(|name, _| !names.contains(name));
    }
    Ok((PROVIDER.map(str::to_owned).to_vec(), copied.to_string()))
}
