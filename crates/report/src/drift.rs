//! Nightly runs in words: which skill got worse although nothing changed here, and what noise costs.

use std::fmt::Write;

use crate::columns::{self, NUMBERS, WORDS};
use crate::decide::drift::{LEAST_BASE, YEARLY_ALPHA};
use crate::diagnostics::counted;
use crate::rate::{fraction, points, probability, up};
use crate::results::drift::{NoisyCase, Series};
use crate::table::dollars;
use crate::text::{cut, escape};

/// The beginning of the text of an issue, by which the nightly job finds it.
const MARKER: &str = "<!-- skill-evals drift -->";

/// The same of what closes it.
const OVER: &str = "<!-- skill-evals drift over -->";

/// The most names in a line, and the most noisy cases.
const MOST: usize = 10;

/// `since codex 0.171.0 (2026-11-12): greeting worse in codex, 38/40 → 22/40, p ≤ 0.010`; `None` if nothing shows that it is worse.
pub fn sentence(series: &Series) -> Option<String> {
    let worse = series.worse.as_ref()?;
    let since = match worse.changed.as_slice() {
        [] => worse.date.clone(),
        changed => format!("{} ({})", changed.join(", "), worse.date),
    };
    let (before, after) = (fraction(worse.shift.before), fraction(worse.shift.after));
    let p = probability(up(worse.shift.p));
    Some(escape::line(&format!(
        "since {since}: {} worse in {}, {before} → {after}, p ≤ {p}",
        series.skill, series.mode
    )))
}

/// What the nights show, in lines; none without nights.
pub fn lines(all: &[Series]) -> Vec<String> {
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines: Vec<String> = all.iter().filter_map(sentence).collect();
    let based = all.iter().filter(|series| series.has_base || series.worse.is_some()).count();
    if based > 0 {
        let none = if lines.is_empty() { "no skill is worse; " } else { "" };
        lines.push(format!(
            "nightly runs: {none}{} in a mode watched; the chance of any false `worse` in a year is {} % at most",
            counted(based, "skill"),
            points(YEARLY_ALPHA)
        ));
    }
    let without: Vec<String> =
        all.iter().filter(|series| !series.has_base && series.worse.is_none()).map(name).collect();
    if !without.is_empty() {
        let names = escape::line(&cut::names(&without.iter().map(String::as_str).collect::<Vec<_>>(), MOST));
        lines.push(format!("not enough nights, since a base has {LEAST_BASE} trials of a case: {names}"));
    }
    lines
}

/// The name of a series.
pub fn name(series: &Series) -> String {
    format!("{} in {}", series.skill, series.mode)
}

/// The text of an issue about what is worse, or what closes it; empty if there are not enough nights to say either.
pub fn issue(all: &[Series]) -> String {
    let worse: Vec<String> = all.iter().filter_map(sentence).collect();
    if worse.is_empty() && !all.iter().any(|series| series.has_base) {
        return String::new();
    }
    let mut text = format!("{}\n", if worse.is_empty() { OVER } else { MARKER });
    if !worse.is_empty() {
        text.push_str("Nothing changed here, and the nightly runs got worse:\n\n");
    }
    for line in lines(all) {
        let _ = writeln!(text, "- {}", escape::markdown(&line));
    }
    text
}

/// The cases whose noise costs most, each in a line.
pub fn noise(cases: &[NoisyCase]) -> String {
    if cases.is_empty() {
        return String::new();
    }
    let row = |noisy: &NoisyCase| {
        let case = &noisy.case;
        let cost = noisy.cost_usd.map(dollars).unwrap_or_default();
        let name = escape::line(&format!("{}/{}/{}", case.skill, case.case, case.mode));
        [name, fraction(noisy.rate), format!("+{:.1} trials", noisy.trials), cost]
    };
    let rows: Vec<_> = cases.iter().take(MOST).map(row).collect();
    let more = cases.len().saturating_sub(MOST);
    let more = if more > 0 { format!("and {more} more; --json has all\n") } else { String::new() };
    format!(
        "what noise costs: more trials of a gate of a harmless change, because the case fails now and then\n{}{more}",
        columns::text([WORDS, NUMBERS, NUMBERS, NUMBERS], &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::drift::Shift;
    use crate::results::drift::SeriesShift;
    use crate::stats::proportion::Rate;

    fn series(skill: &str, has_base: bool, is_worse: bool) -> Series {
        let shift = Shift { since: 9, before: Rate::new(38, 40), after: Rate::new(22, 40), p: 0.0091, worse: true };
        let changed = vec!["codex 0.171.0".to_owned()];
        let worse = is_worse.then(|| SeriesShift { date: "2026-11-12".to_owned(), changed, shift });
        Series { skill: skill.to_owned(), mode: "codex".to_owned(), nights: Vec::new(), has_base, worse }
    }

    #[test]
    fn a_skill_that_is_worse_is_a_sentence_and_an_issue() {
        let all = [series("greeting", true, true), series("tidy", false, false)];
        let said = "since codex 0.171.0 (2026-11-12): greeting worse in codex, 38/40 → 22/40, p ≤ 0.010";
        assert_eq!(
            lines(&all),
            [
                said,
                "nightly runs: 1 skill in a mode watched; the chance of any false `worse` in a year is 5 % at most",
                "not enough nights, since a base has 20 trials of a case: tidy in codex"
            ]
        );
        assert!(issue(&all).starts_with("<!-- skill-evals drift -->\n"), "{}", issue(&all));
    }

    #[test]
    fn an_issue_is_closed_by_enough_nights_only() {
        assert_eq!(issue(&[series("tidy", false, false)]), "");
        assert!(
            issue(&[series("tidy", true, false)])
                .starts_with("<!-- skill-evals drift over -->\n- nightly runs: no skill")
        );
    }
}
