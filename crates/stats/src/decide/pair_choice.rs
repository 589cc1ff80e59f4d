//! Which case the next pair of trials goes to.

use crate::stats::discordance::e_worse;
use crate::stats::special::real;

/// What is known of a case before the next pair starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseTally {
    /// Pairs that only the baseline passed.
    pub losses: u64,
    /// Pairs that only the candidate passed.
    pub wins: u64,
    /// Pairs of any outcome, also those that were not measured or are running.
    pub tried: u64,
}

/// What the next pair is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairPurpose {
    /// To find the cases that broke.
    Harm,
    /// To complete the next round, since only rounds tell about the mean of all cases.
    Mean,
}

/// The case to try next, one of `open`; none if that is empty. It depends on past pairs only, so that evidence stays valid.
///
/// Each case is tried once, in their order. Then, to find harm, the case is chosen whose next pair adds most to the
/// evidence: the growth of its logarithm by a loss and by a win, each times how often the case yields it. How often is drawn
/// from what it may be (Thompson, Biometrika 25 (1933) 285): losses, wins and ties of a case from
/// `Dirichlet(1/16 + losses, 1/16 + wins, ½ + ties)`.
///
/// The rate of discordance alone would lead to cases that pass now and then on both sides, whose pairs are not
/// evidence.
pub fn next(seen: &[CaseTally], open: &[usize], purpose: PairPurpose, rng: &mut fastrand::Rng) -> Option<usize> {
    let least = open.iter().copied().min_by_key(|case| seen[*case].tried)?;
    if purpose == PairPurpose::Mean || seen[least].tried == 0 {
        return Some(least);
    }
    let all = |of: fn(&CaseTally) -> u64| seen.iter().map(of).sum::<u64>();
    let (losses, wins) = (all(|case| case.losses), all(|case| case.wins));
    let now = e_worse(losses, wins).ln();
    let (of_loss, of_win) = (e_worse(losses + 1, wins).ln() - now, e_worse(losses, wins + 1).ln() - now);
    let mut best = None;
    for &case in open {
        let tally = &seen[case];
        let loss = gamma(RARE + real(tally.losses), rng);
        let win = gamma(RARE + real(tally.wins), rng);
        let tie = gamma(0.5 + real(tally.tried - tally.losses - tally.wins), rng);
        let adds = (loss * of_loss + win * of_win) / (loss + win + tie);
        if best.is_none_or(|(_, most)| adds > most) {
            best = Some((case, adds));
        }
    }
    best.map(|(case, _)| case)
}

/// Before its first pair, a case is assumed to have hardly changed; one discordant pair outweighs that.
const RARE: f64 = 1.0 / 16.0;

/// A draw from Gamma(shape): that of `shape + 1` (Marsaglia and Tsang, ACM TOMS 26 (2000) 363), taken down by
/// `U^(1/shape)`.
fn gamma(shape: f64, rng: &mut fastrand::Rng) -> f64 {
    let d = shape + 1.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = normal(rng);
        let v = (1.0 + c * normal).powi(3);
        if is_kept(d, v, normal, rng) {
            return (d * v * open(rng).powf(1.0 / shape)).max(f64::MIN_POSITIVE);
        }
    }
}

