//! What happened in a session in words, as a page and a terminal say it.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::Duration;

use crate::results::timeline::{EventKind, Note, TimelineEvent};
use crate::store::META;
use crate::text::cut;
use crate::trace::MAX_TEXT;

/// Most bytes of what the trace itself does not cut: a prompt, or the final message.
const LONGEST: usize = 64 << 10;

/// How a name that others gave stands within a line.
pub type NameStyle = fn(&str) -> String;

/// What an entry is, in a few words.
#[must_use]
pub fn title(entry: &TimelineEvent, name: NameStyle) -> String {
    let by = match entry.depth {
        0 => String::new(),
        1 => "a sub-agent ".to_owned(),
        depth => format!("a sub-agent (level {depth}) "),
    };
    let what = match &entry.what {
        EventKind::System { .. } => "system prompt".to_owned(),
        EventKind::Prompt { .. } => "prompt".to_owned(),
        EventKind::Offered { native, mcp } => offered(native, mcp, name),
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

fn offered(native: &[String], mcp: &[String], name: NameStyle) -> String {
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
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.iter().map(|known| name(known)).collect::<Vec<_>>().join(", ")
    }
}

/// What is noted at an entry, in words.
#[must_use]
pub fn note(note: &Note, name: NameStyle) -> String {
    let part = |seen: Option<f64>| match seen {
        Some(share) if share < 0.99 => format!(", {:.0} % of it seen", share * 100.0),
        _ => String::new(),
    };
    match note {
        Note::Loaded { skill, how, seen, .. } => {
            format!("skill {} loaded by {}{}", name(skill), how.as_str(), part(*seen))
        }
        Note::Resource { skill, path, seen } => {
            format!("resource {} loaded{}", name(&format!("{skill}/{path}")), part(*seen))
        }
        Note::FailedLoad { skill } => format!("skill {} failed to load", name(skill)),
        Note::Looked => "looked at skills without loading one".to_owned(),
        Note::Denied => "the agent did not allow this".to_owned(),
    }
}

/// When it happened, to the millisecond: `21:04:46.559` of a day that the head of the session says.
#[must_use]
pub fn clock(entry: &TimelineEvent) -> Option<&str> {
    let clock = entry.time.as_deref()?.split_once('T')?.1.trim_end_matches('Z');
    Some(clock.get(..12).unwrap_or(clock))
}

/// How long it took and what it cost, where the agent told: `after 1.2 s, took 0.3 s, 1200 tokens read, 30 written`.
#[must_use]
pub fn figures(entry: &TimelineEvent) -> String {
    let seconds = |ms: u64| format!("{:.1} s", Duration::from_millis(ms).as_secs_f64());
    let mut parts = Vec::new();
    parts.extend(entry.gap_ms.filter(|gap| *gap >= 100).map(|gap| format!("after {}", seconds(gap))));
    parts.extend(entry.took_ms.filter(|took| *took >= 100).map(|took| format!("took {}", seconds(took))));
    if let Some(tokens) = entry.tokens {
        let mut text = format!("{} tokens read", tokens.read);
        if let Some(written) = tokens.written {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {written} written");
        }
        parts.push(text);
    }
    parts.join(", ")
}

/// A text of an entry as far as it is shown, with the file that has the rest.
#[must_use]
pub fn shown<'a>(what: &EventKind, text: &'a str) -> Cow<'a, str> {
    let file = match what {
        EventKind::Prompt { .. } | EventKind::System { .. } => META,
        EventKind::Said { answer: true, .. } => "final.txt",
        _ => "trace.jsonl",
    };
    match cut::bytes(text, LONGEST) {
        (_, 0) => Cow::Borrowed(text),
        (kept, missing) => Cow::Owned(format!("{kept}… ({missing} bytes more in {file})")),
    }
}

/// Says where the rest is of texts that the trace keeps only the beginning of, and of steps that it did not keep.
#[must_use]
pub fn left_out<'a>(entries: impl IntoIterator<Item = &'a TimelineEvent>, dropped: u64) -> Option<String> {
    let is_cut = |text: &str| text.len() > MAX_TEXT && text.len() < 2 * MAX_TEXT && text.ends_with(" bytes more)");
    let cut = entries.into_iter().any(|entry| entry.what.texts().iter().any(|(_, text)| is_cut(text)));
    let steps = (dropped > 0).then(|| format!("{dropped} steps more are not shown"));
    let texts = cut.then(|| "texts that end in `bytes more)` are cut".to_owned());
    let both: Vec<String> = steps.into_iter().chain(texts).collect();
    (!both.is_empty())
        .then(|| format!("{}: all of it is in trace.jsonl and the session files next to it", both.join("; ")))
}
