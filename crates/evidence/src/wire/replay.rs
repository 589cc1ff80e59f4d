//! A model's answers as a recording has them, given again to an agent that asks what was asked then. Pure.
//!
//! An answer is given to a conversation that is the recorded one, item by item, whoever asks for it and in whichever order. What an
//! agent brings itself, its instructions, reminders and tools, is not compared: another version of it has others. But if something
//! changed that may show there, it must be what was recorded. Neither is what differs between two sessions alike, see `comparable`.

mod comparable;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Item, Protocol, array, texts};
use comparable::Session;

/// A request to a model and its answer: a line of a recording's `model.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordedTurn {
    protocol: Protocol,
    /// A digest of what the agent brings itself: instructions, reminders, tools. Tells requests of one conversation apart.
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

/// The requests that ask a model, as a recording of a session that started then has them: lines of JSON. `None` if there is none, or one
/// that cannot be read.
pub fn recorded(requests: &[AnsweredRequest<'_>], started: Timestamp) -> Option<String> {
    let session = Session::at(started);
    let (mut text, mut before) = (String::new(), Vec::new());
    for request in requests {
        let Some(protocol) = Protocol::of(request.method, request.path) else { continue };
        let (items, brought) = conversation(protocol, request.body, session)?;
        let shared = before.iter().zip(&items).take_while(|(a, b)| a == b).count();
        let turn = RecordedTurn {
            protocol,
            brought,
            shared,
            items: items[shared..].to_vec(),
            status: request.status,
            content_type: request.content_type.to_owned(),
            answer: without_echo(request.answer),
        };
        text.push_str(&serde_json::to_string(&turn).ok()?);
        text.push('\n');
        before = items;
    }
    Some(text).filter(|text| !text.is_empty())
}

/// An answer without the instructions and tools that Responses repeats in it: they are the agent's, long, and not ours to keep.
fn without_echo(answer: &str) -> String {
    let shortened = |text: &str| -> Option<String> {
        let mut value: Value = serde_json::from_str(text).ok()?;
        let of_event = value.get("response").is_some_and(Value::is_object);
        let response = if of_event { &mut value["response"] } else { &mut value };
        if response["object"] != "response" {
            return None;
        }
        for (key, nothing) in [("instructions", Value::Null), ("tools", Value::Array(Vec::new()))] {
            response.get_mut(key).into_iter().for_each(|echo| *echo = nothing.clone());
        }
        Some(value.to_string())
    };
    let of_line = |line: &str| {
        let data = line.strip_prefix("data:").and_then(shortened);
        data.map_or_else(|| line.to_owned(), |data| format!("data: {data}\n"))
    };
    shortened(answer).unwrap_or_else(|| answer.split_inclusive('\n').map(of_line).collect())
}

/// What the conversation of a request of this session holds, and a digest of what the agent brought.
fn conversation(protocol: Protocol, body: &str, session: Session) -> Option<(Vec<String>, String)> {
    let asked = protocol.read(body, None, "")?;
    // Before the first turn of the model, an agent puts its own words in tags: reminders, the environment.
    let first = asked.history.iter().take_while(|item| matches!(item, Item::User(_))).count();
    let own_text = |(at, item): (usize, &Item)| match item {
        Item::User(text) if at < first && text.trim_start().starts_with('<') => Some(text.clone()),
        _ => None,
    };
    let own: Vec<String> = asked.history.iter().enumerate().filter_map(own_text).collect();
    let rest = asked.history.iter().enumerate().filter(|one| own_text(*one).is_none());
    let items = rest.map(|(_, item)| match item {
        Item::User(text) => format!("user: {text}"),
        Item::Said(text) => format!("model: {text}"),
        Item::Thought(text) => format!("thought: {text}"),
        Item::Called { tool, input, .. } => format!("call: {tool} {input}"),
        Item::Answered { output, failed, .. } => {
            let how = if *failed == Some(true) { "failed result" } else { "result" };
            format!("{how}: {output}")
        }
    });
    let unknown = asked.unknown.iter().map(|(kind, times)| format!("{times} of a kind that is not known: {kind}"));
    let body: Value = serde_json::from_str(body).ok()?;
    let items = items.chain(beside(&body)).chain(unknown).collect();
    let brought: Vec<String> = asked.instructions.into_iter().chain(own).chain([body["tools"].to_string()]).collect();
    // How it is divided differs between a provider's own server and another.
    let lines = brought.iter().flat_map(|text| text.lines()).filter(|line| !is_of_machine(line));
    let brought = session.marked(&lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" "));
    Some((items, blake3::hash(brought.as_bytes()).to_hex()[..16].to_owned()))
}

