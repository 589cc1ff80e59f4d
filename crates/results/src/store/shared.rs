//! A run that several processes share: nextest starts one for each trial.

use std::fs::{self, File};
use std::path::Path;

use super::{At, RunFolder, StoreError, make_runs, runs_folder, sub_folders};
use crate::trial::run_record::RunRecord;

/// Locked while a process searches the shared run, or starts it.
const LOCK: &str = ".lock";

impl RunFolder {
    /// The run that is shared under `key`, for example a UUID. The first process creates it. Its id is the given one, else its
    /// start time and the start of the key. `begin` makes its record if there is none yet.
    pub fn shared(
        root: &Path,
        id: Option<&str>,
        key: &str,
        begin: impl FnOnce(&str) -> RunRecord,
    ) -> Result<Self, StoreError> {
        let runs = runs_folder(root)?;
        make_runs(&runs)?;
        let lock = runs.join(LOCK);
        let file = File::create(&lock).at(&lock)?;
        // Locked until the file is closed.
        file.lock().at(&lock)?;
        let run = if let Some(id) = id {
            match Self::create(root, Some(id)) {
                Err(StoreError::Exists(_)) => {
                    let run = Self::open(root, id)?;
                    let same = run.run_record()?.is_some_and(|record| record.shared_by.as_deref() == Some(key));
                    if !same {
                        return Err(StoreError::Exists(id.to_owned()));
                    }
                    run
                }
                made => made?,
            }
        } else {
            let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
            let ending = format!("-{key}");
            let id = sub_folders(&runs)?.into_iter().find(|id| id.ends_with(&ending)).unwrap_or_else(|| {
                let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
                format!("{stamp}{ending}")
            });
            let path = runs.join(&id);
            fs::create_dir_all(&path).at(&path)?;
            Self { id, path }
        };
        if run.run_record()?.is_none() {
            run.write_run(&begin(run.id()))?;
        }
        Ok(run)
    }
}
