//! A program in the sandbox of a trial environment, until it ends or its time is over.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::command;
use crate::agent::isolation::{self, SandboxedProgram};
use crate::agent::trial_env::TrialEnv;
use crate::checks::program::ProgramEnding;
use crate::files::bounded;
use crate::process::{self, Job, OutputListener, Reply};
use crate::settings::Settings;
use crate::text::redact::{Masker, Redactor};
use crate::trace::trouble::TroubleKind;
use crate::trial::evidence::Ending;

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
    pub ending: Result<ProgramEnding, String>,
    /// Why it was not isolated, if so.
    pub not_isolated: Option<String>,
    /// The last part of its standard error; of its standard output if that is blank.
    pub last_output: String,
}

impl EndedProgram {
    pub(super) fn failed(why: String) -> Self {
        Self { ending: Err(why), not_isolated: None, last_output: String::new() }
    }
}

impl SandboxedRun<'_> {
    /// Runs it. Fails if the user ended the run meanwhile.
    pub fn run(self) -> Result<EndedProgram, String> {
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
            Err(why) => return Ok(EndedProgram::failed(why)),
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
            Err(error) => return Ok(EndedProgram { not_isolated, ..EndedProgram::failed(error.to_string()) }),
        };
        collector.finish();
        if ending.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Interrupted) {
            return Err("the run was ended before a program of the case had ended".to_owned());
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
    ) -> Result<ProgramEnding, String> {
        if let Some(trouble) = &ending.trouble {
            let why = if trouble.kind == TroubleKind::CouldNotStart {
                "it could not be started"
            } else {
                trouble.kind.as_str()
            };
            return Err(format!("{why}: {}", trouble.detail));
        }
        if ending.timed_out {
            return Err(format!("it did not end within {:.0} s; {more_time}", timeout.as_secs_f64()));
        }
        if self.is_too_long {
            return Err(format!("it wrote more than {} to its standard output", bounded::bytes(MAX_OUTPUT as u64)));
        }
        let words = ending.last_words.as_deref().map_or_else(String::new, |words| format!(": {words}"));
        match (ending.exit_code, ending.signal) {
            (Some(exit_code), _) => {
                let stdout = String::from_utf8_lossy(&self.text).into_owned();
                let is_binary = std::str::from_utf8(&self.text).is_err();
                Ok(ProgramEnding { exit_code, stdout, is_binary, stderr, not_started: None })
            }
            (None, Some(signal)) => Err(format!("it was ended by the signal {signal}{words}")),
            (None, None) => Err(format!("it has no exit status{words}")),
        }
    }
}
