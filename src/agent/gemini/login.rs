//! The credentials that Gemini CLI would use.

use super::home::{self, auth_type};
use crate::agent::login::{Login, LoginSources};

/// Variables that hold a key.
pub(super) const KEYS: [&str; 2] = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];

/// The variable that names a file with credentials of Google Cloud.
pub(super) const CREDENTIALS_FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Variables that choose a provider and its model.
pub(super) const PROVIDER: [&str; 11] = [
    CREDENTIALS_FILE,
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_API_VERSION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_PROJECT_ID",
    "GOOGLE_CLOUD_LOCATION",
    "CODE_ASSIST_ENDPOINT",
    "GEMINI_MODEL",
];

/// How to provide credentials.
const HOW_TO: &str = "set GEMINI_API_KEY, or log in with Google in `gemini`";

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    let settings = match home::users_settings() {
        Ok(settings) => settings,
        Err(trouble) => return Login::Missing(trouble.detail),
    };
    match auth_type(&settings, |name| around.variable(name).is_some()).as_deref() {
        Some("oauth-personal") => match home::has_login() {
            Ok(true) => Login::Found("oauth_creds.json in Gemini's directory".to_owned()),
            Ok(false) => Login::Missing(format!("trials do not see a keychain: {HOW_TO}")),
            Err(trouble) => Login::Missing(trouble.detail),
        },
        Some("gemini-api-key") => match around.variable(KEYS[0]) {
            Some(_) => Login::Set(KEYS[0].to_owned()),
            None => Login::Missing(format!("trials do not see the keychain with the key of Gemini: {HOW_TO}")),
        },
        Some(other) => Login::Unknown(format!("Gemini uses `{other}`, which may have credentials")),
        None => Login::Missing(HOW_TO.to_owned()),
    }
}
