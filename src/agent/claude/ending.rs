//! How claude ends: what it says in the model's place, and whether the model ended its turn short by its own doing.

use crate::agent::refusal::Refusal;
use crate::trace::trouble::Trouble;
use crate::trace::{StopReason, excerpt};

/// How claude begins to tell that the conversation no longer fits.
const TOO_LONG: &str = "Prompt is too long";

/// How claude tells that the provider's filter stopped what the model wrote.
const FILTERED: &str = "API Error: 400 Output blocked by content filtering policy";

/// What claude said in the model's place.
pub(super) struct SyntheticMessage {
    /// The HTTP status that it retried before, if it did.
    pub retried: Option<u64>,
    /// Whether the model had answered before.
    pub answered: bool,
    pub said: String,
    /// The kind of error, as claude names it.
    pub error: Option<String>,
    pub stop_reason: Option<String>,
}

impl SyntheticMessage {
    /// Whether it is an error that keeps the model from answering, and not the end that the model made.
    pub(super) fn is_refusal(&self) -> bool {
        self.error.is_some() && stop("", None, Some(self)).is_none()
    }

    pub(super) fn trouble(&self, what: &str) -> Trouble {
        let code = self.error.as_deref();
        let kind = Refusal { status: None, code, message: &self.said, retried: self.retried }.kind();
        Trouble::new(kind, format!("{what}: {}", excerpt(&self.said)))
    }
}

/// Whether the model ended its turn short, by the fields that say so.
pub(super) fn stop(
    subtype: &str,
    stop_reason: Option<&str>,
    synthetic: Option<&SyntheticMessage>,
) -> Option<StopReason> {
    let reason = synthetic.and_then(|synthetic| synthetic.stop_reason.as_deref()).or(stop_reason);
    let error = synthetic.and_then(|synthetic| synthetic.error.as_deref());
    match (subtype, reason, error) {
        ("error_max_turns", ..) => Some(StopReason::MaxTurns),
        ("error_max_budget_usd", ..) => Some(StopReason::MaxBudget),
        ("error_max_structured_output_retries", ..) => Some(StopReason::NoStructuredAnswer),
        (_, Some("refusal"), _) => Some(StopReason::Refusal),
        (_, Some("max_tokens"), _) | (_, _, Some("max_output_tokens")) => Some(StopReason::MaxTokens),
        (_, Some("model_context_window_exceeded"), _) => Some(StopReason::ContextWindow),
        _ if synthetic.is_some_and(|synthetic| synthetic.said.starts_with(FILTERED)) => Some(StopReason::Refusal),
        // Of what the provider refuses as too long claude tells no more than that it is no valid request. Before the model
        // said anything that is not its own doing.
        _ if synthetic.is_some_and(|said| said.answered && said.said.starts_with(TOO_LONG)) => {
            Some(StopReason::ContextWindow)
        }
        _ => None,
    }
}
