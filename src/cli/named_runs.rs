//! Stored runs, as users name them on the command line.

use std::path::{Path, PathBuf};

use super::CliResultOf;
use skill_evals::store::{self, RunFolder};

/// Whether a name is a folder's, not a run's id.
pub fn is_folder(what: &str) -> bool {
    what.contains('/')
}

/// The runs of these names: ids, or folders, which may hold recordings.
pub fn open(root: &Path, what: &[String]) -> CliResultOf<Vec<RunFolder>> {
    let one = |what: &String| {
        if is_folder(what) { Ok(RunFolder::at(Path::new(what))) } else { Ok(RunFolder::open(root, what)?) }
    };
    what.iter().map(one).collect()
}

/// The latest run.
pub fn latest(root: &Path) -> CliResultOf<RunFolder> {
    Ok(store::runs(root).into_iter().next().ok_or("no runs found")?)
}

/// Refuses runs that hold trials of each other.
pub fn distinct<'a>(runs: impl Iterator<Item = &'a RunFolder>) -> CliResultOf<()> {
    let mut places: Vec<PathBuf> = Vec::new();
    for run in runs {
        let place = run.path().canonicalize().unwrap_or_else(|_| run.path().to_path_buf());
        if places.iter().any(|other| place.starts_with(other) || other.starts_with(&place)) {
            return Err(
                format!("{} is named twice, or is within another: its trials would count twice", run.id()).into()
            );
        }
        places.push(place);
    }
    Ok(())
}
