//! The kind of trouble that a provider's refusal is, by the fields that providers and programs send: the HTTP status, and the
//! error's type and code. Words count only if a program sends no field, and only its own fixed phrases: the text of an error
//! may quote anything. Words also tell a limit that lasts for hours from one that lasts for seconds: both are a 429.

use serde_json::Value;

use crate::profile;
use crate::trace::trouble::{Trouble, TroubleKind};

/// What is known about a refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusal<'a> {
    /// The HTTP status, if it has its own field.
    pub status: Option<u64>,
    /// The error's type or code, if it has its own field.
    pub code: Option<&'a str>,
    pub message: &'a str,
    /// The HTTP status of the attempt before, if the program gave up without a status.
    pub retried: Option<u64>,
}

/// Types and codes of temporary errors.
const TEMPORARY: [&str; 13] = [
    "rate_limit",
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit_reached",
    "tokens",
    "requests",
    "overloaded",
    "overloaded_error",
    "server_overloaded",
    "server_is_overloaded",
    "slow_down",
    "internal_server_error",
    "timeout_error",
];

/// Types and codes of limits that last for hours or days.
const USED_UP: [&str; 7] = [
    "exceeded_current_quota_error",
    "usage_limit_exceeded",
    "usage_limit_reached",
    "insufficient_quota",
    "quota_exceeded",
    "billing_error",
    "billing_hard_limit_reached",
];

/// Types and codes of errors about credentials.
const LOGIN: [&str; 7] = [
    "authentication_error",
    "authentication_failed",
    "permission_error",
    "unauthorized",
    "invalid_api_key",
    "oauth_org_not_allowed",
    "token_expired",
];

/// What providers say about a temporary refusal, in lower case, if they send no field. Programs have phrases of their own.
const TEMPORARY_PHRASES: [&str; 4] =
    ["rate limit reached", "rate limit exceeded", "exceeded your current quota", "quota exceeded"];

/// What providers say about limits that last for hours or days, in lower case.
const USED_UP_PHRASES: [&str; 13] = [
    "daily quota",
    "per day",
    "perday",
    "per-day",
    "monthly quota",
    "monthly limit",
    "premium request",
    "free usage exceeded",
    "you have no quota",
    "insufficient credits",
    "insufficient balance",
    "check your account balance",
    "credit balance is too low",
];

/// What programs and their HTTP clients say if nobody answers at all, in lower case.
const UNREACHABLE_PHRASES: [&str; 12] = [
    "connection refused",
    "connectionrefused",
    "econnrefused",
    "connection error.",
    "connection failed",
    "unable to connect",
    "error sending request",
    "network is unreachable",
    "fetch failed",
    "enotfound",
    "failed to lookup address",
    "could not resolve host",
];

/// What providers say about credentials, in lower case.
const LOGIN_PHRASES: [&str; 2] = ["invalid api key", "incorrect api key"];

/// The trouble of a refusal with this HTTP status, if it has its own field.
pub(super) fn refused(status: Option<u64>, message: &str) -> Trouble {
    Refusal { status, message, ..Refusal::default() }.trouble()
}

impl Refusal<'_> {
    pub(super) fn trouble(self) -> Trouble {
        Trouble::new(self.kind(), self.message)
    }

    pub(super) fn kind(&self) -> TroubleKind {
        let status = self.status.or_else(|| status_in(self.message));
        // A 400 may be a temporary refusal by its code; a code does not change what other statuses mean.
        let by_code = self.code.and_then(kind_of_code).or_else(|| kind_of_body(self.message));
        let kind = status.and_then(kind_of_status).or(by_code);
        let kind = match status {
            Some(_) => kind,
            None => kind.or_else(|| kind_of_phrase(self.message)).or_else(|| self.retried.and_then(kind_of_status)),
        };
        match kind {
            Some(TroubleKind::RateLimit) if by_code == Some(TroubleKind::UsageLimit) || is_used_up(self.message) => {
                TroubleKind::UsageLimit
            }
            kind => kind.unwrap_or(TroubleKind::Provider),
        }
    }
}

