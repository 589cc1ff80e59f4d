//! `skill-evals doctor`.

use std::io::{self, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs, print_json};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::next::next;
use crate::cli::output::{stdout, text_stdout};
use skill_evals::report::paint::Tone;
use skill_evals::setup::doctor::{self, DoctorReport, Health};
use skill_evals::text::safe;

#[derive(Args)]
pub struct DoctorArgs {
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn doctor(args: &DoctorArgs) -> CliResult {
    let repository = match args.repository.open() {
        Ok(repository) => Some(repository),
        // A missing repository is a finding, unless --root names it: that is a typing error.
        Err(error) if args.repository.root.is_none() && error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let report = doctor::examine(repository.as_ref(), &std::env::current_exe()?);
    if args.json {
        print_json(&mut stdout(), &report)?;
    } else {
        print(&report)?;
    }
    Ok(match (report.can_run, report.undecided) {
        (true, _) => Exit::Clean,
        (_, true) => Exit::CouldNotRun,
        _ => Exit::Problems,
    })
}

fn print(report: &DoctorReport) -> io::Result<()> {
    let paint = paint(&io::stdout());
    let mut out = text_stdout();
    let width = report.findings.iter().map(|finding| finding.id.len()).max().unwrap_or_default();
    for finding in &report.findings {
        let (state, tone) = match finding.state {
            Health::Ok => ("ok", Tone::Good),
            Health::Missing => ("missing", Tone::Bad),
            Health::Unknown => ("unknown", Tone::Broken),
        };
        let state = paint.on(tone, &format!("{state:<9}"));
        let found = safe::block(&finding.found).replace('\n', &format!("\n{:1$}", "", width + 11));
        writeln!(out, "{state}{:<width$}  {found}", finding.id)?;
        if let Some(advice) = &finding.advice {
            writeln!(out, "{:9}{:<width$}  → {}", "", "", safe::block(advice))?;
        }
    }
    if report.can_run {
        writeln!(out, "\nlive evals can run with {}", report.agents.join(", "))?;
        next("skill-evals run --skill NAME runs the cases of a skill; with --dry-run it says what that would be");
    } else if report.undecided {
        writeln!(out, "\nlive evals may not run: see `unknown` above; recordings can be replayed all the same")?;
    } else {
        writeln!(out, "\nlive evals cannot run; recordings can be replayed all the same")?;
    }
    Ok(())
}
