//! What a plan can find, before it costs anything; and what more it would take, afterwards.

use serde::Serialize;

use super::Rule;
use crate::stats::betting::all_alike;
use crate::stats::discordance::e_worse;
use crate::stats::power::{self, Discordance};
use crate::stats::proportion::Rate;
use crate::stats::special::len;
use crate::stats::stratified::{self, Stratum};

/// Pairs to come, at most, that go on until something is decided.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairDesign {
    /// The cases.
    pub cases: usize,
    /// Pairs at most: half of the trials.
    pub pairs: u64,
    /// The rate of cases in A; 0.9 where none is known.
    pub before: f64,
}

/// A rate to plan with, where none is known.
pub const USUAL_RATE: f64 = 0.9;

/// The power to plan with.
pub const USUAL_POWER: f64 = 0.8;

/// Pairs beyond which power is not computed: its cost grows with their square.
const MOST_PLANNED: u64 = 4_000;

/// The smallest drop in rate, alike in all cases, that `plan` calls `worse` with the probability `power`; none where it
/// would find none. Exact, over every course that the pairs can take. A drop of few cases is found sooner, since trials go
/// there. Of more than 4,000 pairs, what those find. Not smaller than the margin: a drop within it may be called `no worse`
/// first, and rightly so.
#[must_use]
pub fn detectable(plan: &PairDesign, rule: &Rule, power: f64) -> Option<f64> {
    // More pairs find smaller drops, of a point or two; to say how much smaller would take minutes.
    let pairs = plan.pairs.min(MOST_PLANNED);
    let found =
        |drop: f64| power::sequential(pairs, Discordance::of(plan.before, plan.before - drop), rule.alpha) >= power;
    smallest(plan.before, found).map(|drop| drop.max(rule.margin.unwrap_or_default().min(plan.before)))
}

/// The same for stored runs of `pairs` trials in each arm: by the exact test, which looks once.
#[must_use]
pub fn detectable_fixed(pairs: u64, before: f64, rule: &Rule, power: f64) -> Option<f64> {
    let pairs = pairs.min(MOST_PLANNED);
    let found = |drop: f64| power::fixed(pairs, Discordance::of(before, before - drop), rule.alpha / 2.0) >= power;
    smallest(before, found).map(|drop| drop.max(rule.margin.unwrap_or_default().min(before)))
}

