//! What keeps a run from beginning, or each of its trials from measuring anything, found before an agent is started:
//! asked by the run itself and by a dry run.

use std::collections::BTreeMap;

use crate::agent::isolation::{self, Held};
use crate::cases::case::repetition::MOST_TRIALS;
use crate::decide::threshold;
use crate::report::diagnostics;
use crate::report::paint::Paint;
use crate::run::budget;
use crate::run::plan::{Entry, Until};
use crate::run::shared::Run;
use crate::settings::mode::Offer;
use crate::store::RunFolder;
use crate::text::diagnostic::suggest;

/// What keeps the run from beginning.
///
/// # Errors
/// What it is and what to do: skills in the settings that are not there, the judge's template or schema, limits that could never hold,
/// cases that could never be decided.
pub fn check(run: &Run) -> Result<(), String> {
    let unknown = run.settings.repetition.unknown_skills(&run.catalog);
    if !unknown.is_empty() {
        return Err(diagnostics::render(&unknown, Paint::Plain));
    }
    if run.plan.is_judged(&run.settings) {
        run.rubric().map_err(|problem| diagnostics::render(std::slice::from_ref(problem), Paint::Plain))?;
    }
    offers(run)?;
    decidable(run)?;
    if run.settings.live { budget::check(&run.settings, &run.plan) } else { Ok(()) }
}

/// Whether every skill that a planned mode offers by name is there, in the working tree or the version it asks for.
fn offers(run: &Run) -> Result<(), String> {
    let modes = run.plan.entries.iter().map(|entry| &entry.planned.mode);
    let modes: BTreeMap<_, _> = modes.map(|mode| (&mode.name, mode)).collect();
    for mode in modes.values() {
        let Offer::Only(slugs) = &mode.offer else { continue };
        let catalogs = [Some(&run.catalog), run.skills_of(mode.commit.as_deref())];
        let skills = catalogs.into_iter().flatten().flat_map(|catalog| &catalog.skills);
        let known: Vec<&str> = skills.map(|found| found.skill().slug.as_str()).collect();
        if let Some(slug) = slugs.iter().find(|slug| !known.contains(&slug.as_str())) {
            return Err(format!(
                "the mode `{}` offers `{slug}`, and there is no such skill; {}",
                mode.name,
                suggest(slug, &known)
            ));
        }
    }
    Ok(())
}

/// Refuses cases that would go on until they are decided and never could be for the better.
fn decidable(run: &Run) -> Result<(), String> {
    let never = |entry: &&Entry| {
        entry.until.is_some_and(|until| threshold::shown_by(until.threshold, u64::from(until.most)).is_none())
    };
    let Some((entry, until)) = run.plan.entries.iter().find(never).and_then(|entry| Some((entry, entry.until?))) else {
        return Ok(());
    };
    let (id, Until { threshold: share, most }) = (entry.planned.trial(1), until);
    let enough = threshold::shown_by(share, u64::from(MOST_TRIALS)).map_or_else(
        || format!("no number of trials shows a threshold of {share}"),
        |trials| format!("`trials = \"until decided at most {trials}\"` is the least that does"),
    );
    let (found, most) =
        (&entry.planned.found, diagnostics::counted(usize::try_from(most).unwrap_or(usize::MAX), "trial"));
    Err(format!(
        "{}:{}: {id} is to run until it is decided, but {most}, the most, would not show its threshold of {share} even if all \
         passed: {enough}; a lower threshold takes fewer",
        found.file.display(),
        found.line
    ))
}

/// The same for a run that does not begin, with all that it would meet on the way to its first agent. `keeps` is whether
/// it would have a folder of its own.
///
/// # Errors
/// As [`check`], and where the run cannot have its id, or agents cannot be isolated as required.
pub fn foresee(run: &Run, keeps: bool) -> Result<(), String> {
    check(run)?;
    if let Some(id) = run.settings.run_id.as_deref().filter(|_| keeps && !run.settings.resume) {
        RunFolder::check_new(&run.root, id).map_err(|error| error.to_string())?;
    }
    match isolation::held(&run.settings.isolation) {
        Held::Refused(why) if run.settings.live => Err(why),
        _ => Ok(()),
    }
}
