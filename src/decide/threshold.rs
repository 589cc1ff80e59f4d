//! Whether a case passes often enough, by trials that go on until that is decided.

use crate::stats::proportion::Rate;
use crate::stats::sequence::beta_binomial;

/// Where the true rate of a case lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
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
#[must_use]
pub fn standing(rate: Rate, threshold: f64, level: f64) -> Side {
    if threshold >= 1.0 && rate.failed() > 0 {
        return Side::Below;
    }
    let interval = beta_binomial(rate, level);
    if interval.high < threshold {
        Side::Below
    } else if interval.low >= threshold {
        Side::Above
    } else {
        Side::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_stands_above_or_below_its_threshold_once_its_trials_tell() {
        let of = |passed, trials| standing(Rate::new(passed, trials), 0.8, 0.95);
        assert_eq!((of(0, 0), of(5, 5), of(3, 5)), (Side::Undecided, Side::Undecided, Side::Undecided));
        assert_eq!((of(30, 30), of(0, 5)), (Side::Above, Side::Below));
        assert_eq!(standing(Rate::new(9, 10), 1.0, 0.95), Side::Below);
        assert_eq!(standing(Rate::new(1000, 1000), 1.0, 0.95), Side::Undecided);
    }

    #[test]
    fn a_case_just_at_its_threshold_is_seldom_called_below_it_however_often_one_looks() {
        let below = (0..400).filter(|seed| {
            let mut world = fastrand::Rng::with_seed(*seed);
            let mut rate = Rate::default();
            (0..100).any(|_| {
                rate.add(world.f64() < 0.8);
                standing(rate, 0.8, 0.95) == Side::Below
            })
        });
        // 5 % of 400, and three standard errors.
        let below = below.count();
        assert!(below <= 33, "{below}");
    }
}
