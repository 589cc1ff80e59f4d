//! claude's home in a trial: the user's credentials and provider, and nothing else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agent::files::{read_if_exists, read_jsonc, write_private};
use crate::agent::secrets::{secrets_in, secrets_in_file, without_secrets};
use crate::agent::trial_env::TrialEnv;
use crate::agent::user_home::{copy_login, users_path, variable};
use crate::files::look;
use crate::files::rooted::RootedPath;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::text::redact::{is_secret_header, looks_secret};
use crate::trace::trouble::Trouble;

/// Variables that hold credentials, choose the provider, or limit the retries. [`FAMILIES`] has more.
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

/// Families of such variables, by prefix.
const FAMILIES: [&str; 2] = ["ANTHROPIC_", "VERTEX_REGION_"];

/// Files with a provider's credentials: the variable that chooses the provider, the variable that names the file in another
/// home, and the file's default path in the user's home.
const PROVIDER_FILES: [(&str, &str, &str); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_CONFIG_FILE", ".aws/config"),
    ("CLAUDE_CODE_USE_BEDROCK", "AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
    ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud/application_default_credentials.json"),
];

/// The file with claude's own credentials.
pub(super) const CREDENTIALS: &str = ".credentials.json";

/// The file with claude's own state, and the key in it with the user's MCP servers.
const STATE: &str = ".claude.json";
const SERVERS: &str = "mcpServers";

/// The setting with a command that prints a key.
pub(super) const KEY_HELPER: &str = "apiKeyHelper";

/// The variable with headers that claude sends, one per line.
pub(super) const HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";

/// What is passed on of the user's configuration.
pub(super) struct ClaudeUserConfig {
    /// Names of the user's variables to pass on.
    pub variables: Vec<String>,
    /// More variables, with their values.
    pub env: BTreeMap<OsString, OsString>,
    /// Values that must not be stored.
    pub secrets: Vec<String>,
    /// The settings file with the command that prints a key, if the user has one.
    pub settings: Option<RootedPath>,
    /// The program of that command.
    pub key_helper: Option<PathBuf>,
}

/// A file in the directory of the user's configuration.
pub(super) fn users_file(name: &str) -> PathBuf {
    users_path(AgentKind::ClaudeCli, &format!(".claude/{name}"))
}

pub(super) fn prepare(trial_env: &TrialEnv, setup: Home) -> Result<ClaudeUserConfig, Trouble> {
    let directory = trial_env.home().join(".claude");
    directory.create_dir_all()?;
    let variables = variables();
    // Every trial masks the values of variables whose names look secret; this one's does not.
    let mut secrets = std::env::var(HEADERS).map_or_else(|_| Vec::new(), |headers| header_values(&headers));
    let home = variable("HOME");
    secrets.extend(copy_login(AgentKind::ClaudeCli, ".claude/.credentials.json", trial_env)?);
    let mut env = BTreeMap::new();
    for (provider, name, file) in PROVIDER_FILES {
        let path = home.as_ref().map(|home| home.join(file)).filter(|path| look::is_usable_file(path));
        if let (Some(_), None, Some(path)) = (variable(provider), variable(name), path) {
            env.insert(name.into(), path.into());
        }
    }
    let mut users = ClaudeUserConfig { variables, env, secrets, settings: None, key_helper: None };
    users.add_settings(&directory)?;
    if setup == Home::User {
        let servers = users_servers()?;
        users.secrets.extend([users_settings()?.unwrap_or_default(), servers.clone()].iter().flat_map(secrets_in));
        let known = json!({ SERVERS: servers });
        write_private(&trial_env.home().join(STATE), known.to_string().as_bytes())?;
    }
    Ok(users)
}

/// The user's MCP servers, for every project.
fn users_servers() -> Result<Value, Trouble> {
    let path = Some(users_file(STATE)).filter(|path| look::is_usable(path));
    let mut state = read_jsonc(&path.unwrap_or_else(|| users_path(AgentKind::ClaudeCli, STATE)))?;
    Ok(state.remove(SERVERS).unwrap_or_else(|| json!({})))
}

/// The user's variables that claude gets.
fn variables() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names.filter(|name| is_passed_on(name)).collect()
}

