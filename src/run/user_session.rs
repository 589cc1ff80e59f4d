//! Sessions of the user's own machine, read as trials. Nothing of them is stored: their evidence is in a temporary directory.

use std::path::Path;

use serde_json::Value;

use crate::agent;
use crate::agent::UserSession;
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::checks::TRIGGERED;
use crate::files::bounded;
use crate::files::look::{self, Entry};
use crate::run::calibration::unmeasured;
use crate::run::live::Redactors;
use crate::run::live_trial::case_meta;
use crate::run::planned::PlannedRun;
use crate::run::regrade;
use crate::run::stored_trial::StoredTrial;
use crate::settings::mode::{AgentKind, Delivery};
use crate::store::RunFolder;
use crate::text::problem::{About, Problem};
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Step, Trace};
use crate::trial::evidence::{AgentMeta, CaseMeta, Imported, Meta, SkillMeta, USER_SESSION};
use crate::trial::outcome::{Grade, Status, Verdict};

/// The name of its mode, and the id of its run.
const NAME: &str = "session";

/// A session file, read. Secrets are masked.
#[derive(Debug)]
pub struct ReadSession {
    pub agent: AgentKind,
    pub session: UserSession,
    /// The chosen prompt, from 1; all of them without a choice.
    pub turn: Option<usize>,
}

/// Reads a session file. Fails if no agent wrote it, or if it has no such prompt.
pub fn read(run: &PlannedRun, file: &Path, turn: Option<usize>) -> Result<ReadSession, Problem> {
    let redactor = Redactors::new(&run.settings).masking(Vec::new());
    let read = lines(file, &redactor)?;
    // Its sub-agents have files of their own, in a directory named after it.
    let mut sub_agents = Vec::new();
    let files = look::entries(&file.with_extension("").join("subagents"))?;
    for file in files.iter().map(Entry::path).filter(|file| file.extension() == Some("jsonl".as_ref())) {
        sub_agents.extend(lines(file, &redactor)?);
    }
    let shown = file.display();
    let mut kinds = AgentKind::ALL.into_iter();
    let found = kinds.find_map(|kind| Some((kind, agent::of(kind).user_session(&read, &sub_agents, turn)?)));
    let (agent, session) = found.ok_or_else(|| {
        let names = crate::profile::PROFILES.map(|profile| format!("{}/{}", profile.home, profile.sessions));
        format!("{shown}: not a session file of a known agent; they are in ~/{}", names.join(" and ~/"))
    })?;
    let count = session.prompts.len();
    match turn {
        _ if count == 0 => Err(format!("{shown}: it has no prompt that a model answered").into()),
        Some(turn) if turn == 0 || turn > count => {
            Err(format!("{shown}: it has no prompt {turn}; it has {count}").into())
        }
        Some(turn) if session.is_unclear => {
            Err(format!("{shown}: which prompt is number {turn} is not known: a line before its end cannot be read")
                .into())
        }
        _ => match session.prompts.iter().take(turn.unwrap_or(count)).position(Option::is_none) {
            // Its place is a guess, and so are the numbers of those that follow.
            Some(at) => Err(format!("{shown}: prompt {} of {count} is lost or cannot be read", at + 1).into()),
            None => Ok(ReadSession { agent, session, turn }),
        },
    }
}

/// The lines of a file, masked. A line that cannot be read stands as a text, which decoders count as damaged.
fn lines(file: &Path, redactor: &Redactor) -> Result<Vec<Value>, Problem> {
    let bytes = bounded::read(file).about(file.display())?;
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    Ok(lines.map(|line| serde_json::from_slice(&redactor.mask(line)).unwrap_or_else(|_| "damaged".into())).collect())
}

/// A session as the evidence of a trial of a case.
#[derive(Debug)]
pub struct GradedSession {
    pub grade: Grade,
    pub trace: Trace,
}

