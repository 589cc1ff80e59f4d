//! Nightly runs, skill by skill and mode by mode: what each night measured, what changed before it, and whether a skill got worse
//! although nothing changed here.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use serde::Serialize;

use crate::decide::Rule;
use crate::decide::drift::{Shift, watch};
use crate::decide::plan::ComparePlan;
use crate::decide::promise::{ExpectedCases, usual_trials};
use crate::results::share::{self, CaseShare};
use crate::stats::proportion::Rate;
use crate::stats::{Interval, real};
use crate::store::{Night, NightCase, NightInputs};
use crate::trial::id::CaseInMode;

/// A skill in a mode, night after night.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Series {
    /// The skill's slug.
    pub skill: String,
    pub mode: String,
    pub nights: Vec<SeriesNight>,
    /// Whether a case has 20 trials in earlier nights with the same contents, so that a change for the worse can be shown.
    pub has_base: bool,
    /// Since when it is worse; absent if nothing shows that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worse: Option<SeriesShift>,
}

/// What a series measured in a night.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SeriesNight {
    /// The day, UTC.
    pub date: String,
    #[serde(flatten)]
    pub rate: Rate,
    /// The pass rate, cases weighted equally.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub share: f64,
    /// The 95 % confidence interval of `share`.
    pub interval: Interval,
    /// US dollars; absent if the cost of a case is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What changed since the night before: `skill`, `descriptions`, `cases or settings`, the new agent, the new model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// Since when a series is worse.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SeriesShift {
    /// The day, UTC.
    pub date: String,
    /// What changed on that day; empty if nothing is known to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    #[serde(flatten)]
    pub shift: Shift,
}

/// For how many days after its last night a series is watched.
const MOST_IDLE: i32 = 30;

/// For how many days nights are looked at: the chance of a false alarm is that of a year.
const YEAR: i32 = 366;

/// The nights of a series, by day.
type Days<'a> = BTreeMap<Date, Vec<&'a NightCase>>;

/// All series of these nights.
pub fn series(nights: &[Night]) -> Vec<Series> {
    let mut found: BTreeMap<(&str, &str), Days<'_>> = BTreeMap::new();
    for night in nights {
        let Some(date) = night.created.get(..10).and_then(|day| day.parse::<Date>().ok()) else { continue };
        for case in &night.cases {
            found.entry((&case.skill, &case.mode)).or_default().entry(date).or_default().push(case);
        }
    }
    let last = found.values().filter_map(|days| days.keys().next_back()).max().copied();
    let days_before = |date: &Date| last.map_or(0, |last| (last - *date).get_days());
    found.retain(|_, days| days.keys().next_back().is_some_and(|date| days_before(date) <= MOST_IDLE));
    for days in found.values_mut() {
        days.retain(|date, _| days_before(date) < YEAR);
    }
    let count = found.len();
    found.iter().map(|((skill, mode), days)| watched(skill, mode, days, count)).collect()
}

fn watched(skill: &str, mode: &str, days: &Days<'_>, series: usize) -> Series {
    let mut nights: Vec<SeriesNight> = Vec::new();
    let mut before: Option<&Vec<&NightCase>> = None;
    for (date, cases) in days {
        let changed = before.map(|before| changes(before, cases)).unwrap_or_default();
        nights.extend(night(*date, cases, changed));
        before = Some(cases);
    }
    // What is here today: a case that was edited has no earlier trials.
    let today: BTreeSet<(&str, &NightInputs)> = before.into_iter().flatten().map(|case| key(case)).collect();
    let rates: Vec<Vec<Rate>> =
        days.values().map(|cases| today.iter().map(|key| rate_of(cases, *key)).collect()).collect();
    let dates: Vec<&Date> = days.keys().collect();
    let outside = |at: usize| {
        let [earlier, later] = [at.checked_sub(1), Some(at)].map(|at| at.and_then(|at| days.get(dates[at])));
        earlier.zip(later).is_some_and(|(earlier, later)| !outside_changes(earlier, later).is_empty())
    };
    let found = watch(&rates, outside, series);
    let worse = found.worse().and_then(|shift| {
        let (date, cases) = days.iter().nth(shift.since)?;
        let before = days.values().nth(shift.since.checked_sub(1)?)?;
        Some(SeriesShift { date: date.to_string(), changed: outside_changes(before, cases), shift: *shift })
    });
    Series { skill: skill.to_owned(), mode: mode.to_owned(), nights, has_base: found.has_base, worse }
}

fn key(case: &NightCase) -> (&str, &NightInputs) {
    (&case.case, &case.inputs)
}

