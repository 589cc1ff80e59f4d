//! How much more the candidate takes than the baseline: tokens, cost, seconds, commands.
//!
//! Amounts differ by factors from case to case, so they are compared as ratios within a case. The estimate is the mean
//! over the given cases of `mean ln candidate − mean ln baseline`; its `exp` is shown.

use serde::Serialize;

use super::Interval;
use super::special::{len, t_quantile, t_two_sided};

/// The amounts of a case on both sides, one for each trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Amounts {
    /// The baseline's.
    pub baseline: Vec<f64>,
    /// The candidate's.
    pub candidate: Vec<f64>,
}

/// The candidate's amount divided by the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio of geometric means, paired by case: 1.12 means 12 % more.
    pub ratio: f64,
    /// The interval of the true ratio. `None` for a single case without two trials on each side, or if all cases
    /// changed by exactly the same factor.
    pub interval: Option<Interval>,
    /// The probability of a ratio at least as far from 1 if nothing changed. `None` without an interval.
    pub p: Option<f64>,
    /// The number of cases with amounts on both sides.
    pub cases: usize,
    /// The number of cases with amounts on one side only. They are not counted.
    pub one_side_only: usize,
    /// The number of amounts that are not positive after `plus` is added. They are not counted.
    pub unusable: usize,
}

/// The ratio over `cases`. `None` if no case has amounts on both sides. `plus` is added to every amount before its
/// logarithm: 0 for amounts that are never 0 (tokens, cost, seconds), 1 for counts that may be 0 (commands).
///
/// If every case has two trials on each side, the interval is Welch's on logarithms, stratified by case. The variance
/// is `Σ (s²_A/n_A + s²_B/n_B) / C²`, the degrees of freedom are Satterthwaite's (Biometrics Bulletin 2 (1946) 110).
/// Otherwise the interval is Student's over the differences of the cases. Up to 16 cases, p is then exact: the share of
/// all ways to exchange the sides within cases whose mean is at least as far from 0 (Fisher, The Design of Experiments
/// (1935), section 21).
pub fn ratio(cases: &[Amounts], plus: f64, level: f64) -> Option<Ratio> {
    let usable = |amount: &&f64| amount.is_finite() && **amount + plus > 0.0;
    let logarithms = |amounts: &[f64]| Sample::of(amounts.iter().filter(usable).map(|amount| (amount + plus).ln()));
    let samples: Vec<(Sample, Sample)> =
        cases.iter().map(|case| (logarithms(&case.baseline), logarithms(&case.candidate))).collect();
    let given: usize = cases.iter().map(|case| case.baseline.len() + case.candidate.len()).sum();
    let used: usize = samples.iter().map(|(a, b)| a.count + b.count).sum();
    let one_sided = samples.iter().filter(|(a, b)| (a.count == 0) != (b.count == 0)).count();
    let pairs: Vec<(Sample, Sample)> = samples.into_iter().filter(|(a, b)| a.count > 0 && b.count > 0).collect();
    if pairs.is_empty() {
        return None;
    }
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b.mean - a.mean).collect();
    let all = Sample::of(differences.iter().copied());
    let repeated = pairs.iter().all(|(a, b)| a.count > 1 && b.count > 1);
    let error = if repeated { StandardError::within(&pairs) } else { StandardError::between(&all) };
    let error = Some(error).filter(|error| error.deviation > f64::EPSILON);
    let exact = !repeated && differences.len() <= EXACT;
    let p =
        error.map(
            |error| {
                if exact { sign_flip(&differences) } else { t_two_sided(all.mean / error.deviation, error.freedom) }
            },
        );
    let interval = error.map(|error| {
        let reach = t_quantile(0.5 + level / 2.0, error.freedom) * error.deviation;
        Interval { low: (all.mean - reach).exp(), high: (all.mean + reach).exp() }
    });
    let cases = differences.len();
    Some(Ratio { ratio: all.mean.exp(), interval, p, cases, one_side_only: one_sided, unusable: given - used })
}

/// Up to this many cases, all ways to exchange the sides are tried: at most 65,536.
const EXACT: usize = 16;

/// The mean and variance of some numbers.
struct Sample {
    count: usize,
    mean: f64,
    /// The variance, divided by `count − 1`; 0 for a single number.
    variance: f64,
}

impl Sample {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let numbers: Vec<f64> = numbers.collect();
        let count = numbers.len();
        let mean = if count == 0 { 0.0 } else { numbers.iter().sum::<f64>() / len(count) };
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Self { count, mean, variance: if count < 2 { 0.0 } else { squares / len(count - 1) } }
    }
}

/// The precision of a mean.
#[derive(Clone, Copy)]
struct StandardError {
    /// Its standard error.
    deviation: f64,
    /// The degrees of freedom of the standard error.
    freedom: f64,
}

impl StandardError {
    /// The precision of the mean difference, by the variance of trials within each case and side.
    fn within(pairs: &[(Sample, Sample)]) -> Self {
        let samples = pairs.iter().flat_map(|(a, b)| [a, b]);
        let parts: Vec<(f64, f64)> =
            samples.map(|sample| (sample.variance / len(sample.count), len(sample.count - 1))).collect();
        let variance: f64 = parts.iter().map(|(part, _)| part).sum();
        let freedom = variance.powi(2) / parts.iter().map(|(part, free)| part.powi(2) / free).sum::<f64>();
        Self { deviation: variance.sqrt() / len(pairs.len()), freedom }
    }

