//! The same cases in several modes, side by side: its result, how the skill was reached, and what it cost.

use std::fmt::Write;

use crate::report::paint::{Paint, Tone};
use crate::settings::mode::Mode;
use crate::trace::Mechanism;
use crate::trial::outcome::{Metrics, Outcome};

/// What stands where nothing is known.
const NOTHING: &str = "-";

/// The comparison as a Markdown table: a row for each case in each mode, the modes in the order of `modes`, repeats of a
/// trial one below the other. Empty where no case ran in two modes.
///
/// `first request` is what the model read before it said anything: system prompt, tools, catalogues and prompt. Between
/// two modes of one case its difference is the price of their catalogues and tools, every turn anew; what `mcp+native`
/// has more than `native` is the second catalogue.
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
    let mut table = vec![TITLES.map(str::to_owned)];
    let mut above: Option<&Outcome> = None;
    for outcome in &rows {
        let again = above.is_some_and(|above| same_case(above, outcome));
        table.push(row(outcome, again));
        above = Some(*outcome);
    }
    let tones: Vec<Tone> = rows.iter().map(|outcome| outcome.grade.verdict.into()).collect();
    render(&table, &tones, paint)
}

const TITLES: [&str; 9] =
    ["case", "mode", "verdict", "skill by", "first request", "tokens in", "tokens out", "cost", "seconds"];

/// The column that is colored.
const VERDICT: usize = 2;

/// How many of the columns, from the left, are words; the others are numbers.
const WORDS: usize = 4;

fn row(outcome: &Outcome, again: bool) -> [String; 9] {
    let id = &outcome.id;
    let metrics = &outcome.grade.metrics;
    let case = format!("{}/{}", id.skill, id.case);
    let number = |number: Option<u64>| number.map_or_else(|| NOTHING.to_owned(), |number| number.to_string());
    let mode = if id.number > 1 { format!("{} /{}", id.mode, id.number) } else { id.mode.clone() };
    let cost = metrics.usage.and_then(|usage| usage.cost_usd);
    [
        if again { String::new() } else { case },
        mode,
        outcome.grade.verdict.to_string(),
        mechanism(metrics, &id.skill),
        number(metrics.first_input_tokens),
        number(metrics.usage.map(|usage| usage.input_tokens)),
        number(metrics.usage.map(|usage| usage.output_tokens)),
        cost.map_or_else(|| NOTHING.to_owned(), |cost| format!("${cost:.4}")),
        format!("{:.1}", std::time::Duration::from_millis(metrics.duration_ms).as_secs_f64()),
    ]
}

/// How the skill under test became active, the first way first.
fn mechanism(metrics: &Metrics, skill: &str) -> String {
    let of_skill = metrics.activations.iter().filter(|found| crate::skill::slug(&found.skill) == skill);
    let ways: Vec<&str> = of_skill.map(|found| found.how).map(Mechanism::as_str).collect();
    if ways.is_empty() { NOTHING.to_owned() } else { ways.join(", ") }
}

/// A Markdown table whose columns line up as plain text too. `tones` are those of its rows, without the titles.
fn render(table: &[[String; 9]], tones: &[Tone], paint: Paint) -> String {
    let widths: Vec<usize> =
        (0..TITLES.len()).map(|at| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for (index, row) in table.iter().enumerate() {
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let cell = if at < WORDS { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
            // The first row are the titles.
            let tone = index.checked_sub(1).and_then(|row| tones.get(row)).filter(|_| at == VERDICT);
            let cell = tone.map_or_else(|| cell.clone(), |tone| paint.on(*tone, &cell));
            // Writing to a string cannot fail.
            let _ = write!(text, "| {cell} ");
        }
        text.push_str("|\n");
        if index == 0 {
            for (at, width) in widths.iter().enumerate() {
                let line = "-".repeat(width.saturating_sub(usize::from(at >= WORDS)).max(1));
                let _ = write!(text, "| {line}{} ", if at < WORDS { "" } else { ":" });
            }
            text.push_str("|\n");
        }
    }
    text
}
