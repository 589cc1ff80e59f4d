//! The modes in which cases are recorded: a case for which nobody chose a mode runs in that of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::cases::catalog::Catalog;
use crate::settings::Settings;
use crate::settings::mode::Mode;
use crate::store;

/// The modes that recordings have, with how many cases are recorded in each, the most first.
pub fn recorded(root: &Path, settings: &Settings) -> Vec<(Arc<Mode>, usize)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for mode in store::modes_of_recordings(root) {
        *counts.entry(mode).or_default() += 1;
    }
    let known = |mode: &Arc<Mode>| counts.get(&mode.name).map(|count| (Arc::clone(mode), *count));
    let mut modes: Vec<(Arc<Mode>, usize)> = settings.modes.iter().filter_map(known).collect();
    modes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    modes
}

/// For each default mode of the catalog's cases, the mode of the same delivery in which most cases are recorded, if it is another.
/// None if modes are selected.
pub fn of_recordings(root: &Path, settings: &Settings, catalog: &Catalog) -> BTreeMap<String, String> {
    if settings.selected_modes.is_some() {
        return BTreeMap::new();
    }
    let recorded = recorded(root, settings);
    let of_default = |default: &Arc<Mode>| {
        let mode = most_recorded(&recorded, default)?;
        (mode.name != default.name).then(|| (default.name.clone(), mode.name.clone()))
    };
    defaults(settings, catalog).iter().filter_map(of_default).collect()
}

/// The mode of the same delivery in which most cases are recorded: of several, the default one, else the first.
pub fn most_recorded<'a>(recorded: &'a [(Arc<Mode>, usize)], default: &Mode) -> Option<&'a Arc<Mode>> {
    let like: Vec<_> = recorded.iter().filter(|(mode, _)| mode.delivery == default.delivery).collect();
    let (first, most) = like.first()?;
    let own = like.iter().find(|(mode, count)| mode.name == default.name && count == most);
    Some(own.map_or(first, |(mode, _)| mode))
}

/// The default modes of the catalog's cases.
pub fn defaults(settings: &Settings, catalog: &Catalog) -> Vec<Arc<Mode>> {
    let names: BTreeSet<&str> = catalog.cases.iter().map(|found| found.format().default_mode).collect();
    names.into_iter().filter_map(|name| settings.mode(name).cloned()).collect()
}
