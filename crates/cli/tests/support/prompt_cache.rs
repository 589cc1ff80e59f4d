//! The caches of providers as their pages describe them: what a request pays for its input. A token is four bytes.
//!
//! - Anthropic's keeps a prompt (tools, system, messages) up to each block with `cache_control`, of 1,024 tokens or more. It finds one
//!   that ends up to 20 blocks before such a block. Writing costs 1.25 times as much.
//! - `OpenAI`'s keeps each whole 128 tokens of a prompt from 1,024 on. Writing costs nothing more.
//!
//! Both read for a tenth of the price. A prompt is kept when its answer begins, for five minutes after it was last used.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use skill_evals_cli::stand_in::WireProtocol;

const LIFE: Duration = Duration::from_secs(300);
const LEAST: usize = 1024;
const STEP: usize = 128;
const LOOK_BACK: usize = 20;
const BYTES: usize = 4;

/// The input tokens of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputTokens {
    pub read: usize,
    pub written: usize,
    pub fresh: usize,
}

impl InputTokens {
    pub fn all(self) -> usize {
        self.read + self.written + self.fresh
    }

    /// What they cost, in fresh tokens.
    pub fn paid(self) -> usize {
        (self.read * 10 + self.written * 125 + self.fresh * 100) / 100
    }
}

/// A cache of a provider. Times count from any moment.
#[derive(Debug, Default)]
pub struct PromptCache {
    /// When a prompt was kept, and when it was last used, by its digest.
    kept: HashMap<blake3::Hash, (Duration, Duration)>,
}

/// The start of a prompt.
struct Start {
    digest: blake3::Hash,
    tokens: usize,
    /// Whether it is kept.
    is_kept: bool,
    /// Whether it is looked for.
    is_sought: bool,
}

impl PromptCache {
    /// Takes in a request at `now` whose answer begins after `pause`.
    pub fn request(&mut self, protocol: WireProtocol, body: &Value, now: Duration, pause: Duration) -> InputTokens {
        let (starts, tokens) = match protocol {
            WireProtocol::Messages => of_messages(body),
            _ => of_text(&[&body["tools"], &body["instructions"], &body["input"]].map(Value::to_string).concat()),
        };
        let lives = |digest: &blake3::Hash| {
            self.kept.get(digest).is_some_and(|(since, used)| *since <= now && now <= *used + LIFE)
        };
        let read =
            starts.iter().filter(|start| start.is_sought && lives(&start.digest)).map(|start| start.tokens).max();
        let read = read.unwrap_or(0);
        let last = starts.iter().filter(|start| start.is_kept).map(|start| start.tokens).max().unwrap_or(0);
        for start in starts.iter().filter(|start| start.is_kept) {
            let (since, used) = self.kept.entry(start.digest).or_insert((now + pause, now + pause));
            if *used + LIFE < now {
                *since = now + pause;
            }
            *used = now + pause;
        }
        let written = if protocol == WireProtocol::Messages { last.saturating_sub(read) } else { 0 };
        InputTokens { read, written, fresh: tokens - read - written }
    }
}

/// The starts of a prompt of Anthropic's, and its tokens.
fn of_messages(body: &Value) -> (Vec<Start>, usize) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
    let mut blocks = [list(&body["tools"]), list(&body["system"])].concat();
    for message in list(&body["messages"]) {
        // The role is a part of what the model reads.
        blocks.extend(list(&message["content"]).into_iter().map(|mut block| {
            if let Value::Object(block) = &mut block {
                block.insert("role".to_owned(), message["role"].clone());
            }
            block
        }));
    }
    let (mut hasher, mut bytes, mut starts) = (blake3::Hasher::new(), 0, Vec::new());
    for mut block in blocks {
        let is_marked = block.as_object_mut().is_some_and(|block| block.remove("cache_control").is_some());
        let text = block.to_string();
        hasher.update(text.as_bytes());
        bytes += text.len();
        let (digest, tokens) = (hasher.finalize(), bytes / BYTES);
        starts.push(Start { digest, tokens, is_kept: is_marked && tokens >= LEAST, is_sought: false });
    }
    for at in (0..starts.len()).filter(|at| starts[*at].is_kept).collect::<Vec<_>>() {
        starts[at.saturating_sub(LOOK_BACK)..=at].iter_mut().for_each(|start| start.is_sought = true);
    }
    (starts, bytes / BYTES)
}

/// The starts of a prompt of `OpenAI`'s, and its tokens.
fn of_text(text: &str) -> (Vec<Start>, usize) {
    let (mut hasher, mut starts) = (blake3::Hasher::new(), Vec::new());
    for (number, piece) in (1..).zip(text.as_bytes().chunks_exact(STEP * BYTES)) {
        let digest = hasher.update(piece).finalize();
        let is_long = number * STEP >= LEAST;
        starts.push(Start { digest, tokens: number * STEP, is_kept: is_long, is_sought: is_long });
    }
    (starts, text.len() / BYTES)
}
