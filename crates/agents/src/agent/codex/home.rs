//! codex's home in a trial: the user's credentials, model and provider, and nothing else.

use super::PROVIDER_VARIABLES;
use crate::agent::files::{read_if_exists, read_toml, write_private};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path};
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// Keys of the user's `config.toml` that are copied, in addition to all that start with `model`.
const COPIED_KEYS: [&str; 5] = [
    "chatgpt_base_url",
    "openai_base_url",
    "preferred_auth_method",
    "forced_login_method",
    "forced_chatgpt_workspace_id",
];

/// What was copied of the user's configuration.
pub(super) struct CodexUserConfig {
    /// Variables that hold the keys of configured providers.
    pub key_variables: Vec<String>,
    /// Values in the copied credentials.
    pub secrets: Vec<String>,
}

/// Writes the home. `instructions` are a system prompt that is too long for an argument.
pub(super) fn prepare(
    trial_env: &TrialEnv,
    setup: Home,
    instructions: Option<&str>,
) -> Result<CodexUserConfig, Trouble> {
    let mut secrets = copy_login(AgentKind::Codex, ".codex/auth.json", trial_env)?;
    let table = users_config(setup)?;
    secrets.extend(serde_json::to_value(&table).iter().flat_map(secrets_in));
    // Before the tables: after one, the setting would belong to that table.
    let instructions = instructions.map(|text| format!("developer_instructions = {}\n", toml::Value::from(text)));
    let config = instructions.unwrap_or_default() + &table.to_string();
    write_private(&trial_env.home().join(".codex/config.toml"), config.as_bytes())?;
    Ok(CodexUserConfig { key_variables: key_variables(&table), secrets })
}

/// The part of the user's configuration that trials get.
pub(super) fn users_config(setup: Home) -> Result<toml::Table, Trouble> {
    let mut table = read_toml(&users_path(AgentKind::Codex, ".codex/config.toml"))?;
    table.retain(|key, _| setup == Home::User || key.starts_with("model") || COPIED_KEYS.contains(&key));
    Ok(table)
}

/// The variables that choose the provider, and the configuration without its secrets.
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let names = PROVIDER_VARIABLES.map(str::to_owned).to_vec();
    let table = users_config(setup)?;
    let table = without_secrets(serde_json::to_value(table).unwrap_or_default());
    let has_login = users_file("auth.json")?.is_some();
    Ok((names, format!("auth.json {has_login}\n{table}")))
}

/// A file in the directory of the user's configuration, if it exists.
pub(super) fn users_file(name: &str) -> Result<Option<String>, Trouble> {
    read_if_exists(&users_path(AgentKind::Codex, &format!(".codex/{name}")))
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
