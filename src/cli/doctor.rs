//! `skill-evals doctor`.

use std::io::{self, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs, print_json};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::next::next;
use crate::cli::output::stdout;
use skill_evals::report::paint::Tone;
use skill_evals::setup::doctor::{self, Health};
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
        // That there is none is a finding; that the one named is none is a typing error.
        Err(error) if args.repository.root.is_none() && error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let examination = doctor::examine(repository.as_ref(), &std::env::current_exe()?);
    let mut out = stdout();
    if args.json {
        print_json(&mut out, &examination)?;
    } else {
        let paint = paint(&io::stdout());
        let width = examination.findings.iter().map(|finding| finding.id.len()).max().unwrap_or_default();
        for finding in &examination.findings {
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
        if examination.can_run {
            writeln!(out, "\nlive evals can run with {}", examination.agents.join(", "))?;
            next("skill-evals run --skill NAME runs the cases of a skill; with --dry-run it says what that would be");
        } else if examination.undecided {
            writeln!(
                out,
                "\nwhether live evals can run depends on what is unknown; recordings can be replayed all the same"
            )?;
        } else {
            writeln!(out, "\nlive evals cannot run; recordings can be replayed all the same")?;
        }
    }
    Ok(match (examination.can_run, examination.undecided) {
        (true, _) => Exit::Clean,
        (_, true) => Exit::CouldNotRun,
        _ => Exit::Problems,
    })
}
