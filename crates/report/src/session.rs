//! The log of a trial, `session.md`: the prompt, the agent's events, the answer, the evaluation and the metrics.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use crate::results::timeline::{EventKind, EventPart, Note, Timeline, TimelineEvent};
use crate::store::META;
use crate::text::{cut, escape};
use crate::trace::MAX_TEXT;
use crate::trial::evidence::Meta;
use crate::trial::outcome::{Grade, Metrics, Status, numbered};
use crate::trial_text::{facts, scripted, show_command};

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

fn head(text: &mut String, meta: &Meta, grade: &Grade) {
    let _ = writeln!(text, "# {}: {}", meta.id(), grade.verdict);
    if let Some(by) = &meta.scripted {
        let _ = writeln!(text, "\n> **Note**: {}.", escape::markdown(&scripted(by)));
    }
    if let Some(imported) = &meta.imported {
        let _ = writeln!(text, "\n> **Imported**: {}.", escape::markdown(&imported.told()));
    }
    text.push('\n');
    for (name, value) in facts(meta, grade) {
        let _ = writeln!(text, "- {name}: {}", escape::markdown(&value));
    }
    if !meta.refused_before.is_none() {
        let _ = writeln!(text, "- {}", meta.refused_before);
    }
    let _ = writeln!(text, "- in a terminal: {}", escape::code(&show_command(&meta.id(), Some(&meta.run_id))));
}

fn steps(text: &mut String, timeline: &Timeline) {
    section(text, "What happened");
    let prompt = timeline.entries.iter().position(|event| matches!(event.what, EventKind::Prompt { .. }));
    for (at, event) in timeline.entries.iter().enumerate() {
        // The first prompts have sections of their own.
        if Some(at) == prompt || matches!(event.what, EventKind::System { .. }) {
            continue;
        }
        let time = clock(event).map_or_else(String::new, |time| format!("{} ", escape::markdown(time)));
        let title = title(event, escape::code);
        let figures = match figures(event) {
            figures if figures.is_empty() => figures,
            figures => format!(" ({figures})"),
        };
        let _ = writeln!(text, "\n{}. {time}{title}{figures}", at + 1);
        for mark in &event.marks {
            let _ = writeln!(text, "\n*{}*", note(mark, escape::code));
        }
        for (part, whole) in event.what.texts() {
            match (&event.what, part) {
                // The answer has a section of its own. Names and paths are in the title.
                (EventKind::Said { answer: true, .. }, _) | (_, EventPart::Name | EventPart::Path(_)) => {}
                (EventKind::Command { .. } | EventKind::Tool { .. }, _) => {
                    fence(text, &shown(&event.what, whole));
                }
                _ => quote(text, &shown(&event.what, whole)),
            }
        }
    }
    if let Some(left_out) = left_out(&timeline.entries, timeline.dropped) {
        let _ = writeln!(text, "\n{}.", escape::markdown(&left_out));
    }
}

fn sections(text: &mut String, timeline: &Timeline, title: impl Fn(&EventKind) -> Option<&'static str>) {
    for event in &timeline.entries {
        let Some(title) = title(&event.what) else { continue };
        section(text, title);
        for (_, whole) in event.what.texts() {
            quote(text, &shown(&event.what, whole));
        }
    }
}

fn evaluation(text: &mut String, grade: &Grade, timeline: &Timeline) {
    section(text, "Evaluation");
    if let Some(trouble) = &grade.trouble {
        let _ = writeln!(text, "\nNothing was measured: {}", escape::markdown(&trouble.to_string()));
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
        let event = timeline.findings.get(at).and_then(|finding| finding.entry);
        let event = event.map(|place| (place + 1).to_string()).unwrap_or_default();
        let [name, expected, found] = [name, &check.expected, &check.found].map(|cell| escape::markdown(cell));
        let _ = writeln!(text, "| {name} | {} | {status} | {expected} | {found} | {event} |", check.goal);
    }
}

