//! `skill-evals lint`.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::documents::{Format, LintDocument};
use super::{CliResult, CliResultOf, RepositoryArgs, print_json, ways_out};
use crate::agent;
use crate::cases::catalog::Catalog;
use crate::cases::census::Census;
use crate::cases::other_skill::FileStanding;
use crate::cli::exit_code::Exit;
use crate::cli::next_step::next;
use crate::cli::output::paint;
use crate::cli::output::{Stream, text_stdout};
use crate::engine::Loaded;
use crate::lint;
use crate::report::diagnostics;
use crate::run::preflight;
use crate::settings::Settings;
use crate::skill::{SKILL_FILE, named};
use crate::text::diagnostic::{Diagnostic, Severity, grouped, suggest};
use crate::text::escape;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
pub struct LintArgs {
    /// Only these skills, by name or directory [default: all]
    #[arg(value_name = "SKILL")]
    skills: Vec<String>,
    /// The same, as other commands have it (repeatable)
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    /// Warn of skills without cases too
    #[arg(long)]
    check_evals: bool,
    /// Fail for a skill without cases
    #[arg(long)]
    strict: bool,
    /// List what became of each file that holds or may hold cases
    #[arg(long)]
    census: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn lint(args: &LintArgs) -> CliResult {
    let loaded = args.repository.read_quietly()?;
    let Loaded { repository, settings, catalog } = &loaded;
    let no_cases = match (args.strict, args.check_evals) {
        (true, _) => Some(Severity::Error),
        (false, true) => Some(Severity::Warning),
        (false, false) => None,
    };
    let options = lint::LintOptions { no_cases, listings: &agent::LISTINGS, partial: settings.partial };
    let mut problems = preflight::all_problems(repository, settings, catalog, options);
    let census = Census::of(catalog, &problems);
    if args.skills().next().is_some() && !catalog.skills.is_empty() {
        let paths = args.paths(catalog)?;
        problems.retain(|problem| paths.iter().any(|path| problem.place.path.starts_with(path)));
    }
    let ways_out = ways_out(&problems, &loaded);
    let problems = grouped(problems);
    if args.json {
        print_json(&LintDocument { format: Format, problems: &problems, ways_out: &ways_out, census: &census })?;
    } else {
        let text = if problems.iter().all(|problem| problem.severity == Severity::Allowed) {
            format!("{}: {}\n", args.counts(catalog), args.nothing_found(catalog, &problems))
        } else {
            diagnostics::render(&problems, paint(Stream::Output))
        };
        let allowed = diagnostics::allowed(&problems);
        let census = args.census_text(&census);
        let ways_out = ways_out.join("\n") + if ways_out.is_empty() { "" } else { "\n" };
        write!(text_stdout(), "{text}{allowed}{ways_out}{census}{}", not_asked(settings))?;
        if no_cases.is_none() && !problems.iter().any(|problem| problem.severity != Severity::Allowed) {
            next("skill-evals list shows the cases there are; skill-evals doctor says whether they can run here");
        }
    }
    Ok(if problems.iter().any(Diagnostic::is_error) { Exit::Problems } else { Exit::Clean })
}

impl LintArgs {
    fn skills(&self) -> impl Iterator<Item = &str> {
        self.skills.iter().chain(&self.skill).map(String::as_str)
    }

    /// How many skills were checked, and how many cases if some are written.
    fn counts(&self, catalog: &Catalog) -> String {
        let slugs: Vec<String> = self.skills().map(named).collect();
        let is_wanted = |slug: &str| slugs.is_empty() || slugs.iter().any(|name| name == slug);
        let skills = catalog.skills.iter().filter(|found| is_wanted(&found.skill().slug)).count();
        let written = catalog.cases.iter().filter(|found| !found.format().is_built_in());
        let cases = written.filter(|found| is_wanted(&found.skill)).count();
        let skills = diagnostics::counted(skills, "skill");
        if cases > 0 { format!("{skills}, {}", diagnostics::counted(cases, "case")) } else { skills }
    }

    /// What became of the files, with `--census` each of them. Nothing if all are read: the lines before have the numbers.
    fn census_text(&self, census: &Census) -> String {
        let count = |standing| census.with(standing).count();
        let is_whole = FileStanding::ALL[2..].iter().all(|standing| count(*standing) == 0);
        if !self.census && (!self.skills.is_empty() || is_whole) {
            return String::new();
        }
        let mut text = String::new();
        for (file, standing) in census.files.iter().filter(|_| self.census) {
            let _ = writeln!(text, "{}\t{}", standing.words(), escape::line(&file.to_string_lossy()));
        }
        let counts = FileStanding::ALL.map(|standing| format!("{} {}", count(standing), standing.words()));
        let closed = match census.not_searched {
            0 => String::new(),
            closed => format!(
                "; {closed} directories or files not searched: packages, builds, fixtures, results, what git ignores"
            ),
        };
        let more = if self.census { "" } else { "; `--census` lists them" };
        let _ = writeln!(text, "files of skills and cases: {}{closed}{more}", counts.join(", "));
        text
    }

    /// What is said of a repository without findings. Copies, fixtures and ignored files are none, but nobody may believe that they
    /// were checked.
    fn nothing_found(&self, catalog: &Catalog, problems: &[Diagnostic]) -> String {
        let others = catalog.others.len();
        if others == 0 || self.skills().next().is_some() {
            return diagnostics::counts(problems, "no problems");
        }
        let nothing = diagnostics::counts(problems, "nothing else");
        format!("{others} other {SKILL_FILE} not read (copies, fixtures: `list --json`); {nothing}")
    }

    /// The directories and files of the named skills.
    fn paths(&self, catalog: &Catalog) -> CliResultOf<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for name in self.skills() {
            let slug = named(name);
            let Some(found) = catalog.skill(&slug) else {
                let unknown = || format!("unknown skill `{name}`; {}", suggest(&slug, &catalog.slugs()));
                return Err(catalog.unread_skill(&slug).unwrap_or_else(unknown).into());
            };
            paths.extend([found.skill().folder.clone(), found.evals()]);
            paths.extend(catalog.cases_of(&slug).map(|case| case.file.to_path_buf()));
        }
        Ok(paths)
    }
}

/// The line about what nobody looked at: only the harness itself knows its checks, and `lint` starts nothing.
fn not_asked(settings: &Settings) -> String {
    let Some(harness) = &settings.harness else { return String::new() };
    format!(
        "the checks of the harness `{}` were not examined: lint starts nothing. run, gate and cargo test examine them\n",
        harness.as_path().display()
    )
}