fn kind_of_status(status: u64) -> Option<TroubleKind> {
    match status {
        401 | 403 => Some(TroubleKind::Login),
        // Payment required.
        402 => Some(TroubleKind::UsageLimit),
        // Too many requests, timeouts, and servers that are overloaded or down: waiting helps.
        408 | 429 | 500 | 502..=504 | 529 => Some(TroubleKind::RateLimit),
        _ => None,
    }
}

fn kind_of_code(code: &str) -> Option<TroubleKind> {
    let code = code.to_ascii_lowercase();
    if TEMPORARY.contains(&code.as_str()) {
        return Some(TroubleKind::RateLimit);
    }
    if USED_UP.contains(&code.as_str()) {
        return Some(TroubleKind::UsageLimit);
    }
    LOGIN.contains(&code.as_str()).then_some(TroubleKind::Login)
}

/// Whether a refusal for now lasts for hours or days, by its words.
fn is_used_up(message: &str) -> bool {
    let message = message.to_lowercase();
    let mut phrases = USED_UP_PHRASES.iter().chain(profile::of_all(|profile| profile.refusals.used_up));
    phrases.any(|phrase| message.contains(phrase))
}

/// The kind by the type and code in a message that is the provider's JSON body.
fn kind_of_body(message: &str) -> Option<TroubleKind> {
    let body: Value = serde_json::from_str(&message[message.find('{')?..]).ok()?;
    let error = body.get("error").unwrap_or(&body);
    let (code, kind) = (error.get("code"), error.get("type"));
    let known = [code, kind].into_iter().flatten().filter_map(Value::as_str).find_map(kind_of_code);
    known.or_else(|| code.or(kind).map(|_| TroubleKind::Provider))
}

/// The HTTP status in a program's message: "unexpected status 503 …", "exceeded retry limit, last status: 429 …".
fn status_in(message: &str) -> Option<u64> {
    let mut starts = profile::of_all(|profile| profile.refusals.status);
    let rest = starts.find_map(|start| Some(message.split_once(*start)?.1))?;
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    let is_whole = !rest[3..].starts_with(char::is_alphanumeric);
    digits.parse().ok().filter(|status| is_whole && (400..600).contains(status))
}

