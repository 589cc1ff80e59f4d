//! Asks an agent one question in a trial environment without skills: for the rubric judge, for a user who answers, and for what an
//! agent writes.

use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::agent::{self, Assignment, OutputSchema};
use crate::cases::case::Case;
use crate::grade::session::session_trouble;
use crate::run::agent_run::{self, AgentJob, AgentRun, disk, unstored};
use crate::run::live::{LiveRun, Redactors};
use crate::run::planned::PlannedRun;
use crate::run::user_messages::{PlayerAnswer, PlayerQuestion};
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::store::TrialFolder;
use crate::text::diagnostic::SourceLocation;
use crate::trace::Trace;
use crate::trace::exposure::SkillTexts;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::input_file::Sandbox;
use std::path::Path;
use std::time::Duration;
use std::{io, thread};

pub(super) struct Player<'a> {
    pub run: &'a PlannedRun,
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
