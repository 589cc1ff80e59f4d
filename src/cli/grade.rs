//! `skill-evals grade`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::exit_code::Exit;
use skill_evals::catalog::Catalog;
use skill_evals::outcome::{NoOutcome, Outcome, Verdict};
use skill_evals::own_check::OwnChecks;
use skill_evals::report::trial as report;
use skill_evals::store::{self, RunFolder, TrialFolder};
use skill_evals::trial;

#[derive(Args)]
pub struct GradeArgs {
    /// A run's id, or a folder with stored trials: a run, a part of one, or recordings.
    #[arg(value_name = "RUN-ID|FOLDER")]
    what: String,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn grade(args: &GradeArgs) -> CliResult {
    let (repository, _, catalog) = args.repository.read()?;
    let root = &repository.root;
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
        let exit = match grade_one(root, &catalog, &folder) {
            Ok((found, outcome)) => {
                let passed = outcome.grade.verdict == Verdict::Pass;
                if passed {
                    writeln!(out, "{}: {}", outcome.id, outcome.grade.verdict)?;
                } else {
                    write!(out, "{}", report::graded(root, found, &outcome))?;
                }
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

fn grade_one<'a>(
    root: &Path,
    catalog: &'a Catalog,
    folder: &TrialFolder,
) -> Result<(&'a skill_evals::case::Found, Outcome), String> {
    let meta = folder.meta().map_err(|error| error.to_string())?;
    let id = meta.id();
    let found = catalog.cases.iter().find(|found| found.skill == id.skill && found.id == id.case);
    let found = found.ok_or_else(|| format!("there is no case `{}` of the skill `{}` any more", id.case, id.skill))?;
    let case = found.case().map_err(|problems| report::not_graded(&id, &NoOutcome::BadCase(problems)))?;
    let skill = catalog.skill(&id.skill).ok_or_else(|| format!("there is no skill `{}` any more", id.skill))?;
    let graded =
        trial::regrade(root, &case, skill.skill(), folder, &OwnChecks::default()).map_err(|error| error.to_string())?;
    let (meta, grade) = graded;
    // A recording has no grade of its own; a run's trial has, and keeps the newest.
    if folder.has_grade() {
        folder.write_grade(&grade).map_err(|error| error.to_string())?;
    }
    Ok((found, Outcome { id, grade, folder: folder.path().to_path_buf(), scripted: meta.scripted }))
}
