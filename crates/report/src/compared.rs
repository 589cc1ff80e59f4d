//! A comparison as people read it: a sentence that answers, then the figures behind it.

use std::fmt::Write;

use crate::columns::{self, NUMBERS, WORDS};
use crate::decide::result::CompareResult;
use crate::decide::{CaseChange, Comparison, FirstLooks, MeanDifference, ResultBasis, SideSummary};
use crate::diagnostics::counted;
use crate::estimate::finds;
use crate::paint::{Paint, Tone};
use crate::progress;
use crate::rate::{self, fraction, points, points_to, probability, signed, signed_to, up, with_sign};
use crate::results::compared::{ComparisonResults, ReusedTrials, SpentTrials};
use crate::results::spread::Spread;
use crate::results::triggering::{ReplacementSkill, SkillShift};
use crate::settings::mode::{Mode, label};
use crate::stats::difference::Ratio;
use crate::stats::spread::FEWEST_CLUSTERS;
use crate::table::dollars;
use crate::text::{cut, escape};
use crate::trace::Mechanism;
use crate::trial::outcome::{Metrics, Outcome};
use crate::trial_text::{in_part, scripted};

/// Most cases that are listed by name; the others are counted.
const MOST_CASES: usize = 12;

/// Most cases that the sentence names.
const MOST_NAMED: usize = 3;

/// The answer in a sentence: each result with what it rests on, how sure it is, and how many trials it took.
pub fn sentence(compared: &ComparisonResults, paint: Paint) -> String {
    if compared.unchanged {
        let sides = format!("{} and {}", escape::line(&compared.baseline), escape::line(&compared.candidate));
        let what = paint.on(Tone::Good, "unchanged");
        return format!(
            "{what}: {sides} have the same skills, file by file: no trial is needed; --aa shows what is noise"
        );
    }
    let comparison = &compared.comparison;
    let Comparison { baseline: a, candidate: b, .. } = comparison;
    let joined =
        || comparison.results.iter().map(|result| named(*result, compared, paint)).collect::<Vec<_>>().join(", ");
    if comparison.results.contains(&CompareResult::NothingMeasured) {
        let lost = a.not_measured + b.not_measured;
        let why = if lost > 0 {
            format!("{} ended in errors or unscored", counted(lost, "trial"))
        } else {
            "no case was measured on both sides".to_owned()
        };
        return format!("{}: {why}", joined());
    }
    let of_all = |result| format!("{}{}", named(result, compared, paint), p_of_mean(comparison));
    let mut text = if comparison.results.contains(&CompareResult::Broke) {
        let others = comparison.results.iter().filter(|result| **result != CompareResult::Broke);
        let others = others.map(|result| format!("; all cases together {}", of_all(*result)));
        format!("{}: {}", named(CompareResult::Broke, compared, paint), broken(comparison))
            + &others.collect::<String>()
    } else if let Some(looks) = &comparison.looks {
        format!("{}: {}{}", joined(), screened(looks, comparison), p_of_mean(comparison))
    } else {
        let (before, after) = (fraction(a.rate), fraction(b.rate));
        format!("{}: {before} → {after} passed{}", joined(), p_of_mean(comparison))
    };
    if let Some(SpentTrials { counted: used, limit: most, .. }) = compared.trials {
        let how = if comparison.is_decided() { "decided after" } else { "after" };
        let _ = write!(text, ", {how} {used} of at most {most} trials");
    }
    text
}

/// What the first looks at cases led to: `40 cases with one trial each of the candidate, of which 2 failed; pairs of 2 cases: 2/3 → 2/3
/// passed`.
fn screened(looks: &FirstLooks, comparison: &Comparison) -> String {
    let FirstLooks { cases, failed, several, .. } = looks;
    let failed = match failed.len() {
        0 => "none".to_owned(),
        failed => failed.to_string(),
    };
    let all = if *several { ", so that all get pairs" } else { "" };
    let Comparison { baseline: a, candidate: b, .. } = comparison;
    let cases_in_pairs = counted(comparison.cases.len(), "case");
    let pairs = if a.rate.trials == 0 {
        String::new()
    } else {
        format!("; pairs of {cases_in_pairs}: {} → {} passed", fraction(a.rate), fraction(b.rate))
    };
    format!("{} with one trial each of the candidate, of which {failed} failed{all}{pairs}", counted(*cases, "case"))
}

