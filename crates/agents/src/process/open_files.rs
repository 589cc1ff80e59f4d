//! The files that this process has open: how many it may have, and none of its parent's.

use std::fs;
use std::path::Path;

use crate::files::look;
use nix::fcntl::OFlag;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that a process needs without trials.
const BASE: u64 = 100;

/// Maximum number of files that a trial needs: pipes, its directory, its logs.
const PER_TRIAL: u64 = 20;

/// Closes the files that whoever started this process left open in it: an agent would inherit them, whatever its sandbox hides.
/// Files that this process opened are marked not to be inherited, and stay. Only Linux tells which are.
pub fn close_inherited() {
    let inherited = |entry: &look::Entry| {
        let number = entry.file_name().to_str()?.parse::<i32>().ok().filter(|number| *number > 2)?;
        let info = fs::read_to_string(entry.path()).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = OFlag::from_bits_retain(i32::from_str_radix(flags.trim(), 8).ok()?);
        (!flags.contains(OFlag::O_CLOEXEC)).then_some(number)
    };
    let entries = look::usable_entries(Path::new("/proc/self/fdinfo"));
    for number in entries.iter().filter_map(inherited) {
        // It was open a moment ago.
        let _ = nix::unistd::close(number);
    }
}

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
