//! What kind of trouble a provider's refusal is, by the fields that providers and programs send: HTTP status, type and
//! code of the error. Words count only where a program sends nothing else, and then its own fixed phrases: an error's
//! text may quote anything.

use serde_json::Value;

use crate::trial::trouble::TroubleKind;

/// What is known of a refusal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusal<'a> {
    /// The HTTP status, where it has a field of its own.
    pub status: Option<u64>,
    /// The error's type or code, where it has a field of its own.
    pub code: Option<&'a str>,
    /// The message.
    pub message: &'a str,
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

/// What programs say, in lower case, where they send no field.
const PHRASES: [(&str, TroubleKind); 19] = [
    ("hit your usage limit", TroubleKind::RateLimit),
    ("hit your session limit", TroubleKind::RateLimit),
    ("hit your limit", TroubleKind::RateLimit),
    ("usage limit reached", TroubleKind::RateLimit),
    ("session limit reached", TroubleKind::RateLimit),
    ("weekly limit reached", TroubleKind::RateLimit),
    ("rate limit reached", TroubleKind::RateLimit),
    ("rate limit exceeded", TroubleKind::RateLimit),
    ("exceeded your current quota", TroubleKind::RateLimit),
    ("quota exceeded", TroubleKind::RateLimit),
    ("model is at capacity", TroubleKind::RateLimit),
    ("at capacity. please try", TroubleKind::RateLimit),
    ("experiencing high demand", TroubleKind::RateLimit),
    ("missing environment variable", TroubleKind::Login),
    ("invalid api key", TroubleKind::Login),
    ("incorrect api key", TroubleKind::Login),
    ("please run /login", TroubleKind::Login),
    ("not logged in", TroubleKind::Login),
    ("log out and sign in again", TroubleKind::Login),
];

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
        by_status.or_else(by_code).or_else(by_words).unwrap_or(TroubleKind::Provider)
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

/// The HTTP status in a message of codex: "unexpected status 503 …", "exceeded retry limit, last status: 429 …".
fn told_status(message: &str) -> Option<u64> {
    let starts = ["unexpected status ", "exceeded retry limit, last status: ", "API Error: "];
    let rest = starts.iter().find_map(|start| Some(message.split_once(start)?.1))?;
    let digits = rest.get(..3).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    let ends = rest[3..].chars().next().is_none_or(|next| !next.is_alphanumeric());
    digits.parse().ok().filter(|status| ends && (400..600).contains(status))
}

fn by_phrase(message: &str) -> Option<TroubleKind> {
    let message = message.to_lowercase();
    PHRASES.iter().find(|(phrase, _)| message.contains(phrase)).map(|(_, kind)| *kind)
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
        let limits = Refusal { status: Some(400), code: None, message: "your usage limit reached, or login" };
        assert_eq!(limits.kind(), TroubleKind::Provider);
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
