//! Whose doing it was that a trial of another tool did not end well.
//!
//! The rule is that of our own trials: an agent that comes to the end of its time, turns, tokens or money, or that breaks a rule of
//! its case, has done so itself, and its trial is judged by what there is. Everything else is the machinery's, and such a trial is
//! not measured, whatever the tool has made of it.

/// How a tool writes an end that is the agent's own doing.
#[derive(Debug)]
pub(super) enum OwnEnd {
    /// As this status or exception, in any case.
    Is(&'static str),
    /// As an error that starts so.
    Starts(&'static str),
}

pub(super) const HARBOR: &[OwnEnd] = &[OwnEnd::Is("AgentTimeoutError")];

/// By version 2.1.332.
pub(super) const PLUGIN_EVAL: &[OwnEnd] =
    &[OwnEnd::Starts("timed out after "), OwnEnd::Starts("exit 1: Reached maximum number of turns")];

/// A provider's own timeout is another error.
pub(super) const PROMPTFOO: &[OwnEnd] = &[OwnEnd::Starts("Evaluation timed out after ")];

/// waza and Vally.
pub(super) const STATUS: &[OwnEnd] = &[OwnEnd::Is("timeout")];

/// Whether the end of a trial that its tool describes so is the agent's own doing.
pub(super) fn is_of_agent(end: &str, own: &[OwnEnd]) -> bool {
    own.iter().any(|own| match own {
        OwnEnd::Is(name) => end.eq_ignore_ascii_case(name),
        OwnEnd::Starts(start) => end.starts_with(start),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_of_the_agent_and_all_else_is_of_the_machinery() {
        for (end, own) in [
            ("AgentTimeoutError", HARBOR),
            ("timed out after 300s", PLUGIN_EVAL),
            ("exit 1: Reached maximum number of turns (10)", PLUGIN_EVAL),
            ("Evaluation timed out after 10ms", PROMPTFOO),
            ("TIMEOUT", STATUS),
        ] {
            assert!(is_of_agent(end, own), "{end}");
        }
        for (end, own) in [
            ("", STATUS),
            ("VerifierTimeoutError", HARBOR),
            ("API Error: 429", PLUGIN_EVAL),
            ("exit 1: Not logged in", PLUGIN_EVAL),
            ("timeout of 300000ms exceeded", PROMPTFOO),
            ("timeout while the judge was asked", STATUS),
        ] {
            assert!(!is_of_agent(end, own), "{end}");
        }
    }
}
