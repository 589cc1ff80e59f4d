//! A comparison of models as people read it: a sentence with the cheapest within the margin of the best, and a table.

use std::fmt::Write;

use crate::columns::{self, NUMBERS, WORDS};
use crate::diagnosis::spending;
use crate::paint::{Paint, Tone};
use crate::rate::{fraction, points, share, signed};
use crate::results::models::{BestResult, ComparedModel, ModelComparison, ModelRank};
use crate::table::dollars;
use crate::text::escape;
use crate::trial_text::scripted;

/// The widest name of a model in the table.
const NAME: usize = 22;

pub fn sentence(compared: &ModelComparison, paint: Paint) -> String {
    let within = format!("within {} points of the best", points(compared.margin));
    if let Some(name) = &compared.cheapest {
        let name = paint.on(Tone::Good, &escape::line(name));
        let rank = if compared.ranked_by == ModelRank::Tokens { ", by tokens," } else { "" };
        return format!("{name}: the cheapest model{rank} that is {within}");
    }
    let undecided = paint.on(Tone::Open, "undecided");
    let holds = |model: &&ComparedModel| result(model) == Some(BestResult::NoWorse);
    let holding: Vec<String> = compared.models.iter().filter(holds).map(|model| escape::line(&model.model)).collect();
    if compared.cases == 0 {
        format!("{}: no case was measured with every model", paint.on(Tone::Broken, "nothing measured"))
    } else if holding.is_empty() {
        let lost = compared.models.iter().any(|model| model.not_measured > 0);
        let more = if lost { "" } else { "; more trials, or a larger --margin, would tell" };
        format!("{undecided}: no model is shown to be {within}{more}")
    } else {
        format!("{undecided}: {} is {within}; which is cheapest is unknown", holding.join(", "))
    }
}

fn result(model: &ComparedModel) -> Option<BestResult> {
    model.standing.map(|standing| standing.result)
}

/// The sentence, the table, and what else there is to know.
pub fn render(compared: &ModelComparison, paint: Paint) -> String {
    let mut text = format!("{}\n\n", sentence(compared, paint));
    let mut rows = vec![["  model", "passed", "rate", "a trial", "answer"].map(str::to_owned)];
    rows.extend(compared.models.iter().map(|model| {
        let (passed, rate) = model
            .passed
            .map_or_else(Default::default, |passed| (fraction(passed.rate), share(passed.share, passed.interval)));
        [format!("  {}", short(&escape::line(&model.model))), passed, rate, cost(model), answer(model)]
    }));
    text.push_str(&columns::text([WORDS, NUMBERS.fixed(7), WORDS.fixed(14), NUMBERS.fixed(9), WORDS], &rows));
    text.push('\n');
    let alpha = points(compared.alpha);
    let _ = writeln!(text, "any false `no worse` comes in {alpha} % at most, and so does any false `worse`");
    notes(&mut text, compared);
    let _ = writeln!(text, "{}", spending(&compared.spent));
    text
}

fn notes(text: &mut String, compared: &ModelComparison) {
    let prices = "set them under [prices] in evals/evals.toml";
    let _ = match compared.ranked_by {
        ModelRank::Cost => Ok(()),
        ModelRank::Tokens => {
            writeln!(text, "the price of a model is unknown, so tokens decide what is cheaper; {prices}")
        }
        ModelRank::Unknown => writeln!(text, "neither cost nor tokens of every trial are known; {prices}"),
    };
    for model in compared.models.iter().filter(|model| model.not_measured > 0) {
        let name = escape::line(&model.model);
        let _ = writeln!(text, "{name}: {} of its trials not measured, and not counted", model.not_measured);
    }
    if !compared.not_counted.is_empty() {
        let cases = compared.not_counted.join(", ");
        let _ = writeln!(text, "not counted, not measured with every model: {}", escape::line(&cases));
    }
    for by in &compared.scripted {
        let _ = writeln!(text, "{}", escape::line(&scripted(by)));
    }
}

fn cost(model: &ComparedModel) -> String {
    match (model.cost_usd, model.tokens) {
        (Some(cost), _) => dollars(cost),
        (None, Some(tokens)) => format!("{tokens:.0} tok"),
        (None, None) => "unknown".to_owned(),
    }
}

fn answer(model: &ComparedModel) -> String {
    let Some(standing) = model.standing else { return "not measured".to_owned() };
    match standing.result {
        BestResult::NoWorse => "no worse".to_owned(),
        BestResult::Worse => "worse".to_owned(),
        BestResult::Undecided => format!("undecided, ≥ {}", signed(standing.behind.interval.low)),
    }
}

/// The name, cut to the width of its column.
fn short(name: &str) -> String {
    if name.chars().count() <= NAME {
        return name.to_owned();
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}
