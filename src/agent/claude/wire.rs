//! The shapes of claude's lines, as far as they are read. Lists and texts are read up to a limit and the rest passed
//! over, so that no line, whatever is in it, takes more memory than its own length.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::agent::lenient;
use crate::agent::refusal::Refusal;
use crate::trace::exposure::MAX_ANSWER;
use crate::trace::trouble::Trouble;
use crate::trace::{MAX_TEXT, OpenCall, Usage, cut};

/// Most items of a list that are read.
const MAX_ITEMS: usize = 1_000;

/// Most bytes of a call's input that are kept for a moment.
const MAX_KEPT: usize = 64 << 10;

/// Longest input of a call that is looked into: no command line, path or name of a skill is longer.
const MAX_INPUT: usize = 1 << 20;

/// What every line has.
#[derive(Deserialize)]
pub(super) struct LineHead {
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub subtype: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub timestamp: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub uuid: Option<String>,
    /// The call that started the sub-agent whose line it is.
    #[serde(default, deserialize_with = "lenient::option")]
    pub parent_tool_use_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct InitLine {
    pub tools: FirstItems<String>,
    pub skills: FirstItems<String>,
    pub mcp_servers: FirstItems<McpServerStatus>,
    #[serde(deserialize_with = "lenient::option")]
    pub model: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub claude_code_version: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct McpServerStatus {
    pub name: String,
    pub status: String,
}

#[derive(Deserialize)]
pub(super) struct Assistant {
    pub message: ModelMessage,
    /// What kind of error claude tells of in the model's place.
    #[serde(default, deserialize_with = "lenient::option")]
    pub error: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct ModelMessage {
    /// The same in every line of one answer of the model.
    #[serde(default, deserialize_with = "lenient::option")]
    pub id: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub model: Option<String>,
    #[serde(default)]
    pub content: MessageContent,
    #[serde(default, deserialize_with = "lenient::option")]
    pub usage: Option<ClaudeTokens>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub stop_reason: Option<String>,
}

/// What claude calls the model that it is itself when there is no answer.
const SYNTHETIC: &str = "<synthetic>";

impl ModelMessage {
    /// Whether it is claude's word and not the model's.
    pub(super) fn is_synthetic(&self) -> bool {
        self.model.as_deref() == Some(SYNTHETIC)
    }
}

#[derive(Deserialize)]
pub(super) struct UserLine {
    pub message: User,
}

#[derive(Deserialize)]
pub(super) struct User {
    #[serde(default)]
    pub content: MessageContent,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub kind: String,
    pub text: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub thinking: Option<String>,
    pub id: Option<String>,
    pub name: Option<String>,
    /// Of a reference to a tool that a search found.
    #[serde(deserialize_with = "lenient::option")]
    pub tool_name: Option<String>,
    pub input: Option<Box<RawValue>>,
    pub tool_use_id: Option<String>,
    pub content: Option<ToolTexts>,
    #[serde(deserialize_with = "lenient::option")]
    pub is_error: Option<bool>,
}

/// Tokens of one request, or of all of them.
#[derive(Clone, Copy, Default, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names on the wire")]
pub(super) struct ClaudeTokens {
    input_tokens: u64,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl ClaudeTokens {
    /// All that was read: this vendor counts cached tokens apart.
    pub(super) fn input(&self) -> u64 {
        let cached = [self.cache_creation_input_tokens, self.cache_read_input_tokens].into_iter().flatten();
        cached.fold(self.input_tokens, u64::saturating_add)
    }

    /// In the words of the normal form; `None` where what was written is not told.
    fn usage(self, cost_usd: Option<f64>) -> Option<Usage> {
        Some(Usage {
            input_tokens: self.input(),
            cached_input_tokens: self.cache_read_input_tokens.unwrap_or(0),
            cache_write_input_tokens: self.cache_creation_input_tokens.unwrap_or(0),
            output_tokens: self.output_tokens?,
            reasoning_output_tokens: 0,
            cost_usd: cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
        })
    }

    fn plus(self, other: ClaudeTokens) -> ClaudeTokens {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0)));
        ClaudeTokens {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cache_creation_input_tokens: sum(self.cache_creation_input_tokens, other.cache_creation_input_tokens),
            cache_read_input_tokens: sum(self.cache_read_input_tokens, other.cache_read_input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
        }
    }
}

/// The same, as the totals of one model name them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelTokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, rename = "costUSD", deserialize_with = "lenient::option")]
    cost_usd: Option<f64>,
}

impl ModelTokens {
    fn tokens(&self) -> ClaudeTokens {
        ClaudeTokens {
            input_tokens: self.input_tokens,
            cache_creation_input_tokens: self.cache_creation_input_tokens,
            cache_read_input_tokens: self.cache_read_input_tokens,
            output_tokens: Some(self.output_tokens),
        }
    }
}

/// Totals by model: of what is of another shape nothing is known.
enum Models {
    Absent,
    Unreadable,
    Known(BTreeMap<String, ModelTokens>),
}

fn models<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Models, D::Error> {
    Ok(lenient::option(deserializer)?.map_or(Models::Unreadable, Models::Known))
}

fn no_models() -> Models {
    Models::Absent
}

#[derive(Deserialize)]
pub(super) struct ResultLine {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub subtype: String,
    pub is_error: Option<bool>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub api_error_status: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub stop_reason: Option<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub num_turns: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_ms: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub duration_api_ms: Option<u64>,
    pub result: Option<String>,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub errors: FirstItems<String>,
    #[serde(default, deserialize_with = "lenient::option")]
    total_cost_usd: Option<f64>,
    #[serde(default, deserialize_with = "lenient::option")]
    usage: Option<ClaudeTokens>,
    #[serde(default = "no_models", rename = "modelUsage", deserialize_with = "models")]
    models: Models,
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub permission_denials: FirstItems<Denial>,
}

#[derive(Deserialize)]
pub(super) struct Denial {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool_name: String,
    pub tool_input: Option<Box<RawValue>>,
}

/// The totals of a run, over every model that took part where they are told by model: sub-agents cost too.
pub(super) fn as_usage(result: &ResultLine) -> Option<Usage> {
    let tokens = match &result.models {
        Models::Unreadable => return None,
        Models::Known(models) if !models.is_empty() => {
            models.values().fold(ClaudeTokens::default(), |sum, model| sum.plus(model.tokens()))
        }
        Models::Known(_) | Models::Absent => result.usage?,
    };
    tokens.usage(result.total_cost_usd)
}

/// The totals of each model, where they are told.
pub(super) fn by_model(result: &ResultLine) -> BTreeMap<String, Usage> {
    match &result.models {
        Models::Known(models) => {
            let usage = |model: &ModelTokens| model.tokens().usage(model.cost_usd);
            let told = models.iter().take(MAX_ITEMS);
            told.filter_map(|(name, model)| Some((name.clone(), usage(model)?))).collect()
        }
        Models::Unreadable | Models::Absent => BTreeMap::new(),
    }
}

/// claude waits and tries again.
#[derive(Deserialize)]
pub(super) struct Retry {
    #[serde(default, deserialize_with = "lenient::option")]
    attempt: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    max_retries: Option<u64>,
    /// How long it waits, in milliseconds: no less than the provider asked for.
    #[serde(default, rename = "retry_delay_ms", deserialize_with = "lenient::option")]
    delay_ms: Option<f64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub error_status: Option<u64>,
    #[serde(default, deserialize_with = "lenient::option")]
    pub error: Option<String>,
}

impl Retry {
    /// Why an agent that did not get beyond it measured nothing.
    pub(super) fn trouble(&self) -> Trouble {
        let refusal = Refusal { status: self.error_status, code: self.error.as_deref(), ..Refusal::default() };
        let what = format!("the provider had not answered when the agent was ended: {self}");
        Trouble::new(refusal.kind(), what).after(self.wait())
    }

