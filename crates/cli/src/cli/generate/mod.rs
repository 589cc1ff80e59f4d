//! `skill-evals generate`.

pub mod author;

use std::io::Write;
use std::path::Path;

use author::Author;
use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cases::case::FoundCase;
use crate::cases::case::prompts_csv::parse;
use crate::cases::catalog::{FoundSkill, PROMPTS};
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::repository::Repository;
use crate::cli::exit_code::Exit;
use crate::cli::next_step::next;
use crate::cli::output::text_stdout;
use crate::engine::Loaded;
use crate::files::inside;
use crate::process::interrupt;
use crate::report::diagnostics::counted;
use crate::run::default_modes;
use crate::setup::generate;
use crate::text::diagnostic::{Code, Diagnostic};
use crate::text::escape;

#[derive(Args)]
pub struct GenerateArgs {
    /// Only for this skill, by name (repeatable).
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    #[command(flatten)]
    author: author::AuthorArgs,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn generate(args: &GenerateArgs) -> CliResult {
    let loaded = args.repository.read()?;
    let Loaded { repository, settings, catalog } = &loaded;
    let skills: Vec<&FoundSkill> = if args.skill.is_empty() {
        catalog.skills.iter().collect()
    } else {
        args.skill.iter().map(|name| catalog.named_skill(name)).collect::<Result<_, _>>()?
    };
    if skills.is_empty() {
        return Err("no skills found".into());
    }
    let mut author = args.author.author(repository, settings, catalog)?;
    let mut exit = Exit::Clean;
    for found in &skills {
        exit = exit.worse(of_skill(&loaded, author.as_mut(), found)?);
        if exit == Exit::Interrupted {
            return Ok(exit);
        }
    }
    if author.is_none() {
        let agent = default_modes::drafter(&repository.root, settings, catalog);
        let draft = agent.zip(skills.first()).map(|(agent, found)| {
            let (agent, slug) = (agent.as_str(), escape::word(&found.skill().slug));
            format!(", or have some drafted and added: skill-evals generate --agent {agent} --skill {slug}")
        });
        let draft = draft.unwrap_or_default();
        next(&format!("add tasks as your users write them, without the skill's name{draft}"));
    }
    // A header without rows has some now.
    let mut problems = catalog.cases.iter().flat_map(|case| case.source.file_problems());
    let has_problems = problems.any(|problem| problem.code != Code::CsvNoRows);
    Ok(if has_problems { exit.worse(Exit::Problems) } else { exit })
}

/// Writes cases of a skill that has no prompts.csv, or adds those that an agent drafts to the rows that are there.
fn of_skill(loaded: &Loaded, author: Option<&mut Author<'_>>, found: &FoundSkill) -> CliResult {
    let Loaded { repository, settings, catalog } = loaded;
    let mut out = text_stdout();
    let path = found.evals().join(PROMPTS);
    let shown = escape::line(&path.display().to_string());
    let ignored = catalog.cases_of(&found.skill().slug).find_map(|case| ignored_file(case));
    let existing = ignored.map_or_else(|| rows(found, repository, &path), |problem| Err(problem.to_string()));
    // Asked before an agent is paid.
    let existing = existing.and_then(|old| {
        let text = old.as_deref().unwrap_or_default();
        old.as_ref().map_or(Ok(()), |_| addable(&repository.root, &path, text, &settings.own_columns)).map(|()| old)
    });
    let existing = match &existing {
        // A header alone gets its first rows.
        Ok(Some(text)) if author.is_none() && has_rows(&repository.root, &path, text, &settings.own_columns) => {
            writeln!(out, "kept {shown}")?;
            return Ok(Exit::Clean);
        }
        Ok(existing) => existing.as_deref(),
        Err(why) => {
            let folder = escape::line(&found.skill().folder.display().to_string());
            writeln!(out, "skipped {folder}: {}", escape::line(why))?;
            return Ok(Exit::Problems);
        }
    };
    let cases = match author {
        Some(author) => author.cases(found)?,
        None => Ok(generate::cases(found, catalog)),
    };
    let cases = match cases {
        Ok(cases) if cases.is_empty() => {
            writeln!(out, "not written {shown}: no case was accepted")?;
            return Ok(if interrupt::raised() { Exit::Interrupted } else { Exit::Clean });
        }
        Ok(cases) => cases,
        Err(why) => {
            writeln!(out, "not written {shown}: {}", escape::line(&why.to_string()))?;
            return Ok(if interrupt::raised() { Exit::Interrupted } else { Exit::Infrastructure });
        }
    };
    let (text, done) = match existing {
        Some(old) => (
            generate::appended(old, &cases).map_err(|error| error.to_string())?,
            format!("added {} to {shown}", counted(cases.len(), "case")),
        ),
        None => (generate::prompts_csv(&cases), format!("wrote {shown}")),
    };
    let parsed = parse(&repository.root, &path, text.clone().into_bytes(), &settings.own_columns);
    if let Some(problem) = parsed.problems.iter().find(|problem| problem.is_error()) {
        writeln!(out, "skipped {shown}: {}", escape::line(&problem.to_string()))?;
        return Ok(Exit::Problems);
    }
    inside::write(&repository.root, &path, text.as_bytes())?;
    writeln!(out, "{done}")?;
    // Whoever is asked may end the questions.
    Ok(if interrupt::raised() { Exit::Interrupted } else { Exit::Clean })
}

/// Whether it is the problem of a file of cases that is not read.
fn is_not_read(code: Code) -> bool {
    matches!(code, Code::MisplacedCases | Code::UnreadCases | Code::OrphanCases)
}

/// The problem of a file of cases that is ignored. No new cases are written next to it.
fn ignored_file(case: &FoundCase) -> Option<&Diagnostic> {
    case.source.file_problems().iter().find(|problem| is_not_read(problem.code))
}

/// Whether a prompts.csv with this text has a case.
fn has_rows(root: &Path, path: &Path, text: &str, own: &[String]) -> bool {
    let parsed = parse(root, path, text.to_owned().into_bytes(), own);
    !parsed.problems.iter().any(|problem| problem.code == Code::CsvNoRows)
}

/// Why no row can be added to a prompts.csv with this text.
fn addable(root: &Path, path: &Path, text: &str, own: &[String]) -> Result<(), String> {
    if text.matches('"').count() % 2 == 1 {
        return Err(format!("its {PROMPTS} has a quote that is not closed"));
    }
    let parsed = parse(root, path, text.to_owned().into_bytes(), own);
    let problem = parsed.problems.iter().find(|problem| problem.is_error() && problem.code != Code::CsvNoRows);
    problem.map_or(Ok(()), |problem| Err(problem.to_string()))
}

/// The text of the skill's prompts.csv, if it has one, or why nothing can be written.
fn rows(found: &FoundSkill, repository: &Repository, path: &Path) -> Result<Option<String>, String> {
    if let Some(problem) = found.file.problems.iter().find(|problem| problem.is_error()) {
        return Err(format!("its front matter has an error: {problem}"));
    }
    match repository.kind(path) {
        FileKind::Missing => Ok(None),
        FileKind::File => {
            inside::read_text(&repository.root, path).map(Some).map_err(|_| format!("its {PROMPTS} cannot be read"))
        }
        FileKind::Symlink => Err("its cases are reached through a symbolic link".to_owned()),
        FileKind::Unreadable => Err(format!("its {PROMPTS} cannot be read")),
        FileKind::Folder | FileKind::Other => Err(format!("its {PROMPTS} is not a file")),
    }
}
