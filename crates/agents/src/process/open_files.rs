//! How many files this process may have open. A trial that gets none is lost.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that a process needs without trials.
const BASE: u64 = 100;

/// Maximum number of files that a trial needs: pipes, its directory, its logs.
const PER_TRIAL: u64 = 20;

/// Raises the limit if it is too low for this many trials at once, and no further: agents inherit it.
pub fn allow(trials: usize) -> Result<(), String> {
    let needed = BASE.saturating_add(PER_TRIAL.saturating_mul(trials as u64));
    let Ok((limit, maximum)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let is_enough = limit >= needed || maximum >= needed && setrlimit(Resource::RLIMIT_NOFILE, needed, maximum).is_ok();
    // A single trial may need fewer files than the maximum.
    if is_enough || trials == 1 {
        return Ok(());
    }
    let possible = (limit.saturating_sub(BASE) / PER_TRIAL).max(1);
    Err(format!(
        "{trials} trials at once need {needed} open files, and this process may have {limit} (`ulimit -n`): allow more, or \
         run fewer with --jobs {possible}"
    ))
}
