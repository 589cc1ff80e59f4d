//! The kind of trouble that a provider's refusal is, by the fields that providers and programs send: the HTTP status, and the
//! error's type and code. Words count only if a program sends no field, and only its own fixed phrases: the text of an error
//! may quote anything. Words also tell a limit that lasts for hours from one that lasts for seconds: both are a 429.

use std::time::Duration;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};
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

// When a refusal ends, by its words: "try again in 2 days 3 hours", "resets Nov 28, 9:01am (Europe/Berlin)",
// "try again at Mar 10th, 2026 3:39 AM", `"resets_at":1777936568`. Programs write times of day in the zone that they name, or
// else in the machine's own.

/// What is before a time, in lower case.
const MARKERS: [&str; 6] = ["again", "reset", "retry", "retrydelay", "resume", "limit reached|"];

/// What may be between a marker and its time.
const FILLERS: [&str; 10] = ["s", "delay", "in", "at", "on", "after", "within", "seconds", "your", "is"];

/// A time of day that has passed is that of the next day, unless it has just passed: programs round.
const JUST_PASSED: SignedDuration = SignedDuration::from_mins(10);

/// Providers name no longer wait than a year.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// How long a refusal lasts from `now` on, if its words say it.
pub fn refusal_lasts(message: &str, now: &Zoned) -> Option<Duration> {
    let times = times_in(message).into_iter();
    let mut lasts = times.filter_map(|(time, in_seconds)| {
        let length = wait_at(time, in_seconds).or_else(|| Some(until(moment(time, now)?, now)));
        length.filter(|length| *length <= LONGEST)
    });
    lasts.next()
}

/// How long a provider asks to wait, if its words give a length of time.
pub(super) fn wait_in(message: &str) -> Option<Duration> {
    times_in(message).into_iter().find_map(|(time, in_seconds)| wait_at(time, in_seconds))
}

/// Each text that may be a time, without the words before it, and whether those say that it is a number of seconds.
fn times_in(message: &str) -> Vec<(&str, bool)> {
    // Of the same length as the message.
    let lower = message.to_ascii_lowercase();
    let mut starts: Vec<usize> =
        MARKERS.iter().flat_map(|marker| lower.match_indices(marker).map(|(at, found)| at + found.len())).collect();
    starts.sort_unstable();
    let mut times = Vec::new();
    for start in starts {
        let (mut rest, mut in_seconds) = (&message[start..], false);
        loop {
            rest = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
            let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
            if !FILLERS.iter().any(|filler| word.eq_ignore_ascii_case(filler)) {
                break;
            }
            in_seconds |= word.eq_ignore_ascii_case("seconds") || word.eq_ignore_ascii_case("after");
            rest = &rest[word.len()..];
        }
        times.push((rest, in_seconds));
    }
    times
}

/// The length of time at the start of a text: "11.5s", "2 days 3 hours", "23h14m3.1s"; or a number of seconds.
fn wait_at(text: &str, in_seconds: bool) -> Option<Duration> {
    let (mut rest, mut seconds) = (text, None);
    loop {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let Ok(number) = rest[..number_end].parse::<f64>() else { break };
        let unit = rest[number_end..].trim_start();
        let unit_end = unit.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(unit.len());
        let seconds_per_unit = match &*unit[..unit_end].to_ascii_lowercase() {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            "w" | "week" | "weeks" => 604_800.0,
            // A time of day has a colon.
            "" if in_seconds && seconds.is_none() && !unit.starts_with(':') => 1.0,
            _ => break,
        };
        seconds = Some(seconds.unwrap_or(0.0) + number * seconds_per_unit);
        rest = unit[unit_end..].trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    Duration::try_from_secs_f64(seconds?).ok()
}

fn until(moment: Timestamp, now: &Zoned) -> Duration {
    moment.duration_since(now.timestamp()).try_into().unwrap_or_default()
}

/// The moment at the start of a text.
fn moment(text: &str, now: &Zoned) -> Option<Timestamp> {
    let first = text.split(|c: char| c.is_whitespace() || "\"',;)".contains(c)).next()?.trim_end_matches('.');
    if first.len() >= 10 && first.bytes().all(|digit| digit.is_ascii_digit()) {
        let number = first.parse().ok()?;
        let in_seconds = Timestamp::from_second(number).ok().filter(|_| first.len() == 10);
        return in_seconds.or_else(|| Timestamp::from_millisecond(number).ok());
    }
    first.parse().ok().or_else(|| CalendarWords::read(text)?.moment(now))
}

/// A date or a time of day in words.
#[derive(Default)]
struct CalendarWords<'a> {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    time: Option<Time>,
    zone: Option<&'a str>,
}

