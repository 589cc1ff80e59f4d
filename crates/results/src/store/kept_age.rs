//! Removes kept trials and comparisons that are too old, or too many.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use super::kept::{KeptTrials, NEW, since, time};
use super::{StoreError, running, sub_folders};
use crate::files::{look, rooted};

/// Most bytes of all kept trials together.
const MOST_BYTES: u64 = 256 << 20;

/// How long a trial is kept. Longer than it is used, so that the results of some weeks can be compared.
const MOST_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a directory may be being written. After that its process is gone.
const WRITING: Duration = Duration::from_secs(3600);

impl KeptTrials {
    /// Removes what is too old, then the oldest until the rest has the allowed size. A comparison is one thing: a part of its trials
    /// would be a choice.
    pub fn remove_old(&self) -> Result<(), StoreError> {
        self.remove_old_nights()?;
        let mut all: Vec<(Option<Timestamp>, PathBuf)> = Vec::new();
        for (key, trials) in self.all() {
            remove_unfinished(&self.of_key(&key))?;
            all.extend(trials.iter().map(|kept| (time(&kept.meta.started), kept.folder.path().to_path_buf())));
        }
        for (began, folder) in running::idle(&self.folder)? {
            remove_unfinished(&folder)?;
            all.push((began, folder));
        }
        all.sort_by_key(|(began, _)| std::cmp::Reverse(*began));
        let mut bytes = 0;
        for (began, folder) in all {
            let files = look::Walk::new(&folder).all()?;
            let sizes = files.iter().filter_map(|entry| Some(fs::symlink_metadata(entry.path()).ok()?.len()));
            bytes += sizes.sum::<u64>();
            if bytes > MOST_BYTES || began.is_none_or(|began| since(began) > MOST_AGE) {
                rooted::remove(&folder)?;
                let Some(above) = folder.parent().filter(|above| sub_folders(above).is_ok_and(|left| left.is_empty()))
                else {
                    continue;
                };
                let _ = fs::remove_file(above.join(running::LOCK));
                // It stays if another process has put something there.
                let _ = fs::remove_dir(above);
            }
        }
        Ok(())
    }
}

/// Removes what killed processes were writing in this directory.
fn remove_unfinished(folder: &Path) -> Result<(), StoreError> {
    for name in sub_folders(folder)?.into_iter().filter(|name| name.starts_with(NEW)) {
        let left = folder.join(name);
        let written = fs::metadata(&left).and_then(|found| found.modified()).ok();
        if written.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > WRITING) {
            rooted::remove(&left)?;
        }
    }
    Ok(())
}