/// What stands behind the answer, in lines: the mean of all cases with its interval, and what the trials could not show. If a case
/// broke, the mean is not a part of the answer, and [`mean_of_broke`] has it.
pub fn behind(compared: &ComparisonResults) -> Vec<String> {
    let comparison = &compared.comparison;
    let mut lines = Vec::new();
    if is_broke(comparison) {
        let percent = rate::percent(compared.rule.alpha);
        lines.push(format!("`broke` is said of a change that breaks nothing in at most {percent} % of comparisons"));
        lines.extend(comparison.looks.iter().map(|looks| format!("looked at {}", screened(looks, comparison))));
    } else {
        lines.extend(mean(compared));
    }
    lines.extend(comparison.looks.as_ref().and_then(chosen_by));
    lines.extend(compared.spread.iter().flat_map(|spread| [Some(unasked(compared, spread)), unlike(spread)]).flatten());
    lines.extend(got_better(comparison));
    lines.extend(lost_more(comparison));
    lines.extend(not_shown(compared));
    lines
}

/// The side of which more trials were lost, which may hide what it does.
fn lost_more(comparison: &Comparison) -> Option<String> {
    let (a, b) = (comparison.baseline.not_measured, comparison.candidate.not_measured);
    let (side, lost, other) = if a > b { ("baseline", a, b) } else { ("candidate", b, a) };
    let line = || {
        format!("more trials of the {side} were not measured ({lost}, the other side {other}): they are not counted")
    };
    (lost != other).then(line)
}

/// From how many failed looks on all cases get pairs, if earlier trials have chosen that.
fn chosen_by(looks: &FirstLooks) -> Option<String> {
    let usual = looks.all_from_if_unknown;
    let all_from = looks.all_from.filter(|all_from| *all_from != usual)?;
    Some(format!("by earlier trials, all cases get pairs from {all_from} failed looks on, and not from {usual}"))
}

/// If a case broke: the mean of all cases, among the other figures.
pub fn mean_of_broke(compared: &ComparisonResults) -> Option<String> {
    let mean = mean(compared).filter(|_| is_broke(&compared.comparison));
    mean.map(|mean| format!("of all cases together, which a single one hardly moves: {mean}"))
}

fn is_broke(comparison: &Comparison) -> bool {
    comparison.results.contains(&CompareResult::Broke)
}

/// The difference of the mean with its interval. A result that chose itself by its trials has most likely seen too much, so the
/// cautious end of the interval comes first.
fn mean(compared: &ComparisonResults) -> Option<String> {
    let comparison = &compared.comparison;
    let MeanDifference { difference, interval, cases } = comparison.difference.filter(|_| !compared.unchanged)?;
    let (low, high) = (interval.low, interval.high);
    let what = match (comparison.neither.is_empty(), cases) {
        (true, 1) => "difference".to_owned(),
        (true, cases) => format!("mean of {cases} cases"),
        (false, cases) => format!("mean of the {} that ran", counted(cases, "case")),
    };
    let level = compared.rule.level * 100.0;
    let measured = difference.map(|found| signed_to(found, decimals(comparison)));
    let has = |result| comparison.results.contains(&result);
    let sure = [(has(CompareResult::Better), "gains", low, high), (has(CompareResult::Worse), "loses", -high, -low)];
    if let Some((_, verb, least, most)) = sure.into_iter().find(|(has, _, least, _)| *has && *least > 0.0) {
        let measured = measured.map(|points| format!("; measured: {points} points")).unwrap_or_default();
        // Less than a point is not nothing.
        let least = points_to(least, usize::from(least < 0.01));
        let unit = if least == "1" { "point" } else { "points" };
        return Some(format!(
            "{what}: {verb} at least {least} {unit}, at most {} ({level:.0} %){measured}",
            points(most)
        ));
    }
    let range = format!("{} … {}", signed(low), signed(high));
    let note = match comparison.evidence {
        _ if !has(CompareResult::Better) && !has(CompareResult::Worse) => "",
        ResultBasis::Fixed { .. } => "; the test asks whether any case changed, the interval by how much all did",
        ResultBasis::Sequential(_) => "; the interval looks in both directions, the result in one",
    };
    Some(match measured {
        Some(points) => format!("{what}: {points} points ({level:.0} %: {range}){note}"),
        None => format!("{what}: {range} points ({level:.0} %){note}"),
    })
}

