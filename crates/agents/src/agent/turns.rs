//! Counts the turns of an agent's model while it works.

use std::collections::HashSet;

/// The most open calls that are followed.
const MAX_OPEN: usize = 1_000;

/// What a line of an agent's session file says about the model's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnSign {
    /// The model made a call.
    Called {
        /// The call's id.
        call: String,
        /// The id of the answer with the call, if the agent reports it.
        answer: Option<String>,
    },
    /// The call with this id was answered.
    Answered(String),
}

/// Counts turns. A turn is an answer of the model with its calls, and ends when all calls are answered. An answer without a
/// call is not a turn: it is the last one, or the model waits for what runs in the background.
#[derive(Debug, Default)]
pub struct TurnCounter {
    ended: u64,
    open: HashSet<String>,
    /// The id of the answer with the last call, if the agent reports it.
    answer: Option<String>,
    /// Whether the turn of the last call is not counted yet. An agent may report the answer to a call before the next call of
    /// the same turn.
    is_new: bool,
}

impl TurnCounter {
    /// Counts one sign.
    pub fn note(&mut self, sign: TurnSign) {
        match sign {
            TurnSign::Called { call, answer } => {
                self.is_new |= answer.is_none() || answer != self.answer;
                self.answer = answer;
                if self.open.len() < MAX_OPEN {
                    self.open.insert(call);
                }
            }
            TurnSign::Answered(call) => {
                if self.open.remove(&call) && self.open.is_empty() && std::mem::take(&mut self.is_new) {
                    self.ended += 1;
                }
            }
        }
    }

    /// How many turns have ended.
    pub fn ended(&self) -> u64 {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_answer_are_one_turn_even_if_the_first_is_answered_before_the_second_is_reported() {
        let call =
            |call: &str, answer: &str| TurnSign::Called { call: call.to_owned(), answer: Some(answer.to_owned()) };
        let answered = |call: &str| TurnSign::Answered(call.to_owned());
        let mut turns = TurnCounter::default();
        for sign in [call("a", "1"), answered("a"), call("b", "1"), answered("b"), answered("b"), answered("z")] {
            turns.note(sign);
        }
        assert_eq!(turns.ended(), 1);
    }
}
