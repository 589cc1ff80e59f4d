//! Decides whether a case passes often enough, by trials that run until it is decided.

use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::stats::sequence::beta_binomial;

/// Where the true rate of a case is, compared with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdSide {
    /// At the threshold or above.
    Above,
    /// Below it.
    Below,
    /// The trials do not tell yet.
    Undecided,
}

/// Whether the rate behind `rate` reaches `threshold`. May be asked after every trial: a wrong answer comes with
/// probability `1 − level` at most, over all of them together. A threshold of 1 is missed by the first failure, and is
/// never shown.
pub fn standing(rate: Rate, threshold: f64, level: f64) -> ThresholdSide {
    let interval = beta_binomial(rate, level);
    if interval.high < threshold {
        ThresholdSide::Below
    } else if interval.low >= threshold {
        ThresholdSide::Above
    } else {
        ThresholdSide::Undecided
    }
}

/// The number of further trials that are needed whatever their results, while `waiting` trials are running. At most
/// `most` trials are measured or running together. Starting this many, and asking again when one has ended, runs as
/// many trials at once as possible without one that an earlier decision would make unnecessary.
pub fn sure(rate: Rate, waiting: u64, threshold: f64, most: u64) -> u64 {
    let undecided = |rate| standing(rate, threshold, LEVEL) == ThresholdSide::Undecided;
    let open = |more: u64| {
        let trials = rate.trials + more;
        undecided(Rate::new(rate.passed + more, trials)) && undecided(Rate::new(rate.passed, trials))
    };
    let last = most.saturating_sub(rate.trials);
    (0..last).take_while(|more| open(*more)).map(|more| more + 1).last().unwrap_or_default().saturating_sub(waiting)
}

/// The number of trials that shows the threshold if all pass. `None` if `most` are not enough.
pub fn shown_by(threshold: f64, most: u64) -> Option<u64> {
    let shown = |trials| standing(Rate::new(trials, trials), threshold, LEVEL) == ThresholdSide::Above;
    // The more pass, the higher they lie.
    let (mut few, mut enough) = (0, Some(most).filter(|most| shown(*most))?);
    while enough - few > 1 {
        let middle = u64::midpoint(few, enough);
        *(if shown(middle) { &mut enough } else { &mut few }) = middle;
    }
    Some(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_stands_above_or_below_its_threshold_once_its_trials_tell() {
        let of = |passed, trials| standing(Rate::new(passed, trials), 0.8, 0.95);
        assert_eq!(
            (of(0, 0), of(5, 5), of(3, 5)),
            (ThresholdSide::Undecided, ThresholdSide::Undecided, ThresholdSide::Undecided)
        );
        assert_eq!((of(30, 30), of(0, 5)), (ThresholdSide::Above, ThresholdSide::Below));
        for trials in [1, 10, 1_000_000_000] {
            assert_eq!(standing(Rate::new(trials - 1, trials), 1.0, 0.95), ThresholdSide::Below);
        }
        assert_eq!(standing(Rate::new(1000, 1000), 1.0, 0.95), ThresholdSide::Undecided);
    }

    #[test]
    fn only_trials_that_no_decision_would_have_spared_are_sure_to_be_needed() {
        // Three failures in a row decide against 0.8, 24 passes for it.
        assert_eq!((sure(Rate::default(), 0, 0.8, 100), shown_by(0.8, 100)), (3, Some(24)));
        assert_eq!((sure(Rate::default(), 2, 0.8, 100), sure(Rate::default(), 3, 0.8, 100)), (1, 0));
        assert_eq!((sure(Rate::new(0, 2), 0, 0.8, 100), sure(Rate::new(0, 3), 0, 0.8, 100)), (1, 0));
        assert_eq!((sure(Rate::new(20, 20), 0, 0.8, 22), sure(Rate::new(24, 24), 0, 0.8, 100)), (2, 0));
        // A threshold of 1 is missed by one failure: one at a time, and never shown.
        assert_eq!((sure(Rate::new(7, 7), 0, 1.0, 100), shown_by(1.0, 1000)), (1, None));
        for seed in 0..200 {
            let mut world = fastrand::Rng::with_seed(seed);
            let (mut rate, mut waiting, share) = (Rate::default(), 0, world.f64());
            loop {
                waiting += sure(rate, waiting, 0.66, 60);
                if waiting == 0 {
                    break;
                }
                assert_eq!(
                    standing(rate, 0.66, LEVEL),
                    ThresholdSide::Undecided,
                    "one of {waiting} was not needed: {rate:?}"
                );
                rate.add(world.f64() < share);
                waiting -= 1;
            }
            assert!(rate.trials == 60 || standing(rate, 0.66, LEVEL) != ThresholdSide::Undecided, "{rate:?}");
        }
    }

    #[test]
    fn a_case_just_at_its_threshold_is_seldom_called_below_it_however_often_one_looks() {
        let below = (0..400).filter(|seed| {
            let mut world = fastrand::Rng::with_seed(*seed);
            let mut rate = Rate::default();
            (0..100).any(|_| {
                rate.add(world.f64() < 0.8);
                standing(rate, 0.8, 0.95) == ThresholdSide::Below
            })
        });
        // 5 % of 400, and three standard errors.
        let below = below.count();
        assert!(below <= 33, "{below}");
    }
}
