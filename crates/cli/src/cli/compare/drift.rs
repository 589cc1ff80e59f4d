//! How much the results of equal trials drift over days: the kept trials of earlier gates against those of later ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::CompareArgs;
use crate::cases::selection::stored_cases;
use crate::cli::CliResultOf;
use crate::cli::output::warn;
use crate::results::compared::{self, ComparisonResults};
use crate::results::stored_sides::{self, TrialSide};
use crate::results::table;
use crate::settings::{Trust, load};
use crate::store::{KeptTrial, KeptTrials};

/// Compares the kept trials of the repository at `root`, those of the earlier half of their runs with the others. Only trials
/// in which nothing differs are compared with each other.
pub fn of_kept(args: &CompareArgs, root: &Path) -> CliResultOf<ComparisonResults> {
    args.refuse_what_runs()?;
    let prices = load::read_file(root, Trust::Trusted)?.prices;
    let kept = KeptTrials::new(root, Duration::MAX)?;
    let (mut earlier, mut later) = (TrialSide::default(), TrialSide::default());
    let (mut days, mut number) = ([BTreeSet::new(), BTreeSet::new()], 0);
    for (key, trials) in kept.all() {
        let first = first_runs(&trials);
        for trial in &trials {
            let Ok(mut row) = table::row(&trial.folder, &prices) else { continue };
            let is_later = !first.contains(trial.meta.run_id.as_str());
            number += 1;
            // The same case with other skills is another case.
            row.id.mode = format!("{} {}", row.id.mode, key.get(..8).unwrap_or(&key));
            row.id.number = number;
            let side = if is_later { &mut later } else { &mut earlier };
            side.trials.record(&row);
            days[usize::from(is_later)].insert(trial.meta.started.get(..10).unwrap_or_default().to_owned());
        }
    }
    for warning in kept.warnings() {
        warn(&warning)?;
    }
    let span = |days: &BTreeSet<String>| {
        let (first, last) = (days.first().cloned().unwrap_or_default(), days.last().cloned().unwrap_or_default());
        if first == last { first } else { format!("{first} … {last}") }
    };
    earlier.label = format!("kept trials of {}", span(&days[0]));
    later.label = format!("kept trials of {}", span(&days[1]));
    let chosen =
        stored_cases(&args.select.names.selection(), &earlier.trials.cases().chain(later.trials.cases()).collect())?;
    let (a, b) = stored_sides::counts(&earlier, &later, |skill, case| chosen.contains(&(skill, case)))
        .map_err(|_| "no case has kept trials of two gates: there is nothing to compare yet")?;
    Ok(ComparisonResults { aa: true, ..compared::stored((earlier.label, later.label), &a, &b, args.rule()) })
}

/// The runs of the earlier half of these trials. All trials of a run are in the same half, since a run ends by its results. No
/// run if there is only one, which has nothing to be compared with.
fn first_runs(trials: &[KeptTrial]) -> BTreeSet<&str> {
    let mut runs: BTreeMap<&str, &str> = BTreeMap::new();
    for trial in trials {
        let began = runs.entry(&trial.meta.run_id).or_insert(&trial.meta.started);
        *began = (*began).min(&trial.meta.started);
    }
    let mut runs: Vec<(&str, &str)> = runs.into_iter().map(|(run, began)| (began, run)).collect();
    runs.sort_unstable();
    let half = runs.len() / 2;
    runs.into_iter().take(half).map(|(_, run)| run).collect()
}
