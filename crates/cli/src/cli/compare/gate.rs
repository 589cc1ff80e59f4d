//! Which results of a comparison fail.

use crate::cli::exit_code::Exit;
use crate::decide::result::CompareResult;

/// The exit code of a comparison with these results.
pub fn exit(results: &[CompareResult], gate: &[CompareResult]) -> Exit {
    let fails = if gate.is_empty() { &CompareResult::HARM } else { gate };
    if results.contains(&CompareResult::NothingMeasured) {
        Exit::Infrastructure
    } else if results.iter().any(|result| fails.contains(result)) {
        Exit::Problems
    } else if gate.is_empty() && results.contains(&CompareResult::Undecided) {
        Exit::Undecided
    } else {
        Exit::Clean
    }
}
