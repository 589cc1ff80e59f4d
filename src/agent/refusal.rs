//! What kind of trouble a provider's refusal is, by the fields that providers and programs send: HTTP status, type and
//! code of the error. Words count only where a program sends nothing else, and then its own fixed phrases: an error's
//! text may quote anything.

use std::time::Duration;

use serde_json::Value;

use crate::profile;
use crate::trace::trouble::TroubleKind;

/// What is known of a refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusal<'a> {
    /// The HTTP status, where it has a field of its own.
    pub status: Option<u64>,
    /// The error's type or code, where it has a field of its own.
    pub code: Option<&'a str>,
    /// The message.
    pub message: &'a str,
    /// The HTTP status of the attempt before this one, if the program gave up without one of its own.
    pub retried: Option<u64>,
}

/// Types and codes of errors that pass by waiting.
const FOR_NOW: [&str; 16] = [
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
    "usage_limit_exceeded",
    "usage_limit_reached",
    "insufficient_quota",
    "internal_server_error",
    "timeout_error",
];

/// Types and codes of errors about the login.
const LOGIN: [&str; 8] = [
    "authentication_error",
    "authentication_failed",
    "permission_error",
    "unauthorized",
    "invalid_api_key",
    "oauth_org_not_allowed",
    "token_expired",
    "billing_error",
];

/// What providers say, in lower case, where they send no field: of a refusal for now, and of the login. Programs add words
/// of their own.
const SAID_FOR_NOW: [&str; 4] =
    ["rate limit reached", "rate limit exceeded", "exceeded your current quota", "quota exceeded"];
const SAID_OF_LOGIN: [&str; 2] = ["invalid api key", "incorrect api key"];

impl Refusal<'_> {
    /// What kind of trouble it is.
    pub(super) fn kind(&self) -> TroubleKind {
        let status = self.status.or_else(|| told_status(self.message));
        // A 400 may still be a refusal for now by its code, never the other way round.
        let by_status = status.and_then(by_status);
        let by_code = || self.code.and_then(by_code).or_else(|| by_body(self.message));
        let by_words = || match status {
            Some(_) => None,
            None => by_phrase(self.message),
        };
        let by_retry = || self.retried.filter(|_| status.is_none()).and_then(self::by_status);
        by_status.or_else(by_code).or_else(by_words).or_else(by_retry).unwrap_or(TroubleKind::Provider)
    }
}

fn by_status(status: u64) -> Option<TroubleKind> {
    match status {
        401 | 403 => Some(TroubleKind::Login),
        // Too many requests, timeouts and servers that are overloaded or down: waiting helps.
        408 | 429 | 500 | 502..=504 | 529 => Some(TroubleKind::RateLimit),
        _ => None,
    }
}

fn by_code(code: &str) -> Option<TroubleKind> {
    let code = code.to_ascii_lowercase();
    if FOR_NOW.contains(&code.as_str()) {
        Some(TroubleKind::RateLimit)
    } else {
        LOGIN.contains(&code.as_str()).then_some(TroubleKind::Login)
    }
}

/// By the type and code in a message that is the provider's JSON body.
fn by_body(message: &str) -> Option<TroubleKind> {
    let body: Value = serde_json::from_str(&message[message.find('{')?..]).ok()?;
    let error = body.get("error").unwrap_or(&body);
    let field = |name: &str| error.get(name).and_then(Value::as_str).and_then(by_code);
    let of_known_shape = error.get("type").or_else(|| error.get("code")).is_some();
    field("code").or_else(|| field("type")).or_else(|| of_known_shape.then_some(TroubleKind::Provider))
}

/// The HTTP status in a message of a program: "unexpected status 503 …", "exceeded retry limit, last status: 429 …".
fn told_status(message: &str) -> Option<u64> {
    let mut starts = profile::of_all(|profile| profile.refusals.status);
    let rest = starts.find_map(|start| Some(message.split_once(*start)?.1))?;
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    let ends = rest[3..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    digits.parse().ok().filter(|status| ends && (400..600).contains(status))
}

/// How long to wait by the words of a provider: "Please try again in 11.5s", "try again in 2 hours 5 minutes".
pub(super) fn retry_after(message: &str) -> Option<Duration> {
    let message = message.to_lowercase();
    let mut rest = message.split_once("try again in ")?.1;
    let mut seconds = None;
    loop {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[number..].trim_start();
        let letters = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let one = match &unit[..letters] {
            "ms" | "milliseconds" => 0.001,
            "s" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        let Ok(count) = rest[..number].parse::<f64>() else { break };
        seconds = Some(seconds.unwrap_or(0.0) + count * one);
        rest = unit[letters..].trim_start();
    }
    Duration::try_from_secs_f64(seconds?).ok()
}

fn by_phrase(message: &str) -> Option<TroubleKind> {
    let message = message.to_lowercase();
    let says = |phrase: &&str| message.contains(*phrase);
    if SAID_FOR_NOW.iter().chain(profile::of_all(|profile| profile.refusals.for_now)).any(says) {
        return Some(TroubleKind::RateLimit);
    }
    let mut of_login = SAID_OF_LOGIN.iter().chain(profile::of_all(|profile| profile.refusals.login));
    of_login.any(says).then_some(TroubleKind::Login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> TroubleKind {
        Refusal { message, ..Refusal::default() }.kind()
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
    fn the_time_that_a_provider_asks_for_is_read_from_its_words() {
        let asked = |message| retry_after(message).map(|wait| wait.as_secs_f64());
        assert_eq!(asked("Rate limit reached for x. Please try again in 11.5s. Visit y"), Some(11.5));
        assert_eq!(asked("Please try again in 6m0s."), Some(360.0));
        assert_eq!(asked("try again in 28ms"), Some(0.028));
        assert_eq!(asked("You've hit your usage limit. Try again in 2 hours 5 minutes."), Some(7500.0));
        assert_eq!(asked("try again in 1 day"), Some(86_400.0));
        assert_eq!(
            (asked("try again in a moment"), asked("try again later"), asked("again in 5s")),
            (None, None, None)
        );
    }

    #[test]
    fn types_and_codes_decide_where_there_is_no_status() {
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
    fn fixed_phrases_count_where_a_program_sends_nothing_else() {
        assert_eq!(kind("Selected model is at capacity. Please try a different model."), TroubleKind::RateLimit);
        assert_eq!(kind("You've hit your session limit · resets 3pm"), TroubleKind::RateLimit);
        assert_eq!(kind("Missing environment variable: `KEY`."), TroubleKind::Login);
        assert_eq!(kind("Reached maximum number of turns (3) while reading quota.md, id 429"), TroubleKind::Provider);
    }
}
