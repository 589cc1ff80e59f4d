//! What another tool shows of the same trials.

use crate::rate::{decimals, points_to, probability, signed, signed_to};
use crate::results::compared::Headline;

/// The p up to which scores show a difference.
const ALPHA: f64 = 0.05;

/// Points from which two differences are told apart.
const POINT: f64 = 0.01;

/// What the tool that measured shows. If its scores are finer than passes, whether they differ.
pub fn worth(headline: &Headline) -> String {
    let Headline { tool, baseline, candidate, errors, by_case, p } = headline;
    let difference = candidate - baseline;
    let places = decimals(*baseline, *candidate, difference);
    let (a, b) = (points_to(*baseline, places), points_to(*candidate, places));
    // Errors, or cases with other numbers of trials, make most of it.
    let is_other = |by_case: &f64| (difference - by_case).abs() > POINT;
    let measured = match by_case {
        None => "; no case was measured on both sides".to_owned(),
        Some(by_case) if is_other(by_case) => {
            format!("; case by case, what was measured differs by {} points", signed(*by_case))
        }
        Some(_) => String::new(),
    };
    let scores = match p {
        Some(_) if a == b && !by_case.as_ref().is_some_and(is_other) => String::new(),
        Some(p) if *p <= ALPHA => format!("; by these scores the sides differ (p = {})", probability(*p)),
        Some(p) => format!("; such scores differ as much by chance (p = {})", probability(*p)),
        None => String::new(),
    };
    let errors = match errors {
        0 => String::new(),
        1 => "; 1 error in it, which is not counted here".to_owned(),
        errors => format!("; {errors} errors in it, which are not counted here"),
    };
    format!("{tool} itself scores {a} % → {b} %, {} points{measured}{scores}{errors}", signed_to(difference, places))
}
