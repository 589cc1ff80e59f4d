//! Variants as people read them: a sentence that says what to fix or which model is enough, and a picture.

use std::fmt::Write;

use crate::columns::{self, NUMBERS, WORDS};
use crate::diagnostics::counted;
use crate::paint::{Paint, Tone};
use crate::rate::{fraction, points, share, signed};
use crate::results::diagnosis::{
    BestResult, ComparedModel, DiagnosedPart, DiagnosedVariant, Diagnosis, DiagnosisAdvice, ModelComparison, ModelRank,
    VariantRate, VariantSpending,
};
use crate::stats::{Interval, real};
use crate::table::dollars;
use crate::text::escape;
use crate::trial::run_record::Variant;
use crate::trial_text::scripted;

/// The checks that judge an outcome, for a skill whose cases have none.
const CHECKS_TO_ADD: &str = "must_include, expected_output_pattern, require_files or output_schema";

const BAR: u8 = 24;

/// What the trials show, and what to fix, in a sentence.
pub fn sentence(diagnosis: &Diagnosis, paint: Paint) -> String {
    let mut parts = vec![body(diagnosis), description(diagnosis)];
    parts.extend(neighbors(diagnosis));
    let tone = if diagnosis.advice.is_some() { Tone::Bad } else { Tone::Open };
    let advice = advice(diagnosis).map(|advice| format!(": {}", paint.on(tone, &advice)));
    format!("{}{}", parts.join("; "), advice.unwrap_or_default())
}

fn body(diagnosis: &Diagnosis) -> String {
    let forced = variant(diagnosis, Variant::FORCED).and_then(|forced| forced.activated);
    let Some(part) = diagnosis.body else {
        if let Some(VariantRate { rate, interval: Interval { low, high }, .. }) =
            forced.filter(|_| diagnosis.is_not_forced())
        {
            let interval = format!("95 %: {} … {} %", points(low), points(high));
            return format!(
                "what the body is worth is not known, because a prompt that calls the skill does not load it: {} trials did ({interval})",
                fraction(rate)
            );
        }
        return if diagnosis.judges_outcome {
            "the body could not be measured".to_owned()
        } else {
            "the body could not be measured, because no case judges the outcome".to_owned()
        };
    };
    let difference = part.difference.difference;
    let mut interval = interval(&part);
    if let Some(rate) = forced.map(|forced| forced.rate).filter(|rate| rate.passed < rate.trials) {
        interval = format!("{interval}; {} forced trials loaded the skill", fraction(rate));
    }
    if part.is_gain() {
        format!("the body is worth {} points ({interval})", signed(difference))
    } else if part.is_loss() {
        format!("the body costs {} points ({interval})", points(-difference))
    } else if let Some(nothing) = diagnosis.nothing.filter(|_| diagnosis.is_worth_nothing()) {
        let (within, range) = (points(nothing.margin), range(nothing.interval));
        format!("the body is worth nothing within ±{within} points ({}; 90 %: {range})", signed(difference))
    } else {
        format!("the body is not shown to help or harm ({} points; {interval})", signed(difference))
    }
}

fn description(diagnosis: &Diagnosis) -> String {
    let activated = variant(diagnosis, Variant::ROUTED).and_then(|routed| routed.activated);
    let (Some(part), Some(activated)) = (diagnosis.description, activated) else {
        return "the description could not be measured".to_owned();
    };
    let Interval { low, high } = activated.interval;
    let rate = format!("{} % (95 %: {} … {})", points(activated.share), points(low), points(high));
    if part.is_loss() {
        format!("the description activates it in {rate} of the trials")
    } else {
        format!("the description is not shown to lose anything: it activates the skill in {rate} of the trials")
    }
}

/// What neighbors take; `None` if there are none.
fn neighbors(diagnosis: &Diagnosis) -> Option<String> {
    let Some(part) = diagnosis.neighbors else {
        return diagnosis.has_neighbors.then(|| "what neighbors take could not be measured".to_owned());
    };
    Some(if part.is_loss() {
        let by = mostly(diagnosis).map(|by| format!(", mostly `{by}`")).unwrap_or_default();
        format!("neighbors take {} points ({}){by}", points(-part.difference.difference), taken(&part))
    } else {
        format!("neighbors are not shown to take any ({})", interval(&part))
    })
}

/// The skill that was activated instead in at least half of the trials in which another was.
fn mostly(diagnosis: &Diagnosis) -> Option<String> {
    let all: u64 = diagnosis.taken_by.iter().map(|taken| taken.trials).sum();
    let first = diagnosis.taken_by.first().filter(|first| first.trials * 2 >= all)?;
    Some(escape::line(&first.skill))
}

fn advice(diagnosis: &Diagnosis) -> Option<String> {
    Some(match diagnosis.advice? {
        DiagnosisAdvice::Body => "fix the body".to_owned(),
        DiagnosisAdvice::Description => "fix the description".to_owned(),
        DiagnosisAdvice::Neighbors => match mostly(diagnosis) {
            Some(other) => format!("set its description apart from that of `{other}`"),
            None => "set its description apart from those of its neighbors".to_owned(),
        },
    })
}

/// `95 %: +21 … +58`.
fn interval(part: &DiagnosedPart) -> String {
    format!("95 %: {}", range(part.difference.interval))
}

/// `+21 … +58`.
fn range(Interval { low, high }: Interval) -> String {
    format!("{} … {}", signed(low), signed(high))
}

