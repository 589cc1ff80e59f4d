//! The modes of cases for which nobody chose any, and the agent that proposals name: that of the recordings, else one that can run here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::agent;
use crate::cases::catalog::Catalog;
use crate::run::preflight::{is_own, missing};
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};
use crate::store::{self, StoreError};

/// A mode that is used in place of a default one.
#[derive(Clone, Debug)]
pub struct SubstituteMode {
    /// The default mode.
    pub default: String,
    pub mode: Arc<Mode>,
    /// What people have to be told, unless recordings say it.
    pub note: Option<String>,
}

/// The modes that recordings have, with how many cases are recorded in each, the most first.
fn recorded(root: &Path, settings: &Settings) -> Result<Vec<(Arc<Mode>, usize)>, StoreError> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for mode in store::modes_of_recordings(root)? {
        *counts.entry(mode).or_default() += 1;
    }
    let known = |mode: &Arc<Mode>| counts.get(&mode.name).map(|count| (Arc::clone(mode), *count));
    let mut modes: Vec<(Arc<Mode>, usize)> = settings.modes.iter().filter_map(known).collect();
    modes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Ok(modes)
}

/// For each default mode of the catalog's cases, the mode of the same delivery in which most cases are recorded, if it is another.
/// None if modes are selected.
///
/// # Errors
///
/// If the directories of the recordings cannot be read.
pub fn of_recordings(
    root: &Path,
    settings: &Settings,
    catalog: &Catalog,
) -> Result<BTreeMap<String, String>, StoreError> {
    if settings.selected_modes.is_some() {
        return Ok(BTreeMap::new());
    }
    let recorded = recorded(root, settings)?;
    let of_default = |default: &Arc<Mode>| {
        let mode = most_recorded(&recorded, default)?;
        (mode.name != default.name).then(|| (default.name.clone(), mode.name.clone()))
    };
    Ok(defaults(settings, catalog).iter().filter_map(of_default).collect())
}

/// The mode of the same delivery in which most cases are recorded: of several, the default one, else the first.
fn most_recorded<'a>(recorded: &'a [(Arc<Mode>, usize)], default: &Mode) -> Option<&'a Arc<Mode>> {
    let like: Vec<_> = recorded.iter().filter(|(mode, _)| mode.delivery == default.delivery).collect();
    let (first, most) = like.first()?;
    let own = like.iter().find(|(mode, count)| mode.name == default.name && count == most);
    Some(own.map_or(first, |(mode, _)| mode))
}

/// The default modes of the catalog's cases.
fn defaults(settings: &Settings, catalog: &Catalog) -> Vec<Arc<Mode>> {
    let names: BTreeSet<&str> = catalog.cases.iter().map(|found| found.format().default_mode).collect();
    names.into_iter().filter_map(|name| settings.mode(name).cloned()).collect()
}

/// For each default mode of the catalog's cases, the mode to use in its place, if it is another: the one in which most cases are
/// recorded, if its agent can run here or nothing is to run, else the first that can run. None if modes are selected.
///
/// # Errors
///
/// If the directories of the recordings cannot be read.
pub fn substitutes(
    root: &Path,
    settings: &Settings,
    catalog: &Catalog,
) -> Result<Vec<SubstituteMode>, StoreError> {
    if settings.selected_modes.is_some() {
        return Ok(Vec::new());
    }
    let recorded = recorded(root, settings)?;
    let can_run = |mode: &Mode| missing(settings, mode.agent, Some(mode)).is_none();
    let substitute = |default: &Arc<Mode>| {
        let of_recordings = most_recorded(&recorded, default);
        let (mode, note) = match of_recordings {
            Some(mode) if !settings.live || can_run(mode) => (mode, None),
            _ if can_run(default) => return None,
            _ => {
                let mode = AgentKind::ALL.into_iter().find_map(|kind| {
                    let is_like = |other: &&Arc<Mode>| other.agent == kind && other.delivery == default.delivery;
                    settings.modes.iter().find(is_like).filter(|other| can_run(other))
                })?;
                // An agent that nobody has is of no interest.
                let expected = of_recordings.or(Some(default).filter(|mode| is_installed(settings, mode.agent)));
                let why = expected.and_then(|mode| missing(settings, mode.agent, Some(mode)));
                let why = why.map(|why| format!("; {why}")).unwrap_or_default();
                let agent = mode.agent.profile().name;
                (mode, Some(format!("with {agent} (`{mode}`), which can run here{why}")))
            }
        };
        let is_other = mode.name != default.name;
        is_other.then(|| SubstituteMode { default: default.name.clone(), mode: Arc::clone(mode), note })
    };
    Ok(defaults(settings, catalog).iter().filter_map(substitute).collect())
}

fn is_installed(settings: &Settings, kind: AgentKind) -> bool {
    !is_own(kind) && agent::of(kind).find(settings).is_ok()
}

/// The agents that the evals of this repository are for: those of the selected modes, else those of the recordings, else the first
/// that can run here. None if nothing says it.
///
/// # Errors
///
/// If the directories of the recordings cannot be read.
pub fn agents(root: &Path, settings: &Settings) -> Result<Vec<AgentKind>, StoreError> {
    let selected = settings.selected_modes.iter().flatten().filter_map(|name| settings.mode(name));
    let mut modes: Vec<Arc<Mode>> = selected.cloned().collect();
    if modes.is_empty() {
        modes = recorded(root, settings)?.into_iter().map(|(mode, _)| mode).collect();
    }
    if modes.is_empty() {
        let can_run = |kind: &AgentKind| missing(settings, *kind, None).is_none();
        return Ok(AgentKind::ALL.into_iter().find(can_run).into_iter().collect());
    }
    let mut agents = Vec::new();
    for mode in modes {
        if !agents.contains(&mode.agent) {
            agents.push(mode.agent);
        }
    }
    Ok(agents)
}
