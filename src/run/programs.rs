//! Runs the programs that answer checks: after the agent, each in a copy of the workspace of its own, in the sandbox that agents
//! have. They read a trial as it is stored, so that a replay reaches the verdict of the live trial.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::agent::command;
use crate::agent::isolation::{self, SandboxedProgram};
use crate::agent::trial_env::TrialEnv;
use crate::cases::case_parts::files_part;
use crate::cases::case_parts::start_files;
use crate::cases::case_parts::{self, readable};
use crate::checks::grading_input::Unknown;
use crate::checks::grading_input::{ProgramEnding, ProgramRun, ProgramRuns, WorkspaceProgram};
use crate::files::material::Material;
use crate::files::rooted::{RootedPath, WalkedFile};
use crate::files::{bounded, inside};
use crate::process::{self, Job, OutputListener, Reply};
use crate::run::planned::PlannedRun;
use crate::run::stored_trial::TrialEvidence;
use crate::settings::Settings;
use crate::store;
use crate::text::cut;
use crate::text::problem::{About, Problem};
use crate::text::redact::{Masker, Redactor};
use crate::trace::AgentProgress;
use crate::trace::file::TraceFile;
use crate::trace::trouble::TroubleKind;
use crate::trial::evidence::Ending;

/// The runs of the programs of a case about a trial, and what was not enforced, in words.
#[derive(Debug, Default)]
pub struct CaseProgramRuns {
    pub runs: ProgramRuns,
    pub not_enforced: Vec<String>,
}

/// Runs the programs that answer the checks of a case about a stored trial. Fails if the user ended the run meanwhile.
pub fn run_all(run: &PlannedRun, trial_evidence: &TrialEvidence<'_>) -> Result<CaseProgramRuns, Problem> {
    let programs: BTreeSet<&WorkspaceProgram> =
        trial_evidence.case.checks.iter().filter_map(|check| check.program()).collect();
    let (ending, progress) = (&trial_evidence.evidence.meta.ending, trial_evidence.evidence.trace.progress);
    let is_whole = !ending.settled && (ending.trouble.is_none() || progress > AgentProgress::Silent);
    let has_workspace = !trial_evidence.evidence.meta.is_user_session();
    let mut all = CaseProgramRuns::default();
    for program in programs {
        let ending = if !has_workspace {
            Err("the workspace of the session is not known".into())
        } else if is_whole {
            let EndedProgram { ending, not_isolated, .. } = run_in_copy(run, trial_evidence, program)?;
            let not_isolated = not_isolated.map(|why| format!("the check `{program}` is not isolated: {why}"));
            all.not_enforced.extend(not_isolated);
            ending
        } else {
            Err("it did not run".into())
        };
        let (digest, ending) = match case_parts::program_digest(&run.root, program) {
            Ok(digest) => (digest, ending),
            Err(error) => (String::new(), Err(format!("it cannot be read: {error}").into())),
        };
        all.runs.insert(program.clone(), ProgramRun { digest, ending });
    }
    Ok(all)
}

