//! The shapes of claude's lines, as far as they are read. Lists and texts are read up to a limit and the rest is skipped, so
//! that no line takes more memory than its own length.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::agent::field::Lenient;
use crate::agent::refusal::Refusal;
use crate::text::cut::bytes;
use crate::text::redact::Masked;
use crate::trace::exposure::MAX_ANSWER;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{OpenCall, Usage, spoken};

/// The name in place of a model's, in messages that no model wrote.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// The most items of a list that are read.
const MAX_ITEMS: usize = 1_000;

/// The longest input of a call, in bytes, that is stored until its answer.
const MAX_STORED_INPUT: usize = 64 << 10;

/// The longest input of a call, in bytes, that is parsed: no command line, path or name of a skill is longer.
const MAX_PARSED_INPUT: usize = 1 << 20;

pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

/// What every line has.
#[derive(Deserialize)]
pub(super) struct LineHead {
    #[serde(rename = "type")]
    pub kind: String,
    pub subtype: Lenient<String>,
    pub timestamp: Lenient<String>,
    pub uuid: Lenient<String>,
    /// The call that started the sub-agent of this line.
    pub parent_tool_use_id: Lenient<String>,
}

/// A line and its message, decoded in one pass: almost all lines of a long trace have one.
#[derive(Deserialize)]
pub(super) struct MessageLine {
    #[serde(rename = "type")]
    kind: String,
    subtype: Lenient<String>,
    timestamp: Lenient<String>,
    uuid: Lenient<String>,
    parent_tool_use_id: Lenient<String>,
    message: Option<ModelMessage>,
    error: Lenient<String>,
}

impl MessageLine {
    /// What every line has, and the message.
    pub(super) fn split(self) -> (LineHead, Option<Assistant>) {
        let Self { kind, subtype, timestamp, uuid, parent_tool_use_id, message, error } = self;
        let head = LineHead { kind, subtype, timestamp, uuid, parent_tool_use_id };
        (head, message.map(|message| Assistant { message, error }))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InitLine {
    pub tools: FirstItems<String>,
    pub skills: FirstItems<String>,
    pub mcp_servers: FirstItems<McpServerStatus>,
    pub model: Lenient<String>,
    pub claude_code_version: Lenient<String>,
}

#[derive(Deserialize)]
pub(super) struct McpServerStatus {
    pub name: String,
    pub status: String,
}

/// A message of a user or a model.
#[derive(Deserialize)]
pub(super) struct Assistant {
    pub message: ModelMessage,
    /// The kind of error that claude reports in place of an answer.
    pub error: Lenient<String>,
}

#[derive(Deserialize)]
pub(super) struct ModelMessage {
    /// The same in every line of one answer of the model.
    pub id: Lenient<String>,
    pub model: Lenient<String>,
    pub content: Option<MessageContent>,
    pub usage: Lenient<ClaudeTokens>,
    pub stop_reason: Lenient<String>,
}

impl ModelMessage {
    /// Whether claude wrote the message, and not the model.
    pub(super) fn is_synthetic(&self) -> bool {
        self.model.0.as_deref() == Some(SYNTHETIC)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MessageBlock {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    pub thinking: Lenient<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    /// The tool that a search found.
    pub tool_name: Lenient<String>,
    pub input: Option<Box<RawValue>>,
    pub tool_use_id: Option<String>,
    pub content: Option<ToolTexts>,
    /// `None` if it has none, empty if it is another type.
    pub is_error: Option<Lenient<bool>>,
}

impl MessageBlock {
    /// Whether it has all that a call has.
    pub(super) fn is_call(&self) -> bool {
        self.id.is_some() && self.name.is_some() && self.input.is_some()
    }

    /// The call of a tool that this block is, by the sub-agent that the call `by` started.
    pub(super) fn call(self, by: &str) -> OpenCall<ToolInput> {
        let input = self.input.as_deref().map_or("", RawValue::get);
        let parsed = if input.len() <= MAX_PARSED_INPUT { serde_json::from_str(input).ok() } else { None };
        let mut fields: ToolInput = parsed.unwrap_or_default();
        let mut input = input.to_owned();
        if input.len() > MAX_STORED_INPUT {
            fields.command.0.iter_mut().for_each(|command| shorten(command, MAX_STORED_INPUT));
            shorten(&mut input, MAX_STORED_INPUT);
            input = Masked::stored(input).cut();
        }
        let (id, tool) = (self.id.unwrap_or_default(), self.name.unwrap_or_default());
        OpenCall { by: by.to_owned(), id, tool, input, waits_for_agents: false, more: fields }
    }
}

/// The fields of a call's input that are read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput {
    pub command: Lenient<String>,
    skill: Lenient<String>,
    name: Lenient<String>,
    pub file_path: Lenient<String>,
    notebook_path: Lenient<String>,
}

impl ToolInput {
    /// The file that a call reads or writes.
    pub(super) fn path(self) -> Option<String> {
        self.file_path.0.or(self.notebook_path.0).and_then(spoken)
    }

    /// The skill that a call of the skill tool requests.
    pub(super) fn skill(&self) -> Option<&str> {
        let skill = self.skill.0.as_ref().or(self.command.0.as_ref()).or(self.name.0.as_ref());
        skill.map(|skill| skill.trim_start_matches('/')).and_then(spoken)
    }
}

/// Tokens of one request, or the totals of a run or a model.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct ClaudeTokens {
    #[serde(alias = "inputTokens")]
    input_tokens: u64,
    #[serde(alias = "cacheCreationInputTokens")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(alias = "cacheReadInputTokens")]
    cache_read_input_tokens: Option<u64>,
    #[serde(alias = "outputTokens")]
    output_tokens: Option<u64>,
    #[serde(rename = "costUSD")]
    cost_usd: Lenient<f64>,
}

impl ClaudeTokens {
    /// All tokens read: claude reports cached tokens apart.
    pub(super) fn input(&self) -> u64 {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens].into_iter().flatten();
        cached.fold(self.input_tokens, u64::saturating_add)
    }

    /// What a request read. How much its answer has is not known when claude reports this.
    pub(super) fn of_request(&self) -> Usage {
        Usage {
            input_tokens: self.input(),
            cached_input_tokens: self.cache_read_input_tokens.unwrap_or(0),
            cache_write_input_tokens: self.cache_creation_input_tokens.unwrap_or(0),
            ..Usage::default()
        }
    }

    /// The common form; `None` if the number of written tokens is not reported.
    fn usage(self, cost_usd: Option<f64>) -> Option<Usage> {
        let cost_usd = cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0);
        Some(Usage { output_tokens: self.output_tokens?, cost_usd, ..self.of_request() })
    }
}

