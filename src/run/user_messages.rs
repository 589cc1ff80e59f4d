//! Where the user's messages after the prompt come from: the case has them, then its user is played.

use std::path::Path;
use std::time::Duration;
use std::{io, thread};

use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::agent::{self, Assignment, OutputSchema};
use crate::cases::case::Case;
use crate::grade::session::session_trouble;
use crate::grade::user::{Played, UserTurn};
use crate::run::agent_run::{self, AgentJob, AgentRun, disk, unstored};
use crate::run::context::RunContext;
use crate::run::live_trial::EvidenceSoFar;
use crate::run::open_run::{LiveRun, Redactors};
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::store::TrialFolder;
use crate::text::diagnostic::SourceLocation;
use crate::text::redact::Redactor;
use crate::trace::exposure::{Reference, SkillTexts};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Trace, Usage};
use crate::trial::evidence::AgentMeta;
use crate::trial::history::{HistoryMessage, Speaker};
use crate::trial::sandbox::Sandbox;
use crate::trial::user::{Persona, UserEnding, UserMeta};

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

// The player of a user: an agent in a trial environment of its own, without skills and without the files of the trial.

pub(super) struct Player<'a> {
    pub run: &'a RunContext,
    pub live: &'a LiveRun,
    pub case: &'a Case,
    /// The mode of the agent that the user talks to.
    pub mode: &'a Mode,
    /// The directory of the trial.
    pub folder: &'a TrialFolder,
}

impl Player<'_> {
    /// Asks once, and stores the answer.
    pub(super) fn ask(&self, asked: &PlayerQuestion<'_>) -> Result<PlayerAnswer, Trouble> {
        let Self { run, live, case, folder, .. } = *self;
        let (agent, model) = run.settings.player();
        let question = Question {
            purpose: "user",
            root: &run.root,
            settings: &run.settings,
            agent,
            model,
            timeout: run.settings.judge.timeout,
            case: &case.id,
            skill: &case.skill,
            origin: &case.origin,
            prompt: asked.prompt,
            // Not every agent keeps to one.
            schema: None,
        };
        let folder = folder.playing(asked.message, asked.attempt);
        // The program of the agent that waits is served by this thread, which cannot serve two.
        let answer = thread::scope(|scope| {
            let ask = || question.ask(&live.scratch, &live.redactors, &folder, |_| Ok(()));
            thread::Builder::new().spawn_scoped(scope, ask).map(thread::ScopedJoinHandle::join)
        });
        let failed = || Trouble::new(TroubleKind::UserFailed, "its player ended unexpectedly");
        let AgentAnswer { text, trouble, trace, .. } = answer
            .map_err(|error| Trouble::new(TroubleKind::UserFailed, format!("its player could not start: {error}")))?
            .map_err(|_| failed())??;
        match trouble {
            None => Ok(PlayerAnswer { text, usage: trace.usage, version: trace.agent_version, model: trace.model }),
            Some(trouble) => Err(self.of_user(&trouble)),
        }
    }

    /// The trouble of a player as that of a trial: it says nothing about the agent, whose account may be another one.
    fn of_user(&self, trouble: &Trouble) -> Trouble {
        let settings = &self.run.settings;
        let account = |kind, mode| agent::account(settings, kind, mode);
        let is_same_account = || account(settings.player().0, None) == account(self.mode.agent, Some(self.mode));
        let kind = match trouble.kind {
            kind @ (TroubleKind::Interrupted | TroubleKind::NotStored | TroubleKind::RateLimit) => kind,
            kind @ (TroubleKind::UsageLimit | TroubleKind::Unreachable) if is_same_account() => kind,
            _ => TroubleKind::UserFailed,
        };
        Trouble { kind, detail: format!("the user's player: {trouble}"), ..trouble.clone() }
    }
}

// Asks an agent one question in a trial environment without skills: for the rubric judge, for a user who answers, and for what an agent writes.

/// A question to an agent, which cannot write.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// What the trial environment is for, in one word.
    pub purpose: &'static str,
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub agent: AgentKind,
    /// The model; `None` for the agent's default.
    pub model: Option<&'a String>,
    pub timeout: Duration,
    /// The id of the case that it is about.
    pub case: &'a str,
    /// The slug of its skill.
    pub skill: &'a str,
    pub origin: &'a SourceLocation,
    pub prompt: &'a str,
    /// The JSON Schema of the answer, for an agent that keeps to one.
    pub schema: Option<&'a str>,
}

/// An answer, or why there is none.
#[derive(Debug)]
pub struct AgentAnswer {
    pub text: Option<String>,
    pub trouble: Option<Trouble>,
    pub trace: Trace,
    pub duration_ms: u64,
}

impl Question<'_> {
    /// Asks once, and stores the evidence in `folder`. `prepare` fills the workspace. Fails if the agent could not be started or
    /// its evidence not be stored.
    pub fn ask(
        &self,
        scratch: &ScratchDir,
        redactors: &Redactors,
        folder: &TrialFolder,
        prepare: impl FnOnce(&TrialEnv) -> io::Result<()>,
    ) -> Result<AgentAnswer, Trouble> {
        folder.clear().map_err(|error| unstored(&error))?;
        let trial_env = scratch.trial_env().map_err(|error| disk(&error))?;
        prepare(&trial_env).map_err(|error| disk(&error))?;
        let show = |schema: &str| OutputSchema::show(&trial_env, schema.as_bytes().to_vec());
        let schema = self.schema.map(show).transpose().map_err(|error| disk(&error))?;
        let case = Case {
            id: self.case.to_owned(),
            skill: self.skill.to_owned(),
            origin: self.origin.clone(),
            prompt: self.prompt.to_owned(),
            sandbox: Sandbox::ReadOnly,
            timeout: Some(self.timeout),
            ..Case::default()
        };
        let assignment = Assignment {
            root: self.root,
            case: &case,
            mode: &Mode::new(self.purpose, self.agent, Delivery::None),
            // The model and limits of the agent under test are not those of this one.
            settings: &Settings { model: self.model.cloned(), max_turns: None, ..self.settings.clone() },
            trial_env: &trial_env,
            server: None,
            plugin: None,
            schema: schema.as_ref(),
            redactor: &redactors.masking(Vec::new()),
        };
        let job = AgentJob {
            assignment: &assignment,
            timeout: self.timeout,
            folder,
            play: &|_| Err(Trouble::new(TroubleKind::UserFailed, "nobody plays the user of a question")),
            redactors,
            texts: (SkillTexts::default(), None),
            is_settled: None,
            on_progress: &|_| (),
            on_answer: &|| (),
        };
        let AgentRun { ending, trace, final_text, .. } = agent_run::run(&job)?;
        let seconds = self.timeout.as_secs();
        let trouble = session_trouble(&ending, &trace, seconds).or_else(|| {
            (ending.timed_out && !trace.ended())
                .then(|| Trouble::new(TroubleKind::NoAnswer, format!("no answer within {seconds} s")))
        });
        Ok(AgentAnswer { text: final_text, trouble, trace, duration_ms: ending.duration_ms })
    }
}
