//! The cache of the bench of paid tokens keeps prompts as those of providers do.

use std::time::Duration;

use serde_json::{Value, json};
use skill_evals_cli::stand_in::WireProtocol::{Messages, Responses};

use crate::support::prompt_cache::{InputTokens, PromptCache};

const SECOND: Duration = Duration::from_secs(1);

/// A prompt with a marked system text of so many tokens and more, and a message.
fn messages(system: usize, message: &str) -> Value {
    let system = json!([{ "type": "text", "text": "s".repeat(system * 4), "cache_control": { "type": "ephemeral" } }]);
    json!({ "tools": [], "system": system, "messages": [{ "role": "user", "content": message }] })
}

#[test]
fn a_marked_start_is_read_once_the_answer_has_begun_and_written_again_five_minutes_after_its_last_use() {
    let mut cache = PromptCache::default();
    let mut at =
        |second: u32, message: &str| cache.request(Messages, &messages(2000, message), SECOND * second, SECOND * 2);
    let first = at(0, "one");
    assert!(first.read == 0 && first.written > 2000 && first.fresh < 50, "{first:?}");
    assert_eq!(at(1, "two"), first, "the answer has not begun");
    let second = at(2, "two");
    assert_eq!(second, InputTokens { read: first.written, written: 0, fresh: first.fresh });
    assert_eq!(second.all(), first.all());
    assert!(second.paid() * 8 < first.paid() && first.paid() > first.all(), "{} {}", second.paid(), first.paid());
    assert_eq!(at(2 + 2 + 300, "one").read, first.written, "each use keeps it");
    assert_eq!(at(304 + 2 + 301, "one").read, 0);
}

#[test]
fn short_starts_and_other_ones_are_not_read() {
    let mut cache = PromptCache::default();
    let mut at = |second: u32, body: &Value| cache.request(Messages, body, SECOND * second, SECOND);
    let short = at(0, &messages(900, "one"));
    assert_eq!((short.read, short.written, at(9, &messages(900, "one"))), (0, 0, short));
    at(10, &messages(2000, "one"));
    assert_eq!(at(20, &messages(2001, "one")).read, 0);
    // A mark that moves on finds what was kept before it.
    let mut longer = messages(2000, "one");
    longer["system"][0].as_object_mut().expect("a block").remove("cache_control");
    longer["messages"][0]["content"] =
        json!([{ "type": "text", "text": "one", "cache_control": { "type": "ephemeral" } }]);
    let longer = at(30, &longer);
    assert!(longer.read > 2000 && longer.written > 0 && longer.fresh == 0, "{longer:?}");
}

#[test]
fn a_prompt_without_marks_is_kept_in_steps() {
    let mut cache = PromptCache::default();
    let body = |text: String| json!({ "tools": [], "instructions": text, "input": [] });
    let mut at = |second: u32, text: String| cache.request(Responses, &body(text), SECOND * second, SECOND);
    let text = "i".repeat(2000 * 4);
    let first = at(0, text.clone() + "one");
    assert_eq!((first.read, first.written), (0, 0));
    let second = at(1, text + "two");
    assert_eq!((second.read, second.all()), (2000 / 128 * 128, first.all()));
    assert_eq!(at(9, "i".repeat(900 * 4)).read + at(10, "i".repeat(900 * 4)).read, 0);
}
