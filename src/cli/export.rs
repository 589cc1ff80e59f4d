//! The options by which results are exported, one for each export that there is.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};

use super::github::add_to_page;
use skill_evals::cases::catalog::Catalog;
use skill_evals::process::git;
use skill_evals::report::EXPORTS;
use skill_evals::report::export::{CaseLocations, Export, ExportTarget, Results};
use skill_evals::store;

/// The group of the options that print something in place of the table: at most one is given.
pub const IN_PLACE: &str = "in_place";

/// The exports that were chosen.
pub struct ExportArgs(Vec<ChosenExports>);

struct ChosenExports {
    export: &'static Export,
    /// Where it goes, if it goes to a file.
    file: Option<PathBuf>,
}

impl Args for ExportArgs {
    fn augment_args(command: Command) -> Command {
        let option = |export: &&Export| {
            let option = Arg::new(export.name).long(export.name).help(export.about);
            match export.target {
                ExportTarget::File => option.value_name("FILE").value_parser(clap::value_parser!(PathBuf)),
                ExportTarget::Output => option.action(ArgAction::SetTrue).group(IN_PLACE),
                ExportTarget::Job { .. } => option.action(ArgAction::SetTrue).conflicts_with(IN_PLACE),
            }
        };
        command.group(ArgGroup::new(IN_PLACE)).args(EXPORTS.iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ExportArgs {
    fn from_arg_matches(given: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = EXPORTS.into_iter().filter_map(|export| match export.target {
            ExportTarget::File => {
                Some(ChosenExports { export, file: Some(given.get_one::<PathBuf>(export.name)?.clone()) })
            }
            ExportTarget::Output | ExportTarget::Job { .. } => {
                given.get_flag(export.name).then_some(ChosenExports { export, file: None })
            }
        });
        Ok(Self(chosen.collect()))
    }

    fn update_from_arg_matches(&mut self, given: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(given)?;
        Ok(())
    }
}

impl ExportArgs {
    /// Whether this export was chosen.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|chosen| chosen.export.name == name)
    }

    /// Whether one is printed in place of the table.
    pub fn in_place(&self) -> bool {
        self.0.iter().any(|chosen| matches!(chosen.export.target, ExportTarget::Output))
    }

    /// The first that goes to a file, if that is standard output.
    pub fn file_is_output(&self) -> Option<&'static str> {
        let to_output = |chosen: &&ChosenExports| chosen.file.as_deref() == Some(Path::new(store::STDOUT));
        self.0.iter().find(to_output).map(|chosen| chosen.export.name)
    }

    /// Whether what goes to files could be written now.
    ///
    /// # Errors
    /// The first of them that could not.
    pub fn check_files(&self) -> Result<(), Box<dyn Error>> {
        let mut files =
            self.0.iter().filter_map(|ChosenExports { export, file }| Some((export.name, file.as_deref()?)));
        files.try_for_each(|(name, file)| Ok(store::check_out(file).map_err(|error| format!("--{name}: {error}"))?))
    }

    /// Writes what goes to files.
    ///
    /// # Errors
    /// The first that cannot be written; the others are.
    pub fn write_files(&self, results: &Results<'_>) -> Result<(), Box<dyn Error>> {
        let files = self.0.iter().filter_map(|ChosenExports { export, file }| Some((export, file.as_deref()?)));
        let written = files.map(|(export, file)| {
            let text = (export.render)(results)?;
            Ok(store::write_out(file, |out| out.write_all(text.as_bytes()))?)
        });
        written.collect::<Vec<_>>().into_iter().collect()
    }

    /// Prints what goes to standard output.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn print(&self, results: &Results<'_>, out: &mut impl Write) -> io::Result<()> {
        for chosen in self.0.iter().filter(|chosen| chosen.file.is_none()) {
            out.write_all((chosen.export.render)(results).map_err(io::Error::other)?.as_bytes())?;
        }
        Ok(())
    }

    /// Adds to the page of the CI job what goes there. Returns why that failed.
    pub fn add_to_page(&self, results: &Results<'_>) -> Option<String> {
        self.0.iter().find_map(|chosen| match chosen.export.target {
            ExportTarget::Job { page } => add_to_page(&page(results.summary)),
            ExportTarget::File | ExportTarget::Output => None,
        })
    }
}

/// Where the cases of a catalog are written down.
pub fn places(root: &Path, catalog: &Catalog) -> CaseLocations {
    // CI servers know files by their place in the whole repository.
    let above = git::place(root).unwrap_or_default();
    let place = |found: &skill_evals::cases::case::FoundCase| (above.join(&found.file), found.line);
    catalog.cases.iter().map(|found| (format!("{}/{}", found.skill, found.id), place(found))).collect()
}
