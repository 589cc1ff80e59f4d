//! Where the next pair of trials goes: to the case that seems to tell most.

use crate::stats::special::real;

/// What is known of a case when the next pair is to be placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseTally {
    /// Pairs in which A alone passed.
    pub losses: u64,
    /// Pairs in which B alone passed.
    pub wins: u64,
    /// Pairs of any outcome, lost ones and those in flight too.
    pub tried: u64,
}

/// What the next pair is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairPurpose {
    /// To find what changed: it is decided soonest where it did.
    Change,
    /// To know all cases equally well: to show that none lost more than the margin, or on which side the balance is.
    Balance,
}

/// The case that is tried next; 0 where there is none. Looks only back, so that evidence stays valid.
///
/// Each case once, in their order, and further round where balance is the aim. From then on the case whose next pair adds most
/// to the evidence: what a pair adds is `ln 2θ` for a loss and `ln 2(1−θ)` for a win, where θ is the probability that a
/// discordant pair is a loss, and how often it comes to each differs from case to case. Both are drawn from what they may
/// be (Thompson, Biometrika 25 (1933) 285): θ from `Beta(½ + losses, ½ + wins)` of all cases, a case's losses, wins and
/// concordant pairs from `Dirichlet(1/16 + losses, 1/16 + wins, ½ + concordant)`.
///
/// A rate of discordance alone would lead to cases that pass now and then in both arms, which tell nothing: with many of
/// those it takes several times as many pairs as going round. Where all cases changed alike, every choice is as good as
/// any other.
#[must_use]
pub fn next(seen: &[CaseTally], aim: PairPurpose, rng: &mut fastrand::Rng) -> usize {
    let least = (0..seen.len()).min_by_key(|at| seen[*at].tried).unwrap_or_default();
    if aim == PairPurpose::Balance || seen.get(least).is_none_or(|case| case.tried == 0) {
        return least;
    }
    let all = |of: fn(&CaseTally) -> u64| real(seen.iter().map(of).sum());
    let (loss, win) = (gamma(0.5 + all(|case| case.losses), rng), gamma(0.5 + all(|case| case.wins), rng));
    let worth = |mass: f64| (2.0 * (mass / (loss + win)).max(f64::MIN_POSITIVE)).ln();
    let (of_loss, of_win) = (worth(loss), worth(win));
    let mut adds = |case: &CaseTally| {
        let loss = gamma(RARE + real(case.losses), rng);
        let win = gamma(RARE + real(case.wins), rng);
        let neither = gamma(0.5 + real(case.tried - case.losses - case.wins), rng);
        (loss * of_loss + win * of_win) / (loss + win + neither)
    };
    let adds: Vec<f64> = seen.iter().map(&mut adds).collect();
    (0..seen.len()).max_by(|a, b| adds[*a].total_cmp(&adds[*b])).unwrap_or_default()
}

/// Before its first pair, a case is taken to be one that hardly changed; one discordant pair tells otherwise.
const RARE: f64 = 1.0 / 16.0;

/// A draw from Gamma(shape): that of `shape + 1` (Marsaglia and Tsang, ACM TOMS 26 (2000) 363), taken down by
/// `U^(1/shape)`.
fn gamma(shape: f64, rng: &mut fastrand::Rng) -> f64 {
    let d = shape + 1.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = normal(rng);
        let v = (1.0 + c * normal).powi(3);
        if v > 0.0 && open(rng).ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return (d * v * open(rng).powf(1.0 / shape)).max(f64::MIN_POSITIVE);
        }
    }
}

/// A standard normal draw: Box and Muller.
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * open(rng).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// A draw above 0 and up to 1.
fn open(rng: &mut fastrand::Rng) -> f64 {
    1.0 - rng.f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_have_the_mean_and_the_spread_of_their_distribution() {
        let mut rng = fastrand::Rng::with_seed(1);
        for shape in [0.0625, 0.5, 3.0, 40.5] {
            let draws: Vec<f64> = (0..40_000).map(|_| gamma(shape, &mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / 40_000.0;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean - shape).abs() < 4.0 * (shape / 40_000.0).sqrt(), "{shape}: {mean}");
            assert!((variance / shape - 1.0).abs() < 0.15, "{shape}: {variance}");
        }
    }

    #[test]
    fn every_case_is_tried_once_before_any_is_tried_again() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut seen = vec![CaseTally::default(); 7];
        for expected in 0..7 {
            let at = next(&seen, PairPurpose::Change, &mut rng);
            assert_eq!(at, expected);
            seen[at].tried += 1;
            seen[0].losses = seen[0].tried;
        }
        assert_eq!(next(&[], PairPurpose::Change, &mut rng), 0);
    }

    /// How many of 200 choices are `case`.
    fn chosen(seen: &[CaseTally], aim: PairPurpose, case: usize) -> usize {
        let mut rng = fastrand::Rng::with_seed(3);
        (0..200).filter(|_| next(seen, aim, &mut rng) == case).count()
    }

    #[test]
    fn trials_go_to_what_changed_and_not_to_what_passes_now_and_then_in_both_arms() {
        let mut seen = vec![CaseTally { tried: 12, ..CaseTally::default() }; 20];
        seen[13].losses = 6;
        assert!(chosen(&seen, PairPurpose::Change, 13) > 150);
        for flaky in &mut seen[..8] {
            (flaky.losses, flaky.wins) = (3, 3);
        }
        assert!(chosen(&seen, PairPurpose::Change, 13) > 120, "{}", chosen(&seen, PairPurpose::Change, 13));
    }

    #[test]
    fn good_news_is_collected_equally_often() {
        let mut seen = vec![CaseTally { tried: 4, ..CaseTally::default() }; 6];
        seen[2] = CaseTally { losses: 2, wins: 0, tried: 3 };
        assert_eq!(chosen(&seen, PairPurpose::Balance, 2), 200);
        seen[2].tried = 5;
        assert_eq!(chosen(&seen, PairPurpose::Balance, 0), 200);
    }
}
