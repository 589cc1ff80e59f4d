//! What the given cases tell of others: how far their mean may be from that of cases that were not asked, and whether a difference is
//! the same in all of them.

use serde::Serialize;

use super::stratified::{Distribution, Stratum};
use super::{len, real, t_quantile};

/// The fewest clusters whose spread says anything of others.
pub const FEWEST_CLUSTERS: usize = 5;

/// The half-width of an interval of the mean difference over all cases that could be asked: now, and for twice the trials. Each from 0
/// to 2.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Reach {
    /// With the trials that there are.
    pub now: f64,
    /// With twice the trials of the same cases. Null if a case has a single trial on a side: nothing tells how it varies.
    pub twice_the_trials: Option<f64>,
    /// With as many other cases more, in clusters of their own.
    pub twice_the_cases: f64,
}

/// The sum of squares of what each cluster adds to the mean of `values`, as if all had the same size; and the number of clusters. Values
/// with the same number in `clusters` belong together. `None` for fewer than two clusters.
///
/// For g clusters, `√(squares / (g (g − 1)))` is the standard error of the mean if whole clusters are drawn: Miller, Adding error bars to
/// evals, arXiv 2411.00640, equation 4, with the factor g/(g − 1) for few clusters that Inspect's `stderr(cluster=…)` has.
fn squares(values: &[f64], clusters: &[usize]) -> Option<(f64, f64)> {
    let mean = values.iter().sum::<f64>() / len(values.len());
    let mut sums = vec![None; clusters.iter().max().map_or(0, |most| most + 1)];
    for (value, cluster) in values.iter().zip(clusters) {
        *sums[*cluster].get_or_insert(0.0) += value - mean;
    }
    let sums: Vec<f64> = sums.into_iter().flatten().collect();
    let count = len(sums.len());
    let scale = count / len(values.len());
    (sums.len() > 1).then(|| (sums.iter().map(|sum| (scale * sum).powi(2)).sum(), count))
}

/// How far the mean difference of these cases may be from that of all cases from which they were drawn, cluster by cluster. `None`
/// for fewer than [`FEWEST_CLUSTERS`] clusters, or if all differ alike: then nothing tells how much others differ.
///
/// Student's interval of the clustered standard error, with the variance of one pair of coins more: a half. Without it, a few cases that
/// happen to be alike would promise too much. Trials of the same case take the variance within cases away, other cases all of it.
pub fn reach(cases: &[Stratum], clusters: &[usize], level: f64) -> Option<Reach> {
    let difference = |case: &Stratum| Some(case.candidate.share()? - case.baseline.share()?);
    let differences: Vec<f64> = cases.iter().map(difference).collect::<Option<_>>()?;
    let (squares, count) = squares(&differences, clusters)?;
    if count < len(FEWEST_CLUSTERS) || squares < 1e-12 {
        return None;
    }
    let half_width = |squares: f64, count: f64| {
        t_quantile(0.5 + level / 2.0, count - 1.0) * ((squares + 0.5) / (count * count)).sqrt()
    };
    // The unbiased variance of a mean of trials: p(1−p)/(n−1).
    let within = |case: &Stratum| {
        let sides = [case.baseline, case.candidate].map(|rate| {
            let variance =
                real(rate.passed) * real(rate.failed()) / (real(rate.trials).powi(2) * real(rate.trials - 1));
            (rate.trials > 1).then_some(variance)
        });
        Some(sides[0]? + sides[1]?)
    };
    let within: Option<f64> = cases.iter().map(within).sum();
    let saved = |within: f64| (count - 1.0) * count * within / 2.0 / len(cases.len()).powi(2);
    Some(Reach {
        now: half_width(squares, count),
        twice_the_trials: within.map(|within| half_width((squares - saved(within)).max(0.0), count)),
        twice_the_cases: half_width(squares * (2.0 * count - 1.0) / (count - 1.0), 2.0 * count),
    })
}

/// Random draws that a p rests on, and fewer if each takes long: of thousands of cases.
const DRAWS: usize = 1999;
const FEWEST_DRAWS: usize = 199;
const WORK: usize = 40_000_000;

