//! OpenCode's home in a trial: the user's providers, models and login, and nothing else of the user's configuration.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::agent::files::{merge, read_if_exists, read_jsonc};
use crate::agent::user_home::{users_path, variable};
use crate::files::look;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// The files of the user's configuration, in the order of OpenCode: a later one counts more.
const FILES: [&str; 3] =
    [".config/opencode/config.json", ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"];

/// Their keys that trials get.
const COPIED_KEYS: [&str; 5] = ["provider", "model", "small_model", "enabled_providers", "disabled_providers"];

/// The file with the user's login, in the home.
pub(super) const AUTH: &str = ".local/share/opencode/auth.json";

/// The user's login.
pub(super) fn users_auth() -> Result<Option<String>, Trouble> {
    read_if_exists(&users_path(AgentKind::OpenCode, AUTH))
}

/// The part of the user's configuration that trials get.
pub(super) fn users_config(setup: Home) -> Result<Map<String, Value>, Trouble> {
    let mut config = Map::new();
    let files = FILES.map(|path| users_path(AgentKind::OpenCode, path));
    for path in files.into_iter().chain(variable("OPENCODE_CONFIG")) {
        let table = read_jsonc(&path)?;
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
    let downloaded =
        || Some(users_path(AgentKind::OpenCode, ".cache/opencode/bin/rg")).filter(|path| look::is_usable_file(path));
    crate::process::find_program("rg").or_else(downloaded)?.canonicalize().ok()
}
