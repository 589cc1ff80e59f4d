//! Decides whether a case passes often enough, by trials that run until it is decided.

use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::stats::sequence::beta_binomial;

/// Where the true rate of a case is, compared with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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

/// How often a case passes whose trials end once they decide about `threshold`: what the first trial yields on average, over all
/// orders of these outcomes in which no earlier trial would have decided. On average over all courses this is the true rate
/// (Girshick, Mosteller, Savage, AMS 17 (1946) 13). The share of trials that passed is not: a case of 60 % has 50 on average, since
/// it ends after failures. `None` without trials, and if no course leads here, as in several runs together. Also for a threshold of 1,
/// which the first failure decides: then only 0 or 1 would be true on average.
pub fn rate_on_average(rate: Rate, threshold: f64) -> Option<f64> {
    let passed = usize::try_from(rate.passed).ok().filter(|_| threshold < 1.0)?;
    // By the number of passes: the courses, and those of them that begin with a pass. Only their ratio counts.
    let mut courses = vec![(1.0, 0.0)];
    let (mut below, mut above) = (0, 1);
    for trials in 1..=rate.trials {
        let from = |at: Option<usize>| at.and_then(|at| courses.get(at)).copied().unwrap_or_default();
        let mut next: Vec<(f64, f64)> = (0..=courses.len())
            .map(|at| {
                let (failed, passed) = (from(Some(at)), from(at.checked_sub(1)));
                let begun = if trials == 1 { passed.0 } else { failed.1 + passed.1 };
                (failed.0 + passed.0, begun)
            })
            .collect();
        if trials < rate.trials {
            // The more pass, the higher they stand: the courses that are decided are at both ends.
            let side = |passed: usize| standing(Rate::new(passed as u64, trials), threshold, LEVEL);
            while below < next.len() && side(below) == ThresholdSide::Below {
                below += 1;
            }
            above = (above + 1).min(next.len());
            while above > below && side(above - 1) == ThresholdSide::Above {
                above -= 1;
            }
            next[..below.min(above)].fill((0.0, 0.0));
            next[above..].fill((0.0, 0.0));
        }
        let most = next.iter().map(|(all, _)| *all).fold(f64::MIN_POSITIVE, f64::max);
        courses = next.into_iter().map(|(all, begun)| (all / most, begun / most)).collect();
    }
    let (all, begun) = courses.get(passed).copied().filter(|_| rate.trials > 0)?;
    (all > 0.0).then(|| begun / all)
}

/// The number of trials that run in any case, before the first one decides.
pub fn fewest(threshold: f64) -> u64 {
    sure(Rate::default(), 0, threshold, FEW).max(1)
}

/// More trials than the first ones that are sure to be needed.
const FEW: u64 = 200;

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
    fn the_rate_of_a_case_that_ends_once_it_is_decided_is_true_on_average_and_in_its_interval() {
        for (threshold, most) in [(0.8, 60), (0.66, 40), (0.5, 30), (0.95, 50)] {
            for truth in [0.0, 0.2, 0.5, 0.6, 0.8, 0.9, 1.0] {
                let (mut open, mut mean, mut of_shares) = (vec![1.0], 0.0, 0.0);
                for trials in 1..=most {
                    let from = |x: usize| open.get(x).copied().unwrap_or(0.0);
                    let to = |x: usize| from(x) * (1.0 - truth) + if x > 0 { from(x - 1) * truth } else { 0.0 };
                    let mut next: Vec<f64> = (0..=open.len()).map(to).collect();
                    for (passed, chance) in next.iter_mut().enumerate().filter(|(_, chance)| **chance > 0.0) {
                        let rate = Rate::new(passed as u64, trials);
                        if trials == most || standing(rate, threshold, LEVEL) != ThresholdSide::Undecided {
                            let found = rate_on_average(rate, threshold).expect("a course");
                            let interval = beta_binomial(rate, LEVEL);
                            assert!(interval.contains(found), "{rate:?} at {threshold}: {found} {interval:?}");
                            (mean, of_shares) =
                                (mean + *chance * found, of_shares + *chance * rate.share().expect("trials"));
                            *chance = 0.0;
                        }
                    }
                    open = next;
                }
                assert!((mean - truth).abs() < 1e-9, "{truth} at {threshold}: {mean}");
                assert!((threshold, truth) != (0.8, 0.6) || of_shares < 0.53, "the share alone is wrong: {of_shares}");
            }
        }
        assert_eq!((rate_on_average(Rate::default(), 0.8), rate_on_average(Rate::new(0, 9), 0.8)), (None, None));
        assert_eq!(rate_on_average(Rate::new(9, 10), 1.0), None);
        assert_eq!((fewest(0.8), fewest(1.0)), (3, 1));
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
