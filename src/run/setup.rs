//! Setup commands: they prepare the workspace of a trial, in the agent's sandbox and before the agent.

use crate::agent::snapshot::{self};
use crate::agent::trial_env::TrialEnv;
use crate::checks::contents::Unknown;
use crate::checks::program::ProgramEnding;
use crate::run::planned::PlannedRun;
use crate::run::programs::{EndedProgram, SandboxedRun};
use crate::settings::mode::Mode;
use crate::text::redact::Redactor;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::setup::SetupMeta;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Runs these commands one after the other. All of them together have `timeout`. The first one that fails, or that takes the
/// skills from the agent of `mode`, is the trouble of the trial, with the end of its output.
pub(super) fn run_setup(
    run: &PlannedRun,
    mode: Option<&Mode>,
    commands: &[String],
    trial_env: &mut TrialEnv,
    timeout: Duration,
    redactor: &Redactor,
) -> Result<Vec<SetupMeta>, Trouble> {
    let mut ended = Vec::new();
    if commands.is_empty() {
        return Ok(ended);
    }
    let began = Instant::now();
    for command in commands {
        let started = Instant::now();
        let program = SandboxedRun {
            root: &run.root,
            settings: &run.settings,
            trial_env,
            program: Path::new("/bin/sh"),
            args: ["-c".into(), command.into()].to_vec(),
            env: BTreeMap::new(),
            reads: &[],
            input: None,
            timeout: timeout.saturating_sub(began.elapsed()),
            more_time: "`timeout_s` of the case gives its setup more",
            redactor,
        };
        let EndedProgram { ending, last_output, .. } =
            program.run().map_err(|why| Trouble::new(TroubleKind::Interrupted, why.to_string()))?;
        let failure = match ending {
            // No program can start there.
            Ok(ProgramEnding { exit_code: 0, .. }) if !trial_env.has_workspace() => {
                Some("it removed or replaced the workspace".to_owned())
            }
            Ok(ProgramEnding { exit_code: 0, .. }) => mode.and_then(|mode| snapshot::disturbed(mode, trial_env)),
            Ok(ProgramEnding { not_started: Some(why), .. }) | Err(Unknown(why)) => Some(why),
            Ok(ProgramEnding { exit_code, .. }) => Some(format!("exit status {exit_code}")),
        };
        if let Some(why) = failure {
            let said = if why.contains(&last_output) { String::new() } else { format!(": {last_output}") };
            let told = redactor.mask_text(&format!("`{command}`: {why}{said}"));
            return Err(Trouble::new(TroubleKind::Setup, told));
        }
        ended.push(SetupMeta::new(redactor.mask_text(command), started.elapsed()));
    }
    trial_env.note_setup();
    Ok(ended)
}
