//! `skill-evals mcp`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use super::CliResult;
use crate::cli::exit_code::Exit;
use skill_evals::mcp;
use skill_evals::settings::{BuiltIn, SkillResult, Wording};

#[derive(Args)]
pub struct McpArgs {
    /// Folders that hold skills, or one skill's folder, beside those of the variable `SKILLS_DIR`; `a,b` for several
    /// [default: the skills below the client's roots, or those of the repository around the working folder].
    #[arg(value_name = "DIR")]
    folders: Vec<String>,
    /// The skills of this folder and of no other, whatever `SKILLS_DIR` says (repeatable).
    #[arg(long, value_name = "DIR", conflicts_with = "folders")]
    skills: Vec<PathBuf>,
    /// What the tool answers with: `body`, a skill's instructions with its folder and the list of its files, or `raw`,
    /// its SKILL.md alone [default: `SKILLS_RESULT`, or body].
    #[arg(long, value_name = "FORM", value_parser = SkillResult::from_str)]
    result: Option<SkillResult>,
    /// How models are asked to load skills: `mild`, or `skilljack`, at once [default: `SKILLS_WORDING`, or mild].
    #[arg(long, value_name = "WORDING", value_parser = Wording::from_str)]
    wording: Option<Wording>,
    /// The largest file that is handed out, in MiB [default: `MAX_FILE_SIZE_MB`, or a quarter].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    max_file_mb: Option<u32>,
}

pub fn mcp(args: &McpArgs) -> CliResult {
    let env = |name: &str| std::env::var(name).ok();
    let how = BuiltIn::from_env(env)?;
    let how = BuiltIn {
        result: args.result.unwrap_or(how.result),
        wording: args.wording.unwrap_or(how.wording),
        max_file_mb: args.max_file_mb.or(how.max_file_mb),
    };
    let mut folders = args.skills.clone();
    if folders.is_empty() {
        let lists = args.folders.iter().cloned().chain(env("SKILLS_DIR"));
        folders.extend(lists.flat_map(|list| mcp::folders_in(&list)));
    }
    if folders.is_empty() {
        mcp::serve_roots(how)?;
    } else {
        mcp::serve(&folders, how)?;
    }
    Ok(Exit::Clean)
}
