//! A comparison by pairs of trials, one on each side of the same case, that may stop after any pair. The quick plan looks at each
//! case with the candidate alone first, and only what fails gets pairs. Such a look is no evidence: it chooses what is evidence.
//!
//! Each result rules something out, with two kinds of evidence. `broke` rules out "no case got worse", by all
//! pairs ([`sequence`](crate::stats::sequence)). `worse`, `better` and `no worse` are about the mean of all cases, by
//! the pairs of complete rounds. Whenever and why ever it stops, each true statement is
//! ruled out with probability `alpha` at most.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::decide::pair_choice::{self, CaseTally, FirstRound, MeanRates, PairPurpose};
use crate::decide::plan::{self, ComparePlan};
use crate::decide::promise::ExpectedCases;
use crate::decide::result::CompareResult;
use crate::decide::screen::{self, FirstLook};
use crate::decide::{
    CaseCount, Comparison, FirstLooks, JoinedCases, MeanDifference, MeanFigures, ResultBasis, Rule, SideCounts,
};
use crate::stats::proportion::Rate;
use crate::stats::sequence::{RoundPairs, Rounds, e_together, e_two_sided, e_worse, ln_e_apart};
use crate::stats::stratified::Stratum;
use crate::stats::{Interval, difference, len, real};

/// After this many pairs that were not measured, a case is left out of the rounds.
const HOPELESS: u64 = 5;

/// A pair: the place of its case in the list of cases, and whether each trial passed; none for a trial that was not measured
/// (an error, unscored). Such a pair is counted separately and enters no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The place of its case.
    pub case: usize,
    /// The trial of the baseline.
    pub baseline: Option<bool>,
    /// The trial of the candidate.
    pub candidate: Option<bool>,
}

impl Pair {
    pub fn is_measured(&self) -> bool {
        self.baseline.is_some() && self.candidate.is_some()
    }
}

/// What a comparison runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The place of its case.
    pub case: usize,
    /// Whether only the candidate runs, instead of a pair.
    pub alone: bool,
}

impl Step {
    /// How many trials it is.
    pub fn trials(self) -> u64 {
        if self.alone { 1 } else { 2 }
    }
}

/// A running comparison. It follows from its cases, rule, plan, limit, seed, looks and pairs alone: to resume, feed the same
/// again in the same order.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    names: Vec<String>,
    rule: Rule,
    plan: ComparePlan,
    /// The most trials of both sides together.
    max_trials: u64,
    /// The most pairs of each case; empty if only all pairs together have a limit.
    of_each: Vec<u64>,
    seed: u64,
    /// From so many failed looks on all cases get pairs.
    all_from: u64,
    pairs: Vec<Pair>,
    /// The first looks at cases, and whether the candidate passed.
    looks: Vec<(usize, Option<bool>)>,
    /// The evidence of all pairs together, and of the whole 1 at most, when several looks had failed, if they have.
    several: Option<(f64, f64)>,
    cases: Vec<Tally>,
    rounds: Rounds,
    /// The evidence that some case broke, as of now.
    harm: f64,
    /// The evidence for `better` and for `no worse`, as of now.
    now: (f64, Option<f64>),
    /// The most that the evidence has been: what was once shown stays shown.
    evidence: SequentialEvidence,
    /// The same comparison if every trial that was not measured had spoken against the candidate; none if all were.
    at_worst: Option<Box<Self>>,
    /// The first rounds of its shards, if it is of shards.
    of_shards: Vec<FirstRound>,
}

/// E-values: a result is shown from `1/alpha` on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub struct SequentialEvidence {
    /// Against "no case got worse".
    pub broke: f64,
    /// Against "the mean did not fall".
    pub worse: f64,
    /// Against "the mean did not rise".
    pub better: f64,
    /// Against "the mean fell by the margin or more"; null if no margin is set.
    pub no_worse: Option<f64>,
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

/// The results of one case.
#[derive(Clone, Copy, Debug)]
struct Tally {
    baseline: CaseCount,
    candidate: CaseCount,
    seen: CaseTally,
    /// Pairs that were not measured.
    lost: u64,
    /// The evidence of its own pairs that it got worse.
    own: f64,
    /// The logarithm of the same by the trials of its pairs, as if they were none.
    ln_apart: f64,
    look: FirstLook,
}

