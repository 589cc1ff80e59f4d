//! A model's answers as a recording has them, given again to an agent that asks what was asked then. Pure.
//!
//! An answer is given to a conversation that is the recorded one, item by item, whoever asks for it and in whichever order. What an
//! agent brings itself, its instructions, reminders and tools, is not compared: another version of it has others. Neither is what differs
//! between two sessions alike, see `comparable`.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{Item, Protocol};

/// A request to a model and its answer: a line of a recording's `model.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedTurn {
    protocol: Protocol,
    /// A digest of the instructions and the names of the tools: tells requests of one conversation apart.
    brought: String,
    /// How many items it has in common with the turn before it in the file. Those are not repeated.
    #[serde(default, skip_serializing_if = "is_zero")]
    shared: usize,
    items: Vec<String>,
    status: u16,
    content_type: String,
    answer: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// A request to a model as it passed, with its answer.
#[derive(Clone, Copy, Debug)]
pub struct AnsweredRequest<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub body: &'a str,
    pub status: u16,
    pub content_type: &'a str,
    pub answer: &'a str,
}

/// The requests that ask a model, as a recording has them: lines of JSON. `None` if there is none, or one that cannot be read.
pub fn recorded(requests: &[AnsweredRequest<'_>]) -> Option<String> {
    let (mut text, mut before) = (String::new(), Vec::new());
    for request in requests {
        let Some(protocol) = Protocol::of(request.method, request.path) else { continue };
        let (items, brought) = conversation(protocol, request.body)?;
        let shared = before.iter().zip(&items).take_while(|(a, b)| a == b).count();
        let turn = RecordedTurn {
            protocol,
            brought,
            shared,
            items: items[shared..].to_vec(),
            status: request.status,
            content_type: request.content_type.to_owned(),
            answer: request.answer.to_owned(),
        };
        text.push_str(&serde_json::to_string(&turn).ok()?);
        text.push('\n');
        before = items;
    }
    Some(text).filter(|text| !text.is_empty())
}

/// What the conversation of a request holds, as it is compared, and a digest of what the agent brought.
fn conversation(protocol: Protocol, body: &str) -> Option<(Vec<String>, String)> {
    let asked = protocol.read(body, None, "")?;
    // Before the first turn of the model, an agent puts its own words in tags: reminders, the environment.
    let first = asked.history.iter().take_while(|item| matches!(item, Item::User(_))).count();
    let is_own =
        |at: usize, item: &Item| matches!(item, Item::User(text) if at < first && text.trim_start().starts_with('<'));
    let (own, rest): (Vec<_>, Vec<_>) = asked.history.iter().enumerate().partition(|(at, item)| is_own(*at, item));
    let items = rest.into_iter().map(|(_, item)| match item {
        Item::User(text) => format!("user: {}", comparable(text)),
        Item::Said(text) => format!("model: {}", comparable(text)),
        Item::Thought(text) => format!("thought: {}", comparable(text)),
        Item::Called { tool, input, .. } => format!("call: {tool} {}", comparable(&input.to_string())),
        Item::Answered { output, failed, .. } => {
            let how = if *failed == Some(true) { "failed result" } else { "result" };
            format!("{how}: {}", comparable(output))
        }
    });
    let unknown = asked.unknown.iter().map(|(kind, times)| format!("{times} of a kind that is not known: {kind}"));
    let brought = format!("{}\n{:?}\n{own:?}", asked.tools.join(" "), asked.instructions);
    let brought = comparable(&brought);
    Some((items.chain(unknown).collect(), blake3::hash(brought.as_bytes()).to_hex()[..16].to_owned()))
}

#[expect(clippy::expect_used, reason = "tests compile every one")]
fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern compiles")
}

/// A text without what differs between two sessions that are alike: times, durations, random identifiers.
fn comparable(text: &str) -> String {
    static VARIES: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
        [
            (r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", "<id>"),
            // Of codex's shells and Claude's sub-agents.
            (r"(?:Chunk ID|session ID|agentId|task_id): ?\S+", "<id>"),
            (
                r"(?:[A-Z][a-z]+,? )?(?:\d{4}-\d\d-\d\d|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +\d{1,2}(?:, \d{4})?\b)",
                "<day>",
            ),
            (r"(?:T|\b)\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
            (r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds?)\b", "<duration>"),
        ]
        .map(|(pattern, with)| (fixed(pattern), with))
    });
    VARIES.iter().fold(text.to_owned(), |text, (pattern, with)| pattern.replace_all(&text, *with).into_owned())
}

/// The answers of a recording, while an agent asks for them.
#[derive(Debug)]
pub struct ModelReplay {
    turns: Vec<Turn>,
    /// How many requests asked a model.
    asked: usize,
    diverged: Option<String>,
}

#[derive(Debug)]
struct Turn {
    recorded: RecordedTurn,
    items: Vec<String>,
    given: bool,
}

/// An answer of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenAnswer {
    pub status: u16,
    pub content_type: String,
    pub answer: String,
}

