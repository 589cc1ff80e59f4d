//! `run --lift`: each case with the skills and without them, in pairs.

use std::collections::BTreeSet;

use super::RunArgs;
use crate::cli::{CliResult, compare};
use crate::engine::Loaded;
use crate::engine::choose::{self, planned};
use crate::engine::run::{RunPart, with_part};
use crate::run::preflight;

/// Runs each case with and without the skills, as often as it would run, and prints the difference that the skills make.
pub(super) fn lift(args: &RunArgs, loaded: Loaded) -> CliResult {
    let host = args.start.host(true);
    let engine = &host.engine(&args.start);
    let Loaded { repository, mut settings, catalog } = loaded.clone();
    let mut chosen = args.choice.chosen(&settings)?;
    args.choice.trial_list.choose(&mut chosen, &settings, &catalog)?;
    choose::apply(&chosen, &mut settings)?;
    engine.choose_default_modes(&repository.root, &mut settings, &catalog, &mut chosen)?;
    let run = with_part(planned(Loaded { repository, settings, catalog }, chosen.clone())?, &RunPart::All)?;
    preflight::check_decidable(&run)?;
    let modes: BTreeSet<&str> = run.plan.entries.iter().map(|entry| entry.planned.mode.name.as_str()).collect();
    let mut names = modes.into_iter();
    let (Some(mode), None) = (names.next(), names.next()) else {
        let from = if args.lift.is_none() { "`[run] lift = true` in evals.toml asks for --lift: " } else { "" };
        return Err(format!("{from}--lift compares in one mode: name it with --mode").into());
    };
    let most = |entry: &crate::run::plan::PlannedCase| entry.until.map_or(entry.repeats, |until| until.most);
    let name = |entry: &crate::run::plan::PlannedCase| entry.planned.case_in_mode().compared_as(false);
    let pairs = run.plan.entries.iter().map(|entry| (name(entry), u64::from(most(entry)))).collect();
    compare::lift(engine, &args.start, loaded, chosen, (mode, pairs))
}