/// Whether the draw `v` is not rejected; few are.
fn is_kept(d: f64, v: f64, normal: f64, rng: &mut fastrand::Rng) -> bool {
    v > 0.0 && open(rng).ln() < 0.5 * normal * normal + d - d * v + d * v.ln()
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
    fn draws_have_the_mean_the_spread_and_the_quantiles_of_their_distribution() {
        let mut rng = fastrand::Rng::with_seed(1);
        for shape in [0.0625, 0.5, 3.0, 40.5] {
            let mut draws: Vec<f64> = (0..40_000).map(|_| gamma(shape, &mut rng)).collect();
            draws.sort_by(f64::total_cmp);
            for (place, draw) in (0..).zip(&draws).step_by(400) {
                let share = statrs::function::gamma::gamma_lr(shape, *draw);
                assert!((share - f64::from(place) / 40_000.0).abs() < 0.01, "{shape}: {share} at {place}");
            }
            let mean = draws.iter().sum::<f64>() / 40_000.0;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean - shape).abs() < 4.0 * (shape / 40_000.0).sqrt(), "{shape}: {mean}");
            assert!((variance / shape - 1.0).abs() < 0.15, "{shape}: {variance}");
        }
    }

    /// The case that `next` chooses of all.
    fn choice(seen: &[CaseTally], purpose: PairPurpose, rng: &mut fastrand::Rng) -> usize {
        let all: Vec<usize> = (0..seen.len()).collect();
        next(seen, &all, purpose, rng).expect("a case")
    }

    #[test]
    fn every_case_is_tried_once_before_any_is_tried_again() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut seen = vec![CaseTally::default(); 7];
        for expected in 0..7 {
            let at = choice(&seen, PairPurpose::Harm, &mut rng);
            assert_eq!(at, expected);
            seen[at].tried += 1;
            seen[0].losses = seen[0].tried;
        }
        assert_eq!(next(&seen, &[], PairPurpose::Harm, &mut rng), None);
        assert_eq!(next(&seen, &[3], PairPurpose::Harm, &mut rng), Some(3));
    }

    /// How many of 200 choices are `case`.
    fn chosen(seen: &[CaseTally], purpose: PairPurpose, case: usize) -> usize {
        let mut rng = fastrand::Rng::with_seed(3);
        (0..200).filter(|_| choice(seen, purpose, &mut rng) == case).count()
    }

    #[test]
    fn trials_go_to_what_broke_and_not_to_what_passes_now_and_then_on_both_sides() {
        let mut seen = vec![CaseTally { tried: 12, ..CaseTally::default() }; 20];
        seen[13].losses = 6;
        assert!(chosen(&seen, PairPurpose::Harm, 13) > 150);
        for flaky in &mut seen[..8] {
            (flaky.losses, flaky.wins) = (3, 3);
        }
        assert!(chosen(&seen, PairPurpose::Harm, 13) > 120, "{}", chosen(&seen, PairPurpose::Harm, 13));
        // Nor to what got better, however much did.
        for better in &mut seen[14..] {
            better.wins = 12;
        }
        assert!(chosen(&seen, PairPurpose::Harm, 13) > 120, "{}", chosen(&seen, PairPurpose::Harm, 13));
    }

    #[test]
    fn for_the_mean_all_cases_take_turns() {
        let mut seen = vec![CaseTally { tried: 4, ..CaseTally::default() }; 6];
        seen[2] = CaseTally { losses: 2, wins: 0, tried: 3 };
        assert_eq!(chosen(&seen, PairPurpose::Mean, 2), 200);
        seen[2].tried = 5;
        assert_eq!(chosen(&seen, PairPurpose::Mean, 0), 200);
    }

    /// The case that is chosen of the first two of `cases`, given by losses, wins and ties; always the same.
    fn always_chosen(cases: [(u64, u64, u64); 3]) -> Option<usize> {
        let seen = cases.map(|(losses, wins, ties)| CaseTally { losses, wins, tried: losses + wins + ties });
        let mut rng = fastrand::Rng::with_seed(4);
        let mut chosen: Vec<_> = (0..20).map(|_| next(&seen, &[0, 1], PairPurpose::Harm, &mut rng)).collect();
        chosen.dedup();
        assert_eq!(chosen.len(), 1, "{chosen:?}");
        chosen[0]
    }

    #[test]
    fn of_two_well_known_cases_the_one_is_chosen_whose_next_pair_adds_more() {
        // With 45,800 losses and 39,000 wins, the logarithm grows by 0.077 with a loss and falls by 0.084 with a win.
        // 0.4 · 0.077 − 0.3 · 0.084 is more than 0.058 · 0.077.
        assert_eq!(always_chosen([(5_800, 0, 94_200), (40_000, 30_000, 30_000), (0, 9_000, 0)]), Some(1));
        // And 0.3 · 0.074 − 0.3 · 0.080 is less than nothing.
        assert_eq!(always_chosen([(30_000, 30_000, 40_000), (5_000, 0, 95_000), (0, 0, 1)]), Some(1));
    }
}
