//! Where claude would find its login, without asking anybody whether it is still good.

use super::home::{credentials, set};

/// How to log in.
const HOW_TO: &str = "run `claude` and log in, or set ANTHROPIC_API_KEY, or CLAUDE_CODE_OAUTH_TOKEN from \
                      `claude setup-token` (a login in the keychain of macOS is not seen here, nor by trials)";

/// Variables with a login, and those that leave it to a cloud's own.
const VARIABLES: [&str; 3] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];
const CLOUDS: [(&str, &str); 2] = [("CLAUDE_CODE_USE_BEDROCK", "AWS"), ("CLAUDE_CODE_USE_VERTEX", "Google Cloud")];

/// Where the login is.
///
/// # Errors
/// What to do where there is none.
pub(super) fn find() -> Result<String, String> {
    if let Some((name, cloud)) = CLOUDS.into_iter().find(|(name, _)| set(name).is_some_and(|value| value != "0")) {
        return Ok(format!("{name} is set: the login of {cloud} is used, and was not looked at"));
    }
    if let Some(name) = VARIABLES.into_iter().find(|name| set(name).is_some()) {
        return Ok(format!("{name} is set"));
    }
    match credentials().map(std::fs::read) {
        Some(Ok(text)) if serde_json::from_slice::<serde_json::Value>(&text).is_ok_and(|value| value.is_object()) => {
            Ok(".credentials.json in claude's folder".to_owned())
        }
        Some(Ok(_)) => Err(format!("the .credentials.json in claude's folder is damaged; {HOW_TO}")),
        _ => Err(HOW_TO.to_owned()),
    }
}
