//! `skill-evals verify`.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use clap::Args;

use super::documents::{Format, VerificationDocument};
use super::select::NameArgs;
use super::{CliResult, RepositoryArgs, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::engine::Loaded;
use crate::engine::choose::{self, no_match};
use crate::process::interrupt;
use crate::report::diagnostics;
use crate::results::verification::{FaultKind, Verification};
use crate::run::planned::PlannedRun;
use crate::run::{plan, verify};
use crate::settings::Settings;
use crate::text::escape;
use crate::text::name::Filters;

const HELP: &str = "Exit codes:
  0    no fault found
  1    a check proves nothing, is wrong, has no result, or can never decide
  2    could not run, or a case cannot be read or set up
  130  interrupted";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct VerifyArgs {
    /// Only cases whose name contains one of these, or of these skills by path: `greeting`, `xlsx/verify`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    names: NameArgs,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn verify(args: &VerifyArgs) -> CliResult {
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    let mut settings = Settings { selection: args.names.selection(), live: false, ..settings };
    let filters = choose::filters(&args.filters, &mut settings.selection, &catalog);
    let plan = plan::plan(&repository.root, &settings, &catalog, &Filters::new(&filters, false))?;
    if plan.is_empty() {
        return Err(no_match(&args.filters, &catalog, &settings).into());
    }
    let mut seen = BTreeSet::new();
    let mut cases: Vec<_> = plan.entries.into_iter().map(|entry| entry.planned.found).collect();
    // A case has an entry for each mode.
    cases.retain(|found| seen.insert(Arc::as_ptr(found)));
    interrupt::listen(false)?;
    let run = PlannedRun::new(repository.root.clone(), settings, catalog);
    let verification = match verify::verify(&run, &cases, &repository) {
        Err(why) if interrupt::raised() => {
            writeln!(stderr(), "{}", escape::line(&why.to_string()))?;
            return Ok(Exit::Interrupted);
        }
        verified => verified?,
    };
    if args.json {
        print_json(&VerificationDocument { format: Format, verification: &verification })?;
    } else {
        text_stdout().write_all(diagnostics::verification(&verification).as_bytes())?;
    }
    Ok(match verification {
        Verification { faults, .. } if faults.iter().any(|fault| fault.kind != FaultKind::Unusable) => Exit::Problems,
        Verification { unreadable, faults, .. } if !unreadable.is_empty() || !faults.is_empty() => Exit::CouldNotRun,
        _ => Exit::Clean,
    })
}
