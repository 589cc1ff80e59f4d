//! Pairs of trials, one in each arm of the same case, that go on until something is decided.
//!
//! Each word below rules something out. Every look is valid: whether it stops at the first word that is decided or for any
//! other reason, what is true is ruled out with probability `alpha` at most. See
//! [`stats::discordance`](crate::stats::discordance) for why.
//!
//! `worse` rules out "worse in no case", and B's rate over the cases, as far as it was measured, is below A's: a case that
//! broke is told of soon, and where as much got better elsewhere, that may not be known yet. `better` rules out "better in
//! no case" and, as `no worse` does, that all cases together lost the margin: good news has to hold for all of them.

use serde::{Deserialize, Serialize};

use super::pair_choice::{self, CaseTally, PairPurpose};
use super::{CaseCount, Comparison, JoinedCases, ResultBasis, Rule, SideCounts, plan, result::CompareResult};
use crate::stats::betting::NoWorse;
use crate::stats::difference::{self, Difference};
use crate::stats::discordance::{e_better, e_two_sided, e_worse};
use crate::stats::proportion::Rate;
use crate::stats::stratified::Stratum;

/// After so many pairs, all of them lost, a case holds up no other.
const HOPELESS: u64 = 5;

/// A pair: the case by its place in the list of cases, and whether each trial passed; none for a trial that was lost (an
/// error, unscored). A pair with a lost trial is counted apart and enters no figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The place of its case.
    pub case: usize,
    /// The trial in the first arm.
    pub baseline: Option<bool>,
    /// The trial in the second arm.
    pub candidate: Option<bool>,
}

/// A comparison under way. It is made of its cases, its rule, its seed and the pairs fed so far, and nothing else: store
/// those, and feed the pairs again to resume.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    names: Vec<String>,
    rule: Rule,
    seed: u64,
    pairs: Vec<Pair>,
    cases: Vec<Tally>,
    /// That all cases together did not lose the margin.
    overall: NoWorse,
}

/// A pair of a case that is not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a pair is of case number {case}, and only {cases} cases are compared")]
pub struct UnknownCase {
    /// The place that the pair named.
    pub case: usize,
    /// How many cases there are.
    pub cases: usize,
}

/// What the pairs of one case came to.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    baseline: CaseCount,
    candidate: CaseCount,
    seen: CaseTally,
}

impl SequentialTest {
    /// A comparison of `cases` before its first pair. `seed` chooses among cases that seem to tell the same.
    #[must_use]
    pub fn new(cases: Vec<String>, rule: Rule, seed: u64) -> Self {
        let tallies = vec![Tally::default(); cases.len()];
        let overall = NoWorse::new(cases.len(), rule.margin.unwrap_or_default());
        Self { names: cases, rule, seed, pairs: Vec::new(), cases: tallies, overall }
    }

    /// Takes in a pair. Feed pairs in the order in which they were started: failing trials may take longer, and the order
    /// in which pairs end must not choose what is looked at.
    ///
    /// # Errors
    ///
    /// If its case is not in the list; nothing changes then.
    pub fn feed(&mut self, pair: Pair) -> Result<(), UnknownCase> {
        let cases = self.names.len();
        let tally = self.cases.get_mut(pair.case).ok_or(UnknownCase { case: pair.case, cases })?;
        self.pairs.push(pair);
        tally.seen.tried += 1;
        let (Some(a), Some(b)) = (pair.baseline, pair.candidate) else {
            tally.baseline.not_measured += u64::from(pair.baseline.is_none());
            tally.candidate.not_measured += u64::from(pair.candidate.is_none());
            if tally.baseline.rate.trials == 0 && tally.seen.tried >= HOPELESS {
                self.overall.leave_out(pair.case);
            }
            return Ok(());
        };
        tally.baseline.rate.add(a);
        tally.candidate.rate.add(b);
        tally.seen.losses += u64::from(a && !b);
        tally.seen.wins += u64::from(b && !a);
        self.overall.feed(pair.case, i8::from(b) - i8::from(a));
        Ok(())
    }

