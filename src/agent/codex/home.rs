//! codex's home in a trial: the user's login and choice of model and provider, nothing else.

use std::fs;
use std::path::PathBuf;

use crate::agent::files::{files_trouble, read_if_there, write_private};
use crate::agent::trial_env::TrialEnv;
use crate::text::redact::strings;
use crate::trace::trouble::{Trouble, TroubleKind};

/// Keys of the user's `config.toml` that come along, beside all that start with `model`.
const KEPT_KEYS: [&str; 5] = [
    "chatgpt_base_url",
    "openai_base_url",
    "preferred_auth_method",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
];

/// What of the user's own configuration came along.
pub(super) struct CodexUserConfig {
    /// Variables that the configured providers read keys from.
    pub key_variables: Vec<String>,
    /// Values in the copied login.
    pub secrets: Vec<String>,
}

/// Prepares the agent's home.
pub(super) fn prepare(room: &TrialEnv) -> Result<CodexUserConfig, Trouble> {
    let home = room.home().join(".codex");
    fs::create_dir_all(&home).map_err(|error| files_trouble(&home, &error))?;
    let mut own = CodexUserConfig { key_variables: Vec::new(), secrets: Vec::new() };
    let Some(users) = users_home() else { return Ok(own) };
    let login = users.join("auth.json");
    if let Some(text) = read_if_there(&login)? {
        let to = home.join("auth.json");
        write_private(&to, text.as_bytes())?;
        if let Ok(value) = serde_json::from_str::<serde_json::Value>(&text) {
            own.secrets = strings(&value);
        }
    }
    let config = users.join("config.toml");
    if let Some(text) = read_if_there(&config)? {
        let table: toml::Table = toml::from_str(&text)
            .map_err(|error| Trouble::new(TroubleKind::Files, format!("{}: {}", config.display(), error.message())))?;
        own.key_variables = key_variables(&table);
        let kept: toml::Table = table
            .into_iter()
            .filter(|(key, _)| key.starts_with("model") || KEPT_KEYS.contains(&key.as_str()))
            .collect();
        let to = home.join("config.toml");
        write_private(&to, kept.to_string().as_bytes())?;
    }
    Ok(own)
}

/// Adds a system prompt to the prepared home's configuration: one that is longer than an argument may be.
pub(super) fn add_instructions(room: &TrialEnv, text: &str) -> Result<(), Trouble> {
    let path = room.home().join(".codex/config.toml");
    let config = read_if_there(&path)?.unwrap_or_default();
    let setting = format!("developer_instructions = {}\n", toml::Value::from(text));
    // Before the tables: behind one it would be the table's.
    fs::write(&path, setting + &config).map_err(|error| files_trouble(&path, &error))
}

/// The folder of the user's own configuration.
pub(super) fn users_home() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("CODEX_HOME").or_else(|| set("HOME").map(|home| home.join(".codex")))
}

/// The variables that `[model_providers.*]` name: `env_key`, and the values of `env_http_headers`.
fn key_variables(config: &toml::Table) -> Vec<String> {
    let providers =
        config.get("model_providers").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let mut names = Vec::new();
    for provider in providers {
        names.extend(provider.get("env_key").and_then(toml::Value::as_str).map(str::to_owned));
        let headers = provider.get("env_http_headers").and_then(toml::Value::as_table);
        names.extend(
            headers.into_iter().flat_map(toml::Table::values).filter_map(toml::Value::as_str).map(str::to_owned),
        );
    }
    names
}