impl<'a> CalendarWords<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut words = Self::default();
        let mut rest = text;
        loop {
            let (token, after) = token(rest);
            rest = match &*token.to_ascii_lowercase() {
                "at" => after,
                "utc" | "gmt" => {
                    words.zone = Some("UTC");
                    break;
                }
                "(" => {
                    words.zone = after.split_once(')').map(|(zone, _)| zone);
                    break;
                }
                number if number.starts_with(|c: char| c.is_ascii_digit()) => match words.number(token, after) {
                    Some(after) => after,
                    None => break,
                },
                word => {
                    let month = MONTHS.iter().position(|month| word.starts_with(month));
                    let Some(month) = month.filter(|_| words.month.is_none()) else { break };
                    words.month = i8::try_from(month + 1).ok();
                    after
                }
            };
        }
        (words.time.is_some() || words.day.is_some()).then_some(words)
    }

    /// Reads a number, and what belongs to it in the text behind it. Returns what is behind that; `None` if it is another number.
    fn number(&mut self, digits: &str, after: &'a str) -> Option<&'a str> {
        let number: i16 = digits.parse().ok()?;
        let (next, behind) = token(after);
        let (minute, after) = if next == ":" { token(behind) } else { ("0", after) };
        let (half, behind) = token(after);
        let hour = match &*half.to_ascii_lowercase() {
            "am" => Some(number % 12),
            "pm" => Some(number % 12 + 12),
            _ => (next == ":").then_some(number),
        };
        if let Some(hour) = hour {
            self.time = Some(Time::new(i8::try_from(hour).ok()?, minute.parse().ok()?, 0, 0).ok()?);
            return Some(if half.eq_ignore_ascii_case("am") || half.eq_ignore_ascii_case("pm") {
                behind
            } else {
                after
            });
        }
        if digits.len() == 4 {
            self.year = Some(number);
            return Some(after);
        }
        self.month.filter(|_| self.day.is_none())?;
        self.day = i8::try_from(number).ok();
        // "10th".
        Some(if ["st", "nd", "rd", "th"].contains(&next) { behind } else { after })
    }

    fn moment(&self, now: &Zoned) -> Option<Timestamp> {
        let zone = match self.zone {
            Some("UTC") => TimeZone::UTC,
            Some(name) => TimeZone::get(name).ok()?,
            None => now.time_zone().clone(),
        };
        let now = now.with_time_zone(zone.clone());
        let time = self.time.unwrap_or(Time::midnight());
        let at = |date: Date| Some(date.to_datetime(time).to_zoned(zone.clone()).ok()?.timestamp());
        let Some((month, day)) = self.month.zip(self.day) else {
            let today = at(now.date())?;
            let has_passed = now.timestamp().duration_since(today) > JUST_PASSED;
            return if has_passed { at(now.date().tomorrow().ok()?) } else { Some(today) };
        };
        let date = Date::new(self.year.unwrap_or(now.year()), month, day).ok()?;
        // In December, "Jan 2" is in the next year.
        let is_long_ago = self.year.is_none() && now.date().since(date).ok()?.get_days() > 180;
        at(if is_long_ago { date.checked_add(1.year()).ok()? } else { date })
    }
}

