//! The credentials that Kimi Code would use: those of the providers in the user's `config.toml`, a login at Moonshot, or
//! variables.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::SERVERS;
use crate::agent::files::{read_if_exists, read_jsonc, read_toml};
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::user_home::users_path;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// Variables with the keys of providers.
pub(super) const KEYS: [&str; 6] =
    ["KIMI_MODEL_API_KEY", "KIMI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "VERTEXAI_API_KEY"];

/// Variables that choose a provider and its model.
pub(super) const PROVIDER: [&str; 13] = [
    "KIMI_MODEL_NAME",
    "KIMI_MODEL_BASE_URL",
    "KIMI_MODEL_PROVIDER_TYPE",
    "KIMI_MODEL_CAPABILITIES",
    "KIMI_MODEL_MAX_CONTEXT_SIZE",
    "KIMI_MODEL_MAX_OUTPUT_SIZE",
    "KIMI_MODEL_THINKING_EFFORT",
    "KIMI_BASE_URL",
    "KIMI_CODE_BASE_URL",
    "OPENAI_BASE_URL",
    "ANTHROPIC_BASE_URL",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
];

/// The keys of the user's configuration that trials get.
const COPIED_KEYS: [&str; 5] = ["default_model", "default_provider", "models", "providers", "thinking"];

/// The file with a login at Moonshot, in the home.
pub(super) const LOGIN: &str = ".kimi-code/credentials/kimi-code.json";

/// Whether the user has a login at Moonshot.
fn has_login() -> Result<bool, Trouble> {
    Ok(read_if_exists(&users_path(AgentKind::Kimi, LOGIN))?.is_some())
}

/// The user's MCP servers, as far as trials get them.
pub(super) fn users_servers(setup: Home) -> Result<Value, Trouble> {
    Ok(if setup == Home::User { read_jsonc(&users_path(AgentKind::Kimi, SERVERS))?.into() } else { json!({}) })
}

/// What of the user's configuration trials get.
pub(super) fn users_config(setup: Home) -> Result<toml::Table, Trouble> {
    let mut table = read_toml(&users_path(AgentKind::Kimi, ".kimi-code/config.toml"))?;
    table.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key));
    Ok(table)
}

/// The variables with keys that the providers of a configuration name.
pub(super) fn key_variables(config: &toml::Table) -> BTreeSet<String> {
    let providers = config.get("providers").and_then(toml::Value::as_table);
    let providers = providers.into_iter().flat_map(toml::Table::values);
    providers.filter_map(|provider| Some(provider.get("api_key_env")?.as_str()?.to_owned())).collect()
}

pub(super) fn as_json(config: &toml::Table) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let (config, has_login) = (users_config(Home::Isolated)?, has_login()?);
    let (by_variable, key) = ("KIMI_MODEL_NAME", KEYS[0]);
    if around.variable(by_variable).is_some() {
        return Ok(match around.variable(key) {
            Some(_) => Login::Set(key.to_owned()),
            None => Login::Missing(format!("{by_variable} is set: set {key}, too")),
        });
    }
    let has_providers = config.contains_key("providers");
    if !secrets_in(&as_json(&config)).is_empty() {
        return Ok(Login::Found("a key in Kimi Code's config.toml".to_owned()));
    }
    if has_login {
        return Ok(Login::Found("a login in Kimi Code's directory".to_owned()));
    }
    let named = key_variables(&config).into_iter().find(|name| around.variable(name).is_some());
    Ok(match named.or_else(|| around.first(&KEYS).map(str::to_owned)) {
        Some(name) if has_providers => Login::Set(name),
        _ if has_providers => Login::Unknown("a provider without a key in Kimi Code's config.toml".to_owned()),
        _ => Login::Missing("run `kimi login`, or add a provider to Kimi Code's config.toml".to_owned()),
    })
}

/// The variables that choose the provider, and the configuration without secrets.
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let config = without_secrets(as_json(&users_config(setup)?));
    let (servers, has_login) = (without_secrets(users_servers(setup)?), has_login()?);
    Ok((PROVIDER.map(str::to_owned).to_vec(), format!("login {has_login}\n{config}\n{servers}")))
}
