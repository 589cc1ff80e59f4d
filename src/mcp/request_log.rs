//! Which lists a client asks for, and when, noted for the trial that started the server.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// What is noted when clients are told that the skills have changed.
const TOLD: &str = "told";

/// Names the file to note them in: a line `<milliseconds since 1970> <list>` each, and one with `told` where the client was
/// told of a change.
pub const ASKED_VARIABLE: &str = "SKILL_EVALS_MCP_ASKED";

/// Where they are noted, where somebody wants to know.
#[derive(Debug, Default)]
pub(super) struct RequestLog(Option<Mutex<File>>);

impl RequestLog {
    /// In the file that the environment names.
    pub(super) fn from_env() -> Self {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Self(std::env::var_os(ASKED_VARIABLE).and_then(open).map(Mutex::new))
    }

    /// The client is told of a change.
    pub(super) fn told(&self) {
        self.note(TOLD);
    }

    /// The client asks for the list of `what`. What cannot be noted is served all the same.
    pub(super) fn note(&self, what: &str) {
        if let Some(file) = &self.0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = file.write_all(format!("{now} {what}\n").as_bytes());
        }
    }
}

/// The lists that were asked for from `since` on, by the text of such a file, each once; `None` where the client was not told
/// of a change since then.
#[must_use]
pub fn asked_since(text: &str, since: SystemTime) -> Option<Vec<String>> {
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let later = |line: &str| {
        let (at, what) = line.split_once(' ')?;
        at.parse().is_ok_and(|at: u128| at >= since).then(|| what.to_owned())
    };
    let mut lists: Vec<String> = text.lines().filter_map(later).skip_while(|what| what != TOLD).collect();
    lists.sort_unstable();
    lists.dedup();
    let told = lists.iter().position(|what| what == TOLD)?;
    lists.remove(told);
    Some(lists)
}
