//! `run --lift`: each case with the skills and without them, in pairs.

use std::collections::BTreeMap;
use std::io::Write;

use super::{ComparedSide, LiveRequest, compared, gate, live};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::cli::start::StartArgs;
use crate::cli::{CliResult, print_answer};
use crate::decide::plan::ComparePlan;
use crate::decide::{MARGIN, Rule};
use crate::report::compared as words;
use crate::settings::Stop;
use crate::text::escape;
use crate::trial::run_record::{ComparedSides, RunChoices};

/// Runs at most this many pairs of trials of each chosen case in `mode`, and prints the difference that the skills make.
pub fn lift(start: &StartArgs, chosen: RunChoices, mode: &str, pairs: BTreeMap<String, u64>) -> CliResult {
    let side = |label: String| ComparedSide::default().called(label).in_mode(Some(mode.to_owned()));
    let mut without = side(format!("the mode {mode} without skills"));
    without.without = true;
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    let sides = compared(without, side(format!("the mode {mode}")), &rule, ComparePlan::UntilDecided);
    let max_trials = 2 * pairs.values().sum::<u64>();
    let sides = ComparedSides { pairs, ..sides };
    let measured = live::measure(LiveRequest {
        start,
        chosen,
        sides: Some(sides),
        fails: &[],
        // A look at a few trials is worth it: the interval says how little they show.
        must_decide: false,
        max_trials: Some(max_trials),
        max_age: None,
        ended: &[],
        max_cost_usd: None,
        stop: Stop::End,
        remedy: "raise --trials",
        json: false,
        within: None,
    })?;
    let live = match measured {
        Ok(live) => live,
        Err(exit) => return Ok(exit),
    };
    print_answer(&live.compared, (false, start.quiet), [words::sentence, words::render])?;
    let exit = gate::exit(&live.compared.comparison.results, &[]);
    let lost = || live.compared.lost().map(|lost| format!("{lost}; {}", live.remedy));
    let lacks = live.ended_early.or_else(lost);
    if let Some(why) = &lacks {
        writeln!(stderr(), "{}", escape::line(why))?;
    }
    if let Some(folder) = live.folder.filter(|_| !start.quiet) {
        writeln!(text_stdout(), "{}", folder.display())?;
    }
    let is_open = lacks.is_some() && exit != Exit::Problems;
    Ok(if is_open { Exit::Infrastructure } else { exit }.of_live(lacks.is_some()))
}
