//! `skill-evals grade`, of stored trials and of a session of the user's own.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::documents::{Format, GradeList, GradeOutput};
use super::{CliResult, CliResultOf, RepositoryArgs, custom_checks, print_json};
use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::FoundSkill;
use crate::cli::exit_code::Exit;
use crate::cli::output::{Stream, paint, stderr, text_stdout, warn};
use crate::cli::{named_runs, select};
use crate::engine::Loaded;
use crate::report::paint::{Paint, Tone};
use crate::report::trial_text as report;
use crate::results::graded_trial;
use crate::results::stored_summary::no_trials;
use crate::results::summary::Summary;
use crate::run::planned::PlannedRun;
use crate::run::skill_version::SkillVersion;
use crate::run::user_session::{self, GradedSession, ReadSession};
use crate::run::{import, preflight, regrade};
use crate::settings::Settings;
use crate::store::{self, RunFolder, TrialFolder};
use crate::text::diagnostic::{shown_path, suggest};
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trial::evidence::CaseMeta;
use crate::trial::outcome::{Outcome, TrialError, Verdict};
use crate::trial::run_record::TrialRecord;

#[derive(Args)]
#[command(after_help = crate::cli::exit_code::HELP)]
pub struct GradeArgs {
    /// Run by id, or a directory of stored trials or recordings
    #[arg(value_name = "RUN-ID|DIR", required_unless_present = "session",
        conflicts_with_all = ["session", "skill", "turn", "case"])]
    what: Option<String>,
    /// Runner that wrote the directory; it is converted to a run first
    #[arg(long = "as", value_name = "RUNNER", value_parser = [import::PKBLLM])]
    runner: Option<String>,
    /// Name of that run [default: the names of runner and directory]
    #[arg(long, value_name = "ID", requires = "runner")]
    run_id: Option<String>,
    /// Print one JSON document.
    #[arg(long, conflicts_with = "session")]
    json: bool,
    #[command(flatten)]
    session: SessionArgs,
    /// Case of the skill to grade the session by [default: whether the skill activated]
    #[arg(long, value_name = "ID", requires = "session")]
    case: Option<String>,
    #[command(flatten)]
    repository: RepositoryArgs,
}

/// Converts the directory of another runner to a stored run. Returns its id.
fn import_run(args: &GradeArgs, what: &str) -> CliResultOf<String> {
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    let mut run = PlannedRun::new(repository.root, settings, catalog);
    run.custom_checks = custom_checks(&run.root, &run.settings)?;
    let made = import::pkbllm(&run, Path::new(what), args.run_id.as_deref())?;
    let mut err = stderr();
    for note in &made.notes {
        writeln!(err, "{}", escape::block(note))?;
    }
    writeln!(err, "{} is the run `{}`", escape::line(what), made.run.id())?;
    super::summary::write(&made.run, &run.settings)?;
    Ok(made.run.id().to_owned())
}

pub fn grade(args: &GradeArgs) -> CliResult {
    let Some(what) = &args.what else { return args.session.grade(args.case.as_deref(), &args.repository) };
    let name = if args.runner.is_some() { import_run(args, what)? } else { what.clone() };
    let Loaded { repository, mut settings, catalog } = args.repository.read()?;
    let stored = if named_runs::is_directory(&name) { None } else { Some(RunFolder::open(&repository.root, &name)?) };
    if let Some(stored) = &stored {
        stored.check_whole()?;
        select::apply_threshold_of(stored, &mut settings);
    }
    let mut trials = stored.as_ref().map_or_else(|| store::trials_below(Path::new(&name)), RunFolder::trials)?;
    trials.retain(has_evidence);
    if trials.is_empty() {
        return Err(no_trials(&name, stored.as_slice()).into());
    }
    let mut run = PlannedRun::new(repository.root, settings, catalog);
    run.custom_checks = custom_checks(&run.root, &run.settings)?;
    run.versions = versions(&run, &trials)?;
    run.versions.iter().filter_map(|version| version.warning.as_deref()).try_for_each(warn)?;
    let mut summary = Summary::new(Vec::new(), &run.settings);
    let (mut printed, mut changed_records, mut any_not_graded) = (Vec::new(), Vec::new(), false);
    let cases: CasesById<'_> =
        run.catalog.cases.iter().map(|found| ((&*found.skill, found.id.as_str()), found.as_ref())).collect();
    for folder in trials {
        match grade_one(&run, &cases, &folder) {
            Ok((found, outcome, changed)) => {
                if !args.json {
                    print(&run.root, found, &outcome)?;
                }
                let record = TrialRecord::new(&outcome, 1);
                summary.add(&record);
                if changed {
                    changed_records.push(record);
                }
                if args.json {
                    let (folder, grade) = (shown_path(&run.root, folder.path()), Box::new(outcome.grade));
                    printed.push(GradeOutput::Graded { id: outcome.id, folder, changed, grade });
                }
            }
            Err(problem) => {
                any_not_graded = true;
                let problem = problem.to_string();
                if !args.json {
                    let path = escape::line(&folder.path().display().to_string());
                    writeln!(text_stdout(), "{path}: {}", escape::block(&problem))?;
                }
                printed.push(GradeOutput::NotGraded { folder: shown_path(&run.root, folder.path()), problem });
            }
        }
    }
    if let Some(stored) = stored {
        update_run(&stored, changed_records, &run.settings)?;
    }
    if args.json {
        print_json(&GradeList { format: Format, trials: &printed })?;
    }
    let exit = Exit::of_summary(&summary);
    Ok(if any_not_graded { exit.worse(Exit::CouldNotRun) } else { exit })
}

