//! Diagnostics in the layout of rustc's errors, and what is wrong with checks.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::lint;
use crate::paint::Paint;
use crate::results::verification::{FaultKind, Verification};
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::text::escape;

/// Errors, then warnings, each with its line and mark, then a line with counts. Allowed diagnostics are only counted.
/// Empty if there are none.
pub fn render(diagnostics: &[Diagnostic], paint: Paint) -> String {
    let mut text = String::new();
    for (severity, level) in [(Severity::Error, Level::ERROR), (Severity::Warning, Level::WARNING)] {
        for diagnostic in diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity) {
            text.push_str(&draw(diagnostic, level.clone(), paint));
            text.push_str("\n\n");
        }
    }
    if !diagnostics.is_empty() {
        text.push_str(&counts(diagnostics, "no problems"));
        text.push('\n');
    }
    text
}

/// "3 errors, 1 warning, 2 allowed by evals.toml"; the word for `nothing` in place of errors and warnings if there are none.
pub fn counts(diagnostics: &[Diagnostic], nothing: &str) -> String {
    let mut parts = Vec::new();
    for (severity, word) in [(Severity::Error, "error"), (Severity::Warning, "warning")] {
        let count = lint::count(diagnostics, severity);
        if count > 0 {
            parts.push(counted(count, word));
        }
    }
    if parts.is_empty() {
        parts.push(nothing.to_owned());
    }
    let allowed = lint::count(diagnostics, Severity::Allowed);
    if allowed > 0 {
        parts.push(format!("{allowed} allowed by evals.toml"));
    }
    parts.join(", ")
}

/// A line for each rule that the settings allow to be broken: how often it is broken, and the reason.
pub fn allowed(diagnostics: &[Diagnostic]) -> String {
    let mut rules: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for problem in diagnostics.iter().filter(|problem| problem.severity == Severity::Allowed) {
        let reason = problem.reason.as_deref().unwrap_or_default();
        rules.entry(problem.code.as_str()).or_insert((0, reason)).0 += 1 + problem.more;
    }
    let mut text = String::new();
    for (rule, (count, why)) in rules {
        let _ = writeln!(text, "allowed {count}× {rule}: {}", escape::line(why));
    }
    text
}

/// "1 case", "2 cases".
pub fn counted<N: Copy + Display + PartialEq + From<bool>>(count: N, word: &str) -> String {
    format!("{count} {word}{}", if count == N::from(true) { "" } else { "s" })
}

fn draw(diagnostic: &Diagnostic, level: Level<'_>, paint: Paint) -> String {
    let place = &diagnostic.place;
    let path = escape::line(&place.path.display().to_string());
    let message = escape::line(&diagnostic.message);
    let help = diagnostic.help.as_deref().map(escape::block);
    let title = level.primary_title(&message).id(diagnostic.code.as_str());
    let group = match &place.excerpt {
        Some(excerpt) => {
            let mark = AnnotationKind::Primary.span(excerpt.mark.clone());
            title.element(Snippet::source(&excerpt.text).path(&path).line_start(place.line).annotation(mark))
        }
        None if place.line > 0 => title.element(Origin::path(&path).line(place.line).char_column(place.column)),
        None => title.element(Origin::path(&path)),
    };
    let mut groups = vec![group];
    if let Some(help) = &help {
        groups.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    let more = format!("{} more `{}` are not shown", diagnostic.more, diagnostic.code);
    if diagnostic.more > 0 {
        groups.push(Group::with_title(Level::NOTE.secondary_title(&more)));
    }
    let renderer = if paint == Paint::Color { Renderer::styled() } else { Renderer::plain() };
    let drawn = renderer.render(&groups);
    // The renderer counts the columns of an excerpt from its start, which may not be the start of the line.
    let Some(before) = place.excerpt.as_ref().and_then(|excerpt| excerpt.text.get(..excerpt.mark.start)) else {
        return drawn;
    };
    let [drawn_position, position] =
        [before.chars().count() + 1, place.column].map(|column| format!("{path}:{}:{column}", place.line));
    drawn.replacen(&drawn_position, &position, 1)
}

/// The result of checking checks.
pub fn verification(verification: &Verification) -> String {
    let Verification { cases, checks, solutions, unreadable, faults, not_enforced } = verification;
    let mut text = String::new();
    for fault in faults {
        let [title, place, found] =
            [&fault.to_string(), &fault.place.to_string(), &fault.found].map(|line| escape::line(line));
        let _ = writeln!(text, "{title}\n  {place}\n  {found}\n  help: {}\n", escape::line(&fault.help));
    }
    for case in unreadable {
        let _ = writeln!(text, "{} cannot be read: `skill-evals lint` says why", escape::line(case));
    }
    for open in not_enforced {
        let _ = writeln!(text, "not enforced: {}", escape::line(open));
    }
    let count = |kind| faults.iter().filter(|fault| fault.kind == kind).count();
    let unusable = match count(FaultKind::Unusable) {
        0 => String::new(),
        unusable => format!(", {unusable} unusable"),
    };
    let _ = writeln!(
        text,
        "{} of {} run, {}: {} proving nothing,\n{} wrong, {} without a result, {} never decided{unusable}",
        counted(*checks, "check"),
        counted(*cases, "case"),
        counted(*solutions, "reference solution"),
        count(FaultKind::ProvesNothing),
        count(FaultKind::Wrong),
        count(FaultKind::NoResult),
        count(FaultKind::NeverDecided),
    );
    text
}
