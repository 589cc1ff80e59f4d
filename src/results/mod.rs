//! The results of runs as data: rows of trials read from the store, and what is computed on them. How they look is the
//! business of `report`.

pub mod arm;
pub mod compared;
pub mod course;
pub mod crowding;
pub mod described;
pub mod estimate;
pub mod judges;
pub mod not_run;
pub mod over_time;
pub mod session;
pub mod share;
pub mod sides;
pub mod standing;
pub mod summary;
pub mod table;
pub mod timeline;
pub mod triggering;