    /// How long claude waits before it asks again.
    pub(super) fn wait(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.delay_ms? / 1000.0).ok()
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
        write!(f, "retry {} of {}: ", number(self.attempt), number(self.max_retries))?;
        write!(f, "{} {}", number(self.error_status), self.error.as_deref().unwrap_or_default())
    }
}

#[derive(Deserialize)]
pub(super) struct ControlRequest {
    pub request: ControlBody,
}

#[derive(Deserialize)]
pub(super) struct ControlBody {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub subtype: String,
    #[serde(default, deserialize_with = "lenient::option")]
    pub tool_name: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct RateLimit {
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub rate_limit_info: LimitInfo,
}

#[derive(Default, Deserialize)]
pub(super) struct LimitInfo {
    #[serde(default, deserialize_with = "lenient::option")]
    pub status: Option<String>,
}

/// What is looked at of a call's input.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ToolInput {
    #[serde(deserialize_with = "lenient::option")]
    pub command: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub skill: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub name: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub path: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub pattern: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub file_path: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub notebook_path: Option<String>,
    #[serde(deserialize_with = "lenient::option")]
    pub uri: Option<String>,
    /// The input as it is, where it is short enough to be read again.
    #[serde(skip)]
    pub raw: String,
}

impl ToolInput {
    /// The skill that a call of the skill tool asks for.
    pub(super) fn asked_skill(&self) -> Option<&str> {
        let asked = self.skill.as_ref().or(self.command.as_ref()).or(self.name.as_ref());
        asked.map(|skill| skill.trim_start_matches('/'))
    }
}

