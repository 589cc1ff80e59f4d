//! A summary as text for a terminal.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt::Write;
use std::time::Duration;

use crate::columns::{self, NUMBERS, WORDS};
use crate::decide::threshold::ThresholdSide;
use crate::diagnostics::counted;
use crate::paint::{Paint, Tone};
use crate::rate::{self, fraction};
use crate::results::history::{HistoryPoint, trends};
use crate::results::summary::{CaseCounts, CutDescription, RepeatFigures, Summary, TrialCounts};
use crate::results::triggering::{ActivatedSkill, ExpectedSkill, SkillTriggering};
use crate::settings::mode::label;
use crate::settings::{CostSource, Isolation, PRICES_OF};
use crate::stats::LEVEL;
use crate::stats::proportion::{self, Rate};
use crate::text::escape;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::{AttemptCost, NotRun, Verdict};
use crate::trial::run_record::FailedCheck;
use crate::trial_text::{in_part, two_digits};

/// A line for each case in each mode, the worst last: next to the cursor. Without `verbose`, cases whose trials all passed
/// are left out.
pub fn table(summary: &Summary, verbose: bool, paint: Paint) -> String {
    let mut rows = worst_first(summary);
    rows.sort_by_key(|(_, row)| Reverse(share(row)));
    rows.retain(|(_, row)| verbose || row.verdict() != Some(Verdict::Pass) || row.counts.passed < row.counts.ended());
    let cells = |(key, counts): &(&CaseInMode, &CaseCounts)| {
        let share = rate::of_case(counts.case_share()).unwrap_or_default();
        let tone = if counts.excused().is_some() { Some(Tone::Open) } else { counts.verdict().map(Tone::from) };
        let verdict = paint.on(tone.unwrap_or(Tone::Faint), word(counts));
        [format!("{}/{}/{}", key.skill, key.case, key.mode), passed(counts), share, verdict, why(counts)]
    };
    let rows: Vec<_> = rows.iter().map(cells).collect();
    columns::text([WORDS, NUMBERS, WORDS, WORDS.at_least(6), WORDS], &rows)
}

/// `4/5`: the trials that passed, of those that were measured; of those that were run, if none was measured.
pub fn passed(counts: &CaseCounts) -> String {
    let measured = counts.counts.rate();
    match counts.counts.ended() {
        0 => "-".to_owned(),
        ended if measured.trials == 0 => format!("0/{ended}"),
        _ => fraction(measured),
    }
}

/// The verdict of a case, as `summary.json` has it; `quarantine` if it did not pass and fails nothing.
fn word(counts: &CaseCounts) -> &'static str {
    if counts.excused().is_some() {
        return "quarantine";
    }
    counts.verdict().map_or("not run", Verdict::as_str)
}

/// The cases, those with the lowest share of passed trials first, and those that were not run last.
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

/// The verdicts of cases. A case in two modes is one case: with several modes, each has a line.
fn cases(summary: &Summary, paint: Paint) -> String {
    let mut modes = summary.cases_by_mode();
    if modes.len() < 2 {
        return verdicts(&modes.pop_first().map(|(_, rows)| rows).unwrap_or_default(), paint);
    }
    let lines = modes.iter().map(|(mode, rows)| format!("{}: {}", escape::line(&label(mode)), verdicts(rows, paint)));
    lines.collect::<Vec<_>>().join("\n")
}

/// The verdicts of the cases of a mode in a line. `flaky` cases both passed and failed; their verdict is counted too.
fn verdicts(rows: &[&CaseCounts], paint: Paint) -> String {
    let count = |verdict| {
        rows.iter().filter(|row| row.verdict() == verdict && (verdict.is_none() || row.excused().is_none())).count()
    };
    let excused = rows.iter().filter(|row| row.excused().is_some()).count();
    let (errors, not_run) = (count(Some(Verdict::Error)), count(None));
    let flaky = rows.iter().filter(|row| row.counts.passed > 0 && row.counts.failed > 0).count();
    let parts = [
        (Tone::Bad, count(Some(Verdict::Fail)), "failed"),
        (Tone::Broken, errors, if errors == 1 { "error" } else { "errors" }),
        (Tone::Open, count(Some(Verdict::Unscored)), "unscored"),
        (Tone::Faint, not_run, "not run"),
        (Tone::Open, excused, "in quarantine"),
        (Tone::Open, flaky, "flaky"),
    ];
    let mut text = format!("{} of {} passed", count(Some(Verdict::Pass)), counted(rows.len(), "case"));
    for (tone, count, word) in parts.into_iter().filter(|(_, count, _)| *count > 0) {
        let _ = write!(text, ", {}", paint.count(tone, count, word));
    }
    text
}

