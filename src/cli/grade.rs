//! `skill-evals grade`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cli::exit_code::Exit;
use skill_evals::cases::case::Found;
use skill_evals::report::trial as report;
use skill_evals::run::shared::Run;
use skill_evals::run::trial;
use skill_evals::store::{self, RunFolder, TrialFolder};
use skill_evals::trial::outcome::{NoOutcome, Outcome, Verdict};

#[derive(Args)]
pub struct GradeArgs {
    /// A run's id, or a folder with stored trials: a run, a part of one, or recordings.
    #[arg(value_name = "RUN-ID|FOLDER")]
    what: String,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn grade(args: &GradeArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read()?;
    let run = Run::new(repository.root, settings, catalog);
    let root = &run.root;
    let folder = PathBuf::from(&args.what);
    let trials = if args.what.contains('/') {
        store::trials_below(&folder)
    } else {
        RunFolder::open(root, &args.what)?.trials()
    };
    if trials.is_empty() {
        return Err(format!("{} holds no stored trials (no meta.json below it)", args.what).into());
    }
    let mut out = io::stdout().lock();
    let mut worst = Exit::Clean;
    for folder in trials {
        let exit = match grade_one(&run, &folder) {
            Ok((found, outcome)) => {
                let passed = outcome.grade.verdict == Verdict::Pass;
                let text = if passed { report::passed(&outcome) } else { report::graded(root, found, &outcome) };
                write!(out, "{text}")?;
                Exit::of_verdict(outcome.grade.verdict)
            }
            Err(why) => {
                writeln!(out, "{}: {why}", folder.path().display())?;
                Exit::CouldNotRun
            }
        };
        worst = worst.worse(exit);
    }
    Ok(worst)
}

fn grade_one<'a>(run: &'a Run, folder: &TrialFolder) -> Result<(&'a Found, Outcome), String> {
    let catalog = &run.catalog;
    let meta = folder.meta().map_err(|error| error.to_string())?;
    let id = meta.id();
    let found = catalog.cases.iter().find(|found| found.skill == id.skill && found.id == id.case);
    let found = found.ok_or_else(|| format!("there is no case `{}` of the skill `{}` any more", id.case, id.skill))?;
    let case = found.case().map_err(|problems| report::not_graded(&id, &NoOutcome::BadCase(problems)))?;
    let skill = catalog.skill(&id.skill).ok_or_else(|| format!("there is no skill `{}` any more", id.skill))?;
    let graded = trial::regrade(run, &case, skill, folder).map_err(|error| error.to_string())?;
    let (meta, grade) = graded;
    // A recording has no grade of its own; a run's trial has, and keeps the newest.
    if folder.has_grade() {
        folder.write_grade(&grade).map_err(|error| error.to_string())?;
    }
    Ok((found, Outcome { id, grade, folder: folder.path().to_path_buf(), scripted: meta.scripted }))
}
