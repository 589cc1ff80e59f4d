//! A trial for a reader at a terminal: what did not pass and the evidence for it, then the session from its beginning.

use std::fmt::Write;
use std::path::Path;

use crate::report::paint::{Paint, Tone};
use crate::report::timeline::{self as words, clock, figures};
use crate::report::trial::{goal, scripted};
use crate::results::timeline::{CheckFinding, EventKind, EventPart, TextPiece, Timeline, TimelineEvent};
use crate::text::safe;
use crate::trial::evidence::Meta;
use crate::trial::outcome::{CheckResult, Grade, Status};

/// Most pieces of evidence that are quoted for a check; the session marks them all.
const MOST_PIECES: usize = 3;

/// Most characters before and behind such a piece, and of it.
const AROUND: usize = 60;

/// A trial.
#[derive(Clone, Copy, Debug)]
pub struct ShownTrial<'a> {
    /// The facts.
    pub meta: &'a Meta,
    /// What it came to.
    pub grade: &'a Grade,
    /// What happened.
    pub timeline: &'a Timeline,
    /// Where its case is written down, where it still is.
    pub case: Option<(&'a Path, usize)>,
    /// Its folder, as a reader would name it.
    pub folder: &'a Path,
}

/// The text.
#[must_use]
pub fn show(shown: &ShownTrial<'_>, paint: Paint) -> String {
    let mut text = String::new();
    head(&mut text, shown, paint);
    checks(&mut text, shown, paint);
    for (at, entry) in shown.timeline.entries.iter().enumerate() {
        self::entry(&mut text, shown.timeline, at, entry, paint);
    }
    if let Some(left_out) = words::left_out(&shown.timeline.entries, shown.timeline.dropped) {
        let _ = writeln!(text, "\n{}", paint.on(Tone::Faint, &left_out));
    }
    text
}

// Writing to a string cannot fail, here and below.
fn head(text: &mut String, shown: &ShownTrial<'_>, paint: Paint) {
    let ShownTrial { meta, grade, .. } = shown;
    let name = paint.on(Tone::Strong, &safe::line(&meta.id().to_string()));
    let _ = writeln!(text, "{name}: {}", paint.on(grade.verdict.into(), grade.verdict.as_str()));
    let mut line = |label: &str, value: &str| {
        let _ = writeln!(text, "  {label:<12}{}", safe::line(value));
    };
    if let Some(by) = &meta.scripted {
        line("note", &scripted(by));
    }
    if let Some(imported) = &meta.imported {
        line("imported", &imported.told());
    }
    let version = meta.agent.version.as_deref().unwrap_or_default();
    let model = meta.agent.model.as_deref().unwrap_or("unknown");
    line("agent", &format!("{} {version}, model {model}, skills {}", meta.agent.kind.as_str(), meta.delivery.as_str()));
    let started = if meta.started.is_empty() { "unknown" } else { meta.started.as_str() };
    line("started", &format!("{started}, run {}", meta.run_id));
    for change in &meta.changes {
        line("skills", &change.summary());
    }
    if let Some((file, at)) = shown.case {
        line("case", &format!("{}:{at}", file.display()));
    }
    line("files", &shown.folder.display().to_string());
    if let Some(trouble) = &grade.trouble {
        let _ = writeln!(text, "\n{}  {}", paint.on(Tone::Broken, "why"), safe::line(&trouble.to_string()));
    }
}

fn checks(text: &mut String, shown: &ShownTrial<'_>, paint: Paint) {
    let ShownTrial { grade, timeline, .. } = shown;
    let finding = |check: &CheckResult| {
        let at = grade.checks.iter().position(|known| std::ptr::eq(known, check))?;
        timeline.findings.get(at)
    };
    let mut passed = Vec::new();
    for (name, check) in grade.named_checks() {
        let (word, tone) = match check.status {
            Status::Fail => ("failed", Tone::Bad),
            Status::Unknown => ("unknown", Tone::Broken),
            Status::Pass => {
                passed.push(safe::line(&name));
                continue;
            }
        };
        let (name, goal) = (safe::line(&name), goal(check.goal));
        let _ = writeln!(text, "\n{}  {name} ({goal})", paint.on(tone, word));
        let _ = writeln!(text, "  expected  {}", safe::line(&check.expected));
        let _ = writeln!(text, "  found     {}", safe::line(&check.found));
        evidence(text, timeline, finding(check), paint);
    }
    if !passed.is_empty() {
        let _ = writeln!(text, "\n{}  {}", paint.on(Tone::Good, "passed"), passed.join(", "));
    }
}

