//! Gemini's home in a trial: the user's credentials and the choice of them, and nothing else.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::agent::files::{merge, read_if_exists, read_jsonc, write_private};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path, variable};
use crate::files::at::At;
use crate::files::look;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

/// Files with credentials in the user's home.
pub(super) const CREDENTIALS: [&str; 3] =
    [".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/gemini-credentials.json"];

/// The file of the telemetry, in the directory of sessions.
pub(super) const TELEMETRY: &str = "telemetry.log";

/// The runner's file with what it knows about the program.
const PROGRAM: &str = "program.json";

/// A line with what the runner knows about the program.
pub(super) fn program(trial_env: &TrialEnv) -> Option<Value> {
    serde_json::from_str(&read_if_exists(&trial_env.control().join(PROGRAM)).ok()??).ok()
}

/// Writes the home, with `more` settings. Returns the values that must not be stored.
pub(super) fn prepare(
    trial_env: &TrialEnv,
    setup: Home,
    program: &Path,
    more: Map<String, Value>,
) -> Result<Vec<String>, Trouble> {
    let home = trial_env.home().join(".gemini");
    let sessions = home.join("tmp");
    sessions.create_dir_all()?;
    let mut secrets = Vec::new();
    for name in CREDENTIALS {
        secrets.extend(copy_login(AgentKind::Gemini, name, trial_env)?);
    }
    let users = users_settings()?;
    let mut auth = users["security"]["auth"].clone();
    if let Some(chosen) = auth_type(&users, |name| variable(name).is_some()) {
        merge(&mut auth, json!({ "selectedType": chosen }));
    }
    secrets.extend(secrets_in(&users));
    let own = json!({
        "security": { "auth": auth },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        "privacy": { "usageStatisticsEnabled": false },
        // It goes to this file and nowhere else. The texts of the conversation are in the chat.
        "telemetry": {
            "enabled": true, "target": "local", "outfile": sessions.join(TELEMETRY).to_string(), "logPrompts": false,
        },
        "model": users["model"]["name"].as_str().map_or(json!({}), |name| json!({ "name": name })),
    });
    let mut settings = if setup == Home::User { users } else { Value::Null };
    merge(&mut settings, own);
    merge(&mut settings, Value::Object(more));
    write_private(&home.join("settings.json"), settings.to_string().as_bytes())?;
    // Gemini does not say its version in a trial.
    if let Some(version) = version(program) {
        let known = json!({ "version": version });
        let path = trial_env.control().join(PROGRAM);
        std::fs::write(&path, known.to_string()).at(&path)?;
    }
    Ok(secrets)
}

/// The version in the package of a program.
fn version(program: &Path) -> Option<String> {
    let file = program.canonicalize().ok()?;
    let package = file
        .ancestors()
        .skip(1)
        .take(3)
        .map(|directory| directory.join("package.json"))
        .find(|path| look::is_usable_file(path))?;
    let package: Value = serde_json::from_str(&read_if_exists(&package).ok()??).ok()?;
    (package["name"] == "@google/gemini-cli").then(|| package["version"].as_str().map(str::to_owned))?
}

/// How Gemini authenticates: as the user chose, else by the variables that `is_set`.
pub(super) fn auth_type(settings: &Value, is_set: impl Fn(&str) -> bool) -> Option<String> {
    let chosen = settings["security"]["auth"]["selectedType"].as_str();
    let by_variable = [
        ("GOOGLE_GENAI_USE_GCA", "oauth-personal"),
        ("GOOGLE_GENAI_USE_VERTEXAI", "vertex-ai"),
        ("GEMINI_API_KEY", "gemini-api-key"),
    ];
    let by_variable = || by_variable.iter().find(|(name, _)| is_set(name)).map(|(_, kind)| *kind);
    chosen.or_else(by_variable).map(str::to_owned)
}

/// The user's settings.
pub(super) fn users_settings() -> Result<Value, Trouble> {
    Ok(read_jsonc(&users_path(AgentKind::Gemini, ".gemini/settings.json"))?.into())
}

/// What of the user's settings reaches a trial, without secrets.
pub(super) fn users_setup(setup: Home) -> Result<String, Trouble> {
    let settings = without_secrets(users_settings()?);
    let has_login = has_login()?;
    let all = if setup == Home::User { settings.to_string() } else { String::new() };
    Ok(format!("login {has_login}\n{} {}{all}", settings["security"]["auth"], settings["model"]["name"]))
}

/// Whether the user has logged in with Google.
pub(super) fn has_login() -> Result<bool, Trouble> {
    Ok(read_if_exists(&users_path(AgentKind::Gemini, CREDENTIALS[0]))?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_s_choice_comes_before_variables() {
        let is_set = |name: &str| name == "GEMINI_API_KEY";
        assert_eq!(auth_type(&Value::Null, is_set).as_deref(), Some("gemini-api-key"));
        let settings = json!({ "security": { "auth": { "selectedType": "vertex-ai" } } });
        assert_eq!(auth_type(&settings, is_set).as_deref(), Some("vertex-ai"));
        assert_eq!(auth_type(&Value::Null, |_| false), None);
    }
}
