//! How many files this process may have open: trials that run at once need some each, and one that gets none is lost.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// What a process needs beside its trials, and what a trial needs at most: pipes, its folder, its logs.
const ALONE: u64 = 100;
const OF_A_TRIAL: u64 = 20;

/// Sees to it that so many trials can run at once. Asks for no more than they need: what is started here inherits it.
///
/// # Errors
/// How many can, and what to do for more.
pub fn allow(trials: usize) -> Result<(), String> {
    let wanted = ALONE.saturating_add(OF_A_TRIAL.saturating_mul(trials as u64));
    // A system that does not say allows what it allows.
    let Ok((now, most)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    if now >= wanted || most >= wanted && setrlimit(Resource::RLIMIT_NOFILE, wanted, most).is_ok() {
        return Ok(());
    }
    let fewer = now.saturating_sub(ALONE) / OF_A_TRIAL;
    // One is tried in any case: what it needs at most it may not need.
    if trials == 1 {
        return Ok(());
    }
    Err(format!(
        "{trials} trials at once need {wanted} open files, and this process may have {now} (`ulimit -n`): allow more, or run \
         fewer with --jobs {}",
        fewer.max(1)
    ))
}
