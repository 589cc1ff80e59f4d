//! OpenCode's home in a trial: the user's providers, models and login, and nothing else of the user's configuration.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::agent::files::{merge, read_if_exists, read_jsonc_if_exists};
use crate::agent::user_home::users_path;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// The files of the user's configuration, in the order of OpenCode: a later one counts more.
const FILES: [&str; 3] = ["config.json", "opencode.json", "opencode.jsonc"];

/// Their keys that trials get.
const COPIED_KEYS: [&str; 5] = ["provider", "model", "small_model", "enabled_providers", "disabled_providers"];

/// A file or directory of the user's.
pub(super) fn users(path: &str) -> Option<PathBuf> {
    users_path(AgentKind::OpenCode, path)
}

/// The user's login.
pub(super) fn users_auth() -> Result<Option<String>, Trouble> {
    users(".local/share/opencode/auth.json").map_or(Ok(None), |path| read_if_exists(&path))
}

/// The part of the user's configuration that trials get.
pub(super) fn users_config(setup: Home) -> Result<Map<String, Value>, Trouble> {
    let mut config = Map::new();
    let Some(directory) = users(".config/opencode") else { return Ok(config) };
    let variable = std::env::var_os("OPENCODE_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    for path in FILES.map(|name| directory.join(name)).into_iter().chain(variable) {
        let table = read_jsonc_if_exists(&path)?.unwrap_or_default();
        let is_copied = |key: &str| setup == Home::User || COPIED_KEYS.contains(&key);
        for (key, value) in table.into_iter().filter(|(key, _)| is_copied(key)) {
            merge(config.entry(key).or_insert(Value::Null), value);
        }
    }
    Ok(config)
}

/// The variables that a part of the configuration names: `{env:NAME}`.
pub(super) fn variables(text: &str) -> Vec<String> {
    let names = text.split("{env:").skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned()));
    names.collect()
}

/// ripgrep: on the PATH, or as OpenCode downloaded it for the user.
pub(super) fn ripgrep() -> Option<PathBuf> {
    let downloaded = || users(".cache/opencode/bin/rg").filter(|path| path.is_file());
    crate::process::find_program("rg").or_else(downloaded).and_then(|path| Path::new(&path).canonicalize().ok())
}
