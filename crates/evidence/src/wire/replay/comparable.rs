//! Texts without what differs between two sessions that are alike: the time of the session, measured durations, random identifiers.
//! Everything else is compared: another date, or "retry after 30s", may be what a script now does wrong.

use std::sync::LazyLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

/// A session, of which texts tell the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    day: Date,
}

/// A piece of a text that may differ between two sessions.
struct Varying<'t> {
    /// What is before it, behind the piece before.
    gap: &'t str,
    raw: &'t str,
    /// What stands for it; `None` if it is compared as it is.
    mark: Option<String>,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What may vary: identifiers; days, also with a time or the year that `date` prints behind it; times with seconds, since `10:12` alone
/// may be a line and a column; durations that were measured, as a fraction or the word before tells.
static VARIES: LazyLock<Regex> = LazyLock::new(|| {
    let month = MONTHS.join("|");
    let weekday = "(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?";
    let zone = r"(?:Z|[+-]\d\d:?\d\d)?";
    let of_date = r" \d\d:\d\d:\d\d(?: [AP]M)? (?:[A-Z]{2,5}|[+-]\d{2,4})";
    let time = format!(r"\d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M\b)?{zone}");
    let ids = [
        "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
        // Of codex's shells and Claude's sub-agents.
        "(?:Chunk ID|task_id): ?[0-9A-Za-z_-]{6,}",
        r"\ba[0-9a-f]{16}\b",
        "[Ss]ession ID:? ?[0-9a-f-]{4,}",
        // OpenCode takes a skill from the directory that it reads first.
        r"/\.(?:agents|claude)/skills/",
    ];
    let iso = r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)";
    let named = format!(r"(?P<name>{month})[a-z]* +(?P<day>\d{{1,2}})(?:(?:,|{of_date}) (?P<year>\d{{4}}))?");
    let patterns = [
        format!("(?P<id>{})", ids.join("|")),
        format!(r"\b{weekday}(?:{iso}|{named})(?:(?:T| |, | at ){time}|\b)"),
        format!(r"(?P<time>\b\d{{1,2}}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M\b)?{zone})"),
        r"(?P<word>\b(?:in|took|[Tt]ime:) |\()\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b".to_owned(),
        r"(?P<measured>\b(?:\d+m)?\d+\.\d+ ?(?:ms|s|seconds?)\b|<duration_ms>\d+)".to_owned(),
    ];
    fixed(&patterns.join("|"))
});

#[expect(clippy::expect_used, reason = "tests compile it")]
fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern compiles")
}

impl Session {
    pub(super) fn at(started: jiff::Timestamp) -> Self {
        Self { day: started.to_zoned(jiff::tz::TimeZone::UTC).date() }
    }

    /// A text with marks for what varies.
    pub(super) fn marked(self, text: &str) -> String {
        let (pieces, rest) = self.pieces(text);
        let pieces =
            pieces.into_iter().map(|piece| format!("{}{}", piece.gap, piece.mark.as_deref().unwrap_or(piece.raw)));
        pieces.chain([rest.to_owned()]).collect()
    }

    /// Whether a text of this session says the same as one of the other.
    pub(super) fn says(self, text: &str, other: Self, other_text: &str) -> bool {
        if text == other_text {
            return true;
        }
        let ((pieces, rest), (others, other_rest)) = (self.pieces(text), other.pieces(other_text));
        let is_same = |(one, other): (&Varying<'_>, &Varying<'_>)| {
            one.gap == other.gap && (one.raw == other.raw || (one.mark.is_some() && one.mark == other.mark))
        };
        rest == other_rest && pieces.len() == others.len() && pieces.iter().zip(&others).all(is_same)
    }

    /// What may vary in a text, and what is behind the last piece.
    fn pieces(self, text: &str) -> (Vec<Varying<'_>>, &str) {
        let mut end = 0;
        let mut pieces = Vec::new();
        for found in VARIES.captures_iter(text) {
            let Some(whole) = found.get(0) else { continue };
            pieces.push(Varying { gap: &text[end..whole.start()], raw: whole.as_str(), mark: self.mark(&found) });
            end = whole.end();
        }
        (pieces, &text[end..])
    }

