//! `skill-evals grade`.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::{CliResult, CliResultOf, RepositoryArgs, own_checks, print_list, select};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, stdout};
use skill_evals::cases::case::FoundCase;
use skill_evals::report::paint::Paint;
use skill_evals::report::trial as report;
use skill_evals::results::summary::Summary;
use skill_evals::results::table;
use skill_evals::run::context::RunContext;
use skill_evals::run::skill_version::SkillVersion;
use skill_evals::run::{import, regrade};
use skill_evals::settings::Settings;
use skill_evals::store::{self, RunFolder, TrialFolder};
use skill_evals::text::diagnostic::shown_path;
use skill_evals::text::safe;
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::{Grade, NoOutcome, Outcome, Verdict};
use skill_evals::trial::run_record::TrialRecord;

#[derive(Args)]
#[command(after_help = crate::cli::exit_code::HELP)]
pub struct GradeArgs {
    /// Run by id, or a directory of stored trials or recordings
    #[arg(value_name = "RUN-ID|DIR")]
    what: String,
    /// Runner that wrote the directory; it is converted to a run first
    #[arg(long = "as", value_name = "RUNNER", value_parser = [import::PKBLLM])]
    runner: Option<String>,
    /// Name of that run [default: the names of runner and directory]
    #[arg(long, value_name = "ID", requires = "runner")]
    run_id: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

/// Makes a stored run of the folder that another runner left. Returns its id.
fn imported(args: &GradeArgs) -> CliResultOf<String> {
    let (repository, settings, catalog) = args.repository.read()?;
    let mut run = RunContext::new(repository.root, settings, catalog);
    run.own_checks = own_checks(&run.root)?;
    let made = import::pkbllm(&run, Path::new(&args.what), args.run_id.as_deref())?;
    let mut err = stderr();
    for note in &made.notes {
        writeln!(err, "{}", safe::block(note))?;
    }
    writeln!(err, "{} is the run `{}`", safe::line(&args.what), made.run.id())?;
    super::summary::write(&made.run, &run.settings)?;
    Ok(made.run.id().to_owned())
}

pub fn grade(args: &GradeArgs) -> CliResult {
    let what = if args.runner.is_some() { imported(args)? } else { args.what.clone() };
    let (repository, mut settings, catalog) = args.repository.read()?;
    let folder = PathBuf::from(&what);
    let stored = if what.contains('/') { None } else { Some(RunFolder::open(&repository.root, &what)?) };
    if let Some(stored) = &stored {
        select::apply_threshold_of(stored, &mut settings);
    }
    let mut trials = stored.as_ref().map_or_else(|| store::trials_below(&folder), RunFolder::trials);
    // What was cut short in a run has no grade, and no evidence to grade.
    trials.retain(|trial| trial.has_grade() || trial.meta().map_or(true, |meta| !meta.was_interrupted()));
    if trials.is_empty() {
        return Err(super::no_trials(&what, stored.as_slice()).into());
    }
    let mut run = RunContext::new(repository.root, settings, catalog);
    run.own_checks = own_checks(&run.root)?;
    run.versions = versions(&run, &trials)?;
    let root = &run.root;
    let mut out = stdout();
    let mut summary = Summary::new(Vec::new(), run.settings.repetition.threshold());
    summary.isolation_wanted = run.settings.isolation.kind;
    let mut could_not = false;
    let mut printed = Vec::new();
    let mut changed = Vec::new();
    let cases = run.catalog.cases.iter().map(|found| ((&*found.skill, found.id.as_str()), found.as_ref()));
    let cases: CasesById<'_> = cases.collect();
    for folder in trials {
        match grade_one(&run, &cases, &folder) {
            Ok((found, outcome, news)) => {
                let text = match outcome.grade.verdict {
                    _ if args.json => String::new(),
                    Verdict::Pass => report::passed(&outcome, paint(&io::stdout())),
                    _ => report::graded(root, found, [&outcome], paint(&io::stdout())).concat(),
                };
                write!(out, "{text}")?;
                let record = TrialRecord::new(&outcome, 1);
                summary.add(&record);
                changed.extend(news.then_some(record));
                let folder = shown_path(root, folder.path());
                let grade = Box::new(outcome.grade);
                printed.push(GradeOutput::Graded { id: outcome.id, folder, changed: news, grade });
            }
            Err(why) if args.json => {
                could_not = true;
                printed.push(GradeOutput::NotGraded { folder: shown_path(root, folder.path()), problem: why });
            }
            Err(why) => {
                could_not = true;
                writeln!(out, "{}: {}", safe::line(&folder.path().display().to_string()), safe::block(&why))?;
            }
        }
    }
    if let Some(stored) = stored {
        keep_news(&stored, changed, &run.settings)?;
    }
    if args.json {
        print_list(&mut out, "trials", &printed)?;
    }
    let exit = Exit::of_summary(&summary);
    Ok(if could_not { exit.worse(Exit::CouldNotRun) } else { exit })
}

/// A trial as `--json` prints it.
#[derive(Serialize)]
#[serde(untagged)]
enum GradeOutput {
    Graded {
        #[serde(flatten)]
        id: TrialId,
        folder: PathBuf,
        /// Whether the stored grade was another.
        changed: bool,
        grade: Box<Grade>,
    },
    NotGraded {
        folder: PathBuf,
        problem: String,
    },
}

/// The skills of the commits whose skills the trials were given.
fn versions(run: &RunContext, trials: &[TrialFolder]) -> Result<Vec<SkillVersion>, String> {
    let commits: BTreeSet<String> = trials.iter().filter_map(|trial| trial.meta().ok()?.commit).collect();
    commits.iter().map(|commit| SkillVersion::of(&run.root, commit, &run.settings)).collect()
}

/// Brings the run's progress file, and its summary where it has ended, up to the grades.
fn keep_news(run: &RunFolder, changed: Vec<TrialRecord>, settings: &Settings) -> CliResultOf<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut progress = run.progress()?;
    for mut record in changed {
        record.attempts = progress.records.get(&record.id).map_or(1, |known| known.attempts);
        record.ended = progress.records.get(&record.id).and_then(|known| known.ended.clone());
        progress.records.insert(record.id.clone(), record);
    }
    run.write_progress(&progress.into_lines())?;
    if run.has_summary() {
        super::summary::write(run, settings)?;
    }
    Ok(())
}

