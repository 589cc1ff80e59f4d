//! A comparison of two arms as people read it: a sentence that answers, then the figures it rests on.

use std::fmt::Write;

use crate::decide::result::CompareResult;
use crate::decide::{CaseChange, Comparison, ResultBasis, SideSummary};
use crate::report::diagnostics::counted;
use crate::report::paint::{Paint, Tone};
use crate::report::rate::{self, fraction, points};
use crate::report::trial::scripted;
use crate::results::activation_shift::{ReplacementSkill, SkillShift};
use crate::results::compared::{ComparisonResults, SpentTrials};
use crate::stats::amounts::Ratio;
use crate::text::safe;

/// Most cases that are listed by name; the others are counted.
const MOST_CASES: usize = 12;

/// The answer in a sentence: the word, both rates, the difference with its interval, how sure that is, and what it took.
#[must_use]
pub fn sentence(compared: &ComparisonResults, paint: Paint) -> String {
    if compared.unchanged {
        let arms = format!("{} and {}", safe::line(&compared.baseline), safe::line(&compared.candidate));
        let what = paint.on(Tone::Good, "unchanged");
        return format!(
            "{what}: {arms} have the same skills, file by file: no trial is needed; --aa shows what is noise"
        );
    }
    let Comparison { result: word, baseline: a, candidate: b, difference, evidence, .. } = &compared.comparison;
    let text = match word {
        CompareResult::NoWorse { margin } => format!("no worse than by {} points", points(*margin)),
        word => word.as_str().to_owned(),
    };
    let mut text = paint.on(tone(word), &text);
    let Some(difference) = difference else {
        let lost = a.not_measured + b.not_measured;
        let why = if lost > 0 {
            format!("{} ended in errors or unscored", trials(lost))
        } else {
            "no case was measured on both sides".to_owned()
        };
        let _ = write!(text, ": {why}");
        return text;
    };
    let (low, high) = (signed(difference.interval.low), signed(difference.interval.high));
    let level = compared.rule.level * 100.0;
    let _ = write!(
        text,
        ": {} → {} passed, {} points{} ({level:.0} %: {low} … {high}){}",
        fraction(a.rate),
        fraction(b.rate),
        signed(difference.difference),
        if by_trials(a, b) == signed(difference.difference) { "" } else { ", every case weighing the same" },
        how_sure(word, evidence),
    );
    if let Some(SpentTrials { counted: used, limit: most, .. }) = compared.trials {
        let how = if word.decided() { "decided after" } else { "after" };
        let _ = write!(text, ", {how} {used} of at most {most} trials");
    }
    let changed = compared.comparison.cases.iter().filter(|case| case.changed);
    let (how, against) = match word {
        CompareResult::Worse => ("better", changed.filter(|case| moved(case) > 0.0).count()),
        _ => ("worse", changed.filter(|case| moved(case) < 0.0).count()),
    };
    if against > 0 {
        let _ = write!(text, "; {} got {how} nevertheless", counted(against, "case"));
    }
    if let CompareResult::Undecided { trials_needed: more } = word {
        let _ = match more {
            Some(more) => write!(text, "; about {} would decide a difference of this size", more_trials(*more)),
            None => write!(text, "; no difference was seen"),
        };
    }
    text
}

/// How probable the word's evidence is where the word is not true; nothing for `no worse` of stored trials, which goes by
/// the interval.
fn how_sure(word: &CompareResult, evidence: &ResultBasis) -> String {
    match (word, evidence) {
        (CompareResult::NoWorse { .. }, ResultBasis::Fixed { .. }) => String::new(),
        (_, ResultBasis::Fixed { p_shown, .. }) => format!(", p = {}", probability(*p_shown)),
        (_, ResultBasis::Sequential { worse, better, no_worse }) => {
            let found = match word {
                CompareResult::NoWorse { .. } => no_worse.unwrap_or(1.0),
                _ => worse.max(*better),
            };
            // What Ville's inequality makes of an e-value: it holds at every look.
            format!(", p ≤ {}", probability(up((1.0 / found).min(1.0))))
        }
    }
}

/// The difference in points that the trials alone would give, whatever their cases.
fn by_trials(a: &SideSummary, b: &SideSummary) -> String {
    signed(b.rate.share().unwrap_or_default() - a.rate.share().unwrap_or_default())
}

fn tone(word: &CompareResult) -> Tone {
    match word {
        CompareResult::Better | CompareResult::NoWorse { .. } => Tone::Good,
        CompareResult::Worse => Tone::Bad,
        CompareResult::Undecided { .. } => Tone::Open,
        CompareResult::NothingMeasured => Tone::Broken,
    }
}

