//! The options of other commands that export results, one for each export that needs no sessions.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};

use super::select::ALONE;
use crate::cli::exit_code::add_to_page;
use crate::exports::EXPORTS;
use crate::report::export::{Export, ExportKind, RenderResults, Results};
use crate::store;
use crate::text::problem::{About, Problem};

/// The group of the options that replace the table on standard output. At most one is allowed.
pub const IN_PLACE: &str = "in_place";

/// The exports that need no sessions.
fn offered() -> impl Iterator<Item = (&'static Export, RenderResults)> {
    EXPORTS.iter().copied().filter_map(|export| Some((export, export.render()?)))
}

/// The chosen exports.
pub struct ExportArgs(Vec<ChosenExport>);

struct ChosenExport {
    export: &'static Export,
    render: RenderResults,
    /// The output file of an export that has one.
    file: Option<PathBuf>,
}

impl ExportArgs {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Args for ExportArgs {
    fn augment_args(command: Command) -> Command {
        let options = offered().map(|(export, _)| {
            let option = Arg::new(export.name).long(export.name).help(export.about);
            match export.kind {
                // One file for all shards.
                ExportKind::File(_) => {
                    option.value_name("FILE").value_parser(clap::value_parser!(PathBuf)).group(ALONE)
                }
                ExportKind::Output(_) => option.action(ArgAction::SetTrue).group(IN_PLACE),
                _ => option.action(ArgAction::SetTrue).conflicts_with(IN_PLACE),
            }
        });
        command.group(ArgGroup::new(IN_PLACE)).args(options)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ExportArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = offered().filter_map(|(export, render)| match export.kind {
            ExportKind::File(_) => {
                Some(ChosenExport { export, render, file: Some(matches.get_one::<PathBuf>(export.name)?.clone()) })
            }
            _ => matches.get_flag(export.name).then_some(ChosenExport { export, render, file: None }),
        });
        Ok(Self(chosen.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ExportArgs {
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|chosen| chosen.export.name == name)
    }

    /// Whether an export replaces the table.
    pub fn in_place(&self) -> bool {
        self.0.iter().any(|chosen| matches!(chosen.export.kind, ExportKind::Output(_)))
    }

    fn files(&self) -> impl Iterator<Item = (&ChosenExport, &Path)> {
        self.0.iter().filter_map(|chosen| Some((chosen, chosen.file.as_deref()?)))
    }

    /// The first export whose file is standard output.
    pub fn file_is_output(&self) -> Option<&'static str> {
        self.files().find(|(_, file)| *file == Path::new(store::STDOUT)).map(|(chosen, _)| chosen.export.name)
    }

    pub fn check_files(&self) -> Result<(), Problem> {
        for (chosen, file) in self.files() {
            store::check_out(file).about(format_args!("--{}", chosen.export.name))?;
        }
        Ok(())
    }

    /// Writes the files. Returns the first error, after trying all files.
    pub fn write_files(&self, results: &Results<'_>) -> Result<(), Problem> {
        let written: Vec<Result<(), Problem>> = self
            .files()
            .map(|(chosen, file)| {
                let text = (chosen.render)(results)?;
                Ok(store::write_out(file, |out| out.write_all(text.as_bytes()))?)
            })
            .collect();
        written.into_iter().collect()
    }

    /// Prints the exports that go to standard output.
    pub fn print(&self, results: &Results<'_>, out: &mut impl Write) -> io::Result<()> {
        for chosen in self.0.iter().filter(|chosen| chosen.file.is_none()) {
            out.write_all((chosen.render)(results).map_err(io::Error::other)?.as_bytes())?;
        }
        Ok(())
    }

    /// Adds to the summary page of the CI job. Returns why that failed.
    pub fn add_to_page(&self, results: &Results<'_>) -> Option<String> {
        self.0.iter().find_map(|chosen| match chosen.export.kind {
            ExportKind::Job { page, .. } => add_to_page(&page(results.summary)),
            _ => None,
        })
    }
}
