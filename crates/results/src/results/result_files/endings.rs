//! Whose doing it was that a trial of another tool did not end well.
//!
//! The rule is that of our own trials: an agent that comes to the end of its time, turns, tokens or money, or that breaks a rule of
//! its case, has done so itself, and its trial is judged by what there is. Everything else is the machinery's, and such a trial is
//! not measured, whatever the tool has made of it.

use super::TrialResult;

/// The words of a tool for what came of a trial. A word that is not here says nothing: it is never a verdict.
#[derive(Debug)]
pub(super) struct Words {
    /// What the tool calls them.
    pub name: &'static str,
    pub of: &'static [(&'static str, TrialResult)],
}

impl Words {
    /// What came of a trial by its word.
    pub(super) fn result(&self, trial: &str, word: &str) -> Result<TrialResult, String> {
        let known = self.of.iter().find(|(known, _)| *known == word);
        known.map(|(_, result)| *result).ok_or_else(|| {
            let known: Vec<&str> = self.of.iter().map(|(known, _)| *known).collect();
            format!("{trial} has the {} `{word}`, which is not known; known: {}", self.name, known.join(", "))
        })
    }
}

/// By version 0.12. A trial that came to the end of its time, turns, tokens or money has failed.
pub(super) const CODER_EVAL: Words = Words {
    name: "status",
    of: &[
        ("SUCCESS", TrialResult::Pass),
        ("FAILURE", TrialResult::Fail),
        ("TIMEOUT", TrialResult::Fail),
        ("MAX_TURNS_EXHAUSTED", TrialResult::Fail),
        ("TOKEN_BUDGET_EXCEEDED", TrialResult::Fail),
        ("COST_BUDGET_EXCEEDED", TrialResult::Fail),
        ("ERROR", TrialResult::Error),
        ("BUILD_FAILED", TrialResult::Error),
        ("NOT_GRADED", TrialResult::Error),
    ],
};

pub(super) const AGENTV: Words =
    Words { name: "verdict", of: &[("pass", TrialResult::Pass), ("fail", TrialResult::Fail)] };

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
