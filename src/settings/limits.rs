//! The limits that nobody can set wider.

use std::time::Duration;

/// How long an agent may take where the case does not say: 180 s, as other runners of prompts.csv have it.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(180);

/// The longest timeout a case may ask for: a day.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The most turns that a case may allow.
pub const MOST_TURNS: u64 = 10_000;
