//! The first screen: what was run, the results, and links that filter the list of trials.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::decide::result::CompareResult;
use crate::decide::{CaseChange, Comparison};
use crate::html::{self, markup};
use crate::report::compared::{
    behind, certainty, mean_of_broke, moved_cases, sentence, short_names, side_line, side_name, the_same, told,
};
use crate::report::diagnostics::counted;
use crate::report::drift;
use crate::report::paint::Paint;
use crate::report::rate::{self, points};
use crate::report::table;
use crate::report::trial_text::{in_part, scripted};
use crate::results::compared::ComparisonResults;
use crate::results::drift::{Series, SeriesNight};
use crate::results::history::{HistoryPoint, trends};
use crate::results::share::{self, CaseShare};
use crate::results::summary::{CaseCounts, Summary, TrialCounts};
use crate::results::triggering::{ActivatedSkill, Confusion, ExpectedSkill};
use crate::settings::mode::label;
use crate::stats::proportion::Rate;
use crate::text::cut;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::FailedCheck;

/// The content of the first screen.
#[derive(Debug)]
pub struct Overview<'a> {
    /// The results of the reported runs.
    pub summary: &'a Summary,
    /// The comparison with other runs, if requested.
    pub compared: Option<&'a ComparisonResults>,
    /// The results of the runs that they are compared with.
    pub against: Option<&'a Summary>,
    /// In a run that compares, the modes of the baseline's trials.
    pub baseline_modes: &'a BTreeSet<String>,
    /// When the runs began, as far as that is known.
    pub created: &'a BTreeSet<String>,
    /// The agents with their versions and models.
    pub agents: &'a BTreeSet<String>,
    /// The latest runs, by skill.
    pub history: &'a [(String, Vec<HistoryPoint>)],
    /// The nightly runs, by skill and mode.
    pub series: &'a [Series],
    /// Sentences about what was left out or could not be read.
    pub notes: &'a [String],
}

const BEFORE_TRIALS: &str = "</section>\n<section id=\"trials\" aria-label=\"Trials\"><noscript><p>The list of trials and \
    their sessions need JavaScript, which this page carries itself.</p></noscript></section>\n<section id=\"more\">\n";
const END: &str = "</section>\n</main>\n<main id=\"one\" hidden></main>\n\
    <div id=\"said\" role=\"status\" aria-live=\"polite\"></div>\n";

/// The first screen as markup.
pub fn overview(overview: &Overview<'_>) -> String {
    let mut html = String::new();
    head(&mut html, overview);
    html.push_str("<main id=\"all\">\n<section id=\"first\" aria-label=\"Results\">\n");
    figures(&mut html, overview);
    if let Some(compared) = overview.compared {
        changes(&mut html, compared, overview);
    } else {
        grid(&mut html, overview.summary);
        cases(&mut html, overview.summary);
    }
    html.push_str(BEFORE_TRIALS);
    for (mode, found) in &overview.summary.triggering {
        let mut name = mode.clone();
        if let Some(compared) = overview.compared {
            let (baseline, candidate) = short_names((&compared.baseline, &compared.candidate));
            name = format!("{mode}, {}", if overview.baseline_modes.contains(mode) { baseline } else { candidate });
        }
        confusion(&mut html, &name, found);
    }
    history(&mut html, overview.history);
    nights(&mut html, overview.series);
    html.push_str(END);
    html
}

pub fn title(overview: &Overview<'_>) -> String {
    let answer = overview.compared.map_or_else(|| headline(overview.summary), comparison_headline);
    format!("{}: {answer}", overview.summary.runs.join(", "))
}

fn headline(summary: &Summary) -> String {
    let rate = summary.total.rate();
    if rate.trials == 0 {
        return "nothing was measured".to_owned();
    }
    format!("{} of {} passed", rate.passed, counted(rate.trials, "measured trial"))
}