    fn mark(self, found: &Captures<'_>) -> Option<String> {
        let word = found.name("word").map(|word| format!("{}<duration>", word.as_str()));
        let marks = [("id", "<id>"), ("time", "<time>"), ("measured", "<duration>")];
        let mark = || marks.iter().find(|(name, _)| found.name(name).is_some()).map(|(_, mark)| (*mark).to_owned());
        word.or_else(mark).or_else(|| self.has_day(found).then(|| "<day>".to_owned()))
    }

    /// Whether a day is that of the session, in any time zone.
    fn has_day(self, found: &Captures<'_>) -> bool {
        let number = |name: &str| found.name(name).and_then(|digits| digits.as_str().parse::<i16>().ok());
        let named = found.name("name").and_then(|name| MONTHS.iter().position(|month| *month == name.as_str()));
        let month = named.and_then(|at| i8::try_from(at + 1).ok());
        let month = month.or_else(|| number("m").and_then(|month| i8::try_from(month).ok()));
        let day = number("day").or(number("d")).and_then(|day| i8::try_from(day).ok());
        let (Some(month), Some(day)) = (month, day) else { return false };
        let this = self.day.year();
        let years = number("year").or(number("y")).map_or_else(|| vec![this - 1, this, this + 1], |year| vec![year]);
        let is_near = |date: Date| date.since(self.day).is_ok_and(|span| span.get_days().abs() <= 1);
        years.into_iter().filter_map(|year| Date::new(year, month, day).ok()).any(is_near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(text: &str, other: &str) -> bool {
        let session = |day: &str| Session::at(format!("{day}T12:00:00Z").parse().expect("a time"));
        session("2026-11-30").says(text, session("2027-01-02"), other)
    }

    #[test]
    fn of_two_sessions_alike_only_their_times_and_random_ids_differ() {
        for (text, again) in [
            ("Mon Nov 30 18:20:30 UTC 2026", "Sat Jan  2 08:02:03 UTC 2027"),
            ("at 2026-11-30T18:20:30.25Z", "at 2027-01-02T03:04:05Z"),
            ("Today is Monday, November 30, 2026.", "Today is Saturday, January 2, 2027."),
            ("-rw-r--r-- 1 Nov 30 18:20 a", "-rw-r--r-- 1 Jan  3 07:01 a"),
            ("2026-12-01 01:20 x", "2027-01-01 23:20 x"),
            ("Released 2026-11-30, now 2026-11-30", "Released 2026-11-30, now 2027-01-02"),
            ("took 12 ms", "took 3.5 ms"),
            ("Chunk ID: 1f2e3d\nWall time: 0.51 seconds", "Chunk ID: 2e3d4c\nWall time: 12 seconds"),
            ("real 0m0.005s", "real 1m2.005s"),
            ("in /home/dev/project/.claude/skills/x", "in /home/dev/project/.agents/skills/x"),
            ("agentId: a2335d9906b11ad01 <duration_ms>268<", "agentId: a7822c6aace46e95e <duration_ms>3012<"),
            ("cwd: /x, id 00000000-0000-4000-8000-0000000000aa", "cwd: /x, id 10000000-0000-4000-8000-0000000000ab"),
        ] {
            assert!(same(text, again), "{text}");
        }
    }

    #[test]
    fn what_a_script_may_say_wrongly_is_compared() {
        for (text, other) in [
            ("12 files", "13 files"),
            ("version 1.2.3", "version 1.2.4"),
            ("due 2026-12-24", "due 2026-12-31"),
            ("due Dec 24", "due Dec 31"),
            ("Created 2026-11-30", "Deleted 2026-11-30"),
            ("x.py:10:12: bad", "x.py:11:12: bad"),
            ("score 21:17", "score 21:19"),
            ("timeout 30s", "timeout 300s"),
            ("task_id: 17", "task_id: 18"),
        ] {
            assert!(!same(text, other), "{text}");
        }
        let fixed = "Released 2026-11-30, at 2026-11-30 10:00";
        assert!(same(fixed, fixed), "a file may tell the day of the recording");
    }
}
