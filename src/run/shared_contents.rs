//! What many trials of a run have in common.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use crate::settings::mode::AgentKind;
use crate::text::problem::Problem;
use crate::trial::id::CaseInMode;

/// What many trials have in common, each read once.
#[derive(Debug, Default)]
pub struct SharedContents {
    /// The agents of this machine as their trials get them.
    pub(super) agents: Mutex<HashMap<AgentKind, Result<String, Problem>>>,
    /// The files of skills that agents can execute, by directory.
    pub(super) programs: Mutex<HashMap<PathBuf, String>>,
    /// What decides the trials of each case besides skills, as it was at the start: skills are taken from a snapshot of then.
    pub(super) cases: Mutex<HashMap<CaseInMode, String>>,
}
