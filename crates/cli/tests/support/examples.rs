//! The examples of the library, as programs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use super::harness::clean;
use super::repository;

/// The program of `examples/<name>.rs`.
pub fn example(name: &str) -> PathBuf {
    // Cargo builds examples with all tests, but not with a single one.
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let mut cargo = clean(Command::new(env!("CARGO")));
        cargo.args(["build", "--quiet", "--examples"]).current_dir(repository());
        assert!(cargo.status().expect("cargo starts").success());
    });
    Path::new(env!("CARGO_BIN_EXE_skill-evals")).with_file_name("examples").join(name)
}
