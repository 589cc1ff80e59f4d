//! `run --lift`: each case with the skills and without them, in pairs.

use std::collections::BTreeMap;
use std::io::Write;

use super::{DryRun, measure};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::cli::start::StartArgs;
use crate::cli::{CliResult, print_answer};
use crate::engine::compare::{self, ComparisonRequest};
use crate::engine::{Engine, Loaded};
use crate::report::compared as words;
use crate::text::escape;
use crate::trial::run_record::RunChoices;

/// Runs at most this many pairs of trials of each chosen case in `mode`, and prints the difference that the skills make.
pub fn lift(
    engine: &Engine<'_>,
    start: &StartArgs,
    loaded: Loaded,
    chosen: RunChoices,
    (mode, pairs): (&str, BTreeMap<String, u64>),
) -> CliResult {
    let request = ComparisonRequest { chosen, ..compare::lift(mode, pairs) };
    let live = match measure(engine, start, loaded, request, DryRun::default())? {
        Ok(live) => live,
        Err(exit) => return Ok(exit),
    };
    print_answer(&live.compared, (false, start.quiet), [words::sentence, words::render])?;
    let exit = super::exit(&live.compared.comparison.results, &[]);
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
