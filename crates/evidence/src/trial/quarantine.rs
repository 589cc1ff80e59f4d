//! A case that may fail until a date.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Date;

/// The valid texts, in words.
pub const QUARANTINE: &str = "`until` with a date, and why: `until 2027-01-31, issue 12`";

/// Until when the trials of a case fail nothing, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantine {
    /// The last day, UTC.
    pub until: Date,
    pub why: String,
}

impl Quarantine {
    pub fn is_over(&self, today: Date) -> bool {
        today > self.until
    }
}

impl FromStr for Quarantine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let rest = text.trim().strip_prefix("until ")?.trim_start();
            let (date, why) = rest.split_once(',')?;
            // The parser of dates takes times and other forms of a date, too.
            let until = date.trim().parse::<Date>().ok().filter(|read| read.to_string() == date.trim())?;
            let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
            (!why.is_empty()).then_some(Self { until, why })
        };
        read().ok_or_else(|| format!("expected {QUARANTINE}"))
    }
}

impl fmt::Display for Quarantine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "until {}, {}", self.until, self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarantine_has_a_last_day_and_a_reason() {
        let read: Quarantine = "until 2027-01-31,  issue 12, of\nAda".parse().expect("a quarantine");
        assert_eq!(
            (read.why.as_str(), read.to_string().as_str()),
            ("issue 12, of Ada", "until 2027-01-31, issue 12, of Ada")
        );
        assert!(!read.is_over(read.until) && read.is_over(read.until.tomorrow().expect("a day")));
        for wrong in [
            "",
            "until 2027-01-31",
            "until 2027-01-31, ",
            "until",
            "until tomorrow",
            "2027-01-31",
            "until 2027-02-30",
            "until 2027-01-31T10:00",
            "until 20270131",
        ] {
            assert!(wrong.parse::<Quarantine>().is_err(), "{wrong}");
        }
    }
}
