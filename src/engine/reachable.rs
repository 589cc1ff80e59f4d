//! Whether the trials of a comparison can give the results that are asked of it at all.

use crate::decide::Rule;
use crate::decide::plan::UnreachableResult;
use crate::decide::result::CompareResult;
use crate::text::problem::Problem;

/// Refuses a gate that can never fail, or never pass. `reach` says whether a result can be reached with the `numbers` of
/// trials, and `remedy` how to get more of them.
pub fn check(
    gate: &[CompareResult],
    rule: &Rule,
    numbers: &str,
    remedy: &str,
    reach: impl Fn(CompareResult) -> Result<(), UnreachableResult>,
) -> Result<(), Problem> {
    let fails = if gate.is_empty() { &CompareResult::HARM } else { gate };
    let passes: Vec<CompareResult> =
        CompareResult::GATED.into_iter().filter(|result| !fails.contains(result)).collect();
    if passes.is_empty() {
        return Err("this gate can never pass: it names every result; leave one out".into());
    }
    for (verb, results) in [("fail", fails), ("pass", &passes)] {
        let unreachable: Vec<UnreachableResult> = results.iter().filter_map(|result| reach(*result).err()).collect();
        if unreachable.len() < results.len() {
            continue;
        }
        let nearest = unreachable.iter().min_by_key(|unreachable| unreachable.needed.unwrap_or(u64::MAX));
        let needed = match nearest.and_then(|nearest| Some((nearest.needed?, nearest.have))) {
            Some((needed, have)) => format!("it takes {needed} {numbers}, and there are {have}"),
            None => format!("no number of {numbers} does"),
        };
        return Err(format!(
            "this gate can never {verb} at these numbers: {needed} (α {}, margin {}); {remedy}",
            rule.alpha,
            rule.margin.unwrap_or_default()
        )
        .into());
    }
    Ok(())
}
