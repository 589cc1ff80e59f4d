//! A diagnosis as people read it: a sentence that says what to fix, and a picture of the variants.

use std::fmt::Write;

use crate::diagnostics::counted;
use crate::paint::{Paint, Tone};
use crate::rate::{fraction, points, share, signed};
use crate::results::diagnosis::{DiagnosedPart, DiagnosedVariant, Diagnosis, DiagnosisAdvice};
use crate::results::variants::{VariantRate, VariantSpending};
use crate::stats::Interval;
use crate::table::dollars;
use crate::text::escape;
use crate::trial::variants::Variant;
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
    let Interval { low, high } = part.difference.interval;
    format!("95 %: {} … {}", signed(low), signed(high))
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