/// How a session differs from the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    pub why: String,
    /// Whether all that was asked is recorded, and there is more.
    pub is_left_over: bool,
}

/// The most characters that are shown of a line, and of those before the difference.
const SHOWN: usize = 160;
const BEFORE: usize = 60;

impl ModelReplay {
    /// Reads a recording's lines.
    ///
    /// # Errors
    ///
    /// With the number of the line that is none, and why.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut turns: Vec<Turn> = Vec::new();
        for (line, text) in (1..).zip(text.lines()) {
            let recorded: RecordedTurn = serde_json::from_str(text).map_err(|error| format!("{line}: {error}"))?;
            let before = turns.last().map_or(&[][..], |turn| &turn.items);
            let shared = before.get(..recorded.shared);
            let mut items =
                shared.ok_or_else(|| format!("{line}: `shared` is more than the line before has"))?.to_vec();
            items.extend_from_slice(&recorded.items);
            turns.push(Turn { recorded, items, given: false });
        }
        Ok(Self { turns, asked: 0, diverged: None })
    }

    /// The answer to a request; `None` if it asks no model. After the first request that was not recorded, none is answered.
    ///
    /// # Errors
    ///
    /// Where the conversation is another than the recorded ones.
    pub fn answer(&mut self, method: &str, path: &str, body: &str) -> Option<Result<GivenAnswer, String>> {
        let protocol = Protocol::of(method, path)?;
        self.asked += 1;
        let found = match &self.diverged {
            Some(why) => Err(why.clone()),
            None => self.turn(protocol, body).map_err(|why| format!("diverged at request {}: {why}", self.asked)),
        };
        if let Err(why) = &found {
            self.diverged.get_or_insert_with(|| why.clone());
        }
        Some(found.map(|turn| {
            let turn = &mut self.turns[turn];
            turn.given = true;
            let RecordedTurn { status, content_type, answer, .. } = &turn.recorded;
            GivenAnswer { status: *status, content_type: content_type.clone(), answer: answer.clone() }
        }))
    }

    fn turn(&self, protocol: Protocol, body: &str) -> Result<usize, String> {
        let (items, brought) = conversation(protocol, body).ok_or("it is no JSON object")?;
        let open = self.turns.iter().enumerate().filter(|(_, turn)| !turn.given && turn.recorded.protocol == protocol);
        let same = open.clone().filter(|(_, turn)| turn.items == items);
        // The first of those that the agent asks with what it brought then.
        let chosen = same.min_by_key(|(_, turn)| turn.recorded.brought != brought);
        if let Some((chosen, _)) = chosen {
            return Ok(chosen);
        }
        let common = |turn: &Turn| turn.items.iter().zip(&items).take_while(|(a, b)| a == b).count();
        let nearest = open.max_by_key(|(at, turn)| (common(turn), std::cmp::Reverse(*at)));
        let Some((_, nearest)) = nearest else {
            let other = self.turns.iter().map(|turn| turn.recorded.protocol).find(|other| *other != protocol);
            return Err(match other.filter(|_| self.asked == 1) {
                // Pointed at a server, some agents ask it otherwise than their own provider.
                Some(other) => format!("it is one of {protocol:?}, and the recording has those of {other:?}"),
                None => "the recording has no more requests".to_owned(),
            });
        };
        let at = common(nearest);
        let side = |items: &[String]| items.get(at).cloned().unwrap_or_else(|| "nothing more".to_owned());
        let (recorded, now) = differing(&side(&nearest.items), &side(&items));
        Err(format!("recorded is {recorded:?}, and now {now:?}"))
    }

    /// How the session differs from the recorded one, as far as it went.
    pub fn divergence(&self) -> Option<Divergence> {
        if let Some(why) = self.diverged.clone() {
            return Some(Divergence { why, is_left_over: false });
        }
        let left = self.turns.iter().filter(|turn| !turn.given).count();
        let (asked, all) = (self.asked, self.turns.len());
        let why = format!("diverged after request {asked}: the recording has {all}, and {left} were not asked");
        (left > 0).then_some(Divergence { why, is_left_over: true })
    }
}