/// How far the mean may be from that of cases that were not asked, and what would tell more: `over cases that were not asked: ±33 points
/// (95 %, 10 cases); twice as many cases: ±23, twice the trials: ±32`.
fn unasked(compared: &ComparisonResults, spread: &Spread) -> String {
    let by = spread.cluster.as_str();
    let clusters = counted(spread.clusters, by);
    let what = format!("over {by}s that were not asked");
    let Some(reach) = spread.unasked else {
        return if spread.clusters < FEWEST_CLUSTERS {
            format!("{what}: unknown from {clusters}; {FEWEST_CLUSTERS} are needed")
        } else {
            format!("{what}: unknown, since all {clusters} moved alike")
        };
    };
    let level = rate::percent(compared.rule.level);
    let more = reach.twice_the_trials.map_or_else(
        || "; what more trials of these would change is unknown, since some have one".to_owned(),
        |reach| format!(", twice the trials: ±{}", points(reach)),
    );
    let (now, others) = (points(reach.now), points(reach.twice_the_cases));
    format!("{what}: ±{now} points ({level} %, {clusters}); twice as many {by}s: ±{others}{more}")
}

/// That one mean is not the whole answer: `not the same everywhere: by mode −30 points (mcp) … +10 (native), p = 0.004`.
fn unlike(spread: &Spread) -> Option<String> {
    let kinds = spread.differs.iter().map(|unlike| {
        let (low, high) = (signed(unlike.lowest.difference), signed(unlike.highest.difference));
        let [lowest, highest] = [&unlike.lowest.name, &unlike.highest.name].map(|name| escape::line(name));
        format!("by {} {low} points ({lowest}) … {high} ({highest}), p = {}", unlike.by, probability(unlike.p))
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("not the same everywhere: {}", kinds.join("; ")))
}

fn named(result: CompareResult, compared: &ComparisonResults, paint: Paint) -> String {
    let tone = match result {
        CompareResult::Better | CompareResult::NoWorse | CompareResult::NoHarmSeen => Tone::Good,
        CompareResult::Broke | CompareResult::Worse => Tone::Bad,
        CompareResult::Undecided => Tone::Open,
        CompareResult::NothingMeasured => Tone::Broken,
    };
    match (result, compared.rule.margin) {
        (CompareResult::NoWorse, Some(margin)) => {
            paint.on(tone, &format!("no worse than by {} points", points(margin)))
        }
        _ => paint.on(tone, result.as_str()),
    }
}

/// How probable such a difference of the means is if there is none; nothing for `no worse` of stored trials, which follows
/// from the interval, and for `no harm seen`, which rests on no p.
fn p_of_mean(comparison: &Comparison) -> String {
    let has = |result| comparison.results.contains(&result);
    match comparison.evidence {
        _ if has(CompareResult::NoHarmSeen) => String::new(),
        ResultBasis::Fixed { .. } if has(CompareResult::NoWorse) => String::new(),
        ResultBasis::Fixed { p, .. } => format!(", p = {}", probability(p)),
        ResultBasis::Sequential(evidence) => {
            let p = if has(CompareResult::NoWorse) {
                1.0 / evidence.no_worse.unwrap_or(1.0)
            } else if has(CompareResult::Worse) || has(CompareResult::Better) {
                1.0 / evidence.worse.max(evidence.better)
            } else {
                // The trials have chosen the direction.
                2.0 / evidence.worse.max(evidence.better)
            };
            at_most(p)
        }
    }
}

/// The bound that an e-value is, which holds at every look; nothing if it says nothing.
fn at_most(p: f64) -> String {
    if p < 1.0 { format!(", p ≤ {}", probability(up(p))) } else { String::new() }
}

/// What a case of [`Comparison::broken`] did.
pub fn broke(comparison: &Comparison) -> &'static str {
    if comparison.broke_together { "may have broken" } else { "broke" }
}

