//! `skill-evals stubs`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cases::repository::Scope;
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
use crate::files::inside;
use crate::run::{preflight, stubs};
use crate::settings::{Trust, load};

#[derive(Args)]
pub struct StubsArgs {
    /// Output file, relative to the root [default: `tests/skill_evals/stubs.rs` of the crate with the
    /// harness]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn stubs(args: &StubsArgs) -> CliResult {
    let repository = args.repository.open()?;
    let root = &repository.root;
    let settings = load::read_file(root, Trust::Trusted)?;
    let catalog = repository.catalog(preflight::layout(&settings), Scope::All);
    let text = stubs::current(root, &catalog)?;
    let mut files = args.file.clone().map_or_else(|| stubs::files(root), |file| vec![file]);
    if files.is_empty() {
        let default = stubs::place(root);
        files.push(default.ok_or("no crate for the stubs: neither Cargo.toml nor evals/Cargo.toml; name a --file")?);
    }
    let mut out = text_stdout();
    for file in files {
        let state = if inside::read(root, &file).is_ok_and(|old| old == text.as_bytes()) {
            "is up to date"
        } else {
            inside::write(root, &file, text.as_bytes())?;
            "written"
        };
        writeln!(out, "{}: {state}, {} trials", file.display(), text.matches("#[test]").count())?;
    }
    Ok(Exit::Clean)
}
