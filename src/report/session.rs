//! A trial as a log to read, `session.md`: what was asked, what the agent did and when, what it came to.

use std::fmt::Write;

use crate::report::timeline::{self as words, clock, figures};
use crate::report::trial::{goal, scripted, show_command};
use crate::results::timeline::{EventKind, EventPart, Timeline};
use crate::settings::Isolation;
use crate::text::safe;
use crate::trace::Activation;
use crate::trial::evidence::Meta;
use crate::trial::outcome::{Grade, Metrics, Status, numbered};

/// The log.
#[must_use]
pub fn session(meta: &Meta, grade: &Grade, timeline: &Timeline) -> String {
    let mut text = String::new();
    head(&mut text, meta, grade);
    sections(&mut text, timeline, |what| match what {
        EventKind::Prompt { .. } => Some("Prompt"),
        EventKind::System { .. } => Some("System prompt"),
        _ => None,
    });
    steps(&mut text, timeline);
    sections(&mut text, timeline, |what| matches!(what, EventKind::Said { answer: true, .. }).then_some("Answer"));
    evaluation(&mut text, grade, timeline);
    metrics(&mut text, &grade.metrics);
    text
}

// Writing to a string cannot fail, here and below.
fn head(text: &mut String, meta: &Meta, grade: &Grade) {
    let _ = writeln!(text, "# {}: {}", meta.id(), grade.verdict);
    if let Some(by) = &meta.scripted {
        let _ = writeln!(text, "\n> **Scripted**: {}.", safe::markdown(&scripted(by)));
    }
    if let Some(imported) = &meta.imported {
        let _ = writeln!(text, "\n> **Imported**: {}.", safe::markdown(&imported.told()));
    }
    text.push('\n');
    let agent = format!("{} {}", meta.agent.kind.as_str(), meta.agent.version.as_deref().unwrap_or_default());
    let facts = [
        ("agent", agent.trim_end()),
        ("model", meta.agent.model.as_deref().unwrap_or("unknown")),
        ("skills", meta.delivery.as_str()),
        ("sandbox", meta.case.sandbox.as_str()),
        ("isolation", meta.isolation.map_or("not recorded", Isolation::as_str)),
        ("started", &meta.started),
        ("run", &meta.run_id),
    ];
    for (name, value) in facts {
        let _ = writeln!(text, "- {name}: {}", safe::markdown(value));
    }
    if !meta.refused_before.is_none() {
        let _ = writeln!(text, "- {}", meta.refused_before);
    }
    for change in &meta.changes {
        let _ = writeln!(text, "- during the session: {}", safe::markdown(&change.summary()));
    }
    for open in &meta.not_enforced {
        let _ = writeln!(text, "- not enforced: {}", safe::markdown(open));
    }
    let _ = writeln!(text, "- in a terminal: {}", safe::code(&show_command(&meta.id(), Some(&meta.run_id))));
}

fn steps(text: &mut String, timeline: &Timeline) {
    section(text, "What happened");
    for (at, entry) in timeline.entries.iter().enumerate() {
        // What was asked has a section of its own.
        if matches!(entry.what, EventKind::Prompt { .. } | EventKind::System { .. }) {
            continue;
        }
        let time = clock(entry).map_or_else(String::new, |time| format!("{} ", safe::markdown(time)));
        let title = words::title(entry, safe::code);
        let figures = match figures(entry) {
            figures if figures.is_empty() => figures,
            figures => format!(" ({figures})"),
        };
        let _ = writeln!(text, "\n{}. {time}{title}{figures}", at + 1);
        for mark in &entry.marks {
            let _ = writeln!(text, "\n*{}*", words::note(mark, safe::code));
        }
        for (part, whole) in entry.what.texts() {
            match (&entry.what, part) {
                // So has the answer; names and paths stand in the title.
                (EventKind::Said { answer: true, .. }, _) | (_, EventPart::Name | EventPart::Path(_)) => {}
                (EventKind::Command { .. } | EventKind::Tool { .. }, _) => {
                    fence(text, &words::shown(&entry.what, whole));
                }
                _ => quote(text, &words::shown(&entry.what, whole)),
            }
        }
    }
    if let Some(left_out) = words::left_out(&timeline.entries, timeline.dropped) {
        let _ = writeln!(text, "\n{}.", safe::markdown(&left_out));
    }
}