/// The verdicts of cases. Then a line on their trials: how they ended, how many were not run or not isolated, tokens, cost.
pub fn closing(summary: &Summary, paint: Paint) -> String {
    let total = &summary.total;
    let mut text = format!("{}\ntrials: {}", cases(summary, paint), endings(total, paint));
    for (why, count) in &summary.not_run {
        let _ = write!(text, ", {count} not run ({why})");
    }
    if let Some((alone, all)) = summary.not_isolated() {
        let agents = if alone == all { "no agent".to_owned() } else { format!("{alone} of {all} agents not") };
        // Where only some were asked to be on their own, the others were in what is usual.
        let wanted = Some(summary.isolation_wanted).filter(|wanted| *wanted != Isolation::Agent).unwrap_or_default();
        let _ = write!(text, "; {agents} inside {}", wanted.surroundings());
    }
    if total.retries > 0 {
        let retries = if total.retries == 1 { "retry" } else { "retries" };
        let _ = write!(text, "; {} {retries} after a refusal", total.retries);
    }
    if total.spent.tokens.is_some() {
        let _ = write!(text, "; {}", tokens(&total.spent));
    }
    if total.spent.cost_usd.is_some() {
        let _ = write!(text, "; {}", cost(&total.spent));
    }
    text
}

/// What caches of providers saved: `1,200 tokens read from a cache; without caches $0.70 instead of $0.30`.
fn cached(spent: &AttemptCost) -> Option<String> {
    let read = spent.cached_tokens?;
    let cost = spent.cost_usd.zip(spent.saved_usd);
    let cost =
        cost.map(|(cost, saved)| format!("; without caches {} instead of {}", dollars(cost + saved), dollars(cost)));
    Some(format!(
        "{} read from a cache{}\n",
        counted(usize::try_from(read).unwrap_or(usize::MAX), "token"),
        cost.unwrap_or_default()
    ))
}

/// The number of cases without a recording, and what to do about them.
pub fn unrecorded(summary: &Summary, required: bool) -> Option<String> {
    let count = summary.cases.values().filter(|row| row.not_run.contains_key(&NotRun::NotRecorded)).count();
    if count == 0 {
        return None;
    }
    let what_to_do = if required {
        "record them with `skill-evals run --record`, or set `require_recordings = false` in evals/evals.toml"
    } else {
        "--require-recordings makes that an error"
    };
    let cases = counted(summary.cases.len(), "case");
    Some(format!("not run: {count} of {cases} without a recording; {what_to_do}"))
}

/// The number of trials by verdict.
pub fn endings(counts: &TrialCounts, paint: Paint) -> String {
    let parts = [
        paint.count(Tone::Good, counts.passed, "passed"),
        paint.count(Tone::Bad, counts.failed, "failed"),
        paint.count(Tone::Broken, counts.errors, if counts.errors == 1 { "error" } else { "errors" }),
        paint.count(Tone::Open, counts.unscored, "unscored"),
    ];
    parts.join(", ")
}

/// The most cut descriptions that are listed; others are counted.
const MAX_DESCRIPTIONS: usize = 20;

/// How many calls without an answer a line names.
const NAMED_CALLS: usize = 3;

/// The note that trials made calls that no mock answered; `None` if none did.
pub fn unanswered(summary: &Summary) -> Option<String> {
    let calls = &summary.unanswered_calls;
    let named: Vec<String> = calls.iter().take(NAMED_CALLS).map(|call| format!("`{}`", escape::line(call))).collect();
    let more = if calls.len() > NAMED_CALLS { " …" } else { "" };
    let trials = counted(summary.unanswered, "trial");
    (summary.unanswered > 0).then(|| format!("{trials} made calls that no mock answered: {}{more}", named.join(", ")))
}

