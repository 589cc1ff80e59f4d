//! The agent of cases for which nobody chose one: that of their format, or one that can run here.

use std::io::{self, Write};

use crate::cases::catalog::Catalog;
use crate::cli::output::stderr;
use crate::run::preflight::stand_ins;
use crate::settings::Settings;
use crate::text::escape;
use crate::trial::run_record::RunChoices;

/// Chooses a mode for each default one whose agent cannot run here, and says so on standard error. The settings have the choices
/// already. What somebody chose stays, and what an earlier part of the run chose.
pub fn choose(settings: &mut Settings, catalog: &Catalog, chosen: &mut RunChoices) -> io::Result<()> {
    if !settings.live || settings.resume || !chosen.default_modes.is_empty() {
        return Ok(());
    }
    for stand_in in stand_ins(settings, catalog) {
        let how = "--agent or `modes` in evals/evals.toml chooses another";
        writeln!(stderr(), "{}", escape::line(&format!("{stand_in}; {how}")))?;
        chosen.default_modes.insert(stand_in.default, stand_in.mode.name);
    }
    settings.default_modes.clone_from(&chosen.default_modes);
    Ok(())
}
