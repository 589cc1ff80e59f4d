//! The credentials that Copilot CLI would use: of GitHub, or of another provider.

use crate::agent::login::{Login, LoginSources};

/// Variables that hold a token of GitHub, in Copilot's order.
pub(super) const TOKENS: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];

/// The variable with the address of another provider. A local one needs no key.
const BASE_URL: &str = "COPILOT_PROVIDER_BASE_URL";

/// Variables that hold the credentials of another provider.
pub(super) const KEYS: [&str; 2] = ["COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"];

/// Variables that choose a provider and its model.
pub(super) const PROVIDER: [&str; 13] = [
    BASE_URL,
    "COPILOT_MODEL",
    "COPILOT_OFFLINE",
    "COPILOT_GH_HOST",
    "GH_HOST",
    "COPILOT_PROVIDER_TYPE",
    "COPILOT_PROVIDER_WIRE_API",
    "COPILOT_PROVIDER_TRANSPORT",
    "COPILOT_PROVIDER_AZURE_API_VERSION",
    "COPILOT_PROVIDER_MODEL_ID",
    "COPILOT_PROVIDER_WIRE_MODEL",
    "COPILOT_PROVIDER_MAX_PROMPT_TOKENS",
    "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS",
];

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    if let Some(url) = around.variable(BASE_URL) {
        return Login::Found(format!("the provider at {url}"));
    }
    match around.first(&TOKENS) {
        Some(name) => Login::Set(name.to_owned()),
        // Copilot keeps its login in the system's keychain, which a trial does not see.
        None => Login::Missing(
            "trials do not see the keychain in which Copilot keeps its login: set COPILOT_GITHUB_TOKEN, or \
             COPILOT_PROVIDER_BASE_URL for another provider"
                .to_owned(),
        ),
    }
}