/// Lines with the cut descriptions, the pass rate, the figures of repeats, and whether a case has too few trials for its
/// threshold. A single trial has only the first.
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
    if let Some(note) = in_part(summary.partial) {
        let _ = writeln!(text, "{note}");
    }
    if let Some(note) = unanswered(summary) {
        let _ = writeln!(text, "{note}");
    }
    if summary.total.settled > 0 {
        let _ = writeln!(
            text,
            "{} ended when the verdict was settled: time, tokens, cost and commands are lower bounds (≥)",
            counted(summary.total.settled, "trial")
        );
    }
    for line in in_quarantine(summary) {
        let _ = writeln!(text, "{}", escape::line(&line));
    }
    text.extend(cached(&summary.total.spent));
    let cut = &summary.cut_descriptions;
    for CutDescription { mode, skill, trials, shown } in cut.values().take(MAX_DESCRIPTIONS) {
        let (skill, mode, trials) = (escape::line(skill), escape::line(mode), counted(*trials, "trial"));
        let _ = writeln!(
            text,
            "not all of the description of `{skill}` entered the model's context in {mode}: {shown} ({trials})"
        );
    }
    if cut.len() > MAX_DESCRIPTIONS {
        let more = counted(cut.len() - MAX_DESCRIPTIONS, "description");
        let _ = writeln!(text, "and so with {more} more; --json has all");
    }
    sides(&mut text, summary);
    let Some((share, interval)) = summary.share().filter(|_| summary.total.rate().trials > 1) else { return text };
    let _ = write!(text, "{} passed, cases weighted equally", rate::share(share, interval));
    if let Some(RepeatFigures { k, pass_at_k, pass_hat_k }) = summary.repeats() {
        let (at, hat) = (rate::points(pass_at_k), rate::points(pass_hat_k));
        let _ = write!(text, "; pass@{k} {at} %, pass^{k} {hat} %");
    }
    text.push('\n');
    text.push_str(&chance(summary));
    text
}

/// A sentence about each case that did not pass and fails nothing.
pub fn in_quarantine(summary: &Summary) -> Vec<String> {
    let excused = summary.cases.iter().filter_map(|(case, counts)| Some((case, counts, counts.excused()?)));
    let sentence = |(case, counts, until): (&CaseInMode, &CaseCounts, &str)| {
        let CaseInMode { skill, case, mode } = case;
        format!("{skill}/{case}/{mode} is in quarantine {until}, so it fails nothing: {} passed", passed(counts))
    };
    excused.map(sentence).collect()
}

/// The pass rate of each mode of comparisons. Their sides are modes and have no rate together.
fn sides(text: &mut String, summary: &Summary) {
    if summary.comparisons.is_empty() {
        return;
    }
    // How often a case of a comparison is tried depends on its results, so a share would be too high or too low.
    for (mode, counts) in &summary.modes {
        let Rate { passed, trials } = counts.rate();
        let _ = writeln!(text, "{}: {passed} of {trials} trials passed", escape::line(mode));
    }
    let commands: Vec<String> =
        summary.comparisons.iter().map(|run| format!("skill-evals compare {}", escape::line(run))).collect();
    let _ = writeln!(
        text,
        "the sides of a comparison have no pass rate together; how they differ: {}",
        commands.join(", ")
    );
}

/// A line for each threshold, the lowest first, if even cases whose trials all passed have too few trials for it. Names
/// the smallest number of trials.
fn chance(summary: &Summary) -> String {
    let mut fewest: Vec<(f64, u64)> = Vec::new();
    for row in summary.cases.values() {
        // Cases that run until they are decided have a rule of their own.
        if row.max_trials.is_none() && row.counts.failed == 0 && row.counts.passed > 1 {
            fewest.extend(row.threshold.map(|threshold| (threshold, row.counts.passed as u64)));
        }
    }
    fewest.sort_by(|(a, few), (b, many)| a.total_cmp(b).then(few.cmp(many)));
    fewest.dedup_by_key(|(threshold, _)| *threshold);
    fewest.into_iter().filter_map(|(threshold, passed)| too_few(threshold, passed)).collect()
}

