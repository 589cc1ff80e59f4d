//! Which answers of a comparison fail, and whether its numbers can give those answers at all.

use clap::ValueEnum;

use crate::cli::exit_code::Exit;
use skill_evals::decide::Rule;
use skill_evals::decide::plan::{AwaitedResult, UnreachableResult};
use skill_evals::decide::result::CompareResult;

/// A word that `--gate` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    Better,
    Worse,
    NoWorse,
    Undecided,
}

impl Gate {
    fn of(word: CompareResult) -> Option<Self> {
        match word {
            CompareResult::Better => Some(Self::Better),
            CompareResult::Worse => Some(Self::Worse),
            CompareResult::NoWorse { .. } => Some(Self::NoWorse),
            CompareResult::Undecided { .. } => Some(Self::Undecided),
            CompareResult::NothingMeasured => None,
        }
    }
}

/// The exit code of an answer.
pub fn exit(word: CompareResult, gate: &[Gate]) -> Exit {
    match (Gate::of(word), gate) {
        (None, _) | (Some(Gate::Undecided), []) => Exit::Infrastructure,
        (Some(Gate::Worse), []) => Exit::Problems,
        (Some(_), []) => Exit::Clean,
        (Some(word), gate) if gate.contains(&word) => Exit::Problems,
        _ => Exit::Clean,
    }
}

/// Refuses a gate that can never fail, or never pass. `reach` says whether a claim can be made with these numbers, of
/// what the numbers are and how to get more of them.
///
/// # Errors
/// What cannot be said, and the numbers that would do.
pub fn check(
    gate: &[Gate],
    rule: &Rule,
    (numbers, remedy): (&str, &str),
    reach: impl Fn(AwaitedResult) -> Result<(), UnreachableResult>,
) -> Result<(), String> {
    let said = |words: &[Gate]| -> Result<(), UnreachableResult> {
        let mut last = None;
        for word in words {
            let result = match word {
                Gate::Undecided => Ok(()),
                Gate::Better => reach(AwaitedResult::Better),
                Gate::Worse => reach(AwaitedResult::Worse),
                Gate::NoWorse => reach(AwaitedResult::NoWorse),
            };
            match result {
                Ok(()) => return Ok(()),
                Err(unreachable) => last = Some(unreachable),
            }
        }
        last.map_or(Ok(()), Err)
    };
    let fails: &[Gate] = if gate.is_empty() { &[Gate::Worse] } else { gate };
    let all = [Gate::Better, Gate::Worse, Gate::NoWorse, Gate::Undecided];
    let passes: Vec<Gate> = all.into_iter().filter(|word| !fails.contains(word)).collect();
    if passes.is_empty() {
        return Err("this gate can never pass: it names every result; leave one out".to_owned());
    }
    let refused = |verb: &str, unreachable: UnreachableResult| {
        let needed = match unreachable.needed {
            Some(needed) => format!("it takes {needed} {numbers}, and there are {}", unreachable.have),
            None => format!("no number of {numbers} does"),
        };
        format!(
            "this gate can never {verb} at these numbers: {needed} (α {}, margin {}); {remedy}, or choose other results",
            rule.alpha,
            rule.margin.unwrap_or_default()
        )
    };
    said(fails).map_err(|unreachable| refused("fail", unreachable))?;
    said(&passes).map_err(|unreachable| refused("pass", unreachable))
}