fn rate_of(cases: &[&NightCase], wanted: (&str, &NightInputs)) -> Rate {
    let of = cases.iter().filter(|case| key(case) == wanted);
    of.fold(Rate::default(), |sum, case| sum.plus(case.rate()))
}

fn night(date: Date, cases: &[&NightCase], changed: Vec<String>) -> Option<SeriesNight> {
    let mut rates: BTreeMap<&str, Rate> = BTreeMap::new();
    for case in cases {
        let sum = rates.entry(&case.case).or_default();
        *sum = sum.plus(case.rate());
    }
    let shares: Vec<CaseShare> = rates
        .values()
        .filter(|rate| rate.trials > 0)
        .map(|rate| CaseShare { rate: *rate, until_decided: None })
        .collect();
    let (share, interval) = share::together(&shares)?;
    let rate = rates.into_values().fold(Rate::default(), Rate::plus);
    let cost_usd = cases.iter().map(|case| case.cost_usd).sum();
    Some(SeriesNight { date: date.to_string(), rate, share, interval, cost_usd, changed })
}

/// What differs between two nights: here, and outside.
fn changes(before: &[&NightCase], now: &[&NightCase]) -> Vec<String> {
    let differ = |of: fn(&NightInputs) -> Option<&String>| {
        now.iter().any(|case| {
            let earlier = before.iter().find(|earlier| earlier.case == case.case);
            earlier.is_some_and(|earlier| of(&earlier.inputs) != of(&case.inputs))
        })
    };
    let names = |cases: &[&NightCase]| cases.iter().map(|case| case.case.clone()).collect::<BTreeSet<_>>();
    let here = [
        (differ(|inputs| inputs.skill.as_ref()), "skill"),
        (differ(|inputs| inputs.descriptions.as_ref()), "descriptions"),
        (differ(|inputs| Some(&inputs.besides)) || names(before) != names(now), "cases or settings"),
    ];
    let here = here.into_iter().filter(|(differs, _)| *differs).map(|(_, what)| what.to_owned());
    here.chain(outside_changes(before, now)).collect()
}

/// The new agent and the new model, if they differ. What is unknown in one night differs from nothing.
fn outside_changes(before: &[&NightCase], now: &[&NightCase]) -> Vec<String> {
    let new = |of: fn(&NightCase) -> Option<&String>| {
        let [before, now] =
            [before, now].map(|cases| cases.iter().filter_map(|case| of(case)).collect::<BTreeSet<_>>());
        let new: Vec<String> = now.difference(&before).map(|name| (*name).clone()).collect();
        if before.is_empty() { Vec::new() } else { new }
    };
    [new(|case| case.agent.as_ref()), new(|case| case.model.as_ref())].concat()
}

/// A case that passes and fails with the same contents, and what that costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NoisyCase {
    #[serde(flatten)]
    pub case: CaseInMode,
    #[serde(flatten)]
    pub rate: Rate,
    /// How many more trials a gate of a harmless change of its skill takes on average because of it.
    #[serde(rename = "more_trials")]
    pub trials: f64,
    /// The cost of these in US dollars; absent if the cost of its trials is unknown.
    #[serde(rename = "more_cost_usd", skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// The rate of each case of a skill in a mode, and what its trials cost, if that is known.
type CaseCosts = BTreeMap<String, (Rate, Option<f64>)>;

