#![forbid(unsafe_code)]
//! The program `skill-evals`: reads its arguments, calls the library, prints.

mod exit_code;

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::exit_code::Exit;
use skill_evals::discovery::{Repository, Scope};
use skill_evals::lint;
use skill_evals::mode::Mode;
use skill_evals::report::{diagnostics, listing};

/// Evals of agent skills as Rust tests.
#[derive(Parser)]
#[command(name = "skill-evals", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print every trial: its test's name, what is expected, and where it is written down.
    List(ListArgs),
    /// Check skills, and with --check-evals their cases. Exits with 0: clean, 1: errors, 2: could not run.
    Lint(LintArgs),
}

#[derive(Args)]
struct RepositoryArgs {
    /// The repository's root [default: the nearest folder upwards that has `evals` or `skills`].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Args)]
struct ListArgs {
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

#[derive(Args)]
struct LintArgs {
    /// Check the cases below `evals` too.
    #[arg(long)]
    check_evals: bool,
    /// Make a skill without cases of its own an error; implies --check-evals.
    #[arg(long)]
    strict: bool,
    /// Print a JSON array.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::List(args) => list(&args),
        Command::Lint(args) => lint(&args),
    };
    let exit = result.unwrap_or_else(|error| {
        // `skill-evals list | head` is no failure.
        if error.kind() == ErrorKind::BrokenPipe {
            return Exit::Clean;
        }
        // Where standard error is closed too, only the exit code is left.
        let _ = writeln!(io::stderr(), "error: {error}");
        Exit::CouldNotRun
    });
    exit.into()
}

fn list(args: &ListArgs) -> io::Result<Exit> {
    let repository = args.repository.open()?;
    let catalog = repository.catalog(None, Scope::All);
    let modes: Vec<Mode> = Mode::built_in().into_iter().take(1).collect();
    let listed = listing::listed(&catalog, &modes, &repository);
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &listed)?;
    } else {
        out.write_all(listing::render(&listed, out.is_terminal()).as_bytes())?;
    }
    for problem in &catalog.problems {
        writeln!(io::stderr(), "{problem}")?;
    }
    Ok(Exit::Clean)
}

fn lint(args: &LintArgs) -> io::Result<Exit> {
    let repository = args.repository.open()?;
    let catalog = repository.catalog(None, Scope::All);
    let options = lint::Options { check_evals: args.check_evals || args.strict, strict: args.strict };
    let problems = lint::all(&catalog, &repository, options);
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &problems)?;
    } else if problems.is_empty() {
        let cases = format!(", {}", diagnostics::counted(catalog.cases.len(), "case"));
        let cases = if options.check_evals { cases.as_str() } else { "" };
        let skills = diagnostics::counted(catalog.skills.len(), "skill");
        writeln!(out, "{skills}{cases}: {}", diagnostics::counts(&problems))?;
    } else {
        let color = out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        out.write_all(diagnostics::render(&problems, color).as_bytes())?;
    }
    let (errors, _) = lint::count(&problems);
    Ok(if errors == 0 { Exit::Clean } else { Exit::Problems })
}

impl RepositoryArgs {
    fn open(&self) -> io::Result<Repository> {
        let Some(root) = &self.root else {
            let start = std::env::current_dir()?;
            let none = || not_found(format!("no folder `evals` or `skills` in {} or above it", start.display()));
            return Repository::around(&start).ok_or_else(none);
        };
        let root = std::path::absolute(root)?;
        // A typing error must not read as a repository without problems.
        let holds = |name: &str| root.join(name).is_dir();
        if ["evals", "skills", ".claude/skills", ".agents/skills"].into_iter().any(holds) {
            Ok(Repository { root })
        } else {
            Err(not_found(format!("{} has no folder `evals` or `skills`", root.display())))
        }
    }
}

fn not_found(message: String) -> io::Error {
    io::Error::new(ErrorKind::NotFound, message)
}

fn print_json(out: &mut impl Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
