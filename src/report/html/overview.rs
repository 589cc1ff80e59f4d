//! The first screen: what was run, what it came to, and the places from which the list is filtered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{chart, escape};
use crate::report::compared::{changed, moved_cases, sentence, side_line, the_same, told};
use crate::report::diagnostics::counted;
use crate::report::paint::Paint;
use crate::report::rate::{self, points};
use crate::report::table;
use crate::report::trial::scripted;
use crate::results::compared::ComparisonResults;
use crate::results::share::{self, CaseShare};
use crate::results::summary::{CaseCounts, Summary, TrialCounts};
use crate::results::trend::{TrendPoint, trends};
use crate::results::triggering::{ActivatedSkill, Confusion, ExpectedSkill};
use crate::stats::proportion::Rate;
use crate::trial::outcome::Verdict;

/// What the first screen is made from.
#[derive(Debug)]
pub struct Overview<'a> {
    /// What the reported runs came to.
    pub summary: &'a Summary,
    /// What comparing them with others came to, where that was asked.
    pub compared: Option<&'a ComparisonResults>,
    /// When the runs began, where that is known, the earliest first.
    pub created: &'a BTreeSet<String>,
    /// The agents with their versions and models.
    pub agents: &'a BTreeSet<String>,
    /// The latest runs, by skill.
    pub history: &'a [(String, Vec<TrendPoint>)],
    /// What had to be left out, or could not be read, each in a sentence.
    pub notes: &'a [String],
}

/// The first screen as markup.
#[must_use]
pub fn overview(of: &Overview<'_>) -> String {
    let mut html = String::new();
    head(&mut html, of);
    html.push_str("<main id=\"all\">\n<section id=\"first\" aria-label=\"Results\">\n");
    figures(&mut html, of.summary);
    grid(&mut html, of.summary);
    html.push_str("</section>\n<section id=\"trials\" aria-label=\"Trials\">");
    html.push_str("<noscript><p>The list of trials and their sessions need JavaScript, which this page carries itself.</p></noscript>");
    html.push_str("</section>\n<section id=\"more\">\n");
    changes(&mut html, of.compared);
    for (mode, found) in &of.summary.triggering {
        confusion(&mut html, mode, found);
    }
    history(&mut html, of.history);
    html.push_str("</section>\n</main>\n<main id=\"one\" hidden></main>\n<div id=\"said\" role=\"status\" aria-live=\"polite\"></div>\n");
    html
}

/// The title, in plain text.
#[must_use]
pub fn title(summary: &Summary) -> String {
    format!("{}: {}", summary.runs.join(", "), headline(summary))
}

fn headline(summary: &Summary) -> String {
    let TrialCounts { passed, .. } = summary.total;
    let rate = summary.total.rate();
    match rate.trials {
        0 => "nothing was measured".to_owned(),
        trials => {
            format!("{passed} of {} passed", counted(usize::try_from(trials).unwrap_or(usize::MAX), "measured trial"))
        }
    }
}

