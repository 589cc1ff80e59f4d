//! What the headline of another tool is worth.

use crate::rate::{decimals, points_to, probability, signed, signed_to};
use crate::results::compared::Headline;

/// The p up to which a headline holds.
const ALPHA: f64 = 0.05;

/// Points from which two differences are told apart.
const POINT: f64 = 0.01;

/// What the tool that measured shows, and whether its scores show that.
pub fn worth(headline: &Headline) -> String {
    let Headline { tool, baseline, candidate, errors, by_case, p } = headline;
    let difference = candidate - baseline;
    let places = decimals(*baseline, *candidate, difference);
    let (a, b) = (points_to(*baseline, places), points_to(*candidate, places));
    let worth = match by_case.zip(*p) {
        None => "no case was measured on both sides".to_owned(),
        // Errors, or cases with other numbers of trials, make most of it.
        Some((by_case, p)) if (difference - by_case).abs() > POINT => {
            format!(
                "case by case, what was measured differs by {} points (two-sided p = {})",
                signed(by_case),
                probability(p)
            )
        }
        _ if a == b => "no difference".to_owned(),
        Some((_, p)) if p <= ALPHA => format!("it holds (two-sided p = {})", probability(p)),
        Some((_, p)) => format!("chance alone may do that (two-sided p = {})", probability(p)),
    };
    let errors = match errors {
        0 => String::new(),
        1 => "; 1 error in it, which is not counted here".to_owned(),
        errors => format!("; {errors} errors in it, which are not counted here"),
    };
    format!("{tool} itself scores {a} % → {b} %, {} points: {worth}{errors}", signed_to(difference, places))
}
