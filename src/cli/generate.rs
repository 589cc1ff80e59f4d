//! `skill-evals generate`.

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cli::exit_code::Exit;
use crate::cli::output::stdout;
use skill_evals::cases::case::FoundCase;
use skill_evals::cases::catalog::{FoundSkill, PROMPTS, RESPONSE_SCHEMA};
use skill_evals::cases::repo_files::{FileKind, RepoFiles};
use skill_evals::cases::repository::Repository;
use skill_evals::setup::generate;
use skill_evals::skill::slug;
use skill_evals::store;
use skill_evals::text::diagnostic::{Code, Diagnostic, suggest};
use skill_evals::text::safe;

#[derive(Args)]
pub struct GenerateArgs {
    /// Replace an existing prompts.csv
    #[arg(long)]
    overwrite: bool,
    /// Only for this skill, by name (repeatable).
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn generate(args: &GenerateArgs) -> CliResult {
    let (repository, _, catalog) = args.repository.read()?;
    let known: Vec<&str> = catalog.skills.iter().map(|found| found.skill().slug.as_str()).collect();
    if let Some(name) = args.skill.iter().find(|name| !known.contains(&slug(name).as_str())) {
        return Err(format!("unknown skill `{name}`; {}", suggest(&slug(name), &known)).into());
    }
    let wanted =
        |found: &&FoundSkill| args.skill.is_empty() || args.skill.iter().any(|name| slug(name) == found.skill().slug);
    let skills: Vec<&FoundSkill> = catalog.skills.iter().filter(wanted).collect();
    if skills.is_empty() {
        return Err("no skills found".into());
    }
    let mut out = stdout();
    let mut exit = Exit::Clean;
    let mut written = false;
    for found in skills {
        let path = found.evals().join(PROMPTS);
        let shown = safe::line(&path.display().to_string());
        let unread = catalog.cases_of(&found.skill().slug).find_map(|case| not_read(case));
        match unread.unwrap_or_else(|| plan(found, repository.kind(&path), args.overwrite)) {
            GeneratePlan::Keep => writeln!(out, "kept {shown}")?,
            GeneratePlan::Skip(why) => {
                exit = exit.worse(Exit::Problems);
                let folder = safe::line(&found.skill().folder.display().to_string());
                writeln!(out, "skipped {folder}: {}", safe::line(&why))?;
            }
            GeneratePlan::Write => {
                // Rows without their schema could not run: the schema comes first.
                if !std::mem::replace(&mut written, true) && write_schema(&repository)? {
                    writeln!(out, "wrote {RESPONSE_SCHEMA}")?;
                }
                let text = generate::prompts_csv(found.skill(), generate::script(found, &repository).as_deref());
                store::write_whole(&repository.root.join(&path), text.as_bytes())?;
                writeln!(out, "wrote {shown}")?;
            }
        }
    }
    let unread = catalog.cases.iter().any(|case| !case.source.file_problems().is_empty());
    Ok(if unread { exit.worse(Exit::Problems) } else { exit })
}

/// What to do about a skill.
enum GeneratePlan {
    Keep,
    Write,
    Skip(String),
}

/// Keeps from writing cases beside others that only are not read.
fn not_read(case: &FoundCase) -> Option<GeneratePlan> {
    let is_it = |problem: &&Diagnostic| matches!(problem.code, Code::UnreadCases | Code::OrphanCases);
    let problem = case.source.file_problems().iter().find(is_it)?;
    Some(GeneratePlan::Skip(problem.to_string()))
}

fn plan(found: &FoundSkill, there: FileKind, overwrite: bool) -> GeneratePlan {
    if let Some(problem) = found.file.problems.iter().find(|problem| problem.is_error()) {
        return GeneratePlan::Skip(format!("its front matter cannot be relied on: {problem}"));
    }
    match there {
        FileKind::File if !overwrite => GeneratePlan::Keep,
        FileKind::File | FileKind::Missing => GeneratePlan::Write,
        FileKind::Symlink => GeneratePlan::Skip("its cases are reached through a symbolic link".to_owned()),
        FileKind::Folder | FileKind::Other => GeneratePlan::Skip(format!("its {PROMPTS} is not a file")),
    }
}

/// Writes the schema that the rows name, if there is none. Whether it did.
fn write_schema(repository: &Repository) -> Result<bool, Box<dyn std::error::Error>> {
    match repository.kind(Path::new(RESPONSE_SCHEMA)) {
        FileKind::File => Ok(false),
        FileKind::Missing => {
            let text = generate::BUILT_IN_RESPONSE_SCHEMA;
            store::write_whole(&repository.root.join(RESPONSE_SCHEMA), text.as_bytes())?;
            Ok(true)
        }
        FileKind::Symlink | FileKind::Folder | FileKind::Other => {
            Err(format!("{RESPONSE_SCHEMA} is not a regular file").into())
        }
    }
}