// Writing to a string cannot fail, here and below.
fn head(html: &mut String, of: &Overview<'_>) {
    let runs = of.summary.runs.join(", ");
    let mut facts = vec![format!("run {runs}")];
    facts.extend(
        of.created
            .first()
            .filter(|time| !time.is_empty())
            .map(|time| time.get(..16).unwrap_or(time).replace('T', " ") + " UTC"),
    );
    facts.extend(of.agents.iter().cloned());
    let facts: Vec<String> = facts.iter().map(|fact| format!("<span>{}</span>", escape::text(fact))).collect();
    let headline =
        of.compared.map_or_else(|| headline(of.summary), |compared| capital(&sentence(compared, Paint::Plain)));
    let _ = writeln!(
        html,
        "<a class=\"skip\" href=\"#trials\">Skip to the trials</a>\n<header>\n<p class=\"facts\">{}</p>\n<h1>{}</h1>",
        facts.join(" "),
        escape::text(&headline)
    );
    for by in &of.summary.scripted {
        let _ = writeln!(
            html,
            "<p class=\"note scripted\"><b>Scripted.</b> {}.</p>",
            escape::text(&capital(&scripted(by)))
        );
    }
    for note in of.notes {
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape::text(note));
    }
    html.push_str("</header>\n");
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn figures(html: &mut String, summary: &Summary) {
    let total = &summary.total;
    let mut figures = Vec::new();
    let cases = |verdict| summary.cases_with(verdict);
    // Those that were not run too.
    let of = summary.cases.len();
    figures.push(("", "cases passed", format!("{} of {of}", cases(Verdict::Pass)), String::new()));
    if let Some((share, interval)) = summary.share() {
        let more = format!(" <small>{}</small>{}", rate::range(interval), chart::interval(share, interval));
        figures.push(("", "share of trials, each case alike", format!("{} %", points(share)), more));
    }
    if let Some(repeats) = summary.repeats() {
        let (k, any, all) = (repeats.k, points(repeats.pass_at_k), points(repeats.pass_hat_k));
        let more = format!(" <small>one of {k}</small>");
        figures.push(("", "of repeats, all pass", format!("{all} %"), format!("{more} <b>{any} %</b>")));
    }
    let plural = |count: usize, class, name, figures: &mut Vec<_>| {
        if count > 0 {
            figures.push((class, name, count.to_string(), String::new()));
        }
    };
    plural(total.failed, "fail", "failed", &mut figures);
    plural(total.errors, "error", "errors, nothing measured", &mut figures);
    plural(total.unscored, "unscored", "unscored", &mut figures);
    plural(summary.not_run.values().sum(), "unscored", "not run", &mut figures);
    let time = table::clock(std::time::Duration::from_millis(total.duration_ms));
    figures.push(("", "agents’ time", time, String::new()));
    if total.spent.tokens.is_some() {
        let least = if total.spent.tokens_incomplete { "at least " } else { "" };
        let tokens = format!("{least}{}", grouped(total.spent.tokens.unwrap_or_default()));
        figures.push(("", "tokens", tokens, String::new()));
    }
    if total.spent.cost_usd.is_some() {
        figures.push(("", "cost", escape::text(&table::cost(&total.spent)), String::new()));
    }
    html.push_str("<dl class=\"figures\">\n");
    for (class, name, value, more) in figures {
        let _ = writeln!(html, "<div class=\"{class}\"><dt>{name}</dt><dd><b>{value}</b>{more}</dd></div>");
    }
    html.push_str("</dl>\n");
}

/// A number with a narrow space between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join("\u{202f}")
}

/// What the cases of a skill in a mode came to.
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

