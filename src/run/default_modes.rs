//! The modes of cases for which nobody chose any, and the agent that proposals name: that of the recordings, else one that can run here.

use std::path::Path;
use std::sync::Arc;

use crate::agent;
use crate::cases::catalog::Catalog;
use crate::run::preflight::{is_own, missing, missing_writer};
use crate::run::recorded_modes::{defaults, most_recorded, recorded};
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};

/// A mode that is used in place of a default one.
#[derive(Clone, Debug)]
pub struct SubstituteMode {
    /// The default mode.
    pub default: String,
    pub mode: Arc<Mode>,
    /// What people have to be told, unless recordings say it.
    pub note: Option<String>,
}

/// For each default mode of the catalog's cases, the mode to use in its place, if it is another: the one in which most cases are
/// recorded, if its agent can run here or nothing is to run, else the first that can run. None if modes are selected.
pub fn substitutes(root: &Path, settings: &Settings, catalog: &Catalog) -> Vec<SubstituteMode> {
    if settings.selected_modes.is_some() {
        return Vec::new();
    }
    let recorded = recorded(root, settings);
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
    defaults(settings, catalog).iter().filter_map(substitute).collect()
}

fn is_installed(settings: &Settings, kind: AgentKind) -> bool {
    !is_own(kind) && agent::of(kind).find(settings).is_ok()
}

/// The agents that a run of this repository takes: those of the selected modes, else those of the default modes or what recordings
/// or this machine put in their place. None if nothing says it.
pub fn agents(root: &Path, settings: &Settings, catalog: &Catalog) -> Vec<AgentKind> {
    let settings = &Settings { live: false, ..settings.clone() };
    let mut modes: Vec<Arc<Mode>> = Vec::new();
    if let Some(selected) = &settings.selected_modes {
        modes.extend(selected.iter().filter_map(|name| settings.mode(name)).cloned());
    } else {
        let (recorded, substitutes) = (recorded(root, settings), substitutes(root, settings, catalog));
        for default in defaults(settings, catalog) {
            let substitute = substitutes.iter().find(|substitute| substitute.default == default.name);
            let is_known = || most_recorded(&recorded, &default).is_some() || can_run(settings, default.agent);
            modes.extend(substitute.map(|found| &found.mode).or_else(|| is_known().then_some(&default)).cloned());
        }
    }
    let mut agents = Vec::new();
    for mode in modes {
        if !agents.contains(&mode.agent) {
            agents.push(mode.agent);
        }
    }
    agents
}

/// The agent that can draft here: one of those that a run takes, else the first that can run.
pub fn drafter(root: &Path, settings: &Settings, catalog: &Catalog) -> Option<AgentKind> {
    let agents = agents(root, settings, catalog);
    agents.into_iter().chain(AgentKind::ALL).find(|kind| missing_writer(settings, *kind, None).is_none())
}

fn can_run(settings: &Settings, kind: AgentKind) -> bool {
    missing(settings, kind, None).is_none()
}
