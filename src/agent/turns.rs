//! The turns of an agent's model, counted while it is at work.

use std::collections::HashSet;

/// Most calls that are followed at a time.
const MAX_OPEN: usize = 1_000;

/// What a line of an agent's session file says of the model's calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnSign {
    /// The model made a call.
    Called {
        /// The call's id.
        call: String,
        /// The id of the answer that it is part of, where the agent tells.
        answer: Option<String>,
    },
    /// The call with this id was answered.
    Answered(String),
}

/// Counts turns: a turn is an answer of the model with all the calls in it, and over once these are answered. An answer
/// without a call is none: it is the last one, or the model waits for what runs in the background.
#[derive(Debug, Default)]
pub struct TurnCounter {
    over: u64,
    open: HashSet<String>,
    /// The answer of the last call, where the agent tells.
    answer: Option<String>,
    /// Whether that has not been counted yet: agents may answer a call before they tell the next one of the same answer.
    fresh: bool,
}

impl TurnCounter {
    /// Notes what a line says.
    pub fn note(&mut self, sign: TurnSign) {
        match sign {
            TurnSign::Called { call, answer } => {
                self.fresh |= answer.is_none() || answer != self.answer;
                self.answer = answer;
                if self.open.len() < MAX_OPEN {
                    self.open.insert(call);
                }
            }
            TurnSign::Answered(call) => {
                if self.open.remove(&call) && self.open.is_empty() && std::mem::take(&mut self.fresh) {
                    self.over += 1;
                }
            }
        }
    }

    /// How many are over.
    #[must_use]
    pub fn over(&self) -> u64 {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many turns are over after these: `+` and the names of a call and its answer, or `-` and that of a call.
    fn over(signs: &[&str]) -> u64 {
        let mut turns = TurnCounter::default();
        for sign in signs {
            let (kind, rest) = sign.split_at(1);
            let (call, answer) = rest.split_once('/').map_or((rest, None), |(call, answer)| (call, Some(answer)));
            let (call, answer) = (call.to_owned(), answer.map(str::to_owned));
            turns.note(if kind == "+" { TurnSign::Called { call, answer } } else { TurnSign::Answered(call) });
        }
        turns.over()
    }

    #[test]
    fn a_turn_is_over_when_all_the_calls_of_an_answer_are_answered() {
        assert_eq!(over(&["+a", "+b", "-b"]), 0);
        assert_eq!(over(&["+a", "+b", "-b", "-a", "+c", "-c"]), 2);
        assert_eq!(over(&["+a/1", "-a", "+b/1", "-b"]), 1, "two calls of one answer");
        assert_eq!(over(&["+a/1", "-a", "+b/2", "-b", "-b", "-z"]), 2);
    }
}