/// The line for this many trials that all passed, if they are too few.
fn too_few(threshold: f64, passed: u64) -> Option<String> {
    let shown = proportion::shown_by_all_passing(passed, LEVEL);
    let needed = proportion::needed_all_passing(threshold, LEVEL).filter(|needed| *needed > passed)?;
    let points = rate::points(shown);
    Some(format!(
        "{passed} passes of a case prove {points} %; to prove {} %, run {needed} trials\n",
        rate::points(threshold)
    ))
}

/// A cost, as far as it is known, and what it is known by.
pub fn cost(spent: &AttemptCost) -> String {
    let (amount, by) = cost_and_source(spent);
    amount + &by
}

/// A cost, as far as it is known; and what it is known by, to be read after it.
pub fn cost_and_source(spent: &AttemptCost) -> (String, String) {
    let by = match spent.cost_by {
        CostSource::Reported => String::new(),
        CostSource::Settings => " by [prices]".to_owned(),
        CostSource::Table => format!(" by the prices of {PRICES_OF}"),
        CostSource::Several => format!(", in part by [prices] or the prices of {PRICES_OF}"),
    };
    match (spent.cost_usd, spent.cost_incomplete) {
        (Some(cost), true) => (format!("at least {}", dollars(cost)), by),
        (Some(cost), false) => (dollars(cost), by),
        (None, true) => ("unknown".to_owned(), String::new()),
        (None, false) => ("nothing".to_owned(), String::new()),
    }
}

/// The tokens, as far as they are known.
pub fn tokens(spent: &AttemptCost) -> String {
    match (spent.tokens, spent.tokens_incomplete) {
        (Some(tokens), true) => format!("at least {tokens} tokens"),
        (Some(tokens), false) => format!("{tokens} tokens"),
        (None, true) => "tokens unknown".to_owned(),
        (None, false) => "no tokens".to_owned(),
    }
}

/// An amount of US dollars; small amounts have more decimals.
pub fn dollars(amount: f64) -> String {
    if amount >= 0.1 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

/// How long the agents of these trials ran.
pub fn agent_time(counts: &TrialCounts) -> String {
    let least = if counts.settled > 0 { "≥ " } else { "" };
    format!("{least}{}", clock(Duration::from_millis(counts.duration_ms)))
}

/// `2:05`, or `1:02:05` from an hour on.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// The failed checks, the troubles, and the reasons of trials that were not run. Each has its number unless it is that
/// of all trials.
pub fn why(counts: &CaseCounts) -> String {
    let all = counts.counts.ended() + counts.not_run.values().sum::<usize>();
    let checks = counts.failed_checks.iter().map(|(name, count)| (Cow::from(name), *count));
    let troubles = counts.troubles.iter().map(|(name, count)| (Cow::from(*name), *count));
    let not_run = counts.not_run.iter().map(|(reason, count)| (reason.text(), *count));
    let mut parts = Vec::new();
    for (name, count) in checks.chain(troubles).chain(not_run) {
        let name = escape::line(&name);
        parts.push(if count == all { name } else { format!("{name} ({count}×)") });
    }
    parts.extend(counts.score.map(|score| format!("score {}", two_digits(score))));
    parts.extend(decided(counts));
    parts.join(", ")
}

/// The first failed check with what it expected and found, and the names of the others. What [`why`] says, if none failed.
pub fn reason(counts: &CaseCounts) -> String {
    let Some(first) = counts.findings.first() else { return why(counts) };
    let FailedCheck { check, expected, found, .. } = first;
    let text = format!("{check}: expected {expected}; found {found}");
    let others: Vec<&str> = counts.failed_checks.keys().map(String::as_str).filter(|name| name != check).collect();
    let others = if others.is_empty() { String::new() } else { format!("; also failed: {}", others.join(", ")) };
    escape::line(&format!("{text}{others}"))
}

/// Whether a case was decided; `None` if it does not run until it is.
pub fn decided(counts: &CaseCounts) -> Option<String> {
    let (trials, most) = (counts.counts.ended(), counts.max_trials?);
    // Other runs of the case may have had a fixed number of trials.
    let trials =
        if trials <= most as usize { format!("{trials} of at most {most} trials") } else { counted(trials, "trial") };
    Some(match counts.side()? {
        ThresholdSide::Undecided => format!("undecided after {trials}"),
        ThresholdSide::Above | ThresholdSide::Below => format!("decided after {trials}"),
    })
}

/// The most kinds of mistakes that are listed; others are counted.
const MAX_MISTAKES: usize = 20;

/// For each mode a line for each skill, and the mistakes. Leaves out a mode that has neither a mistake nor a case that
/// expects its skill not to activate.
pub fn triggering(summary: &Summary) -> String {
    let mut text = String::new();
    for (mode, confusion) in &summary.triggering {
        let (skills, mistakes) = (confusion.skills(), confusion.mistakes());
        let has_negatives = confusion.cells.keys().any(|(expected, _)| matches!(expected, ExpectedSkill::NotFor(_)));
        if skills.is_empty() || (!has_negatives && mistakes.is_empty()) {
            continue;
        }
        let _ = writeln!(text, "activation in mode {mode}:");
        let row = |skill: &SkillTriggering| {
            let (wanted, activated) = (skill.recall.rate, skill.precision.rate);
            let not_wanted = Rate::new(activated.trials - activated.passed, confusion.trials_without(&skill.skill));
            let parts = [("when wanted", wanted), ("when not wanted", not_wanted)];
            let parts = parts.into_iter().filter(|(_, rate)| rate.trials > 0);
            let parts: Vec<String> = parts.map(|(when, rate)| format!("{when} {}", fraction(rate))).collect();
            [format!("  {}", escape::line(&skill.skill)), format!("activated {}", parts.join(", "))]
        };
        text.push_str(&columns::text([WORDS, WORDS], &skills.iter().map(row).collect::<Vec<_>>()));
        for (expected, activated, count) in mistakes.iter().take(MAX_MISTAKES) {
            let _ = writeln!(text, "  {}", escape::line(&mistake(expected, activated, *count)));
        }
        let more = mistakes.len().saturating_sub(MAX_MISTAKES);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more kinds of mistake; --json has all");
        }
    }
    text
}