impl Default for Tally {
    fn default() -> Self {
        let (baseline, candidate) = (CaseCount::default(), CaseCount::default());
        let (seen, look) = (CaseTally::default(), FirstLook::None);
        Self { baseline, candidate, seen, lost: 0, own: 1.0, ln_apart: 0.0, look }
    }
}

impl Tally {
    /// Whether it may have broken: it passes in fewer than half of its trials with the candidate. A case that failed on both
    /// sides gets a second pair, and so does one whose look was not measured.
    fn is_suspect(&self) -> bool {
        let CaseTally { losses, tried, .. } = self.seen;
        if tried == 0 {
            return matches!(self.look, FirstLook::Failed | FirstLook::Lost);
        }
        if self.candidate.rate.trials == 0 {
            // Its pairs are running, or were not measured.
            return self.lost > 0 && tried < HOPELESS;
        }
        // A pair that was not measured speaks for nothing. One that runs may be a tie.
        let speaking = tried - self.lost;
        let passes = self.candidate.rate.plus(self.look.rate());
        2 * passes.passed < passes.trials && (speaking < 2 || 2 * losses >= speaking)
    }

    /// Whether a trial of the candidate was measured.
    fn is_seen(&self) -> bool {
        self.candidate.rate.plus(self.look.rate()).trials > 0
    }

    /// Whether nothing can be found out about it.
    fn is_hopeless(&self) -> bool {
        self.baseline.rate.trials == 0 && self.seen.tried >= HOPELESS
    }
}

impl SequentialTest {
    /// A comparison of `cases` before its first pair. `seed` chooses among cases that seem to tell the same.
    pub fn new(cases: Vec<String>, rule: Rule, plan: ComparePlan, max_trials: u64, seed: u64) -> Self {
        let (tallies, rounds) = (vec![Tally::default(); cases.len()], Rounds::new(cases.len()));
        let all_from = ExpectedCases::unknown(cases.len()).all_from();
        let evidence = SequentialEvidence { broke: 1.0, worse: 1.0, better: 1.0, no_worse: rule.margin.map(|_| 1.0) };
        Self {
            names: cases,
            rule,
            plan,
            max_trials,
            of_each: Vec::new(),
            seed,
            all_from,
            pairs: Vec::new(),
            looks: Vec::new(),
            several: None,
            cases: tallies,
            rounds,
            harm: 1.0,
            now: (1.0, evidence.no_worse),
            evidence,
            at_worst: None,
            of_shards: Vec::new(),
        }
    }

    /// The same with the most pairs of each case: what one case does not use is not tried of another.
    #[must_use]
    pub fn with_pairs_of_each(self, of_each: Vec<u64>) -> Self {
        Self { of_each, ..self }
    }

    /// The same if all cases get pairs from so many failed looks on. To be chosen before the first trial.
    #[must_use]
    pub fn with_all_from(self, all_from: Option<u64>) -> Self {
        Self { all_from: all_from.unwrap_or(self.all_from), ..self }
    }

    /// Whether this case may have no further pair.
    fn is_used_up(&self, case: usize, tally: &Tally) -> bool {
        self.of_each.get(case).is_some_and(|most| tally.seen.tried >= *most)
    }

    /// The comparison of all shards. A shard is a comparison of cases of its own, with its share of `rule.alpha`.
    ///
    /// Whether some case broke is the weighted mean of the shards' evidence, so it is shown if a shard shows it. Nothing is assumed
    /// of how a shard stops or of other shards: a mean of e-values is an e-value. The mean of all cases is looked at here, at
    /// complete rounds over all shards.
    pub fn of_shards(shards: &[Self], rule: Rule, plan: ComparePlan) -> Self {
        let names = shards.iter().flat_map(|shard| shard.names.clone()).collect();
        // The plan of all is done if that of each is.
        let done = shards.iter().all(Self::is_done);
        let max_trials = if done { shards.iter().map(Self::measured).sum::<u64>() } else { u64::MAX };
        let mut whole = Self::new(names, rule, plan, max_trials, 0).with_all_from(Some(u64::MAX));
        let mut before = 0;
        for shard in shards {
            // Every case is in the list.
            for (case, passed) in &shard.looks {
                let _ = whole.feed_look(before + case, *passed);
            }
            for pair in &shard.pairs {
                let _ = whole.feed(Pair { case: before + pair.case, ..*pair });
            }
            before += shard.names.len();
        }
        whole.several = shards.iter().find_map(|shard| shard.several);
        whole.harm = shards.iter().map(|shard| shard.evidence.broke * shard.rule.alpha / rule.alpha).sum();
        whole.evidence.broke = whole.harm;
        whole.of_shards = shards.iter().map(Self::first_round).collect();
        whole
    }

