//! Checks of the output, as waza calls all messages of the agent.

use crate::checks::pattern::Pattern;
use crate::checks::text_test::{TextTest, TextWant};
use crate::checks::{self, Check, TextPlace};

/// One of the messages matches; if `negated`, none does.
pub(super) fn message(pattern: Pattern, negated: bool) -> Check {
    let test = TextTest { negated, ..TextTest::new(TextWant::Pattern(pattern)) };
    checks::text(TextPlace::Messages, test)
}
