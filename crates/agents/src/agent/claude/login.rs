//! The credentials that claude would use.

use std::path::Path;

use serde_json::Value;

use super::home::{CREDENTIALS, HEADERS, KEY_HELPER, users_file, users_settings};
use crate::agent::files::read_if_exists;
use crate::agent::login::{Login, LoginSources, has_credentials};

/// Variables that hold credentials, or choose a provider with its own credentials.
const LOGINS: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

/// Variables of a server that may need no credentials, or gets them in headers.
const MAYBE: [&str; 2] = ["ANTHROPIC_BASE_URL", HEADERS];

/// Settings for every user of the machine, in every home.
const MANAGED: [&str; 2] =
    ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];

/// How to provide credentials.
const HOW_TO: &str = "log in with `claude`, or set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN";

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    if let Some(name) = around.first(&LOGINS) {
        return Login::Set(name.to_owned());
    }
    if let Some(what) = in_settings() {
        return Login::Found(format!("{what} of claude's settings.json"));
    }
    let file = users_file(CREDENTIALS);
    let what_to_do = match in_file(&file) {
        Ok(true) => return Login::Found(file.display().to_string()),
        Ok(false) => HOW_TO.to_owned(),
        Err(why) => format!("{why}; {HOW_TO}"),
    };
    if let Some(name) = around.first(&MAYBE) {
        return Login::Unknown(format!("the server of {name} may ask for none"));
    }
    if around.has_argument() {
        return Login::Unknown("the agent's own arguments name settings, which may have one".to_owned());
    }
    if let Some(path) = MANAGED.into_iter().map(Path::new).find(|path| has_key_helper(path)) {
        return Login::Unknown(format!("the {KEY_HELPER} of {}", path.display()));
    }
    if cfg!(target_os = "macos") {
        return Login::Unknown("claude's own may be in the keychain, which is not looked into".to_owned());
    }
    Login::Missing(what_to_do)
}

/// Whether claude's own file has credentials.
fn in_file(file: &Path) -> Result<bool, String> {
    let Some(text) = read_if_exists(file).map_err(|trouble| trouble.detail)? else { return Ok(false) };
    match serde_json::from_str::<Value>(&text) {
        // The file also has credentials for MCP servers.
        Ok(value) => Ok(has_credentials(&value, &["mcpOAuth"])),
        Err(_) if text.trim().is_empty() => Ok(false),
        Err(_) => Err(format!("{} is damaged", file.display())),
    }
}

/// The name of the user's setting that provides credentials.
fn in_settings() -> Option<&'static str> {
    let settings = users_settings().ok().flatten()?;
    let is_set = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|value| !value.trim().is_empty());
    let named = LOGINS.into_iter().find(|name| is_set(settings.get("env").and_then(|env| env.get(name))));
    named.or_else(|| is_set(settings.get(KEY_HELPER)).then_some(KEY_HELPER))
}

fn has_key_helper(path: &Path) -> bool {
    let settings = read_if_exists(path).ok().flatten().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    settings.is_some_and(|settings| settings.get(KEY_HELPER).is_some())
}
