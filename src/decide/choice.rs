//! Where the next pair of trials goes: to the case that seems to tell most.

/// What is known of a case when the next pair is to be placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Pairs in which A alone passed.
    pub losses: u64,
    /// Pairs in which B alone passed.
    pub wins: u64,
    /// Pairs of any outcome, lost ones and those in flight too.
    pub tried: u64,
}

/// The case that is tried next: each once, and from then on the one with the highest rate of discordance, drawn from
/// what may be true of each (Thompson, Biometrika 25 (1933) 285): `Beta(½ + d, ½ + n − d)`. `seen` is not empty.
///
/// Looks only back, so that evidence stays valid; where all cases are alike, it is as good as going round.
#[must_use]
pub fn next(seen: &[Seen], rng: &mut fastrand::Rng) -> usize {
    if let Some(untried) = seen.iter().position(|case| case.tried == 0) {
        return untried;
    }
    let draw = |case: &Seen, rng: &mut fastrand::Rng| {
        let discordant = case.losses + case.wins;
        beta(discordant, case.tried - discordant, rng)
    };
    let draws = seen.iter().map(|case| draw(case, rng)).enumerate();
    draws.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(at, _)| at)
}

/// A draw from Beta(½ + a, ½ + b).
fn beta(a: u64, b: u64, rng: &mut fastrand::Rng) -> f64 {
    let (a, b) = (half_gamma(a, rng), half_gamma(b, rng));
    if a + b > 0.0 { a / (a + b) } else { 0.5 }
}

/// A draw from Gamma(½ + n): Marsaglia and Tsang, ACM TOMS 26 (2000) 363, one higher, and taken down by `U^(1/(½+n))`.
fn half_gamma(n: u64, rng: &mut fastrand::Rng) -> f64 {
    let shape = crate::stats::special::real(n) + 0.5;
    let d = shape + 1.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = normal(rng);
        let v = (1.0 + c * normal).powi(3);
        if v > 0.0 && open(rng).ln() < 0.5 * normal * normal + d - d * v + d * v.ln() {
            return d * v * open(rng).powf(1.0 / shape);
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
        for (a, b) in [(0_u32, 0_u32), (0, 5), (3, 1), (40, 60)] {
            let draws: Vec<f64> = (0..20_000).map(|_| beta(a.into(), b.into(), &mut rng)).collect();
            let (alpha, beta) = (f64::from(a) + 0.5, f64::from(b) + 0.5);
            let mean = draws.iter().sum::<f64>() / 20_000.0;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 20_000.0;
            let expected = alpha / (alpha + beta);
            let spread = expected * (1.0 - expected) / (alpha + beta + 1.0);
            assert!((mean - expected).abs() < 4.0 * (spread / 20_000.0).sqrt(), "{a} {b}: {mean}");
            assert!((variance / spread - 1.0).abs() < 0.05, "{a} {b}: {variance} instead of {spread}");
        }
    }

    #[test]
    fn every_case_is_tried_once_before_any_is_tried_again() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut seen = vec![Seen::default(); 7];
        for expected in 0..7 {
            let at = next(&seen, &mut rng);
            assert_eq!(at, expected);
            seen[at].tried += 1;
            seen[0].losses = seen[0].tried;
        }
    }

    #[test]
    fn trials_go_where_pairs_differ() {
        let mut rng = fastrand::Rng::with_seed(3);
        let mut seen = vec![Seen { tried: 5, ..Seen::default() }; 20];
        seen[13].losses = 4;
        let there = (0..100).filter(|_| next(&seen, &mut rng) == 13).count();
        assert!(there > 80, "{there}");
    }
}