/// Runs a program in a copy of the workspace that a trial left. It can read the trial's evidence and, of the repository, only
/// what belongs to it. Fails if the user ended the run meanwhile.
fn run_in_copy(
    run: &PlannedRun,
    trial_evidence: &TrialEvidence<'_>,
    program: &WorkspaceProgram,
) -> Result<EndedProgram, Problem> {
    let prepared = run.program_runner.open(&run.settings).and_then(|(_, redactors)| {
        let trial_env = run.program_runner.trial_env(&run.settings)?;
        restore(run, trial_evidence, &trial_env)?;
        add_files(&run.root, program, &trial_env.workspace())?;
        let evidence = EvidenceDir::write(trial_evidence, &trial_env)?;
        Ok((trial_env, evidence, redactors))
    });
    let (trial_env, (evidence, input), redactors) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return Ok(EndedProgram::failed(why)),
    };
    let script = program.script().map(|path| {
        inside::place(&run.root, path.as_path())?;
        inside::real(&run.root, readable(path))
    });
    let script = match script.transpose() {
        Ok(script) => script,
        Err(error) => return Ok(EndedProgram::failed(error)),
    };
    let reads: Vec<PathBuf> = script.into_iter().chain([evidence.readable()]).collect();
    let (program, args, own_timeout) = match program {
        WorkspaceProgram::Script(path) => (run.root.join(path.as_path()), Vec::new(), None),
        WorkspaceProgram::Command { line, timeout, .. } => {
            (PathBuf::from("/bin/sh"), vec![OsString::from("-c"), line.into()], *timeout)
        }
    };
    let mut ended = SandboxedRun {
        root: &run.root,
        settings: &run.settings,
        trial_env: &trial_env,
        program: &program,
        args,
        env: evidence.variables(&trial_env),
        reads: &reads,
        input: Some(input),
        timeout: own_timeout.unwrap_or(run.settings.checks.timeout),
        more_time: own_timeout.map_or(
            "`check_timeout_s` in evals/evals.toml gives it more",
            |_| "the timeout of its check gives it more",
        ),
        redactor: &redactors.masking(Vec::new()),
    }
    .run()?;
    // Another run has other paths, and must find the same.
    let workspace = trial_env.workspace().to_string();
    let clean = |text: &str| text.replace(&workspace, ".");
    let clean_why = |why: &str| clean(why).replace(&format!("{}/", run.root.display()), "");
    match &mut ended.ending {
        Ok(ProgramEnding { stdout, stderr, not_started, .. }) => {
            (*stdout, *stderr) = (clean(stdout), clean(stderr));
            *not_started = not_started.as_deref().map(clean_why);
        }
        Err(Unknown(why)) => *why = clean_why(why),
    }
    Ok(ended)
}

// A copy of the workspace that a trial left.

/// The target of links in a copy, which does not exist.
const NOT_FOLLOWED: &str = "/dev/null/links-are-not-followed";

/// How many missing files a message names.
const MAX_NAMED: usize = 3;