/// Whether it may have something to grade: a trial that was cut short has not.
fn has_evidence(trial: &TrialFolder) -> bool {
    trial.has_grade().unwrap_or(true) || trial.meta().map_or(true, |meta| !meta.was_interrupted())
}

fn print(root: &Path, found: &FoundCase, outcome: &Outcome) -> io::Result<()> {
    let paint = paint(Stream::Output);
    let text = match outcome.grade.verdict {
        Verdict::Pass => report::passed(outcome, paint),
        _ => report::graded(root, found, [outcome], paint).concat(),
    };
    text_stdout().write_all(text.as_bytes())
}

/// The skills of the commits that the trials were run with.
pub(super) fn versions(run: &PlannedRun, trials: &[TrialFolder]) -> Result<Vec<SkillVersion>, Problem> {
    let commits: BTreeSet<String> = trials.iter().filter_map(|trial| trial.meta().ok()?.commit).collect();
    commits.iter().map(|commit| SkillVersion::of(&run.root, commit, &run.settings)).collect()
}

/// Puts changed grades into the progress file of a run, and into its summary if it has one.
fn update_run(run: &RunFolder, changed: Vec<TrialRecord>, settings: &Settings) -> CliResultOf<()> {
    if changed.is_empty() {
        return Ok(());
    }
    let mut progress = run.noted()?;
    for record in changed {
        progress.insert(record);
    }
    run.write_progress(&progress.into_lines())?;
    if run.has_summary()? {
        super::summary::write(run, settings)?;
    }
    Ok(())
}

type CasesById<'a> = HashMap<(&'a str, &'a str), &'a FoundCase>;

/// Grades a trial. Returns whether its stored grade changed.
fn grade_one<'a>(
    run: &PlannedRun,
    cases: &CasesById<'a>,
    folder: &TrialFolder,
) -> Result<(&'a FoundCase, Outcome, bool), Problem> {
    let meta = folder.meta()?;
    let id = meta.id();
    let found = cases.get(&(id.skill.as_str(), id.case.as_str())).copied();
    let found = found.ok_or_else(|| regrade::case_is_gone(&id.skill, &id.case))?;
    let refused = |no_outcome| Err(report::not_graded(&id, &no_outcome, &run.rerun_command, Paint::Plain).into());
    let case = match found.case() {
        Err(problems) => return refused(TrialError::BadCase(problems.to_vec())),
        Ok(case) => case,
    };
    let unsupported = preflight::unsupported(run, found);
    if !unsupported.is_empty() {
        return refused(TrialError::Unsupported(unsupported));
    }
    let asked = &meta.case.prompt;
    // A call of the skill may be before it.
    let is_same_prompt = *asked == case.prompt || (meta.case.forced && asked.ends_with(&case.prompt));
    let CaseMeta { system_prompt, history, follow_ups, .. } = &meta.case;
    // What a user said is not in the case.
    let is_same_case = match &case.user {
        Some(_) => meta.user.is_some() && follow_ups.starts_with(&case.follow_ups),
        None => *follow_ups == case.follow_ups,
    };
    let is_same_session = is_same_case && (system_prompt, history) == (&case.system_prompt, &case.history);
    if !is_same_prompt || !is_same_session {
        let effect = if folder.has_grade().unwrap_or(true) { "its grade is not changed" } else { "it is not graded" };
        return Err(format!("the prompt of `{}/{}` has changed since this answer: {effect}", id.skill, id.case).into());
    }
    let skills = run.skills_of(meta.commit.as_deref());
    let skill = skills
        .and_then(|skills| skills.skill(&id.skill))
        .ok_or_else(|| format!("the skill `{}` no longer exists", id.skill))?;
    let (meta, grade) = regrade::regrade(run, case, skill, folder, &|_| ())?;
    // A recording has no stored grade.
    let changed = folder.has_grade()? && folder.grade().map_or(true, |stored| stored != grade);
    if changed {
        folder.write_grade(&grade)?;
    }
    Ok((found, graded_trial::outcome(id, grade, &meta, folder, &run.settings.prices), changed))
}

// Sessions of the user's own machine: `grade --session` and `import --session`.

/// The most characters of a prompt in a list.
const MAX_PROMPT: usize = 60;

#[derive(Args)]
pub struct SessionArgs {
    /// Session file of your own machine: ~/.claude/projects/…/*.jsonl or ~/.codex/sessions/…/rollout-*.jsonl
    #[arg(long, value_name = "FILE")]
    pub session: Option<PathBuf>,
    /// Skill under test
    #[arg(long, value_name = "NAME", requires = "session")]
    pub skill: Option<String>,
    /// Number of the prompt in the session, from 1 [default: the whole session]
    #[arg(long, value_name = "NUMBER", requires = "session")]
    pub turn: Option<usize>,
}

