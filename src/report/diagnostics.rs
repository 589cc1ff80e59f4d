//! Diagnostics drawn as rustc draws its errors.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Severity};
use crate::lint;

/// `diagnostics`, errors first, else in the order given, each with its line and mark; then a line that counts them.
/// Empty for none. `color` adds ANSI escapes.
#[must_use]
pub fn render(diagnostics: &[Diagnostic], color: bool) -> String {
    let mut text = String::new();
    let (errors, warnings): (Vec<_>, Vec<_>) = diagnostics.iter().partition(|diagnostic| diagnostic.is_error());
    for diagnostic in errors.into_iter().chain(warnings) {
        text.push_str(&draw(diagnostic, color));
        text.push_str("\n\n");
    }
    if !diagnostics.is_empty() {
        text.push_str(&counts(diagnostics));
        text.push('\n');
    }
    text
}

/// "3 errors, 1 warning".
#[must_use]
pub fn counts(diagnostics: &[Diagnostic]) -> String {
    let (errors, warnings) = lint::count(diagnostics);
    let part = |count: usize, word: &str| match count {
        0 => None,
        1 => Some(format!("1 {word}")),
        _ => Some(format!("{count} {word}s")),
    };
    let parts: Vec<String> = [part(errors, "error"), part(warnings, "warning")].into_iter().flatten().collect();
    if parts.is_empty() { "no problems".to_owned() } else { parts.join(", ") }
}

fn draw(diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let place = &diagnostic.place;
    let mut origin = Origin::path(place.path.display().to_string());
    if place.line > 0 {
        // The excerpt may be cut at its start: the column is the place's, not the one drawn.
        origin = origin.line(place.line).char_column(place.column);
    }
    let mut group: Group<'_> = level.primary_title(&diagnostic.message).id(diagnostic.code.as_str()).element(origin);
    if let Some(excerpt) = &place.excerpt {
        let mark = AnnotationKind::Primary.span(excerpt.mark.clone());
        group = group.element(Snippet::source(&excerpt.text).line_start(place.line).annotation(mark));
    }
    let mut groups = vec![group];
    if let Some(help) = &diagnostic.help {
        groups.push(Group::with_title(Level::HELP.secondary_title(help)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&groups)
}