/// Copies the case's files that nothing changed, and the stored files that its setup or the agent created or changed. Fails if the
/// copy would not have every file: a program would take a file that was not stored for one that the agent did not write.
fn restore(run: &PlannedRun, trial_evidence: &TrialEvidence<'_>, trial_env: &TrialEnv) -> Result<(), Problem> {
    let meta = trial_evidence.evidence.meta;
    let to = trial_env.workspace();
    copy_start_files(run, trial_evidence, &to)?;
    trial_env.create_directories(&run.settings.create)?;
    let cannot = "the workspace cannot be copied";
    for directory in meta.files.iter().filter(|file| file.is_folder()) {
        to.join(&directory.path).create_dir_all().about(cannot)?;
    }
    trial_evidence.folder.each_workspace_file(|file| copy(file, &to.join(file.path))).about(cannot)?;
    for link in &meta.links {
        copy_link(&to.join(link)).about(cannot)?;
    }
    if meta.files_truncated {
        return Err("the workspace holds more files than are stored".into());
    }
    let missing: Vec<String> = meta
        .files
        .iter()
        .filter(|file| !file.is_folder() && !to.join(&file.path).exists())
        .map(|file| format!("`{}` ({})", file.path.display(), bounded::bytes(file.size)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("the stored workspace lacks {}: too large to be kept", cut::names(&missing, MAX_NAMED)).into())
}

/// Adds the program's own files to a copy of the workspace, except those that are there.
fn add_files(root: &Path, program: &WorkspaceProgram, to: &RootedPath) -> Result<(), Problem> {
    let mut files = case_parts::add_program_content(root, program);
    let is_new = |path: &Path| !to.join(path).exists();
    files.files.retain(|file| is_new(&file.path));
    files.directories.retain(|directory| is_new(directory));
    let files = files.whole().about("a file of the check")?;
    let mode = |executable| if executable { 0o755 } else { 0o644 };
    files.copy(to, mode).map(drop).about("a file of the check")
}

/// The files with which the workspace of a trial started. Fails if they have changed since.
pub(super) fn unchanged_start_files(
    run: &PlannedRun,
    trial_evidence: &TrialEvidence<'_>,
) -> Result<Option<Material>, Problem> {
    let (case, meta) = (trial_evidence.case, trial_evidence.evidence.meta);
    let Some(files) = start_files(&run.root, case) else { return Ok(None) };
    let files = files.whole().about("a file of the case")?;
    let digest = files.digest().about("a file of the case")?;
    if meta.inputs.0.get(files_part(case)) != Some(&digest) {
        return Err("the files of the case have changed since the trial".into());
    }
    Ok(Some(files))
}

/// Copies the case's files that neither its setup nor the agent changed.
fn copy_start_files(run: &PlannedRun, trial_evidence: &TrialEvidence<'_>, to: &RootedPath) -> Result<(), Problem> {
    let meta = trial_evidence.evidence.meta;
    let Some(mut files) = unchanged_start_files(run, trial_evidence)? else { return Ok(()) };
    let unchanged: HashSet<&Path> =
        meta.files.iter().filter(|file| file.is_as_in_repository()).map(|file| file.path.as_path()).collect();
    files.files.retain(|file| unchanged.contains(file.path.as_path()));
    let mode = |executable| if executable { 0o755 } else { 0o644 };
    files.copy(to, mode).map(drop).about("a file of the case")
}

/// Makes a link that leads nowhere: a program sees that it is there, and cannot read or write through it.
fn copy_link(to: &RootedPath) -> io::Result<()> {
    // A file that the case requires is stored as the link's target.
    if to.exists() { Ok(()) } else { Ok(to.link_to(NOT_FOLLOWED)?) }
}

fn copy(file: &WalkedFile<'_>, to: &RootedPath) -> io::Result<()> {
    let from = file.open()?;
    let is_executable = from.metadata()?.permissions().mode() & 0o111 != 0;
    let content = bounded::read_file(from, bounded::MAX_FILE)?;
    Ok(to.replace(&content, if is_executable { 0o755 } else { 0o644 })?)
}

// The evidence of a trial as files for a program.

/// The number of the format of a program's standard input.
const FORMAT: u32 = 1;

/// What a program gets, in a directory of the runner that its sandbox shows.
struct EvidenceDir(PathBuf);

#[derive(Serialize)]
struct ProgramInput<'a> {
    format: u32,
    skill: &'a str,
    case: &'a str,
    mode: &'a str,
    trial: u32,
    workspace: &'a str,
    trace: PathBuf,
    final_text: PathBuf,
    meta: PathBuf,
}

impl EvidenceDir {
    /// Writes the evidence for a program in this trial environment. Returns its standard input too.
    fn write(trial_evidence: &TrialEvidence<'_>, trial_env: &TrialEnv) -> Result<(Self, Vec<u8>), Problem> {
        let evidence = Self(trial_env.control().join("evidence"));
        let input = evidence.fill(trial_evidence, &trial_env.workspace().to_string());
        Ok((evidence, input.about("the evidence cannot be written")?))
    }

    fn fill(&self, trial_evidence: &TrialEvidence<'_>, workspace: &str) -> io::Result<Vec<u8>> {
        let evidence = &trial_evidence.evidence;
        fs::create_dir(&self.0)?;
        let files = [
            (self.trace(), serde_json::to_vec_pretty(&TraceFile::of(evidence.trace))?),
            (self.final_text(), evidence.final_text.unwrap_or_default().as_bytes().to_vec()),
            (self.meta(), serde_json::to_vec_pretty(evidence.meta)?),
        ];
        for (path, content) in files {
            fs::write(path, content)?;
        }
        let id = evidence.meta.id();
        Ok(serde_json::to_vec(&ProgramInput {
            format: FORMAT,
            skill: &id.skill,
            case: &id.case,
            mode: &id.mode,
            trial: id.number,
            workspace,
            trace: self.trace(),
            final_text: self.final_text(),
            meta: self.meta(),
        })?)
    }

