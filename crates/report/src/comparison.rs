//! The same cases in several modes, one under the other: the result, how the skill was activated, and what it cost.

use std::fmt::Write;

use crate::columns::{self, NUMBERS, WORDS};
use crate::paint::Paint;
use crate::settings::mode::{Mode, label};
use crate::table::dollars;
use crate::trace::Mechanism;
use crate::trial::outcome::{Metrics, Outcome};

/// What stands where nothing is known.
const NOTHING: &str = "-";

/// A table of each case that ran in several modes: a line for each trial, the modes in the order of `modes`. Empty if no
/// case ran in two modes. It fits into 80 columns.
///
/// `first` has the tokens of the first model request: system prompt, tools, skill list and prompt. Between two modes of a case, its
/// difference is the price of their skill lists and tools in every turn.
pub fn comparison(outcomes: &[&Outcome], modes: &[Mode], paint: Paint) -> String {
    let mut rows: Vec<&Outcome> = outcomes.to_vec();
    let place = |outcome: &Outcome| modes.iter().position(|mode| mode.name == outcome.id.mode).unwrap_or(usize::MAX);
    let key =
        |outcome: &Outcome| (outcome.id.skill.clone(), outcome.id.case.clone(), place(outcome), outcome.id.number);
    rows.sort_by_key(|outcome| key(outcome));
    let same_case = |a: &Outcome, b: &Outcome| (&a.id.skill, &a.id.case) == (&b.id.skill, &b.id.case);
    if !rows.windows(2).any(|pair| same_case(pair[0], pair[1]) && pair[0].id.mode != pair[1].id.mode) {
        return String::new();
    }
    let mut cells = vec![TITLES.map(str::to_owned)];
    cells.extend(rows.iter().map(|outcome| row(outcome, paint)));
    let lines = columns::lines([WORDS, WORDS, WORDS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS], &cells);
    let mut text = format!("{}\n", lines[0]);
    for (at, outcome) in rows.iter().enumerate() {
        if at == 0 || !same_case(rows[at - 1], outcome) {
            let _ = writeln!(text, "{}/{}", outcome.id.skill, outcome.id.case);
        }
        let _ = writeln!(text, "{}", lines[at + 1]);
    }
    text
}

/// Indented under their case.
const TITLES: [&str; 8] = ["  mode", "verdict", "skill by", "first", "in", "out", "cost", "time"];

fn row(outcome: &Outcome, paint: Paint) -> [String; 8] {
    let id = &outcome.id;
    let metrics = &outcome.grade.metrics;
    let number = |number: Option<u64>| number.map_or_else(|| NOTHING.to_owned(), |number| number.to_string());
    // Lower bounds of a trial that ended early.
    let least = if metrics.settled { "≥ " } else { "" };
    let usage = metrics.usage.or(metrics.usage_at_least.filter(|_| metrics.settled));
    let tokens = |tokens: Option<u64>| tokens.map_or_else(|| NOTHING.to_owned(), |tokens| format!("{least}{tokens}"));
    let cost = usage.and_then(|usage| usage.cost_usd);
    [
        if id.number > 1 { format!("  {}/{}", label(&id.mode), id.number) } else { format!("  {}", label(&id.mode)) },
        paint.on(outcome.grade.verdict.into(), outcome.grade.verdict.as_str()),
        mechanism(metrics, &id.skill),
        number(metrics.first_input_tokens),
        tokens(usage.map(|usage| usage.input_tokens)),
        tokens(usage.map(|usage| usage.output_tokens)),
        cost.map_or_else(|| NOTHING.to_owned(), |cost| format!("{least}{}", dollars(cost))),
        format!("{least}{:.1} s", std::time::Duration::from_millis(metrics.duration_ms).as_secs_f64()),
    ]
}

/// How the skill under test was activated, the first way first.
fn mechanism(metrics: &Metrics, skill: &str) -> String {
    let of_skill = metrics.activations.iter().filter(|found| crate::skill::slug(&found.skill) == skill);
    let ways: Vec<&str> = of_skill.map(|found| found.how).map(Mechanism::as_str).collect();
    if ways.is_empty() { NOTHING.to_owned() } else { ways.join(", ") }
}