/// The sentence, and below it the arms, the cases that changed, and what else there is to say.
#[must_use]
pub fn render(compared: &ComparisonResults, paint: Paint) -> String {
    let comparison = &compared.comparison;
    let mut text = format!("{}\n", sentence(compared, paint));
    if compared.unchanged {
        return text;
    }
    let shown = [("A", &compared.baseline, &comparison.baseline), ("B", &compared.candidate, &comparison.candidate)];
    for (arm, label, shown) in shown {
        let _ = writeln!(text, "  {arm}  {}: {}", safe::line(label), side_line(shown));
    }
    cases(&mut text, comparison);
    for line in told(compared) {
        let _ = writeln!(text, "  {}", safe::line(&line));
    }
    text
}

/// What an arm came to.
#[must_use]
pub fn side_line(shown: &SideSummary) -> String {
    let mut text = fraction(shown.rate);
    if let (Some(share), Some(interval)) = (shown.share, shown.interval) {
        let _ = write!(text, ", {}", rate::share(share, interval));
    }
    if shown.not_measured > 0 {
        let _ = write!(text, ", {} lost to errors or unscored", trials(shown.not_measured));
    }
    text
}

/// The difference in the shares of a case.
fn moved(case: &CaseChange) -> f64 {
    case.candidate.rate.share().unwrap_or_default() - case.baseline.rate.share().unwrap_or_default()
}

/// The cases whose shares differ, the surest first, then those that differ most.
#[must_use]
pub fn moved_cases(comparison: &Comparison) -> Vec<&CaseChange> {
    let mut cases: Vec<&CaseChange> = comparison.cases.iter().filter(|case| moved(case).abs() > f64::EPSILON).collect();
    cases.sort_by(|x, y| x.p.total_cmp(&y.p).then_with(|| moved(y).abs().total_cmp(&moved(x).abs())));
    cases
}

/// That a case changed, and how sure that is; `None` where its trials do not show it.
#[must_use]
pub fn changed(case: &CaseChange) -> Option<String> {
    case.changed.then(|| format!("changed (p = {})", probability(case.adjusted)))
}

/// How many cases came to the same in both arms.
#[must_use]
pub fn the_same(count: usize) -> String {
    format!("{} the same in both", counted(count, "case"))
}

fn cases(text: &mut String, comparison: &Comparison) {
    let cases = moved_cases(comparison);
    let same = comparison.cases.len() - cases.len();
    let width = cases.iter().take(MOST_CASES).map(|case| case.case.chars().count()).max().unwrap_or_default();
    for case in cases.iter().take(MOST_CASES) {
        let changed = changed(case).map(|changed| format!("  {changed}")).unwrap_or_default();
        let (a, b) = (fraction(case.baseline.rate), fraction(case.candidate.rate));
        let _ = writeln!(text, "  {:width$}  {a} → {b}{changed}", safe::line(&case.case));
    }
    let _ = match (cases.len().saturating_sub(MOST_CASES), same) {
        (0, 0) => Ok(()),
        (0, same) => writeln!(text, "  {}", the_same(same)),
        (more, same) => writeln!(text, "  {} more that moved and {}", counted(more, "case"), the_same(same)),
    };
}

/// What else there is to say, in lines: the skills that became active more or less often, what the arms took, and what the
/// figures do not hold. Names in it are as they were given.
#[must_use]
pub fn told(compared: &ComparisonResults) -> Vec<String> {
    let mut lines = Vec::new();
    triggering(&mut lines, compared);
    lines.extend(amounts(compared));
    on_figures(&mut lines, compared);
    on_cases(&mut lines, compared);
    lines
}

