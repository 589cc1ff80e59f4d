//! How trials run and are read again, in process: recordings, repositories, calibrations.

mod calibration;
mod custom_checks;
mod exposure_corpus;
mod mutations;
mod plans;
mod read_tree;
mod rust_page;
mod settled;
