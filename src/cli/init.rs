//! `skill-evals init`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::CliResult;
use crate::cli::exit_code::Exit;
use skill_evals::setup::init::{self, Done};
use skill_evals::text::safe;

#[derive(Args)]
pub struct InitArgs {
    /// The repository's root [default: the working folder].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

pub fn init(args: &InitArgs) -> CliResult {
    let root = std::path::absolute(args.root.as_deref().unwrap_or(Path::new(".")))?;
    if !root.is_dir() {
        return Err(super::not_found(format!("{} is no folder", root.display())).into());
    }
    let mut out = io::stdout().lock();
    let mut small_crate = false;
    for step in init::init(&root)? {
        small_crate |= step.path.starts_with("evals/tests");
        let done = match step.done {
            Done::Written => "written".to_owned(),
            Done::Added(what) => format!("added {what}"),
            Done::IsThere => "is there already".to_owned(),
            Done::LeftAlone(what) => format!("is there already and was left alone; {what}"),
        };
        writeln!(out, "{}", safe::line(&format!("{}: {done}", step.path.display())))?;
    }
    let manifest = if small_crate { " --manifest-path evals/Cargo.toml" } else { "" };
    writeln!(out, "\nnext: cargo test{manifest} --test skill_evals; with SKILL_EVALS_LIVE=1 it runs the agents")?;
    Ok(Exit::Clean)
}
