//! `skill-evals generate`.

pub mod author;

use std::io::Write;

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cases::case::FoundCase;
use crate::cases::catalog::{FoundSkill, PROMPTS};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cli::exit_code::Exit;
use crate::cli::next_step::next;
use crate::cli::output::text_stdout;
use crate::engine::Loaded;
use crate::files::inside;
use crate::settings::mode::AgentKind;
use crate::setup::generate;
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::escape;

#[derive(Args)]
pub struct GenerateArgs {
    /// Replace an existing prompts.csv
    #[arg(long)]
    overwrite: bool,
    /// Only for this skill, by name (repeatable).
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    #[command(flatten)]
    author: author::AuthorArgs,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn generate(args: &GenerateArgs) -> CliResult {
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    for name in &args.skill {
        catalog.named_skill(name)?;
    }
    let mut skills: Vec<&FoundSkill> = catalog.skills.iter().collect();
    skills.retain(|found| args.skill.is_empty() || args.skill.iter().any(|name| slug(name) == found.skill().slug));
    if skills.is_empty() {
        return Err("no skills found".into());
    }
    let mut author = args.author.author(&repository, &settings, &catalog)?;
    let mut out = text_stdout();
    let (mut exit, mut wrote) = (Exit::Clean, None);
    for found in skills {
        let path = found.evals().join(PROMPTS);
        let shown = escape::line(&path.display().to_string());
        let ignored = catalog.cases_of(&found.skill().slug).find_map(|case| ignored_file(case));
        let plan = match ignored {
            Some(problem) => GeneratePlan::Skip(problem.to_string()),
            None => plan(found, repository.kind(&path), args.overwrite),
        };
        match plan {
            GeneratePlan::Keep => writeln!(out, "kept {shown}")?,
            GeneratePlan::Skip(why) => {
                exit = exit.worse(Exit::Problems);
                let folder = escape::line(&found.skill().folder.display().to_string());
                writeln!(out, "skipped {folder}: {}", escape::line(&why))?;
            }
            GeneratePlan::Write => {
                let cases = match &mut author {
                    Some(author) => author.cases(found)?,
                    None => Ok(generate::cases(found, &catalog)),
                };
                match cases {
                    Ok(cases) if cases.is_empty() => writeln!(out, "not written {shown}: no case was accepted")?,
                    Ok(cases) => {
                        inside::write(&repository.root, &path, generate::prompts_csv(&cases).as_bytes())?;
                        writeln!(out, "wrote {shown}")?;
                        wrote = wrote.or(Some(&found.skill().slug));
                    }
                    Err(why) => {
                        exit = exit.worse(Exit::Infrastructure);
                        writeln!(out, "not written {shown}: {}", escape::line(&why.to_string()))?;
                    }
                }
            }
        }
    }
    if let Some(slug) = wrote.filter(|_| author.is_none()) {
        let draft = format!(
            "skill-evals generate --agent {} --overwrite --skill {}",
            AgentKind::default().as_str(),
            escape::word(slug)
        );
        next(&format!("add tasks as your users write them, without the skill's name, or have some drafted: {draft}"));
    }
    let has_problems = catalog.cases.iter().any(|case| !case.source.file_problems().is_empty());
    Ok(if has_problems { exit.worse(Exit::Problems) } else { exit })
}

enum GeneratePlan {
    Keep,
    Write,
    Skip(String),
}

/// Whether it is the problem of a file of cases that is not read.
fn is_not_read(code: Code) -> bool {
    matches!(code, Code::MisplacedCases | Code::UnreadCases | Code::OrphanCases)
}

/// The problem of a file of cases that is ignored. No new cases are written next to it.
fn ignored_file(case: &FoundCase) -> Option<&Diagnostic> {
    case.source.file_problems().iter().find(|problem| is_not_read(problem.code))
}

fn plan(found: &FoundSkill, existing: FileKind, overwrite: bool) -> GeneratePlan {
    if let Some(problem) = found.file.problems.iter().find(|problem| problem.is_error()) {
        return GeneratePlan::Skip(format!("its front matter has an error: {problem}"));
    }
    match existing {
        FileKind::File if !overwrite => GeneratePlan::Keep,
        FileKind::File | FileKind::Missing => GeneratePlan::Write,
        FileKind::Symlink => GeneratePlan::Skip("its cases are reached through a symbolic link".to_owned()),
        FileKind::Unreadable => GeneratePlan::Skip(format!("its {PROMPTS} cannot be read")),
        FileKind::Folder | FileKind::Other => GeneratePlan::Skip(format!("its {PROMPTS} is not a file")),
    }
}