/// The smallest number up to `most` for which `found`, to a thousandth.
fn smallest(most: f64, found: impl Fn(f64) -> bool) -> Option<f64> {
    if !found(most) {
        return None;
    }
    let (mut low, mut high) = (0.0, most);
    while high - low > 0.001 {
        let middle = f64::midpoint(low, high);
        *(if found(middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// A word that a gate waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AwaitedResult {
    /// `better`.
    Better,
    /// `worse`.
    Worse,
    /// `no worse` by the margin of the rule.
    NoWorse,
}

/// A word that cannot be said, whatever the trials come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnreachableResult {
    /// The trials there are, of one case in one arm in a stored run, pairs in all in a run until decided.
    pub have: u64,
    /// How many of them it takes; none where no number up to 10,000 does.
    pub needed: Option<u64>,
}

/// Whether pairs until decided can say `claim` at all: at best, one arm passes always and the other never, or both always for
/// `no worse`.
///
/// # Errors
///
/// With the pairs that it takes.
pub fn reach(plan: &PairDesign, rule: &Rule, claim: AwaitedResult) -> Result<(), UnreachableResult> {
    let enough = |evidence: f64| evidence >= 1.0 / rule.alpha;
    let cases = plan.cases.max(1) as u64;
    // Rounds count once they are complete.
    let overall = |pairs: u64, difference, margin| all_alike(pairs / cases * cases, difference, margin);
    let said = |pairs: u64| match claim {
        AwaitedResult::Worse => enough(e_worse(pairs, 0)),
        AwaitedResult::Better => {
            enough(e_worse(pairs, 0)) && enough(overall(pairs, 1, rule.margin.unwrap_or_default()))
        }
        AwaitedResult::NoWorse => rule.margin.is_some_and(|margin| enough(overall(pairs, 0, margin))),
    };
    reached(plan.pairs, said)
}

/// Whether stored trials can say `claim` at all; `design` are the trials of A and B in each case.
///
/// # Errors
///
/// With the trials of each case in each arm that it takes, where all have the same.
pub fn reach_fixed(design: &[(u64, u64)], rule: &Rule, claim: AwaitedResult) -> Result<(), UnreachableResult> {
    let said = |design: &[(u64, u64)]| {
        let stratum = |b: fn(u64) -> u64| {
            let of = move |&(in_a, in_b): &(u64, u64)| Stratum {
                baseline: Rate::new(in_a, in_a),
                candidate: Rate::new(b(in_b), in_b),
            };
            design.iter().map(of).collect::<Vec<_>>()
        };
        match claim {
            AwaitedResult::Better | AwaitedResult::Worse => {
                stratified::exact(&stratum(|_| 0)).two_sided() <= rule.alpha
            }
            AwaitedResult::NoWorse => rule.held(&stratum(|trials| trials)).is_some(),
        }
    };
    if said(design) {
        return Ok(());
    }
    let have = design.iter().map(|(a, b)| *a.min(b)).min().unwrap_or_default();
    reached(have, |trials| trials > have && said(&vec![(trials, trials); design.len().max(1)]))
}

/// Whether `said` holds for `have`, and from which number on it does.
fn reached(have: u64, said: impl Fn(u64) -> bool) -> Result<(), UnreachableResult> {
    if said(have) {
        return Ok(());
    }
    if !said(MOST) {
        return Err(UnreachableResult { have, needed: None });
    }
    let (mut low, mut high) = (have, MOST);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        *(if said(middle) { &mut high } else { &mut low }) = middle;
    }
    Err(UnreachableResult { have, needed: Some(high) })
}

/// Nobody pays for more.
const MOST: u64 = 10_000;

/// How many more trials, both arms together, would find a difference of the size seen with a probability of 80 %: those of
/// McNemar's exact test, one-sided at `alpha`, for pairs as discordant as the cases' rates make them, less those there are,
/// and one of each case in each arm at least.
pub(super) fn more_trials(strata: &[Stratum], difference: f64, alpha: f64) -> Option<u64> {
    let tried: Vec<Discordance> = strata
        .iter()
        .filter_map(|stratum| Some(Discordance::of(stratum.baseline.share()?, stratum.candidate.share()?)))
        .collect();
    let mean = |of: fn(&Discordance) -> f64| tried.iter().map(of).sum::<f64>() / len(tried.len());
    let (loss, win) = (mean(|case| case.loss), mean(|case| case.win));
    let truth = if difference < 0.0 { Discordance { loss, win } } else { Discordance { loss: win, win: loss } };
    let needed = 2 * power::pairs_needed(truth, alpha, 0.8, MOST_PAIRS)?;
    let have = strata.iter().map(|stratum| stratum.baseline.trials + stratum.candidate.trials).sum::<u64>();
    Some(needed.saturating_sub(have).max(2 * tried.len() as u64))
}

/// A million trials.
const MOST_PAIRS: u64 = 500_000;

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: Some(0.05) };

    #[test]
    fn a_drop_that_can_be_found_is_smaller_the_more_pairs_there_are() {
        let found = |pairs| detectable(&PairDesign { cases: 10, pairs, before: 0.9 }, &RULE, 0.8);
        assert_eq!(found(5), None, "five losses in a row are not enough");
        let (few, many) = (found(20).expect("a drop"), found(200).expect("a drop"));
        assert!(few > 0.3 && many < 0.25, "{few} {many}");
        let truth = Discordance::of(0.9, 0.9 - many);
        assert!(power::sequential(200, truth, 0.05) >= 0.8);
        let tolerant = Rule { margin: Some(0.4), ..RULE };
        let found = detectable(&PairDesign { cases: 10, pairs: 200, before: 0.9 }, &tolerant, 0.8).expect("a drop");
        assert!((found - 0.4).abs() < 1e-12, "a smaller one may be no worse by the margin: {found}");
        assert!(detectable_fixed(200, 0.9, &RULE, 0.8).is_some_and(|drop| drop < 0.2));
    }

    #[test]
    fn a_gate_that_can_never_speak_is_told_the_numbers_that_would_do() {
        let plan = |pairs| PairDesign { cases: 5, pairs, before: 0.9 };
        assert_eq!(reach(&plan(5), &RULE, AwaitedResult::Worse), Err(UnreachableResult { have: 5, needed: Some(6) }));
        assert_eq!(reach(&plan(6), &RULE, AwaitedResult::Worse), Ok(()));
        // Good news has to be of every case, so often that they make a round and more.
        let short = reach(&plan(6), &RULE, AwaitedResult::Better).expect_err("too few");
        assert!(
            short.needed.is_some_and(|needed| reach(&plan(needed), &RULE, AwaitedResult::Better).is_ok()),
            "{short:?}"
        );
        let short = reach(&plan(20), &RULE, AwaitedResult::NoWorse).expect_err("too few");
        let needed = short.needed.expect("some number");
        assert!(needed > 58, "{needed}");
        assert_eq!(reach(&plan(needed), &RULE, AwaitedResult::NoWorse), Ok(()));
        // Two-sided: C(6, 3) is 20, twice 1/20 is more than 0.05; C(8, 4) is 70.
        assert_eq!(
            reach_fixed(&[(3, 3)], &RULE, AwaitedResult::Worse),
            Err(UnreachableResult { have: 3, needed: Some(4) })
        );
        assert_eq!(reach_fixed(&[(1, 1); 6], &RULE, AwaitedResult::Worse), Ok(()));
        let short = reach_fixed(&[(5, 5); 4], &RULE, AwaitedResult::NoWorse).expect_err("too few");
        let needed = short.needed.expect("some number");
        assert_eq!(reach_fixed(&[(needed, needed); 4], &RULE, AwaitedResult::NoWorse), Ok(()));
        let none = Rule { margin: None, ..RULE };
        assert_eq!(
            reach(&plan(500), &none, AwaitedResult::NoWorse),
            Err(UnreachableResult { have: 500, needed: None })
        );
    }

    #[test]
    fn more_trials_are_those_that_a_difference_of_the_size_seen_needs() {
        let stratum = Stratum { baseline: Rate::new(9, 10), candidate: Rate::new(6, 10) };
        let more = more_trials(&[stratum], -0.3, 0.05).expect("a number");
        let needed = power::pairs_needed(Discordance::of(0.9, 0.6), 0.05, 0.8, 1000).expect("a number");
        assert_eq!(more, 2 * needed - 20);
        let alike = Stratum { baseline: Rate::new(9, 10), candidate: Rate::new(9, 10) };
        assert_eq!(more_trials(&[alike], 0.0, 0.05), None);
    }
}
