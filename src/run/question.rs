//! Asks an agent one question in a trial environment without skills: for the rubric judge, for a user who answers, and for what an agent writes.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::agent::{Assignment, OutputSchema};
use crate::cases::case::Case;
use crate::grade::session::session_trouble;
use crate::run::agent_run::{self, AgentJob, AgentRun, disk, unstored};
use crate::run::live::Redactors;
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::store::TrialFolder;
use crate::text::diagnostic::SourceLocation;
use crate::trace::Trace;
use crate::trace::exposure::SkillTexts;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::sandbox::Sandbox;

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
