//! A trial that fails, and whose agent asked a question that nobody answered.

use crate::trace::excerpt;
use crate::trial::outcome::{Grade, Status, Verdict};

/// What may follow the mark of a question.
const CLOSING: [char; 8] = ['*', '_', '"', '\'', '”', '’', ')', '`'];

/// `grade` with the agent's question in the first check that failed.
pub(super) fn noted(mut grade: Grade, final_text: Option<&str>) -> Grade {
    if let (Verdict::Fail, Some(question)) = (grade.verdict, final_text.and_then(last_question))
        && let Some(failed) = grade.checks.iter_mut().find(|check| check.status == Status::Fail)
    {
        failed.found = format!("{}; it asked: “{}”; give the case a user", failed.found, excerpt(question));
    }
    grade
}

/// The question with which a message ends.
fn last_question(text: &str) -> Option<&str> {
    let text = text.trim_end().trim_end_matches(CLOSING);
    let before = text.strip_suffix(['?', '？'])?;
    let is_end = |at: usize, c: char| {
        c == '\n' || "。！？".contains(c) || ".!?".contains(c) && before[at + 1..].starts_with(' ')
    };
    let start = before.char_indices().rev().find(|(at, c)| is_end(*at, *c)).map_or(0, |(at, c)| at + c.len_utf8());
    Some(text[start..].trim_start_matches(|c: char| c.is_whitespace() || CLOSING.contains(&c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_ends_with_a_question_asks_it() {
        for (text, question) in [
            ("Which version?", Some("Which version?")),
            ("I can do that. Is it for v1.2 or v2?\n", Some("Is it for v1.2 or v2?")),
            ("Some questions:\n- **Who reads it?**\n", Some("- **Who reads it?")),
            ("好的。哪个版本？", Some("哪个版本？")),
            ("Why? Because it is so.", None),
            ("", None),
        ] {
            assert_eq!(last_question(text), question, "{text}");
        }
    }
}
