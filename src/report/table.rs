//! A summary as people read it on a terminal.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::decide::threshold::ThresholdSide;
use crate::report::diagnostics::counted;
use crate::report::paint::{Paint, Tone};
use crate::report::rate;
use crate::results::cut_descriptions::CutCount;
use crate::results::summary::{CaseCounts, NOT_RECORDED, RepeatFigures, Summary, TrialCounts};
use crate::stats::LEVEL;
use crate::stats::repeats;
use crate::text::safe;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::Verdict;
use crate::trial::spent::AttemptCost;

/// Most passed cases that have a line of their own; more are counted.
const MOST_PASSED: usize = 20;

/// A line for each case in each mode, the worst last: next to the cursor.
#[must_use]
pub fn table(summary: &Summary, paint: Paint) -> String {
    let mut rows = worst_first(summary);
    rows.sort_by_key(|(_, row)| Reverse(share(row)));
    let has_passed = |row: &&(&CaseInMode, &CaseCounts)| row.1.verdict() == Some(Verdict::Pass);
    let passed_rows = rows.iter().filter(has_passed).count();
    if passed_rows > MOST_PASSED {
        rows.retain(|row| !has_passed(&row));
    }
    let cells: Vec<[String; 4]> = rows
        .iter()
        .map(|(key, counts)| {
            let share = rate::of_case(counts).map(|share| format!("  {share}")).unwrap_or_default();
            [format!("{}/{}", key.skill, key.case), key.mode.clone(), passed(counts), share]
        })
        .collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second, third, shares) = (width(0), width(1), width(2), width(3));
    let fourth = rows.iter().map(|(_, counts)| word(counts).len()).fold(6, usize::max);
    let mut text = String::new();
    if passed_rows > MOST_PASSED {
        let _ = writeln!(text, "{passed_rows} cases passed");
    }
    for ([case, mode, passed, share], (_, counts)) in cells.iter().zip(&rows) {
        let word = word(counts);
        let tone = counts.verdict().map_or(Tone::Faint, Tone::from);
        let word = paint.on(tone, &format!("{word:fourth$}"));
        let line = format!("{case:first$}  {mode:second$}  {passed:>third$}{share:shares$}  {word}  {}", why(counts));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// How many of a case's trials passed, of how many that were measured; of how many that were run, where none was.
#[must_use]
pub fn passed(counts: &CaseCounts) -> String {
    let measured = counts.counts.rate();
    match counts.counts.ended() {
        0 => "-".to_owned(),
        ended if measured.trials == 0 => format!("0/{ended}"),
        _ => rate::fraction(measured),
    }
}

/// What a case came to, in a word: `flaky` where both were seen and the case did not pass for it.
fn word(counts: &CaseCounts) -> &'static str {
    match counts.verdict() {
        Some(Verdict::Fail) if counts.counts.passed > 0 => "flaky",
        Some(verdict) => verdict.as_str(),
        None => "not run",
    }
}

/// The cases, those with the lowest share of passed trials first, and those that were not run last.
#[must_use]
pub fn worst_first(summary: &Summary) -> Vec<(&CaseInMode, &CaseCounts)> {
    let mut rows: Vec<(&CaseInMode, &CaseCounts)> = summary.cases.iter().collect();
    rows.sort_by_key(|(_, row)| share(row));
    rows
}

/// The share of a case's trials that passed, in thousandths: cases that look alike keep the order of their names.
fn share(row: &CaseCounts) -> usize {
    match row.counts.ended() {
        0 => usize::MAX,
        ended => row.counts.passed * 1000 / ended,
    }
}

/// How many cases came to what, where that is not what their trials did: cases have repeats.
fn cases(summary: &Summary) -> Option<String> {
    let rows = summary.cases.values();
    if rows.clone().all(|row| row.counts.ended() <= 1) {
        return None;
    }
    let mut words: BTreeMap<&str, usize> = BTreeMap::new();
    rows.for_each(|row| *words.entry(word(row)).or_default() += 1);
    let passed = words.remove(Verdict::Pass.as_str()).unwrap_or_default();
    let said = |(word, count): (&str, &usize)| format!(", {count} {}", if word == "fail" { "failed" } else { word });
    let others: String = words.iter().map(|(word, count)| said((*word, count))).collect();
    Some(format!("{passed} of {} passed{others}", counted(summary.cases.len(), "case")))
}