#[derive(Deserialize)]
pub(super) struct ResultLine {
    pub subtype: Lenient<String>,
    pub is_error: Option<bool>,
    pub api_error_status: Lenient<u64>,
    pub stop_reason: Lenient<String>,
    pub num_turns: Lenient<u64>,
    pub duration_ms: Lenient<u64>,
    pub duration_api_ms: Lenient<u64>,
    pub result: Option<String>,
    /// If the prompt called a command, its kind.
    pub local_command: Lenient<String>,
    pub errors: Lenient<FirstItems<String>>,
    total_cost_usd: Lenient<f64>,
    usage: Lenient<ClaudeTokens>,
    /// The totals by model; empty if they are absent, `None` if they are unreadable.
    #[serde(default = "no_models", rename = "modelUsage", deserialize_with = "models")]
    models: Option<BTreeMap<String, ClaudeTokens>>,
    pub permission_denials: Lenient<FirstItems<Denial>>,
}

fn models<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<String, ClaudeTokens>>, D::Error> {
    Ok(Lenient::deserialize(deserializer)?.0)
}

#[expect(clippy::unnecessary_wraps, reason = "a default for serde")]
fn no_models() -> Option<BTreeMap<String, ClaudeTokens>> {
    Some(BTreeMap::new())
}

impl ResultLine {
    /// The totals of the run. If they are reported by model, those count: they include sub-agents.
    pub(super) fn usage(&self) -> Option<Usage> {
        let models = self.models.as_ref()?;
        if models.is_empty() {
            return self.usage.0?.usage(self.total_cost_usd.0);
        }
        let mut sum = Usage::default();
        for tokens in models.values() {
            sum = sum.plus(tokens.usage(None)?);
        }
        let cost_usd = self.total_cost_usd.0.filter(|cost| cost.is_finite() && *cost >= 0.0);
        Some(Usage { cost_usd, ..sum })
    }

    /// The totals of each model, if they are reported.
    pub(super) fn usage_by_model(&self) -> BTreeMap<String, Usage> {
        let models = self.models.iter().flatten().take(MAX_ITEMS);
        let usages = models.map(|(name, tokens)| Some((name.clone(), tokens.usage(tokens.cost_usd.0)?)));
        usages.collect::<Option<_>>().unwrap_or_default()
    }
}

/// A call that claude did not allow.
#[derive(Deserialize)]
pub(super) struct Denial {
    #[serde(rename = "tool_name")]
    pub tool: Lenient<String>,
    #[serde(rename = "tool_input")]
    pub input: Option<Box<RawValue>>,
    #[serde(rename = "tool_use_id")]
    pub call: Lenient<String>,
}

/// claude waits and asks the provider again.
#[derive(Deserialize)]
pub(super) struct Retry {
    attempt: Lenient<u64>,
    max_retries: Lenient<u64>,
    /// How long claude waits, in milliseconds: at least as long as the provider asked for.
    #[serde(rename = "retry_delay_ms")]
    delay_ms: Lenient<f64>,
    pub error_status: Lenient<u64>,
    error: Lenient<String>,
}

