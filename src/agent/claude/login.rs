//! What claude would log in with.

use std::path::Path;

use serde_json::Value;

use super::home::{CREDENTIALS, HEADERS, KEY_HELPER, own_settings, users_folder};
use crate::agent::files::read_if_there;
use crate::agent::login::{Login, LoginSources, holds_one};

/// Variables each of which is a login, or leads to a provider that has one of its own.
const LOGINS: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];

/// Variables behind which there may be one: a server of one's own, and headers for it.
const MAYBE: [&str; 2] = ["ANTHROPIC_BASE_URL", HEADERS];

/// Settings that hold for every user of the machine, and for every home.
const MANAGED: [&str; 2] =
    ["/etc/claude-code/managed-settings.json", "/Library/Application Support/ClaudeCode/managed-settings.json"];

/// How to log in.
const HOW_TO: &str = "log in with `claude`, or set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN";

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    if let Some(name) = around.first(&LOGINS) {
        return Login::Found(format!("{name} is set"));
    }
    if let Some(what) = in_settings() {
        return Login::Found(format!("{what} of claude's settings.json"));
    }
    let file = users_folder().map(|folder| folder.join(CREDENTIALS));
    let what_to_do = match file.as_deref().map(in_file) {
        Some(Ok(true)) => return Login::Found(file.unwrap_or_default().display().to_string()),
        Some(Ok(false)) | None => HOW_TO.to_owned(),
        Some(Err(why)) => format!("{why}; {HOW_TO}"),
    };
    if let Some(name) = around.first(&MAYBE) {
        return Login::Unknown(format!("the server of {name} may ask for none"));
    }
    if around.is_told() {
        return Login::Unknown("the agent's own arguments name settings, which may have one".to_owned());
    }
    if let Some(path) = MANAGED.into_iter().map(Path::new).find(|path| names_helper(path)) {
        return Login::Unknown(format!("the {KEY_HELPER} of {}", path.display()));
    }
    if cfg!(target_os = "macos") {
        return Login::Unknown("claude's own may be in the keychain, which is not looked into".to_owned());
    }
    Login::Missing(what_to_do)
}

/// Whether claude's own file holds a login.
fn in_file(file: &Path) -> Result<bool, String> {
    let Some(text) = read_if_there(file).map_err(|trouble| trouble.detail)? else { return Ok(false) };
    match serde_json::from_str::<Value>(&text) {
        // Logins to MCP servers are in there too.
        Ok(value) => Ok(holds_one(&value, &["mcpOAuth"])),
        Err(_) if text.trim().is_empty() => Ok(false),
        Err(_) => Err(format!("{} is damaged", file.display())),
    }
}

/// What in the user's own settings is a login.
fn in_settings() -> Option<&'static str> {
    let own = own_settings().ok().flatten()?;
    let says = |value: Option<&Value>| value.and_then(Value::as_str).is_some_and(|value| !value.trim().is_empty());
    let named = LOGINS.into_iter().find(|name| says(own.get("env").and_then(|env| env.get(name))));
    named.or_else(|| says(own.get(KEY_HELPER)).then_some(KEY_HELPER))
}

fn names_helper(path: &Path) -> bool {
    let settings = read_if_there(path).ok().flatten().and_then(|text| serde_json::from_str::<Value>(&text).ok());
    settings.is_some_and(|settings| settings.get(KEY_HELPER).is_some())
}
