//! The results of runs as data: trials read from the store, and what is computed from them. `report` turns them into text.

pub mod calibration;
pub mod compared;
pub mod diagnosis;
pub mod drift;
pub mod estimate;
pub mod forecast;
pub mod gate;
pub mod graded_trial;
pub mod history;
pub mod judges;
pub mod outcome_table;
pub mod result_files;
pub mod run_status;
pub mod session;
pub mod share;
pub mod side_results;
pub mod spread;
pub mod stored_comparison;
pub mod stored_summary;
pub mod summary;
pub mod timeline;
pub mod triggering;
pub mod verification;

/// Whether JSON leaves a field out because it says nothing.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
