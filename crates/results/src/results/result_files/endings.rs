//! Whose doing it was that a trial of another tool did not end well.
//!
//! The rule is that of our own trials: an agent that comes to the end of its time, turns, tokens or money, or that breaks a rule of
//! its case, has done so itself, and its trial is judged by what there is. Everything else is the machinery's, and such a trial is
//! not measured, whatever the tool has made of it.

/// What other tools write of ends that are the agent's own doing: the start of an error, or the name of an exception or a status.
const OF_THE_AGENT: [&str; 5] = [
    // Harbor.
    "AgentTimeoutError",
    // `claude plugin eval`, by its version 2.1.332.
    "timed out after ",
    "exit 1: Reached maximum number of turns",
    // promptfoo.
    "Evaluation timed out after ",
    // waza and Vally.
    "timeout",
];

/// Whether the end of a trial that the tool describes so is the agent's own doing.
pub(super) fn is_of_agent(end: &str) -> bool {
    OF_THE_AGENT.iter().any(|known| {
        let start = end.get(..known.len()).unwrap_or_default();
        // A status may be in any case; a name is not the start of another one.
        let is_whole =
            known.ends_with(' ') || end[start.len()..].chars().next().is_none_or(|next| !next.is_alphanumeric());
        start.eq_ignore_ascii_case(known) && is_whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_of_the_agent_and_all_else_is_of_the_machinery() {
        for end in
            ["AgentTimeoutError", "timed out after 300s", "exit 1: Reached maximum number of turns (10)", "timeout"]
        {
            assert!(is_of_agent(end), "{end}");
        }
        for end in
            ["", "API Error: 429", "exit 1: Not logged in", "TimeoutErrorOfProvider", "VerifierTimeoutError", "é"]
        {
            assert!(!is_of_agent(end), "{end}");
        }
    }
}
