//! `skill-evals completions` and `skill-evals man`, made from the program's own arguments.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command};

use super::{CliResult, CliResultOf};
use crate::cli::exit_code::Exit;
use crate::cli::output::{document_stdout, text_stdout};
use crate::store;
use crate::text::escape;

#[derive(Args)]
pub struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct ManArgs {
    /// Write a page for the program and each command to this directory [default: print the program's]
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
}

pub fn completions(args: &CompletionsArgs, mut program: Command) -> CliResult {
    let (name, mut script) = (program.get_name().to_owned(), Vec::new());
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    document_stdout().write_all(&script)?;
    Ok(Exit::Clean)
}

pub fn man(args: &ManArgs, mut program: Command) -> CliResult {
    if let Some(directory) = &args.directory {
        // Gives commands their full names and the global options.
        program.build();
        write_pages(directory, &program)?;
    } else {
        document_stdout().write_all(&page(program)?)?;
    }
    Ok(Exit::Clean)
}

fn write_pages(directory: &Path, command: &Command) -> CliResultOf<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    let file = directory.join(format!("{name}.1"));
    store::write_whole(&file, &page(command.clone())?)?;
    writeln!(text_stdout(), "wrote {}", escape::line(&file.display().to_string()))?;
    command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .try_for_each(|command| write_pages(directory, command))
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}
