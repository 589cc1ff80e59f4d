//! `skill-evals lint`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliResult, CliResultOf, RepositoryArgs, print_list};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::next::next;
use crate::cli::output::stdout;
use skill_evals::agent;
use skill_evals::cases::catalog::Catalog;
use skill_evals::harness::stubs;
use skill_evals::lint;
use skill_evals::report::diagnostics;
use skill_evals::run::rubric;
use skill_evals::skill::{SKILL_FILE, slug};
use skill_evals::store;
use skill_evals::text::diagnostic::{Diagnostic, Severity, suggest};

#[derive(Args)]
pub struct LintArgs {
    /// Only these skills, by name or directory [default: all]
    #[arg(value_name = "SKILL")]
    skills: Vec<String>,
    /// Check the cases in `evals` too
    #[arg(long)]
    check_evals: bool,
    /// Fail for a skill without cases; implies --check-evals
    #[arg(long)]
    strict: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn lint(args: &LintArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read_quietly()?;
    let check_evals = args.check_evals || args.strict;
    let options = lint::LintOptions { check_evals, strict: args.strict, listings: agent::LISTINGS };
    let mut problems = lint::all(&catalog, &repository, options);
    if options.check_evals {
        problems.extend(stubs::problems(&repository.root, &catalog));
        problems.extend(store::damaged_recordings(&repository.root).into_iter().map(|(_, problem)| problem));
        problems.extend(lint::repetition(&catalog, &settings.repetition, &repository));
        // Wherever a case or the command line asks for a judge.
        problems.extend(rubric::read(&repository.root, &settings).err().map(|problem| *problem));
    }
    if !args.skills.is_empty() && !catalog.skills.is_empty() {
        let own = args.paths(&catalog)?;
        problems.retain(|problem| own.iter().any(|path| problem.place.path.starts_with(path)));
    }
    let problems = settings.lint.judged(problems);
    let mut out = stdout();
    if args.json {
        print_list(&mut out, "problems", &problems)?;
    } else if problems.iter().all(|problem| problem.severity == Severity::Allowed) {
        let slugs: Vec<String> = args.skills.iter().map(|name| named(name)).collect();
        let wanted = |slug: &str| slugs.is_empty() || slugs.iter().any(|name| name == slug);
        let cases = catalog.cases.iter().filter(|found| wanted(&found.skill)).count();
        let cases = format!(", {}", diagnostics::counted(cases, "case"));
        let cases = if options.check_evals { cases.as_str() } else { "" };
        let skills = catalog.skills.iter().filter(|found| wanted(&found.skill().slug)).count();
        let skills = diagnostics::counted(skills, "skill");
        writeln!(out, "{skills}{cases}: {}", diagnostics::counts(&problems))?;
        out.write_all(diagnostics::allowed(&problems).as_bytes())?;
        if !options.check_evals {
            next("skill-evals list shows the cases there are; skill-evals doctor says whether they can run here");
        }
    } else {
        let paint = paint(&io::stdout());
        out.write_all(diagnostics::render(&problems, paint).as_bytes())?;
        out.write_all(diagnostics::allowed(&problems).as_bytes())?;
    }
    Ok(if problems.iter().any(Diagnostic::is_error) { Exit::Problems } else { Exit::Clean })
}

impl LintArgs {
    /// The directories and files of the skills that are named.
    fn paths(&self, catalog: &Catalog) -> CliResultOf<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for name in &self.skills {
            let slug = named(name);
            let unknown = || format!("unknown skill `{name}`; {}", suggest(&slug, &catalog.slugs()));
            let found = catalog.skill(&slug).ok_or_else(unknown)?;
            paths.extend([found.skill().folder.clone(), found.evals()]);
            paths.extend(catalog.cases_of(&slug).map(|case| case.file.to_path_buf()));
        }
        Ok(paths)
    }
}

/// The slug of a skill that is named by itself, its directory or its SKILL.md.
fn named(name: &str) -> String {
    let path = Path::new(name);
    let path = if path.ends_with(SKILL_FILE) { path.parent().unwrap_or(path) } else { path };
    slug(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}
