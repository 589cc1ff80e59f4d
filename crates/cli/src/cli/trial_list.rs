//! The option that chooses trials by a list.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::path::PathBuf;

use clap::Args;

use crate::cases::catalog::Catalog;
use crate::files::bounded;
use crate::settings::Settings;
use crate::text::diagnostic::nearest_few;
use crate::text::name::{as_test_name, segment};
use crate::text::problem::{About, Problem};
use crate::trial::run_record::RunChoices;

/// Chooses the trials of a list.
#[derive(Args)]
pub struct TrialListArgs {
    /// Only the trials in this file, one on each line, as `list` prints them; `-` is stdin
    #[arg(long, alias = "ids", value_name = "FILE|-", conflicts_with_all = ["case", "mode", "agent", "failed", "stale", "aged", "max_skills", "max_cases", "background"])]
    cases_from: Option<PathBuf>,
}

impl TrialListArgs {
    /// Adds the trials and their modes to the choices.
    pub fn choose(&self, chosen: &mut RunChoices, settings: &Settings, catalog: &Catalog) -> Result<(), Problem> {
        let Some(path) = &self.cases_from else { return Ok(()) };
        let is_stdin = path.as_os_str() == "-";
        let file = if is_stdin { "stdin".to_owned() } else { path.display().to_string() };
        // Not only regular files: a shell names a pipe in `--cases-from <(skill-evals list)`.
        let text =
            if is_stdin { bounded::read_stream(io::stdin()) } else { File::open(path).and_then(bounded::read_stream) };
        let text = text.about(format_args!("--cases-from {file}"))?;
        let known = KnownIds::new(settings, catalog);
        let (mut ids, mut modes) = (BTreeSet::new(), BTreeSet::new());
        let text = text.trim_start_matches('\u{feff}');
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            // `list` prints columns after the id.
            let id = line.split('\t').next().unwrap_or_default();
            let (case, mode) = known.find(id).about(format_args!("{file}:{}", index + 1))?;
            ids.insert(format!("{case}/{mode}"));
            modes.insert(mode.to_owned());
        }
        if ids.is_empty() {
            return Err(format!("--cases-from {file} has no ids: expected the lines of `skill-evals list`").into());
        }
        chosen.modes = modes.into_iter().collect();
        chosen.trials_by_name = ids.into_iter().collect();
        Ok(())
    }
}

/// The cases as `skill/case` and the modes, by their part of a test's name: `list --json` prints that too.
struct KnownIds<'a> {
    settings: &'a Settings,
    cases: HashMap<String, String>,
    modes: HashMap<String, &'a str>,
}

impl<'a> KnownIds<'a> {
    fn new(settings: &'a Settings, catalog: &Catalog) -> Self {
        let cases = catalog.cases.iter().map(|found| format!("{}/{}", found.skill, found.id));
        Self {
            settings,
            cases: cases.map(|case| (as_test_name(&case, true), case)).collect(),
            modes: settings.modes.iter().map(|mode| (segment(&mode.name), mode.name.as_str())).collect(),
        }
    }

    /// The case and the mode of an id.
    fn find(&self, id: &str) -> Result<(&str, &'a str), Problem> {
        let name = as_test_name(id, true);
        let Some((case, mode)) = name.rsplit_once("::").filter(|(case, _)| case.contains("::")) else {
            return Err(format!("`{id}`: expected skill/case/mode, as `skill-evals list` prints it").into());
        };
        let found = self.cases.get(case).ok_or_else(|| {
            let nearest = nearest_few(id, self.cases.values().map(String::as_str), 3).join(", ");
            format!("unknown trial `{id}`; nearest cases: {nearest}")
        })?;
        let mode = self.modes.get(mode).ok_or_else(|| {
            let mode = id.rsplit(['/', ':']).next().unwrap_or_default();
            format!("unknown trial `{id}`: {}", self.settings.unknown_mode(mode))
        })?;
        Ok((found, mode))
    }
}
