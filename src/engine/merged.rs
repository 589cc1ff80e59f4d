//! The comparison of a gate that ran in shards.

use std::time::Duration;

use jiff::Timestamp;

use super::Engine;
use super::compare::MeasuredComparison;
use super::gate::Gate;
use crate::decide::sequential::Pair;
use crate::results::stored_comparison;
use crate::run::merge::{self, MergedRun};
use crate::settings::GateSettings;
use crate::store::RunFolder;
use crate::text::problem::Problem;
use crate::trial::run_record::{ComparedSides, RunRecord};
use crate::trial::shard::Shard;

impl Gate {
    /// Merges the shards of this gate into one run, and compares its sides. They must have compared the same cases, as they are here,
    /// with the same base.
    ///
    /// # Errors
    ///
    /// If they do not belong together.
    pub fn merge(&self, engine: &Engine<'_>, shards: &[RunFolder]) -> Result<MeasuredComparison, Problem> {
        let request = self.request();
        let run = engine.once_each(self.loaded().clone(), request.chosen.clone(), &request, true)?;
        for shard in shards {
            check(shard, self.commit(), self.asked())?;
            merge::check_cases(&run, shard)?;
        }
        let id = shards.first().and_then(|shard| Shard::of_run(shard.id())).map_or("gate", |(id, _)| id);
        let merged = merge::merge(&run.root, &run.settings, shards, id)?;
        for agents in &merged.mixed_agents {
            engine.host.warn(&format!("the shards ran different versions of an agent: {agents}"));
        }
        let record = merged.run.run_record()?.ok_or("the merged run has no record")?;
        let sides = record.sides.as_ref().ok_or("the merged run compares nothing")?;
        let course = stored_comparison::course(&merged.run, sides)?;
        let time = time(&record).unwrap_or_default();
        let mut took = stored_comparison::run_cost(&merged.run, sides, &merged.summary, time)?;
        took.max_cost_usd = run.settings.max_cost_usd;
        let (ended_early, remedy) = behind(&merged, &record.merged, sides)?;
        Ok(MeasuredComparison {
            compared: stored_comparison::compared(&merged.run, sides, &course)?,
            folder: Some(merged.run.path().to_path_buf()),
            ended_early,
            remedy,
            cost_usd: took.spent.cost_usd,
            took,
        })
    }
}

/// The time from the start of the first shard to the end of the last.
fn time(record: &RunRecord) -> Option<Duration> {
    let read = |text: &str| text.parse::<Timestamp>().ok();
    Some(read(&record.ended.as_ref()?.at)?.duration_since(read(&record.created)?).unsigned_abs())
}

/// Refuses a shard that compared something else.
fn check(shard: &RunFolder, commit: &str, asked: &GateSettings) -> Result<(), Problem> {
    let id = shard.id();
    let sides = shard.run_record().map_err(|error| error.to_string())?.and_then(|record| record.sides);
    let sides =
        sides.ok_or_else(|| format!("{id} compares nothing: `skill-evals gate --shard` makes what is merged here"))?;
    if sides.baseline.commit.as_deref() != Some(commit) {
        return Err(
            format!("{id} compared with {}: give every shard and --merge the same base", sides.baseline.label).into()
        );
    }
    if sides.plan != asked.plan {
        return Err(format!(
            "{id} had the plan `{}`: give every shard and --merge the same --plan",
            sides.plan.as_str()
        )
        .into());
    }
    let alpha = asked.alpha() / f64::from(Shard::of_run(id).map_or(1, |(_, shard)| shard.of));
    if (sides.alpha / alpha - 1.0).abs() > 1e-6 {
        return Err(
            format!("{id} ran under another `promise` of evals.toml: give every shard and --merge the same").into()
        );
    }
    Ok(())
}

/// Why shards keep the comparison from its end, and how to measure trials that were lost.
fn behind(merged: &MergedRun, ids: &[String], sides: &ComparedSides) -> Result<(Option<String>, String), Problem> {
    let absent = merged.absent.iter().map(|shard| format!("shard {shard} is not here: run it, then merge again"));
    let (mut early, mut lost): (Vec<String>, Vec<&str>) = (absent.collect(), Vec::new());
    for (id, shard) in ids.iter().zip(&sides.shards) {
        let course = stored_comparison::course(&merged.run, shard)?;
        if !course.is_done() {
            early.push(format!("{id} ended early: {}", remedy(&[id])));
        }
        if !course.pairs().iter().all(Pair::is_measured) {
            lost.push(id);
        }
    }
    Ok(((!early.is_empty()).then(|| early.join("; ")), remedy(&lost)))
}

/// How to measure what shards did not.
fn remedy(shards: &[&str]) -> String {
    let shards: Vec<String> = shards.iter().filter_map(|id| Some(Shard::of_run(id)?.1.to_string())).collect();
    format!("run shard {} again, then merge again", shards.join(", "))
}