    /// The pairs fed so far, in their order.
    #[must_use]
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// The case of the next pair; none without cases. `in_flight` are the cases of pairs that were started and not fed
    /// yet. The answer depends on the seed, the pairs fed and `in_flight` alone.
    #[must_use]
    pub fn next_case(&self, in_flight: &[usize]) -> Option<usize> {
        let mut seen: Vec<CaseTally> = self.cases.iter().map(|tally| tally.seen).collect();
        for case in in_flight {
            if let Some(case) = seen.get_mut(*case) {
                case.tried += 1;
            }
        }
        let step = (self.pairs.len() + in_flight.len()) as u64;
        // Weyl's sequence, so that the generators of neighbouring steps are far apart.
        let mut rng = fastrand::Rng::with_seed(self.seed ^ step.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        (!seen.is_empty()).then(|| pair_choice::next(&seen, self.aim(), &mut rng))
    }

    /// What the pairs so far come to. Stop once it is decided.
    #[must_use]
    pub fn result(&self) -> CompareResult {
        let strata = self.strata();
        let ResultBasis::Sequential { worse, better, .. } = self.evidence() else {
            return CompareResult::NothingMeasured;
        };
        let holds = self.enough(self.overall.evidence());
        // The mean of the cases' rates; the interval is for the whole comparison alone, and takes longer.
        let mean = |arm: fn(&Stratum) -> Rate| {
            let tried = strata.iter().filter_map(|stratum| arm(stratum).share());
            tried.sum::<f64>()
        };
        let apart = mean(|stratum| stratum.candidate) - mean(|stratum| stratum.baseline);
        match self.rule.margin {
            _ if strata.iter().all(|stratum| stratum.baseline.trials == 0) => CompareResult::NothingMeasured,
            _ if self.enough(better) && apart > 0.0 && holds => CompareResult::Better,
            Some(margin) if holds => CompareResult::NoWorse { margin },
            _ if self.enough(worse) && apart < 0.0 => CompareResult::Worse,
            _ => CompareResult::Undecided { trials_needed: None },
        }
    }

    /// Everything there is to show: the word, with the number of trials that would decide where it is undecided. The
    /// interval is that of [`fixed`](super::fixed), which knows of no stop.
    #[must_use]
    pub fn comparison(&self) -> Comparison {
        let strata = self.strata();
        let difference = difference::of(&strata, self.rule.level);
        let more = |difference: Difference| plan::more_trials(&strata, difference.difference, self.rule.alpha);
        let word = match self.result() {
            CompareResult::Undecided { .. } => CompareResult::Undecided { trials_needed: difference.and_then(more) },
            word => word,
        };
        let arm = |counts: fn(&Tally) -> CaseCount| -> SideCounts {
            self.names.iter().cloned().zip(self.cases.iter().map(counts)).collect()
        };
        let joined = JoinedCases::new(&arm(|tally| tally.baseline), &arm(|tally| tally.candidate));
        let by_name: std::collections::BTreeMap<&String, &Tally> = self.names.iter().zip(&self.cases).collect();
        let p = |(name, ..): &(String, CaseCount, CaseCount)| {
            by_name.get(name).map_or(1.0, |tally| (1.0 / e_two_sided(tally.seen.losses, tally.seen.wins)).min(1.0))
        };
        let p: Vec<f64> = joined.both.iter().map(p).collect();
        joined.comparison(word, self.evidence(), difference, &p, &self.rule)
    }

    fn strata(&self) -> Vec<Stratum> {
        self.cases
            .iter()
            .map(|tally| Stratum { baseline: tally.baseline.rate, candidate: tally.candidate.rate })
            .collect()
    }

    /// What it takes to the answer that is nearest: where that is `no worse`, or what changed is clear and only the
    /// balance of all cases is not, pairs of every case.
    fn aim(&self) -> PairPurpose {
        match self.evidence() {
            ResultBasis::Sequential { worse, better, no_worse }
                if no_worse.is_some_and(|same| same > worse.max(better)) || self.enough(worse.max(better)) =>
            {
                PairPurpose::Balance
            }
            _ => PairPurpose::Change,
        }
    }

    fn enough(&self, evidence: f64) -> bool {
        evidence >= 1.0 / self.rule.alpha
    }

    fn evidence(&self) -> ResultBasis {
        let all = |of: fn(&CaseTally) -> u64| self.cases.iter().map(|tally| of(&tally.seen)).sum();
        let (losses, wins) = (all(|seen| seen.losses), all(|seen| seen.wins));
        ResultBasis::Sequential {
            worse: e_worse(losses, wins),
            better: e_better(losses, wins),
            no_worse: self.rule.margin.map(|_| self.overall.evidence()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: Some(0.1) };

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|case| format!("case-{case}")).collect()
    }

    /// Runs pairs of cases with these rates in A and B until a word is decided, 500 at most.
    fn run(rates: &[(f64, f64)], seed: u64) -> SequentialTest {
        let mut state = SequentialTest::new(names(rates.len()), RULE, seed);
        let mut world = fastrand::Rng::with_seed(seed + 1000);
        while !state.result().decided() && state.pairs().len() < 500 {
            let case = state.next_case(&[]).expect("cases");
            let (a, b) = rates[case];
            let pair = Pair { case, baseline: Some(world.f64() < a), candidate: Some(world.f64() < b) };
            state.feed(pair).expect("a case");
        }
        state
    }

    #[test]
    fn a_drop_of_few_cases_is_found_there() {
        let mut rates = vec![(1.0, 1.0); 20];
        rates[7] = (1.0, 0.1);
        let state = run(&rates, 1);
        assert_eq!(state.result(), CompareResult::Worse);
        let found = state.comparison();
        assert!(found.unequal_trials && found.cases.len() == 20);
        let most = found.cases.iter().max_by_key(|case| case.baseline.rate.trials).expect("cases");
        assert_eq!(most.case, "case-7");
    }

    #[test]
    fn good_news_ends_a_run_too() {
        assert_eq!(run(&[(1.0, 1.0); 5], 1).result(), CompareResult::NoWorse { margin: 0.1 });
        assert_eq!(run(&[(0.2, 0.9); 5], 1).result(), CompareResult::Better);
    }

    #[test]
    fn feeding_the_same_pairs_again_resumes_where_it_stood() {
        let done = run(&[(0.9, 0.6); 4], 5);
        let mut again = SequentialTest::new(names(4), RULE, 5);
        for pair in done.pairs() {
            assert_eq!(again.next_case(&[]), Some(pair.case));
            again.feed(*pair).expect("a case");
        }
        assert_eq!(again.comparison(), done.comparison());
    }

    #[test]
    fn where_only_the_balance_is_open_all_cases_are_tried() {
        let mut state = SequentialTest::new(names(3), Rule { margin: None, ..RULE }, 1);
        let mut feed = |case: usize, a: bool, b: bool, times: usize| {
            for _ in 0..times {
                state.feed(Pair { case, baseline: Some(a), candidate: Some(b) }).expect("a case");
            }
        };
        // Twenty losses in one case, and one win in each of the others: the evidence is clear, the mean is not below zero.
        feed(0, true, false, 20);
        feed(1, false, true, 1);
        feed(2, false, true, 1);
        assert!(matches!(state.evidence(), ResultBasis::Sequential { worse, .. } if worse > 20.0));
        assert!(!state.result().decided());
        assert_eq!(state.next_case(&[]), Some(1));
        assert_eq!(state.next_case(&[1]), Some(2));
    }

    #[test]
    fn lost_pairs_are_counted_apart_and_keep_no_case_busy() {
        let mut state = SequentialTest::new(names(2), RULE, 1);
        for _ in 0..10 {
            let case = state.next_case(&[]).expect("cases");
            let b = (case == 1).then_some(true);
            state.feed(Pair { case, baseline: Some(true), candidate: b }).expect("a case");
        }
        let found = state.comparison();
        assert_eq!((found.baseline.not_measured, found.only_baseline.len(), found.cases.len()), (0, 0, 1));
        assert!(found.candidate.not_measured > 0 && found.baseline.rate.trials > 1, "{found:?}");
        assert_eq!(SequentialTest::new(names(2), RULE, 1).result(), CompareResult::NothingMeasured);
    }

    #[test]
    fn a_case_that_is_never_measured_keeps_no_word_from_being_said() {
        let mut state = SequentialTest::new(names(3), RULE, 1);
        while !state.result().decided() && state.pairs().len() < 400 {
            let case = state.next_case(&[]).expect("cases");
            state.feed(Pair { case, baseline: Some(true), candidate: (case != 1).then_some(true) }).expect("a case");
        }
        assert_eq!(state.result(), CompareResult::NoWorse { margin: 0.1 });
    }

    #[test]
    fn better_has_to_hold_for_all_cases_together() {
        // One case that always failed passes now; what that costs the others is not known after one pair of each.
        let mut state = SequentialTest::new(names(10), RULE, 1);
        for pair in 0..30 {
            let case = if pair < 10 { pair } else { 0 };
            state.feed(Pair { case, baseline: Some(case != 0), candidate: Some(true) }).expect("a case");
        }
        assert!(matches!(state.evidence(), ResultBasis::Sequential { better, .. } if better > 20.0));
        assert!(!state.result().decided());
        assert_eq!(state.next_case(&[]), Some(1), "all cases in turn");
    }

    #[test]
    fn pairs_in_flight_go_to_different_cases_and_unknown_ones_are_refused() {
        let mut state = SequentialTest::new(names(3), RULE, 1);
        assert_eq!((state.next_case(&[0]), state.next_case(&[0, 1])), (Some(1), Some(2)));
        let wrong = state.feed(Pair { case: 3, baseline: None, candidate: None }).expect_err("no such case");
        assert_eq!(wrong.to_string(), "a pair is of case number 3, and only 3 cases are compared");
        assert_eq!(SequentialTest::new(Vec::new(), RULE, 1).next_case(&[]), None);
    }
}
