//! Asks the rubric judge: an agent of its own, in a room of its own, that reads a copy of a trial's evidence.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::agent::login::LoginSources;
use crate::agent::trial_env::{TrialEnv, without_rooms};
use crate::agent::{self, Assignment};
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::files::at::PathError;
use crate::files::below::{self, WalkControl, WalkedFile};
use crate::files::bounded;
use crate::grade::rubric::{self, Attempt, JUDGES_PROMPT, JudgeAnswer, JudgeSubject, Judgement, Rubric, Vote};
use crate::grade::session::session_trouble;
use crate::profile::{self, Profile};
use crate::run::agent_run::{self, disk, unstored};
use crate::run::context::RunContext;
use crate::run::live::LiveRun;
use crate::run::pace::PaceWait;
use crate::run::plan::is_judged;
use crate::settings::Settings;
use crate::settings::mode::{Delivery, Mode};
use crate::store::{self, StoreError, TrialFolder};
use crate::trace::exposure::SkillTexts;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Trace, excerpt};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{AgentMeta, Inputs, Meta, digest};
use crate::trial::outcome::{Grade, Verdict};
use crate::trial::sandbox::Sandbox;

/// How often a judge may answer for one vote: an answer that cannot be used is asked for once more.
const ANSWERS: usize = 2;

/// Whether agents take a file or folder of this name for instructions wherever they find it. A judge gets it under another
/// name.
fn is_instruction(name: &OsStr) -> bool {
    let of_agents = |profile: &'static Profile| profile.instructions.iter().copied().chain(profile.folders());
    profile::of_all(of_agents).any(|known| name.eq_ignore_ascii_case(known))
}

/// What a judge is shown.
#[derive(Debug)]
pub struct JudgeExhibit<'a> {
    /// The case. The judge is not shown what it expects.
    pub case: &'a Case,
    /// The skill under test.
    pub skill: &'a FoundSkill,
    /// The facts of the trial.
    pub meta: &'a Meta,
    /// The agent's final message.
    pub final_text: Option<&'a str>,
    /// Where the rest of the evidence is.
    pub folder: &'a TrialFolder,
}

/// Has a graded trial judged, where that is wanted, and adds the judge's answer to its grade. An error is not judged:
/// there is nothing to look at.
pub fn judge(run: &RunContext, live: &LiveRun, exhibit: &JudgeExhibit<'_>, grade: Grade) -> Result<Grade, Trouble> {
    if grade.verdict == Verdict::Error || !is_judged(exhibit.case, &run.settings) {
        return Ok(grade);
    }
    let rubric = match run.rubric() {
        Ok(rubric) => rubric,
        Err(problem) => {
            return Ok(rubric::not_judged(grade, Trouble::new(TroubleKind::NotJudged, problem.to_string())));
        }
    };
    let judgement = Judge { run, live, rubric, exhibit }.judgement();
    // A judge whose answer could not be kept is asked again, once there is room.
    let is_unstored = |trouble: &&Trouble| trouble.kind == TroubleKind::NotStored;
    let mut attempts = judgement.votes.iter().flat_map(|vote| &vote.attempts);
    if let Some(trouble) = attempts.find_map(|attempt| attempt.trouble.as_ref().filter(is_unstored)) {
        return Err(trouble.clone());
    }
    exhibit.folder.write_judgement(&judgement).map_err(|error| unstored(&error))?;
    Ok(rubric::join(grade, &judgement))
}