/// The broken cases that the sentence names.
pub fn named_broken(comparison: &Comparison) -> impl Iterator<Item = &String> {
    comparison.broken.iter().take(MOST_NAMED)
}

/// The cases that broke, the surest first, and how sure it is that some case did.
fn broken(comparison: &Comparison) -> String {
    let change = |name: &String| comparison.cases.iter().find(|case| case.case == *name);
    let broken: Vec<&CaseChange> = comparison.broken.iter().filter_map(change).collect();
    let rates = |case: &&CaseChange| {
        format!("{} {} → {}", escape::line(&case.case), fraction(case.baseline.rate), fraction(case.candidate.rate))
    };
    let cases: Vec<String> = broken.iter().map(rates).collect();
    let p = match comparison.evidence {
        // The surest is first, and the last one has the largest p.
        ResultBasis::Fixed { .. } => broken.last().map(|least| {
            let each = if broken.len() > 1 { "each p ≤" } else { "p =" };
            format!(", {each} {}", probability(least.adjusted))
        }),
        ResultBasis::Sequential(evidence) => Some(at_most(1.0 / evidence.broke)),
    };
    let which = if comparison.broke_together { "at least one of " } else { "" };
    which.to_owned() + &cut::names(&cases, MOST_NAMED) + &p.unwrap_or_default()
}

/// Good news that bad news must not hide.
fn got_better(comparison: &Comparison) -> Option<String> {
    let bad = CompareResult::HARM.iter().any(|result| comparison.results.contains(result));
    let better = comparison.cases.iter().filter(|case| case.changed && case.difference() > 0.0).count();
    (bad && better > 0).then(|| format!("{} got better nevertheless", counted(better, "case")))
}

/// What the trials could not show, or would have shown.
fn not_shown(compared: &ComparisonResults) -> Vec<String> {
    let comparison = &compared.comparison;
    let has = |result| comparison.results.contains(&result);
    if has(CompareResult::Undecided) {
        return vec![match comparison.trials_needed {
            Some(more) => format!("about {} would decide a difference of this size", counted(more, "more trial")),
            None if comparison.baseline.rate.share() != comparison.candidate.rate.share() => {
                "too few trials to say how many more would decide".to_owned()
            }
            None => "no difference was seen".to_owned(),
        }];
    }
    if !has(CompareResult::NoHarmSeen) {
        return Vec::new();
    }
    if comparison.baseline.rate.passed == 0 && comparison.looks.as_ref().is_none_or(|looks| looks.passed.is_empty()) {
        return vec!["no trial of the baseline passed, so nothing that passed could break".to_owned()];
    }
    compared.power.iter().map(|power| format!("such a comparison finds {}", finds(power))).collect()
}

/// The sentence, and under it the mean, the sides, the cases that changed, and notes.
pub fn render(compared: &ComparisonResults, paint: Paint) -> String {
    let comparison = &compared.comparison;
    let mut text = format!("{}\n", sentence(compared, paint));
    if compared.unchanged {
        return text;
    }
    for line in behind(compared) {
        let _ = writeln!(text, "  {line}");
    }
    let shown = [
        ("baseline ", &compared.baseline, &comparison.baseline),
        ("candidate", &compared.candidate, &comparison.candidate),
    ];
    for (side, label, shown) in shown {
        let _ = writeln!(text, "  {side}  {}: {}", escape::line(label), side_line(shown, comparison));
    }
    cases(&mut text, comparison);
    for line in told(compared) {
        let _ = writeln!(text, "  {}", escape::line(&line));
    }
    text
}

