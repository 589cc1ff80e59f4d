//! Starts a program for a moment, in a trial environment of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::agent::isolation::{self, SandboxedProgram};
use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::files::bounded;
use crate::process::{self, Job, OutputListener, Start};
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
    pub(super) redactor: Arc<Redactor>,
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

/// What a program did where trials start it.
pub(super) struct PlacedResult {
    pub(super) result: ProbeResult,
    /// The paths that its sandbox, if it has one, did not show it.
    pub(super) missing: Vec<PathBuf>,
    pub(super) is_isolated: bool,
}

impl Probes<'_> {
    /// Runs this program itself, or bubblewrap; `listener` talks with it.
    pub(super) fn talk(&self, start: Start, listener: &mut dyn OutputListener) -> io::Result<ProbeResult> {
        self.run(&self.environment()?, start, listener)
    }

    /// Runs an agent's program where trials run it by these settings.
    pub(super) fn in_place(
        &self,
        program: &Path,
        args: Vec<OsString>,
        settings: &Settings,
    ) -> io::Result<PlacedResult> {
        let trial_env = &self.environment()?;
        let (env, root) = (&variables(trial_env), self.root);
        let sandboxed = SandboxedProgram { program, env, reads: &[], server: None, root, trial_env, settings };
        let (place, _) = sandboxed.place().map_err(|trouble| io::Error::other(trouble.detail))?;
        let result = self.run(trial_env, place.start(program, args), &mut ())?;
        let Some(sandbox) = place.sandbox() else {
            return Ok(PlacedResult { result, missing: Vec::new(), is_isolated: false });
        };
        // The missing path may not be in the last words.
        let mut missing = isolation::unseen(&result.last_words(), sandbox, root, trial_env);
        if missing.is_empty() {
            missing = isolation::unseen(&result.stderr, sandbox, root, trial_env);
        }
        Ok(PlacedResult { result, missing, is_isolated: true })
    }

    fn environment(&self) -> io::Result<TrialEnv> {
        self.scratch.trial_env().map_err(io::Error::other)
    }

    fn run(&self, environment: &TrialEnv, start: Start, listener: &mut dyn OutputListener) -> io::Result<ProbeResult> {
        let (stdout, stderr) = (environment.control().join("stdout"), environment.control().join("stderr"));
        let job = Job {
            start,
            env: variables(environment),
            folder: environment.start_directory(),
            timeout: PATIENCE,
            cpu_wait: None,
            stdout: stdout.clone(),
            appends: false,
            by_file: None,
            input: None,
            stderr: stderr.clone(),
            redactor: &self.redactor,
            works_on: false,
            settled: None,
        };
        let ending = process::run(&job, listener)?;
        let [stdout, stderr] = [bounded::read(&stdout)?, bounded::read(&stderr)?]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(ProbeResult { ending, stdout, stderr, wrote: environment.workspace().join("written").exists() })
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