impl GradedSession {
    /// Whether the skill activated, if the session shows it, and what was found.
    pub fn activated(&self) -> (Option<bool>, &str) {
        let Some(check) = self.grade.checks.iter().find(|check| check.id == TRIGGERED) else { return (None, "") };
        let activated = match check.status {
            Status::Pass => Some(true),
            Status::Fail if self.grade.trouble.is_none() => Some(false),
            Status::Fail | Status::Unknown => None,
        };
        (activated, &check.found)
    }
}

impl ReadSession {
    fn chosen(&self) -> &[Option<String>] {
        let all = self.session.prompts.as_slice();
        self.turn.and_then(|turn| all.get(turn - 1..turn)).unwrap_or(all)
    }

    /// What the user asked, as far as it was chosen.
    pub fn prompts(&self) -> Vec<&str> {
        self.chosen().iter().flatten().map(String::as_str).collect()
    }

    /// The paths that editing tools wrote, in the directory of the session and relative to it.
    pub fn written(&self, trace: &Trace) -> Vec<String> {
        let base = self.session.folder.as_ref().map(|folder| format!("{folder}/")).unwrap_or_default();
        let mut written: Vec<String> = Vec::new();
        for path in trace
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::FileChange(paths) => Some(paths),
                _ => None,
            })
            .flatten()
        {
            let path = path.strip_prefix(&base).unwrap_or(path);
            if !path.starts_with('/') && !written.iter().any(|known| known == path) {
                written.push(path.to_owned());
            }
        }
        written
    }

    pub fn grade(&self, run: &PlannedRun, case: &Case, skill: &FoundSkill) -> Result<GradedSession, Problem> {
        let text = |error: &dyn std::fmt::Display| error.to_string();
        let place = tempfile::tempdir().map_err(|error| text(&error))?;
        let meta = self.meta(case, skill);
        let folder = RunFolder::at(place.path()).trial(&meta.id());
        folder.clear().map_err(|error| text(&error))?;
        folder.write_meta(&meta).map_err(|error| text(&error))?;
        let session = self.agent.profile().session;
        let UserSession { events, session: own, sub_agents, .. } = &self.session;
        for (name, lines) in [("trace.jsonl", events), (session, own), ("subagents.jsonl", sub_agents)] {
            let content = lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect::<String>();
            if !content.is_empty() {
                folder.write(name, content.as_bytes()).map_err(|error| text(&error))?;
            }
        }
        let mut stored = StoredTrial::read(run, &folder).map_err(|error| text(&error))?;
        stored.final_text = stored.trace.final_message.clone();
        let mut grade = regrade::by_checks(run, &stored.trial_evidence(case, skill, &folder), &|_| ())?;
        if case.is_judged(&run.settings) && grade.verdict == Verdict::Pass {
            grade.verdict = Verdict::Unscored;
            grade.trouble = Some(Trouble::new(TroubleKind::NotJudged, "no judge is asked about a session"));
        }
        Ok(GradedSession { grade, trace: stored.trace })
    }

    fn meta(&self, case: &Case, skill: &FoundSkill) -> Meta {
        let (session, skill) = (&self.session, skill.skill());
        let case = CaseMeta {
            prompt: self.prompts().join("\n\n"),
            system_prompt: None,
            forced: false,
            follow_ups: Vec::new(),
            history: Vec::new(),
            ..case_meta(case, case.timeout.unwrap_or_default(), case.max_turns)
        };
        let (version, model) = (session.version.clone(), session.model.clone());
        // A calibration runs trials: it shows nothing of how sessions are read.
        let unmeasured = unmeasured(self.agent, version.as_deref());
        let agent = AgentMeta { kind: self.agent, version, model, requested: None };
        let skill = SkillMeta::of(skill, None);
        Meta {
            run_id: NAME.to_owned(),
            mode: NAME.to_owned(),
            imported: Some(Imported { runner: USER_SESSION.to_owned(), folder: "".into(), unknown: Vec::new() }),
            started: session.started.clone().unwrap_or_default(),
            // A session shows what editing tools wrote, not what was there at its end.
            files_truncated: true,
            unmeasured,
            ..Meta::new(skill, case, agent, Delivery::Native)
        }
    }
}