/// Adds the stored answer of a judge to the grade of a stored trial, if it was given about the same evidence. It counts
/// wherever there is one, unless no judge is wanted at all: it was asked for when the trial ran.
pub fn rejoin(run: &RunContext, exhibit: &JudgeExhibit<'_>, grade: Grade) -> Result<Grade, StoreError> {
    if grade.verdict == Verdict::Error || run.settings.judge.wanted == Some(false) {
        return Ok(grade);
    }
    let Some(judgement) = exhibit.folder.judgement()? else {
        let missing = is_judged(exhibit.case, &run.settings);
        return Ok(if missing { rubric::not_recorded(grade) } else { grade });
    };
    let rubric = match run.rubric() {
        Ok(rubric) => rubric,
        Err(problem) => return Ok(rubric::stale(grade, &[problem.to_string()])),
    };
    let io = |source| StoreError::from(PathError { path: exhibit.folder.path().to_path_buf(), source });
    let mut changed = judgement.inputs.differences(&inputs(rubric, exhibit).map_err(io)?);
    // Of an answer that another runner got only what it was about is known.
    changed.retain(|part| exhibit.meta.imported.is_none() || judgement.inputs.0.contains_key(part));
    if changed.is_empty() { Ok(rubric::join(grade, &judgement)) } else { Ok(rubric::stale(grade, &changed)) }
}

/// Keeps what a judge said whom another runner asked, or why that is not known. From then on it is held against the
/// evidence alone: its question is nowhere.
pub(super) fn keep_imported(
    run: &RunContext,
    exhibit: &JudgeExhibit<'_>,
    said: Result<&str, &str>,
) -> Result<(), String> {
    let rubric = run.rubric().map_err(ToString::to_string)?;
    let answer = said.map_err(str::to_owned).and_then(|text| rubric.answer(Some(text)));
    let attempt = Attempt {
        unusable: answer.as_ref().err().cloned(),
        said: said.ok().filter(|_| answer.is_err()).map(excerpt),
        ..Attempt::default()
    };
    let mut inputs = inputs(rubric, exhibit).map_err(|error| error.to_string())?;
    inputs.0.retain(|part, _| part == rubric::EVIDENCE);
    let agent = AgentMeta { kind: exhibit.meta.agent.kind, version: None, model: None };
    let vote = Vote { answer: answer.ok(), attempts: vec![attempt] };
    let judgement = Judgement::new(agent, None, String::new(), inputs, vec![vote]);
    exhibit.folder.write_judgement(&judgement).map_err(|error| error.to_string())
}

/// The judge's prompt for an exhibit: the same for a run and for a recording of it.
fn prompt(rubric: &Rubric, exhibit: &JudgeExhibit<'_>) -> String {
    let plain = |text: &str| String::from_utf8_lossy(&without_rooms(text.as_bytes())).into_owned();
    let final_message = exhibit.final_text.map(plain);
    let skill = exhibit.skill.skill();
    rubric.prompt(&JudgeSubject {
        skill_name: &skill.name,
        skill_description: &skill.description,
        case_id: &exhibit.case.id,
        should_trigger: exhibit.case.should_trigger,
        prompt: &exhibit.case.prompt,
        system_prompt: exhibit.case.system_prompt.as_deref(),
        final_message: final_message.as_deref(),
    })
}

/// What the judge was asked for this stored answer; `None` where it would be asked something else today.
pub(super) fn question(run: &RunContext, exhibit: &JudgeExhibit<'_>, judgement: &Judgement) -> Option<String> {
    let prompt = prompt(run.rubric().ok()?, exhibit);
    (judgement.inputs.0.get(JUDGES_PROMPT) == Some(&digest(prompt.as_bytes()))).then_some(prompt)
}

/// What is judged and by what, digested.
fn inputs(rubric: &Rubric, exhibit: &JudgeExhibit<'_>) -> io::Result<Inputs> {
    let ending = &exhibit.meta.ending;
    let streams: Vec<(&str, String)> =
        evidence(exhibit)?.into_iter().map(|(name, content)| (name, digest(&content))).collect();
    // The files themselves are not in a recording; their list is.
    let seen = json!({
        "streams": streams,
        "exit_code": ending.exit_code,
        "timed_out": ending.timed_out,
        "files": exhibit.meta.files,
    });
    let prompt = prompt(rubric, exhibit);
    Ok(rubric.inputs(&prompt, &exhibit.skill.bytes, seen.to_string().as_bytes()))
}

