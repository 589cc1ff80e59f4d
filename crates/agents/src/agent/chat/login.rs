//! The endpoint and its key: the variables that users of the libraries of `OpenAI` and Anthropic know.

use super::setup::{ChatApi, ChatOptions};
use crate::agent::login::{Login, LoginSources};

/// Variables that hold a key.
pub(super) const KEYS: [&str; 2] = [OPENAI.key, ANTHROPIC.key];

/// Variables that choose a provider and its model.
pub(super) const PROVIDER: [&str; 4] = [OPENAI.base_url, OPENAI.model, ANTHROPIC.base_url, ANTHROPIC.model];

/// What to do if no variable names an endpoint.
const NO_ENDPOINT: &str = "set OPENAI_BASE_URL (a local server needs no key), OPENAI_API_KEY or ANTHROPIC_API_KEY";

const OPENAI: EndpointVariables = EndpointVariables {
    base_url: "OPENAI_BASE_URL",
    key: "OPENAI_API_KEY",
    model: "OPENAI_MODEL",
    default_url: "https://api.openai.com/v1",
};

const ANTHROPIC: EndpointVariables = EndpointVariables {
    base_url: "ANTHROPIC_BASE_URL",
    key: "ANTHROPIC_API_KEY",
    model: "ANTHROPIC_MODEL",
    default_url: "https://api.anthropic.com",
};

struct EndpointVariables {
    base_url: &'static str,
    key: &'static str,
    model: &'static str,
    /// The provider's own endpoint.
    default_url: &'static str,
}

/// Where the model is.
pub(super) struct Endpoint {
    pub api: ChatApi,
    pub base_url: String,
    pub key: Option<String>,
    /// The model that a variable names.
    pub model: Option<String>,
    /// The variable that named the endpoint.
    found: &'static str,
}

/// The endpoint that the variables name; those of `OpenAI` come first unless the options choose the other protocol.
pub(super) fn endpoint(around: &LoginSources<'_>, options: &ChatOptions) -> Result<Endpoint, String> {
    let candidates = match options.api {
        None => vec![(ChatApi::Completions, OPENAI), (ChatApi::Messages, ANTHROPIC)],
        Some(ChatApi::Messages) => vec![(ChatApi::Messages, ANTHROPIC)],
        Some(api) => vec![(api, OPENAI)],
    };
    let named = |(api, names): (ChatApi, EndpointVariables)| {
        let found = around.first(&[names.base_url, names.key])?;
        let base_url = around.variable(names.base_url).unwrap_or_else(|| names.default_url.to_owned());
        let base_url = base_url.trim().trim_end_matches('/').to_owned();
        let (key, model) = (around.variable(names.key), around.variable(names.model));
        Some(Endpoint { api, base_url, key: key.map(|key| key.trim().to_owned()), model, found })
    };
    candidates.into_iter().find_map(named).ok_or_else(|| NO_ENDPOINT.to_owned())
}

pub(super) fn find(around: &LoginSources<'_>) -> Login {
    match ChatOptions::parse(around.arguments()).and_then(|options| endpoint(around, &options)) {
        Ok(Endpoint { api, key: Some(_), .. }) => {
            Login::Set(if api == ChatApi::Messages { ANTHROPIC.key } else { OPENAI.key }.to_owned())
        }
        Ok(Endpoint { found, base_url, .. }) => Login::Found(format!("{found} is set; asks {base_url}")),
        Err(why) => Login::Missing(why),
    }
}