/// The counts in a line: what ended how, what was not run, whose agents were not isolated, tokens, cost.
#[must_use]
pub fn closing(summary: &Summary, paint: Paint) -> String {
    let total = &summary.total;
    let mut text = cases(summary).map(|cases| format!("{cases}\n")).unwrap_or_default();
    if !text.is_empty() {
        text.push_str("trials: ");
    }
    text.push_str(&endings(total, paint));
    for (why, count) in &summary.not_run {
        let _ = write!(text, ", {count} not run ({why})");
    }
    if let Some((alone, all)) = summary.on_their_own() {
        let of = if alone == all { "no agent".to_owned() } else { format!("{alone} of {all} agents not") };
        let _ = write!(text, "; {of} inside bubblewrap");
    }
    if total.retries > 0 {
        let _ = write!(
            text,
            "; {} {} after a refusal",
            total.retries,
            if total.retries == 1 { "retry" } else { "retries" }
        );
    }
    if total.spent.tokens.is_some() {
        let _ = write!(text, "; {}", tokens(&total.spent));
    }
    if total.spent.cost_usd.is_some() {
        let _ = write!(text, "; {}", cost(&total.spent));
    }
    text
}

/// How many cases, each in its mode, were not run for want of a recording, and what to do about it.
#[must_use]
pub fn unrecorded(summary: &Summary, required: bool) -> Option<String> {
    let lacks = |row: &&CaseCounts| row.not_run.contains_key(NOT_RECORDED);
    let count = summary.cases.values().filter(lacks).count();
    let what_to_do = if required {
        "record them with `skill-evals run --record`, or set `require_recordings = false` in evals/evals.toml"
    } else {
        "--require-recordings makes that an error"
    };
    (count > 0).then(|| {
        format!("not run: {count} of {}, for want of a recording; {what_to_do}", counted(summary.cases.len(), "case"))
    })
}

/// How many ended in which way.
#[must_use]
pub fn endings(counts: &TrialCounts, paint: Paint) -> String {
    let parts = [
        paint.count(Tone::Good, counts.passed, "passed"),
        paint.count(Tone::Bad, counts.failed, "failed"),
        paint.count(Tone::Broken, counts.errors, if counts.errors == 1 { "error" } else { "errors" }),
        paint.count(Tone::Open, counts.unscored, "unscored"),
    ];
    parts.join(", ")
}

/// Most descriptions that are listed; the others are counted.
const MOST: usize = 20;

/// What the trials show, in lines: the descriptions that were cut, the share that passed, what repeats show, and whether
/// they can tell the threshold from chance. Of a single trial nothing but the first.
#[must_use]
pub fn shown(summary: &Summary) -> String {
    let mut text = String::new();
    if summary.aged > 0 {
        let _ = writeln!(
            text,
            "{} replayed aged recordings: names or descriptions of other skills changed since; `skill-evals run --aged --record` \
             measures them again",
            counted(summary.aged, "trial")
        );
    }
    let cut = &summary.cut_descriptions.0;
    for ((mode, skill), CutCount { trials, shown: least }) in cut.iter().take(MOST) {
        let (skill, mode, trials) = (safe::line(skill), safe::line(mode), counted(*trials, "trial"));
        let _ = writeln!(
            text,
            "not all of the description of `{skill}` entered the model's context in {mode}: {least} ({trials})"
        );
    }
    if cut.len() > MOST {
        let _ = writeln!(text, "and so with {} more; --json has all", counted(cut.len() - MOST, "description"));
    }
    sides(&mut text, summary);
    let Some((share, interval)) = summary.share().filter(|_| summary.total.rate().trials > 1) else { return text };
    let _ = write!(text, "{} passed, every case weighing the same", rate::share(share, interval));
    if let Some(RepeatFigures { k, pass_at_k, pass_hat_k }) = summary.repeats() {
        let (at, hat) = (rate::points(pass_at_k), rate::points(pass_hat_k));
        let _ = write!(text, "; pass@{k} {at} %, pass^{k} {hat} %");
    }
    text.push('\n');
    text.push_str(&chance(summary));
    text
}

