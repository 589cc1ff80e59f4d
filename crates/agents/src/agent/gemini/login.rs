//! The credentials that Gemini CLI would use.

use super::home::{self, auth_type};
use crate::agent::login::{Login, LoginSources};
use crate::trace::trouble::Trouble;

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

pub(super) fn find(around: &LoginSources<'_>) -> Result<Login, Trouble> {
    let kind = auth_type(&home::users_settings()?, |name| around.variable(name).is_some());
    Ok(match kind.as_deref() {
        Some("oauth-personal") if home::has_login()? => {
            Login::Found("oauth_creds.json in Gemini's directory".to_owned())
        }
        Some("oauth-personal") => Login::Missing(format!("trials do not see a keychain: {HOW_TO}")),
        Some("gemini-api-key") => match around.variable(KEYS[0]) {
            Some(_) => Login::Set(KEYS[0].to_owned()),
            None => Login::Missing(format!("trials do not see the keychain with the key of Gemini: {HOW_TO}")),
        },
        Some(other) => Login::Unknown(format!("Gemini uses `{other}`, which may have credentials")),
        None => Login::Missing(HOW_TO.to_owned()),
    })
}