    /// The directory that the program can read.
    fn readable(&self) -> PathBuf {
        self.0.clone()
    }

    fn trace(&self) -> PathBuf {
        self.0.join("trace.json")
    }

    fn final_text(&self) -> PathBuf {
        self.0.join("final.txt")
    }

    fn meta(&self) -> PathBuf {
        self.0.join(store::META)
    }

    /// The variables that name the files.
    fn variables(&self, trial_env: &TrialEnv) -> BTreeMap<OsString, OsString> {
        let paths = [
            ("CHECK_WORKSPACE", trial_env.workspace().into()),
            ("CHECK_TRACE", self.trace().into()),
            ("CHECK_FINAL", self.final_text().into()),
            ("CHECK_META", self.meta().into()),
        ];
        paths.map(|(name, path)| (name.into(), path)).into()
    }
}

// A program in the sandbox of a trial environment, until it ends or its time is over.

/// Maximum size of a program's standard output, in bytes.
const MAX_OUTPUT: usize = 1 << 20;

/// How much of the end of its standard error is read, in bytes.
const MAX_ERRORS: u64 = 64 << 10;

/// How much of the end of its output is kept for a message, in characters.
const SHOWN: usize = 1_000;

/// A program to run in the workspace of a trial environment.
pub struct SandboxedRun<'a> {
    /// The repository, which it does not see.
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub trial_env: &'a TrialEnv,
    pub program: &'a Path,
    pub args: Vec<OsString>,
    /// Its variables, besides the search path, the language and the directories of the trial environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Files and directories outside the trial environment that it may read.
    pub reads: &'a [PathBuf],
    /// Its standard input.
    pub input: Option<Vec<u8>>,
    pub timeout: Duration,
    /// What gives it more time.
    pub more_time: &'static str,
    pub redactor: &'a Redactor,
}

#[derive(Debug)]
pub struct EndedProgram {
    /// How it ended, or why it has no result.
    pub ending: Result<ProgramEnding, Unknown>,
    /// Why it was not isolated, if so.
    pub not_isolated: Option<String>,
    /// The last part of its standard error; of its standard output if that is blank.
    pub last_output: String,
}

impl EndedProgram {
    fn failed(why: impl Into<Unknown>) -> Self {
        Self { ending: Err(why.into()), not_isolated: None, last_output: String::new() }
    }
}

impl SandboxedRun<'_> {
    /// Runs it. Fails if the user ended the run meanwhile.
    pub fn run(self) -> Result<EndedProgram, Problem> {
        let mut env = command::common_environment(self.trial_env);
        // Without a sandbox it would write next to the scripts of the repository.
        env.insert("PYTHONDONTWRITEBYTECODE".into(), "1".into());
        env.extend(self.env.clone());
        let interpreter = isolation::interpreter(self.program);
        // The sandbox does not show what shims lead to. The next program of that name on the PATH runs.
        let interpreter = interpreter.filter(|path| !path.parent().is_some_and(|path| path.ends_with("shims")));
        let program = interpreter.as_deref().unwrap_or(Path::new("/bin/sh"));
        let Self { root, settings, trial_env, reads, .. } = self;
        let sandboxed = SandboxedProgram { program, env: &env, reads, server: None, root, trial_env, settings };
        let (place, not_isolated) = match sandboxed.place() {
            Ok(placed) => placed,
            Err(trouble) => return Ok(EndedProgram::failed(trouble.detail)),
        };
        let job = Job {
            start: place.start(self.program, self.args),
            env,
            folder: self.trial_env.start_directory(),
            timeout: self.timeout,
            cpu_wait: None,
            // The collector has it.
            stdout: PathBuf::from("/dev/null"),
            appends: false,
            by_file: None,
            input: self.input,
            stderr: self.trial_env.control().join("stderr"),
            redactor: self.redactor,
            works_on: false,
            settled: None,
        };
        let mut collector = OutputCollector { masker: self.redactor.stream(), text: Vec::new(), is_too_long: false };
        let ending = match process::run(&job, &mut collector) {
            Ok(ending) => ending,
            Err(error) => return Ok(EndedProgram { not_isolated, ..EndedProgram::failed(error) }),
        };
        collector.finish();
        if ending.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Interrupted) {
            return Err("the run was ended before a program of the case had ended".into());
        }
        let stderr = tail(&job.stderr);
        let printed =
            if stderr.trim().is_empty() { String::from_utf8_lossy(&collector.text) } else { (&*stderr).into() };
        let last_output = end_of(printed.trim()).to_owned();
        let mut result = collector.result(&ending, stderr, self.timeout, self.more_time);
        if let Ok(ProgramEnding { exit_code: code @ (126 | 127), stderr, not_started, .. }) = &mut result {
            let words = ending.last_words.as_deref().unwrap_or("it wrote nothing");
            let advice = place
                .sandbox()
                .and_then(|sandbox| isolation::advice(&isolation::unseen(stderr, sandbox, self.root, self.trial_env)))
                .unwrap_or_else(|| "is everything installed that it starts?".to_owned());
            *not_started = Some(format!("exit status {code}: {words}; {advice}"));
        }
        Ok(EndedProgram { ending: result, not_isolated, last_output })
    }
}

