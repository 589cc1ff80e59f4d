//! The names of the checks that no case asks for.

use super::delivered::DELIVERED;

/// The agent finished before its timeout.
pub(super) const IN_TIME: &str = "in-time";

/// A tool that is answered from files was called with an input that it does not expect.
pub(super) const MOCK_INPUT: &str = "mock: input";

/// The agent's program exited with 0.
pub(super) const EXIT_CODE: &str = "exit-code";

/// There is a final message.
pub(super) const FINAL_MESSAGE: &str = "final-message";

/// The model finished by itself.
pub(super) const COMPLETED: &str = "completed";

/// The checks of every trial, whatever its case expects.
pub const GENERAL: [&str; 5] = [IN_TIME, COMPLETED, EXIT_CODE, DELIVERED, FINAL_MESSAGE];

/// Those of them about the agent's end. A trial that was ended, or whose model stopped, is not asked all of them.
pub const OF_THE_END: [&str; 3] = [COMPLETED, EXIT_CODE, FINAL_MESSAGE];
