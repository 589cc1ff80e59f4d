//! What the headline of another tool is worth.

use crate::rate::{points, probability, signed};
use crate::results::compared::Headline;

/// The chance up to which a headline holds.
const ALPHA: f64 = 0.05;

/// What the tool that measured shows, and whether its scores show that.
pub fn worth(headline: &Headline) -> String {
    let Headline { tool, baseline, candidate, errors, chance } = headline;
    let (a, b) = (points(*baseline), points(*candidate));
    let worth = match chance {
        _ if a == b => "no difference".to_owned(),
        Some(p) if *p <= ALPHA => format!("it holds (p = {})", probability(*p)),
        Some(p) => format!("chance alone may do that (p = {})", probability(*p)),
        None => "no case was measured on both sides".to_owned(),
    };
    let errors = match errors {
        0 => String::new(),
        1 => "; 1 error in it, which is not counted here".to_owned(),
        errors => format!("; {errors} errors in it, which are not counted here"),
    };
    format!("{tool} itself scores {a} % → {b} %, {} points: {worth}{errors}", signed(candidate - baseline))
}
