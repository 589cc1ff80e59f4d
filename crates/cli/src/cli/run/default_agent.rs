//! The agent of cases for which nobody chose one: that of their format, or one that can run here.

use std::collections::BTreeSet;

use crate::cases::catalog::Catalog;
use crate::run::preflight;
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};

/// Replaces each default mode of the catalog's cases whose agent cannot run here by the mode of the same delivery of the first
/// agent that can. Returns what to tell the user, a line for each.
pub(super) fn choose(settings: &mut Settings, catalog: &Catalog) -> Vec<String> {
    if !settings.live || settings.selected_modes.is_some() {
        return Vec::new();
    }
    let defaults: BTreeSet<&str> = catalog.cases.iter().map(|found| found.format().default_mode).collect();
    let mut told = Vec::new();
    for name in defaults {
        let Some(mode) = settings.mode(name) else { continue };
        let Some(why) = preflight::missing(settings, mode.agent, Some(mode)) else { continue };
        let Some(other) = instead_of(settings, mode) else { continue };
        told.push(format!(
            "{why}; {} can run here: its mode `{other}` stands in for `{name}`; --agent or `modes` in evals/evals.toml chooses another",
            other.agent.as_str()
        ));
        settings.default_modes.insert(name.to_owned(), other.name.clone());
    }
    told
}

/// The mode with the delivery of `mode` of the first agent of the registry that can run here.
fn instead_of(settings: &Settings, mode: &Mode) -> Option<Mode> {
    AgentKind::ALL.into_iter().find_map(|kind| {
        let of_agent = |other: &&std::sync::Arc<Mode>| other.agent == kind && other.delivery == mode.delivery;
        let other = settings.modes.iter().find(of_agent)?;
        preflight::missing(settings, kind, Some(other)).is_none().then(|| Mode::clone(other))
    })
}
