//! Whether the same cases pass less often than they did, by their trials night after night. You may look every night.
//!
//! Nobody knows on which night something changed, so each night is a guess: the nights before it are its base. Per case, with `x` of
//! `n` trials passed before and `y` of `m` since, the evidence of a guess is a mixture of the likelihood over both rates, divided by
//! its maximum over all rates that did not get worse (universal inference: Wasserman, Ramdas, Balakrishnan, PNAS 117 (2020) 16880).
//! If nothing changed, it is 1 on average at most, whatever the rate is, after every trial. The same of all cases together is evidence
//! about their mean, however different they are: a bet on it pays the product of what it pays on each case, and the geometric mean is
//! at most the arithmetic mean. For that, every night has the same number of trials of each case. The evidence of a series is the mean
//! over the guesses of a year, and that of all series is the mean over them, so Ville's inequality holds for a year of all together.

use serde::Serialize;
use statrs::function::gamma::ln_gamma;

use crate::stats::proportion::Rate;
use crate::stats::{len, real};

/// The chance that any series is called worse within a year although nothing changed.
pub const YEARLY_ALPHA: f64 = 0.05;

/// The fewest trials of a case before a night that can be its base.
pub const LEAST_BASE: u64 = 20;

/// The guesses of a year.
const NIGHTS: f64 = 366.0;

/// The mixture over the rates before (beta distribution): cases mostly pass.
const USUAL: (f64, f64) = (5.0, 0.5);

/// The same over the rates since: of a case that got worse.
const HARMED: (f64, f64) = (0.5, 1.0);

/// The pass rates of a series changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Shift {
    /// The place of the first night after it: the one of which the trials tell most.
    #[serde(skip)]
    pub since: usize,
    /// Trials of all cases with a base, before that night.
    pub before: Rate,
    /// The same since.
    pub after: Rate,
    /// At most the chance of such evidence in any series within a year if nothing changed.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub p: f64,
    /// Whether they fell. Otherwise they rose again.
    pub worse: bool,
}

/// What the nights of a series show.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    /// Every change that was shown, in order: worse, better, worse …
    pub shifts: Vec<Shift>,
    /// Whether a case has a base, so that a change can be shown.
    pub has_base: bool,
}

impl Watched {
    /// The change for the worse that is not over.
    pub fn worse(&self) -> Option<&Shift> {
        self.shifts.last().filter(|shift| shift.worse)
    }
}

/// Watches a series: for each night the trials of each case, in one order. `is_known` says on which nights something outside changed:
/// of guesses that tell about as much, such a night is named. `series` is the number of series that are watched.
pub fn watch(nights: &[Vec<Rate>], is_known: impl Fn(usize) -> bool, series: usize) -> Watched {
    let sums = Sums::of(nights);
    let mut watched = Watched { shifts: Vec::new(), has_base: false };
    let (mut start, mut falls) = (0, true);
    for last in 0..nights.len() {
        let looked = sums.look(start, last, falls);
        let evidence = looked.iter().map(|(_, e)| e / NIGHTS).sum::<f64>() / len(series.max(1));
        watched.has_base = !looked.is_empty();
        if evidence < 1.0 / YEARLY_ALPHA {
            continue;
        }
        let weight = |(night, e): &(usize, f64)| if is_known(*night) { e * KNOWN } else { *e };
        let Some((since, _)) = looked.iter().max_by(|a, b| weight(a).total_cmp(&weight(b))).copied() else { continue };
        let (before, after) = sums.rates(start, since, last);
        watched.shifts.push(Shift { since, before, after, p: evidence.recip(), worse: falls });
        (start, falls) = (since, !falls);
    }
    if let Some(shift) = watched.shifts.last_mut() {
        shift.after = sums.rates(shift.since, shift.since, nights.len() - 1).1;
    }
    watched
}

/// How much likelier it is that a change fell on a night on which something outside changed.
const KNOWN: f64 = 10.0;

