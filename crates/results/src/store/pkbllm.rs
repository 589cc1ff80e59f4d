//! Reads runs of pkbllm's runner `run_skill_evals.py`: `work/<skill>/<case>/` is the agent's working directory with the evidence
//! in it.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{FINAL, GRADE, JUDGMENT, META, RUN, SNAPSHOT, StoreError, WORK, sub_folders};
use crate::files::bounded;
use crate::files::inside::{self, WalkControl};
use crate::files::look;
use crate::profile::{self, Profile};
use crate::text::problem::{About, Problem};
use crate::text::redact::strings;

/// The largest stream that is read, in bytes.
const MAX_STREAM: u64 = 512 << 20;

/// The file that the runner writes if its judge gave no readable answer.
const NORMALIZED: &str = "judge.normalized.json";

/// Entries of a case's directory that are not part of its workspace: evidence, the skills, the agent's home.
const NOT_WORKSPACE: [&str; 9] =
    ["trace.jsonl", "stderr.txt", FINAL, META, GRADE, JUDGMENT, NORMALIZED, AGENT.home, ".eval_home"];

/// The agent that the runner starts.
const AGENT: &Profile = profile::DEFAULT;

/// The exit status of an agent that the runner ended.
const TIMED_OUT: i32 = 124;

#[derive(Debug)]
pub struct PkbllmRun {
    pub folder: PathBuf,
    /// Its cases that have a grade.
    pub trials: Vec<PkbllmTrial>,
    /// The directories of cases without a grade: they were cut short.
    pub cut_short: Vec<PathBuf>,
}