/// The decimals of both sides' shares and of their difference.
fn decimals(comparison: &Comparison) -> usize {
    let difference = comparison.difference.and_then(|found| found.difference);
    let shares = comparison.baseline.share.zip(comparison.candidate.share).zip(difference);
    shares.map_or(0, |((before, after), found)| rate::decimals(before, after, found))
}

/// A side: its trials with their share. If its cases have different numbers of trials, the share is of the cases, and no share of
/// the trials beside it. If a case broke, the trials alone.
pub fn side_line(shown: &SideSummary, comparison: &Comparison) -> String {
    let of_trials = shown.rate.share().unwrap_or_default();
    let mut text = match shown.share.zip(shown.interval).filter(|_| !is_broke(comparison)) {
        None => passed(shown),
        Some((share, interval)) => {
            let of_cases = rate::share_to(share, interval, decimals(comparison));
            if (share - of_trials).abs() < 1e-9 {
                format!("{}, {of_cases}", fraction(shown.rate))
            } else {
                format!("mean of the cases {of_cases}; {}", passed(shown))
            }
        }
    };
    if shown.not_measured > 0 {
        let _ = write!(text, ", {} lost to errors or unscored", counted(shown.not_measured, "trial"));
    }
    text
}

/// `8 of 14 trials passed`.
fn passed(shown: &SideSummary) -> String {
    if shown.rate.trials == 0 {
        return "no trial in a pair".to_owned();
    }
    format!(
        "{} of {} passed",
        shown.rate.passed,
        counted(usize::try_from(shown.rate.trials).unwrap_or(usize::MAX), "trial")
    )
}

/// The cases whose shares differ, the surest first, then those that differ most.
pub fn moved_cases(comparison: &Comparison) -> Vec<&CaseChange> {
    let mut cases: Vec<&CaseChange> =
        comparison.cases.iter().filter(|case| case.difference().abs() > f64::EPSILON).collect();
    cases.sort_by(|x, y| x.p.total_cmp(&y.p).then_with(|| y.difference().abs().total_cmp(&x.difference().abs())));
    cases
}

/// That a case changed, and how sure that is; `None` where its trials do not show it.
pub fn changed(case: &CaseChange) -> Option<String> {
    case.changed.then(|| format!("changed (p = {})", probability(case.adjusted)))
}

/// How sure it is that a case moved; `None` if the results of the comparison already say that cases moved this way.
pub fn certainty(case: &CaseChange, comparison: &Comparison) -> Option<String> {
    let moved: &[CompareResult] = if case.difference() < 0.0 { &CompareResult::HARM } else { &[CompareResult::Better] };
    let is_said = moved.iter().any(|result| comparison.results.contains(result));
    changed(case).or_else(|| (!is_said).then(|| "may be noise".to_owned()))
}

/// A side by name: `main (4a8abee36477)`, `working tree`.
pub fn side_name(label: &str) -> &str {
    ["the skills of ", "the "].into_iter().find_map(|prefix| label.strip_prefix(prefix)).unwrap_or(label)
}

/// Both sides by the shortest names that tell them apart: `main` and `working tree`.
pub fn short_names((baseline, candidate): (&str, &str)) -> (String, String) {
    let [long_baseline, long_candidate] = [baseline, candidate].map(side_name);
    let [short_baseline, short_candidate] =
        [long_baseline, long_candidate].map(|name| name.split_once(" (").map_or(name, |(short, _)| short));
    if short_baseline == short_candidate {
        (long_baseline.to_owned(), long_candidate.to_owned())
    } else {
        (short_baseline.to_owned(), short_candidate.to_owned())
    }
}