/// Sums of trials up to each night, and the logarithms that they need.
struct Sums {
    /// For each night and each case, the trials of all nights before it.
    before: Vec<Vec<Rate>>,
    /// For each night, the nights with as many trials of each case: their place in `alike`.
    kinds: Vec<usize>,
    /// For each kind of night, the trials of all cases in the nights of that kind before each night.
    alike: Vec<Vec<Rate>>,
    table: Table,
}

impl Sums {
    fn of(nights: &[Vec<Rate>]) -> Self {
        let cases = nights.iter().map(Vec::len).max().unwrap_or_default();
        let mut before = vec![vec![Rate::default(); cases]];
        for night in nights {
            let mut sum = before.last().cloned().unwrap_or_default();
            for (sum, rate) in sum.iter_mut().zip(night) {
                *sum = sum.plus(*rate);
            }
            before.push(sum);
        }
        let most = before.last().into_iter().flatten().map(|rate| rate.trials).sum();
        let trials = |night: &Vec<Rate>| night.iter().map(|rate| rate.trials).collect::<Vec<_>>();
        let mut known: Vec<Vec<u64>> = Vec::new();
        let mut kind = |night| {
            let trials = trials(night);
            known.iter().position(|known| *known == trials).unwrap_or_else(|| {
                known.push(trials);
                known.len() - 1
            })
        };
        let kinds: Vec<usize> = nights.iter().map(&mut kind).collect();
        let alike = (0..known.len()).map(|wanted| {
            let mut sums = vec![Rate::default()];
            for (night, kind) in nights.iter().zip(&kinds) {
                let of = if *kind == wanted { night.as_slice() } else { &[] };
                sums.push(of.iter().fold(sums[sums.len() - 1], |sum, rate| sum.plus(*rate)));
            }
            sums
        });
        Self { before, alike: alike.collect(), kinds, table: Table::up_to(most) }
    }

    /// The evidence about the mean of all cases, by the nights that are like the first since the guess.
    fn mean(&self, start: usize, since: usize, last: usize, falls: bool) -> f64 {
        let sums = &self.alike[self.kinds[since]];
        let between = |from: usize, to: usize| {
            Rate::new(sums[to].passed - sums[from].passed, sums[to].trials - sums[from].trials)
        };
        let (base, now) = (between(start, since), between(since, last + 1));
        match falls {
            _ if base.trials < LEAST_BASE => 1.0,
            true => self.table.worse(base, now),
            false => self.table.worse(failed(base), failed(now)),
        }
    }

    /// The trials of a case from night `from` up to `to`, which is not included.
    fn between(&self, case: usize, from: usize, to: usize) -> Rate {
        let (early, late) = (self.before[from][case], self.before[to][case]);
        Rate::new(late.passed - early.passed, late.trials - early.trials)
    }

    /// The cases that have a base in the nights from `start` to `since`.
    fn based(&self, start: usize, since: usize) -> impl Iterator<Item = (usize, Rate)> + '_ {
        let cases = 0..self.before[0].len();
        cases.map(move |case| (case, self.between(case, start, since))).filter(|(_, base)| base.trials >= LEAST_BASE)
    }

    /// The evidence of each guess, after the night `last`.
    fn look(&self, start: usize, last: usize, falls: bool) -> Vec<(usize, f64)> {
        let guess = |since: usize| {
            let cases = self.based(start, since);
            let own = cases.map(|(case, base)| {
                let now = self.between(case, since, last + 1);
                if falls { self.table.worse(base, now) } else { self.table.worse(failed(base), failed(now)) }
            });
            let own: Vec<f64> = own.collect();
            (!own.is_empty()).then(|| (since, together(&own, self.mean(start, since, last, falls))))
        };
        (start + 1..=last).filter_map(guess).collect()
    }

    fn rates(&self, start: usize, since: usize, last: usize) -> (Rate, Rate) {
        let mut both = (Rate::default(), Rate::default());
        for case in 0..self.before[0].len() {
            let base = self.between(case, start, since);
            if start == since || base.trials >= LEAST_BASE {
                both.0 = both.0.plus(base);
                both.1 = both.1.plus(self.between(case, since, last + 1));
            }
        }
        both
    }
}

