//! A trial as a log to read, `session.md`: what was asked, what the agent did and when, what it came to.

use std::fmt::Write;

use crate::report::trial::{goal, scripted};
use crate::settings::Isolation;
use crate::text::cut;
use crate::text::safe;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{Grade, Metrics, Status};
use crate::trial::trace::{Activation, Step};

/// Most bytes of one text.
const MAX_TEXT: usize = 1_500;

/// The log.
#[must_use]
pub fn session(evidence: &Evidence<'_>, grade: &Grade) -> String {
    let mut text = String::new();
    head(&mut text, evidence, grade);
    steps(&mut text, evidence);
    if let Some(answer) = evidence.final_text {
        section(&mut text, "Answer");
        quote(&mut text, answer);
    }
    evaluation(&mut text, grade);
    metrics(&mut text, &grade.metrics);
    text
}

// Writing to a string cannot fail, here and below.
fn head(text: &mut String, evidence: &Evidence<'_>, grade: &Grade) {
    let meta = evidence.meta;
    let _ = writeln!(text, "# {}: {}", meta.id(), grade.verdict);
    if let Some(by) = &meta.scripted {
        let _ = writeln!(text, "\n> **Scripted**: {}.", safe::markdown(&scripted(by)));
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
    for open in &meta.not_enforced {
        let _ = writeln!(text, "- not enforced: {}", safe::markdown(open));
    }
    section(text, "Prompt");
    quote(text, &meta.case.prompt);
    if let Some(prompt) = &meta.case.system_prompt {
        section(text, "System prompt");
        quote(text, prompt);
    }
}

fn steps(text: &mut String, evidence: &Evidence<'_>) {
    let trace = evidence.trace;
    section(text, "What happened");
    if trace.steps.is_empty() {
        text.push_str("\nNothing.\n");
    }
    for (index, step) in trace.steps.iter().enumerate() {
        let time = trace.moments.get(index).and_then(|moment| clock(moment.ended.as_deref()?));
        let time = time.map_or_else(String::new, |time| format!("{} ", safe::markdown(time)));
        let number = index + 1;
        match step {
            Step::Message(said) => {
                let _ = writeln!(text, "\n{number}. {time}said");
                quote(text, said);
            }
            Step::Thinking(thought) => {
                let _ = writeln!(text, "\n{number}. {time}thought");
                quote(text, thought);
            }
            Step::Command { command, exit_code, output } => {
                let code = exit_code.map_or_else(|| "no exit status".to_owned(), |code| format!("exit status {code}"));
                let _ = writeln!(text, "\n{number}. {time}ran a command ({code})");
                fence(text, command);
                fence(text, output);
            }
            Step::Tool { name, input, output, failed } => {
                let how = if *failed { ", which failed" } else { "" };
                let _ = writeln!(text, "\n{number}. {time}called {}{how}", safe::code(name));
                fence(text, input);
                fence(text, output);
            }
            Step::FileChange(paths) => {
                let _ = writeln!(text, "\n{number}. {time}wrote {}", list(paths.iter().map(|path| safe::code(path))));
            }
            Step::Notice(said) => {
                let _ = writeln!(text, "\n{number}. {time}notice");
                quote(text, said);
            }
        }
    }
    if trace.steps_dropped > 0 {
        let _ = writeln!(text, "\n… and {} steps more.", trace.steps_dropped);
    }
}

fn evaluation(text: &mut String, grade: &Grade) {
    section(text, "Evaluation");
    if let Some(trouble) = &grade.trouble {
        let _ = writeln!(text, "\nNothing was measured: {}", safe::markdown(&trouble.to_string()));
    }
    if !grade.checks.is_empty() {
        text.push_str("\n| check | goal | status | expected | found |\n| --- | --- | --- | --- | --- |\n");
    }
    for check in &grade.checks {
        let status = match check.status {
            Status::Pass => "pass",
            Status::Fail => "**fail**",
            Status::Unknown => "unknown",
        };
        let (expected, found) = (cell(&check.expected), cell(&check.evidence));
        let _ = writeln!(text, "| {} | {} | {status} | {expected} | {found} |", cell(&check.id), goal(check.goal));
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
    let skill = |found: &Activation| format!("{} by {}", safe::code(&found.skill), found.how.as_str());
    line("skills activated", list(metrics.activations.iter().map(skill)));
    line(
        "resources loaded",
        list(metrics.resources.iter().map(|found| safe::code(&format!("{}/{}", found.skill, found.path)))),
    );
    line("looks at skill files without activating", metrics.explorations.len().to_string());
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

/// `21:04:46.559` of an RFC 3339 time.
fn clock(time: &str) -> Option<&str> {
    Some(time.split_once('T')?.1.trim_end_matches('Z'))
}

fn shortened(text: &str) -> String {
    match cut::bytes(text, MAX_TEXT) {
        (_, 0) => text.to_owned(),
        (kept, missing) => format!("{kept}\n… ({missing} bytes more)"),
    }
}

/// A text that may hold anything, as a quotation.
fn quote(text: &mut String, quoted: &str) {
    text.push('\n');
    for line in safe::block(&shortened(quoted)).lines() {
        let _ = writeln!(text, "> {line}");
    }
}

/// Output, in a fence longer than any within.
fn fence(text: &mut String, output: &str) {
    if output.trim().is_empty() {
        return;
    }
    let output = safe::block(&shortened(output.trim_end()));
    let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}text\n{output}\n{fence}\n");
}

/// A text as a cell of a table.
fn cell(value: &str) -> String {
    safe::markdown(value)
}
