//! Imports the run of another runner as a stored run: its evidence, graded by today's checks, with its source and the list
//! of unknown facts.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agent::trial_env::capture::{masked, wanted};
use crate::cases::case::Case;
use crate::cases::case_parts::start_files;
use crate::cases::catalog::FoundSkill;
use crate::files::bounded;
use crate::files::inside::{WalkControl, WalkedFile};
use crate::files::material::Material;
use crate::files::rooted::RootedPath;
use crate::profile::{self, Profile};
use crate::report::session;
use crate::results::graded_trial;
use crate::run::live::Redactors;
use crate::run::live_trial::case_meta;
use crate::run::planned::PlannedRun;
use crate::run::regrade::TrialReview;
use crate::run::stored_trial::StoredTrial;
use crate::run::{agent_run, judge, regrade};
use crate::settings::TestSelection;
use crate::settings::mode::{AgentKind, Delivery};
use crate::skill::slug;
use crate::store::pkbllm::{PkbllmRun, PkbllmTrial};
use crate::store::{RunFolder, TrialFolder};
use crate::text::name::{check_case_id, check_id};
use crate::text::problem::{About, Problem};
use crate::text::redact::Redactor;
use crate::trial::evidence::{AgentMeta, CaseMeta, Ending, Imported, Inputs, MAX_FILES, Meta, SkillMeta};
use crate::trial::id::TrialId;
use crate::trial::run_record::{ProgressLine, RUN_FORMAT, RunChoices, RunEnd, RunEndKind, RunRecord, TrialRecord};
use crate::trial::workspace_file::WorkspaceFile;

/// The name of the only known runner.
pub const PKBLLM: &str = "pkbllm";

/// The only agent of pkbllm.
const AGENT: &Profile = profile::DEFAULT;

/// The mode of its trials.
const MODE: &str = profile::DEFAULT_MODE;

/// The file with an agent's events, in both runners.
const TRACE: &str = "trace.jsonl";

/// Maximum size of a stored workspace file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Maximum size of a stored workspace, in bytes.
const MAX_WORKSPACE: u64 = 32 << 20;

#[derive(Debug)]
pub struct ImportedRun {
    pub run: RunFolder,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// Imports and grades the pkbllm run in the directory `from`, as the run `id` or one named after the directory. A run that
/// was imported from this directory before is returned unchanged. An error names the file, and the line if known.
pub fn pkbllm(run: &PlannedRun, from: &Path, id: Option<&str>) -> Result<ImportedRun, Problem> {
    let old = PkbllmRun::read(from)?;
    let source = from.canonicalize().about(from.display())?;
    let name = source.file_name().map(|name| slug(&name.to_string_lossy())).unwrap_or_default();
    let id = id.map_or_else(|| format!("{PKBLLM}-{name}"), str::to_owned);
    if let Ok(existing) = RunFolder::open(&run.root, &id) {
        let record = existing.run_record().ok().flatten();
        if record.and_then(|record| record.imported).is_some_and(|imported| imported.folder == source) {
            return Ok(ImportedRun { run: existing, notes: Vec::new() });
        }
    }
    let folder = RunFolder::create(&run.root, Some(&id))?;
    let import = Importer { run, old: &old, source, folder: &folder, redactors: Redactors::new(&run.settings) };
    let notes = import.import().inspect_err(|_| {
        // Half a run would count as one.
        let _ = folder.remove();
    })?;
    Ok(ImportedRun { run: folder, notes })
}

struct Importer<'a> {
    run: &'a PlannedRun,
    old: &'a PkbllmRun,
    /// The directory of the old run, as the new run records it.
    source: PathBuf,
    folder: &'a RunFolder,
    redactors: Redactors,
}