/// The first run of digits or letters of a text, or else its first character, and what is behind it.
fn token(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches([' ', ',']);
    let run = |is_in: fn(&char) -> bool| text.find(|c: char| !is_in(&c)).unwrap_or(text.len());
    let first = text.chars().next().map_or(0, char::len_utf8);
    text.split_at(run(char::is_ascii_digit).max(run(char::is_ascii_alphabetic)).max(first))
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

    /// When a refusal ends that was received at noon of 27 November 2026 in New York.
    fn ends(message: &str) -> String {
        let now: Zoned = "2026-11-27T12:00:00-05:00[America/New_York]".parse().expect("a time");
        match refusal_lasts(message, &now) {
            Some(wait) => (now.timestamp() + wait).strftime("%m-%d %H:%M").to_string(),
            None => "unknown".to_owned(),
        }
    }

    #[test]
    fn times_of_day_are_in_the_zone_that_is_named_or_else_in_that_of_the_machine() {
        assert_eq!(ends("You've hit your session limit · resets 3pm (Europe/Berlin)"), "11-28 14:00", "tomorrow");
        assert_eq!(ends("You've hit your limit · resets 6:20pm (Europe/Paris)"), "11-27 17:20");
        assert_eq!(ends("5-hour limit reached ∙ resets 2am"), "11-28 07:00");
        assert_eq!(ends("Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max"), "11-28 01:00");
        assert_eq!(ends("or try again at 3:42 PM."), "11-27 20:42");
        assert_eq!(ends("resets 15:00 UTC"), "11-28 15:00");
        assert_eq!(ends("resets 12:30am (UTC)"), "11-28 00:30");
        assert_eq!(ends("resets at 11:55 AM"), "11-27 17:00", "a moment ago: it is over");
        assert_eq!(ends("resets 3pm (Nowhere/Else)"), "unknown");
    }

    #[test]
    fn dates_are_of_this_year_or_of_the_next() {
        assert_eq!(ends("You've hit your weekly limit · resets Nov 28, 9:01am"), "11-28 14:01");
        assert_eq!(ends("Opus weekly limit reached ∙ resets Dec 4, 9am (UTC)"), "12-04 09:00");
        assert_eq!(ends("Weekly limit reached · resets Dec 24"), "12-24 05:00");
        assert_eq!(ends("resets Jan 2 at 9am (UTC)"), "01-02 09:00");
        assert_eq!(ends("purchase more credits or try again at Dec 10th, 2026 3:39 AM."), "12-10 08:39");
        assert_eq!(ends("the limit resets at 2026-11-30T07:06:58Z."), "11-30 07:06");
        assert_eq!(ends("limit · resets Nov 20, 9am"), "11-27 17:00", "it is over");
    }

    #[test]
    fn lengths_of_time_and_moments_in_fields_are_read() {
        assert_eq!(
            ends("Upgrade to Pro (https://x/pricing) or try again in 2 days 17 hours 14 minutes."),
            "11-30 10:14"
        );
        assert_eq!(
            ends("You have exhausted your capacity on this model. Your quota will reset after 42h1m20s."),
            "11-29 11:01"
        );
        assert_eq!(ends("The weekly limit resets in 5d 5h. The workspace has no credits"), "12-02 22:00");
        assert_eq!(ends("Expected quota reset within 24h."), "11-28 17:00");
        assert_eq!(ends(r#"{"retryDelay": "36000s"}"#), "11-28 03:00");
        let body = r#"{"error":{"type":"usage_limit_reached","plan_type":"plus","resets_at":1795888800,"resets_in_seconds":1}}"#;
        assert_eq!(ends(body), "11-28 18:00");
        assert_eq!(ends(r#"{"resets_in_seconds":7200}"#), "11-27 19:00");
        assert_eq!(ends("Claude AI usage limit reached|1795888800"), "11-28 18:00");
        assert_eq!(ends("retry-after: 3600"), "11-27 18:00");
    }

    #[test]
    fn a_text_without_a_time_gives_none() {
        for text in [
            "You're out of usage credits",
            "try again in a moment",
            "Please try again later.",
            "Limits reset every 5h and every week.",
            "reset 3 files in May",
            "retry 99999999999999999999 of 9",
            "again 12:99pm",
            "resets (",
            "resets ü 3·",
        ] {
            assert_eq!(ends(text), "unknown", "{text}");
        }
    }

    #[test]
    fn a_wait_is_read_to_the_millisecond() {
        let seconds = |message| wait_in(message).map(|wait| wait.as_secs_f64());
        assert_eq!(seconds("Rate limit reached for x. Please try again in 11.5s. Visit y"), Some(11.5));
        assert_eq!(seconds("Please try again in 6m0s."), Some(360.0));
        assert_eq!(seconds("try again in 28ms"), Some(0.028));
        assert_eq!(seconds("You've hit your usage limit. Try again in 2 hours 5 minutes."), Some(7500.0));
        assert_eq!(seconds("try again in 1 day"), Some(86_400.0));
        assert_eq!((seconds("try again in a moment"), seconds("resets 3pm")), (None, None));
    }
}
