//! The log of the lists that a client requests, for the trial that started the server.

use std::time::{SystemTime, UNIX_EPOCH};

/// The entry for the notification that the skills have changed.
pub(super) const NOTIFIED: &str = "told";

/// The variable that names the log file. Each line is `<milliseconds since 1970> <list>`, or has `told` as its list when
/// the server notified the client of a change.
pub const ASKED_VARIABLE: &str = "SKILL_EVALS_MCP_ASKED";

/// The lists that the client requested after its first notification since `since`, each once. `None` if it got no
/// notification. `log` is the text of the log file.
pub fn lists_requested_since(log: &str, since: SystemTime) -> Option<Vec<String>> {
    let since = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let entries = log.lines().filter_map(|line| line.split_once(' '));
    let later = entries.filter(|(time, _)| time.parse().is_ok_and(|time: u128| time >= since));
    let mut from_notification = later.map(|(_, list)| list).skip_while(|list| *list != NOTIFIED);
    from_notification.next()?;
    let mut lists: Vec<String> = from_notification.filter(|list| *list != NOTIFIED).map(str::to_owned).collect();
    lists.sort_unstable();
    lists.dedup();
    Some(lists)
}