/// The text of the entry that is the answer, or the prompts, in a section of its own.
fn sections(text: &mut String, timeline: &Timeline, title: impl Fn(&EventKind) -> Option<&'static str>) {
    for entry in &timeline.entries {
        let Some(title) = title(&entry.what) else { continue };
        section(text, title);
        for (_, whole) in entry.what.texts() {
            quote(text, &words::shown(&entry.what, whole));
        }
    }
}

fn evaluation(text: &mut String, grade: &Grade, timeline: &Timeline) {
    section(text, "Evaluation");
    if let Some(trouble) = &grade.trouble {
        let _ = writeln!(text, "\nNothing was measured: {}", safe::markdown(&trouble.to_string()));
    }
    if !grade.checks.is_empty() {
        text.push_str("\n| check | goal | status | expected | found | see |\n| --- | --- | --- | --- | --- | ---: |\n");
    }
    let ids: Vec<&str> = grade.checks.iter().map(|check| check.id.as_str()).collect();
    for (at, (name, check)) in numbered(&ids).iter().zip(&grade.checks).enumerate() {
        let status = match check.status {
            Status::Pass => "pass",
            Status::Fail => "**fail**",
            Status::Unknown => "unknown",
        };
        let seen = timeline.findings.get(at).and_then(|finding| finding.entry);
        let seen = seen.map(|entry| (entry + 1).to_string()).unwrap_or_default();
        let (expected, found) = (cell(&check.expected), cell(&check.found));
        let _ = writeln!(text, "| {} | {} | {status} | {expected} | {found} | {seen} |", cell(name), goal(check.goal));
    }
}

fn metrics(text: &mut String, metrics: &Metrics) {
    section(text, "Metrics");
    text.push('\n');
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "- {name}: {value}");
    };
    line("duration", format!("{} ms", metrics.duration_ms));
    if let Some(waited) = metrics.api_duration_ms {
        line("waiting for the model", format!("{waited} ms"));
    }
    if let Some(turns) = metrics.turns {
        line("turns", turns.to_string());
    }
    line("commands", format!("{}, {} of them effective", metrics.commands, metrics.effective_commands));
    if let Some(usage) = &metrics.usage {
        let cached = format!("{} from a cache, {} into one", usage.cached_input_tokens, usage.cache_write_input_tokens);
        line("tokens read", format!("{} ({cached})", usage.input_tokens));
        line("tokens written", format!("{} ({} reasoning)", usage.output_tokens, usage.reasoning_output_tokens));
        if let Some(cost) = usage.cost_usd {
            line("cost", format!("${cost:.4}"));
        }
    }
    if let Some(first) = metrics.first_input_tokens {
        line("tokens of the first request", first.to_string());
    }
    if let Some(described) = metrics.described {
        line("description before the model", described.to_string());
    }
    let skill = |found: &Activation| format!("{} by {}", safe::code(&found.skill), found.how.as_str());
    line("skills activated", list(metrics.activations.iter().map(skill)));
    line(
        "resources loaded",
        list(metrics.resources.iter().map(|found| safe::code(&format!("{}/{}", found.skill, found.path)))),
    );
    line("looks at skills without activating", metrics.inspections.len().to_string());
    line("calls that were not allowed", list(metrics.denials.iter().map(|denial| safe::code(denial))));
    if metrics.unknown_events + metrics.damaged_lines > 0 {
        line("events not understood", format!("{}, {} damaged lines", metrics.unknown_events, metrics.damaged_lines));
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn section(text: &mut String, title: &str) {
    let _ = writeln!(text, "\n## {title}");
}

/// A text that may hold anything, as a quotation.
fn quote(text: &mut String, quoted: &str) {
    text.push('\n');
    for line in safe::block(quoted).lines() {
        let _ = writeln!(text, "> {line}");
    }
}

/// Output, in a fence longer than any within.
fn fence(text: &mut String, output: &str) {
    if output.trim().is_empty() {
        return;
    }
    let output = safe::block(output.trim_end());
    let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}text\n{output}\n{fence}\n");
}

/// A text as a cell of a table.
fn cell(value: &str) -> String {
    safe::markdown(value)
}