/// How likely groups of cases differ this much in how their sides differ, if one odds ratio is that of all cases. `None` if there is
/// nothing to tell apart: fewer than two groups whose passes could be divided otherwise.
///
/// Given the passes of each case on both sides together, and those of the candidate in all cases together, the candidate's passes of the
/// groups do not depend on that odds ratio: Zelen, Biometrika 58 (1971) 129. The statistic is the sum of squares of the groups' standardized
/// passes. Its distribution is drawn, always the same way, and what was seen is one of the draws (Phipson, Smyth 2010), so any false
/// alarm comes in α at most. Cases that always pass on a side tell little: then p is large.
pub fn homogeneity(groups: &[Vec<Stratum>]) -> Option<f64> {
    let seen: Vec<u64> = groups.iter().map(|group| group.iter().map(|case| case.candidate.passed).sum()).collect();
    let leaves = groups.iter().map(|group| Distribution::of_all(group)).collect::<Option<Vec<_>>>()?;
    if leaves.iter().filter(|leaf| leaf.values().len() > 1).count() < 2 {
        return None;
    }
    let tree = SumTree::of(leaves)?;
    let mut random = fastrand::Rng::with_seed(1971);
    let mut draws = vec![seen.clone()];
    let all = seen.iter().sum();
    let times = (WORK / tree.work().max(1)).clamp(FEWEST_DRAWS, DRAWS);
    draws.extend((0..times).map(|_| {
        let mut passed = Vec::with_capacity(seen.len());
        tree.draw(all, &mut random, &mut passed);
        passed
    }));
    let moments: Vec<(f64, f64)> = (0..seen.len())
        .map(|at| {
            let mean = draws.iter().map(|draw| real(draw[at])).sum::<f64>() / len(draws.len());
            (mean, draws.iter().map(|draw| (real(draw[at]) - mean).powi(2)).sum::<f64>() / len(draws.len()))
        })
        .collect();
    let statistic = |draw: &Vec<u64>| -> f64 {
        let varying = draw.iter().zip(&moments).filter(|(_, (_, variance))| *variance > 0.0);
        varying.map(|(passed, (mean, variance))| (real(*passed) - mean).powi(2) / variance).sum()
    };
    let least = statistic(&seen) * (1.0 - 1e-9);
    Some(len(draws.iter().filter(|draw| statistic(draw) >= least).count()) / len(draws.len()))
}

/// Sums of groups, halved until each is one group.
enum SumTree {
    Group,
    Halves { left: Distribution, right: Distribution, parts: Box<[SumTree; 2]> },
}

impl SumTree {
    fn of(leaves: Vec<Distribution>) -> Option<Self> {
        Some(Self::with_sum(leaves)?.0)
    }

    fn with_sum(mut leaves: Vec<Distribution>) -> Option<(Self, Distribution)> {
        if leaves.len() < 2 {
            return Some((Self::Group, leaves.pop()?));
        }
        let others = leaves.split_off(leaves.len() / 2);
        let ((first, left), (second, right)) = (Self::with_sum(leaves)?, Self::with_sum(others)?);
        let sum = left.with(&right);
        Some((Self::Halves { left, right, parts: Box::new([first, second]) }, sum))
    }

    /// The values that a draw looks at.
    fn work(&self) -> usize {
        match self {
            Self::Group => 0,
            Self::Halves { left, parts, .. } => left.values().len() + parts.iter().map(Self::work).sum::<usize>(),
        }
    }