    /// Takes in a pair. Feed pairs in the order in which they started: failing trials may take longer, and the order in which
    /// pairs end must not choose what is looked at.
    ///
    /// # Errors
    ///
    /// If its case is not in the list; nothing changes then.
    pub fn feed(&mut self, pair: Pair) -> Result<(), UnknownCase> {
        let cases = self.names.len();
        if pair.case >= cases {
            return Err(UnknownCase { case: pair.case, cases });
        }
        if !pair.is_measured() && self.at_worst.is_none() {
            self.at_worst = Some(Box::new(self.clone()));
        }
        if let Some(worst) = &mut self.at_worst {
            let (baseline, candidate) = (pair.baseline.or(Some(true)), pair.candidate.or(Some(false)));
            worst.feed(Pair { baseline, candidate, ..pair })?;
        }
        let tally = &mut self.cases[pair.case];
        self.pairs.push(pair);
        tally.seen.tried += 1;
        let (Some(a), Some(b)) = (pair.baseline, pair.candidate) else {
            tally.baseline.not_measured += u64::from(pair.baseline.is_none());
            tally.candidate.not_measured += u64::from(pair.candidate.is_none());
            tally.lost += 1;
            if tally.is_hopeless() && self.rounds.leave_out(pair.case) {
                self.look_at_rounds();
            }
            return Ok(());
        };
        tally.baseline.rate.add(a);
        tally.candidate.rate.add(b);
        tally.seen.losses += u64::from(a && !b);
        tally.seen.wins += u64::from(b && !a);
        if a != b {
            tally.own = e_worse(tally.seen.losses, tally.seen.wins);
        }
        if self.plan == ComparePlan::Quick {
            tally.ln_apart = ln_e_apart(tally.baseline.rate, tally.candidate.rate);
        }
        if a != b || self.plan == ComparePlan::Quick {
            self.look_for_harm();
        }
        if self.rounds.feed(pair.case, i8::from(b) - i8::from(a)) {
            self.look_at_rounds();
        }
        Ok(())
    }

    /// Takes in the first look at a case, with the candidate alone: whether it passed; none if it was not measured.
    ///
    /// # Errors
    ///
    /// If the case is not in the list; nothing changes then.
    pub fn feed_look(&mut self, case: usize, passed: Option<bool>) -> Result<(), UnknownCase> {
        let cases = self.names.len();
        if case >= cases {
            return Err(UnknownCase { case, cases });
        }
        if passed.is_none() && self.at_worst.is_none() {
            self.at_worst = Some(Box::new(self.clone()));
        }
        if let Some(worst) = &mut self.at_worst {
            worst.feed_look(case, passed.or(Some(false)))?;
        }
        self.looks.push((case, passed));
        self.cases[case].look = FirstLook::of(passed);
        self.cases[case].candidate.not_measured += u64::from(passed.is_none());
        if self.several.is_none() && self.failed() >= self.all_from {
            // Some pairs may have kept trials of the base, which count no longer if the provider seems to have moved.
            self.several = Some((self.together(), self.harm.min(1.0)));
        }
        Ok(())
    }

    /// How many looks have failed.
    fn failed(&self) -> u64 {
        self.cases.iter().filter(|tally| tally.look == FirstLook::Failed).count() as u64
    }

    /// The evidence that some case broke, by pairs.
    fn together(&self) -> f64 {
        let all = |of: fn(&CaseTally) -> u64| self.cases.iter().map(|tally| of(&tally.seen)).sum::<u64>();
        let own = self.cases.iter().map(|tally| tally.own / len(self.cases.len())).sum::<f64>();
        e_together(all(|seen| seen.losses), all(|seen| seen.wins), own)
    }