fn metrics(text: &mut String, metrics: &Metrics) {
    section(text, "Metrics");
    text.push('\n');
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "- {name}: {value}");
    };
    let least = if metrics.settled { "≥ " } else { "" };
    if metrics.settled {
        line("ended early", "the verdict was settled; the figures are lower bounds (≥)".to_owned());
    }
    line("duration", format!("{least}{} ms", metrics.duration_ms));
    if let Some(waited) = metrics.api_duration_ms {
        line("waiting for the model", format!("{waited} ms"));
    }
    if let Some(turns) = metrics.turns {
        line("turns", turns.to_string());
    }
    line("commands", format!("{least}{}, {} of them effective", metrics.commands, metrics.effective_commands));
    if let Some(usage) = metrics.usage.as_ref().or(metrics.usage_at_least.as_ref().filter(|_| metrics.settled)) {
        let cached = format!("{} from a cache, {} into one", usage.cached_input_tokens, usage.cache_write_input_tokens);
        line("tokens read", format!("{least}{} ({cached})", usage.input_tokens));
        line("tokens written", format!("{least}{} ({} reasoning)", usage.output_tokens, usage.reasoning_output_tokens));
        if let Some(cost) = usage.cost_usd {
            line("cost", format!("{least}${cost:.4}"));
        }
    }
    if let Some(first) = metrics.first_input_tokens {
        line("tokens of the first request", first.to_string());
    }
    if let Some(described) = metrics.described {
        line("description before the model", described.to_string());
    }
    let skills =
        metrics.activations.iter().map(|skill| format!("{} by {}", escape::code(&skill.skill), skill.how.as_str()));
    line("skills activated", list(skills));
    let resources = metrics.resources.iter().map(|found| escape::code(&format!("{}/{}", found.skill, found.path)));
    line("resources loaded", list(resources));
    line("looks at skills without activating", metrics.inspections.len().to_string());
    line("calls that were not allowed", list(metrics.denials.iter().map(|denial| escape::code(denial))));
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

fn quote(text: &mut String, quoted: &str) {
    text.push('\n');
    for line in escape::block(quoted).lines() {
        let _ = writeln!(text, "> {line}");
    }
}

/// Output in a fence that is longer than any fence in it.
fn fence(text: &mut String, output: &str) {
    if output.trim().is_empty() {
        return;
    }
    let output = escape::block(output.trim_end());
    let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}text\n{output}\n{fence}\n");
}

// The events of a session as text.

/// The most bytes of a text that the trace does not cut: a prompt, or the final message.
const MAX_BYTES: usize = 64 << 10;

/// How a line quotes a name that a user or an agent gave.
pub type NameStyle = fn(&str) -> String;

/// An event in a few words.
pub fn title(event: &TimelineEvent, name: NameStyle) -> String {
    let by = match event.depth {
        0 => String::new(),
        1 => "a sub-agent ".to_owned(),
        depth => format!("a sub-agent (level {depth}) "),
    };
    let what = match &event.what {
        EventKind::System { .. } => "system prompt".to_owned(),
        EventKind::History { role, .. } => format!("history: the {}", role.as_str()),
        EventKind::Prompt { .. } => "prompt".to_owned(),
        EventKind::Offered { native, unseen, mcp } => offered(native, *unseen, mcp, name),
        EventKind::Injected { skill } => format!("put {} into the conversation", name(skill)),
        EventKind::Said { answer: true, .. } => "answered".to_owned(),
        EventKind::Said { .. } => "said".to_owned(),
        EventKind::Thought { .. } => "thought".to_owned(),
        EventKind::Command { exit, .. } => {
            let exit = exit.map_or_else(|| "no exit status".to_owned(), |exit| format!("exit status {exit}"));
            format!("ran a command ({exit})")
        }
        EventKind::Tool { name: tool, failed, .. } => {
            format!("called {}{}", name(tool), if *failed { ", which failed" } else { "" })
        }
        EventKind::Files { paths } => format!("wrote {}", timeline_list(paths, name)),
        EventKind::Notice { .. } => "notice".to_owned(),
        EventKind::End { .. } => "end".to_owned(),
    };
    format!("{by}{what}")
}

