//! The credentials that Vibe would use: variables that its configuration names, or its file `.env`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::agent::files::{read_if_exists, read_toml};
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::without_secrets;
use crate::agent::user_home::users_path;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// The variable with the key of Vibe's own provider.
const KEY: &str = "MISTRAL_API_KEY";

/// The keys of the user's configuration that trials get.
const COPIED_KEYS: [&str; 4] = ["active_model", "allowed_models", "models", "providers"];

/// What of the user's `config.toml` trials get.
pub(super) fn users_config(setup: Home) -> Result<toml::Table, Trouble> {
    let mut table = read_toml(&users_path(AgentKind::Vibe, ".vibe/config.toml"))?;
    table.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key));
    Ok(table)
}

/// The variables with the keys of providers.
pub(super) fn key_variables(config: &toml::Table) -> Vec<String> {
    let providers = config.get("providers").and_then(toml::Value::as_array).into_iter().flatten();
    let own =
        providers.filter_map(|provider| provider.get("api_key_env_var")?.as_str()).filter(|name| !name.is_empty());
    std::iter::once(KEY).chain(own).map(str::to_owned).collect()
}

/// These variables, as far as the user's file `.env` sets them.
pub(super) fn keys_in_file(names: &[String]) -> Result<BTreeMap<String, String>, Trouble> {
    let text = read_if_exists(&users_path(AgentKind::Vibe, ".vibe/.env"))?.unwrap_or_default();
    let set = |line: &str| {
        let (name, value) = line.trim().trim_start_matches("export ").split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        let is_key = names.iter().any(|known| known == name.trim()) && !value.is_empty();
        is_key.then(|| (name.trim().to_owned(), value.to_owned()))
    };
    Ok(text.lines().filter_map(set).collect())
}

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let config = users_config(Home::Isolated)?;
    let names = key_variables(&config);
    let in_file = keys_in_file(&names)?;
    let chosen = names.iter().rev().find(|name| around.variable(name).is_some());
    Ok(match chosen {
        Some(name) => Login::Set(name.clone()),
        None if !in_file.is_empty() => Login::Found("a key in Vibe's file .env".to_owned()),
        None if config.contains_key("providers") => {
            Login::Unknown("a provider in Vibe's config.toml, which may need no key".to_owned())
        }
        None => Login::Missing(format!(
            "trials do not see the keychain: set {KEY}, or add a provider to Vibe's config.toml"
        )),
    })
}

/// The variables that may have keys, and the configuration without secrets.
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let config = users_config(setup)?;
    let config: Value = without_secrets(serde_json::to_value(config).unwrap_or_default());
    Ok((Vec::new(), config.to_string()))
}
