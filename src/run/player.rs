//! The player of a user: an agent in a trial environment of its own, without skills and without the files of the trial.

use std::thread;

use crate::agent;
use crate::cases::case::Case;
use crate::run::context::RunContext;
use crate::run::live::LiveRun;
use crate::run::question::{AgentAnswer, Question};
use crate::run::user_messages::{PlayerAnswer, PlayerQuestion};
use crate::settings::mode::Mode;
use crate::store::TrialFolder;
use crate::trace::trouble::{Trouble, TroubleKind};

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
