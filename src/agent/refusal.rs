//! The kind of trouble that a provider's refusal is, by the fields that providers and programs send: the HTTP status, and the
//! error's type and code. Words count only if a program sends no field, and only its own fixed phrases: the text of an error
//! may quote anything.

use std::time::Duration;

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
const TEMPORARY: [&str; 16] = [
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

/// Types and codes of errors about credentials.
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

/// What providers say about a temporary refusal, in lower case, if they send no field. Programs have phrases of their own.
const TEMPORARY_PHRASES: [&str; 4] =
    ["rate limit reached", "rate limit exceeded", "exceeded your current quota", "quota exceeded"];

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
        let kind = status
            .and_then(kind_of_status)
            .or_else(|| self.code.and_then(kind_of_code))
            .or_else(|| kind_of_body(self.message));
        let kind = match status {
            Some(_) => kind,
            None => kind.or_else(|| kind_of_phrase(self.message)).or_else(|| self.retried.and_then(kind_of_status)),
        };
        kind.unwrap_or(TroubleKind::Provider)
    }
}

fn kind_of_status(status: u64) -> Option<TroubleKind> {
    match status {
        401 | 403 => Some(TroubleKind::Login),
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
    LOGIN.contains(&code.as_str()).then_some(TroubleKind::Login)
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
    let message = message.to_lowercase();
    let has_phrase = |phrase: &&str| message.contains(*phrase);
    if TEMPORARY_PHRASES.iter().chain(profile::of_all(|profile| profile.refusals.for_now)).any(has_phrase) {
        return Some(TroubleKind::RateLimit);
    }
    let mut login = LOGIN_PHRASES.iter().chain(profile::of_all(|profile| profile.refusals.login));
    login.any(has_phrase).then_some(TroubleKind::Login)
}

/// How long to wait, by a provider's words: "Please try again in 11.5s", "try again in 2 hours 5 minutes".
pub(super) fn retry_after(message: &str) -> Option<Duration> {
    let message = message.to_lowercase();
    let mut rest = message.split_once("try again in ")?.1;
    let mut seconds = None;
    loop {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = rest[number_end..].trim_start();
        let unit_end = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let seconds_per_unit = match &unit[..unit_end] {
            "ms" | "milliseconds" => 0.001,
            "s" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        let Ok(number) = rest[..number_end].parse::<f64>() else { break };
        seconds = Some(seconds.unwrap_or(0.0) + number * seconds_per_unit);
        rest = unit[unit_end..].trim_start();
    }
    Duration::try_from_secs_f64(seconds?).ok()
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
        let seconds = |message| retry_after(message).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds("Rate limit reached for x. Please try again in 11.5s. Visit y"), Some(11.5));
        assert_eq!(seconds("Please try again in 6m0s."), Some(360.0));
        assert_eq!(seconds("try again in 28ms"), Some(0.028));
        assert_eq!(seconds("You've hit your usage limit. Try again in 2 hours 5 minutes."), Some(7500.0));
        assert_eq!(seconds("try again in 1 day"), Some(86_400.0));
        assert_eq!(
            (seconds("try again in a moment"), seconds("try again later"), seconds("again in 5s")),
            (None, None, None)
        );
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
        assert_eq!(kind("You've hit your session limit · resets 3pm"), TroubleKind::RateLimit);
        assert_eq!(kind("Missing environment variable: `KEY`."), TroubleKind::Login);
        assert_eq!(kind("Reached maximum number of turns (3) while reading quota.md, id 429"), TroubleKind::Provider);
    }
}
