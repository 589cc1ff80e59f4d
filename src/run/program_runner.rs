//! What the programs that answer checks share: opened when the first one runs.

use std::sync::OnceLock;

use crate::agent::isolation;
use crate::agent::trial_env::{ScratchDir, TrialEnv};
use crate::run::live::Redactors;
use crate::settings::Settings;
use crate::text::problem::Problem;

/// What the programs of all trials of this process share.
#[derive(Debug, Default)]
pub struct ProgramRunner(OnceLock<Result<(ScratchDir, Redactors), Problem>>);

impl ProgramRunner {
    /// Where programs run, and what masks secrets in their output.
    pub(super) fn open(&self, settings: &Settings) -> Result<&(ScratchDir, Redactors), Problem> {
        let open = || {
            let scratch = isolation::scratch(settings)?;
            Ok((scratch, Redactors::new(settings)))
        };
        self.0.get_or_init(open).as_ref().map_err(Clone::clone)
    }

    /// An empty trial environment, outside the repository.
    pub fn trial_env(&self, settings: &Settings) -> Result<TrialEnv, Problem> {
        Ok(self.open(settings)?.0.trial_env()?)
    }
}