fn head(html: &mut String, overview: &Overview<'_>) {
    let mut facts = vec![format!("run {}", overview.summary.runs.join(", "))];
    if let Some(time) = overview.created.first().filter(|time| !time.is_empty()) {
        facts.push(time.get(..16).unwrap_or(time).replace('T', " ") + " UTC");
    }
    facts.extend(overview.agents.iter().cloned());
    let facts: Vec<String> = facts.iter().map(|fact| format!("<span>{}</span>", markup::text(fact))).collect();
    let _ = writeln!(
        html,
        "<a class=\"skip\" href=\"#trials\">Skip to the trials</a>\n<header>\n<p class=\"facts\">{}</p>",
        facts.join(" ")
    );
    match overview.compared {
        Some(compared) => answer(html, compared),
        None => answer_line(html, "rate", &headline(overview.summary)),
    }
    for by in &overview.summary.scripted {
        let note = markup::text(&capital(&scripted(by)));
        let _ = writeln!(html, "<p class=\"note scripted\">{note}.</p>");
    }
    let summary = overview.summary;
    let notes = [in_part(summary.partial), table::unanswered(summary)].into_iter().flatten();
    let notes = notes.chain(table::in_quarantine(summary));
    for note in overview.notes.iter().cloned().chain(notes) {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", markup::text(&note));
    }
    html.push_str("</header>\n");
}

fn figures(html: &mut String, overview: &Overview<'_>) {
    html.push_str("<dl class=\"figures\">\n");
    let (summary, mut total) = (overview.summary, overview.summary.total);
    let mut not_run: usize = summary.not_run.values().sum();
    if let Some(against) = overview.against {
        total = total.and(&against.total);
        not_run += against.not_run.values().sum::<usize>();
    }
    match overview.compared {
        Some(compared) => comparison_figures(html, compared),
        None => rates(html, summary),
    }
    for (class, name, count) in [
        ("fail", "failed", total.failed),
        ("error", "errors (not measured)", total.errors),
        ("unscored", "unscored (no answer of the judge)", total.unscored),
        ("unscored", "not run", not_run),
    ] {
        if count > 0 {
            figure(html, class, name, &format!("<b>{count}</b>"));
        }
    }
    let time = table::agent_time(&total);
    figure(html, "", "agent time", &format!("<b>{time}</b>"));
    if let Some(tokens) = total.spent.tokens {
        let least = if total.spent.tokens_incomplete { "at least " } else { "" };
        figure(html, "", "tokens", &format!("<b>{least}{}</b>", grouped(tokens)));
    }
    if total.spent.cost_usd.is_some() {
        let (cost, by) = table::cost_and_source(&total.spent);
        let (cost, by) = (markup::text(&cost), markup::text(by.trim_start_matches([',', ' '])));
        figure(html, "", "cost", &format!("<b>{cost}</b> <small>{by}</small>"));
    }
    html.push_str("</dl>\n");
}

fn rates(html: &mut String, summary: &Summary) {
    let (passed, all) = (summary.cases_with(Verdict::Pass), summary.cases.len());
    let name = if summary.modes.len() > 1 { "cases passed, counted in each mode" } else { "cases passed" };
    figure(html, "", name, &format!("<b>{passed} of {all}</b>"));
    if let Some((share, interval)) = summary.share() {
        let (percent, range, drawn) = (points(share), rate::range(interval), markup::interval(share, interval));
        let value = format!("<b>{percent} %</b> <small>95 % interval {range}</small>{drawn}");
        figure(html, "", "pass rate (cases weighted equally)", &value);
    }
    let Some(repeats) = summary.repeats() else { return };
    let k = repeats.k;
    figure(html, "", &format!("all {k} trials of a case pass"), &format!("<b>{} %</b>", points(repeats.pass_hat_k)));
    let name = format!("at least 1 of {k} trials of a case passes");
    figure(html, "", &name, &format!("<b>{} %</b>", points(repeats.pass_at_k)));
}

/// A number with a narrow space between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join("\u{202f}")
}

/// The results of a skill's cases in a mode.
#[derive(Default)]
struct SkillCell {
    cases: Vec<CaseShare>,
    flaky: usize,
    not_measured: usize,
    not_run: usize,
}