fn offered(native: &[String], unseen: bool, mcp: &[String], name: NameStyle) -> String {
    if unseen {
        return format!("does not show what its model is offered; it has the skills: {}", timeline_list(native, name));
    }
    let mut parts = Vec::new();
    if !native.is_empty() || mcp.is_empty() {
        parts.push(format!("skills: {}", timeline_list(native, name)));
    }
    if !mcp.is_empty() {
        parts.push(format!("tools of MCP servers: {}", timeline_list(mcp, name)));
    }
    format!("was offered {}", parts.join("; "))
}

fn timeline_list(names: &[String], name: NameStyle) -> String {
    match names {
        [] => "none".to_owned(),
        _ => names.iter().map(|text| name(text)).collect::<Vec<_>>().join(", "),
    }
}

pub fn note(note: &Note, name: NameStyle) -> String {
    match note {
        Note::Loaded { skill, how, seen, .. } => {
            format!("skill {} loaded by {}{}", name(skill), how.as_str(), seen_part(*seen))
        }
        Note::Resource { skill, path, seen } => {
            format!("resource {} loaded{}", name(&format!("{skill}/{path}")), seen_part(*seen))
        }
        Note::FailedLoad { skill } => format!("skill {} failed to load", name(skill)),
        Note::Looked => "looked at skills without loading one".to_owned(),
        Note::Denied => "the agent did not allow this".to_owned(),
    }
}

fn seen_part(seen: Option<f64>) -> String {
    match seen {
        Some(share) if share < 0.99 => format!(", {:.0} % of it seen", share * 100.0),
        _ => String::new(),
    }
}

/// The time of an event, `21:04:46.559`. The head of the session has the day.
pub fn clock(event: &TimelineEvent) -> Option<&str> {
    let clock = event.time.as_deref()?.split_once('T')?.1.trim_end_matches('Z');
    Some(clock.get(..12).unwrap_or(clock))
}

/// The durations and tokens that the agent reported: `after 1.2 s, took 0.3 s, 1200 tokens read, 30 written`.
pub fn figures(event: &TimelineEvent) -> String {
    let mut parts = Vec::new();
    for (label, duration) in [("after", event.gap_ms), ("took", event.took_ms)] {
        if let Some(ms) = duration.filter(|ms| *ms >= 100) {
            parts.push(format!("{label} {:.1} s", Duration::from_millis(ms).as_secs_f64()));
        }
    }
    if let Some(tokens) = event.tokens {
        parts.push(format!("{} tokens read", tokens.read));
        parts.extend(tokens.written.map(|written| format!("{written} written")));
    }
    parts.join(", ")
}

/// A text of an event as far as it is shown, with the file that has the rest.
pub fn shown<'a>(what: &EventKind, text: &'a str) -> Cow<'a, str> {
    let file = match what {
        given if given.is_given() => META,
        EventKind::Said { answer: true, .. } => "final.txt",
        _ => "trace.jsonl",
    };
    match cut::bytes(text, MAX_BYTES) {
        (_, 0) => Cow::Borrowed(text),
        (kept, missing) => Cow::Owned(format!("{kept}… ({missing} bytes more in {file})")),
    }
}

/// Where to find texts that the trace cut and steps that it dropped; `None` if there are none.
pub fn left_out(events: &[TimelineEvent], dropped: u64) -> Option<String> {
    let mut parts = Vec::new();
    if dropped > 0 {
        parts.push(format!("{dropped} steps more are not shown"));
    }
    if events.iter().flat_map(|event| event.what.texts()).any(|(_, text)| is_cut(text)) {
        parts.push("texts that end in `bytes more)` are cut".to_owned());
    }
    let parts = Some(parts.join("; ")).filter(|parts| !parts.is_empty())?;
    Some(format!("{parts}: all of it is in trace.jsonl and the session files next to it"))
}

fn is_cut(text: &str) -> bool {
    text.len() > MAX_TEXT && text.len() < 2 * MAX_TEXT && text.ends_with(" bytes more)")
}