/// Skills by modes: the share that passed, of how many, and what was flaky.
fn grid(html: &mut String, summary: &Summary) {
    let mut cells: BTreeMap<(&str, &str), SkillCell> = BTreeMap::new();
    for (key, counts) in &summary.cases {
        cells.entry((&key.skill, &key.mode)).or_default().add(counts);
    }
    let modes: BTreeSet<&str> = cells.keys().map(|(_, mode)| *mode).collect();
    let skills: BTreeSet<&str> = cells.keys().map(|(skill, _)| *skill).collect();
    html.push_str("<div class=\"wide\"><table class=\"grid\"><caption>Share of trials that passed, each case alike, by skill and mode</caption>\n<thead><tr><th scope=\"col\">skill</th>");
    for mode in &modes {
        let _ = write!(
            html,
            "<th scope=\"col\"><a href=\"#mode={}\">{}</a></th>",
            escape::fragment(mode),
            escape::text(mode)
        );
    }
    html.push_str("</tr></thead>\n<tbody>\n");
    for skill in &skills {
        let of_skill = escape::fragment(skill);
        let _ = write!(html, "<tr><th scope=\"row\"><a href=\"#skill={of_skill}\">{}</a></th>", escape::text(skill));
        for mode in &modes {
            match cells.get(&(*skill, *mode)) {
                Some(found) => cell(html, found, &format!("skill={of_skill}&amp;mode={}", escape::fragment(mode))),
                None => html.push_str("<td class=\"none\">–</td>"),
            }
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div>\n");
}

fn cell(html: &mut String, found: &SkillCell, link: &str) {
    let Rate { passed, trials } = found.cases.iter().fold(Rate::default(), |sum, case| sum.plus(case.rate));
    let (step, share, drawn) = match share::together(&found.cases) {
        Some((share, interval)) => {
            let step = format!("s{:.0}", (share * 10.0).floor());
            (step, format!("{} %", points(share)), chart::interval(share, interval))
        }
        None => ("none".to_owned(), "–".to_owned(), String::new()),
    };
    let _ =
        write!(html, "<td class=\"{step}\"><a href=\"#{link}\"><b>{share}</b> <small>{passed}/{trials}</small>{drawn}");
    if found.flaky > 0 {
        let _ = write!(html, "<small class=\"flaky\">{} flaky</small>", found.flaky);
    }
    if found.not_measured > 0 {
        let _ = write!(html, "<small class=\"lost\">{} not measured</small>", found.not_measured);
    }
    if found.not_run > 0 {
        let _ = write!(html, "<small class=\"lost\">{} not run</small>", found.not_run);
    }
    html.push_str("</a></td>");
}

/// Both arms, the cases whose share differs, and all else that `compare` says.
fn changes(html: &mut String, compared: Option<&ComparisonResults>) {
    let Some(compared) = compared else { return };
    let comparison = &compared.comparison;
    html.push_str("<section class=\"changes\"><h2>Compared</h2><table><tbody>\n");
    for (arm, label, shown) in
        [("A", &compared.baseline, &comparison.baseline), ("B", &compared.candidate, &comparison.candidate)]
    {
        let drawn = shown.share.zip(shown.interval).map(|(share, interval)| chart::interval(share, interval));
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{arm} <small>{}</small></th><td>{}</td><td>{}</td></tr>",
            escape::text(label),
            side_line(shown),
            drawn.unwrap_or_default()
        );
    }
    let moved = moved_cases(comparison);
    for case in &moved {
        let class = if case.candidate.rate.share() < case.baseline.rate.share() { "fail" } else { "pass" };
        let sure = changed(case).unwrap_or_else(|| "may be noise".to_owned());
        let _ = writeln!(
            html,
            "<tr class=\"{class}\"><th scope=\"row\">{}</th><td>{} → {}</td><td>{sure}</td></tr>",
            escape::text(&case.case),
            rate::fraction(case.baseline.rate),
            rate::fraction(case.candidate.rate),
        );
    }
    html.push_str("</tbody></table>\n<ul class=\"told\">\n");
    let same = comparison.cases.len() - moved.len();
    let same = (same > 0).then(|| the_same(same));
    for line in same.into_iter().chain(told(compared)) {
        let _ = writeln!(html, "<li>{}</li>", escape::text(&line));
    }
    html.push_str("</ul></section>\n");
}

/// What became active, by what should have.
fn confusion(html: &mut String, mode: &str, found: &Confusion) {
    if found.cells.is_empty() {
        return;
    }
    let asked: BTreeSet<&ExpectedSkill> = found.cells.keys().map(|(asked, _)| asked).collect();
    let active: BTreeSet<&ActivatedSkill> = found.cells.keys().map(|(_, active)| active).collect();
    let _ = write!(
        html,
        "<section class=\"confusion\"><h2>What triggered <small>{}</small></h2><div class=\"wide\"><table>\
         <thead><tr><th scope=\"col\">case of ↓, active →</th>",
        escape::text(mode)
    );
    for active in &active {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape::text(active_name(active)));
    }
    html.push_str("</tr></thead><tbody>\n");
    for asked in asked {
        let name = match asked {
            ExpectedSkill::For(skill) => skill.clone(),
            ExpectedSkill::NotFor(skill) => format!("not {skill}"),
        };
        let _ = write!(html, "<tr><th scope=\"row\">{}</th>", escape::text(&name));
        for active in &active {
            let right = match (asked, active) {
                (ExpectedSkill::For(skill), ActivatedSkill::Skill(active)) => skill == active,
                (ExpectedSkill::NotFor(_), ActivatedSkill::None) => true,
                _ => false,
            };
            let count = found.cells.get(&(asked.clone(), (*active).clone())).copied().unwrap_or(0);
            let class = match (count, right) {
                (0, _) => "zero",
                (_, true) => "pass",
                _ => "fail",
            };
            let _ = write!(html, "<td class=\"{class}\">{count}</td>");
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</tbody></table></div></section>\n");
}

fn active_name(active: &ActivatedSkill) -> &str {
    match active {
        ActivatedSkill::Skill(skill) => skill,
        ActivatedSkill::Several => "several",
        ActivatedSkill::None => "none",
    }
}

/// The trend of the latest runs, by skill.
fn history(html: &mut String, history: &[(String, Vec<TrendPoint>)]) {
    let several = history.iter().filter(|(_, points)| points.len() > 1).collect::<Vec<_>>();
    if several.is_empty() {
        return;
    }
    html.push_str(
        "<section class=\"history\"><h2>History <small>the latest runs, oldest first</small></h2><table><tbody>\n",
    );
    for (skill, runs) in several {
        let Some(trend) = trends(runs).next_back() else { continue };
        let shares: Vec<_> = trend.iter().map(|point| (point.share, point.interval)).collect();
        let (drawn, told) = match trend {
            [first, .., last] => {
                (chart::sparkline(&shares), format!("{} → {}", points(first.share), points(last.share)))
            }
            [only] => (String::new(), points(only.share)),
            [] => continue,
        };
        let others = runs.len() - trend.len();
        let others = match others {
            0 => String::new(),
            _ => format!("; {} before: other skills, cases, checks or settings, not a trend", counted(others, "run")),
        };
        let _ = writeln!(
            html,
            "<tr><th scope=\"row\">{}</th><td>{drawn}</td><td>{told} % <small>{}{others}</small></td></tr>",
            escape::text(skill),
            counted(trend.len(), "run"),
        );
    }
    html.push_str("</tbody></table></section>\n");
}