/// The skills that became active more or less often, those that lost most first, with what became active in their place.
fn triggering(lines: &mut Vec<String>, compared: &ComparisonResults) {
    let skills = compared.triggering.iter().flat_map(|found| &found.skills);
    let moved: Vec<&SkillShift> = skills.filter(|skill| skill.difference.difference.abs() > f64::EPSILON).collect();
    for SkillShift { skill, baseline: a, candidate: b, difference, replaced_by: instead } in
        moved.iter().take(MOST_CASES)
    {
        let (low, high) = (signed(difference.interval.low), signed(difference.interval.high));
        let places: Vec<String> = instead.iter().map(in_its_place).collect();
        let places = if places.is_empty() { String::new() } else { format!("; in its place {}", places.join(", ")) };
        lines.push(format!(
            "`{skill}` became active in {} → {} of its trials, {} points ({low} … {high}){places}",
            fraction(*a),
            fraction(*b),
            signed(difference.difference),
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

/// How the figures are to be read, and what is in none of them.
fn on_figures(lines: &mut Vec<String>, compared: &ComparisonResults) {
    let comparison = &compared.comparison;
    if comparison.unequal_trials {
        lines.push("cases were tried unequally often: points and shares weigh every case the same".to_owned());
    }
    let lost = [
        ("A", comparison.baseline.not_measured, comparison.candidate.not_measured),
        ("B", comparison.candidate.not_measured, comparison.baseline.not_measured),
    ];
    for (arm, lost, other) in lost.into_iter().filter(|(_, lost, other)| lost > other) {
        lines.push(format!(
            "more trials of side {arm} were not measured ({lost}, the other {other}): they are not counted"
        ));
    }
    for (cases, arm) in [(&comparison.only_baseline, "A"), (&comparison.only_candidate, "B")] {
        if !cases.is_empty() {
            lines.push(format!("not counted, measured in {arm} only: {}", list(cases)));
        }
    }
    if !comparison.neither.is_empty() {
        lines.push(format!("not counted, measured on neither side: {}", list(&comparison.neither)));
    }
    if let Some(SpentTrials { counted: used, executed: run, .. }) =
        compared.trials.filter(|spent| spent.executed > spent.counted)
    {
        let why = if comparison.result.decided() {
            "were running when the result was reached, and are not counted"
        } else {
            "ended before earlier ones, and are not counted yet"
        };
        lines.push(format!("{} {why}", trials(run - used)));
    }
}

/// What the cases and their checks were.
fn on_cases(lines: &mut Vec<String>, compared: &ComparisonResults) {
    if compared.outcome_only {
        lines.push("judged by what both sides were asked: checks that ask for the skill are left out".to_owned());
    }
    if !compared.changed_cases.is_empty() {
        let cases = list(&compared.changed_cases);
        lines.push(format!("asked or checked differently on the two sides, so more than the skills differs: {cases}"));
    }
    if !compared.until_decided.is_empty() {
        let cases = list(&compared.until_decided);
        lines.push(format!(
            "trials continued until something was decided; the test and the interval ignore that, so take them as \
             a guide: {cases}"
        ));
    }
    lines.extend(compared.left_out.iter().map(|(case, why)| format!("{case} is left out: {why}")));
    if let Some(SpentTrials { flipped, .. }) = compared.trials.filter(|_| compared.aa) {
        let share = rate::measured(flipped).map(|share| format!(", {share}")).unwrap_or_default();
        let alpha = rate::points(compared.rule.alpha);
        let pairs = fraction(flipped);
        lines.push(format!(
            "noise: the verdict flipped in {pairs} pairs of equal trials{share}; each wrong word is said in {alpha} % at most"
        ));
    }
    for shares in compared.telling_nothing() {
        let (check, with, without) = (&shares.check, rate::whole(shares.candidate), rate::whole(shares.baseline));
        lines.push(format!(
            "`{check}` passes as often without ({without}) as with ({with}): it says nothing about what the skills add"
        ));
    }
    lines.extend(compared.scripted.iter().map(|by| scripted(by)));
}

fn list(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(MOST_CASES).map(String::as_str).collect();
    let more = names.len().saturating_sub(MOST_CASES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn trials(count: u64) -> String {
    format!("{count} trial{}", if count == 1 { "" } else { "s" })
}

fn more_trials(count: u64) -> String {
    format!("{count} more trial{}", if count == 1 { "" } else { "s" })
}

/// A difference in points, with its sign.
fn signed(difference: f64) -> String {
    with_sign(difference * 100.0)
}

fn with_sign(number: f64) -> String {
    let rounded = number.round();
    match rounded {
        0.0 => "±0".to_owned(),
        less if less < 0.0 => format!("−{:.0}", -less),
        more => format!("+{more:.0}"),
    }
}

fn change(ratio: &Ratio) -> String {
    let percent = |ratio: f64| with_sign((ratio - 1.0) * 100.0);
    let interval = ratio.interval.map(|found| format!(" ({} … {})", percent(found.low), percent(found.high)));
    format!("{} %{}", percent(ratio.ratio), interval.unwrap_or_default())
}

/// A bound, rounded up to as many digits as are quoted.
fn up(p: f64) -> f64 {
    let digit = match p {
        p if p >= 0.1 => 0.01,
        p if p >= 0.001 => 0.001,
        p => 10.0_f64.powf(p.log10().floor()),
    };
    // What is a whole number of digits but for the last bit stays that.
    (p / digit - 1e-9).ceil() * digit
}

/// A probability as it is quoted: two digits that count.
fn probability(p: f64) -> String {
    match p {
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_quoted_below_itself() {
        for (p, quoted) in
            [(0.0346, "0.035"), (0.0341, "0.035"), (0.101, "0.11"), (0.05, "0.050"), (0.00012, "2e-4"), (1.0, "1.00")]
        {
            assert_eq!(probability(up(p)), quoted, "{p}");
        }
    }
}