impl Importer<'_> {
    fn import(&self) -> Result<Vec<String>, Problem> {
        let cut_short = self.old.cut_short.iter();
        let mut notes: Vec<String> =
            cut_short.map(|trial| format!("{}: cut short, without a grade; left out", trial.display())).collect();
        self.skills(&mut notes)?;
        let (mut ids, mut lines) = (Vec::new(), Vec::new());
        for trial in &self.old.trials {
            match self.trial(trial)? {
                Ok(record) => {
                    ids.push(record.id.clone().into());
                    lines.push(ProgressLine::Ended(Box::new(record)));
                }
                Err(why) => notes.push(format!("{}: {why}; left out", trial.folder.display())),
            }
        }
        if lines.is_empty() {
            notes.insert(0, format!("{}: it holds no case that can be graded", self.source.display()));
            return Err(notes.join("\n").into());
        }
        let planned = self.folder.add_to_plan(ids.into_iter())?;
        self.folder.write_progress(&lines)?;
        self.folder.write_run(&self.record(planned))?;
        Ok(notes)
    }

    fn record(&self, planned: usize) -> RunRecord {
        let times = || self.old.trials.iter().filter_map(|trial| trial.ended.clone());
        let created = self.old.began().or_else(|| times().min()).unwrap_or_default();
        let at = times().max().unwrap_or_else(|| created.clone());
        let suite = self.old.trials.iter().find_map(|trial| trial.suite.clone());
        RunRecord {
            format: RUN_FORMAT,
            id: self.folder.id().to_owned(),
            created,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shared_by: None,
            planned,
            grows: false,
            chosen: RunChoices {
                selection: TestSelection { suite, ..TestSelection::default() },
                modes: vec![MODE.to_owned()],
                ..RunChoices::default()
            },
            sides: None,
            contents: None,
            all_cases: None,
            merged: Vec::new(),
            absent: Vec::new(),
            variants: None,
            imported: Some(self.imported(Vec::new())),
            ended: Some(RunEnd { at, how: RunEndKind::Finished, why: None }),
        }
    }

    fn imported(&self, unknown: Vec<String>) -> Imported {
        Imported { runner: PKBLLM.to_owned(), folder: self.source.clone(), unknown }
    }

    /// Copies the skills that its agents got, if they were stored.
    fn skills(&self, notes: &mut Vec<String>) -> Result<(), Problem> {
        let Some(skills) = self.old.skills()? else {
            notes.push("its copy of the skills was not kept: evidence is read against those of today".to_owned());
            return Ok(());
        };
        let to = self.folder.snapshot(None);
        fs::create_dir(&to)?;
        let material = Material::list(&skills);
        notes.extend(material.problems.iter().map(|problem| format!("{}: {problem}; left out", skills.display())));
        material.copy(&RootedPath::open(&to)?, |executable| if executable { 0o555 } else { 0o444 })?;
        Ok(())
    }

    /// Stores a trial and grades it. The inner error says why it can no longer be graded.
    fn trial(&self, trial: &PkbllmTrial) -> Result<Result<TrialRecord, String>, Problem> {
        let id = TrialId { skill: trial.slug.clone(), case: trial.case.clone(), mode: MODE.to_owned(), number: 1 };
        if let Err(why) = check_id(&id.skill).map_err(str::to_owned).and_then(|()| check_case_id(&id.case)) {
            return Ok(Err(format!("a name that cannot be one here {why}")));
        }
        let found = self.run.catalog.cases.iter().find(|found| *found.skill == *id.skill && found.id == id.case);
        let (Some(Ok(case)), Some(skill)) = (found.map(|found| found.case()), self.run.catalog.skill(&id.skill)) else {
            return Ok(Err(regrade::case_is_gone(&id.skill, &id.case)));
        };
        // An answer to another prompt proves nothing.
        let says_more = !case.history.is_empty() || case.has_more_messages();
        let asks_more = case.system_prompt.is_some() || says_more || !case.setup.is_empty();
        if trial.prompt.trim() != case.prompt.trim() || asks_more {
            return Ok(Err(format!("the prompt of `{}/{}` has changed since", id.skill, id.case)));
        }
        let folder = self.folder.trial(&id);
        folder.clear()?;
        let meta = self.evidence(trial, case, &folder)?;
        folder.write_meta(&meta)?;
        self.grade(trial, case, skill, &folder, &meta).map(Ok)
    }

    /// Copies what the agent left, and returns the known facts.
    fn evidence(&self, trial: &PkbllmTrial, case: &Case, folder: &TrialFolder) -> Result<Meta, Problem> {
        let redactor = self.redactors.masking(self.old.secrets(trial));
        let mut thread = String::new();
        for name in [TRACE, "stderr.txt", "final.txt"] {
            let Some(content) = self.old.bytes(trial, name)? else { continue };
            if name == TRACE {
                thread = thread_of(&content);
            }
            folder.write(name, &redactor.mask(&content))?;
        }
        let mut unknown = always_unknown();
        match self.old.session(trial, &thread) {
            Some(session) => folder.write(AGENT.session, &redactor.mask(&session))?,
            None => unknown
                .push(format!("which skills were offered, and what {} put before the model by itself", AGENT.name)),
        }
        let (files, is_complete) = self.workspace(trial, case, folder, &redactor)?;
        let mut inputs = Inputs::default();
        // The old prompt, except for white space around it.
        inputs.add("prompt", case.prompt.as_bytes());
        let skill = SkillMeta { name: trial.skill.clone(), slug: trial.slug.clone(), ..SkillMeta::default() };
        let agent = AgentMeta { kind: AgentKind::default(), version: None, model: None, requested: None };
        let case = CaseMeta {
            id: trial.case.clone(),
            source: None,
            should_trigger: Some(trial.should_trigger),
            system_prompt: None,
            // As in the case today.
            ..case_meta(case, case.timeout.unwrap_or(self.run.settings.timeout), None)
        };
        let ending = Ending {
            exit_code: trial.exit_code,
            timed_out: trial.timed_out,
            duration_ms: trial.duration_ms,
            ..Ending::default()
        };
        Ok(Meta {
            run_id: self.folder.id().to_owned(),
            mode: MODE.to_owned(),
            suite: trial.suite.clone(),
            imported: Some(self.imported(unknown)),
            ending,
            inputs,
            files,
            files_truncated: !is_complete,
            ..Meta::new(skill, case, agent, Delivery::Native)
        })
    }

    /// Lists the files of the workspace, and stores those that differ from the fixture. Also returns whether the list is
    /// complete.
    fn workspace(
        &self,
        trial: &PkbllmTrial,
        case: &Case,
        folder: &TrialFolder,
        redactor: &Redactor,
    ) -> Result<(Vec<WorkspaceFile>, bool), Problem> {
        let start = start_files(&self.run.root, case);
        let before = |path: &Path| start.as_ref()?.read(path, MAX_FILE).ok();
        let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
        let (mut files, mut left, mut written) = (Vec::new(), MAX_WORKSPACE, Ok(()));
        let is_complete = self.old.workspace(trial, &mut |file: &WalkedFile<'_>| {
            if files.len() == MAX_FILES {
                return WalkControl::Stop;
            }
            let content = file.open().and_then(|file| bounded::read_file(file, MAX_FILE.min(left))).ok();
            let before = before(file.path);
            let changed = before.is_none() || content != before;
            let path = masked(file.path, &mask);
            if let Some(content) = content.filter(|_| changed) {
                left -= content.len() as u64;
                written = folder.write(&Path::new("workspace").join(&path).to_string_lossy(), &mask(&content));
            }
            files.push(WorkspaceFile::new(path, file.size, changed));
            if written.is_err() { WalkControl::Stop } else { WalkControl::On }
        });
        written?;
        let changed = |path: &Path, file: io::Result<File>| {
            let before = before(path);
            PkbllmRun::is_workspace(path)
                .then(|| before.is_none() || file.and_then(|file| bounded::read_file(file, MAX_FILE)).ok() != before)
        };
        let workspace = RootedPath::open(&self.old.folder)?.join(&trial.folder);
        for path in case.required_files() {
            if !files.iter().any(|file| file.path.starts_with(path)) {
                files.extend(wanted(&workspace, path, &changed));
            }
        }
        Ok((files, is_complete))
    }

    fn grade(
        &self,
        trial: &PkbllmTrial,
        case: &Case,
        skill: &FoundSkill,
        folder: &TrialFolder,
        meta: &Meta,
    ) -> Result<TrialRecord, Problem> {
        let run = self.run;
        let mut stored = StoredTrial::read(run, folder)?;
        stored.final_text = agent_run::store_final_text(folder, &stored.trace)?;
        if let Some(answer) = &trial.judged {
            let trial_evidence = stored.trial_evidence(case, skill, folder);
            judge::store_imported(run, &trial_evidence, answer.as_deref().map_err(String::as_str))?;
        }
        let (_, grade) = regrade::regrade(run, case, skill, folder, &|_| ())?;
        folder.write_grade(&grade)?;
        let review = TrialReview::of(run, folder)?;
        folder.write_session(&session::session(meta, &grade, &review.timeline()))?;
        let id = meta.id();
        let outcome = graded_trial::outcome(id, grade, meta, folder, &run.settings.prices);
        Ok(TrialRecord { ended: trial.ended.clone(), ..TrialRecord::new(&outcome, 1) })
    }
}

/// The facts that pkbllm stores of no trial.
fn always_unknown() -> Vec<String> {
    let version = format!("{}'s version", AGENT.name);
    let facts = ["when the agent began", &version, "the model", "the sandbox", "the time limit"];
    facts.into_iter().chain(["what kept the agent to its directories"]).map(str::to_owned).collect()
}

/// The id of the thread that a trace begins with.
fn thread_of(trace: &[u8]) -> String {
    let events = trace.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let started = events.take(20).find(|event| event["type"] == "thread.started");
    started.and_then(|event| Some(event["thread_id"].as_str()?.to_owned())).unwrap_or_default()
}
