//! `skill-evals doctor`.

use std::io::{self, Write};

use clap::Args;

use super::documents::{CalibrationList, Format};
use super::{CliResult, RepositoryArgs, print_json};
use crate::cases::repository::Repository;
use crate::cli::exit_code::Exit;
use crate::cli::next_step::next;
use crate::cli::output::paint;
use crate::cli::output::{Stream, stderr, text_stdout};
use crate::process::interrupt;
use crate::report::calibration::table;
use crate::report::columns::{self, WORDS};
use crate::report::diagnostics;
use crate::report::paint::Tone;
use crate::run::calibration::misplaced;
use crate::settings::mode::AgentKind;
use crate::settings::{Settings, load};
use crate::setup::calibrate;
use crate::setup::doctor::{self, DoctorReport, Health};
use crate::text::escape;

#[derive(Args)]
pub struct DoctorArgs {
    /// Run trials of known truth with the installed agents and a scripted model on 127.0.0.1; print what is read rightly
    #[arg(long)]
    calibrate: bool,
    /// With --calibrate: only this agent (repeatable) [default: every one that is installed]
    #[arg(long, value_name = "NAME", requires = "calibrate")]
    agent: Vec<String>,
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
    if args.calibrate {
        return calibrate(args, repository.as_ref());
    }
    let report = doctor::examine(repository.as_ref(), args.repository.trust());
    if args.json {
        print_json(&report)?;
    } else {
        print(&report)?;
    }
    Ok(match (report.can_run, report.undecided) {
        // What nobody can know keeps no run from starting.
        (true, _) | (_, true) => Exit::Clean,
        _ => Exit::Problems,
    })
}

/// Calibrates the chosen agents, one after the other.
fn calibrate(args: &DoctorArgs, repository: Option<&Repository>) -> CliResult {
    let settings = if let Some(repository) = repository {
        load::read(&repository.root, args.repository.trust())?
    } else {
        let mut settings = Settings::default();
        settings.apply_environment(std::env::vars_os()).map_err(|problems| problems.join("\n"))?;
        settings
    };
    interrupt::listen(false)?;
    let known: Vec<AgentKind> = AgentKind::ALL.into_iter().chain(settings.custom_agents()).collect();
    let of_name = |name: &String| {
        let is_it = |kind: &&AgentKind| kind.as_str() == name || kind.profile().program == name;
        let names: Vec<&str> = known.iter().map(|kind| kind.as_str()).collect();
        let found: Vec<AgentKind> = known.iter().filter(is_it).copied().collect();
        if found.is_empty() {
            Err(format!("unknown agent `{name}`; {}", AgentKind::suggest(name, &names)))
        } else {
            Ok(found)
        }
    };
    let chosen: Vec<AgentKind> = match args.agent.as_slice() {
        [] => known.clone(),
        all => all.iter().map(of_name).collect::<Result<Vec<_>, _>>()?.concat(),
    };
    let paint = paint(Stream::Output);
    let mut calibrations = Vec::new();
    for kind in chosen {
        match calibrate::of(&settings, kind) {
            Ok(calibration) => {
                if !args.json {
                    let problems: Vec<_> = misplaced(&settings, &calibration).into_iter().collect();
                    let text = table(&calibration, paint) + &diagnostics::render(&problems, paint);
                    text_stdout().write_all(text.as_bytes())?;
                }
                calibrations.push(calibration);
            }
            // Without names, those that are here.
            Err(why) if args.agent.is_empty() && !interrupt::raised() => {
                writeln!(stderr(), "left out: {}", escape::block(&why.to_string()))?;
            }
            Err(why) => return Err(why),
        }
    }
    if calibrations.is_empty() {
        return Err("no agent could be calibrated".into());
    }
    if args.json {
        print_json(&CalibrationList { format: Format, calibrations: &calibrations })?;
    }
    let trusted = calibrations.iter().all(|calibration| calibration.trusted);
    Ok(if trusted { Exit::Clean } else { Exit::Problems })
}

fn print(report: &DoctorReport) -> io::Result<()> {
    let paint = paint(Stream::Output);
    let mut out = text_stdout();
    let mut rows = Vec::new();
    for finding in &report.findings {
        let (state, tone) = match finding.state {
            Health::Ok => ("ok", Tone::Good),
            Health::Missing => ("missing", Tone::Bad),
            Health::Unknown => ("unknown", Tone::Broken),
            Health::Optional => ("optional", Tone::Faint),
        };
        let found = escape::block(&finding.found);
        let advice = finding.advice.as_ref().map(|advice| format!("→ {}", escape::block(advice)));
        let mut first = format!("{}{}", paint.on(tone, &format!("{state:<9}")), finding.id);
        rows.extend(found.split('\n').map(|line| [std::mem::take(&mut first), line.to_owned()]));
        rows.extend(advice.map(|advice| [String::new(), advice]));
    }
    write!(out, "{}", columns::text([WORDS, WORDS], &rows))?;
    if !report.not_installed.is_empty() {
        writeln!(out, "{:9}not installed, and not used here: {}", "", report.not_installed.join(", "))?;
    }
    let others: Vec<&str> = report.agents.iter().filter(|agent| !report.used.contains(agent)).copied().collect();
    let others = if others.is_empty() { String::new() } else { format!("; --agent may be {}", others.join(" or ")) };
    if report.can_run {
        writeln!(out, "\nlive evals can run with {}{others}", report.used.join(", "))?;
        next("skill-evals run --skill NAME runs the cases of a skill; with --dry-run it says what that would be");
    } else if report.undecided {
        writeln!(out, "\nlive evals may not run: see `unknown` above; recordings can be replayed all the same")?;
    } else {
        writeln!(out, "\nlive evals cannot run{others}; recordings can be replayed all the same")?;
    }
    Ok(())
}
