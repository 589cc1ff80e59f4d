//! Checks of the output, as waza calls all messages of the agent.

use crate::checks::pattern::{Pattern, Style};
use crate::checks::text_test::{TextTest, TextWant};
use crate::checks::{self, Check, TextPlace};

/// One of the messages matches; if `negated`, none does.
pub(super) fn message(pattern: Pattern, negated: bool) -> Check {
    let test = TextTest { negated, ..TextTest::new(TextWant::Pattern(pattern)) };
    checks::text(TextPlace::Messages, test)
}

/// One of these texts, each as written or in any case.
pub(super) fn one_of<'a>(texts: impl Iterator<Item = (&'a str, bool)>) -> Pattern {
    let parts: Vec<String> = texts
        .map(|(text, ignores_case)| format!("(?{}:{})", if ignores_case { "i" } else { "-i" }, regex::escape(text)))
        .collect();
    Pattern { text: parts.join("|"), style: Style::Exact }
}
