//! claude's home in a trial: the user's login and choice of provider, nothing else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::files::{files_trouble, read_if_there, write_private};
use crate::agent::trial_env::TrialEnv;
use crate::text::redact::{looks_secret, strings};
use crate::trace::trouble::Trouble;

/// Variables beside `ANTHROPIC_*` that hold a login, choose the provider, or bound the retries.
const VARIABLES: [&str; 26] = [
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_SKIP_VERTEX_AUTH",
    "CLOUD_ML_REGION",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_PROJECT",
    "GCLOUD_PROJECT",
    "CLOUDSDK_CORE_PROJECT",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
    "AZURE_TENANT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_CLIENT_SECRET",
    "AZURE_CLIENT_CERTIFICATE_PATH",
];

/// Families of variables, by how they start.
const FAMILIES: [&str; 2] = ["ANTHROPIC_", "VERTEX_REGION_"];

/// Files of a provider's own login, below the user's home, and the variables that name them where the home is another.
const PROVIDER_FILES: [(&str, &str, &str); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_CONFIG_FILE", ".aws/config"),
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
    ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud/application_default_credentials.json"),
];

/// The file with the login that claude itself made.
pub(super) const CREDENTIALS: &str = ".credentials.json";

/// The setting with a command that prints a key.
pub(super) const KEY_HELPER: &str = "apiKeyHelper";

/// The variable with headers that claude is to send along, a line each.
pub(super) const HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";

/// What of the user's own comes along.
pub(super) struct ClaudeUserConfig {
    /// Names of variables to pass on.
    pub variables: Vec<String>,
    /// Variables beside those.
    pub env: BTreeMap<OsString, OsString>,
    /// Values that must not be kept.
    pub secrets: Vec<String>,
    /// Settings that get a key, where the user's do.
    pub settings: Option<PathBuf>,
    /// The program that prints that key.
    pub key_helper: Option<PathBuf>,
}

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The folder of the user's own configuration.
pub(super) fn users_folder() -> Option<PathBuf> {
    set("CLAUDE_CONFIG_DIR").map(PathBuf::from).or_else(|| Some(PathBuf::from(set("HOME")?).join(".claude")))
}

/// Prepares the home.
pub(super) fn prepare(room: &TrialEnv) -> Result<ClaudeUserConfig, Trouble> {
    let folder = room.home().join(".claude");
    fs::create_dir_all(&folder).map_err(|error| files_trouble(&folder, &error))?;
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let variables: Vec<String> = names.filter(|name| is_wanted(name)).collect();
    // What looks like a secret by its variable's name is masked in every trial.
    let mut secrets = std::env::var(HEADERS).map_or_else(|_| Vec::new(), |headers| values_of(&headers));
    let home = set("HOME").map(PathBuf::from);
    if let Some(text) = users_folder().and_then(|config| read_if_there(&config.join(CREDENTIALS)).transpose()) {
        let text = text?;
        write_private(&folder.join(CREDENTIALS), text.as_bytes())?;
        if let Ok(value) = serde_json::from_str(&text) {
            secrets.extend(strings(&value));
        }
    }
    let mut env = BTreeMap::new();
    for (provider, variable, file) in PROVIDER_FILES {
        let path = home.as_ref().map(|home| home.join(file)).filter(|path| path.is_file());
        if let (Some(_), None, Some(path)) = (set(provider), set(variable), path) {
            env.insert(variable.into(), path.into());
        }
    }
    let mut users = ClaudeUserConfig { variables, env, secrets, settings: None, key_helper: None };
    users.take_settings(&folder)?;
    Ok(users)
}

impl ClaudeUserConfig {
    /// Takes the logins of the user's own settings, which claude does not read in a trial.
    fn take_settings(&mut self, folder: &Path) -> Result<(), Trouble> {
        let Some(own) = own_settings()? else { return Ok(()) };
        for (name, value) in own.get("env").and_then(Value::as_object).into_iter().flatten() {
            if let Some(value) = value.as_str().filter(|_| is_wanted(name) && set(name).is_none()) {
                if looks_secret(name, value) {
                    self.secrets.push(value.to_owned());
                }
                self.env.insert(name.into(), value.into());
            }
        }
        let Some(helper) = own.get(KEY_HELPER).and_then(Value::as_str) else { return Ok(()) };
        // Another home stands where it runs.
        let helper = match (helper.strip_prefix("~/"), set("HOME")) {
            (Some(rest), Some(home)) => format!("{}/{rest}", Path::new(&home).display()),
            _ => helper.to_owned(),
        };
        let program = helper.split_whitespace().next().map(PathBuf::from);
        self.key_helper = program.filter(|program| program.is_absolute() && program.exists());
        let path = folder.join("login.json");
        write_private(&path, json!({ KEY_HELPER: helper }).to_string().as_bytes())?;
        self.settings = Some(path);
        Ok(())
    }
}

/// The user's own settings; what cannot be read is none.
pub(super) fn own_settings() -> Result<Option<Value>, Trouble> {
    let Some(text) = users_folder().and_then(|folder| read_if_there(&folder.join("settings.json")).transpose()) else {
        return Ok(None);
    };
    Ok(serde_json::from_str(&text?).ok())
}

/// Whether a variable comes along.
fn is_wanted(name: &str) -> bool {
    VARIABLES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The values of headers, any of which may be a login: each line whole, its value, and that behind a word like `Bearer`.
fn values_of(headers: &str) -> Vec<String> {
    let values = headers.lines().flat_map(|line| {
        let value = line.split_once(':').map_or(line, |(_, value)| value).trim();
        [line.trim(), value, value.rsplit(' ').next().unwrap_or(value)]
    });
    values.map(str::to_owned).collect()
}

/// The files of a provider's login that these variables name.
pub(super) fn provider_files(env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    PROVIDER_FILES.iter().filter_map(|(_, variable, _)| env.get(OsStr::new(variable))).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_header_the_login_in_it_is_a_secret_by_itself() {
        let values = values_of("Authorization: Bearer abc-123\nx-api-key: def-456");
        for secret in ["Authorization: Bearer abc-123", "Bearer abc-123", "abc-123", "def-456"] {
            assert!(values.iter().any(|value| value == secret), "{secret} is not in {values:?}");
        }
    }
}