/// A session, and the repository whose skills it is about.
pub struct OpenSession {
    pub run: PlannedRun,
    pub read: ReadSession,
}

impl SessionArgs {
    pub fn open(&self, repository: &RepositoryArgs) -> CliResultOf<OpenSession> {
        let Loaded { repository, settings, catalog } = repository.read()?;
        let run = PlannedRun::new(repository.root, settings, catalog);
        let file = self.session.as_deref().ok_or("name a session file: --session FILE")?;
        let read = user_session::read(&run, file, self.turn)?;
        Ok(OpenSession { run, read })
    }

    /// Grades the session: by a case, else by whether the skill activated.
    pub fn grade(&self, case: Option<&str>, repository: &RepositoryArgs) -> CliResult {
        let open = self.open(repository)?;
        let skill = self.skill.as_deref().ok_or("name the skill under test: --skill NAME")?;
        let skill = open.skill(skill)?;
        let mut out = text_stdout();
        let paint = paint(Stream::Output);
        let Some(id) = case else {
            let graded = open.read.grade(&open.run, &Case::of_activation(skill.skill()), skill)?;
            out.write_all(open.activation(&skill.skill().slug, &graded, paint).as_bytes())?;
            return Ok(match graded.activated().0 {
                Some(true) => Exit::Clean,
                Some(false) => Exit::Problems,
                None => Exit::Infrastructure,
            });
        };
        let case = open.case(skill, id)?;
        let graded = open.read.grade(&open.run, &case, skill)?;
        out.write_all(open.by_case(&case, &graded, paint).as_bytes())?;
        Ok(Exit::of_verdict(graded.grade.verdict))
    }
}

impl OpenSession {
    pub fn skill(&self, name: &str) -> CliResultOf<&FoundSkill> {
        self.run.catalog.named_skill(name)
    }

    fn case(&self, skill: &FoundSkill, id: &str) -> CliResultOf<Case> {
        let slug = &skill.skill().slug;
        let ids: Vec<&str> = self.run.catalog.cases_of(slug).map(|found| found.id.as_str()).collect();
        let mut cases = self.run.catalog.cases_of(slug);
        let found = cases.find(|found| found.id == id);
        let found = found.ok_or_else(|| format!("unknown case `{id}` of the skill `{slug}`; {}", suggest(id, &ids)))?;
        let problems = preflight::refused(&self.run, found);
        match found.case() {
            Ok(case) if problems.is_empty() => Ok(case.clone()),
            _ => Err(problems.iter().map(super::problem_line).collect::<Vec<_>>().join("\n").into()),
        }
    }

    fn activation(&self, name: &str, graded: &GradedSession, paint: Paint) -> String {
        let (activated, found) = graded.activated();
        let (tone, word) = match activated {
            Some(true) => (Tone::Good, "activated"),
            Some(false) => (Tone::Bad, "not activated"),
            None => (Tone::Broken, "unknown"),
        };
        let mut text = format!("{}: {}\n", escape::line(name), paint.on(tone, word));
        match &graded.grade.trouble {
            Some(trouble) if activated.is_none() => report::line(&mut text, "why", &trouble.to_string()),
            _ => report::line(&mut text, "found", found),
        }
        report::line(&mut text, "session", &self.about());
        text
    }

    fn by_case(&self, case: &Case, graded: &GradedSession, paint: Paint) -> String {
        let grade = &graded.grade;
        let verdict = report::verdict(grade, paint);
        let name = escape::line(&format!("{}/{}", case.skill, case.id));
        let mut text = format!("{name}: {verdict}{}", report::result(grade, paint));
        report::line(&mut text, "session", &self.about());
        if self.read.prompts() != [case.prompt.as_str()] {
            report::line(&mut text, "note", "the case has another prompt; its checks were applied to this session");
        }
        if self.run.settings.harness.is_some() {
            report::line(&mut text, "note", "checks of the harness are not asked about a session");
        }
        text
    }

    /// The chosen prompts, and the agent.
    fn about(&self) -> String {
        let read = &self.read;
        let all = read.session.prompts.len();
        let part = match read.turn {
            Some(turn) => format!("prompt {turn} of {all}"),
            None if all == 1 => "the only prompt".to_owned(),
            None => format!("all {all} prompts"),
        };
        let agent = [Some(read.agent.as_str()), read.session.version.as_deref(), read.session.model.as_deref()];
        format!("{part}, {}", agent.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }

    /// The numbers and starts of the prompts.
    pub fn prompts(&self) -> String {
        let prompts = self.read.session.prompts.iter().enumerate();
        let start = |text: &str| text.chars().take(MAX_PROMPT).collect::<String>();
        let text = |text: &Option<String>| text.as_deref().map_or("(could not be read)".to_owned(), start);
        let lines = prompts.map(|(at, one)| format!("  {}  {}", at + 1, escape::line(&text(one))));
        lines.collect::<Vec<_>>().join("\n")
    }
}