/// Whether a line of instructions differs from machine to machine, or between a provider's own server and another.
fn is_of_machine(line: &str) -> bool {
    ["x-anthropic-billing-header", "OS Version:"]
        .iter()
        .any(|start| line.trim_start_matches([' ', '-']).starts_with(start))
}

/// What else a conversation has: what an agent adds as instructions after the model's first turn, as of hooks, and a digest of each image
/// or other file.
fn beside(body: &Value) -> Vec<String> {
    let wrapped = &body["request"];
    let body = if wrapped.is_object() { wrapped } else { body };
    let list = ["messages", "input", "contents"].iter().flat_map(|key| array(&body[*key]));
    let (mut found, mut has_begun) = (Vec::new(), false);
    for message in list {
        match message["role"].as_str() {
            Some("system" | "developer") if has_begun => {
                found.extend(texts(&message["content"]).iter().map(|text| format!("added: {text}")));
            }
            Some("system" | "developer" | "user") => {}
            _ => has_begun = true,
        }
        add_media(message, &mut found);
    }
    found
}

/// The types of parts that are files, and the keys of such parts.
const MEDIA: [&str; 8] =
    ["image", "document", "input_image", "input_file", "input_audio", "image_url", "file", "computer_screenshot"];
const MEDIA_KEYS: [&str; 2] = ["inlineData", "fileData"];

fn add_media(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Array(all) => all.iter().for_each(|one| add_media(one, found)),
        Value::Object(fields) => {
            let kind = value["type"].as_str().filter(|kind| MEDIA.contains(kind));
            let kind = kind.or_else(|| MEDIA_KEYS.into_iter().find(|key| fields.contains_key(*key)));
            let Some(kind) = kind else { return fields.values().for_each(|one| add_media(one, found)) };
            let mut part = fields.clone();
            // It moves to the end of each request.
            part.remove("cache_control");
            let digest = blake3::hash(Value::Object(part).to_string().as_bytes()).to_hex();
            found.push(format!("{kind} with the digest {}", &digest[..16]));
        }
        _ => {}
    }
}