/// The agent's streams as a recording keeps them.
fn evidence(exhibit: &JudgeExhibit<'_>) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let meta = exhibit.meta;
    let files = agent::of(meta.agent.kind).recorded_evidence(exhibit.folder.path(), &[&meta.skill.slug])?;
    Ok(files.into_iter().map(|(name, content)| (name, without_rooms(&content).into_owned())).collect())
}

struct Judge<'a> {
    run: &'a RunContext,
    live: &'a LiveRun,
    rubric: &'a Rubric,
    exhibit: &'a JudgeExhibit<'a>,
}

/// The result of asking once.
struct JudgeAttempt {
    attempt: Attempt,
    answer: Option<JudgeAnswer>,
    /// The judge's own stream, where there is one.
    trace: Option<Trace>,
}

impl Judge<'_> {
    fn judgement(&self) -> Judgement {
        let settings = &self.run.settings.judge;
        let started = jiff::Timestamp::now().to_string();
        let mut agent = AgentMeta { kind: settings.agent, version: None, model: settings.model.clone() };
        let votes = (1..=settings.votes).map(|number| self.vote(number, &mut agent)).collect();
        // Where the evidence cannot be read, the attempts say so.
        let inputs = inputs(self.rubric, self.exhibit).unwrap_or_default();
        Judgement::new(agent, self.run.settings.scripted.clone(), started, inputs, votes)
    }

    /// Asks for a vote until there is an answer that can be used, or no use in asking: once more after an answer that
    /// cannot, and as often as a trial where the provider refuses for now.
    fn vote(&self, number: u32, agent: &mut AgentMeta) -> Vote {
        let mut vote = Vote::default();
        let (mut answers, mut refusals) = (0, 0);
        while answers < ANSWERS && vote.answer.is_none() {
            let Some(permit) = self.run.pace.enter(LoginSources::new(&self.run.settings, agent.kind, None).account())
            else {
                let trouble = Trouble::new(TroubleKind::Interrupted, "before the judge was asked");
                vote.attempts.push(Attempt { trouble: Some(trouble), ..Attempt::default() });
                break;
            };
            if refusals > 0 && self.run.no_more().is_some() {
                break;
            }
            let asked = self.ask(number, vote.attempts.len() + 1);
            if let Some(trace) = asked.trace {
                agent.version = trace.agent_version.or(agent.version.take());
                agent.model = trace.model.or(agent.model.take());
            }
            vote.answer = asked.answer;
            let trouble = asked.attempt.trouble.clone();
            vote.attempts.push(asked.attempt);
            match trouble {
                None => {
                    permit.through();
                    answers += 1;
                }
                Some(trouble) if trouble.kind == TroubleKind::RateLimit => {
                    refusals += 1;
                    let wait_s = trouble.retry_after_s.map(Duration::from_secs);
                    let Some(wait) = permit.refused_again(refusals, &self.run.settings, wait_s) else { break };
                    let (PaceWait { pause, at_most }, why) = (wait, format!("the judge: {}", trouble.detail));
                    let (id, of) = (self.exhibit.meta.id(), self.run.settings.retries.saturating_add(1));
                    self.run.tell(&RunEvent::Waits { id, why, attempt: refusals, of, pause, at_most });
                }
                Some(_) => break,
            }
        }
        vote
    }

    /// Asks once, and stores the answer.
    fn ask(&self, vote: u32, attempt: usize) -> JudgeAttempt {
        let folder = self.exhibit.folder.judging(vote, attempt);
        self.session(&folder).unwrap_or_else(|trouble| JudgeAttempt {
            attempt: Attempt { trouble: Some(trouble), ..Attempt::default() },
            answer: None,
            trace: None,
        })
    }

    fn session(&self, folder: &TrialFolder) -> Result<JudgeAttempt, Trouble> {
        folder.clear().map_err(|error| unstored(&error))?;
        let room = self.live.scratch.room("judge").map_err(|error| disk(&error))?;
        copy_evidence(self.exhibit, &room).map_err(|error| disk(&error))?;
        let schema = room.path().join("schema.json");
        fs::write(&schema, self.rubric.schema()).map_err(|error| disk(&error))?;
        let judge = &self.run.settings.judge;
        let mode = Mode::new("judge", judge.agent, Delivery::None);
        // The model under test does not judge itself unless the settings say so, and what limits it does not limit a judge.
        let settings = Settings { model: judge.model.clone(), max_turns: None, ..self.run.settings.clone() };
        let case = self.case();
        let assignment = Assignment {
            root: &self.run.root,
            case: &case,
            mode: &mode,
            settings: &settings,
            room: &room,
            server: None,
            schema: Some(schema),
        };
        let ran =
            agent_run::run(&assignment, judge.timeout, folder, &self.live.redactors, SkillTexts::default(), &|_| ())?;
        let mut attempt = Attempt { duration_ms: ran.ending.duration_ms, usage: ran.trace.usage, ..Attempt::default() };
        let seconds = judge.timeout.as_secs();
        let timed_out = || Trouble::new(TroubleKind::NoAnswer, format!("no answer within {seconds} s"));
        attempt.trouble = session_trouble(&ran.ending, &ran.trace, seconds)
            .or_else(|| (ran.ending.timed_out && !ran.trace.ended()).then(timed_out));
        let mut answer = None;
        if attempt.trouble.is_none() {
            let text = ran.final_text.as_deref();
            match self.rubric.answer(text) {
                Ok(usable) => answer = Some(usable),
                Err(why) => {
                    attempt.unusable = Some(why);
                    attempt.said = text.map(excerpt);
                }
            }
        }
        Ok(JudgeAttempt { attempt, answer, trace: Some(ran.trace) })
    }

    /// Judging is a case of its own: read-only, and only the form of its answer is checked.
    fn case(&self) -> Case {
        Case {
            id: self.exhibit.case.id.clone(),
            skill: self.exhibit.case.skill.clone(),
            origin: self.exhibit.case.origin.clone(),
            prompt: prompt(self.rubric, self.exhibit),
            sandbox: Sandbox::ReadOnly,
            timeout: Some(self.run.settings.judge.timeout),
            ..Case::default()
        }
    }
}