fn mistake(expected: &ExpectedSkill, activated: &ActivatedSkill, count: u64) -> String {
    let activated = match activated {
        ActivatedSkill::Skill(skill) => format!("`{skill}` activated"),
        ActivatedSkill::Several => "several skills activated".to_owned(),
        ActivatedSkill::None => "no skill activated".to_owned(),
    };
    match expected {
        ExpectedSkill::For(skill) => format!("{count}× {activated}, expected `{skill}`"),
        ExpectedSkill::NotFor(skill) => format!("{count}× {activated}, expected `{skill}` not to activate"),
    }
}

// The pass rate of each run, as a chart for the terminal.

/// Columns of the chart. With the figures before it, a line fits into 80 columns.
const WIDTH: usize = 31;

/// A line for each run, the oldest first, with its share and interval drawn on a scale from 0 to 100. A run is marked if
/// its inputs differ from those of the run before it: the two show no trend.
pub fn chart(points: &[HistoryPoint]) -> String {
    let half = WIDTH / 2;
    let scale = format!("0{:>half$}{:>half$}", "50", "100");
    let mut rows = vec![[String::new(), String::new(), String::new(), scale]];
    for (number, trend) in trends(points).enumerate() {
        for (at, point) in trend.iter().enumerate() {
            let mark = if number > 0 && at == 0 { '≠' } else { ' ' };
            // Counts stand only next to the share that is theirs.
            let is_theirs = point.rate.share().is_some_and(|share| rate::points(share) == rate::points(point.share));
            let count = if is_theirs { fraction(point.rate) } else { format!("{} trials", point.rate.trials) };
            let name = format!("{mark} {}", escape::line(&point.run));
            rows.push([name, count, rate::share(point.share, point.interval), drawn(point)]);
        }
    }
    let mut text = columns::text([WORDS, NUMBERS, WORDS, WORDS], &rows);
    if text.contains("\n≠") {
        text.push_str("≠ other skills, cases, checks or settings than in the run above: not a trend\n");
    }
    text
}

/// `  ├───●──┤`.
fn drawn(point: &HistoryPoint) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a column"
    )]
    let [low, high, middle] = [point.interval.low, point.interval.high, point.share]
        .map(|share| ((share.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize).min(WIDTH - 1));
    (0..WIDTH)
        .map(|column| match column {
            column if column == middle => '●',
            column if column == low => '├',
            column if column == high => '┤',
            column if low < column && column < high => '─',
            _ => ' ',
        })
        .collect()
}
