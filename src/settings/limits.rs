//! Limits that no setting can exceed, and defaults.

use std::time::Duration;

/// The default timeout of a case: 180 s, as in other runners of prompts.csv.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(180);

/// The longest timeout of a case: a day.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// Maximum number of turns that a case may allow.
pub const MOST_TURNS: u64 = 10_000;