/// The trials that did not pass, as if they had.
fn failed(rate: Rate) -> Rate {
    Rate::new(rate.failed(), rate.trials)
}

/// The evidence of several cases: a bet that a share of them changed, averaged over shares from one case to all, and over the bet on
/// their mean. Cases are independent, so a product of their bets is a bet.
fn together(cases: &[f64], mean: f64) -> f64 {
    let count = len(cases.len());
    let shares = [count.recip(), count.sqrt().recip(), 1.0];
    let bet = |share: f64| cases.iter().map(|e| 1.0 - share + share * e).product::<f64>().min(f64::MAX / 1e6);
    (mean + shares.into_iter().map(bet).sum::<f64>()) / len(shares.len() + 1)
}

/// Logarithms of whole numbers: each is needed for many guesses.
struct Table {
    /// `k ln k`.
    power: Vec<f64>,
    /// `ln Γ(k)`, and `ln Γ(k + ½)`.
    gamma: Vec<(f64, f64)>,
}

impl Table {
    fn up_to(most: u64) -> Self {
        let numbers = 0..most + 16;
        let power = numbers.clone().map(real).map(|k| if k == 0.0 { 0.0 } else { k * k.ln() }).collect();
        let gamma = numbers.map(real).map(|k| (ln_gamma(k.max(1.0)), ln_gamma(k + 0.5))).collect();
        Self { power, gamma }
    }

    /// `ln B(a, b)` with the ends of a prior, which are multiples of ½.
    fn ln_beta(&self, passed: u64, failed: u64, (a, b): (f64, f64)) -> f64 {
        let at = |count: u64, more: f64| {
            let whole = more.floor();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small whole number")]
            let (gamma, half) = self.gamma[(count + whole as u64) as usize];
            if more > whole { half } else { gamma }
        };
        // The ends together are a multiple of ½ too.
        at(passed, a) + at(failed, b) - at(passed + failed, a + b)
    }

    /// `ln` of the highest likelihood of these trials.
    fn highest(&self, rate: Rate) -> f64 {
        let power = |count: u64| self.power[usize::try_from(count).unwrap_or_default()];
        power(rate.passed) + power(rate.failed()) - power(rate.trials)
    }

