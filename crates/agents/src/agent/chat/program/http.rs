//! Requests to the endpoint: retries, and what a refusal says.

use std::fs;
use std::io;
use std::time::Duration;

use serde_json::Value;
use ureq::http::{HeaderMap, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::super::setup::{ChatApi, ChatSetup};
use crate::agent::reset::wait_in;
use crate::text::cut;

/// Pauses before a request is sent again, unless the provider asks for others.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// The longest pause that is waited for here. For a longer one, the trial ends, and the run waits.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a connection may take. The timeout of an answer is that of the trial.
const CONNECT: Duration = Duration::from_secs(20);

/// The largest answer, in bytes.
const MAX_BODY: u64 = 16 * 1024 * 1024;

/// The longest message of a refusal, in characters.
const MAX_MESSAGE: usize = 500;

/// The version of Anthropic's protocol.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Why a request has no answer.
#[derive(Debug, Default)]
pub(super) struct RequestFailure {
    pub status: Option<u16>,
    /// The error's code or type.
    pub code: Option<String>,
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the server was not reached, or the answer broke off.
    pub is_lost: bool,
}

/// Sends requests to the endpoint.
pub(super) struct ModelClient {
    agent: Agent,
    url: String,
    headers: Vec<(&'static str, String)>,
    key: Option<String>,
}

impl ModelClient {
    pub(super) fn new(setup: &ChatSetup) -> io::Result<Self> {
        let (path, header) = match setup.api {
            ChatApi::Completions => ("/chat/completions", "authorization"),
            ChatApi::Responses => ("/responses", "authorization"),
            ChatApi::Messages => ("/v1/messages", "x-api-key"),
        };
        let value = |key: &String| if header == "x-api-key" { key.clone() } else { format!("Bearer {key}") };
        let mut headers = vec![("content-type", "application/json".to_owned())];
        headers.extend(setup.key.iter().map(|key| (header, value(key))));
        if setup.api == ChatApi::Messages {
            headers.push(("anthropic-version", ANTHROPIC_VERSION.to_owned()));
        }
        let tls = TlsConfig::builder().root_certs(certificates()?).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Another host must not get the key.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .tls_config(tls)
            .user_agent(concat!("skill-evals/", env!("CARGO_PKG_VERSION")));
        let url = format!("{}{path}", setup.base_url);
        Ok(Self { agent: config.build().into(), url, headers, key: setup.key.clone() })
    }

    /// The answer to a request.
    pub(super) fn send(&self, body: &Value) -> Result<Value, RequestFailure> {
        let mut request = self.agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut response = request.send(body.to_string()).map_err(|error| self.lost(&error))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(MAX_BODY).lossy_utf8(true).read_to_string();
        let text = text.map_err(|error| self.lost(&error))?;
        let answer = serde_json::from_str::<Value>(&text).ok();
        match answer {
            // Some proxies send an error with the status of a success.
            Some(answer) if status == 200 && answer["error"].is_null() => Ok(answer),
            answer => Err(self.refused(&response, &text, &answer.unwrap_or_default())),
        }
    }

    fn lost(&self, error: &ureq::Error) -> RequestFailure {
        let message = self.shown(&format!("no answer from {}: {error}", self.url));
        RequestFailure { message, is_lost: true, ..RequestFailure::default() }
    }

    fn refused(&self, response: &Response<Body>, text: &str, answer: &Value) -> RequestFailure {
        let (status, error) = (response.status().as_u16(), &answer["error"]);
        let in_body = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|_| status == 200);
        let code = ["code", "type"].into_iter().find_map(|key| error[key].as_str()).map(str::to_owned);
        let message = error["message"].as_str().or_else(|| error.as_str()).or_else(|| answer["message"].as_str());
        let message = match (message, response.headers().get("location")) {
            (Some(message), _) => message.to_owned(),
            (None, Some(to)) if (300..400).contains(&status) => {
                let to = to.to_str().unwrap_or_default();
                format!("HTTP {status} from {}: it is at {to}, and redirects are not followed", self.url)
            }
            _ if status == 200 => format!("{} sent no JSON: {text}", self.url),
            _ => format!("HTTP {status} from {}: {text}", self.url),
        };
        let retry_after = seconds(response.headers()).or_else(|| wait_in(&message));
        let status = in_body.or(Some(status).filter(|status| *status != 200));
        RequestFailure { status, code, message: self.shown(&message), retry_after, is_lost: false }
    }

    /// A text of the server on one line, without the key, and cut only after that.
    pub(super) fn shown(&self, text: &str) -> String {
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        let text = key.map_or_else(|| text.to_owned(), |key| text.replace(key, "[key]"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        cut::start(&text, MAX_MESSAGE)
    }
}

/// The pauses between requests that fail.
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    PAUSES.into_iter()
}

impl RequestFailure {
    /// How long to wait before the request is sent again, if that can help: the provider's time, or else `usual`.
    pub(super) fn pause(&self, usual: Option<Duration>) -> Option<Duration> {
        let pause = self.retry_after.unwrap_or(usual?);
        (self.is_temporary() && pause <= LONGEST_PAUSE).then_some(pause)
    }

    fn is_temporary(&self) -> bool {
        self.is_lost || matches!(self.status, Some(408 | 429 | 500 | 502..=504 | 529))
    }

    /// Whether the conversation no longer fits into the model's context.
    pub(super) fn is_too_long(&self) -> bool {
        let codes = ["context_length_exceeded", "exceed_context_size_error"];
        self.code.as_deref().is_some_and(|code| codes.contains(&code))
    }
}

/// The pause in the header `retry-after`, if it is a number of seconds.
fn seconds(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The certificates in the user's file, or those that come with the program.
fn certificates() -> io::Result<RootCerts> {
    let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let pem = fs::read(&path)?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    Ok(RootCerts::from(certificates))
}