    /// The precision of the mean difference, by the variance of the differences of the cases.
    fn between(all: &Sample) -> Self {
        Self { deviation: (all.variance / len(all.count)).sqrt(), freedom: len(all.count - 1) }
    }
}

/// The share of all ways to choose the signs of `differences` whose sum is at least as far from 0.
fn sign_flip(differences: &[f64]) -> f64 {
    let seen = differences.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    let mut sums = vec![0.0];
    for difference in differences {
        sums = sums.iter().flat_map(|sum| [sum + difference, sum - difference]).collect();
    }
    len(sums.iter().filter(|sum: &&f64| sum.abs() >= seen).count()) / len(sums.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, number, section};

    fn case(a: &[f64], b: &[f64]) -> Amounts {
        Amounts { baseline: a.to_vec(), candidate: b.to_vec() }
    }

    #[test]
    fn one_trial_a_case_is_students_interval_and_the_exact_sign_flip() {
        let reference = section("paired_amounts");
        let differences: Vec<f64> = reference["diffs"].as_array().expect("rows").iter().map(number).collect();
        // Amounts whose logarithms differ by a thousandth of the reference's differences.
        let cases: Vec<Amounts> = differences.iter().map(|by| case(&[7.0], &[7.0 * (by / 1000.0).exp()])).collect();
        let found = ratio(&cases, 0.0, 0.95).expect("cases");
        close(found.ratio.ln() * 1000.0, number(&reference["mean"]), &"mean");
        close(found.p.expect("a p"), number(&reference["signflip_exact_two_sided_p"]), &"p");
        let interval = found.interval.expect("an interval");
        for (end, expected) in [interval.low, interval.high].into_iter().zip([0, 1]) {
            close(end.ln() * 1000.0, number(&reference["t_ci"][expected]), &"interval");
        }
    }

    #[test]
    fn repeated_trials_of_one_case_are_welchs_test() {
        let of = |numbers: &[f64]| numbers.iter().map(|number: &f64| number.exp()).collect::<Vec<f64>>();
        let found = ratio(&[case(&of(&[1.0, 2.0, 4.0, 3.0]), &of(&[6.0, 5.0, 10.0]))], 0.0, 0.95).expect("a case");
        // Means 2.5 and 7, variances 5/3 and 7.
        let (in_a, in_b): (f64, f64) = (5.0 / 3.0 / 4.0, 7.0 / 3.0);
        let freedom = (in_a + in_b).powi(2) / (in_a.powi(2) / 3.0 + in_b.powi(2) / 2.0);
        let reach = t_quantile(0.975, freedom) * (in_a + in_b).sqrt();
        let interval = found.interval.expect("an interval");
        close(found.ratio.ln(), 4.5, &"difference");
        close(interval.low.ln(), 4.5 - reach, &"low");
        close(interval.high.ln(), 4.5 + reach, &"high");
        close(found.p.expect("a p"), t_two_sided(4.5 / (in_a + in_b).sqrt(), freedom), &"p");
    }

    #[test]
    fn repeated_trials_of_several_cases_are_welchs_test_within_cases() {
        let of = |numbers: [f64; 2]| numbers.map(f64::exp);
        let cases = [case(&of([0.0, 2.0]), &of([1.0, 5.0])), case(&of([1.0, 2.0]), &of([3.0, 6.0]))];
        let found = ratio(&cases, 0.0, 0.95).expect("cases");
        // The differences are 2 and 3. The variances are 2, 8, 1/2 and 9/2, each of two trials.
        let (error, freedom) = (7.5_f64.sqrt() / 2.0, 7.5 * 7.5 / (1.0 + 16.0 + 1.0 / 16.0 + 81.0 / 16.0));
        close(found.ratio.ln(), 2.5, &"difference");
        close(found.p.expect("a p"), t_two_sided(2.5 / error, freedom), &"p");
        let interval = found.interval.expect("an interval");
        close(interval.high.ln(), 2.5 + t_quantile(0.975, freedom) * error, &"high");
    }

    #[test]
    fn one_trial_on_one_side_leaves_only_the_differences_of_cases() {
        let twice = [case(&[1.0, 2.0], &[4.0]), case(&[1.0, 3.0], &[8.0]), case(&[2.0, 3.0], &[9.0])];
        let turned: Vec<Amounts> = twice.iter().map(|both| case(&both.candidate, &both.baseline)).collect();
        for cases in [&twice[..], &turned] {
            close(ratio(cases, 0.0, 0.95).expect("cases").p.expect("a p"), 0.25, &"2 of 8 ways to choose the signs");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_counted_and_in_no_figure() {
        let one_sided = [case(&[3.0], &[]), case(&[], &[5.0]), case(&[], &[0.0, 6.0])];
        let mut cases = vec![case(&[1.0, 0.0], &[2.0]), case(&[4.0], &[8.0, f64::NAN])];
        cases.extend(one_sided.clone());
        let found = ratio(&cases, 0.0, 0.95).expect("cases");
        assert_eq!((found.cases, found.one_side_only, found.unusable), (2, 3, 3));
        close(found.ratio, 2.0, &"ratio");
        assert_eq!(found.interval, None, "both doubled to the last digit");
        let counted = ratio(&cases[..1], 1.0, 0.95).expect("a case");
        assert_eq!(counted.unusable, 0);
        close(counted.ratio, 3.0 / 2_f64.sqrt(), &"one more of each: 3 against the geometric mean of 2 and 1");
        assert_eq!(ratio(&one_sided, 0.0, 0.95), None);
    }
}
