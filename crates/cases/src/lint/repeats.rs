//! Cases that run until they are decided, but never can be.

use crate::cases::case::FoundCase;
use crate::cases::repo_files::RepoFiles;
use crate::decide::threshold;
use crate::settings::EffectiveRepetition;
use crate::settings::trials::MOST_TRIALS;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// The problem of a case if even the maximum number of trials, all passed, would not show its threshold.
pub fn never_decided(found: &FoundCase, repetition: EffectiveRepetition, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let max_trials = repetition.at_most().map(u64::from)?;
    let threshold = repetition.threshold;
    if threshold::shown_by(threshold, max_trials).is_some() {
        return None;
    }
    let own = found.repetition();
    let key = own.trials.map(|_| "trials").or(own.threshold.map(|_| "threshold"));
    let place = key.and_then(|key| found.source.place(key, None, tree)).unwrap_or_else(|| SourceLocation {
        line: found.line,
        column: 1,
        ..SourceLocation::file(&*found.file)
    });
    let message = format!(
        "{}/{} runs until it is decided, but its maximum of {max_trials} trials cannot show its threshold of {threshold}, even if \
         all pass",
        found.skill, found.id
    );
    let help = match threshold::shown_by(threshold, u64::from(MOST_TRIALS)) {
        Some(trials) => {
            format!("write at least `trials = \"until decided at most {trials}\"`, or lower the threshold")
        }
        None => format!("no number of trials shows a threshold of {threshold}; choose a lower one"),
    };
    Some(Diagnostic::new(Code::NeverDecided, place, message).help(help))
}
