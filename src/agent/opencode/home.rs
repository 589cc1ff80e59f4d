//! OpenCode's home in a trial: the user's providers, models and login, and nothing else of the user's configuration.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::agent::files::{read_if_exists, read_jsonc_if_exists};
use crate::trace::trouble::Trouble;

/// The files of the user's configuration, in the order of OpenCode: a later one counts more.
const FILES: [&str; 3] = ["config.json", "opencode.json", "opencode.jsonc"];

/// Their keys that trials get.
const COPIED_KEYS: [&str; 5] = ["provider", "model", "small_model", "enabled_providers", "disabled_providers"];

/// A directory of the user's, by the variable of the XDG and its default in the home.
pub(super) fn users(variable: &str, default: &str) -> Option<PathBuf> {
    let path = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Some(path(variable).or_else(|| Some(path("HOME")?.join(default)))?.join("opencode"))
}

/// The user's login.
pub(super) fn users_auth() -> Result<Option<String>, Trouble> {
    users("XDG_DATA_HOME", ".local/share").map_or(Ok(None), |path| read_if_exists(&path.join("auth.json")))
}

/// The part of the user's configuration that trials get.
pub(super) fn users_config() -> Result<Map<String, Value>, Trouble> {
    let mut config = Map::new();
    let Some(directory) = users("XDG_CONFIG_HOME", ".config") else { return Ok(config) };
    let variable = std::env::var_os("OPENCODE_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    for path in FILES.map(|name| directory.join(name)).into_iter().chain(variable) {
        let table = read_jsonc_if_exists(&path)?.unwrap_or_default();
        for (key, value) in table.into_iter().filter(|(key, _)| COPIED_KEYS.contains(&key.as_str())) {
            merge(config.entry(key).or_insert(Value::Null), value);
        }
    }
    Ok(config)
}

/// Adds `more` to `value`: tables key by key, as OpenCode does.
fn merge(value: &mut Value, more: Value) {
    match (value, more) {
        (Value::Object(table), Value::Object(more)) => {
            for (key, value) in more {
                merge(table.entry(key).or_insert(Value::Null), value);
            }
        }
        (value, more) => *value = more,
    }
}

/// The variables that a part of the configuration names: `{env:NAME}`.
pub(super) fn variables(text: &str) -> Vec<String> {
    let names = text.split("{env:").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()));
    names.collect()
}

/// ripgrep: on the PATH, or as OpenCode downloaded it for the user.
pub(super) fn ripgrep() -> Option<PathBuf> {
    let downloaded = || users("XDG_CACHE_HOME", ".cache").map(|path| path.join("bin/rg")).filter(|path| path.is_file());
    crate::process::find_program("rg").or_else(downloaded).and_then(|path| Path::new(&path).canonicalize().ok())
}
