//! The server's side of the log.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::mcp::request_log::{ASKED_VARIABLE, NOTIFIED};

/// The log, if the environment names a file for it.
#[derive(Debug, Default)]
pub(super) struct RequestLog(Option<Mutex<File>>);

impl RequestLog {
    pub(super) fn from_env() -> Self {
        let open = |path| OpenOptions::new().append(true).create(true).open(path).ok();
        Self(std::env::var_os(ASKED_VARIABLE).and_then(open).map(Mutex::new))
    }

    /// Logs that the client is notified of a change.
    pub(super) fn notified(&self) {
        self.requested(NOTIFIED);
    }

    /// Logs that the client requests this list. The server continues if the log cannot be written.
    pub(super) fn requested(&self, list: &str) {
        if let Some(file) = &self.0 {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = file.write_all(format!("{now} {list}\n").as_bytes());
        }
    }
}