/// What it takes to show that a body that is not shown to do anything is worth nothing: `if the body is worth nothing, --max-trials 480
/// shows it within ±10 points (80 %), for about $4.80`.
fn price_of_nothing(diagnosis: &Diagnosis) -> Option<String> {
    let nothing = diagnosis.nothing.filter(|_| diagnosis.body.is_some_and(|body| !body.shown))?;
    let (trials, spent) = (nothing.trials_needed?, diagnosis.spent);
    let ran = u64::try_from(spent.trials).unwrap_or(u64::MAX).max(1);
    let cost = spent.cost_usd.map(|cost| format!(", for about {}", dollars(cost / real(ran) * real(trials))));
    Some(format!(
        "if the body is worth nothing, --max-trials {trials} shows that within ±{} points (80 %){}",
        points(nothing.margin),
        cost.unwrap_or_default()
    ))
}

/// As [`interval`], of a loss that is written without its sign.
fn taken(part: &DiagnosedPart) -> String {
    let Interval { low, high } = part.difference.interval;
    format!("95 %: {} … {}", points(-high), points(-low))
}

fn variant<'a>(diagnosis: &'a Diagnosis, name: &str) -> Option<&'a DiagnosedVariant> {
    diagnosis.variants.iter().find(|variant| variant.name == name)
}

/// The sentence, the picture, and what else there is to know.
pub fn render(diagnosis: &Diagnosis, paint: Paint) -> String {
    let mut text = format!("{}\n\n", sentence(diagnosis, paint));
    for variant in &diagnosis.variants {
        let _ = writeln!(text, "{}", line(diagnosis, variant).trim_end());
    }
    let (bars, what) = if diagnosis.judges_outcome { ("passed", "") } else { ("activated", ", by activation") };
    let _ = writeln!(text, "  {bars}: █ at least, ▒ possible (95 %){what}\n");
    if !diagnosis.judges_outcome {
        let _ =
            writeln!(text, "to measure the body, add checks of the outcome to its positive cases:\n  {CHECKS_TO_ADD}");
    }
    if let Some(price) = price_of_nothing(diagnosis) {
        let _ = writeln!(text, "{price}");
    }
    if let Some(part) = diagnosis.outcome {
        let shown = if part.shown { "" } else { ", not shown" };
        let points = signed(part.difference.difference);
        let _ = writeln!(text, "routed against forced: {points} points passed ({}{shown})", interval(&part));
    }
    if !diagnosis.taken_by.is_empty() {
        let taken: Vec<String> = diagnosis
            .taken_by
            .iter()
            .take(5)
            .map(|by| format!("`{}` {}", escape::line(&by.skill), by.trials))
            .collect();
        let _ = writeln!(text, "activated instead of it in routed trials: {}", taken.join(", "));
    }
    for (case, why) in &diagnosis.left_out {
        let _ = writeln!(text, "{} is left out: {}", escape::line(case), escape::line(why));
    }
    let _ = writeln!(text, "{}", spending(&diagnosis.spent));
    for by in &diagnosis.scripted {
        let _ = writeln!(text, "{}", escape::line(&scripted(by)));
    }
    text
}

/// `  forced  ██████▒▒▒▒··············  27/36, 75 % (59–86)  36/36 activated`.
fn line(diagnosis: &Diagnosis, variant: &DiagnosedVariant) -> String {
    let shown = if diagnosis.judges_outcome { variant.passed } else { variant.activated };
    let bar = shown.map_or_else(|| "·".repeat(usize::from(BAR)), |rate| bar(rate.interval));
    let mut parts = Vec::new();
    if diagnosis.judges_outcome {
        parts.push(variant.passed.map_or_else(
            || "not measured".to_owned(),
            |passed| format!("{} {}", fraction(passed.rate), share(passed.share, passed.interval)),
        ));
    }
    parts.extend(variant.activated.map(|activated| format!("{} activated", fraction(activated.rate))));
    if variant.not_measured > 0 {
        parts.push(format!("{} lost", variant.not_measured));
    }
    format!("  {:6}  {bar}  {}", variant.name, parts.join(", "))
}

/// A bar that is full up to the lower limit, and gray up to the upper one.
pub fn bar(interval: Interval) -> String {
    let cells = f64::from(BAR);
    let cell = |at: u8| {
        let middle = (f64::from(at) + 0.5) / cells;
        if middle <= interval.low {
            '█'
        } else if middle <= interval.high {
            '▒'
        } else {
            '·'
        }
    };
    (0..BAR).map(cell).collect()
}

/// What the trials of a run of variants took.
pub fn spending(spent: &VariantSpending) -> String {
    let planned = counted(spent.planned, "trial");
    let trials = if spent.trials < spent.planned { format!("{} of {planned}", spent.trials) } else { planned };
    let cost = spent.cost_usd.map(dollars);
    let tokens = spent.tokens.map(|tokens| format!("{tokens} tokens"));
    std::iter::once(trials).chain(cost).chain(tokens).collect::<Vec<_>>().join(", ")
}

// A comparison of models as people read it: a sentence with the cheapest within the margin of the best, and a table.

/// The widest name of a model in the table.
const NAME: usize = 22;

pub fn models_sentence(compared: &ModelComparison, paint: Paint) -> String {
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
pub fn render_models(compared: &ModelComparison, paint: Paint) -> String {
    let mut text = format!("{}\n\n", models_sentence(compared, paint));
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