/// What each mode of comparisons came to: their arms are modes, and mean nothing together.
fn sides(text: &mut String, summary: &Summary) {
    if summary.comparisons.is_empty() {
        return;
    }
    for (mode, (share, interval)) in summary.shares(|key| &key.mode) {
        let share = rate::share(share, interval);
        let _ = writeln!(text, "{}: {share} passed, every case weighing the same", safe::line(mode));
    }
    let commands: Vec<String> =
        summary.comparisons.iter().map(|run| format!("skill-evals compare {}", safe::line(run))).collect();
    let _ =
        writeln!(text, "the sides of a comparison have no share together; how they differ: {}", commands.join(", "));
}

/// Says where even a case whose trials all passed has too few of them to tell its threshold from chance: a line for each
/// threshold, the lowest first, with the fewest such trials.
fn chance(summary: &Summary) -> String {
    let mut fewest: Vec<(f64, u64)> = Vec::new();
    // Where trials go on until they decide, that has a rule of its own.
    let all_pass = |row: &&CaseCounts| row.max_trials.is_none() && row.counts.failed == 0 && row.counts.passed > 1;
    for row in summary.cases.values().filter(all_pass) {
        fewest.extend(row.threshold.map(|threshold| (threshold, row.counts.passed as u64)));
    }
    fewest.sort_by(|(a, few), (b, many)| a.total_cmp(b).then(few.cmp(many)));
    fewest.dedup_by_key(|(threshold, _)| *threshold);
    fewest.into_iter().filter_map(|(threshold, passed)| too_few(threshold, passed)).collect()
}

/// The line for so many trials that all passed, where they are too few.
fn too_few(threshold: f64, passed: u64) -> Option<String> {
    let shown = repeats::shown_by_all_passing(passed, LEVEL);
    let needed = repeats::needed_all_passing(threshold, LEVEL).filter(|needed| *needed > passed)?;
    let points = rate::points(shown);
    Some(format!(
        "{passed} of {passed} shows at least {points} %; a threshold of {threshold} needs {needed} trials of a case\n"
    ))
}

/// What is known of a cost, in words.
#[must_use]
pub fn cost(spent: &AttemptCost) -> String {
    match (spent.cost_usd, spent.cost_incomplete) {
        (Some(cost), true) => format!("at least {}", dollars(cost)),
        (Some(cost), false) => dollars(cost),
        (None, true) => "unknown".to_owned(),
        (None, false) => "nothing".to_owned(),
    }
}

/// What is known of the tokens, in words.
#[must_use]
pub fn tokens(spent: &AttemptCost) -> String {
    match (spent.tokens, spent.tokens_incomplete) {
        (Some(tokens), true) => format!("at least {tokens} tokens"),
        (Some(tokens), false) => format!("{tokens} tokens"),
        (None, true) => "tokens unknown".to_owned(),
        (None, false) => "no tokens".to_owned(),
    }
}

/// An amount of US dollars, with as many places as say something.
#[must_use]
pub fn dollars(amount: f64) -> String {
    if amount >= 0.1 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

/// A time in minutes and seconds, hours where there are any.
#[must_use]
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// What did not pass or was not run, with how often where that was not each time.
#[must_use]
pub fn why(counts: &CaseCounts) -> String {
    let not_run: usize = counts.not_run.values().sum();
    let all = counts.counts.ended() + not_run;
    let times = |name: &str, times: usize| {
        if times == all { safe::line(name) } else { format!("{} ({times}×)", safe::line(name)) }
    };
    let checks = counts.failed_checks.iter().map(|(name, count)| times(name, *count));
    let troubles = counts.troubles.iter().map(|(name, count)| times(name, *count));
    let not_run = counts.not_run.iter().map(|(why, count)| times(why, *count));
    checks.chain(troubles).chain(not_run).chain(decided(counts)).collect::<Vec<_>>().join(", ")
}

/// Whether a case was decided, where it goes on until it is.
#[must_use]
pub fn decided(counts: &CaseCounts) -> Option<String> {
    let (trials, most) = (counts.counts.ended(), counts.max_trials?);
    // Some of the runs may have had a number of trials that was said beforehand.
    let of =
        if trials <= most as usize { format!("{trials} of at most {most} trials") } else { counted(trials, "trial") };
    Some(match counts.side()? {
        ThresholdSide::Undecided => format!("undecided after {of}"),
        ThresholdSide::Above | ThresholdSide::Below => format!("decided after {of}"),
    })
}
