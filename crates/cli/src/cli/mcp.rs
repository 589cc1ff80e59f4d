//! `skill-evals mcp`, `skill-evals harness`: what other programs start.

use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;

use super::{CliResult, RepositoryArgs, custom_checks, print_error};
use crate::cli::exit_code::Exit;
use crate::harness::Harness;
use crate::mcp;
use crate::settings::{BuiltIn, SkillResult, Wording, load};
use crate::text::problem::Problem;

#[derive(Args)]
pub struct McpArgs {
    /// Directories of skills, or of one skill, added to those of `SKILLS_DIR`; `a,b` for several [default:
    /// the skills in the client's roots, else of the repository around the working directory]
    #[arg(value_name = "DIR")]
    folders: Vec<String>,
    /// Serve only the skills of this directory, whatever `SKILLS_DIR` says (repeatable)
    #[arg(long, value_name = "DIR", conflicts_with = "folders")]
    skills: Vec<PathBuf>,
    /// What the tool returns: `body`, a skill's instructions, directory and list of files, or `raw`, its
    /// SKILL.md alone [default: `SKILLS_RESULT`, or body]
    #[arg(long, value_name = "FORM", value_parser = SkillResult::from_str)]
    result: Option<SkillResult>,
    /// How models are asked to load skills: `mild`, or `skilljack`, at once [default: `SKILLS_WORDING`, or
    /// mild]
    #[arg(long, value_name = "WORDING", value_parser = Wording::from_str)]
    wording: Option<Wording>,
    /// Largest file to serve, in MiB [default: `MAX_FILE_SIZE_MB`, or 0.25]
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
        folders.extend(lists.flat_map(|list| mcp::directories_in(&list)));
    }
    if folders.is_empty() {
        mcp::serve_roots(how)?;
    } else {
        mcp::serve(&folders, how)?;
    }
    Ok(Exit::Clean)
}

// `skill-evals harness`.

#[derive(Args)]
pub struct HarnessArgs {
    #[command(flatten)]
    repository: RepositoryArgs,
    /// Arguments of a Rust test program: filters, --list, --exact, --format json; `-- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

pub fn harness(args: HarnessArgs) -> ExitCode {
    let trust = args.repository.trust();
    let repository = args.repository.open().map_err(Problem::from);
    let ready = repository.and_then(|repository| {
        // The harness itself reports invalid settings.
        let settings = load::read_file(&repository.root, trust).unwrap_or_default();
        Ok((custom_checks(&repository.root, &settings)?, repository.root))
    });
    match ready {
        Ok((checks, root)) => Harness::new().with_checks(checks).chosen_root(root).trusting(trust).run(args.arguments),
        Err(why) => {
            print_error(&why);
            Exit::CouldNotRun.into()
        }
    }
}