impl Block {
    /// The tool call that this is, of the sub-agent that the call `by` started.
    pub(super) fn call(self, by: &str) -> OpenCall<ToolInput> {
        let input = self.input.as_deref().map_or("", RawValue::get);
        let short = Some(input).filter(|input| input.len() <= MAX_INPUT);
        let mut fields: ToolInput = short.and_then(|input| serde_json::from_str(input).ok()).unwrap_or_default();
        if input.len() <= MAX_KEPT {
            input.clone_into(&mut fields.raw);
        } else {
            fields = ToolInput { command: fields.command.map(shortened), ..fields };
        }
        let input = if input.len() > MAX_TEXT { cut(shortened(input.to_owned())) } else { input.to_owned() };
        let (id, tool) = (self.id.unwrap_or_default(), self.name.unwrap_or_default());
        OpenCall { by: by.to_owned(), id, tool, input, waits_for_agents: false, more: fields }
    }
}

fn shortened(mut text: String) -> String {
    shorten(&mut text, MAX_KEPT);
    text
}

fn shorten(text: &mut String, most: usize) {
    let kept = crate::text::cut::bytes(text, most).0.len();
    if kept < text.len() {
        text.truncate(kept);
        text.shrink_to_fit();
    }
}

/// The first items of a list; the rest is passed over.
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

/// A message's content: blocks, or a text alone.
#[derive(Default)]
pub(super) struct MessageContent(pub Vec<Block>);

impl MessageContent {
    /// Whether there may be more blocks than were read.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_ITEMS
    }
}

impl<'de> Deserialize<'de> for MessageContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Blocks;
        impl<'de> Visitor<'de> for Blocks {
            type Value = MessageContent;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of blocks")
            }

            fn visit_str<E>(self, text: &str) -> Result<MessageContent, E> {
                let text = Block { kind: "text".to_owned(), text: Some(text.to_owned()), ..Block::default() };
                Ok(MessageContent(vec![text]))
            }

            fn visit_unit<E>(self) -> Result<MessageContent, E> {
                Ok(MessageContent::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<MessageContent, A::Error> {
                let list = FirstItems::<Block>::deserialize(serde::de::value::SeqAccessDeserializer::new(items))?;
                Ok(MessageContent(list.0))
            }
        }
        deserializer.deserialize_any(Blocks)
    }
}

/// What a tool answered: a text, or the texts and names of tools in a list of blocks, up to a limit.
pub(super) struct ToolTexts(pub String);

impl<'de> Deserialize<'de> for ToolTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = MessageContent::deserialize(deserializer)?;
        let texts: Vec<String> = content.0.into_iter().filter_map(|block| block.text.or(block.tool_name)).collect();
        let mut text = texts.join("\n");
        // One more than is looked at, so that it shows.
        shorten(&mut text, MAX_ANSWER + 1);
        Ok(Self(text))
    }
}
