//! The events of a session as text.

use std::borrow::Cow;
use std::time::Duration;

use crate::results::timeline::{EventKind, Note, TimelineEvent};
use crate::store::META;
use crate::text::cut;
use crate::trace::MAX_TEXT;

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
        EventKind::Files { paths } => format!("wrote {}", list(paths, name)),
        EventKind::Notice { .. } => "notice".to_owned(),
        EventKind::End { .. } => "end".to_owned(),
    };
    format!("{by}{what}")
}

fn offered(native: &[String], unseen: bool, mcp: &[String], name: NameStyle) -> String {
    if unseen {
        return format!("does not show what its model is offered; it has the skills: {}", list(native, name));
    }
    let mut parts = Vec::new();
    if !native.is_empty() || mcp.is_empty() {
        parts.push(format!("skills: {}", list(native, name)));
    }
    if !mcp.is_empty() {
        parts.push(format!("tools of MCP servers: {}", list(mcp, name)));
    }
    format!("was offered {}", parts.join("; "))
}

fn list(names: &[String], name: NameStyle) -> String {
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
