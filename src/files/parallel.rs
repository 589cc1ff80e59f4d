//! Many files read at once.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{available_parallelism, scope};

/// So few are not worth a thread.
const FEW: usize = 64;

/// What `make` makes of each, in order, on all processors: reading thousands of files is waiting for the file system.
pub fn map<T: Sync, R: Send>(all: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let parts = all.chunks(all.len().div_ceil(threads).max(FEW));
    if parts.len() < 2 {
        return all.iter().map(make).collect();
    }
    scope(|scope| {
        let make = &make;
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(make).collect::<Vec<R>>())).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
