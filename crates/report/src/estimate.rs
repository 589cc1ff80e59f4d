//! The expected cost of a run as text.

use std::fmt::Write;

use crate::decide::plan::{PlanPromise, USUAL_POWER, USUAL_RATE};
use crate::diagnostics::counted;
use crate::results::estimate::Estimate;
use crate::table::dollars;

/// The expected cost of this many trials, on a line; empty if no cost is known.
pub fn of_trials(estimate: &Estimate, trials: u64) -> String {
    let expected = estimate.of_trials(trials);
    let cost = expected.cost_usd.map(dollars);
    let tokens = expected.tokens.map(|tokens| format!("{tokens} tokens"));
    let some_unknown =
        (cost.is_some() && estimate.unknown_cost > 0) || (tokens.is_some() && estimate.unknown_tokens > 0);
    let amounts: Vec<String> = cost.into_iter().chain(tokens).collect();
    if amounts.is_empty() {
        return String::new();
    }
    let others = if some_unknown { ", if the others take as much as those that are known" } else { "" };
    format!("all {trials} trials, if it takes that many: about {}{others}\n", amounts.join(", "))
}

/// What a plan finds and costs, on a line.
pub fn promise(promise: &PlanPromise) -> String {
    let usual = promise.usual_trials.map(|usual| format!("about {usual} if nothing changed, "));
    let dead = "a case that went from always to never is found with 95 % probability; ";
    let drop = match promise.detectable_drop {
        Some(drop) => detectable(USUAL_RATE, drop),
        None => format!("no drop of all cases is found with {:.0} % probability", USUAL_POWER * 100.0),
    };
    format!(
        "{}: {}at most {} trials; {}{drop}",
        promise.plan.as_str(),
        usual.unwrap_or_default(),
        promise.max_trials,
        if promise.finds_dead_case { dead } else { "" }
    )
}

/// The drop that a comparison finds, if the cases now pass with the rate `before`.
pub fn detectable(before: f64, drop: f64) -> String {
    format!(
        "if all cases pass {:.0} % now, a drop of {:.0} points in all of them is found with {:.0} % probability",
        before * 100.0,
        (drop * 100.0).ceil(),
        USUAL_POWER * 100.0
    )
}

/// A line for each trial, then what they may cost.
pub fn render(estimate: &Estimate) -> String {
    let all = estimate.trials.len();
    let mut text = String::new();
    for trial in &estimate.trials {
        let _ = writeln!(text, "{trial}");
    }
    let would_run = counted(all, "trial");
    let _ = match estimate.at_least {
        Some(fewest) => writeln!(text, "from {fewest} to at most {would_run} would run, until each case is decided"),
        None => writeln!(text, "{would_run} would run"),
    };
    if let Some(drop) = estimate.detectable_drop {
        let _ = writeln!(text, "held against another run like it, {}", detectable(USUAL_RATE, drop));
    }
    for (label, unknown, amount) in [
        ("cost", estimate.unknown_cost, dollars(estimate.known_cost_usd)),
        ("tokens", estimate.unknown_tokens, estimate.known_tokens.to_string()),
    ] {
        let _ = match (all - unknown, unknown) {
            (0, _) => writeln!(text, "{label}: unknown: no earlier run or recording of these cases shows it"),
            (_, 0) => writeln!(text, "{label}: at most {amount}, by what the same cases took before"),
            (known, unknown) => writeln!(
                text,
                "{label}: at most {amount} for {known} of them, by what they took before; unknown for {unknown}"
            ),
        };
    }
    if let Some(limit) = estimate.max_cost_usd {
        let _ = writeln!(text, "no trial starts once the known cost reaches {}", dollars(limit));
    }
    text
}
