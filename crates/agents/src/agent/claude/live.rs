//! What a line of claude's output shows while the run is active.

use super::wire::{Assistant, LineHead, Retry, parse};
use crate::agent::interface::WorkOwner;
use crate::trace::excerpt;

/// What the agent does, by this line.
pub(super) fn describe(line: &[u8]) -> Option<String> {
    let head: LineHead = parse(line)?;
    let words = match (head.kind.as_str(), head.subtype.0.as_deref()) {
        ("system", Some("init")) => "asks the model".to_owned(),
        ("system", Some("api_retry")) => parse::<Retry>(line)?.to_string(),
        ("assistant", _) => {
            let block = parse::<Assistant>(line)?.message.content?.0.into_iter().next()?;
            match (block.kind.as_str(), &block.name) {
                ("text", _) => format!("says: {}", block.text?),
                ("thinking", _) => "thinks".to_owned(),
                (_, Some(_)) => {
                    let call = block.call("");
                    let what = call.more.command.0.as_ref().or(call.more.file_path.0.as_ref());
                    format!("{} {}", call.tool, what.unwrap_or(&call.input))
                }
                _ => return None,
            }
        }
        ("result", _) => "is done".to_owned(),
        _ => return None,
    };
    Some(excerpt(&words))
}

/// Whose work a line shows.
pub(super) fn work_owner(line: &[u8]) -> WorkOwner {
    let Some(head) = parse::<LineHead>(line) else { return WorkOwner::Other };
    match (head.kind.as_str(), head.subtype.0.as_deref()) {
        ("assistant", _) => match parse::<Assistant>(line) {
            Some(line) if line.message.is_synthetic() => WorkOwner::Other,
            _ => WorkOwner::Model,
        },
        ("result", _) => WorkOwner::End,
        ("system", Some("api_retry")) => {
            let Some(retry) = parse::<Retry>(line) else { return WorkOwner::Other };
            match retry.delay() {
                wait if retry.is_unreachable() => WorkOwner::Unreachable(wait.unwrap_or_default()),
                wait => wait.map_or(WorkOwner::Other, WorkOwner::Waits),
            }
        }
        _ => WorkOwner::Other,
    }
}