    /// The quick plan bets a part of its stake on the trials of the cases that it tries, as if they were no pairs: that finds a
    /// single case sooner. If many are tried, it bets what it has by then on pairs, 1 at most.
    fn look_for_harm(&mut self) {
        let together = self.together();
        self.harm = match (self.plan, self.several) {
            (ComparePlan::Quick, None) => {
                let apart = self.cases.iter().map(|tally| tally.ln_apart).sum::<f64>().exp().min(f64::MAX);
                let of_apart = screen::apart(self.cases.len());
                (1.0 - of_apart) * together + of_apart * apart
            }
            (ComparePlan::Quick, Some((before, all))) => all * together / before,
            _ => together,
        };
        self.evidence.broke = self.evidence.broke.max(self.harm);
    }

    fn look_at_rounds(&mut self) {
        let (rounds, most) = (self.rounds.complete(), &mut self.evidence);
        self.now = (rounds.above(0.0), self.rule.margin.map(|margin| rounds.above(-margin)));
        most.worse = most.worse.max(rounds.below(0.0));
        most.better = most.better.max(self.now.0);
        most.no_worse = most.no_worse.zip(self.now.1).map(|(most, now)| most.max(now));
    }

    /// The pairs fed so far, in their order.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }

    /// Whether a kept trial may stand for that of the baseline in the pair with this number of a case, from 1. It was measured on
    /// another day, so the quick plan takes one of each case at most, and none once half as many looks as several have failed: the
    /// provider may have moved.
    pub fn takes_kept(&self, number: u32) -> bool {
        self.plan != ComparePlan::Quick || number == 1 && 2 * self.failed() <= self.all_from
    }

    /// The first looks fed so far, in their order: the place of the case, and whether the candidate passed.
    pub fn looks(&self) -> &[(usize, Option<bool>)] {
        &self.looks
    }

    /// How many looks and pairs were fed.
    pub fn steps(&self) -> usize {
        self.looks.len() + self.pairs.len()
    }

    /// How many trials were fed.
    pub fn trials(&self) -> u64 {
        self.looks.len() as u64 + 2 * self.pairs.len() as u64
    }

