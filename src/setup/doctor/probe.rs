//! Starts a program for a moment, in a room of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::agent::room::Scratch;
use crate::files::bounded;
use crate::process::{self, Job, Listener, Reply};
use crate::text::redact::Redactor;
use crate::trial::evidence::Ending;

/// How long a program may take that only has to say who it is.
const PATIENCE: Duration = Duration::from_secs(20);

/// Says that it runs, then tries to write.
pub(super) const SCRIPT: &str = "echo started; echo x > written";

/// Where programs are tried out.
pub(super) struct Probes<'a> {
    pub(super) scratch: &'a Scratch,
}

/// What a program did.
pub(super) struct Ran {
    pub(super) ending: Ending,
    stdout: String,
    /// Whether [`SCRIPT`] could write.
    pub(super) wrote: bool,
}

impl Ran {
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
    pub(super) fn run(&self, program: &Path, args: &[OsString]) -> io::Result<Ran> {
        self.talk(program, args, &mut Silent)
    }

    /// Runs a program that `listener` talks with.
    pub(super) fn talk(&self, program: &Path, args: &[OsString], listener: &mut dyn Listener) -> io::Result<Ran> {
        let room = self.scratch.room("probe").map_err(io::Error::other)?;
        let stdout = room.path().join("stdout");
        // Nothing of the user's own: what is asked here needs no login.
        let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
        env.extend(
            ["PATH", "LANG", "LC_ALL"].into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?))),
        );
        env.insert("HOME".into(), room.home().into());
        env.insert("TMPDIR".into(), room.tmp().into());
        let job = Job {
            program: program.to_path_buf(),
            args: args.to_vec(),
            env,
            folder: room.workspace(),
            timeout: PATIENCE,
            stdout: stdout.clone(),
            by_file: None,
            input: None,
            stderr: room.path().join("stderr"),
            redactor: &Redactor::new([]),
            namespace: false,
        };
        let ending = process::run(&job, listener)?;
        let stdout = String::from_utf8_lossy(&bounded::read(&stdout)?).into_owned();
        Ok(Ran { ending, stdout, wrote: room.workspace().join("written").exists() })
    }
}

struct Silent;

impl Listener for Silent {
    fn line(&mut self, _line: &[u8]) -> Reply {
        Reply::default()
    }
}
