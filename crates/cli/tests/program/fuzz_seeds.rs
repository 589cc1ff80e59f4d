//! The seeds of the fuzz targets and the inputs that were kept, tried without the fuzzer.

use crate::support::repository;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(clippy::all, clippy::pedantic)]
mod targets;

/// Tries each input of a target.
fn try_inputs(target: &str, run: impl Fn(&[u8])) {
    let fuzz = repository().join("fuzz");
    let seeds = fs::read_dir(fuzz.join("seeds").join(target)).expect("seeds");
    let seeds = seeds.map(|seed| fs::read(seed.expect("a seed").path()).expect("a seed"));
    assert!(seeds.inspect(|seed| run(seed)).count() > 0, "{target} has no seeds");
    let kept = File::open(fuzz.join("corpus.tar.gz")).expect("the kept inputs");
    let mut kept = Archive::new(GzDecoder::new(kept));
    let folder = Path::new("corpus").join(target);
    let mut inputs = 0;
    for entry in kept.entries().expect("an archive") {
        let mut entry = entry.expect("an entry");
        if entry.header().entry_type().is_file() && entry.path().expect("a path").starts_with(&folder) {
            let mut input = Vec::new();
            entry.read_to_end(&mut input).expect("an input");
            run(&input);
            inputs += 1;
        }
    }
    assert!(inputs > 0, "{target} has no kept inputs");
}

/// The same for a target that takes texts: it ignores inputs that are not UTF-8.
fn try_texts(target: &str, run: impl Fn(&str)) {
    try_inputs(target, |bytes| {
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
    try_inputs: claude_trace codex_trace foreign_cases masker mcp prompts_csv rubric run_folder skill_md task_json;
    try_texts: evals_toml shell;
}

#[test]
fn every_target_is_tried() {
    let names = |folder: &str| {
        let folder = repository().join("fuzz").join(folder);
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
