//! Starts a program for a moment, in a room of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::agent::isolation::{self, SandboxedProgram};
use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::files::bounded;
use crate::process::{self, Job, OutputListener, Reply};
use crate::settings::Settings;
use crate::text::redact::Redactor;
use crate::trial::evidence::Ending;

/// How long a program may take that only has to say who it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// Says that it runs, then tries to write.
pub(super) const SCRIPT: &str = "echo started; echo x > written";

/// Where programs are tried out.
pub(super) struct Probes<'a> {
    pub(super) scratch: &'a ScratchDir,
    /// The repository.
    pub(super) root: &'a Path,
}

/// What a program did.
pub(super) struct ProbeResult {
    pub(super) ending: Ending,
    stdout: String,
    stderr: String,
    /// Whether [`SCRIPT`] could write.
    pub(super) wrote: bool,
}

impl ProbeResult {
    pub(super) fn well(&self) -> bool {
        self.ending.exit_code == Some(0)
    }

    pub(super) fn first_line(&self) -> &str {
        self.stdout.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }

    /// What it said at its end.
    pub(super) fn last_words(&self) -> String {
        let ending = &self.ending;
        if ending.timed_out {
            return format!("no end after {} s", PATIENCE.as_secs());
        }
        let trouble = ending.trouble.as_ref().map(|trouble| trouble.detail.clone());
        let how = || ending.exit_code.map_or_else(|| "killed".to_owned(), |code| format!("exit status {code}"));
        trouble.or_else(|| ending.last_words.clone()).unwrap_or_else(how)
    }
}

impl Probes<'_> {
    pub(super) fn run(&self, program: &Path, args: &[OsString]) -> io::Result<ProbeResult> {
        self.talk(program, args, &mut SilentListener)
    }

    /// Runs a program that `listener` talks with.
    pub(super) fn talk(
        &self,
        program: &Path,
        args: &[OsString],
        listener: &mut dyn OutputListener,
    ) -> io::Result<ProbeResult> {
        start(&self.room()?, (program.to_path_buf(), args.to_vec()), false, listener)
    }

    /// Asks a program for its version inside this bubblewrap. Returns also the paths that it lacked there.
    pub(super) fn version_inside(
        &self,
        bwrap: PathBuf,
        program: &Path,
        settings: &Settings,
    ) -> io::Result<(ProbeResult, Vec<PathBuf>)> {
        let room = self.room()?;
        let env = environment(&room);
        let inside = SandboxedProgram {
            program,
            env: &env,
            reads: &[],
            server: None,
            root: self.root,
            trial_env: &room,
            settings,
        };
        let sandbox = inside.sandbox(bwrap);
        let ran = start(&room, sandbox.around(program, vec!["--version".into()]), true, &mut SilentListener)?;
        // A program may say what it lacks before it says where it noticed.
        let lacked = |words: &str| isolation::unseen(words, &sandbox, self.root, &room);
        let mut unseen = lacked(&ran.last_words());
        if unseen.is_empty() {
            unseen = lacked(&ran.stderr);
        }
        Ok((ran, unseen))
    }

    fn room(&self) -> io::Result<TrialEnv> {
        self.scratch.trial_env("probe").map_err(io::Error::other)
    }
}

/// Nothing of the user's own: what is asked here needs no login.
fn environment(room: &TrialEnv) -> BTreeMap<OsString, OsString> {
    let names = ["PATH", "LANG", "LC_ALL"].into_iter();
    let mut env: BTreeMap<OsString, OsString> =
        names.filter_map(|name| Some((name.into(), std::env::var_os(name)?))).collect();
    env.insert("HOME".into(), room.home().into());
    env.insert("TMPDIR".into(), room.tmp().into());
    env
}

fn start(
    room: &TrialEnv,
    (program, args): (PathBuf, Vec<OsString>),
    namespace: bool,
    listener: &mut dyn OutputListener,
) -> io::Result<ProbeResult> {
    let (stdout, stderr) = (room.path().join("stdout"), room.path().join("stderr"));
    let job = Job {
        program,
        args,
        env: environment(room),
        folder: room.workspace(),
        timeout: PATIENCE,
        stdout: stdout.clone(),
        by_file: None,
        input: None,
        stderr: stderr.clone(),
        redactor: &Redactor::new([]),
        namespace,
    };
    let ending = process::run(&job, listener)?;
    let text = |path: &Path| Ok::<_, io::Error>(String::from_utf8_lossy(&bounded::read(path)?).into_owned());
    let (stdout, stderr) = (text(&stdout)?, text(&stderr)?);
    Ok(ProbeResult { ending, stdout, stderr, wrote: room.workspace().join("written").exists() })
}

struct SilentListener;

impl OutputListener for SilentListener {
    fn line(&mut self, _line: &[u8]) -> Reply {
        Reply::default()
    }
}
