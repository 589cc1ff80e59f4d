//! `skill-evals init`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::CliResult;
use crate::cli::exit_code::Exit;
use crate::cli::output::stdout;
use skill_evals::setup::init::{self, CrateSource, FileAction};
use skill_evals::text::safe;

#[derive(Args)]
pub struct InitArgs {
    /// Directory of the crate or repository [default: the working directory]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Take skill-evals from this checkout instead of crates.io
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// Take skill-evals from this git repository
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// With --git: the commit or tag.
    #[arg(long, value_name = "REV", requires = "git")]
    rev: Option<String>,
}

pub fn init(args: &InitArgs) -> CliResult {
    let root = std::path::absolute(args.root.as_deref().unwrap_or(Path::new(".")))?;
    if !root.is_dir() {
        return Err(super::not_found(format!("{} is not a directory", root.display())).into());
    }
    let source = args.source()?;
    let mut out = stdout();
    let made = init::init(&root, &source)?;
    for step in made.steps {
        let done = match step.done {
            FileAction::Written => "written".to_owned(),
            FileAction::Added(what) => format!("added {what}"),
            FileAction::IsThere => "is there already".to_owned(),
            FileAction::LeftAlone(what) => format!("is there already and was left alone; {what}"),
        };
        writeln!(out, "{}", safe::line(&format!("{}: {done}", step.path.display())))?;
    }
    writeln!(out, "\nnext: cargo test {}; with SKILL_EVALS_LIVE=1 it runs the agents", made.cargo)?;
    if source == CrateSource::Release {
        writeln!(out, "where crates.io has no skill-evals yet: begin with --path DIR or --git URL")?;
    }
    Ok(Exit::Clean)
}

impl InitArgs {
    fn source(&self) -> io::Result<CrateSource> {
        Ok(match (&self.path, &self.git) {
            (Some(path), _) => {
                CrateSource::Path { folder: std::path::absolute(path)?, is_relative: path.is_relative() }
            }
            (None, Some(url)) => CrateSource::Git { url: url.clone(), rev: self.rev.clone() },
            (None, None) => CrateSource::Release,
        })
    }
}
