//! What the headline of another tool is worth.

use crate::decide::ResultBasis;
use crate::decide::result::CompareResult;
use crate::rate::{points, probability, signed};
use crate::results::compared::{ComparisonResults, Headline};

/// What the tool that measured shows, and whether these trials show that.
pub fn worth(compared: &ComparisonResults) -> Option<String> {
    let Headline { tool, baseline, candidate, errors } = compared.headline.as_ref()?;
    let (a, b) = (points(*baseline), points(*candidate));
    let has = |result| compared.comparison.results.contains(&result);
    let rose = candidate > baseline;
    let worth = match compared.comparison.evidence {
        _ if points(*baseline) == points(*candidate) => "no difference".to_owned(),
        _ if rose && has(CompareResult::Better) || !rose && has(CompareResult::Worse) => "it holds".to_owned(),
        ResultBasis::Fixed { p_shown, .. } if has(CompareResult::Undecided) => {
            format!("chance alone may do that (p = {})", probability(p_shown))
        }
        _ => "the answer above differs".to_owned(),
    };
    let errors = match errors {
        0 => String::new(),
        1 => "; 1 error in it, which is not counted here".to_owned(),
        errors => format!("; {errors} errors in it, which are not counted here"),
    };
    Some(format!("{tool} itself scores {a} % → {b} %, {} points: {worth}{errors}", signed(candidate - baseline)))
}
