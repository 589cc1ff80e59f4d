//! What `run` can be told to choose, and what that makes of the settings.

use std::str::FromStr;

use clap::Args;

use crate::cli::select::{self, SelectArgs};
use skill_evals::settings::trials::Trials;
use skill_evals::trial::run_record::RunChoices;

/// Options that decide what is measured: a resumed run takes those of its first part.
#[derive(Args)]
pub struct ChoiceArgs {
    /// Only trials whose test name contains one of these, as with `cargo test`: `greeting`, `xlsx/verify`, `::codex`.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    /// Mode to use (repeatable)
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// Trials of each case, whatever the case says: a number, `until decided`, or `until decided at most N`
    #[arg(long, value_name = "N", value_parser = Trials::from_str)]
    trials: Option<Trials>,
    /// Share of a case's trials that must pass, whatever the case says: 0.8 is four of five
    #[arg(long, value_name = "SHARE", value_parser = select::share)]
    threshold: Option<f64>,
    /// Replay recordings; start no agent.
    #[arg(long)]
    replay: bool,
}

impl ChoiceArgs {
    /// What was said.
    pub fn chosen(&self) -> RunChoices {
        let mut chosen = self.select.chosen();
        chosen.modes.clone_from(&self.mode);
        chosen.trials = self.trials;
        chosen.threshold = self.threshold;
        chosen.replay = self.replay;
        chosen.filters.clone_from(&self.filters);
        chosen
    }
}
