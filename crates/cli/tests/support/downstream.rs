//! Other crates that depend on this one, made by `skill-evals init` and built by cargo for real.

use crate::support::repository;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::fixture::Fixture;
use super::harness::clean;

/// Where they are built: where this crate is, whose dependencies are built already.
pub fn target() -> PathBuf {
    repository().join("target")
}

/// The file with the profiles that those were built with.
pub const PROFILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/downstream.toml");

/// What it says.
pub const PROFILES_TEXT: &str = include_str!("downstream.toml");

/// A new Rust crate with the sample's `greeting`.
pub fn crate_with_a_skill() -> Fixture {
    let manifest = "# A crate of somebody's.\n[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    // Versions as here: whatever is newer has not been fetched.
    let lock = std::fs::read(repository().join("Cargo.lock")).expect("our Cargo.lock");
    Fixture::copy_of_sample()
        .file("Cargo.toml", manifest)
        .file("Cargo.lock", lock)
        .file("src/lib.rs", "/// Adds.\npub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n")
}

/// The same repository with cargo's own settings, so that a cargo that somebody else starts in it takes this crate from its
/// sources too.
pub fn patched(fixture: Fixture) -> Fixture {
    let (sources, target) = (repository().display(), target().display().to_string());
    let text = format!(
        "[patch.crates-io]\nskill-evals.path = {sources:?}\n[net]\noffline = true\n[build]\ntarget-dir = {target:?}\nincremental = false\n{PROFILES_TEXT}"
    );
    fixture.file(".cargo/config.toml", text)
}

/// A cargo command in `folder` that takes this crate from its sources.
pub fn cargo(folder: &Path, args: &[&str]) -> Command {
    let mut command = clean(Command::new("cargo"));
    let patch = format!("patch.crates-io.skill-evals.path={:?}", repository().display().to_string());
    command.args(["--offline", "--config", &patch, "--config", PROFILES]).args(args).current_dir(folder);
    command.env("CARGO_TARGET_DIR", target()).env("CARGO_INCREMENTAL", "0").env_remove("RUSTFLAGS");
    command
}

/// The result of `cargo test --test skill_evals` with these arguments.
pub fn cargo_test(folder: &Path, args: &[&str]) -> Output {
    cargo(folder, &[&["test", "--test", "skill_evals", "--"], args].concat()).output().expect("cargo starts")
}