/// The cases that both passed and failed in the nights with today's contents, those whose noise costs most first. A gate has this
/// plan, this limit and this rule.
pub fn noisy(nights: &[Night], plan: ComparePlan, max_trials: Option<u64>, rule: &Rule) -> Vec<NoisyCase> {
    let all = || nights.iter().flat_map(|night| &night.cases);
    let name = |case: &NightCase| (case.skill.clone(), case.mode.clone(), case.case.clone());
    // The last night of each case says what is here today.
    let today: BTreeMap<_, &NightInputs> = all().map(|case| (name(case), &case.inputs)).collect();
    let mut skills: BTreeMap<(String, String), CaseCosts> = BTreeMap::new();
    for night in all().filter(|case| today.get(&name(case)) == Some(&&case.inputs)) {
        let cases = skills.entry((night.skill.clone(), night.mode.clone())).or_default();
        let (rate, cost) = cases.entry(night.case.clone()).or_insert((Rate::default(), Some(0.0)));
        *rate = rate.plus(night.rate());
        *cost = cost.zip(night.cost_usd).map(|(sum, cost)| sum + cost);
    }
    let mut noisy = Vec::new();
    for ((skill, mode), cases) in &skills {
        let expected = ExpectedCases::by(cases.values().map(|(rate, _)| *rate));
        let max_trials = max_trials.unwrap_or(plan.default_limit(cases.len()));
        let usual = |cases: &ExpectedCases| usual_trials(plan, cases, max_trials, rule);
        let is_noisy = |rate: &Rate| rate.passed > 0 && rate.failed() > 0;
        let mut all = None;
        for (at, (case, (rate, cost))) in cases.iter().enumerate().filter(|(_, (_, (rate, _)))| is_noisy(rate)) {
            let mut quiet = expected.clone();
            quiet.rates[at] = 1.0;
            let trials = (*all.get_or_insert_with(|| usual(&expected)) - usual(&quiet)).max(0.0);
            let case = CaseInMode { skill: skill.clone(), case: case.clone(), mode: mode.clone() };
            let cost_usd = cost.map(|cost| cost / real(rate.trials) * trials);
            noisy.push(NoisyCase { case, rate: *rate, trials, cost_usd });
        }
    }
    noisy.sort_by(|a, b| (b.cost_usd, b.trials).partial_cmp(&(a.cost_usd, a.trials)).unwrap_or(Ordering::Equal));
    noisy
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A night of the skill `greeting` with two cases of one trial each.
    fn night(day: i32, agent: &str, skill: &str, passes: bool) -> Night {
        let date = Date::constant(2026, 10, 1).checked_add(jiff::Span::new().days(day)).expect("a day");
        let case = |case: &str| NightCase {
            skill: "greeting".to_owned(),
            case: case.to_owned(),
            mode: "codex".to_owned(),
            agent: Some(agent.to_owned()),
            model: Some("gpt-5.5".to_owned()),
            inputs: NightInputs { skill: Some(skill.to_owned()), ..NightInputs::default() },
            passed: u64::from(passes),
            trials: 1,
            cost_usd: Some(0.25),
        };
        Night { run: format!("r{day}"), created: format!("{date}T03:00:00Z"), cases: vec![case("a"), case("b")] }
    }

    fn nights(days: std::ops::Range<i32>, agent: &str, skill: &str, passes: bool) -> Vec<Night> {
        days.map(|day| night(day, agent, skill, passes)).collect()
    }

    #[test]
    fn a_skill_that_got_worse_with_a_new_version_of_its_agent_is_named_with_it() {
        let all = [nights(0..25, "codex 0.170", "x", true), nights(25..35, "codex 0.171", "x", false)].concat();
        let [greeting] = &series(&all)[..] else { panic!("one series") };
        let worse = greeting.worse.as_ref().expect("worse");
        assert_eq!((worse.date.as_str(), worse.changed.as_slice()), ("2026-10-26", &["codex 0.171".to_owned()][..]));
        assert_eq!((worse.shift.before, worse.shift.after), (Rate::new(50, 50), Rate::new(0, 20)));
        assert_eq!(greeting.nights[25].changed, ["codex 0.171"]);
        assert_eq!((greeting.nights[0].cost_usd, greeting.nights.len()), (Some(0.5), 35));
    }

    #[test]
    fn an_edit_of_the_skill_ends_what_was_shown_and_needs_a_base_of_its_own() {
        let worse = [nights(0..25, "codex 0.170", "x", true), nights(25..35, "codex 0.171", "x", false)].concat();
        let edited = [worse, nights(35..37, "codex 0.171", "y", false)].concat();
        let [greeting] = &series(&edited)[..] else { panic!("one series") };
        assert_eq!((greeting.worse.clone(), greeting.has_base), (None, false));
        assert_eq!(greeting.nights[35].changed, ["skill"]);
    }

    #[test]
    fn a_case_that_fails_now_and_then_costs_trials_of_harmless_gates() {
        let mut all = nights(0..30, "codex 0.170", "x", true);
        for night in all.iter_mut().step_by(3) {
            night.cases[1].passed = 0;
        }
        let [noisy] = &noisy(&all, ComparePlan::Quick, None, &Rule::default())[..] else { panic!("one noisy case") };
        assert_eq!((noisy.case.case.as_str(), noisy.rate), ("b", Rate::new(20, 30)));
        assert!(noisy.trials > 0.3, "{noisy:?}");
        assert!(noisy.cost_usd.is_some_and(|cost| (cost - 0.25 * noisy.trials).abs() < 1e-9), "{noisy:?}");
    }

    #[test]
    fn runs_of_one_day_are_one_night() {
        let mut all = nights(0..3, "codex 0.170", "x", true);
        all.extend(nights(0..3, "codex 0.170", "x", false));
        let [greeting] = &series(&all)[..] else { panic!("one series") };
        assert_eq!((greeting.nights.len(), greeting.nights[0].rate), (3, Rate::new(2, 4)));
    }
}