impl Retry {
    /// Whether nobody answered: there is no status, and claude names no error of a provider.
    pub(super) fn is_unreachable(&self) -> bool {
        self.error_status.0.is_none() && self.error.0.as_deref().is_none_or(|error| error == "unknown")
    }

    /// Why nothing was measured if the agent ended while it waited; `met` is what it met at the provider's address, if it says so.
    pub(super) fn trouble(&self, met: Option<&str>) -> Trouble {
        if self.is_unreachable() {
            let met = met.map_or_else(String::new, |met| format!(": {met}"));
            return Trouble::new(TroubleKind::Unreachable, format!("{self}{met}"));
        }
        let refusal = Refusal { status: self.error_status.0, code: self.error.0.as_deref(), ..Refusal::default() };
        let what = format!("the provider had not answered when the agent was ended: {self}");
        Trouble::new(refusal.kind(), what).after(self.delay())
    }

    pub(super) fn delay(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.delay_ms.0? / 1000.0).ok()
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        write!(f, "retry {} of {}", number(self.attempt.0), number(self.max_retries.0))?;
        if self.is_unreachable() {
            return f.write_str(", no answer of any kind");
        }
        f.write_str(": ")?;
        write!(f, "{} {}", number(self.error_status.0), self.error.0.as_deref().unwrap_or_default())
    }
}

#[derive(Deserialize)]
pub(super) struct ControlRequest {
    pub request: ControlBody,
}

#[derive(Deserialize)]
pub(super) struct ControlBody {
    pub subtype: Lenient<String>,
    pub tool_name: Lenient<String>,
}

#[derive(Deserialize)]
pub(super) struct RateLimit {
    pub rate_limit_info: Lenient<LimitInfo>,
}

#[derive(Default, Deserialize)]
pub(super) struct LimitInfo {
    pub status: Lenient<String>,
    /// When the limit ends, in seconds since 1970.
    #[serde(rename = "resetsAt")]
    pub resets_at: Lenient<i64>,
}

fn shorten(text: &mut String, max_bytes: usize) {
    let length = bytes(text, max_bytes).0.len();
    if length < text.len() {
        text.truncate(length);
        text.shrink_to_fit();
    }
}

pub(super) struct FirstItems<T>(pub Vec<T>);

impl<T> Default for FirstItems<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for FirstItems<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: DeserializeOwned> Visitor<'de> for Items<T> {
            type Value = FirstItems<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<FirstItems<T>, E> {
                Ok(FirstItems::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FirstItems<T>, A::Error> {
                let mut list = Vec::new();
                while list.len() < MAX_ITEMS {
                    match items.next_element()? {
                        Some(item) => list.push(item),
                        None => return Ok(FirstItems(list)),
                    }
                }
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstItems(list))
            }
        }
        deserializer.deserialize_any(Items(PhantomData))
    }
}

/// A message's content: a list of blocks, or one text.
#[derive(Default)]
pub(super) struct MessageContent(pub Vec<MessageBlock>);

impl MessageContent {
    /// Whether the message may have more blocks than are read.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_ITEMS
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A visitor, not a `RawValue`, which would read the content twice.
        struct Blocks;
        impl<'de> Visitor<'de> for Blocks {
            type Value = MessageContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of blocks")
            }

            fn visit_str<E>(self, text: &str) -> Result<MessageContent, E> {
                let text = Some(text.to_owned());
                Ok(MessageContent(vec![MessageBlock { kind: "text".to_owned(), text, ..MessageBlock::default() }]))
            }

            fn visit_unit<E>(self) -> Result<MessageContent, E> {
                Ok(MessageContent::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<MessageContent, A::Error> {
                FirstItems::deserialize(SeqAccessDeserializer::new(items)).map(|blocks| MessageContent(blocks.0))
            }
        }
        deserializer.deserialize_any(Blocks)
    }
}

/// A tool's answer: the texts, and the names of tools that a search found, up to a limit.
pub(super) struct ToolTexts {
    pub text: String,
    /// The kind of a block that is not known.
    pub unknown: Option<String>,
}

/// The kinds of blocks in a tool's answer. Those without a text show pictures and the like.
const SHOWN: [&str; 6] = ["text", "image", "document", "tool_reference", "search_result", "resource_link"];

impl<'de> Deserialize<'de> for ToolTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = MessageContent::deserialize(deserializer)?;
        let is_unknown = |block: &&MessageBlock| {
            !SHOWN.contains(&block.kind.as_str()) || (block.kind == "text" && block.text.is_none())
        };
        let unknown = content.0.iter().find(is_unknown).map(|block| block.kind.clone());
        let mut texts = content.0.into_iter().filter_map(|block| block.text.or(block.tool_name.0));
        let mut text = texts.next().unwrap_or_default();
        texts.for_each(|next| text.extend(["\n", &next]));
        // One byte more than the limit shows that the answer is longer.
        shorten(&mut text, MAX_ANSWER + 1);
        Ok(Self { text, unknown })
    }
}