/// The first lines in which two items differ, as much as is shown of them.
fn differing(recorded: &str, now: &str) -> (String, String) {
    let at = recorded.lines().zip(now.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| -> Vec<char> { text.lines().nth(at).unwrap_or("nothing more").chars().collect() };
    let (recorded, now) = (line(recorded), line(now));
    let same = recorded.iter().zip(&now).take_while(|(a, b)| a == b).count();
    let shown = |line: &[char]| line.iter().skip(same.saturating_sub(BEFORE)).take(SHOWN).collect();
    (shown(&recorded), shown(&now))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A request of Messages with these turns: a user's text, or a call with its result.
    fn body(turns: &[(&str, &str)]) -> String {
        let messages: Vec<Value> = turns
            .iter()
            .flat_map(|(who, text)| match *who {
                "user" => vec![json!({ "role": "user", "content": text })],
                _ => vec![
                    json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": who, "input": {} }] }),
                    json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": text }] }),
                ],
            })
            .collect();
        json!({ "model": "m", "system": "Be kind.", "tools": [], "messages": messages }).to_string()
    }

    fn replay(turns: &[&[(&str, &str)]]) -> ModelReplay {
        let bodies: Vec<String> = turns.iter().map(|turns| body(turns)).collect();
        let answers: Vec<String> = (1..=turns.len()).map(|number| format!("answer {number}")).collect();
        let requests: Vec<AnsweredRequest<'_>> = bodies
            .iter()
            .zip(&answers)
            .map(|(body, answer)| AnsweredRequest {
                method: "POST",
                path: "/v1/messages?beta=true",
                body,
                status: 200,
                content_type: "text/event-stream",
                answer,
            })
            .collect();
        ModelReplay::read(&recorded(&requests).expect("requests")).expect("lines")
    }

    fn ask(replay: &mut ModelReplay, turns: &[(&str, &str)]) -> Result<String, String> {
        let given = replay.answer("POST", "/x/v1/messages", &body(turns)).expect("a request to a model");
        given.map(|given| given.answer)
    }

    const PROMPT: (&str, &str) = ("user", "Greet Ada, 2026-11-30");

    #[test]
    fn what_the_agent_puts_before_the_prompt_itself_is_not_compared() {
        let mut replay = replay(&[&[("user", "<reminder>one</reminder>"), PROMPT]]);
        assert_eq!(ask(&mut replay, &[("user", "<reminder>two</reminder>"), PROMPT]), Ok("answer 1".to_owned()));
        assert_eq!(replay.divergence(), None);
    }

    #[test]
    fn a_conversation_that_is_the_recorded_one_gets_its_answers_in_any_order() {
        let (first, second) = ([PROMPT], [PROMPT, ("Bash", "Chunk ID: 1f\nWall time: 0.51 seconds\ndone\n")]);
        let other = [("user", "Of a sub-agent")];
        let mut replay = replay(&[&first, &other, &second]);
        assert_eq!(ask(&mut replay, &[("user", "Greet Ada, 2027-01-02")]), Ok("answer 1".to_owned()));
        let again = [PROMPT, ("Bash", "Chunk ID: 2e\nWall time: 12 seconds\ndone\n")];
        assert_eq!(ask(&mut replay, &again), Ok("answer 3".to_owned()));
        let left = replay.divergence().expect("one is left");
        assert!(left.is_left_over && left.why.contains("has 3, and 1 were not asked"), "{left:?}");
        assert_eq!(ask(&mut replay, &other), Ok("answer 2".to_owned()));
        assert_eq!(replay.divergence(), None);
        assert_eq!(replay.answer("GET", "/v1/models", ""), None);
    }

    #[test]
    fn the_first_request_that_differs_is_named_with_its_line_and_ends_all_answers() {
        let (first, second) = ([PROMPT], [PROMPT, ("Bash", "one\ntwo\nthree")]);
        let mut replay = replay(&[&first, &second]);
        ask(&mut replay, &first).expect("an answer");
        let why = ask(&mut replay, &[PROMPT, ("Bash", "one\nTWO\nthree")]).expect_err("another result");
        assert_eq!(why, r#"diverged at request 2: recorded is "two", and now "TWO""#);
        assert_eq!(ask(&mut replay, &second), Err(why.clone()));
        assert_eq!(replay.divergence(), Some(Divergence { why, is_left_over: false }));
    }

    #[test]
    fn what_is_asked_more_often_than_it_was_recorded_diverges() {
        let mut replay = replay(&[&[PROMPT], &[PROMPT]]);
        assert_eq!(ask(&mut replay, &[PROMPT]), Ok("answer 1".to_owned()));
        assert_eq!(ask(&mut replay, &[PROMPT]), Ok("answer 2".to_owned()));
        assert!(ask(&mut replay, &[PROMPT]).expect_err("a third").contains("no more requests"));
    }

    #[test]
    fn of_two_sessions_alike_only_times_and_random_ids_differ() {
        for (text, same) in [
            ("Mon Nov 30 18:20:30 UTC 2026", "Tue Dec  1 08:02:03 UTC 2026"),
            ("at 2026-11-30T18:20:30.25Z", "at 2027-01-02T03:04:05Z"),
            ("Today is Monday, November 30, 2026.", "Today is Sunday, May 3, 2026."),
            ("took 12 ms", "took 3.5 ms"),
            ("cwd: /x, id 00000000-0000-4000-8000-0000000000aa", "cwd: /x, id 10000000-0000-4000-8000-0000000000ab"),
        ] {
            assert_eq!(comparable(text), comparable(same));
        }
        for (text, other) in [("12 files", "13 files"), ("version 1.2.3", "version 1.2.4"), ("a: 1", "a: 2")] {
            assert_ne!(comparable(text), comparable(other));
        }
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        assert!(ModelReplay::read("{}\n").expect_err("no turn").starts_with("1: missing field"));
    }
}
