//! The names at `trust` in evals.toml.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cases::catalog::Catalog;
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic, suggest};
use crate::text::relative_path::resolved;

/// What `trust` names and is no plugin: a plugin that the line means stays without its hooks and servers.
pub fn unknown_plugins(settings: &Settings, catalog: &Catalog) -> Vec<Diagnostic> {
    let plugins = catalog.skills.iter().filter_map(|found| found.plugin.as_ref()?.folder.to_str());
    let known: BTreeSet<&str> = plugins.map(|folder| if folder.is_empty() { "." } else { folder }).collect();
    let known = Vec::from_iter(known);
    let path = |name: &str| resolved(Path::new(name));
    let is_known = |name: &str| known.iter().any(|known| path(known) == path(name));
    let unknown = settings.trust_places.iter().filter(|(name, _)| !is_known(name));
    let problems = unknown.map(|(name, place)| {
        let message = format!("`trust` names {name:?}, which is no directory of a plugin with skills");
        let help =
            if known.is_empty() { "remove it: no skill here is of a plugin".to_owned() } else { suggest(name, &known) };
        Diagnostic::new(Code::Config, place.clone(), message).help(help)
    });
    problems.collect()
}
