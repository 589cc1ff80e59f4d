//! A run directory is read whatever bytes one of its files holds: problems are reported, and every trial is the one
//! that its path names.

use std::fs;
use std::sync::LazyLock;

use super::{folder, write};
use skill_evals_evidence::settings::Prices;
use skill_evals_report::paint::Paint;
use skill_evals_report::{markdown, run_status as words};
use skill_evals_results::results::summary::Summary;
use skill_evals_results::results::{graded_trial, run_status};
use skill_evals_results::store::RunFolder;

/// The files that are read, by their paths below the run.
const FILES: [&str; 9] = [
    "run.json",
    "plan.jsonl",
    "progress.jsonl",
    "current.json",
    "runner.pid",
    "summary.json",
    "work/a/b/codex/1/meta.json",
    "work/a/b/codex/1/grade.json",
    "work/a/b/codex/1/digests.json",
];

/// Inputs with what belongs there, each behind the digit of its file; digests are left out.
const WHOLE: [&[u8]; 8] = [
    include_bytes!("../seeds/run_folder/0"),
    include_bytes!("../seeds/run_folder/1"),
    include_bytes!("../seeds/run_folder/2"),
    include_bytes!("../seeds/run_folder/3"),
    include_bytes!("../seeds/run_folder/4"),
    include_bytes!("../seeds/run_folder/5"),
    include_bytes!("../seeds/run_folder/6"),
    include_bytes!("../seeds/run_folder/7"),
];

static FOLDER: LazyLock<tempfile::TempDir> = LazyLock::new(folder);

/// Tries one input.
pub fn run(bytes: &[u8]) {
    let Some((which, content)) = bytes.split_first() else { return };
    let which = usize::from(which.wrapping_sub(b'0')) % FILES.len();
    let run = FOLDER.path().join("r");
    for (index, name) in FILES.iter().enumerate() {
        match WHOLE.get(index) {
            _ if index == which => write(&run.join(name), content),
            Some(whole) => write(&run.join(name), &whole[1..]),
            None => drop(fs::remove_file(run.join(name))),
        }
    }
    let run = RunFolder::at(&run);
    let mut summary = Summary::default();
    if let Ok(Some(record)) = run.run_record() {
        run.write_run(&record).expect("a record that was read can be written");
        assert_eq!(run.run_record().expect("it can be read again"), Some(record));
    }
    if let Ok(standing) = run_status::standing(&run) {
        let _ = serde_json::to_vec(&standing).expect("JSON");
        let _ = words::status(&standing, Paint::Plain);
    }
    let _ = (run.plan(), run.current(), run.runner(), run.summary(), run.follower().look().map(|seen| seen.spent()));
    for folder in run.trials().unwrap_or_default() {
        if let Ok(row) = graded_trial::row(&folder, &Prices::default()) {
            assert!(
                folder.path().ends_with(format!("{}/{}/{}/{}", row.id.skill, row.id.case, row.id.mode, row.id.number))
            );
            summary.add(&row);
        }
        let _ = (folder.judgment(), folder.final_text());
    }
    let _ = markdown::summary(&summary);
}
