//! The seeds of the fuzz targets, tried without the fuzzer.

use std::fs;
use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
#[allow(clippy::all, clippy::pedantic)]
mod targets;

/// Tries each seed of a target.
fn try_seeds(target: &str, run: impl Fn(&[u8])) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let seeds = fs::read_dir(seeds).expect("seeds").map(|seed| fs::read(seed.expect("a seed").path()).expect("a seed"));
    assert!(seeds.inspect(|seed| run(seed)).count() > 0, "{target} has no seeds");
}

/// The same for a target that takes texts: it ignores inputs that are not UTF-8.
fn try_texts(target: &str, run: impl Fn(&str)) {
    try_seeds(target, |bytes| {
        if let Ok(text) = str::from_utf8(bytes) {
            run(text);
        }
    });
}

macro_rules! targets {
    ($($try:ident: $($target:ident)*;)*) => {
        /// In the order in which they stand below.
        const TARGETS: &[&str] = &[$($(stringify!($target),)*)*];

        $($(
            #[test]
            fn $target() {
                $try(stringify!($target), targets::$target::run);
            }
        )*)*
    };
}

targets! {
    try_seeds: claude_trace codex_trace masker mcp prompts_csv rubric run_folder skill_md task_json;
    try_texts: evals_toml shell;
}

#[test]
fn every_target_is_tried() {
    let names = |folder: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder);
        let mut names: Vec<String> = fs::read_dir(folder)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("fuzz_targets"), names("seeds"));
    let mut listed = TARGETS.to_vec();
    listed.sort_unstable();
    assert_eq!(names("seeds"), listed);
}
