//! `skill-evals lint`.

use std::io::{self, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs, print_list};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::next::next;
use crate::cli::output::stdout;
use skill_evals::agent;
use skill_evals::harness::stubs;
use skill_evals::lint;
use skill_evals::report::diagnostics;
use skill_evals::run::rubric;
use skill_evals::store;
use skill_evals::text::diagnostic::{Diagnostic, Severity};

#[derive(Args)]
pub struct LintArgs {
    /// Check the cases below `evals` too.
    #[arg(long)]
    check_evals: bool,
    /// Make a skill without cases of its own an error; implies --check-evals.
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
    let options = lint::Options { check_evals, strict: args.strict, listings: agent::LISTINGS };
    let mut problems = lint::all(&catalog, &repository, options);
    if options.check_evals {
        problems.extend(stubs::problems(&repository.root, &catalog));
        problems.extend(store::damaged_recordings(&repository.root).into_iter().map(|(_, problem)| problem));
        problems.extend(lint::repetition(&catalog, &settings.repetition, &repository));
        // Wherever a case or the command line asks for a judge.
        problems.extend(rubric::read(&repository.root, &settings).err().map(|problem| *problem));
    }
    let problems = settings.lint.judged(problems);
    let mut out = stdout();
    if args.json {
        print_list(&mut out, "problems", &problems)?;
    } else if problems.iter().all(|problem| problem.severity == Severity::Allowed) {
        let cases = format!(", {}", diagnostics::counted(catalog.cases.len(), "case"));
        let cases = if options.check_evals { cases.as_str() } else { "" };
        let skills = diagnostics::counted(catalog.skills.len(), "skill");
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
