//! The results of runs as data: trials read from the store, and what is computed from them. `report` turns them into text.

pub mod activation_shift;
#[cfg(feature = "program")]
pub mod agent_versions;
#[cfg(feature = "program")]
pub mod calibration;
pub mod changed_texts;
pub mod compared;
#[cfg(feature = "program")]
pub mod diagnosis;
#[cfg(feature = "program")]
pub mod estimate;
#[cfg(feature = "program")]
pub mod gate;
#[cfg(feature = "program")]
pub mod judges;
#[cfg(feature = "program")]
pub mod models;
#[cfg(feature = "program")]
pub mod not_run;
#[cfg(feature = "program")]
pub mod outcome_table;
#[cfg(feature = "program")]
pub mod run_status;
#[cfg(feature = "program")]
pub mod session;
pub mod share;
pub mod side_results;
#[cfg(feature = "program")]
pub mod stored_comparison;
#[cfg(feature = "program")]
pub mod stored_sides;
pub mod summary;
pub mod table;
pub mod timeline;
#[cfg(feature = "program")]
pub mod trend;
pub mod triggering;
#[cfg(feature = "program")]
pub mod variants;
#[cfg(feature = "program")]
pub mod verification;

/// Whether JSON leaves a field out because it says nothing.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