/// The cases there are, by skill and id.
type CasesById<'a> = HashMap<(&'a str, &'a str), &'a FoundCase>;

fn grade_one<'a>(
    run: &RunContext,
    cases: &CasesById<'a>,
    folder: &TrialFolder,
) -> Result<(&'a FoundCase, Outcome, bool), String> {
    let meta = folder.meta().map_err(|error| error.to_string())?;
    let id = meta.id();
    let found = cases.get(&(id.skill.as_str(), id.case.as_str())).copied();
    let found = found.ok_or_else(|| format!("the case `{}` of the skill `{}` no longer exists", id.case, id.skill))?;
    let bad = |problems: &[_]| report::not_graded(&id, &NoOutcome::BadCase(problems.to_vec()), &run.door, Paint::Plain);
    let case = found.case().map_err(bad)?;
    if (&meta.case.prompt, &meta.case.system_prompt) != (&case.prompt, &case.system_prompt) {
        let stays = if folder.has_grade() { "its grade stays as it is" } else { "it is not graded" };
        return Err(format!("the prompt of `{}/{}` has changed since this was answered: {stays}", id.skill, id.case));
    }
    let skills = run.skills_of(meta.commit.as_deref());
    let skill = skills
        .and_then(|skills| skills.skill(&id.skill))
        .ok_or_else(|| format!("the skill `{}` no longer exists", id.skill))?;
    let (meta, grade) = regrade::regrade(run, case, skill, folder)?;
    // A recording has no grade of its own; a run's trial has, and keeps the newest.
    let news = folder.has_grade() && folder.grade().map_or(true, |stored| stored != grade);
    if news {
        folder.write_grade(&grade).map_err(|error| error.to_string())?;
    }
    Ok((found, table::outcome(id, grade, &meta, folder, &run.settings.prices), news))
}