/// How many cases have the same result on both sides.
pub fn the_same(count: usize) -> String {
    format!("{} the same in both", counted(count, "case"))
}

fn cases(text: &mut String, comparison: &Comparison) {
    let cases = moved_cases(comparison);
    let same = comparison.cases.len() - cases.len();
    let row = |case: &&CaseChange| {
        let changed = changed(case).map(|changed| format!("  {changed}")).unwrap_or_default();
        let (a, b) = (fraction(case.baseline.rate), fraction(case.candidate.rate));
        [format!("  {}", escape::line(&case.case)), format!("{a} → {b}{changed}")]
    };
    let rows: Vec<_> = cases.iter().take(MOST_CASES).map(row).collect();
    text.push_str(&columns::text([WORDS, WORDS], &rows));
    let _ = match (cases.len().saturating_sub(MOST_CASES), same) {
        (0, 0) => Ok(()),
        (0, same) => writeln!(text, "  {}", the_same(same)),
        (more, same) => writeln!(text, "  {} more that moved and {}", counted(more, "case"), the_same(same)),
    };
}

/// What else there is to say, in lines: the skills that became active more or less often, what the sides took, and what the
/// figures do not hold. Names in it are as they were given.
pub fn told(compared: &ComparisonResults) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(compared.headline.as_ref().map(progress::worth));
    triggering(&mut lines, compared);
    lines.extend(amounts(compared));
    on_figures(&mut lines, compared);
    on_cases(&mut lines, compared);
    lines
}

/// The skills that became active more or less often, those that lost most first, with what became active in their place.
fn triggering(lines: &mut Vec<String>, compared: &ComparisonResults) {
    let skills = compared.triggering.iter().flat_map(|found| &found.skills);
    let moved: Vec<&SkillShift> = skills.filter(|skill| skill.moved().abs() > f64::EPSILON).collect();
    for SkillShift { skill, baseline: a, candidate: b, difference, replaced_by: instead } in
        moved.iter().take(MOST_CASES)
    {
        let points = difference.map(|found| {
            let (low, high) = (signed(found.interval.low), signed(found.interval.high));
            format!(", {} points ({low} … {high})", signed(found.difference))
        });
        let places: Vec<String> = instead.iter().map(in_its_place).collect();
        let places = if places.is_empty() { String::new() } else { format!("; in its place {}", places.join(", ")) };
        lines.push(format!(
            "`{skill}` activated in {} → {} of its trials{}{places}",
            fraction(*a),
            fraction(*b),
            points.unwrap_or_default(),
        ));
    }
    let more = moved.len().saturating_sub(MOST_CASES);
    if more > 0 {
        lines.push(format!("and {} more; `compare --json` has all", counted(more, "skill")));
    }
}

/// `` `other` 0 → 4 ``.
fn in_its_place(instead: &ReplacementSkill) -> String {
    let what = match instead.activated.as_deref() {
        None => "none".to_owned(),
        Some(several @ "several skills") => several.to_owned(),
        Some(skill) => format!("`{skill}`"),
    };
    format!("{what} {} → {}", instead.baseline, instead.candidate)
}

