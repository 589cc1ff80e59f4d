//! A comparison of two arms as people read it: a sentence that answers, then the figures it rests on.

use std::fmt::Write;

use crate::decide::word::Word;
use crate::decide::{CaseChange, Comparison, Evidence, Shown};
use crate::report::diagnostics::counted;
use crate::report::paint::{Paint, Tone};
use crate::report::rate::{self, fraction, points};
use crate::report::trial::scripted;
use crate::results::compared::{Compared, SpentTrials};
use crate::results::crowding::{Instead, SkillCrowding};
use crate::stats::amounts::Ratio;
use crate::text::safe;

/// Most cases that are listed by name; the others are counted.
const MOST_CASES: usize = 12;

/// The answer in a sentence: the word, both rates, the difference with its interval, how sure that is, and what it took.
#[must_use]
pub fn sentence(compared: &Compared, paint: Paint) -> String {
    let Comparison { word, a, b, difference, evidence, .. } = &compared.comparison;
    let text = match word {
        Word::NoWorse { margin } => format!("no worse than by {} points", points(*margin)),
        word => word.as_str().to_owned(),
    };
    let mut text = paint.on(tone(word), &text);
    let Some(difference) = difference else {
        let lost = a.lost + b.lost;
        let why = if lost > 0 {
            format!("{} ended in errors or unscored", trials(lost))
        } else {
            "no case was measured in both arms".to_owned()
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
    if let Some(SpentTrials { used, most, .. }) = compared.spent {
        let how = if word.decided() { "decided after" } else { "after" };
        let _ = write!(text, ", {how} {used} of at most {most} trials");
    }
    let changed = compared.comparison.cases.iter().filter(|case| case.changed);
    let (how, against) = match word {
        Word::Worse => ("better", changed.filter(|case| moved(case) > 0.0).count()),
        _ => ("worse", changed.filter(|case| moved(case) < 0.0).count()),
    };
    if against > 0 {
        let _ = write!(text, "; {} got {how} nevertheless", counted(against, "case"));
    }
    if let Word::Undecided { more } = word {
        let _ = match more {
            Some(more) => write!(text, "; about {} would decide a difference of this size", more_trials(*more)),
            None => write!(text, "; no difference was seen"),
        };
    }
    text
}

/// How probable the word's evidence is where the word is not true; nothing for `no worse` of stored trials, which goes by
/// the interval.
fn how_sure(word: &Word, evidence: &Evidence) -> String {
    match (word, evidence) {
        (Word::NoWorse { .. }, Evidence::Fixed { .. }) => String::new(),
        (_, Evidence::Fixed { p_shown, .. }) => format!(", p = {}", probability(*p_shown)),
        (_, Evidence::Sequential { worse, better, no_worse }) => {
            let found = match word {
                Word::NoWorse { .. } => no_worse.unwrap_or(1.0),
                _ => worse.max(*better),
            };
            // What Ville's inequality makes of an e-value: it holds at every look.
            format!(", p ≤ {}", probability(up((1.0 / found).min(1.0))))
        }
    }
}

/// The difference in points that the trials alone would give, whatever their cases.
fn by_trials(a: &Shown, b: &Shown) -> String {
    signed(b.rate.share().unwrap_or_default() - a.rate.share().unwrap_or_default())
}

fn tone(word: &Word) -> Tone {
    match word {
        Word::Better | Word::NoWorse { .. } => Tone::Good,
        Word::Worse => Tone::Bad,
        Word::Undecided { .. } => Tone::Open,
        Word::NothingMeasured => Tone::Broken,
    }
}

/// The sentence, and below it the arms, the cases that changed, and what the arms took.
#[must_use]
pub fn render(compared: &Compared, paint: Paint) -> String {
    let comparison = &compared.comparison;
    let mut text = format!("{}\n", sentence(compared, paint));
    let shown = [("A", &compared.a, &comparison.a), ("B", &compared.b, &comparison.b)];
    for (arm, label, shown) in shown {
        let _ = writeln!(text, "  {arm}  {}: {}", safe::line(label), arm_line(shown));
    }
    if comparison.uneven {
        let _ = writeln!(text, "  cases were tried unequally often: points and shares weigh every case the same");
    }
    cases(&mut text, compared);
    triggering(&mut text, compared);
    amounts(&mut text, compared);
    notes(&mut text, compared);
    text
}

fn arm_line(shown: &Shown) -> String {
    let mut text = fraction(shown.rate);
    if let (Some(share), Some(interval)) = (shown.share, shown.interval) {
        let _ = write!(text, ", {}", rate::share(share, interval));
    }
    if shown.lost > 0 {
        let _ = write!(text, ", {} lost to errors or unscored", trials(shown.lost));
    }
    text
}

/// The difference in the shares of a case.
fn moved(case: &CaseChange) -> f64 {
    case.b.rate.share().unwrap_or_default() - case.a.rate.share().unwrap_or_default()
}

fn cases(text: &mut String, compared: &Compared) {
    let comparison = &compared.comparison;
    let mut cases: Vec<&CaseChange> = comparison.cases.iter().filter(|case| moved(case).abs() > f64::EPSILON).collect();
    // The surest first, then the largest.
    cases.sort_by(|x, y| x.p.total_cmp(&y.p).then_with(|| moved(y).abs().total_cmp(&moved(x).abs())));
    let same = comparison.cases.len() - cases.len();
    if cases.is_empty() && same == 0 {
        return;
    }
    let width = cases.iter().take(MOST_CASES).map(|case| case.case.chars().count()).max().unwrap_or_default();
    for case in cases.iter().take(MOST_CASES) {
        let changed =
            if case.changed { format!("  changed (p = {})", probability(case.adjusted)) } else { String::new() };
        let (a, b) = (fraction(case.a.rate), fraction(case.b.rate));
        let _ = writeln!(text, "  {:width$}  {a} → {b}{changed}", safe::line(&case.case));
    }
    let more = cases.len().saturating_sub(MOST_CASES);
    let rest = match (more, same) {
        (0, 0) => return,
        (0, same) => format!("{} the same in both", counted(same, "case")),
        (more, same) => format!("{} more that moved and {same} the same in both", counted(more, "case")),
    };
    let _ = writeln!(text, "  {rest}");
}

/// The skills that became active more or less often, those that lost most first, with what became active in their place.
fn triggering(text: &mut String, compared: &Compared) {
    let skills = compared.triggering.iter().flat_map(|found| &found.skills);
    let moved: Vec<&SkillCrowding> = skills.filter(|skill| skill.difference.difference.abs() > f64::EPSILON).collect();
    for SkillCrowding { skill, a, b, difference, instead } in moved.iter().take(MOST_CASES) {
        let (low, high) = (signed(difference.interval.low), signed(difference.interval.high));
        let places: Vec<String> = instead.iter().map(in_its_place).collect();
        let places = if places.is_empty() { String::new() } else { format!("; in its place {}", places.join(", ")) };
        let _ = writeln!(
            text,
            "  `{}` became active in {} → {} of its trials, {} points ({low} … {high}){places}",
            safe::line(skill),
            fraction(*a),
            fraction(*b),
            signed(difference.difference),
        );
    }
    let more = moved.len().saturating_sub(MOST_CASES);
    if more > 0 {
        let _ = writeln!(text, "  and {} more; --json has all", counted(more, "skill"));
    }
}

/// `` `other` 0 → 4 ``.
fn in_its_place(instead: &Instead) -> String {
    let what = match instead.activated.as_deref() {
        None => "none".to_owned(),
        Some(several @ "several skills") => several.to_owned(),
        Some(skill) => format!("`{}`", safe::line(skill)),
    };
    format!("{what} {} → {}", instead.a, instead.b)
}

fn amounts(text: &mut String, compared: &Compared) {
    let all = &compared.amounts;
    let named = [("tokens", all.tokens), ("cost", all.cost), ("time", all.time), ("commands", all.commands)];
    let told: Vec<String> =
        named.iter().filter_map(|(name, ratio)| Some(format!("{name} {}", change(ratio.as_ref()?)))).collect();
    if !told.is_empty() {
        let _ = writeln!(text, "  {}", told.join(", "));
    }
}

fn notes(text: &mut String, compared: &Compared) {
    let comparison = &compared.comparison;
    let lost = [("A", comparison.a.lost, comparison.b.lost), ("B", comparison.b.lost, comparison.a.lost)];
    for (arm, lost, other) in lost {
        if lost > other {
            let _ = writeln!(
                text,
                "  arm {arm} lost more trials ({lost}, the other {other}): what they would have come to is in no figure"
            );
        }
    }
    for (cases, arm) in [(&comparison.only_a, "A"), (&comparison.only_b, "B")] {
        if !cases.is_empty() {
            let _ = writeln!(text, "  measured in {arm} only, and in no figure: {}", list(cases));
        }
    }
    if !comparison.neither.is_empty() {
        let _ = writeln!(text, "  measured in neither arm, and in no figure: {}", list(&comparison.neither));
    }
    if compared.outcome_only {
        let _ = writeln!(text, "  judged by what both arms were asked: checks that ask for the skill are left out");
    }
    if !compared.asked_otherwise.is_empty() {
        let cases = list(&compared.asked_otherwise);
        let _ = writeln!(text, "  asked or checked otherwise in the two arms, so not the skills alone differ: {cases}");
    }
    if !compared.until_decided.is_empty() {
        let cases = list(&compared.until_decided);
        let _ = writeln!(
            text,
            "  trials went on until a case was decided, which the test and the interval know nothing of, so take them as a guide: {cases}"
        );
    }
    for (case, why) in &compared.left_out {
        let _ = writeln!(text, "  {} is left out: {}", safe::line(case), safe::line(why));
    }
    if let Some(SpentTrials { used, run, .. }) = compared.spent.filter(|spent| spent.run > spent.used) {
        let _ = writeln!(text, "  {} were under way when it was decided, and are in no figure", trials(run - used));
    }
    if let Some(SpentTrials { flipped, .. }) = compared.spent.filter(|_| compared.same) {
        let share = rate::measured(flipped).map(|share| format!(", {share}")).unwrap_or_default();
        let alpha = rate::points(compared.rule.alpha);
        let pairs = fraction(flipped);
        let _ = writeln!(
            text,
            "  noise: the verdict flipped in {pairs} pairs of equal trials{share}; each wrong word is said in {alpha} % at most"
        );
    }
    for shares in compared.telling_nothing() {
        let (check, with, without) = (safe::line(&shares.check), rate::whole(shares.b), rate::whole(shares.a));
        let _ = writeln!(
            text,
            "  `{check}` passes as often without ({without}) as with ({with}): it says nothing about what the skills add"
        );
    }
    for by in &compared.scripted {
        let _ = writeln!(text, "  {}", safe::line(&scripted(by)));
    }
}

fn list(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(MOST_CASES).map(|name| safe::line(name)).collect();
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