    /// What to run next; none if the plan wants nothing further. `in_flight` started and was not fed yet. The answer depends on the
    /// seed, what was fed and `in_flight` alone.
    pub fn next_step(&self, in_flight: &[Step]) -> Option<Step> {
        if let Some(worst) = self.holds_back().filter(|_| self.is_answered()) {
            return worst.next_step(in_flight);
        }
        let mut cases = self.cases.clone();
        for step in in_flight {
            match cases.get_mut(step.case) {
                Some(tally) if step.alone => tally.look = FirstLook::Running,
                Some(tally) => tally.seen.tried += 1,
                None => {}
            }
        }
        let step = (self.steps() + in_flight.len()) as u64;
        // Weyl's sequence, so that the generators of neighboring steps are far apart.
        let mut rng = fastrand::Rng::with_seed(self.seed ^ step.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let seen: Vec<CaseTally> = cases.iter().map(|tally| tally.seen).collect();
        let (open, alone) = self.open(&cases, in_flight.iter().any(|step| !step.alone));
        let case =
            if alone { open.first().copied() } else { pair_choice::next(&seen, &open, self.purpose(), &mut rng) };
        case.map(|case| Step { case, alone })
    }

    /// The cases that the plan may try next, and whether with the candidate alone: those that were never tried, then suspects, then
    /// all.
    fn open(&self, cases: &[Tally], pairs_run: bool) -> (Vec<usize>, bool) {
        let left: Vec<usize> = (0..cases.len()).filter(|case| !self.is_used_up(*case, &cases[*case])).collect();
        let among =
            |wanted: &dyn Fn(usize) -> bool| left.iter().copied().filter(|case| wanted(*case)).collect::<Vec<_>>();
        let untried = among(&|case| cases[case].seen.tried == 0);
        let suspects = self.suspects(cases);
        let suspects = among(&|case| suspects.contains(&case));
        if self.plan != ComparePlan::Quick {
            let pairs = [untried, suspects, left].into_iter().find(|pairs| !pairs.is_empty());
            return (pairs.unwrap_or_default(), false);
        }
        if !suspects.is_empty() {
            return (suspects, false);
        }
        let together = self.together();
        if self.several.is_some_and(|(before, _)| together >= screen::FUTILE * before) && !untried.is_empty() {
            return (untried, false);
        }
        let unseen = among(&|case| cases[case].look == FirstLook::None && cases[case].seen.tried == 0);
        if !unseen.is_empty() {
            return (unseen, true);
        }
        // What is running may end it.
        let is_near =
            !pairs_run && !self.shows(self.evidence.broke) && together >= screen::near(self.several.is_some());
        (if is_near { among(&|case| cases[case].seen.tried > 0) } else { Vec::new() }, false)
    }

    /// The cases that may have broken, while it is open whether any did.
    fn suspects(&self, cases: &[Tally]) -> Vec<usize> {
        let wanted = |case: &usize| !self.shows(self.evidence.broke) && cases[*case].is_suspect();
        (0..cases.len()).filter(wanted).collect()
    }

    /// Works towards the result that is nearest.
    fn purpose(&self) -> PairPurpose {
        let mean = self.now.1.unwrap_or(0.0).max(self.now.0);
        let for_mean = self.plan != ComparePlan::Quick && (self.shows(self.evidence.broke) || mean > self.harm);
        if for_mean { PairPurpose::Mean } else { PairPurpose::Harm }
    }

    /// Whether the plan wants no further pair, whatever the limit is. Good news waits until it holds at worst.
    pub fn is_decided(&self) -> bool {
        let has_harm = || self.results_of_evidence().iter().any(|result| CompareResult::HARM.contains(result));
        self.is_answered() && (self.holds_back().is_none_or(Self::is_decided) || has_harm())
    }

    /// What good news has to wait for. With a case that cannot be measured, the answer lacks that one whatever is tried.
    fn holds_back(&self) -> Option<&Self> {
        self.at_worst.as_deref().filter(|_| !self.cases.iter().any(Tally::is_hopeless))
    }

    /// Whether the plan wants no further pair of those that were measured.
    fn is_answered(&self) -> bool {
        let SequentialEvidence { broke, worse, better, no_worse } = self.evidence;
        // Halfway to `better`, it continues until that is decided.
        let no_worse = no_worse.is_some_and(|no_worse| self.shows(no_worse)) && !self.shows(self.now.0.powi(2));
        let none_suspect = self.suspects(&self.cases).is_empty();
        // Good news waits for the cases that may have broken.
        let mean = self.shows(worse) || (self.shows(better) || no_worse) && none_suspect;
        match self.plan {
            ComparePlan::Quick => self.shows(broke) || self.open(&self.cases, false).0.is_empty(),
            ComparePlan::Standard => self.shows(broke) || mean,
            ComparePlan::UntilDecided => mean,
        }
    }

    /// Whether the plan is done: it wants no further pair, or as many as it may run were measured, or no case may have more.
    pub fn is_done(&self) -> bool {
        let is_used_up = || self.cases.iter().enumerate().all(|(case, tally)| self.is_used_up(case, tally));
        self.is_decided() || self.measured() + 2 > self.max_trials || is_used_up()
    }

    /// How many trials were measured, by looks and pairs that were.
    fn measured(&self) -> u64 {
        let pairs = self.pairs.iter().filter(|pair| pair.is_measured()).count();
        (2 * pairs + self.looks.iter().filter(|look| look.1.is_some()).count()) as u64
    }

    fn shows(&self, evidence: f64) -> bool {
        evidence >= 1.0 / self.rule.alpha
    }

    /// What the evidence shows.
    fn results_of_evidence(&self) -> Vec<CompareResult> {
        let SequentialEvidence { broke, worse, better, no_worse } = self.evidence;
        let mut results = Vec::new();
        if self.shows(broke) {
            results.push(CompareResult::Broke);
        }
        // A loss within the margin is not `worse`.
        if self.shows(better) {
            results.push(CompareResult::Better);
        } else if no_worse.is_some_and(|no_worse| self.shows(no_worse)) {
            results.push(CompareResult::NoWorse);
        } else if self.shows(worse) {
            results.push(CompareResult::Worse);
        }
        results
    }

    /// The results of the pairs so far: never empty.
    pub fn results(&self) -> Vec<CompareResult> {
        if !self.cases.iter().any(Tally::is_seen) {
            return vec![CompareResult::NothingMeasured];
        }
        let mut results = self.results_of_evidence();
        if results.is_empty() {
            let is_whole = match self.plan {
                ComparePlan::Quick => self.cases.iter().all(|tally| tally.is_seen() || tally.is_hopeless()),
                ComparePlan::Standard => self.rounds.complete() != RoundPairs::default(),
                ComparePlan::UntilDecided => false,
            };
            // What is left open of a case that may have broken is no good news: by the limit, or since its base was never measured.
            let lacks_base = |tally: &Tally| tally.look == FirstLook::Failed && tally.baseline.rate.trials == 0;
            let is_suspect = || !self.suspects(&self.cases).is_empty() || self.cases.iter().any(lacks_base);
            let is_open = self.plan == ComparePlan::Quick && is_suspect();
            let harmless = self.is_done() && is_whole && !is_open;
            results.push(if harmless { CompareResult::NoHarmSeen } else { CompareResult::Undecided });
        }
        results
    }

    /// Everything there is to show.
    pub fn comparison(&self) -> Comparison {
        let strata: Vec<Stratum> = self
            .cases
            .iter()
            .map(|tally| Stratum { baseline: tally.baseline.rate, candidate: tally.candidate.rate })
            .collect();
        let results = self.results();
        let side = |counts: fn(&Tally) -> CaseCount| -> SideCounts {
            self.names.iter().cloned().zip(self.cases.iter().map(counts)).collect()
        };
        let joined = JoinedCases::new(&side(|tally| tally.baseline), &side(|tally| tally.candidate));
        let by_name: std::collections::BTreeMap<&String, &CaseTally> =
            self.names.iter().zip(self.cases.iter().map(|tally| &tally.seen)).collect();
        let seen = |name: &String| by_name.get(name).copied().copied().unwrap_or_default();
        let p: Vec<f64> = joined
            .both
            .iter()
            .map(|(name, ..)| (1.0 / e_two_sided(seen(name).losses, seen(name).wins)).min(1.0))
            .collect();
        let mut broken: Vec<String> = Vec::new();
        let evidence = |name: &String| e_worse(seen(name).losses, seen(name).wins);
        if results.contains(&CompareResult::Broke) {
            broken.extend(self.names.iter().filter(|name| seen(name).losses > seen(name).wins).cloned());
            broken.sort_by(|x, y| evidence(y).total_cmp(&evidence(x)));
        }
        // What a case shows by itself is not of another one that lost a pair by chance.
        let is_of_all = !broken.iter().any(|name| self.shows(evidence(name)));
        broken.retain(|name| is_of_all || self.shows(evidence(name)));
        let broke_together = is_of_all && broken.len() > 1;
        let rounds = self.rounds.complete();
        let apart = real(rounds.wins) - real(rounds.losses);
        let trials_needed = Some(apart)
            .filter(|apart| *apart != 0.0 && results.contains(&CompareResult::Undecided))
            .and_then(|apart| plan::more_trials(&strata, apart, self.rule.alpha));
        let basis = ResultBasis::Sequential(self.evidence);
        let at_worst = self.at_worst.as_ref().map_or_else(|| self.results(), |worst| worst.results());
        let mut comparison = joined.comparison(results, basis, self.mean(), &p, &self.rule);
        let looks = self.first_looks();
        let passed = looks.iter().flat_map(|looks| &looks.passed);
        let passed: std::collections::BTreeSet<&String> = passed.collect();
        comparison.neither.retain(|case| !passed.contains(case));
        Comparison { at_worst, broken, broke_together, trials_needed, looks, ..comparison }
    }

    /// What the first looks showed, if there were some.
    fn first_looks(&self) -> Option<FirstLooks> {
        let named = |wanted: &dyn Fn(&Tally) -> bool| -> Vec<String> {
            let cases = self.names.iter().zip(&self.cases);
            cases.filter(|(_, tally)| wanted(tally)).map(|(name, _)| name.clone()).collect()
        };
        let measured = self.looks.iter().filter(|(_, passed)| passed.is_some()).count();
        (measured > 0).then(|| FirstLooks {
            cases: measured,
            all_from: self.of_shards.is_empty().then_some(self.all_from),
            all_from_if_unknown: ExpectedCases::unknown(self.names.len()).all_from(),
            passed: named(&|tally| tally.look == FirstLook::Passed && tally.seen.tried == 0),
            failed: named(&|tally| tally.look == FirstLook::Failed),
            several: self.several.is_some(),
        })
    }
}

// The mean of all cases in a comparison that runs.
//
// The quick plan has pairs of what failed only, so it knows no mean. The other plans go on until the rounds show something. What they
// then show is too high or too low on average, so they print no estimate, only the interval, which holds at every look. If there is
// only one round, its number of trials is fixed, and it gives estimates.

impl SequentialTest {
    /// The first measured pair of each case.
    fn first_round(&self) -> FirstRound {
        let mut is_tried = vec![false; self.names.len()];
        let mut outcomes = Vec::new();
        let mut ends_with_first = false;
        for pair in &self.pairs {
            ends_with_first = false;
            if let (Some(a), Some(b), false) = (pair.baseline, pair.candidate, is_tried[pair.case]) {
                is_tried[pair.case] = true;
                outcomes.push((a, b));
                ends_with_first = true;
            }
        }
        let may_end = self.plan != ComparePlan::UntilDecided;
        let is_hopeless = |case: &usize| !is_tried[*case] && self.cases[*case].lost >= HOPELESS;
        let hopeless = (0..self.names.len()).filter(is_hopeless).count();
        FirstRound {
            cases: self.names.len() - hopeless,
            outcomes,
            ended_by_harm: may_end && ends_with_first && self.shows(self.harm),
            alpha: if may_end { self.rule.alpha } else { 0.0 },
        }
    }

