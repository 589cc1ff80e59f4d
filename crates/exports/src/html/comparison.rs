//! A comparison as markup; and the page of one whose trials are not here, as of result files of other tools: all cases, and no
//! sessions.

use std::fmt::Write;

use super::{markup, page};
use crate::decide::result::CompareResult;
use crate::decide::{CaseChange, Comparison};
use crate::report::compared::{
    behind, certainty, mean_of_broke, moved_cases, sentence, short_names, side_line, side_name, told,
};
use crate::report::paint::Paint;
use crate::report::rate;
use crate::results::compared::ComparisonResults;

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
    figures(&mut html, compared);
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
    page::without_trials(&headline(compared), &html)
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
    answer_line(html, answer_class(compared), &headline(compared));
    for line in behind(compared) {
        let _ = writeln!(html, "<p class=\"answer\">{}</p>", markup::text(&capital(&line)));
    }
}

pub(super) fn answer_line(html: &mut String, class: &str, answer: &str) {
    let _ = writeln!(html, "<h1 class=\"{class}\">{}</h1>", markup::text(answer));
}

/// The answer of a comparison in a sentence.
pub(super) fn headline(compared: &ComparisonResults) -> String {
    capital(&sentence(compared, Paint::Plain))
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

pub(super) fn figures(html: &mut String, compared: &ComparisonResults) {
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
         <th scope=\"col\"></th></tr></thead><tbody>",
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
