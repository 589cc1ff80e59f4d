//! The final message, as far as the evidence shows it, and what the evidence leaves open.

use crate::trial::evidence::Evidence;

/// The final message. None is another thing than one that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FinalAnswer<'a> {
    Text(&'a str),
    /// There is none.
    None,
    /// There may be another one, or one at all.
    Unread(String),
}

impl<'a> Evidence<'a> {
    /// The final message.
    pub fn answer(&self) -> FinalAnswer<'a> {
        let of_trace = self.trace.final_message.as_deref();
        let is_other = |text: &str| of_trace.is_some_and(|other| other.trim() != text.trim());
        // The last line of an agent that is at work is not whole yet.
        let is_unread = self.trace.answer_unread && (of_trace.is_none() || self.trace.ended());
        match self.final_text {
            Some(text) if is_other(text) => {
                FinalAnswer::Unread("the final message and the last message of the trace differ".to_owned())
            }
            // It is the last message that could be read, and another one may follow.
            Some(_) if is_unread && of_trace.is_some() => {
                FinalAnswer::Unread("the agent's last message could not be read".to_owned())
            }
            Some(text) => FinalAnswer::Text(text),
            None if is_unread => FinalAnswer::Unread("the agent's last message could not be read".to_owned()),
            None => match of_trace {
                Some(text) => FinalAnswer::Text(text),
                None => self.gap().map_or(FinalAnswer::None, FinalAnswer::Unread),
            },
        }
    }

    /// Why something may have happened that the evidence does not show. `None` if it is complete, and what it does not show did not
    /// happen.
    pub fn gap(&self) -> Option<String> {
        self.trace.gap().or_else(|| self.meta.unmeasured.clone())
    }
}
