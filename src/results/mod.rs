//! The results of runs as data: rows of trials read from the store, and what is computed on them. How they look is the
//! business of `report`.

pub mod activation_shift;
pub mod compared;
pub mod cut_descriptions;
pub mod estimate;
pub mod judges;
pub mod not_run;
pub mod run_status;
pub mod session;
pub mod share;
pub mod side_results;
pub mod stored_comparison;
pub mod stored_sides;
pub mod summary;
pub mod table;
pub mod timeline;
pub mod trend;
pub mod triggering;