/// The answers of a recording, while an agent asks for them.
#[derive(Debug)]
pub struct ModelReplay {
    turns: Vec<Turn>,
    /// The recorded session, and that of today.
    sessions: [Session; 2],
    /// What changed that may show in what the agent brings itself.
    changed: Vec<String>,
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
    /// Reads the lines of a recording that `recorded` then, for a session that starts `now`. What changed since may show in what the agent
    /// brings itself.
    ///
    /// # Errors
    ///
    /// With the number of the line that is none, and why.
    pub fn read(text: &str, recorded: Timestamp, now: Timestamp, changed: Vec<String>) -> Result<Self, String> {
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
        let sessions = [recorded, now].map(Session::at);
        Ok(Self { turns, sessions, changed, asked: 0, diverged: None })
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
        let (items, brought) = conversation(protocol, body, self.sessions[1]).ok_or("it is no JSON object")?;
        let open = self.turns.iter().enumerate().filter(|(_, turn)| !turn.given && turn.recorded.protocol == protocol);
        let is_all = |turn: &Turn| turn.items.len() == items.len() && self.common(turn, &items) == items.len();
        let same: Vec<_> = open.clone().filter(|(_, turn)| is_all(turn)).collect();
        if let Some((alike, _)) = same.iter().find(|(_, turn)| turn.recorded.brought == brought) {
            return Ok(*alike);
        }
        if let [(first, turn), others @ ..] = same.as_slice() {
            return if !self.changed.is_empty() {
                Err(format!(
                    "what the agent adds by itself (instructions, reminders, tools) is not what was recorded; it may show what changed \
                     since the recording: {}; record the case again",
                    self.changed.join(", ")
                ))
            } else if others.iter().any(|(_, other)| other.recorded.brought != turn.recorded.brought) {
                Err("several recorded requests fit, of which the agent's instructions told one from the other, and these are others \
                     now; record the case again"
                    .to_owned())
            } else {
                Ok(*first)
            };
        }
        let nearest = open.max_by_key(|(at, turn)| (self.common(turn, &items), std::cmp::Reverse(*at)));
        let Some((_, nearest)) = nearest else {
            let other = self.turns.iter().map(|turn| turn.recorded.protocol).find(|other| *other != protocol);
            return Err(match other.filter(|_| self.asked == 1) {
                // Pointed at a server, some agents ask it otherwise than their own provider.
                Some(other) => format!("it is one of {protocol:?}, and the recording has those of {other:?}"),
                None => "the recording has no more requests".to_owned(),
            });
        };
        let at = self.common(nearest, &items);
        let side = |items: &[String]| items.get(at).cloned().unwrap_or_else(|| "nothing more".to_owned());
        let (recorded, now) = self.differing(&side(&nearest.items), &side(&items));
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

    /// How many items a recorded conversation and one of today have in common.
    fn common(&self, turn: &Turn, items: &[String]) -> usize {
        turn.items.iter().zip(items).take_while(|(recorded, now)| self.is_same(recorded, now)).count()
    }

    fn is_same(&self, recorded: &str, now: &str) -> bool {
        let [then, today] = self.sessions;
        then.says(recorded, today, now)
    }

    /// The first lines in which two items differ, as much as is shown of them.
    fn differing(&self, recorded: &str, now: &str) -> (String, String) {
        let lines = |text: &str| -> Vec<String> {
            text.split('\n').map(|line| if line.is_empty() { "an empty line" } else { line }.to_owned()).collect()
        };
        let (recorded, now) = (lines(recorded), lines(now));
        let line = |lines: &[String], at: usize| lines.get(at).map_or("nothing more", String::as_str).to_owned();
        let pairs = (0..recorded.len().max(now.len())).map(|at| (line(&recorded, at), line(&now, at)));
        let others: Vec<_> = pairs.filter(|(recorded, now)| !self.is_same(recorded, now)).collect();
        // Codex counts what follows, which tells a reader more.
        let counts = |(recorded, _): &&(String, String)| recorded.starts_with("Original token count");
        let shown = others.iter().find(|pair| !counts(pair)).or(others.first());
        let (recorded, now) = shown.cloned().unwrap_or_default();
        let (recorded, now): (Vec<char>, Vec<char>) = (recorded.chars().collect(), now.chars().collect());
        let same = recorded.iter().zip(&now).take_while(|(a, b)| a == b).count();
        let shown = |line: &[char]| line.iter().skip(same.saturating_sub(BEFORE)).take(SHOWN).collect();
        (shown(&recorded), shown(&now))
    }
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
        replay_of(&bodies, &[])
    }

    /// A replay of these requests, of which the n-th was answered with `answer n`, after a change of these parts.
    fn replay_of(bodies: &[String], changed: &[String]) -> ModelReplay {
        let answers: Vec<String> = (1..=bodies.len()).map(|number| format!("answer {number}")).collect();
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
        let lines = recorded(&requests, then()).expect("requests");
        ModelReplay::read(&lines, then(), "2027-01-02T10:00:00Z".parse().expect("a time"), changed.to_vec())
            .expect("lines")
    }

