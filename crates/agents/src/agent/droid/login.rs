//! The credentials that Droid would use: of Factory, or those of the user's own models in `settings.json`.

use serde_json::Value;

use crate::agent::files::read_jsonc;
use crate::agent::login::{Login, LoginSources};
use crate::agent::secrets::{secrets_in, without_secrets};
use crate::agent::user_home::{users_path, variable};
use crate::files::look;
use crate::settings::Home;
use crate::settings::mode::AgentKind;
use crate::trace::trouble::Trouble;

pub(super) const KEY: &str = "FACTORY_API_KEY";

/// The variable with the address of Factory's server.
pub(super) const SERVER: &str = "FACTORY_API_BASE_URL";

/// Variables that choose what Droid reaches.
pub(super) const PROVIDER: [&str; 3] = [SERVER, "FACTORY_AIRGAP_ENABLED", "FACTORY_EXTRA_CA_CERTS"];

/// Files with a login at Factory in the user's home: the login, and the key to it.
pub(super) const LOGIN_FILES: [&str; 2] = [".factory/auth.v2.file", ".factory/auth.v2.key"];

/// The keys of the user's settings that trials get.
const COPIED_KEYS: [&str; 4] = ["customModels", "model", "reasoningEffort", "sessionDefaultSettings"];

/// What of the user's settings trials get.
pub(super) fn users_settings(setup: Home) -> Result<Value, Trouble> {
    let mut settings = read_jsonc(&users_path(AgentKind::Droid, ".factory/settings.json"))?;
    settings.retain(|key, _| setup == Home::User || COPIED_KEYS.contains(&key.as_str()));
    Ok(Value::Object(settings))
}

/// The variables that the settings name in these secrets: `${NAME}`.
pub(super) fn variables(secrets: &[String]) -> Vec<String> {
    let names = secrets.iter().flat_map(|secret| secret.split("${").skip(1));
    names.filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
}

/// Whether the user has a login at Factory.
pub(super) fn is_logged_in() -> bool {
    variable(KEY).is_some() || LOGIN_FILES.iter().all(|path| look::is_usable_file(&users_path(AgentKind::Droid, path)))
}

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let settings = users_settings(Home::Isolated)?;
    if around.variable(KEY).is_some() {
        return Ok(Login::Set(KEY.to_owned()));
    }
    if is_logged_in() {
        return Ok(Login::Found("auth.v2.file in Droid's directory".to_owned()));
    }
    let has_models = settings.get("customModels").is_some();
    Ok(match secrets_in(&settings).is_empty() {
        false => Login::Found("a key of your own model in Droid's settings.json".to_owned()),
        true if has_models => {
            Login::Unknown("your own model in Droid's settings.json, which may need no key".to_owned())
        }
        true => Login::Missing(format!(
            "trials do not see the keychain: set {KEY}, or add your own model to Droid's settings.json"
        )),
    })
}

/// The variables that choose the provider, and the settings without secrets.
pub(super) fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
    let settings = users_settings(setup)?;
    let names = PROVIDER.map(str::to_owned).into_iter().chain(variables(&secrets_in(&settings))).collect();
    Ok((names, format!("login {}\n{}", is_logged_in(), without_secrets(settings))))
}
