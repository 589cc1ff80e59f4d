//! codex's home in a trial: the user's credentials, model and provider, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use super::PROVIDER_VARIABLES;
use crate::agent::files::{file_trouble, read_if_exists, write_private};
use crate::agent::trial_env::TrialEnv;
use crate::text::redact::strings;
use crate::trace::trouble::{Trouble, TroubleKind};

/// Keys of the user's `config.toml` that are copied, in addition to all that start with `model`.
const COPIED_KEYS: [&str; 5] = [
    "chatgpt_base_url",
    "openai_base_url",
    "preferred_auth_method",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
];

/// What was copied of the user's configuration.
#[derive(Default)]
pub(super) struct CodexUserConfig {
    /// Variables that hold the keys of configured providers.
    pub key_variables: Vec<String>,
    /// Values in the copied credentials.
    pub secrets: Vec<String>,
}

pub(super) fn prepare(trial_env: &TrialEnv) -> Result<CodexUserConfig, Trouble> {
    let home = trial_env.home().join(".codex");
    fs::create_dir_all(&home).map_err(|error| file_trouble(&home, &error))?;
    let mut copied = CodexUserConfig::default();
    let Some(users_home) = users_home() else { return Ok(copied) };
    if let Some(text) = read_if_exists(&users_home.join("auth.json"))? {
        write_private(&home.join("auth.json"), text.as_bytes())?;
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
            copied.secrets = strings(&value);
        }
    }
    if let Some(table) = users_config(&users_home)? {
        copied.key_variables = key_variables(&table);
        write_private(&home.join("config.toml"), table.to_string().as_bytes())?;
    }
    Ok(copied)
}

/// The part of the user's configuration that trials get.
fn users_config(users_home: &Path) -> Result<Option<toml::Table>, Trouble> {
    let config = users_home.join("config.toml");
    let Some(text) = read_if_exists(&config)? else { return Ok(None) };
    let mut table: toml::Table = toml::from_str(&text)
        .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {}", config.display(), error.message())))?;
    table.retain(|key, _| key.starts_with("model") || COPIED_KEYS.contains(&key));
    Ok(Some(table))
}

/// The variables that choose the provider, and the configuration without its secrets.
pub(super) fn users_setup() -> Result<(Vec<String>, String), Trouble> {
    let names = PROVIDER_VARIABLES.map(str::to_owned).to_vec();
    let Some(users_home) = users_home() else { return Ok((names, String::new())) };
    let mut table = users_config(&users_home)?.unwrap_or_default();
    let providers = table.get_mut("model_providers").and_then(toml::Value::as_table_mut);
    for provider in providers.into_iter().flat_map(|all| all.iter_mut()).filter_map(|(_, value)| value.as_table_mut()) {
        for key in ["experimental_bearer_token", "http_headers"] {
            provider.remove(key);
        }
    }
    let has_login = users_home.join("auth.json").exists();
    Ok((names, format!("auth.json {has_login}\n{table}")))
}

/// Adds a system prompt that is too long for an argument to the prepared home's configuration.
pub(super) fn add_instructions(trial_env: &TrialEnv, text: &str) -> Result<(), Trouble> {
    let path = trial_env.home().join(".codex/config.toml");
    let config = read_if_exists(&path)?.unwrap_or_default();
    let setting = format!("developer_instructions = {}\n", toml::Value::from(text));
    // Before the tables: after one, the setting would belong to that table.
    fs::write(&path, setting + &config).map_err(|error| file_trouble(&path, &error))
}

/// The directory of the user's configuration.
pub(super) fn users_home() -> Option<PathBuf> {
    let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    path("CODEX_HOME").or_else(|| path("HOME").map(|home| home.join(".codex")))
}

/// The variables that `[model_providers.*]` name: `env_key`, and the values of `env_http_headers`.
fn key_variables(config: &toml::Table) -> Vec<String> {
    let providers = config.get("model_providers").and_then(toml::Value::as_table);
    let mut names = Vec::new();
    for provider in providers.into_iter().flat_map(toml::Table::values) {
        let headers = provider.get("env_http_headers").and_then(toml::Value::as_table);
        let values = provider.get("env_key").into_iter().chain(headers.into_iter().flat_map(toml::Table::values));
        names.extend(values.filter_map(toml::Value::as_str).map(str::to_owned));
    }
    names
}
