//! A trial for the terminal: the checks that did not pass with their evidence, then the session.

use std::fmt::Write;
use std::path::Path;

use crate::paint::{Paint, Tone};
use crate::results::timeline::{CheckFinding, EventKind, EventPart, TextPiece, Timeline};
use crate::session::{self, clock, figures};
use crate::text::escape;
use crate::trial::evidence::Meta;
use crate::trial::outcome::{Grade, Status};
use crate::trial_text::{about, calls_of_mocks, network, score, scripted};

/// The most lines of an event's text that are shown whole: from a longer text, the first and the last lines.
const MAX_LINES: usize = 40;

/// How many lines of a longer text are shown, of its beginning and its end.
const FIRST_LINES: usize = 20;
const LAST_LINES: usize = 4;

/// The most pieces of evidence that are quoted for a check. The session marks them all.
const MAX_PIECES: usize = 3;

/// The most characters that are quoted before a piece, and after it; twice as many of the piece itself.
const AROUND: usize = 60;

#[derive(Clone, Copy, Debug)]
pub struct ShownTrial<'a> {
    pub meta: &'a Meta,
    pub grade: &'a Grade,
    pub timeline: &'a Timeline,
    /// What has changed since its recording.
    pub stale: &'a [String],
    /// The file and line of its case, if it still exists.
    pub case: Option<(&'a Path, usize)>,
    /// Its directory, as a reader would write it.
    pub folder: &'a Path,
    /// Whether long texts are shown whole.
    pub is_whole: bool,
}

pub fn show(trial: &ShownTrial<'_>, paint: Paint) -> String {
    let mut text = String::new();
    head(&mut text, trial, paint);
    checks(&mut text, trial, paint);
    for at in 0..trial.timeline.entries.len() {
        event(&mut text, trial, at, paint);
    }
    if let Some(left_out) = session::left_out(&trial.timeline.entries, trial.timeline.dropped) {
        let _ = writeln!(text, "\n{}", paint.on(Tone::Faint, &left_out));
    }
    text
}

fn head(text: &mut String, trial: &ShownTrial<'_>, paint: Paint) {
    let ShownTrial { meta, grade, .. } = trial;
    let name = paint.on(Tone::Strong, &escape::line(&meta.id().to_string()));
    let _ = writeln!(text, "{name}: {}", paint.on(grade.verdict.into(), grade.verdict.as_str()));
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "  {label:<12}{}", escape::line(value));
    };
    if let Some(score) = score(grade) {
        line("score", &score);
    }
    if let Some(by) = &meta.scripted {
        line("note", &scripted(by));
    }
    if !trial.stale.is_empty() {
        line("stale", &format!("no replay counts it; changed since: {}", trial.stale.join(", ")));
    }
    if let Some(imported) = &meta.imported {
        line("imported", &imported.told());
    }
    let version = meta.agent.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let model = meta.agent.model.as_deref().unwrap_or("unknown");
    line("agent", &format!("{}{version}, model {model}, skills {}", meta.agent.kind.as_str(), meta.delivery.as_str()));
    if let Some(name) = &meta.skill.in_plugin {
        line("plugin", &format!("the agent got it, with the skill as {name}"));
    }
    let started = if meta.started.is_empty() { "unknown" } else { meta.started.as_str() };
    line("started", &format!("{started}, run {}", meta.run_id));
    for setup in &meta.setup {
        line("setup", &setup.to_string());
    }
    for (name, value) in meta.network.iter().flat_map(network).chain(meta.mocks.iter().flat_map(calls_of_mocks)) {
        line(name, &value);
    }
    for change in &meta.changes {
        line("skills", &change.summary());
    }
    for part in &grade.unsupported {
        line("unsupported", part);
    }
    if let Some((file, at)) = trial.case {
        line("case", &format!("{}:{at}", file.display()));
    }
    line("files", &trial.folder.display().to_string());
    if let Some(trouble) = &grade.trouble {
        let _ = writeln!(text, "\n{}  {}", paint.on(Tone::Broken, "why"), escape::line(&trouble.to_string()));
    }
}

fn checks(text: &mut String, trial: &ShownTrial<'_>, paint: Paint) {
    let ShownTrial { grade, timeline, .. } = trial;
    let mut passed = Vec::new();
    for (name, check) in grade.named_checks() {
        let (word, tone) = match check.status {
            Status::Fail => ("failed", Tone::Bad),
            Status::Unknown => ("unknown", Tone::Broken),
            Status::Pass => {
                passed.push(escape::line(&name));
                continue;
            }
        };
        let (name, about) = (escape::line(&name), about(check));
        let _ = writeln!(text, "\n{}  {name} ({about})", paint.on(tone, word));
        let _ = writeln!(text, "  expected  {}", escape::line(&check.expected));
        let _ = writeln!(text, "  found     {}", escape::line(&check.found));
        let at = grade.checks.iter().position(|known| std::ptr::eq(known, check));
        if let Some(finding) = at.and_then(|at| timeline.findings.get(at)) {
            evidence(text, timeline, finding, paint);
        }
    }
    if !passed.is_empty() {
        let _ = writeln!(text, "\n{}  {}", paint.on(Tone::Good, "passed"), passed.join(", "));
    }
}