    fn then() -> Timestamp {
        "2026-11-30T10:00:00Z".parse().expect("a time")
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
        let (first, second) = ([PROMPT], [PROMPT, ("Bash", "Chunk ID: 1f2e3d\nWall time: 0.51 seconds\ndone\n")]);
        let other = [("user", "Of a sub-agent")];
        let mut replay = replay(&[&first, &other, &second]);
        assert_eq!(ask(&mut replay, &[("user", "Greet Ada, 2027-01-02")]), Ok("answer 1".to_owned()));
        let again = [PROMPT, ("Bash", "Chunk ID: 2e3d4c\nWall time: 12 seconds\ndone\n")];
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
    fn a_line_that_is_empty_or_missing_is_named() {
        for (recorded, now, said) in [
            ("one\n", "one", r#"recorded is "an empty line", and now "nothing more""#),
            ("one", "one\ntwo", r#"recorded is "nothing more", and now "two""#),
            (
                "Exit\nOriginal token count: 1\none",
                "Exit\nOriginal token count: 2\ntwo",
                r#"recorded is "one", and now "two""#,
            ),
        ] {
            let mut replay = replay(&[&[PROMPT, ("Bash", recorded)]]);
            let why = ask(&mut replay, &[PROMPT, ("Bash", now)]).expect_err("another result");
            assert!(why.ends_with(said), "{why}");
        }
    }

    /// What a request of Messages holds behind its prompt.
    fn with(more: &[Value]) -> String {
        let prompt = json!({ "role": "user", "content": "Look." });
        let messages = [&[prompt], more].concat();
        json!({ "tools": [], "messages": messages }).to_string()
    }

    fn divergence(recorded: String, now: &str) -> String {
        let given = replay_of(&[recorded], &[]).answer("POST", "/v1/messages", now).expect("a request to a model");
        given.expect_err("another request")
    }

    #[test]
    fn an_image_and_what_a_hook_adds_are_compared() {
        let image = |data: &str| {
            let image = json!({ "type": "image", "source": { "type": "base64", "data": data } });
            with(&[
                json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c", "content": [image] }] }),
            ])
        };
        let why = divergence(image("red"), &image("blue"));
        assert!(why.contains("recorded is \"image with the digest "), "{why}");
        let hook = |said: &str| {
            let call = json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "c", "name": "Bash", "input": {} }] });
            with(&[call, json!({ "role": "system", "content": [{ "type": "text", "text": said }] })])
        };
        let why = divergence(hook("one"), &hook("two"));
        assert!(why.ends_with(r#"recorded is "added: one", and now "added: two""#), "{why}");
    }

    #[test]
    fn what_the_agent_brings_itself_is_compared_if_it_may_show_what_changed() {
        let memory = |text: &str| body(&[("user", &format!("<memory>{text}</memory>")), PROMPT]);
        for (changed, is_same) in [(&[][..], true), (&["fixture".to_owned()][..], false)] {
            let mut replay = replay_of(&[memory("French")], changed);
            let given = replay.answer("POST", "/v1/messages", &memory("German")).expect("a request to a model");
            assert_eq!(given.is_ok(), is_same, "{given:?}");
            assert!(is_same || given.expect_err("other memory").contains("what changed since the recording: fixture"));
            let mut replay = replay_of(&[memory("French")], changed);
            assert!(replay.answer("POST", "/v1/messages", &memory("French")).is_some_and(|given| given.is_ok()));
        }
    }

    #[test]
    fn of_two_requests_that_only_instructions_tell_apart_none_is_guessed() {
        let of = |instructions: &str| body(&[PROMPT]).replace("Be kind.", instructions);
        let mut replay = replay_of(&[of("Make a title."), of("Be kind.")], &[]);
        let given = |replay: &mut ModelReplay, instructions: &str| {
            replay
                .answer("POST", "/v1/messages", &of(instructions))
                .expect("a request to a model")
                .map(|given| given.answer)
        };
        assert_eq!(given(&mut replay, "Be kind."), Ok("answer 2".to_owned()));
        let mut replay = replay_of(&[of("Make a title."), of("Be kind.")], &[]);
        let why = given(&mut replay, "Be very kind.").expect_err("either");
        assert!(why.contains("several recorded requests fit"), "{why}");
    }

    #[test]
    fn what_responses_repeat_of_a_request_is_not_recorded() {
        let response = json!({ "response": { "object": "response", "instructions": "Long.", "tools": [{ "name": "x" }], "id": "r1" } });
        let events = format!("event: response.created\ndata: {response}\n\nevent: other\ndata: [DONE]\n\n");
        for answer in [&events, &response["response"].to_string()] {
            let kept = without_echo(answer);
            assert!(!kept.contains("Long.") && !kept.contains("name"), "{kept}");
            assert!(kept.contains("\"id\":\"r1\""), "{kept}");
        }
        assert!(without_echo(&events).ends_with("}\n\nevent: other\ndata: [DONE]\n\n"));
        let other = "event: x\ndata: {\"type\": \"ping\"}\n\n";
        assert_eq!(without_echo(other), other);
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let read = ModelReplay::read("{}\n", then(), then(), Vec::new());
        assert!(read.expect_err("no turn").starts_with("1: missing field"));
    }
}
