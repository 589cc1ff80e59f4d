//! The colors of reports: each verdict has the same color everywhere.

use crate::trial::outcome::Verdict;

/// Whether text is colored. The caller that prints decides it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paint {
    /// Text alone, for files, pipes and users who want no colors.
    #[default]
    Plain,
    /// With ANSI escape codes.
    Color,
}

/// The meaning of a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Passed.
    Good,
    /// Failed, or got worse.
    Bad,
    /// Nothing was measured.
    Broken,
    /// Measured, but not decided.
    Open,
    /// Not run, or of little importance.
    Faint,
    /// The subject of a part of the text.
    Strong,
    /// The evidence of a check.
    Mark,
}

impl Paint {
    /// `text` in the color of its tone. Spaces at its end only pad, so they stay plain.
    pub fn on(self, tone: Tone, text: &str) -> String {
        let word = text.trim_end();
        if self == Self::Plain || word.is_empty() {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Broken => "33",
            Tone::Open => "35",
            Tone::Faint => "2",
            Tone::Strong => "1",
            Tone::Mark => "7",
        };
        format!("\u{1b}[{code}m{word}\u{1b}[0m{}", &text[word.len()..])
    }

    /// A count in the color of its tone; 0 stays plain.
    pub fn count(self, tone: Tone, count: usize, what: &str) -> String {
        let text = format!("{count} {what}");
        if count == 0 { text } else { self.on(tone, &text) }
    }
}

impl From<Verdict> for Tone {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Good,
            Verdict::Fail => Self::Bad,
            Verdict::Error => Self::Broken,
            Verdict::Unscored => Self::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pads_a_column_is_not_painted_and_plain_text_stays_as_it_is() {
        assert_eq!(Paint::Color.on(Tone::Bad, "fail  "), "\u{1b}[31mfail\u{1b}[0m  ");
        assert_eq!(Paint::Plain.on(Tone::Bad, "fail  "), "fail  ");
        assert_eq!(Paint::Color.on(Tone::Bad, "  "), "  ");
        assert_eq!(Paint::Color.count(Tone::Bad, 0, "failed"), "0 failed");
    }
}
