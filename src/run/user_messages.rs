//! Where the user's messages after the prompt come from: the case has them, then its user is played.

use crate::agent::Assignment;
use crate::grade::user::{Played, UserTurn};
use crate::run::settled::EvidenceSoFar;
use crate::text::redact::Redactor;
use crate::trace::Usage;
use crate::trace::exposure::Reference;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::evidence::AgentMeta;
use crate::trial::input_file::{HistoryMessage, Speaker};
use crate::trial::input_file::{Persona, UserEnding, UserMeta};

/// How often a player may answer for one message: after an answer that cannot be sent it is asked again.
const ANSWERS: u32 = 2;

/// Asks the player of a user.
pub(super) type Play<'a> = dyn Fn(&PlayerQuestion<'_>) -> Result<PlayerAnswer, Trouble> + 'a;

/// What a player is asked.
pub(super) struct PlayerQuestion<'a> {
    pub prompt: &'a str,
    /// The number of the message, from 2.
    pub message: usize,
    /// From 1.
    pub attempt: u32,
}

/// What a player answered.
pub(super) struct PlayerAnswer {
    pub text: Option<String>,
    pub usage: Option<Usage>,
    pub version: Option<String>,
    pub model: Option<String>,
}

/// The messages of the user after the prompt, one after the other.
pub(super) struct UserMessages<'a> {
    assignment: &'a Assignment<'a>,
    play: &'a Play<'a>,
    so_far: Option<&'a EvidenceSoFar>,
    redactor: &'a Redactor,
    reference: Reference,
    /// Those that were sent.
    pub sent: Vec<String>,
    /// All that was said, if a user is played.
    conversation: Vec<HistoryMessage>,
    pub user: Option<UserMeta>,
    /// Why the user could not be played.
    pub trouble: Option<Trouble>,
}

impl<'a> UserMessages<'a> {
    /// Reads what the agent says from `so_far`.
    pub(super) fn new(
        assignment: &'a Assignment<'a>,
        play: &'a Play<'a>,
        so_far: Option<&'a EvidenceSoFar>,
        redactor: &'a Redactor,
        reference: &Reference,
    ) -> Self {
        let Assignment { case, settings, .. } = *assignment;
        let prompt = HistoryMessage { role: Speaker::User, content: case.prompt.clone() };
        let conversation = case.history.iter().cloned().chain([prompt]).collect();
        let (kind, model) = settings.player();
        let player = AgentMeta { kind, model: model.cloned(), version: None, requested: None };
        let user = UserMeta { player, ending: None, why: None, told: Vec::new(), usage: None };
        let (reference, user) = (reference.clone(), case.user.is_some().then_some(user));
        Self { assignment, play, so_far, redactor, reference, sent: Vec::new(), conversation, user, trouble: None }
    }

    /// The next message, after the agent has answered; `None` if the conversation is over.
    pub(super) fn next(&mut self) -> Option<String> {
        let case = self.assignment.case;
        if case.user.is_some() {
            let answer = self.answer()?;
            self.conversation.push(HistoryMessage { role: Speaker::Assistant, content: answer });
        }
        let next = match (case.follow_ups.get(self.sent.len()), &case.user) {
            (Some(message), _) => message.clone(),
            (None, Some(persona)) => match self.played(persona) {
                Ok(next) => next?,
                Err(trouble) => {
                    self.trouble = Some(trouble);
                    return None;
                }
            },
            (None, None) => return None,
        };
        self.conversation.push(HistoryMessage { role: Speaker::User, content: next.clone() });
        self.sent.push(next.clone());
        Some(next)
    }

    /// The agent's answer to the last message. Nothing is said to an agent that gave none.
    fn answer(&mut self) -> Option<String> {
        self.reference.follow_ups = self.sent.len();
        let trace = self.so_far?.trace(self.assignment, self.redactor, &self.reference);
        match trace {
            Ok(trace) => trace.final_message,
            Err(error) => {
                self.trouble = Some(Trouble::new(TroubleKind::Files, format!("the agent's answer: {error}")));
                None
            }
        }
    }

    /// What the player says; `None` if the user ends the conversation.
    fn played(&mut self, persona: &Persona) -> Result<Option<String>, Trouble> {
        let Some(mut user) = self.user.take() else { return Ok(None) };
        let said = self.next_of(persona, &mut user);
        self.user = Some(user);
        said
    }

    fn next_of(&self, persona: &Persona, user: &mut UserMeta) -> Result<Option<String>, Trouble> {
        let of_case = self.assignment.case.follow_ups.len();
        if (self.sent.len() - of_case) as u64 >= persona.max_turns {
            user.ending = Some(UserEnding::MaxTurns);
            return Ok(None);
        }
        let number = 2 + self.sent.len();
        let mut unusable = None;
        for attempt in 1..=ANSWERS {
            let turn = UserTurn { persona, conversation: &self.conversation, told: &user.told, number };
            let question = PlayerQuestion { prompt: &turn.prompt(unusable.as_deref()), message: number, attempt };
            let PlayerAnswer { text, usage, version, model } = (self.play)(&question)?;
            let played = turn.played(text.as_deref());
            let is_first = number == 2 + of_case && attempt == 1;
            user.usage = if is_first { usage } else { user.usage.zip(usage).map(|(sum, more)| sum.plus(more)) };
            (user.player.version, user.player.model) =
                (version.or(user.player.version.take()), model.or(user.player.model.take()));
            match played {
                Ok(Played::Says(message, told)) => {
                    user.told.extend(told);
                    return Ok(Some(message));
                }
                Ok(Played::Ends(ending, why)) => {
                    user.ending = Some(ending);
                    user.why = Some(why).filter(|why| ending == UserEnding::GaveUp && !why.is_empty());
                    return Ok(None);
                }
                Err(why) => unusable = Some(why),
            }
        }
        let why = unusable.unwrap_or_default();
        let why = format!("its answer to message {} could not be sent, {ANSWERS} times: {why}", number - 1);
        Err(Trouble::new(TroubleKind::UserFailed, why))
    }
}