    /// The means of all cases. Those of shards are weighted by the cases that each was to compare.
    fn mean(&self) -> Option<MeanFigures> {
        if self.plan == ComparePlan::Quick {
            return None;
        }
        // If the limit allows no second round, there is nothing that the results of the first could prolong.
        if self.max_trials >= 4 * self.names.len() as u64 {
            let interval = self.rounds.complete().interval(self.rule.level);
            let cases = self.cases.iter().filter(|tally| tally.baseline.rate.trials > 0).count();
            let difference = MeanDifference { difference: None, interval, cases };
            return Some(MeanFigures { difference, baseline: None, candidate: None });
        }
        let parts = if self.of_shards.is_empty() { vec![self.first_round()] } else { self.of_shards.clone() };
        let rates = weighted(&parts);
        let whole = FirstRound {
            cases: parts.iter().map(|part| part.cases).sum(),
            outcomes: parts.into_iter().flat_map(|part| part.outcomes).collect(),
            ..FirstRound::default()
        };
        // Until every case has its pair, the mean may be anything.
        let known = |of: Interval, else_from: f64| {
            if whole.is_complete() { of } else { Interval { low: else_from, high: 1.0 } }
        };
        let level = self.rule.level;
        let difference = MeanDifference {
            difference: rates.map(MeanRates::difference),
            interval: known(whole.pairs().interval(level), -1.0),
            cases: whole.outcomes.len(),
        };
        let side = |share: fn(&MeanRates) -> f64, passed: fn(&(bool, bool)) -> bool| {
            let trials: Vec<Rate> = whole.outcomes.iter().map(|pair| Rate::new(u64::from(passed(pair)), 1)).collect();
            Some((share(&rates?), known(difference::mean_of(&trials, level)?.1, 0.0)))
        };
        Some(MeanFigures {
            difference,
            baseline: side(|rates| rates.baseline, |pair| pair.0),
            candidate: side(|rates| rates.candidate, |pair| pair.1),
        })
    }
}

/// The mean rates of all parts. A part without a pair has none.
fn weighted(parts: &[FirstRound]) -> Option<MeanRates> {
    let tried: Vec<(f64, MeanRates)> = parts.iter().filter_map(|part| Some((len(part.cases), part.rates()?))).collect();
    let all = tried.iter().map(|(weight, _)| weight).sum::<f64>();
    let mean = |of: fn(&MeanRates) -> f64| tried.iter().map(|(weight, rates)| weight * of(rates)).sum::<f64>() / all;
    (all > 0.0).then(|| MeanRates { baseline: mean(|rates| rates.baseline), candidate: mean(|rates| rates.candidate) })
}