impl SkillCell {
    fn add(&mut self, counts: &CaseCounts) {
        let TrialCounts { passed, failed, errors, unscored, .. } = counts.counts;
        self.cases.push(counts.case_share());
        self.flaky += usize::from(passed > 0 && failed > 0);
        self.not_measured += errors + unscored;
        self.not_run += counts.not_run.values().sum::<usize>();
    }
}

/// Pass rates by skill and mode.
fn grid(html: &mut String, summary: &Summary) {
    let mut cells: BTreeMap<(&str, &str), SkillCell> = BTreeMap::new();
    for (key, counts) in &summary.cases {
        cells.entry((&key.skill, &key.mode)).or_default().add(counts);
    }
    let modes: BTreeSet<&str> = cells.keys().map(|(_, mode)| *mode).collect();
    let skills: BTreeSet<&str> = cells.keys().map(|(skill, _)| *skill).collect();
    let _ = write!(
        html,
        "{}<table class=\"grid\"><caption>Pass rate (cases weighted equally) by skill and mode</caption>\n\
         <thead><tr><th scope=\"col\">skill</th>",
        markup::wide("Pass rate by skill and mode"),
    );
    for mode in &modes {
        let (link, name) = (markup::fragment(mode), markup::text(&label(mode)));
        let _ = write!(html, "<th scope=\"col\"><a href=\"#mode={link}\">{name}</a></th>");
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for skill in &skills {
        let link = markup::fragment(skill);
        let _ = write!(html, "<tr><th scope=\"row\"><a href=\"#skill={link}\">{}</a></th>", markup::text(skill));
        for mode in &modes {
            match cells.get(&(*skill, *mode)) {
                Some(found) => cell(html, found, &format!("skill={link}&amp;mode={}", markup::fragment(mode))),
                None => html.push_str("<td class=\"none\">–</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn cell(html: &mut String, cell: &SkillCell, link: &str) {
    let Rate { passed, trials } = cell.cases.iter().fold(Rate::default(), |sum, case| sum.plus(case.rate));
    let (class, share, drawn, is_of_trials) = match share::together(&cell.cases) {
        Some((share, interval)) => {
            let class = format!("s{:.0}", (share * 10.0).floor());
            let is_of_trials = Rate::new(passed, trials).share().is_some_and(|all| (all - share).abs() < 1e-9);
            (class, format!("{} %", points(share)), markup::interval(share, interval), is_of_trials)
        }
        None => ("none".to_owned(), "–".to_owned(), String::new(), true),
    };
    // A share of cases is no share of the trials beside it.
    let counts = if is_of_trials {
        format!("{passed}/{trials}")
    } else {
        format!("mean of {}; {passed} of {trials} trials", counted(cell.cases.len(), "case"))
    };
    let _ = write!(html, "<td class=\"{class}\"><a href=\"#{link}\"><b>{share}</b> <small>{counts}</small>{drawn}");
    for (class, count, label) in
        [("flaky", cell.flaky, "flaky"), ("lost", cell.not_measured, "not measured"), ("lost", cell.not_run, "not run")]
    {
        if count > 0 {
            let _ = write!(html, "<small class=\"{class}\">{count} {label}</small>");
        }
    }
    html.push_str("</a></td>");
}

/// Each case of several modes in a row, with a cell for each mode: those first in which modes differ.
fn cases(html: &mut String, summary: &Summary) {
    let modes: BTreeSet<&str> = summary.cases.keys().map(|key| key.mode.as_str()).collect();
    if modes.len() < 2 {
        return;
    }
    let mut rows: BTreeMap<(&str, &str), BTreeMap<&str, &CaseCounts>> = BTreeMap::new();
    for (key, counts) in &summary.cases {
        rows.entry((&key.skill, &key.case)).or_default().insert(&key.mode, counts);
    }
    let verdicts = |cells: &BTreeMap<&str, &CaseCounts>| {
        cells.values().map(|counts| counts.verdict()).collect::<BTreeSet<_>>().len()
    };
    let mut rows: Vec<_> = rows.into_iter().collect();
    rows.sort_by_key(|(_, cells)| verdicts(cells) < 2);
    let differ = rows.iter().filter(|(_, cells)| verdicts(cells) > 1).count();
    let _ = write!(
        html,
        "{}<table class=\"grid cases\"><caption>Passed trials by case and mode; modes differ in {differ} of {}</caption>\n\
         <thead><tr><th scope=\"col\">case</th>",
        markup::wide("Passed trials by case and mode"),
        counted(rows.len(), "case")
    );
    for mode in &modes {
        let _ = write!(html, "<th scope=\"col\">{}</th>", markup::text(&label(mode)));
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for ((skill, case), cells) in rows {
        let link = format!("skill={}&amp;case={}", markup::fragment(skill), markup::fragment(case));
        let name = markup::text(&format!("{skill}/{case}"));
        let _ = write!(html, "<tr><th scope=\"row\"><a href=\"#{link}\">{name}</a></th>");
        for mode in &modes {
            let Some(counts) = cells.get(mode) else {
                html.push_str("<td class=\"none\">–</td>");
                continue;
            };
            let verdict = counts.verdict().map_or("not run", Verdict::as_str);
            let class = match counts.verdict() {
                _ if counts.excused().is_some() => "unscored",
                Some(_) => verdict,
                None => "none",
            };
            let excused = counts.excused().map(|until| format!(", in quarantine {}", markup::text(until)));
            let word = format!("{verdict}{}", excused.unwrap_or_default());
            let (mode, passed) = (markup::fragment(mode), table::passed(counts));
            let _ = write!(
                html,
                "<td class=\"{class}\"><a href=\"#{link}&amp;mode={mode}\" title=\"{word}\">{passed}</a></td>"
            );
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

/// The most cases that moved and are listed here. The list of trials has all.
const MOST_MOVED: usize = 20;

/// The most cases that broke and have their reason here, and its longest part, in characters.
const MOST_REASONS: usize = 5;
const LONGEST_REASON: usize = 160;

/// Both sides, the cases that moved, and everything else that `compare` says; next to it the texts that differ.
fn changes(html: &mut String, compared: &ComparisonResults, overview: &Overview<'_>) {
    let (comparison, summary) = (&compared.comparison, overview.summary);
    html.push_str("<div class=\"answers\"><section class=\"changes\"><h2>Compared</h2>");
    sides(html, compared);
    let moved = moved_cases(comparison);
    if !moved.is_empty() {
        begin_cases(html, compared, "case that moved");
        for case in moved.iter().take(MOST_MOVED) {
            let name = markup::text(&case.case);
            let name = case_address(summary, &case.case)
                .map_or(name.clone(), |address| format!("<a href=\"#{address}\">{name}</a>"));
            case_row(html, comparison, case, &name);
        }
        html.push_str("</tbody></table>\n");
    }
    html.push_str("<ul class=\"told\">\n");
    for why in comparison.broken.iter().take(MOST_REASONS).filter_map(|name| why_broke(overview, name)) {
        let _ = writeln!(html, "<li>{}</li>", markup::text(&why));
    }
    let more = moved.len().saturating_sub(MOST_MOVED);
    if more > 0 {
        let _ = writeln!(
            html,
            "<li><a href=\"#differs=1&amp;sort=change\">{} more that moved</a></li>",
            counted(more, "case")
        );
    }
    let same = comparison.cases.len() - moved.len();
    let same = (same > 0).then(|| the_same(same));
    for line in same.into_iter().chain(told(compared)).chain(mean_of_broke(compared)) {
        let _ = writeln!(html, "<li>{}</li>", markup::text(&line));
    }
    html.push_str("</ul></section>\n<section id=\"edits\" hidden></section></div>\n");
}

/// The check that failed in a case that broke, with what it expected and found.
fn why_broke(overview: &Overview<'_>, name: &str) -> Option<String> {
    let of_candidate = |key: &&CaseInMode| {
        !overview.baseline_modes.contains(&key.mode)
            && (key.compared_as(true) == name || key.compared_as(false) == name)
    };
    let mut counts = overview.summary.cases.iter().filter(|(key, _)| of_candidate(key)).map(|(_, counts)| counts);
    let FailedCheck { check, expected, found } = counts.find_map(|counts| counts.findings.first())?;
    let cut = |text: &str| cut::start(text, LONGEST_REASON);
    Some(format!("{name}, check {check}: expected: {}; found: {}", cut(expected), cut(found)))
}

/// The filters that leave a case of a comparison in the list.
fn case_address(summary: &Summary, name: &str) -> Option<String> {
    let of = |several| summary.cases.keys().find(|key| key.compared_as(several) == name);
    let (key, mode) = match (of(true), of(false)) {
        (Some(key), _) => (key, format!("&amp;mode={}", markup::fragment(&key.mode))),
        (None, key) => (key?, String::new()),
    };
    Some(format!("skill={}&amp;case={}{mode}", markup::fragment(&key.skill), markup::fragment(&key.case)))
}

/// Trials by the expected and the activated skill.
fn confusion(html: &mut String, mode: &str, confusion: &Confusion) {
    if confusion.cells.is_empty() {
        return;
    }
    let rows: BTreeSet<&ExpectedSkill> = confusion.cells.keys().map(|(expected, _)| expected).collect();
    let columns: BTreeSet<&ActivatedSkill> = confusion.cells.keys().map(|(_, activated)| activated).collect();
    // The list of trials says the same.
    if rows.len() == 1 && columns.len() == 1 {
        return;
    }
    let _ = write!(
        html,
        "<section class=\"confusion\"><h2>Activated skills <small>{}, number of trials</small></h2>\
         {}<table><thead><tr><th scope=\"col\">expected ↓, activated →</th>",
        markup::text(mode),
        markup::wide(&format!("Activated skills, {mode}")),
    );
    for activated in &columns {
        let name = match activated {
            ActivatedSkill::Skill(skill) => skill,
            ActivatedSkill::Several => "several",
            ActivatedSkill::None => "none",
        };
        let _ = write!(html, "<th scope=\"col\">{}</th>", markup::text(name));
    }
    html.push_str("</tr></thead><tbody>\n");
    for expected in rows {
        let name = match expected {
            ExpectedSkill::For(skill) => skill.clone(),
            ExpectedSkill::NotFor(skill) => format!("not {skill}"),
        };
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", markup::text(&name));
        for activated in &columns {
            let count = confusion.cells.get(&(expected.clone(), (*activated).clone())).copied().unwrap_or(0);
            let class = match (count, expected, activated) {
                (0, ..) => "zero",
                _ if expected.is_missed_by(activated) => "fail",
                (_, ExpectedSkill::For(_), _) | (_, _, ActivatedSkill::None) => "pass",
                // Another skill may be right for the prompt.
                _ => "other",
            };
            let _ = write!(html, "<td class=\"{class}\">{count}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></section>\n");
}

/// The trend of the latest runs, by skill. A skill with one run has none.
fn history(html: &mut String, history: &[(String, Vec<HistoryPoint>)]) {
    if history.iter().all(|(_, runs)| runs.len() < 2) {
        return;
    }
    let _ = writeln!(
        html,
        "<section class=\"history\"><h2>History <small>pass rate of the latest runs, oldest first</small></h2>{}<table><tbody>",
        markup::wide("History")
    );
    for (skill, runs) in history.iter().filter(|(_, runs)| runs.len() > 1) {
        let Some(trend) = trends(runs).next_back() else { continue };
        let shares: Vec<_> = trend.iter().map(|point| (point.share, point.interval)).collect();
        let (drawn, rates) = match trend {
            [first, .., last] => {
                (markup::sparkline(&shares), format!("{} → {}", points(first.share), points(last.share)))
            }
            [only] => (String::new(), points(only.share)),
            [] => continue,
        };
        let others = match runs.len() - trend.len() {
            0 => String::new(),
            others => {
                format!("; {} before: other skills, cases, checks or settings, not a trend", counted(others, "run"))
            }
        };
        let (skill, runs) = (markup::text(skill), counted(trend.len(), "run"));
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{skill}</th><td>{drawn}</td><td>{rates} % <small>{runs}{others}</small></td></tr>"
        );
    }
    html.push_str("</tbody></table></div></section>\n");
}

/// Every skill in every mode, night by night: its pass rate with the interval, what it cost, and what changed.
fn nights(html: &mut String, all: &[Series]) {
    if all.is_empty() {
        return;
    }
    html.push_str("<section class=\"history\" id=\"nights\"><h2>Nights <small>by skill and mode</small></h2><ul class=\"told\">\n");
    for line in drift::lines(all) {
        let _ = writeln!(html, "<li>{}</li>", markup::text(&line));
    }
    html.push_str("</ul>\n");
    for series in all {
        let shares: Vec<_> = series.nights.iter().map(|night| (night.share, night.interval)).collect();
        let (name, drawn) = (markup::text(&drift::name(series)), markup::sparkline(&shares));
        let _ = writeln!(
            html,
            "<details><summary>{name} {drawn} <small>{}</small></summary>\n<table><thead><tr><th scope=\"col\">night</th>\
             <th scope=\"col\">pass rate (95 %)</th><th scope=\"col\">passed</th><th scope=\"col\">cost</th>\
             <th scope=\"col\">changed</th></tr></thead><tbody>",
            counted(series.nights.len(), "night")
        );
        series.nights.iter().rev().for_each(|night| night_row(html, night));
        html.push_str("</tbody></table></details>\n");
    }
    html.push_str("</section>\n");
}

fn night_row(html: &mut String, night: &SeriesNight) {
    let SeriesNight { date, rate, share, interval, cost_usd, changed } = night;
    let (percent, range, drawn) = (points(*share), rate::range(*interval), markup::interval(*share, *interval));
    let _ = writeln!(
        html,
        "<tr><th scope=\"row\">{}</th><td>{percent} % <small>{range}</small>{drawn}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        markup::text(date),
        rate::fraction(*rate),
        cost_usd.map_or_else(|| "unknown".to_owned(), table::dollars),
        markup::text(&changed.join(", "))
    );
}

/// The page of nightly runs.
pub fn nights_page(all: &[Series]) -> String {
    let mut html = "<main id=\"all\">\n<header>\n".to_owned();
    let title = drift::lines(all).into_iter().next().unwrap_or_else(|| "no nightly run is kept".to_owned());
    answer_line(&mut html, "rate", &title);
    html.push_str("</header>\n");
    nights(&mut html, all);
    html.push_str("</main>\n");
    html::without_trials(&title, &html)
}

// A comparison as markup; and the page of one whose trials are not here, as of result files of other tools: all cases, and no
// sessions.

/// The page. `lacks` says why the answer is not whole.
pub fn page(compared: &ComparisonResults, lacks: Option<&str>) -> String {
    let comparison = &compared.comparison;
    let mut html = "<main id=\"all\">\n<header>\n".to_owned();
    if let Some(headline) = &compared.headline {
        let _ = writeln!(html, "<p class=\"facts\"><span>{}</span></p>", markup::text(&headline.tool));
    }
    answer(&mut html, compared);
    if let Some(why) = lacks {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", markup::text(&capital(why)));
    }
    html.push_str("</header>\n<dl class=\"figures\">\n");
    comparison_figures(&mut html, compared);
    let lost = comparison.baseline.not_measured + comparison.candidate.not_measured;
    if lost > 0 {
        figure(&mut html, "error", "errors (not measured)", &format!("<b>{lost}</b>"));
    }
    html.push_str("</dl>\n<section class=\"changes\">\n");
    sides(&mut html, compared);
    let moved = moved_cases(comparison);
    let same = comparison.cases.iter().filter(|case| case.difference().abs() <= f64::EPSILON);
    if !comparison.cases.is_empty() {
        begin_cases(&mut html, compared, "case");
        for case in moved.into_iter().chain(same) {
            case_row(&mut html, comparison, case, &markup::text(&case.case));
        }
        html.push_str("</tbody></table>\n");
    }
    html.push_str("<ul class=\"told\">\n");
    for line in told(compared).into_iter().chain(mean_of_broke(compared)) {
        let _ = writeln!(html, "<li>{}</li>", markup::text(&line));
    }
    html.push_str("</ul>\n</section>\n</main>\n");
    html::without_trials(&comparison_headline(compared), &html)
}

/// The color of the answer of a comparison.
fn answer_class(compared: &ComparisonResults) -> &'static str {
    const GOOD: [CompareResult; 3] = [CompareResult::Better, CompareResult::NoWorse, CompareResult::NoHarmSeen];
    let results = &compared.comparison.results;
    if results.iter().any(|result| CompareResult::HARM.contains(result)) {
        "fail"
    } else if results.iter().any(|result| GOOD.contains(result)) {
        "pass"
    } else {
        "open"
    }
}

/// The answer of a comparison as a heading, and the lines behind it.
pub(super) fn answer(html: &mut String, compared: &ComparisonResults) {
    answer_line(html, answer_class(compared), &comparison_headline(compared));
    for line in behind(compared) {
        let _ = writeln!(html, "<p class=\"answer\">{}</p>", markup::text(&capital(&line)));
    }
}

pub(super) fn answer_line(html: &mut String, class: &str, answer: &str) {
    let _ = writeln!(html, "<h1 class=\"{class}\">{}</h1>", markup::text(answer));
}

/// The answer of a comparison in a sentence.
pub(super) fn comparison_headline(compared: &ComparisonResults) -> String {
    capital(&sentence(compared, Paint::Plain))
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub(super) fn comparison_figures(html: &mut String, compared: &ComparisonResults) {
    let comparison = &compared.comparison;
    let trials = comparison.baseline.rate.trials + comparison.candidate.rate.trials;
    figure(html, "", "cases compared", &format!("<b>{}</b>", comparison.cases.len()));
    figure(html, "", "measured trials of both sides", &format!("<b>{trials}</b>"));
}

/// A figure. `class` gives its color; `value` is markup.
pub(super) fn figure(html: &mut String, class: &str, name: &str, value: &str) {
    let _ = writeln!(html, "<div class=\"{class}\"><dt>{name}</dt><dd>{value}</dd></div>");
}

/// Both sides with their rates.
pub(super) fn sides(html: &mut String, compared: &ComparisonResults) {
    let comparison = &compared.comparison;
    html.push_str("<table class=\"sides\"><tbody>\n");
    for (side, label, summary) in [
        ("baseline", &compared.baseline, &comparison.baseline),
        ("candidate", &compared.candidate, &comparison.candidate),
    ] {
        let mean = summary.share.zip(summary.interval).filter(|_| !comparison.results.contains(&CompareResult::Broke));
        let drawn = mean.map(|(share, interval)| markup::interval(share, interval));
        let (name, line, drawn) =
            (markup::text(side_name(label)), side_line(summary, comparison), drawn.unwrap_or_default());
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{name} <small>{side}</small></th><td>{line}</td><td>{drawn}</td></tr>"
        );
    }
    html.push_str("</tbody></table>\n");
}

/// Begins a table with a row for each case of a comparison.
pub(super) fn begin_cases(html: &mut String, compared: &ComparisonResults, head: &str) {
    let (baseline, candidate) = short_names((&compared.baseline, &compared.candidate));
    let _ = writeln!(
        html,
        "<table class=\"moved\"><thead><tr><th scope=\"col\">{head}</th><th scope=\"col\">{} → {}</th>\
         <td></td></tr></thead><tbody>",
        markup::text(&baseline),
        markup::text(&candidate)
    );
}

/// A row of such a table. `name` is markup.
pub(super) fn case_row(html: &mut String, comparison: &Comparison, case: &CaseChange, name: &str) {
    let (before, after) = (case.baseline.rate, case.candidate.rate);
    let (class, certainty) = match case.difference() {
        difference if difference.abs() <= f64::EPSILON => ("", String::new()),
        difference => (if difference < 0.0 { "fail" } else { "pass" }, certainty(case, comparison).unwrap_or_default()),
    };
    let (before, after) = (rate::fraction(before), rate::fraction(after));
    let _ = writeln!(
        html,
        "<tr class=\"{class}\"><th scope=\"row\">{name}</th><td>{before} → {after}</td><td>{certainty}</td></tr>"
    );
}
