//! Cases that go on until they are decided and could never be.

use crate::cases::case::FoundCase;
use crate::cases::repo_files::RepoFiles;
use crate::decide::threshold;
use crate::settings::EffectiveRepetition;
use crate::settings::trials::MOST_TRIALS;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// Of a case whose repeats are these: that even if all trials passed, the most of them would not show its threshold.
pub(super) fn never_decided(found: &FoundCase, of: EffectiveRepetition, tree: &dyn RepoFiles) -> Option<Diagnostic> {
    let most = of.at_most().map(u64::from)?;
    if threshold::shown_by(of.threshold, most).is_some() {
        return None;
    }
    let own = found.repetition();
    let said = own.trials.map(|_| "trials").or(own.threshold.map(|_| "threshold"));
    let place = said.and_then(|key| found.source.place(key, None, tree));
    let place =
        place.unwrap_or_else(|| SourceLocation { line: found.line, column: 1, ..SourceLocation::file(&*found.file) });
    let message = format!(
        "{}/{} is to run until it is decided, but {most} trials, the most, would not show its threshold of {} even if all \
         passed",
        found.skill, found.id, of.threshold
    );
    let help = match threshold::shown_by(of.threshold, u64::from(MOST_TRIALS)) {
        Some(trials) => format!(
            "`trials = \"until decided at most {trials}\"` is the least that does; a lower threshold takes fewer"
        ),
        None => format!("no number of trials shows a threshold of {}; choose a lower one", of.threshold),
    };
    Some(Diagnostic::new(Code::NeverDecided, place, message).help(help))
}