/// The user's variables, and what claude gets of the settings, without secrets.
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let settings = users_settings()?.unwrap_or_default();
    let is_plain = |name: &str, value: &str| name != HEADERS && !looks_secret(name, value);
    let mut text = format!("{KEY_HELPER} {}\n", settings.get(KEY_HELPER).is_some());
    for (name, value) in settings.get("env").and_then(Value::as_object).into_iter().flatten() {
        if let Some(value) = value.as_str().filter(|value| is_passed_on(name) && is_plain(name, value)) {
            text.extend([name.as_str(), "=", value, "\n"]);
        }
    }
    if setup == Home::User {
        text.push_str(&without_secrets(users_servers()?).to_string());
    }
    let names = variables().into_iter().filter(|name| name != HEADERS).collect();
    Ok((names, text))
}

impl ClaudeUserConfig {
    /// Adds the credentials of the user's settings, which claude does not read in a trial.
    fn add_settings(&mut self, directory: &RootedPath) -> Result<(), Trouble> {
        let Some(settings) = users_settings()? else { return Ok(()) };
        for (name, value) in settings.get("env").and_then(Value::as_object).into_iter().flatten() {
            if let Some(value) = value.as_str().filter(|_| is_passed_on(name) && variable(name).is_none()) {
                if name == HEADERS {
                    self.secrets.extend(header_values(value));
                } else if looks_secret(name, value) {
                    self.secrets.push(value.to_owned());
                }
                self.env.insert(name.into(), value.into());
            }
        }
        let Some(helper) = settings.get(KEY_HELPER).and_then(Value::as_str) else { return Ok(()) };
        // `~` would be the trial's home.
        let helper = match (helper.strip_prefix("~/"), variable("HOME")) {
            (Some(rest), Some(home)) => format!("{}/{rest}", home.display()),
            _ => helper.to_owned(),
        };
        let program = helper.split_whitespace().next().map(PathBuf::from);
        self.key_helper = program.filter(|program| program.is_absolute() && look::is_usable(program));
        let path = directory.join("login.json");
        write_private(&path, json!({ KEY_HELPER: helper }).to_string().as_bytes())?;
        self.settings = Some(path);
        Ok(())
    }
}

/// The user's settings; `None` if they are not JSON.
pub(super) fn users_settings() -> Result<Option<Value>, Trouble> {
    Ok(read_if_exists(&users_file("settings.json"))?.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Whether claude gets the user's variable of this name.
fn is_passed_on(name: &str) -> bool {
    VARIABLES.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family))
}

/// The values of headers, which may be credentials: each whole line, its value, and the value after a word like `Bearer`.
fn header_values(headers: &str) -> Vec<String> {
    let lines = headers.lines().map(|line| (line, line.split_once(':').unwrap_or(("", line))));
    let values = lines.filter(|(_, (name, _))| is_secret_header(name)).flat_map(|(line, (_, value))| {
        let value = value.trim();
        [line.trim(), value, value.rsplit(' ').next().unwrap_or(value)]
    });
    values.map(str::to_owned).collect()
}

/// The files with a provider's credentials that these variables name.
pub(super) fn provider_files(env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
    PROVIDER_FILES.iter().filter_map(|(_, variable, _)| env.get(OsStr::new(variable))).map(PathBuf::from).collect()
}

/// The credentials in these files.
pub(super) fn secrets_in_files(files: &[PathBuf]) -> Vec<String> {
    let texts = files.iter().filter_map(|path| read_if_exists(path).ok()?);
    texts.flat_map(|text| secrets_in_file("", &text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credentials_in_a_header_are_a_secret_without_the_header() {
        let values = header_values("Authorization: Bearer abc-123\nx-api-key: def-456\nContent-Type: text/plain");
        assert!(!values.iter().any(|value| value.contains("plain")), "{values:?}");
        for secret in ["Authorization: Bearer abc-123", "Bearer abc-123", "abc-123", "def-456"] {
            assert!(values.iter().any(|value| value == secret), "{secret} is not in {values:?}");
        }
    }
}
