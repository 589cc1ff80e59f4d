//! How claude ends: messages that claude writes in the model's place, and turns that the model ended early.

use crate::agent::refusal::Refusal;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, excerpt};

/// The start of claude's message if the conversation no longer fits.
const TOO_LONG: &str = "Prompt is too long";

/// The start of claude's message if the provider's filter stopped what the model wrote.
const FILTERED: &str = "API Error: 400 Output blocked by content filtering policy";

/// A message that claude wrote in the model's place.
pub(super) struct SyntheticMessage {
    pub text: String,
    /// The kind of error, in claude's word.
    pub error: Option<String>,
    pub stop_reason: Option<String>,
    /// The HTTP status that claude retried before, if any.
    pub retried: Option<u64>,
    /// Whether the model had answered before.
    pub model_answered: bool,
}

impl SyntheticMessage {
    /// Whether it is an error that keeps the model from answering, and not the model's own end.
    pub(super) fn is_refusal(&self) -> bool {
        self.error.is_some() && stop_reason("", None, Some(self)).is_none()
    }

    pub(super) fn trouble(&self, what: &str) -> Trouble {
        let code = self.error.as_deref();
        let refusal = Refusal { status: None, code, message: &self.text, retried: self.retried };
        Trouble::new(refusal.kind(), format!("{what}: {}", excerpt(&self.text)))
    }
}

/// Why the model ended its turn early, if it did.
pub(super) fn stop_reason(
    subtype: &str,
    reason: Option<&str>,
    synthetic: Option<&SyntheticMessage>,
) -> Option<StopReason> {
    let reason = synthetic.and_then(|synthetic| synthetic.stop_reason.as_deref()).or(reason);
    let error = synthetic.and_then(|synthetic| synthetic.error.as_deref());
    match (subtype, reason, error) {
        ("error_max_turns", ..) => return Some(StopReason::MaxTurns),
        ("error_max_budget_usd", ..) => return Some(StopReason::MaxBudget),
        ("error_max_structured_output_retries", ..) => return Some(StopReason::NoStructuredAnswer),
        (_, Some("refusal"), _) => return Some(StopReason::Refusal),
        (_, Some("max_tokens"), _) | (_, _, Some("max_output_tokens")) => return Some(StopReason::MaxTokens),
        (_, Some("model_context_window_exceeded"), _) => return Some(StopReason::ContextWindow),
        _ => {}
    }
    let SyntheticMessage { text, model_answered, .. } = synthetic?;
    if text.starts_with(FILTERED) {
        return Some(StopReason::Refusal);
    }
    // claude has no error code for a prompt that is too long. If the model has not said anything, it is not its doing.
    (*model_answered && text.starts_with(TOO_LONG)).then_some(StopReason::ContextWindow)
}
