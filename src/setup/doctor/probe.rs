//! Starts a program for a moment, in a trial environment of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::isolation::{self, SandboxedProgram};
use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::files::bounded;
use crate::process::{self, Job, OutputListener};
use crate::settings::Settings;
use crate::text::redact::Redactor;
use crate::trial::evidence::Ending;

/// Timeout of a program.
const PATIENCE: Duration = Duration::from_secs(20);

/// A script that prints `started`, then tries to write.
pub(super) const SCRIPT: &str = "echo started; echo x > written";

pub(super) struct Probes<'a> {
    pub(super) scratch: &'a ScratchDir,
    pub(super) root: &'a Path,
}

pub(super) struct ProbeResult {
    pub(super) ending: Ending,
    stdout: String,
    stderr: String,
    /// Whether [`SCRIPT`] wrote its file.
    pub(super) wrote: bool,
}

impl ProbeResult {
    pub(super) fn succeeded(&self) -> bool {
        self.ending.exit_code == Some(0)
    }

    pub(super) fn first_line(&self) -> &str {
        self.stdout.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// Its last words, else how it ended.
    pub(super) fn last_words(&self) -> String {
        let ending = &self.ending;
        if ending.timed_out {
            return format!("no end after {} s", PATIENCE.as_secs());
        }
        if let Some(trouble) = &ending.trouble {
            return trouble.detail.clone();
        }
        match (&ending.last_words, ending.exit_code) {
            (Some(words), _) => words.clone(),
            (None, Some(code)) => format!("exit status {code}"),
            (None, None) => "killed".to_owned(),
        }
    }
}

impl Probes<'_> {
    pub(super) fn run(&self, program: &Path, args: &[OsString]) -> io::Result<ProbeResult> {
        self.talk(program, args, &mut ())
    }

    /// Runs a program that `listener` talks with.
    pub(super) fn talk(
        &self,
        program: &Path,
        args: &[OsString],
        listener: &mut dyn OutputListener,
    ) -> io::Result<ProbeResult> {
        start(&self.environment()?, (program.to_path_buf(), args.to_vec()), false, listener)
    }

    /// Runs `program --version` in bubblewrap. Returns also the paths that the program could not see.
    pub(super) fn version_in_sandbox(
        &self,
        bwrap: PathBuf,
        program: &Path,
        settings: &Settings,
    ) -> io::Result<(ProbeResult, Vec<PathBuf>)> {
        let environment = self.environment()?;
        let env = variables(&environment);
        let sandboxed = SandboxedProgram {
            program,
            env: &env,
            reads: &[],
            server: None,
            root: self.root,
            trial_env: &environment,
            settings,
        };
        let sandbox = sandboxed.sandbox(bwrap);
        let command = sandbox.around(program, vec!["--version".into()]);
        let result = start(&environment, command, true, &mut ())?;
        // The missing path may not be in the last words.
        let mut missing = isolation::unseen(&result.last_words(), &sandbox, self.root, &environment);
        if missing.is_empty() {
            missing = isolation::unseen(&result.stderr, &sandbox, self.root, &environment);
        }
        Ok((result, missing))
    }

    fn environment(&self) -> io::Result<TrialEnv> {
        self.scratch.trial_env("probe").map_err(io::Error::other)
    }
}

/// The variables of a program. It needs no credentials.
fn variables(environment: &TrialEnv) -> BTreeMap<OsString, OsString> {
    let names = ["PATH", "LANG", "LC_ALL"].into_iter();
    let mut variables: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    variables.insert("HOME".into(), environment.home().into());
    variables.insert("TMPDIR".into(), environment.tmp().into());
    variables
}

fn start(
    environment: &TrialEnv,
    (program, args): (PathBuf, Vec<OsString>),
    namespace: bool,
    listener: &mut dyn OutputListener,
) -> io::Result<ProbeResult> {
    let (stdout, stderr) = (environment.path().join("stdout"), environment.path().join("stderr"));
    let job = Job {
        program,
        args,
        env: variables(environment),
        folder: environment.workspace(),
        timeout: PATIENCE,
        stdout: stdout.clone(),
        appends: false,
        by_file: None,
        input: None,
        stderr: stderr.clone(),
        redactor: &Redactor::new([]),
        namespace,
        works_on: false,
        settled: None,
    };
    let ending = process::run(&job, listener)?;
    let [stdout, stderr] =
        [bounded::read(&stdout)?, bounded::read(&stderr)?].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(ProbeResult { ending, stdout, stderr, wrote: environment.workspace().join("written").exists() })
}