/// A case of such a run.
#[derive(Debug)]
pub struct PkbllmTrial {
    /// Its directory, relative to the run's.
    pub folder: PathBuf,
    /// The skill's name.
    pub skill: String,
    /// The skill's slug.
    pub slug: String,
    /// The case's id.
    pub case: String,
    pub should_trigger: bool,
    /// What the agent was asked.
    pub prompt: String,
    /// The suite that was chosen.
    pub suite: Option<String>,
    /// The agent's exit status; `None` if the runner ended it.
    pub exit_code: Option<i32>,
    /// Whether the runner ended it at its timeout.
    pub timed_out: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// When the case ended, by the progress file.
    pub ended: Option<String>,
    /// The answer of its judge as stored, if there was one.
    pub judged: Option<Result<String, String>>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PkbllmMeta {
    skill: PkbllmSkill,
    case: PkbllmCase,
    #[serde(default)]
    suite: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PkbllmSkill {
    name: String,
    slug: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PkbllmCase {
    id: String,
    should_trigger: bool,
    prompt: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PkbllmGrade {
    deterministic: PkbllmChecks,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PkbllmChecks {
    exit_code: i32,
    duration_s: f64,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct PkbllmProgressLine {
    ts: String,
    skill_slug: String,
    case_id: String,
}

impl PkbllmRun {
    /// Reads the run in `folder`. An error names the file, and the line if known.
    pub fn read(folder: &Path) -> Result<Self, Problem> {
        if !look::is_directory(&folder.join(WORK))? {
            return Err(format!(
                "{}: no directory `{WORK}`, as in `artifacts/skill-evals/<run-id>` of pkbllm's runner",
                folder.display()
            )
            .into());
        }
        let ended = ended(folder)?;
        let mut run = Self { folder: folder.to_path_buf(), trials: Vec::new(), cut_short: Vec::new() };
        for skill in sub_folders(&folder.join(WORK))? {
            for case in sub_folders(&folder.join(WORK).join(&skill))? {
                let at: PathBuf = [WORK, &skill, &case].iter().collect();
                match run.trial(&at, &ended)? {
                    Some(trial) => run.trials.push(trial),
                    None => run.cut_short.push(at),
                }
            }
        }
        if run.trials.is_empty() {
            return Err(format!("{}: no case below `{WORK}` has a {GRADE}", folder.display()).into());
        }
        Ok(run)
    }

    /// When it started, if its id is the time, as the runner makes it.
    pub fn began(&self) -> Option<String> {
        let time = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", self.folder.file_name()?.to_str()?).ok()?;
        Some(jiff::tz::TimeZone::UTC.to_timestamp(time).ok()?.to_string())
    }

    fn trial(&self, at: &Path, ended: &[PkbllmProgressLine]) -> Result<Option<PkbllmTrial>, Problem> {
        let Some(graded) = self.json::<PkbllmGrade>(&at.join(GRADE))? else { return Ok(None) };
        let facts: PkbllmMeta = self
            .json(&at.join(META))?
            .ok_or_else(|| format!("{}: it is not there", self.folder.join(at).join(META).display()))?;
        let PkbllmChecks { exit_code, duration_s } = graded.deterministic;
        let timed_out = exit_code == TIMED_OUT;
        let mut progress = ended.iter().rev();
        let end = progress.find(|line| line.skill_slug == facts.skill.slug && line.case_id == facts.case.id);
        let answer = self.text(&at.join(JUDGMENT))?.map(Ok);
        Ok(Some(PkbllmTrial {
            folder: at.to_path_buf(),
            ended: end.map(|line| line.ts.clone()),
            skill: facts.skill.name,
            slug: facts.skill.slug,
            case: facts.case.id,
            should_trigger: facts.case.should_trigger,
            prompt: facts.case.prompt,
            suite: facts.suite,
            exit_code: Some(exit_code).filter(|_| !timed_out),
            timed_out,
            duration_ms: std::time::Duration::try_from_secs_f64(duration_s)
                .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            judged: match self.text(&at.join(NORMALIZED))? {
                Some(_) => answer.or_else(|| Some(Err("is not there".into()))),
                None => answer,
            },
        }))
    }

    /// A stream or another file in a case's directory, if it exists.
    pub fn bytes(&self, trial: &PkbllmTrial, name: &str) -> Result<Option<Vec<u8>>, Problem> {
        read(&self.folder, &trial.folder.join(name))
    }

    /// The session file of the agent for the trace's thread, if its home was stored.
    pub fn session(&self, trial: &PkbllmTrial, thread: &str) -> Option<Vec<u8>> {
        let mut found = None;
        let sessions = trial.folder.join(".eval_home").join(AGENT.home).join(AGENT.sessions);
        let _ = inside::walk_beneath(&self.folder, &sessions, |_| false, &mut |entry| {
            let name = entry.path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            if thread.is_empty() || !name.starts_with("rollout-") || !name.contains(thread) {
                return WalkControl::On;
            }
            found = entry.open().and_then(|file| bounded::read_file(file, MAX_STREAM)).ok();
            WalkControl::Stop
        });
        found
    }

    /// The keys and tokens of the credentials in the agent's home, which must be masked.
    pub fn secrets(&self, trial: &PkbllmTrial) -> Vec<String> {
        let login = trial.folder.join(".eval_home").join(AGENT.home).join(AGENT.credentials);
        let login = read(&self.folder, &login);
        let login: Value = serde_json::from_slice(&login.ok().flatten().unwrap_or_default()).unwrap_or_default();
        strings(&login)
    }

    /// Calls `take` with every file of a case's workspace. Returns whether it saw all files.
    pub fn workspace(&self, trial: &PkbllmTrial, take: &mut dyn FnMut(&inside::WalkedFile<'_>) -> WalkControl) -> bool {
        let walked = inside::walk_beneath(&self.folder, &trial.folder, |name| name == ".git", &mut |entry| {
            if Self::is_workspace(entry.path) { take(entry) } else { WalkControl::On }
        });
        walked.unwrap_or(false)
    }

    /// Whether this path in a case's directory is part of its workspace.
    pub fn is_workspace(path: &Path) -> bool {
        path.iter().next().is_none_or(|first| NOT_WORKSPACE.iter().all(|name| first != *name))
    }

    /// The skills that its agents got, if stored.
    pub fn skills(&self) -> Result<Option<PathBuf>, Problem> {
        let skills = self.folder.join(SNAPSHOT);
        Ok(look::is_directory(&skills)?.then_some(skills))
    }

    fn text(&self, path: &Path) -> Result<Option<String>, Problem> {
        Ok(read(&self.folder, path)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn json<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, Problem> {
        let Some(bytes) = read(&self.folder, path)? else { return Ok(None) };
        parse(&self.folder.join(path), 0, &bytes).map(Some)
    }
}

/// Whether the directory is a run of pkbllm's runner: its cases have their facts where ours have modes.
pub(super) fn is_one(folder: &Path) -> Result<bool, StoreError> {
    let work = folder.join(WORK);
    if look::exists(&folder.join(RUN))? {
        return Ok(false);
    }
    for skill in sub_folders(&work)? {
        let skill = work.join(skill);
        for case in sub_folders(&skill)? {
            if look::is_file(&skill.join(case).join(META))? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// When cases ended, by the progress file, which is optional.
fn ended(folder: &Path) -> Result<Vec<PkbllmProgressLine>, Problem> {
    let name = "progress.jsonl";
    let text = read(folder, Path::new(name))?.unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    lines.map(|(before, line)| parse(&folder.join(name), before, line)).collect()
}

/// Parses JSON that follows this many lines of its file.
fn parse<T: DeserializeOwned>(path: &Path, before: usize, bytes: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes).map_err(|error| {
        // serde_json adds its own place, counted from the start of the JSON.
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or_default().to_owned();
        format!("{}:{}:{}: {what}", path.display(), before + error.line().max(1), error.column()).into()
    })
}

fn read(folder: &Path, path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    match inside::read_beneath(folder, path, MAX_STREAM) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).about(folder.join(path).display()),
    }
}