    /// Divides `all` passes among the groups, as likely as they divide themselves.
    fn draw(&self, all: u64, random: &mut fastrand::Rng, into: &mut Vec<u64>) {
        let Self::Halves { left, right, parts } = self else { return into.push(all) };
        let ways =
            || left.values().filter_map(|(passed, mass)| Some((passed, mass * right.mass(all.checked_sub(passed)?))));
        let mut place = random.f64() * ways().map(|(_, mass)| mass).sum::<f64>();
        let mut chosen = None;
        for (passed, mass) in ways().filter(|(_, mass)| *mass > 0.0) {
            chosen = Some(passed);
            place -= mass;
            if place <= 0.0 {
                break;
            }
        }
        let chosen = chosen.unwrap_or_default();
        parts[0].draw(chosen, random, into);
        parts[1].draw(all.saturating_sub(chosen), random, into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::Rate;
    use crate::stats::reference::{close, count, number, rows, section};

    /// A case from `[trials, passed, trials, passed]`, the baseline first.
    fn case(row: &serde_json::Value) -> Stratum {
        let rate = |at: usize| Rate::new(count(&row[at + 1]), count(&row[at]));
        Stratum { baseline: rate(0), candidate: rate(2) }
    }

    fn list<T>(rows: &serde_json::Value, of: impl Fn(&serde_json::Value) -> T) -> Vec<T> {
        rows.as_array().expect("a list").iter().map(of).collect()
    }

    fn place(value: &serde_json::Value) -> usize {
        usize::try_from(count(value)).expect("few")
    }

    /// Draws how often a case passes on each side.
    type Population = fn(&mut fastrand::Rng) -> (f64, f64);

    /// A case that passes with these probabilities, tried equally often on both sides.
    fn drawn(world: &mut fastrand::Rng, trials: u64, (baseline, candidate): (f64, f64)) -> Stratum {
        let mut rate = |share: f64| Rate::new((0..trials).filter(|_| world.f64() < share).count() as u64, trials);
        Stratum { baseline: rate(baseline), candidate: rate(candidate) }
    }

    #[test]
    fn the_error_of_clusters_agrees_with_statsmodels() {
        let reference = section("clustered_se");
        let (values, clusters) = (list(&reference["scores"], number), list(&reference["clusters"], place));
        let error = |clusters: &[usize]| {
            let (squares, count) = squares(&values, clusters)?;
            Some((squares / (count * (count - 1.0))).sqrt())
        };
        close(error(&clusters).expect("clusters"), number(&reference["statsmodels_cluster_corrected"]), &"clustered");
        let alone: Vec<usize> = (0..values.len()).collect();
        close(error(&alone).expect("values"), number(&reference["se_clt(n-1)"]), &"each its own");
        assert_eq!(error(&vec![3; values.len()]), None);
    }

    #[test]
    fn the_reach_beyond_the_cases_agrees_with_scipy() {
        for row in rows("reach_beyond_cases") {
            let found = reach(&list(&row["cases"], case), &list(&row["clusters"], place), 0.95).expect("clusters");
            close(found.now, number(&row["now"]), &row);
            close(found.twice_the_cases, number(&row["twice_the_cases"]), &row);
            match (found.twice_the_trials, row["twice_the_trials"].as_f64()) {
                (Some(found), Some(expected)) => close(found, expected, &row),
                (found, expected) => assert_eq!(found, expected),
            }
        }
    }

    #[test]
    fn four_clusters_and_cases_that_differ_alike_tell_nothing_of_others() {
        let varied =
            [1, 3, 0, 2, 3].map(|passed| Stratum { baseline: Rate::new(1, 3), candidate: Rate::new(passed, 3) });
        assert!(reach(&varied, &[0, 1, 2, 3, 4], 0.95).is_some());
        assert_eq!(reach(&varied, &[0, 1, 2, 3, 3], 0.95), None);
        assert_eq!(reach(&[varied[0]; 9], &[0, 1, 2, 3, 4, 5, 6, 7, 8], 0.95), None);
        assert_eq!(reach(&[], &[], 0.95), None);
    }

    #[test]
    fn the_reach_holds_the_mean_of_all_cases_and_other_cases_narrow_it_as_foreseen() {
        // Cases of these populations: always alike, broken now and then, or half of them better and half worse.
        let populations: [Population; 3] = [
            |_| (0.9, 0.7),
            |world| (0.9, if world.f64() < 0.2 { 0.1 } else { 0.9 }),
            |world| if world.f64() < 0.5 { (0.75, 0.25) } else { (0.25, 0.75) },
        ];
        for (population, truth) in populations.into_iter().zip([-0.2, -0.16, 0.0]) {
            let mut world = fastrand::Rng::with_seed(3);
            let (mut holds, mut all, mut foreseen, mut came) = (0, 0, 0.0, 0.0);
            let half_width = |cases: &[Stratum]| reach(cases, &(0..cases.len()).collect::<Vec<_>>(), 0.95);
            for _ in 0..1000 {
                let cases: Vec<Stratum> = (0..20)
                    .map(|_| {
                        let shares = population(&mut world);
                        drawn(&mut world, 3, shares)
                    })
                    .collect();
                let Some((few, many)) = half_width(&cases[..10]).zip(half_width(&cases)) else { continue };
                let mean = cases[..10]
                    .iter()
                    .map(|case| case.candidate.share().unwrap_or(0.0) - case.baseline.share().unwrap_or(0.0));
                holds += usize::from((mean.sum::<f64>() / 10.0 - truth).abs() <= few.now);
                (all, foreseen, came) = (all + 1, foreseen + few.twice_the_cases, came + many.now);
            }
            assert!(len(holds) > 0.94 * len(all), "{holds} of {all}");
            assert!((foreseen / came - 1.0).abs() < 0.03, "{foreseen} {came}");
        }
    }

    #[test]
    fn p_of_a_difference_that_differs_agrees_with_all_ways_counted() {
        for row in rows("homogeneity") {
            let found = homogeneity(&list(&row["groups"], |group| list(group, case))).expect("groups");
            let expected = number(&row["p"]);
            let error = (expected * (1.0 - expected) / 2000.0).sqrt();
            assert!((found - expected).abs() <= 3.0 * error + 0.001, "{row}: {found}");
        }
    }

    #[test]
    fn groups_that_cannot_differ_have_no_p() {
        let fixed = vec![Stratum { baseline: Rate::new(5, 5), candidate: Rate::new(5, 5) }];
        let open = vec![Stratum { baseline: Rate::new(5, 5), candidate: Rate::new(0, 5) }];
        assert_eq!(
            (homogeneity(&[]), homogeneity(std::slice::from_ref(&open)), homogeneity(&[open, fixed])),
            (None, None, None)
        );
    }

    #[test]
    fn one_effect_is_seldom_said_to_differ_and_opposite_ones_nearly_always() {
        let shown = |worlds: u64, shares: [(f64, f64); 2]| {
            let is_shown = |seed: &u64| {
                let mut world = fastrand::Rng::with_seed(*seed);
                let groups: Vec<Vec<Stratum>> = (0..10).map(|at| vec![drawn(&mut world, 5, shares[at % 2])]).collect();
                homogeneity(&groups).is_some_and(|p| p <= 0.05)
            };
            (0..worlds).filter(is_shown).count()
        };
        // A quarter of the odds in all cases. 5 % of 300, and three standard errors.
        let alarms = shown(300, [(0.95, 0.8261), (0.6, 0.2727)]);
        assert!(alarms <= 26, "{alarms}");
        let found = shown(50, [(0.75, 0.25), (0.25, 0.75)]);
        assert!(found >= 45, "{found}");
    }
}
