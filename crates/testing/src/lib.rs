//! What the tests of several crates share. It is built only with them, and depends on the lowest crates that it needs.

pub mod fixture;
#[cfg(feature = "lint")]
pub mod lint;
pub mod made;
pub mod prefixes;
#[cfg(feature = "program")]
pub mod program;
pub mod tables;

use std::fs;
use std::path::{Path, PathBuf};

/// The root of this repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/testing is in it")
}

/// The files in `folder` and in the directories in it, sorted. Links are neither files nor followed.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("an entry"));
    let mut entries: Vec<_> = entries.map(|entry| (entry.path(), entry.file_type().expect("a type"))).collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    let files = |(path, kind): (PathBuf, fs::FileType)| match () {
        () if kind.is_dir() => files_below(&path),
        () if kind.is_file() => vec![path],
        () => Vec::new(),
    };
    entries.into_iter().flat_map(files).collect()
}

/// The processes whose command line or environment holds `word`.
pub fn processes_with(word: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| pid != std::process::id())
        .filter_map(|pid| {
            let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
            let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let environment = String::from_utf8_lossy(&read("environ")).into_owned();
            (line.contains(word) || environment.contains(word)).then(|| format!("{pid}: {line}"))
        })
        .collect()
}