fn amounts(compared: &ComparisonResults) -> Option<String> {
    let all = &compared.amounts;
    let named = [("tokens", all.tokens), ("cost", all.cost), ("time", all.time), ("commands", all.commands)];
    let told: Vec<String> =
        named.iter().filter_map(|(name, ratio)| Some(format!("{name} {}", change(ratio.as_ref()?)))).collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Which trials were measured earlier, and how often the same was measured.
pub fn kept(compared: &ComparisonResults) -> Vec<String> {
    let told = |of: &Option<ReusedTrials>, whose: &str, what: &str| {
        let ReusedTrials { trials, first, last } = of.as_ref()?;
        let days = if first == last { first.clone() } else { format!("{first} … {last}") };
        let were = if *trials == 1 { "was" } else { "were" };
        Some(format!("{}{whose} {were} measured earlier, on {days}: {what}", counted(*trials, "trial")))
    };
    let provider = "a change of the provider since then is in the difference";
    let again = "gates with the same contents share one comparison, and --fresh measures again";
    let again_of = compared.measurement.map(|number| {
        format!("this is measurement {number} of the same contents: of several, one is wrong more often than any of them alone")
    });
    let lines = [told(&compared.kept, " of the baseline", provider), told(&compared.earlier, " of both sides", again)];
    lines.into_iter().flatten().chain(again_of).collect()
}

/// How the figures are to be read, and what is in none of them.
fn on_figures(lines: &mut Vec<String>, compared: &ComparisonResults) {
    let comparison = &compared.comparison;
    lines.extend(kept(compared));
    let not_counted = [
        (&comparison.lost, "not measured on one side or both"),
        (&comparison.only_baseline, "measured only for the baseline"),
        (&comparison.only_candidate, "measured only for the candidate"),
        (&comparison.neither, "not tried on both sides"),
    ];
    for (cases, why) in not_counted.into_iter().filter(|(cases, _)| !cases.is_empty()) {
        lines.push(format!("not counted, {why}: {}", cut::names(cases, MOST_CASES)));
    }
    if let Some(SpentTrials { counted: used, executed: run, .. }) =
        compared.trials.filter(|spent| spent.executed > spent.counted)
    {
        let why = if comparison.is_decided() || comparison.results.contains(&CompareResult::NoHarmSeen) {
            "that were running when the result was reached"
        } else {
            "whose pair, or one that began before it, is not complete"
        };
        lines.push(format!("not counted: {} {why}", counted(run - used, "trial")));
    }
}

fn on_cases(lines: &mut Vec<String>, compared: &ComparisonResults) {
    if compared.outcome_only {
        lines.push("judged by what both sides were asked: checks that need the skill are left out".to_owned());
    }
    if !compared.changed_cases.is_empty() {
        let (cases, parts) =
            (cut::names(&compared.changed_cases, MOST_CASES), cut::names(&compared.changed_parts, MOST_CASES));
        let parts = if parts.is_empty() { parts } else { format!(" ({} in {parts})", compared.changed_cases[0]) };
        lines.push(format!(
            "asked or checked differently on the two sides, so more than the skills differs: {cases}{parts}"
        ));
    }
    if !compared.until_decided.is_empty() {
        let cases = cut::names(&compared.until_decided, MOST_CASES);
        lines.push(format!(
            "trials continued until something was decided; the test and the interval ignore that, so take them as \
             a guide: {cases}"
        ));
    }
    lines.extend(compared.left_out.iter().map(|(case, why)| format!("{case} is left out: {why}")));
    if let Some(SpentTrials { flipped, .. }) = compared.trials.filter(|_| compared.aa) {
        let alpha = rate::points(compared.rule.alpha);
        let pairs = fraction(flipped);
        lines.push(format!(
            "noise: the verdict flipped in {pairs} pairs of equal trials; each false result comes in {alpha} % at most"
        ));
    }
    for shares in compared.telling_nothing() {
        let (check, with, without) = (&shares.check, fraction(shares.candidate), fraction(shares.baseline));
        lines.push(format!(
            "`{check}` passes as often without ({without}) as with ({with}): it says nothing about what the skills add"
        ));
    }
    if compared.settled > 0 {
        lines.push(format!(
            "{} ended when the verdict was settled: tokens, cost, time and commands are lower bounds and not compared",
            counted(compared.settled, "trial")
        ));
    }
    lines.extend(in_part(compared.partial));
    lines.extend(compared.scripted.iter().map(|by| scripted(by)));
}

fn change(ratio: &Ratio) -> String {
    let percent = |ratio: f64| with_sign((ratio - 1.0) * 100.0, 0);
    let interval = ratio.interval.map(|found| format!(" ({} … {})", percent(found.low), percent(found.high)));
    format!("{} %{}", percent(ratio.ratio), interval.unwrap_or_default())
}

// The same cases in several modes, one under the other: the result, how the skill was activated, and what it cost.

/// What stands where nothing is known.
const NOTHING: &str = "-";

/// A table of each case that ran in several modes: a line for each trial, the modes in the order of `modes`. Empty if no
/// case ran in two modes. It fits into 80 columns.
///
/// `first` has the tokens of the first model request: system prompt, tools, skill list and prompt. Between two modes of a case, its
/// difference is the price of their skill lists and tools in every turn.
pub fn comparison(outcomes: &[&Outcome], modes: &[Mode], paint: Paint) -> String {
    let mut rows: Vec<&Outcome> = outcomes.to_vec();
    let place = |outcome: &Outcome| modes.iter().position(|mode| mode.name == outcome.id.mode).unwrap_or(usize::MAX);
    let key =
        |outcome: &Outcome| (outcome.id.skill.clone(), outcome.id.case.clone(), place(outcome), outcome.id.number);
    rows.sort_by_key(|outcome| key(outcome));
    let same_case = |a: &Outcome, b: &Outcome| (&a.id.skill, &a.id.case) == (&b.id.skill, &b.id.case);
    if !rows.windows(2).any(|pair| same_case(pair[0], pair[1]) && pair[0].id.mode != pair[1].id.mode) {
        return String::new();
    }
    let mut cells = vec![TITLES.map(str::to_owned)];
    cells.extend(rows.iter().map(|outcome| row(outcome, paint)));
    let lines = columns::lines([WORDS, WORDS, WORDS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS], &cells);
    let mut text = format!("{}\n", lines[0]);
    for (at, outcome) in rows.iter().enumerate() {
        if at == 0 || !same_case(rows[at - 1], outcome) {
            let _ = writeln!(text, "{}/{}", outcome.id.skill, outcome.id.case);
        }
        let _ = writeln!(text, "{}", lines[at + 1]);
    }
    text
}

/// Indented under their case.
const TITLES: [&str; 8] = ["  mode", "verdict", "skill by", "first", "in", "out", "cost", "time"];

fn row(outcome: &Outcome, paint: Paint) -> [String; 8] {
    let id = &outcome.id;
    let metrics = &outcome.grade.metrics;
    let number = |number: Option<u64>| number.map_or_else(|| NOTHING.to_owned(), |number| number.to_string());
    // Lower bounds of a trial that ended early.
    let least = if metrics.settled { "≥ " } else { "" };
    let usage = metrics.usage.or(metrics.usage_at_least.filter(|_| metrics.settled));
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| NOTHING.to_owned(), |tokens| format!("{least}{tokens}"));
    let cost = usage.and_then(|usage| usage.cost_usd);
    [
        if id.number > 1 { format!("  {}/{}", label(&id.mode), id.number) } else { format!("  {}", label(&id.mode)) },
        paint.on(outcome.grade.verdict.into(), outcome.grade.verdict.as_str()),
        mechanism(metrics, &id.skill),
        number(metrics.first_input_tokens),
        tokens(usage.map(|usage| usage.input_tokens)),
        tokens(usage.map(|usage| usage.output_tokens)),
        cost.map_or_else(|| NOTHING.to_owned(), |cost| format!("{least}{}", dollars(cost))),
        format!("{least}{:.1} s", std::time::Duration::from_millis(metrics.duration_ms).as_secs_f64()),
    ]
}

/// How the skill under test was activated, the first way first.
fn mechanism(metrics: &Metrics, skill: &str) -> String {
    let of_skill = metrics.activations.iter().filter(|found| crate::skill::slug(&found.skill) == skill);
    let ways: Vec<&str> = of_skill.map(|found| found.how).map(Mechanism::as_str).collect();
    if ways.is_empty() { NOTHING.to_owned() } else { ways.join(", ") }
}
