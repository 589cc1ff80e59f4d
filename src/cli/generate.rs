//! `skill-evals generate`.

use std::io::Write;
use std::path::Path;

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cli::exit_code::Exit;
use crate::cli::output::text_stdout;
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
    let mut skills: Vec<&FoundSkill> = catalog.skills.iter().collect();
    skills.retain(|found| args.skill.is_empty() || args.skill.iter().any(|name| slug(name) == found.skill().slug));
    if skills.is_empty() {
        return Err("no skills found".into());
    }
    let mut out = text_stdout();
    let mut exit = Exit::Clean;
    let mut has_schema = false;
    for found in skills {
        let path = found.evals().join(PROMPTS);
        let shown = safe::line(&path.display().to_string());
        let ignored = catalog.cases_of(&found.skill().slug).find_map(|case| ignored_file(case));
        let plan = match ignored {
            Some(problem) => GeneratePlan::Skip(problem.to_string()),
            None => plan(found, repository.kind(&path), args.overwrite),
        };
        match plan {
            GeneratePlan::Keep => writeln!(out, "kept {shown}")?,
            GeneratePlan::Skip(why) => {
                exit = exit.worse(Exit::Problems);
                let folder = safe::line(&found.skill().folder.display().to_string());
                writeln!(out, "skipped {folder}: {}", safe::line(&why))?;
            }
            GeneratePlan::Write => {
                // The schema comes first: rows cannot run without it.
                if !std::mem::replace(&mut has_schema, true) && write_schema(&repository)? {
                    writeln!(out, "wrote {RESPONSE_SCHEMA}")?;
                }
                let text = generate::prompts_csv(found.skill(), generate::script(found, &repository).as_deref());
                store::write_whole(&repository.root.join(&path), text.as_bytes())?;
                writeln!(out, "wrote {shown}")?;
            }
        }
    }
    let has_problems = catalog.cases.iter().any(|case| !case.source.file_problems().is_empty());
    Ok(if has_problems { exit.worse(Exit::Problems) } else { exit })
}

enum GeneratePlan {
    Keep,
    Write,
    Skip(String),
}

/// The problem of a file of cases that is ignored. No new cases are written next to it.
fn ignored_file(case: &FoundCase) -> Option<&Diagnostic> {
    case.source.file_problems().iter().find(|problem| matches!(problem.code, Code::UnreadCases | Code::OrphanCases))
}

fn plan(found: &FoundSkill, existing: FileKind, overwrite: bool) -> GeneratePlan {
    if let Some(problem) = found.file.problems.iter().find(|problem| problem.is_error()) {
        return GeneratePlan::Skip(format!("its front matter has an error: {problem}"));
    }
    match existing {
        FileKind::File if !overwrite => GeneratePlan::Keep,
        FileKind::File | FileKind::Missing => GeneratePlan::Write,
        FileKind::Symlink => GeneratePlan::Skip("its cases are reached through a symbolic link".to_owned()),
        FileKind::Folder | FileKind::Other => GeneratePlan::Skip(format!("its {PROMPTS} is not a file")),
    }
}

/// Writes the schema that the rows name, if it does not exist. Returns whether it was written.
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