    /// The evidence against "the case does not pass less often now".
    fn worse(&self, base: Rate, now: Rate) -> f64 {
        let mixture = |rate: Rate, prior| self.ln_beta(rate.passed, rate.failed(), prior) - self.ln_beta(0, 0, prior);
        let fell = now.passed * base.trials < base.passed * now.trials;
        let null = if fell { self.highest(base.plus(now)) } else { self.highest(base) + self.highest(now) };
        (mixture(base, USUAL) + mixture(now, HARMED) - null).exp().min(f64::MAX / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::binomial;

    #[test]
    fn the_evidence_of_a_case_is_one_on_average_at_most_whatever_its_rate_is() {
        let table = Table::up_to(60);
        for (n, m) in [(20, 1), (20, 12), (30, 30)] {
            for rate in [0.02, 0.3, 0.5, 0.8, 0.95, 1.0] {
                let (base, now) = (binomial(n, rate), binomial(m, rate));
                let mean = |e: &dyn Fn(Rate, Rate) -> f64| -> f64 {
                    let of = |x: u64, weight: f64| {
                        (0..=m).zip(&now).map(|(y, w)| weight * w * e(Rate::new(x, n), Rate::new(y, m))).sum::<f64>()
                    };
                    (0..=n).zip(&base).map(|(x, weight)| of(x, *weight)).sum()
                };
                assert!(mean(&|base, now| table.worse(base, now)) <= 1.0, "{n} {m} {rate}");
                assert!(mean(&|base, now| table.worse(failed(base), failed(now))) <= 1.0, "{n} {m} {rate}");
            }
        }
    }

    #[test]
    fn the_evidence_about_the_mean_is_one_on_average_at_most_however_different_the_cases_are() {
        // Of two cases, twelve trials each before the guess and five since, by every outcome.
        for (one, other) in [(0.5, 0.5), (0.1, 0.9), (0.7, 1.0)] {
            let sum = |trials: u64| {
                let (a, b) = (binomial(trials, one), binomial(trials, other));
                let mut weights = vec![0.0; a.len() + b.len() - 1];
                for (x, a) in a.iter().enumerate() {
                    b.iter().enumerate().for_each(|(y, b)| weights[x + y] += a * b);
                }
                weights
            };
            let (table, base, now) = (Table::up_to(60), sum(12), sum(5));
            let mut mean = 0.0;
            for (x, a) in (0..).zip(&base) {
                for (y, b) in (0..).zip(&now) {
                    mean += a * b * table.worse(Rate::new(x, 24), Rate::new(y, 10));
                }
            }
            assert!(mean <= 1.0, "{one} {other}: {mean}");
        }
    }

    #[test]
    fn the_evidence_is_the_mixture_that_it_says() {
        // By statrs' beta function instead of the table.
        use crate::stats::ln_beta;
        let table = Table::up_to(80);
        let expected = ln_beta(43.0, 2.5) - ln_beta(5.0, 0.5) + ln_beta(22.5, 19.0)
            - ln_beta(0.5, 1.0)
            - (60.0 * 0.75_f64.ln() + 20.0 * 0.25_f64.ln());
        let found = table.worse(Rate::new(38, 40), Rate::new(22, 40));
        assert!((found.ln() - expected).abs() < 1e-9, "{found}");
        assert!(found > 100.0, "{found}");
    }

    /// A night with one trial of each of four cases, of which this many pass.
    fn night(passed: usize) -> Vec<Rate> {
        (0..4).map(|case| Rate::new(u64::from(case < passed), 1)).collect()
    }

    #[test]
    fn without_twenty_trials_of_a_case_there_is_no_base() {
        assert!(!watch(&vec![night(4); 20], |_| false, 1).has_base);
        assert!(watch(&vec![night(4); 21], |_| false, 1).has_base);
        assert!(watch(&[], |_| false, 1).shifts.is_empty());
    }

    #[test]
    fn a_drop_is_dated_to_the_night_on_which_it_began_and_is_over_when_the_rate_is_back() {
        let mut nights = vec![night(4); 30];
        nights.extend(vec![night(1); 12]);
        let watched = watch(&nights, |_| false, 1);
        let worse = watched.worse().expect("a drop");
        assert_eq!((worse.since, worse.before, worse.after), (30, Rate::new(120, 120), Rate::new(12, 48)));
        assert!(worse.p <= YEARLY_ALPHA, "{worse:?}");
        nights.extend(vec![night(1); 15]);
        nights.extend(vec![night(4); 40]);
        let watched = watch(&nights, |_| false, 1);
        assert_eq!((watched.shifts.len(), watched.worse()), (2, None), "{watched:?}");
        assert_eq!(watched.shifts[1].since, 57);
    }

    #[test]
    fn of_nights_that_tell_about_as_much_the_one_with_a_change_outside_is_named() {
        let mut nights = vec![night(4); 30];
        // Nobody can tell whether a night on which all passed belongs to either side.
        nights.extend([4, 3, 3, 4, 3, 3, 4, 3, 3, 4, 3, 3, 3, 4, 3, 3, 3].map(night));
        let since = |known: usize| watch(&nights, |night| night == known, 1).worse().map(|shift| shift.since);
        assert_eq!((since(99), since(30), since(20)), (Some(31), Some(30), Some(31)));
    }

    #[test]
    fn more_series_need_more_evidence() {
        let mut nights = vec![night(4); 30];
        nights.extend(vec![night(2); 3]);
        let finds = |series: usize| watch(&nights, |_| false, series).worse().is_some();
        assert!(finds(1) && !finds(100_000));
    }
}