fn end_of(text: &str) -> &str {
    let start = text.char_indices().rev().nth(SHOWN - 1).map_or(0, |(at, _)| at);
    &text[start..]
}

/// The last part of a file.
fn tail(path: &Path) -> String {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(MAX_ERRORS)))?;
        let mut bytes = Vec::new();
        file.take(MAX_ERRORS).read_to_end(&mut bytes)?;
        Ok::<_, std::io::Error>(bytes)
    };
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

/// Keeps a program's standard output.
struct OutputCollector<'a> {
    masker: Masker<'a>,
    text: Vec<u8>,
    is_too_long: bool,
}

impl OutputListener for OutputCollector<'_> {
    fn line(&mut self, line: &[u8]) -> Reply {
        if self.is_too_long {
            return Reply { end: true, ..Reply::default() };
        }
        self.text.extend(self.masker.push(line));
        self.text.extend(self.masker.push(b"\n"));
        self.is_too_long |= self.text.len() > MAX_OUTPUT;
        Reply { end: self.is_too_long, ..Reply::default() }
    }

    fn long_line(&mut self, start: &[u8]) -> Reply {
        self.text.extend(self.masker.push(start));
        self.is_too_long = true;
        Reply { end: true, ..Reply::default() }
    }
}

impl OutputCollector<'_> {
    /// Adds the rest, unless the output was cut: there it may be the first half of a secret.
    fn finish(&mut self) {
        if !self.is_too_long {
            self.text.extend(self.masker.finish());
        }
    }

    fn result(
        self,
        ending: &Ending,
        stderr: String,
        timeout: Duration,
        more_time: &str,
    ) -> Result<ProgramEnding, Unknown> {
        if let Some(trouble) = &ending.trouble {
            let why = if trouble.kind == TroubleKind::CouldNotStart {
                "it could not be started"
            } else {
                trouble.kind.as_str()
            };
            return Err(format!("{why}: {}", trouble.detail).into());
        }
        if ending.timed_out {
            return Err(format!("it did not end within {:.0} s; {more_time}", timeout.as_secs_f64()).into());
        }
        if self.is_too_long {
            return Err(
                format!("it wrote more than {} to its standard output", bounded::bytes(MAX_OUTPUT as u64)).into()
            );
        }
        let words = ending.last_words.as_deref().map_or_else(String::new, |words| format!(": {words}"));
        match (ending.exit_code, ending.signal) {
            (Some(exit_code), _) => {
                let stdout = String::from_utf8_lossy(&self.text).into_owned();
                let is_binary = std::str::from_utf8(&self.text).is_err();
                Ok(ProgramEnding { exit_code, stdout, is_binary, stderr, not_started: None })
            }
            (None, Some(signal)) => Err(format!("it was ended by the signal {signal}{words}").into()),
            (None, None) => Err(format!("it has no exit status{words}").into()),
        }
    }
}
