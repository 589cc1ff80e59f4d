//! The verdict of a case from its trials.

use super::*;

#[test]
fn the_trials_of_a_case_are_counted_by_their_verdicts() {
    let mut counts = TrialCounts::default();
    let verdicts = [(Verdict::Pass, 1), (Verdict::Fail, 2), (Verdict::Error, 3), (Verdict::Unscored, 4)];
    for (verdict, times) in verdicts {
        (0..times).for_each(|_| counts.add_verdict(verdict));
    }
    assert_eq!(counts, TrialCounts { passed: 1, failed: 2, errors: 3, unscored: 4, ..TrialCounts::default() });
}

#[test]
fn a_case_passes_by_its_share_and_depends_on_what_was_not_measured() {
    let ended =
        |passed, failed, errors, unscored| TrialCounts { passed, failed, errors, unscored, ..TrialCounts::default() };
    for (counts, threshold, verdict) in [
        (ended(1, 0, 0, 0), 1.0, Verdict::Pass),
        (ended(0, 1, 0, 0), 1.0, Verdict::Fail),
        (ended(1, 1, 0, 0), 0.5, Verdict::Pass),
        (ended(2, 1, 0, 0), 0.66, Verdict::Pass),
        (ended(2, 1, 0, 0), 2.0 / 3.0, Verdict::Pass),
        (ended(2, 1, 0, 0), 0.7, Verdict::Fail),
        (ended(1, 0, 1, 0), 0.5, Verdict::Pass),
        (ended(1, 0, 1, 0), 1.0, Verdict::Error),
        (ended(1, 1, 1, 0), 1.0, Verdict::Fail),
        (ended(1, 0, 0, 1), 1.0, Verdict::Unscored),
        (ended(0, 1, 2, 0), 0.6, Verdict::Error),
        (ended(0, 2, 1, 0), 0.6, Verdict::Fail),
        (ended(0, 0, 0, 0), 0.1, Verdict::Error),
    ] {
        assert_eq!(counts.verdict(threshold), verdict, "{counts:?} at {threshold}");
    }
}

#[test]
fn a_case_until_decided_is_an_error_if_what_crashed_could_change_it() {
    let until = |passed, failed, errors| CaseCounts {
        counts: TrialCounts { passed, failed, errors, ..TrialCounts::default() },
        threshold: Some(0.8),
        max_trials: Some(100),
        ..CaseCounts::default()
    };
    for (counts, verdict) in [
        (until(30, 0, 0), Verdict::Pass),
        (until(30, 0, 3), Verdict::Pass),
        (until(30, 0, 31), Verdict::Error),
        (until(0, 12, 2), Verdict::Fail),
        (until(0, 12, 60), Verdict::Error),
    ] {
        assert_eq!(counts.verdict(), Some(verdict), "{counts:?}");
    }
}