/// The events that decided a check, with their pieces of text.
fn evidence(text: &mut String, timeline: &Timeline, finding: &CheckFinding, paint: Paint) {
    if finding.pieces.is_empty() {
        if let Some((at, event)) = finding.entry.and_then(|at| Some((at, timeline.entries.get(at)?))) {
            let _ = writeln!(text, "  see       {}  {}", at + 1, session::title(event, escape::line));
        }
        return;
    }
    for piece in finding.pieces.iter().take(MAX_PIECES) {
        if let Some(quoted) = quoted(timeline, piece, paint) {
            let _ = writeln!(text, "  see       {}  {quoted}", piece.entry + 1);
        }
    }
    let more = finding.pieces.len().saturating_sub(MAX_PIECES);
    if more > 0 {
        let _ = writeln!(text, "            and {more} more places, marked below");
    }
}

/// The first line of a piece, with the text around it on that line.
fn quoted(timeline: &Timeline, piece: &TextPiece, paint: Paint) -> Option<String> {
    let whole = timeline.text_of(piece)?;
    let (before, hit, after) =
        (whole.get(..piece.bytes.start)?, whole.get(piece.bytes.clone())?, whole.get(piece.bytes.end..)?);
    let before = before.rsplit('\n').next().unwrap_or_default();
    let skipped = before.chars().count().saturating_sub(AROUND);
    let before: String = before.chars().skip(skipped).collect();
    let quoted: String = hit.lines().next().unwrap_or_default().chars().take(2 * AROUND).collect();
    let start = if skipped > 0 { "…" } else { "" };
    let (after, end) = if quoted.len() == hit.len() {
        (after.lines().next().unwrap_or_default().chars().take(AROUND).collect(), "")
    } else {
        (String::new(), "…")
    };
    let quoted = paint.on(Tone::Mark, &escape::line(&quoted));
    Some(format!("{start}{}{quoted}{}{end}", escape::line(&before), escape::line(&after)))
}

fn event(text: &mut String, trial: &ShownTrial<'_>, at: usize, paint: Paint) {
    let event = &trial.timeline.entries[at];
    let indent = "  ".repeat(event.depth as usize);
    let time = clock(event).map(|time| format!("  {}", paint.on(Tone::Faint, &escape::line(time)))).unwrap_or_default();
    let title = paint.on(title_tone(&event.what), &session::title(event, escape::line));
    let figures = match figures(event) {
        figures if figures.is_empty() => figures,
        figures => format!("  {}", paint.on(Tone::Faint, &format!("({figures})"))),
    };
    let _ = writeln!(text, "\n{indent}{:>3}{time}  {title}{figures}", at + 1);
    for mark in &event.marks {
        let _ = writeln!(text, "{indent}     {}", paint.on(Tone::Open, &session::note(mark, escape::line)));
    }
    for (part, whole) in event.what.texts() {
        // Names and paths are in the title.
        if matches!(part, EventPart::Name | EventPart::Path(_)) {
            continue;
        }
        let prompt =
            if matches!((&event.what, part), (EventKind::Command { .. }, EventPart::Input)) { "$ " } else { "" };
        let pieces = trial.timeline.pieces_of(at).filter(|piece| piece.part == part);
        let marked = marked(&session::shown(&event.what, whole), pieces, paint);
        let lines: Vec<&str> = marked.trim_end().lines().collect();
        let is_read = matches!(event.what, EventKind::Prompt { .. } | EventKind::Said { answer: true, .. });
        let folded = if trial.is_whole || is_read { 0 } else { folded_lines(lines.len()) };
        for (number, line) in lines.iter().enumerate() {
            let after = lines.len() - number;
            if after > LAST_LINES && after <= LAST_LINES + folded {
                if after == LAST_LINES + 1 {
                    let note = format!("… {folded} lines folded; --verbose shows them");
                    let _ = writeln!(text, "{indent}     {}", paint.on(Tone::Faint, &note));
                }
                continue;
            }
            let _ = writeln!(text, "{indent}     {prompt}{line}");
        }
    }
}

/// The number of lines that are folded, before the last ones.
fn folded_lines(lines: usize) -> usize {
    if lines > MAX_LINES { lines - FIRST_LINES - LAST_LINES } else { 0 }
}

fn title_tone(what: &EventKind) -> Tone {
    match what {
        EventKind::Tool { failed: true, .. } => Tone::Bad,
        EventKind::Command { exit, .. } if *exit != Some(0) => Tone::Bad,
        EventKind::Thought { .. } => Tone::Faint,
        _ => Tone::Strong,
    }
}

/// A text made safe to show, with the pieces that decided a check marked.
fn marked<'a>(whole: &str, pieces: impl Iterator<Item = &'a TextPiece>, paint: Paint) -> String {
    let mut pieces: Vec<_> = pieces.map(|piece| piece.bytes.clone()).collect();
    pieces.sort_by_key(|piece| (piece.start, piece.end));
    let (mut text, mut at) = (String::new(), 0);
    for piece in pieces {
        let from = piece.start.max(at);
        let (Some(before), Some(hit)) = (whole.get(at..from), whole.get(from..piece.end)) else { continue };
        text.push_str(&escape::block(before));
        // A pager ends colors at the end of a line.
        let lines: Vec<String> = escape::block(hit).split('\n').map(|line| paint.on(Tone::Mark, line)).collect();
        text.push_str(&lines.join("\n"));
        at = piece.end;
    }
    text.push_str(&escape::block(whole.get(at..).unwrap_or_default()));
    text
}