/// Copies the evidence into the judge's working folder.
fn copy_evidence(exhibit: &JudgeExhibit<'_>, room: &TrialEnv) -> io::Result<()> {
    let to = room.workspace();
    for (name, content) in evidence(exhibit)? {
        fs::write(to.join(name), content)?;
    }
    if let Some(text) = exhibit.final_text {
        fs::write(to.join("final.txt"), text)?;
    }
    fs::write(to.join(store::META), serde_json::to_vec_pretty(&exhibit.meta.for_a_judge())?)?;
    fs::write(to.join("skill.md"), &exhibit.skill.bytes)?;
    let workspace = exhibit.folder.workspace();
    let name = Path::new(workspace.file_name().unwrap_or_default());
    let mut copied = Ok(());
    let walked = below::walk(exhibit.folder.path(), name, |_| false, &mut |entry| {
        copied = copy(entry, &to.join(name).join(harmless(entry.path)));
        if copied.is_ok() { WalkControl::On } else { WalkControl::Stop }
    });
    match walked {
        // Of an agent that wrote nothing there is no folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => copied,
    }
}

fn copy(entry: &WalkedFile<'_>, to: &Path) -> io::Result<()> {
    let content = bounded::read_file(entry.open()?, bounded::MAX_FILE)?;
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(to, content)
}

/// A path without the names that agents take for instructions.
fn harmless(path: &Path) -> PathBuf {
    let part = |name: &OsStr| {
        let mut safe = OsString::from(if is_instruction(name) { "evidence-" } else { "" });
        safe.push(name);
        safe
    };
    path.iter().map(part).collect()
}
