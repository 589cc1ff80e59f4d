//! What `run` prints when it ends.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Instant;

use super::RunArgs;
use crate::cli::color::paint;
use crate::cli::next_step::after_built_in;
use crate::cli::output::{Stream, text_stdout};
use crate::process::interrupt;
use crate::report::trial_text::scripted;
use crate::report::{comparison, table};
use crate::results::summary::Summary;
use crate::run::started::StartedRun;
use crate::settings::mode::Mode;
use crate::text::escape;
use crate::trial::outcome::{Outcome, Verdict};

/// Prints the results, those that did not pass last.
pub(super) fn results(
    args: &RunArgs,
    run: &StartedRun,
    summary: &Summary,
    modes: &[Mode],
    outcomes: &[Outcome],
    start: Instant,
) -> io::Result<()> {
    let paint = paint(Stream::Output);
    let mut out = text_stdout();
    let closing = table::closing(summary, paint);
    let time = table::clock(start.elapsed());
    if args.start.quiet {
        writeln!(out, "{closing}")?;
    } else if args.watch.is_some() {
        writeln!(out, "{closing}; took {time}")?;
        write_scripted(&mut out, summary)?;
    } else if args.prints_details() {
        let compared = comparison::comparison(&compared_outcomes(outcomes, args.verbose), modes, paint);
        if !compared.is_empty() {
            write!(out, "\n{compared}")?;
        }
        write!(out, "\n{}", table::triggering(summary))?;
        if run.plan.len() > 1 {
            out.write_all(table::table(summary, args.verbose, paint).as_bytes())?;
        }
        write!(out, "{closing}; took {time}\n{}", table::shown(summary))?;
        if let Some(note) = super::repeats::fewer_recorded(run, summary).filter(|_| !run.settings.live) {
            writeln!(out, "{note}")?;
        }
        write_scripted(&mut out, summary)?;
        if let Some(path) = run.folder() {
            writeln!(out, "{}", path.display())?;
        }
        if run.settings.live && !interrupt::raised() {
            after_built_in(run.plan.entries.iter().map(|entry| entry.planned.found.as_ref()));
        }
    }
    out.flush()
}

fn write_scripted(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    summary.scripted.iter().try_for_each(|by| writeln!(out, "{}", escape::line(&scripted(by))))
}

/// The outcomes of cases that did not pass in every mode; with `verbose`, all.
fn compared_outcomes(outcomes: &[Outcome], verbose: bool) -> Vec<&Outcome> {
    let not_passed = outcomes.iter().filter(|outcome| verbose || outcome.grade.verdict != Verdict::Pass);
    let cases: BTreeSet<_> = not_passed.map(|outcome| (&outcome.id.skill, &outcome.id.case)).collect();
    outcomes.iter().filter(|outcome| cases.contains(&(&outcome.id.skill, &outcome.id.case))).collect()
}
