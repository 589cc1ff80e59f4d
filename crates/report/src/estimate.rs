//! The expected cost of a run as text.

use std::fmt::Write;

use crate::decide::USUAL_RATE;
use crate::decide::plan::{ComparePlan, USUAL_POWER};
use crate::decide::promise::{PlanPromise, Power};
use crate::diagnostics::counted;
use crate::rate::points;
use crate::results::estimate::{AmountRange, Estimate, ExpectedCost};
use crate::results::forecast::Forecast;
use crate::stats::real;
use crate::table::dollars;
use crate::text::escape;

/// The expected cost of this many trials, on a line; empty if no cost is known.
pub fn of_trials(estimate: &Estimate, trials: u64) -> String {
    let expected = estimate.of_trials(trials);
    let cost = expected.cost_usd.map(dollars);
    let tokens = expected.tokens.map(|tokens| format!("{tokens} tokens"));
    let some_unknown =
        (cost.is_some() && estimate.unknown_cost > 0) || (tokens.is_some() && estimate.unknown_tokens > 0);
    let amounts: Vec<String> = cost.into_iter().chain(tokens).collect();
    if amounts.is_empty() {
        let Some(expected) = &estimate.expected else { return String::new() };
        let ranges = ExpectedRanges::of(expected, trials);
        let amounts = ranges.cost.into_iter().chain([format!("{} tokens", ranges.tokens)]);
        let amounts = amounts.collect::<Vec<_>>().join(", ");
        return format!("all {trials} trials, if it takes that many: estimated at {amounts}\n");
    }
    let others = if some_unknown { ", if the others take as much as those that are known" } else { "" };
    format!("all {trials} trials, if it takes that many: about {}{others}\n", amounts.join(", "))
}

/// What a plan finds and costs, on a line.
pub fn promise(promise: &PlanPromise) -> String {
    let PlanPromise { plan, max_trials, usual_trials, power } = promise;
    let plan = plan.as_str();
    format!("{plan}: about {usual_trials} trials if nothing changed, at most {max_trials}; it finds {}", finds(power))
}

/// What a comparison finds, and in which share of comparisons.
pub fn finds(power: &Power) -> String {
    let dead = format!("one case from always to never in {} % of comparisons", points(power.finds_dead_case));
    match power.after().zip(power.finds_drop) {
        Some((after, share)) => {
            format!("{dead}, all cases from {} to {} % in {} %", points(power.before), points(after), points(share))
        }
        None => {
            format!("{dead}, and of all cases not reliably even a drop from {} % to never", points(power.before))
        }
    }
}

/// What a month of gates is expected to take.
pub fn forecast(forecast: &Forecast, plan: ComparePlan) -> String {
    let Forecast { base, weeks, changes, trials, range, of_trial, is_measured } = forecast;
    let weeks = counted(usize::try_from(*weeks).unwrap_or(usize::MAX), "week");
    let mut text = format!(
        "{weeks} of {}: {} of skills with cases\n",
        escape::line(base),
        counted(usize::try_from(*changes).unwrap_or(usize::MAX), "change")
    );
    if *changes == 0 {
        return text
            + "nothing to forecast by: name the branch that pull requests are merged into, as in `gate main --forecast`\n";
    }
    let cost = match forecast.cost_usd() {
        Some((cost, range)) => format!("{} ({} … {})", dollars(cost), dollars(range.low), dollars(range.high)),
        None => "cost unknown: no earlier run and no price of the model shows it".to_owned(),
    };
    let _ = writeln!(
        text,
        "a month of gates, plan {}: {trials:.0} trials (95 %: {:.0} … {:.0}), {cost}",
        plan.as_str(),
        range.low,
        range.high
    );
    let by = match of_trial {
        Some(of) if *is_measured => format!("a trial cost {} in earlier runs; ", dollars(of.low)),
        Some(of) => format!("a trial is estimated at {} … {}; ", dollars(of.low), dollars(of.high)),
        None => String::new(),
    };
    text + &by + "if no change does harm and no trial of the base is kept\n"
}

/// An estimate for a number of trials, in words.
struct ExpectedRanges {
    cost: Option<String>,
    tokens: String,
}

impl ExpectedRanges {
    fn of(expected: &ExpectedCost, trials: u64) -> Self {
        let factor = real(trials) / real(expected.trials.max(1));
        let cost =
            |range: AmountRange<f64>| format!("{} … {}", dollars(range.low * factor), dollars(range.high * factor));
        let [low, high] = [expected.tokens.low, expected.tokens.high].map(|tokens| two_digits(real(tokens) * factor));
        Self { cost: expected.cost_usd.map(cost), tokens: format!("{low} … {high}") }
    }
}

/// A number without digits that an estimate does not know.
fn two_digits(number: f64) -> f64 {
    let unit = 10_f64.powf((number.max(1.0).log10().floor() - 1.0).max(0.0));
    (number / unit).round() * unit
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
        let (before, after) = (points(USUAL_RATE), points((USUAL_RATE - drop).max(0.0)));
        let power = USUAL_POWER * 100.0;
        let _ = writeln!(
            text,
            "two such runs find a drop of all cases from {before} to {after} % with a probability of {power:.0} %"
        );
    }
    let ranges = estimate.expected.as_ref().map(|expected| ExpectedRanges::of(expected, expected.trials));
    let (cost, tokens) = ranges.map(|ranges| (ranges.cost, Some(ranges.tokens))).unwrap_or_default();
    let unknown_words = match estimate.expected {
        None => "unknown: no earlier run or recording of these cases shows it",
        Some(_) => "unknown: no earlier run or recording of these cases shows it, and no price of the model is known",
    };
    for (label, unknown, amount, range) in [
        ("cost", estimate.unknown_cost, dollars(estimate.known_cost_usd), cost),
        ("tokens", estimate.unknown_tokens, estimate.known_tokens.to_string(), tokens),
    ] {
        let known = all - unknown;
        if unknown == 0 && known > 0 {
            let _ = writeln!(text, "{label}: about {amount} or less, by what the same cases took before");
            continue;
        }
        let mut parts = Vec::new();
        if known > 0 {
            parts.push(format!("about {amount} or less for {known} of them, by what they took before"));
        }
        let estimated = estimate.expected.as_ref().filter(|_| range.is_some()).map_or(0, |of| of.trials);
        if let Some(range) = range {
            let of_them = if estimated < all as u64 { format!(" for {estimated} of them") } else { String::new() };
            parts.push(format!("estimated at {range}{of_them}"));
        }
        match (unknown as u64).saturating_sub(estimated) {
            0 if !parts.is_empty() => {}
            _ if parts.is_empty() => parts.push(unknown_words.to_owned()),
            rest => parts.push(format!("unknown for {rest}")),
        }
        let _ = writeln!(text, "{label}: {}", parts.join("; "));
    }
    for basis in estimate.expected.iter().flat_map(|of| &of.basis) {
        let _ = writeln!(text, "estimate for {basis}");
    }
    if let Some(limit) = estimate.max_cost_usd {
        let _ = writeln!(text, "no trial starts once the known cost reaches {}", dollars(limit));
    }
    text
}