/// Where a check looked, and the pieces of text that decided it.
fn evidence(text: &mut String, timeline: &Timeline, finding: Option<&CheckFinding>, paint: Paint) {
    let Some(finding) = finding else { return };
    if finding.pieces.is_empty() {
        if let Some((at, entry)) = finding.entry.and_then(|at| Some((at, timeline.entries.get(at)?))) {
            let _ = writeln!(text, "  see       {}  {}", at + 1, words::title(entry, safe::line));
        }
        return;
    }
    for piece in finding.pieces.iter().take(MOST_PIECES) {
        if let Some(quoted) = quoted(timeline, piece, paint) {
            let _ = writeln!(text, "  see       {}  {quoted}", piece.entry + 1);
        }
    }
    let more = finding.pieces.len().saturating_sub(MOST_PIECES);
    if more > 0 {
        let _ = writeln!(text, "            and {more} more places, marked below");
    }
}

/// The first line of a piece, with what stands around it on that line.
fn quoted(timeline: &Timeline, piece: &TextPiece, paint: Paint) -> Option<String> {
    let texts = timeline.entries.get(piece.entry)?.what.texts();
    let (_, whole) = texts.into_iter().find(|(part, _)| *part == piece.part)?;
    let (before, from) = (whole.get(..piece.bytes.start)?, whole.get(piece.bytes.clone())?);
    let behind = whole.get(piece.bytes.end..)?;
    let before = before.rsplit('\n').next().unwrap_or_default();
    let skipped = before.chars().count().saturating_sub(AROUND);
    let before: String = before.chars().skip(skipped).collect();
    let line = from.lines().next().unwrap_or_default();
    let hit: String = line.chars().take(2 * AROUND).collect();
    let whole_hit = hit.len() == from.len();
    let behind: String = match behind.lines().next() {
        Some(rest) if whole_hit => rest.chars().take(AROUND).collect(),
        _ => String::new(),
    };
    let start = if skipped > 0 { "…" } else { "" };
    let end = if whole_hit { "" } else { "…" };
    let hit = paint.on(Tone::Mark, &safe::line(&hit));
    Some(format!("{start}{}{hit}{}{end}", safe::line(&before), safe::line(&behind)))
}

fn entry(text: &mut String, timeline: &Timeline, at: usize, entry: &TimelineEvent, paint: Paint) {
    let indent = "  ".repeat(entry.depth as usize);
    let time = clock(entry).map(|time| format!("  {}", paint.on(Tone::Faint, &safe::line(time)))).unwrap_or_default();
    let title = paint.on(title_tone(&entry.what), &words::title(entry, safe::line));
    let figures = match figures(entry) {
        figures if figures.is_empty() => figures,
        figures => format!("  {}", paint.on(Tone::Faint, &format!("({figures})"))),
    };
    let _ = writeln!(text, "\n{indent}{:>3}{time}  {title}{figures}", at + 1);
    for mark in &entry.marks {
        let _ = writeln!(text, "{indent}     {}", paint.on(Tone::Open, &words::note(mark, safe::line)));
    }
    for (part, whole) in entry.what.texts() {
        // Names and paths stand in the title.
        if matches!(part, EventPart::Name | EventPart::Path(_)) {
            continue;
        }
        let sign = if matches!((&entry.what, part), (EventKind::Command { .. }, EventPart::Input)) { "$ " } else { "" };
        let pieces = timeline.pieces_of(at).filter(|piece| piece.part == part);
        let marked = marked(&words::shown(&entry.what, whole), pieces, paint);
        for line in marked.trim_end().lines() {
            let _ = writeln!(text, "{indent}     {sign}{line}");
        }
    }
}

fn title_tone(what: &EventKind) -> Tone {
    match what {
        EventKind::Tool { failed: true, .. } => Tone::Bad,
        EventKind::Command { exit, .. } if *exit != Some(0) => Tone::Bad,
        EventKind::Thought { .. } => Tone::Faint,
        _ => Tone::Strong,
    }
}

/// A text made safe to show, with the pieces that a check looked at marked, line by line.
fn marked<'a>(whole: &str, pieces: impl Iterator<Item = &'a TextPiece>, paint: Paint) -> String {
    let mut pieces: Vec<_> = pieces.map(|piece| piece.bytes.clone()).collect();
    pieces.sort_by_key(|piece| (piece.start, piece.end));
    let (mut text, mut at) = (String::new(), 0);
    for piece in pieces {
        let from = piece.start.max(at);
        let (Some(before), Some(hit)) = (whole.get(at..from), whole.get(from..piece.end)) else { continue };
        text.push_str(&safe::block(before));
        // A pager ends colours with the line.
        let lines: Vec<String> = safe::block(hit).split('\n').map(|line| paint.on(Tone::Mark, line)).collect();
        text.push_str(&lines.join("\n"));
        at = piece.end;
    }
    text.push_str(&safe::block(whole.get(at..).unwrap_or_default()));
    text
}