fn kind_of_phrase(message: &str) -> Option<TroubleKind> {
    if is_used_up(message) {
        return Some(TroubleKind::UsageLimit);
    }
    let message = message.to_lowercase();
    let has_phrase = |phrase: &&str| message.contains(*phrase);
    if TEMPORARY_PHRASES.iter().chain(profile::of_all(|profile| profile.refusals.for_now)).any(has_phrase) {
        return Some(TroubleKind::RateLimit);
    }
    if UNREACHABLE_PHRASES.iter().any(has_phrase) {
        return Some(TroubleKind::Unreachable);
    }
    let mut login = LOGIN_PHRASES.iter().chain(profile::of_all(|profile| profile.refusals.login));
    login.any(has_phrase).then_some(TroubleKind::Login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> TroubleKind {
        Refusal { message, ..Refusal::default() }.kind()
    }

    #[test]
    fn a_provider_that_did_not_answer_in_any_way_is_unreachable() {
        for message in [
            "stream disconnected before completion: error sending request for url (http://127.0.0.1:9/v1/responses)",
            "Reconnecting... waiting for network (Connection failed: error sending request)",
            "API Error: Connection error.",
            "API Error: Unable to connect to API (ConnectionRefused)",
            "connect ECONNREFUSED 127.0.0.1:9",
            "getaddrinfo ENOTFOUND api.example.org",
        ] {
            assert_eq!(kind(message), TroubleKind::Unreachable, "{message}");
        }
        // A server in between has answered.
        let answered = Refusal { status: Some(502), message: "upstream: connection refused", ..Refusal::default() };
        assert_eq!(answered.kind(), TroubleKind::RateLimit);
    }

    #[test]
    fn the_status_decides_and_not_what_else_is_in_the_message() {
        assert_eq!(kind("unexpected status 503 Service Unavailable: x, request id: 429"), TroubleKind::RateLimit);
        assert_eq!(kind("unexpected status 529 <unknown status code>"), TroubleKind::RateLimit);
        assert_eq!(
            kind("unexpected status 400 Bad Request: quota exceeded, request id: req_429"),
            TroubleKind::Provider
        );
        assert_eq!(kind("exceeded retry limit, last status: 429 Too Many Requests"), TroubleKind::RateLimit);
        assert_eq!(kind("unexpected status 401 Unauthorized: Incorrect API key"), TroubleKind::Login);
        let limits = Refusal { status: Some(400), message: "your usage limit reached, or login", ..Refusal::default() };
        assert_eq!(limits.kind(), TroubleKind::Provider);
    }

    #[test]
    fn what_was_retried_decides_if_the_program_does_not_say_why_it_gave_up() {
        let gave_up = |status, message| Refusal { status, message, retried: Some(529), ..Refusal::default() }.kind();
        assert_eq!(gave_up(None, "API Error: Repeated 529 Overloaded errors."), TroubleKind::RateLimit);
        assert_eq!(gave_up(Some(400), "x"), TroubleKind::Provider);
        assert_eq!(gave_up(None, "API Error: 400 prompt is too long"), TroubleKind::Provider);
    }

    #[test]
    fn types_and_codes_decide_if_there_is_no_status() {
        let code = |code| Refusal { code: Some(code), ..Refusal::default() }.kind();
        assert_eq!((code("overloaded"), code("authentication_failed")), (TroubleKind::RateLimit, TroubleKind::Login));
        assert_eq!(
            kind(r#"{"error":{"message":"x","type":"tokens","code":"rate_limit_exceeded"}}"#),
            TroubleKind::RateLimit
        );
        let quoted =
            r#"{"error":{"message":"quota exceeded 429","type":"invalid_request_error"},"request_id":"req_429"}"#;
        assert_eq!(kind(quoted), TroubleKind::Provider);
    }

    #[test]
    fn fixed_phrases_count_if_a_program_sends_nothing_else() {
        assert_eq!(kind("Selected model is at capacity. Please try a different model."), TroubleKind::RateLimit);
        assert_eq!(kind("Missing environment variable: `KEY`."), TroubleKind::Login);
        assert_eq!(kind("Reached maximum number of turns (3) while reading quota.md, id 429"), TroubleKind::Provider);
    }
    #[test]
    fn a_limit_that_lasts_is_told_from_one_that_is_over_soon() {
        let known = |status, code, message| Refusal { status, code, message, retried: None }.kind();
        for message in [
            "You've hit your session limit · resets 3pm",
            "You've hit your Opus limit · resets Nov 28, 9:01am (Europe/Berlin)",
            "You've reached your weekly limit",
            "You're out of usage credits",
            "Opus weekly limit reached ∙ resets Oct 31, 9am",
            "5-hour limit reached ∙ resets 2am",
            "Claude AI usage limit reached|1760004000",
            "You've hit your usage limit. Upgrade to Pro (https://x/pro) or try again at Mar 10th, 2026 3:39 AM.",
            "You have exhausted your daily quota on this model.",
            "Quota exceeded for quota metric 'Requests' and limit 'Requests per day per user per tier'",
        ] {
            assert_eq!(known(None, None, message), TroubleKind::UsageLimit, "{message}");
            assert_eq!(known(Some(429), Some("rate_limit"), message), TroubleKind::UsageLimit, "{message}");
            assert_eq!(known(Some(400), Some("invalid_request_error"), message), TroubleKind::Provider, "{message}");
        }
        assert_eq!(known(Some(429), Some("insufficient_quota"), "x"), TroubleKind::UsageLimit);
        assert_eq!(known(Some(402), None, "Insufficient credits"), TroubleKind::UsageLimit);
        let body = r#"402 {"error":{"message":"You have no quota","code":"quota_exceeded"}}"#;
        assert_eq!(known(None, None, body), TroubleKind::UsageLimit);
        let per_minute =
            "You exceeded your current quota, please check your plan: GenerateRequestsPerMinute, retry in 7s";
        assert_eq!(known(Some(429), Some("RESOURCE_EXHAUSTED"), per_minute), TroubleKind::RateLimit);
        assert_eq!(known(Some(429), None, "Rate limit reached for x on tokens per min"), TroubleKind::RateLimit);
    }
}
