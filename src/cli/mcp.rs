//! `skill-evals mcp`.

use std::path::PathBuf;

use clap::Args;

use super::CliResult;
use crate::cli::exit_code::Exit;
use skill_evals::mcp;

#[derive(Args)]
pub struct McpArgs {
    /// The folder that holds the skills, or one skill's folder [default: the skills below the client's roots, or
    /// those of the repository around the working folder].
    #[arg(long, value_name = "DIR")]
    skills: Option<PathBuf>,
}

pub fn mcp(args: &McpArgs) -> CliResult {
    match &args.skills {
        Some(skills) => mcp::serve(skills.clone())?,
        None => mcp::serve_roots()?,
    }
    Ok(Exit::Clean)
}
