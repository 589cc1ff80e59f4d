//! From what was chosen to the trials that are planned.

use std::path::Path;

use super::{Engine, Loaded};
use crate::cases::catalog::Catalog;
use crate::report::trial_text::RerunCommand;
use crate::run::planned::PlannedRun;
use crate::run::{default_modes, plan, replay_model};
use crate::settings::{Settings, TestSelection};
use crate::store::{self, RunFolder};
use crate::text::diagnostic::nearest_few;
use crate::text::name::Filters;
use crate::text::problem::Problem;
use crate::trial::run_record::RunChoices;

/// Makes the settings those of what was chosen.
pub fn apply(chosen: &RunChoices, settings: &mut Settings) -> Result<(), Problem> {
    if chosen.overrides.untrusted == Some(true) && !settings.untrusted {
        return Err("this run began with `--untrusted`: give it again".into());
    }
    settings.live = !chosen.replay;
    if !chosen.modes.is_empty() {
        settings.select_modes(&chosen.modes)?;
    }
    if settings.resume || !chosen.default_modes.is_empty() {
        settings.default_modes.clone_from(&chosen.default_modes);
    }
    chosen.overrides.apply(settings);
    if settings.replay_model {
        // An earlier part of the run says less than this, and a run with a model something else.
        replay_model::choose(settings);
    }
    if chosen.selects() {
        settings.selection.clone_from(&chosen.selection);
    }
    Ok(())
}

/// The run of the chosen cases. The settings have the choices already.
pub fn planned(loaded: Loaded, mut chosen: RunChoices) -> Result<PlannedRun, Problem> {
    let Loaded { repository, mut settings, catalog } = loaded;
    let names = filters(&chosen.filters, &mut settings.selection, &catalog);
    if names.len() < chosen.filters.len() {
        chosen.selection.clone_from(&settings.selection);
        chosen.filters = names;
    }
    let plan = plan::plan(&repository.root, &settings, &catalog, &Filters::new(&chosen.filters, false))?;
    let mut run = PlannedRun::new(repository.root, settings, catalog).with_plan(plan);
    run.rerun_command = RerunCommand::Program(chosen.overrides.model.clone());
    run.chosen = chosen;
    Ok(run)
}

/// The filters of test names. One that is the path of a skill or of its cases selects this skill instead.
pub fn filters(asked: &[String], selection: &mut TestSelection, catalog: &Catalog) -> Vec<String> {
    let (paths, names): (Vec<&String>, Vec<&String>) =
        asked.iter().partition(|asked| catalog.skill_at(asked).is_some());
    let skills = paths.into_iter().filter_map(|path| catalog.skill_at(path));
    selection.skills.extend(skills.map(|found| found.skill().slug.clone()));
    names.into_iter().cloned().collect()
}

/// The error if no case is selected: it names the trials nearest to the first filter.
pub fn no_match(filters: &[String], catalog: &Catalog, settings: &Settings) -> String {
    let Some(filter) = filters.first() else { return "no case is selected".to_owned() };
    let planned = catalog.cases.iter().flat_map(|found| plan::planned(settings, found, &[]));
    let names: Vec<String> = planned.map(|planned| planned.trial(1).to_string()).collect();
    let nearest = nearest_few(filter, names.iter().map(String::as_str), 3);
    format!("no trial has a name that contains `{filter}`; nearest: {}", nearest.join(", "))
}

/// The run that the settings say to resume.
pub fn to_resume(root: &Path, settings: &Settings) -> Result<RunFolder, Problem> {
    let Some(id) = &settings.run_id else {
        let latest = store::runs(root)?.first().map(|run| format!("; the latest run is {}", run.id()));
        return Err(format!("--resume needs --run-id{}", latest.unwrap_or_default()).into());
    };
    Ok(RunFolder::open(root, id)?)
}

impl Engine<'_> {
    /// Chooses a mode for each default one whose agent cannot run here, or that recordings do not have, and says so if they do not
    /// show it. The settings have the choices already. What somebody chose stays, and what an earlier part of the run chose.
    ///
    /// # Errors
    ///
    /// If the directories of the recordings cannot be read.
    pub fn choose_default_modes(
        &self,
        root: &Path,
        settings: &mut Settings,
        catalog: &Catalog,
        chosen: &mut RunChoices,
    ) -> Result<(), Problem> {
        if !settings.live || settings.replay_model || settings.resume || !chosen.default_modes.is_empty() {
            return Ok(());
        }
        for substitute in default_modes::substitutes(root, settings, catalog) {
            if let Some(note) = substitute.note {
                self.host.note(&format!("{note}; to choose: --agent, or `modes` in evals/evals.toml"));
            }
            chosen.default_modes.insert(substitute.default, substitute.mode.name.clone());
        }
        settings.default_modes.clone_from(&chosen.default_modes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::run_record::Overrides;

    #[test]
    fn what_resumes_a_run_against_recorded_answers_asks_no_server_either() {
        let mut settings = Settings::default();
        let earlier = Overrides {
            replay_model: Some(true),
            endpoint: Some("https://example.com".to_owned()),
            network: Some("web".to_owned()),
            ..Overrides::default()
        };
        apply(&RunChoices { overrides: earlier, ..RunChoices::default() }, &mut settings).expect("choices");
        let mut chosen = Settings::default();
        replay_model::choose(&mut chosen);
        assert_eq!((&settings.endpoint, &settings.scripted), (&chosen.endpoint, &chosen.scripted));
        assert!(settings.network.reach == chosen.network.reach && settings.retries == 0);
        assert!(Overrides::of(&settings).replay_model == Some(true));
    }
}
